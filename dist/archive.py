"""Reproducible archives: the same files and the same time stamp give the same bytes."""

import gzip
import io
import tarfile
import time
import zipfile

from project import epoch


def tar(files, format=tarfile.GNU_FORMAT, folders=()):
    """Returns a tar archive of `folders` and of `files`, a dictionary from names to pairs of bytes and permissions."""
    out = io.BytesIO()
    stamp = epoch()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name in folders:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, stamp
            archive.addfile(entry)
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, stamp
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def tar_gz(files, folders=()):
    """Returns a compressed tar archive, sorted by name."""
    return gzip.compress(tar(dict(sorted(files.items())), folders=folders), 9, mtime=0)


def zipped(files):
    """Returns a zip archive, sorted by name."""
    out = io.BytesIO()
    stamp = time.gmtime(epoch())[:6]
    with zipfile.ZipFile(out, "w") as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, stamp)
            entry.create_system, entry.external_attr = 3, (0o100000 | mode) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def tree(folder):
    """Returns the files of a folder for an archive; those that can be executed keep this permission."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    mode = lambda path: 0o755 if path.stat().st_mode & 0o100 else 0o644  # noqa: E731
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), mode(path)) for path in files}
