"""download.py RESULT INDEX COUNT NAME...: downloads the job's models and data, and passes them on to other pods.

One pod, which has index 0, downloads from the source. Pod INDEX of COUNT gets the data from pod (INDEX - 1) // 2 while that receives
them, so all pods together take little longer than one download. NAMEs are the host names of the pods above this one, the nearest one
first, then `-`, then those of the pods below it. A pod that gets no answer asks the next pod above, and finally the source.

Data move in chunks. The journal in the volume lists the chunks and the verified files, so a restarted container resumes. Pods
authenticate requests and answers with a key of the run, and every file is verified with the digest that the spec or the Hub has for it,
or with the ETag of its object in a bucket.
The process writes `ok` or an error to RESULT, and after `ok` it serves the data as long as the pod runs. It exits with 2 after an
error that another try does not resolve. Requires only Python.
"""
import concurrent.futures
import contextlib
import errno
import fnmatch
import functools
import hashlib
import hmac
import http.client
import http.server
import json
import os
import random
import re
import secrets
import shutil
import socket
import socketserver
import ssl
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile

PORT = 29399
# Not all addresses: the pods of a local run share a network.
ADDRESS = os.environ.get("KHOROVOD_POD_IP", "")
CHUNK = 4 << 20
PART = 64 << 20  # one request to the source
QUEUED = 1000  # requests, each of which takes some memory until it ends
TRIES = 10  # about two minutes
PATIENCE = 10  # seconds after which the next pod above is asked
POLL = 10  # seconds that a pod holds a request back if it has nothing new
JOURNAL = ".khorovod-download"
ARCHIVE = ".khorovod-archive"
UNFINISHED = ".khorovod-part"
KEYS, TOKENS = "/etc/khorovod/keys", "/etc/khorovod/download"


class Refused(Exception):
    """An error that another try does not resolve."""


class Unavailable(Exception):
    """The source does not answer."""


class Lost(Exception):
    """Another pod does not answer, or does not have the data."""


class Volume:
    """The files of one volume, and which chunks of them are here."""

    def __init__(self, number, given):
        self.number, self.given, self.name = number, given, given["name"]
        self.root = os.path.realpath(given["path"])
        self.bucket = bucket_of(given)
        self.changed = threading.Condition()
        self.files, self.chunks, self.have, self.count = None, [], bytearray(), 0
        self.verified, self.ready, self.checks, self.times = set(), [], [], {}
        self.is_complete, self.is_pinned = False, "revision" in given or bool(given.get("sha256"))
        self.below, self.done = 0, set()
        self.journal = os.open(os.path.join(self.root, JOURNAL), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with open(self.journal, closefd=False) as file:
            lines = file.read().splitlines()
        # The last line may be incomplete.
        notes = []
        for line in lines:
            with contextlib.suppress(ValueError):
                notes.append(json.loads(line))
        if notes and isinstance(notes[0], dict) and notes[0]["given"] == given:
            self.set_files(notes[0]["files"])
            self.resume(notes[1:])

    def set_files(self, files):
        self.files = files
        self.chunks = [(n, at, min(at + CHUNK, each["size"])) for n, each in enumerate(files) for at in range(0, each["size"], CHUNK)]
        self.first, total = [], 0
        for each in files:
            self.first.append(total)
            total += -(-each["size"] // CHUNK)
        self.have, self.count, self.verified, self.checks, self.times = bytearray(len(self.chunks)), 0, set(), [], {}
        self.find_ready()

    def resume(self, notes):
        """Reads the journal: `[chunk]`, `[file, time of change]`, `[file, null]` if its data was wrong, or `["unpacked"]`."""
        found = {}
        for note in notes:
            if note == ["unpacked"]:
                self.is_complete = True
            elif len(note) == 1:
                self.have[note[0]] = 1
            else:
                found[note[0]] = note[1]
                self.set_have(note[0], int(note[1] is not None))
        for n, _ in enumerate(self.files):
            is_whole = found.get(n) and self.changed_at(n) == found[n]
            if is_whole or self.is_complete:
                self.verified.add(n)
                self.times[n] = found.get(n)
            if not is_whole and not os.path.exists(self.place(n) + UNFINISHED):
                self.set_have(n, 0)
        self.count = sum(self.have)
        self.find_ready()

    def find_ready(self):
        """Counts what each file lacks, and finds the files that can be verified."""
        self.left = [len(self.missing(n)) for n in range(len(self.files))]
        self.ready = [n for n, left in enumerate(self.left) if not left and n not in self.verified]

    def adopt(self, files):
        """Begins with this list of files, or continues with it."""
        if files == self.files:
            return
        for n, each in enumerate(files):
            place = self.place(n, files)
            if not place.startswith(self.root + os.sep) or os.path.basename(place) == JOURNAL:
                raise Refused(f"the file {each['path']!r} leads to a path outside {self.root}")
        os.ftruncate(self.journal, 0)
        os.write(self.journal, (json.dumps({"given": self.given, "files": files}) + "\n").encode())
        with self.changed:
            self.set_files(files)
            self.changed.notify_all()
        for n, each in enumerate(files):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.place(n) + UNFINISHED)
            os.makedirs(os.path.dirname(self.place(n)), exist_ok=True)

    def place(self, n, files=None):
        name = (files or self.files)[n]["path"]
        return os.path.join(self.root, ARCHIVE) if self.given["unpacks"] else os.path.realpath(os.path.join(self.root, name))

    def changed_at(self, n):
        """The time of the last change of a complete file."""
        try:
            found = os.stat(self.place(n))
        except FileNotFoundError:
            return None
        return found.st_mtime_ns if found.st_size == self.files[n]["size"] else None

    def set_have(self, n, value):
        size = -(-self.files[n]["size"] // CHUNK)
        self.have[self.first[n]:self.first[n] + size] = bytes([value]) * size

    def note(self, *words):
        os.write(self.journal, (json.dumps(words) + "\n").encode())

    def missing(self, n):
        """The chunks of a file that are not here."""
        return [c for c in range(self.first[n], self.first[n] + -(-self.files[n]["size"] // CHUNK)) if not self.have[c]]

    def write(self, chunk, data):
        n, start, end = self.chunks[chunk]
        if len(data) != end - start:
            raise OSError(f"{end - start - len(data)} bytes short")
        file = os.open(self.place(n) + UNFINISHED, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            written = os.pwrite(file, data, start)
            # A part may still fit on a full disk.
            if written < len(data):
                os.pwrite(file, data[written:], start + written)
        finally:
            os.close(file)
        self.note(chunk)
        with self.changed:
            if self.have[chunk]:
                return
            self.have[chunk] = 1
            self.count += 1
            self.left[n] -= 1
            if not self.left[n]:
                self.ready.append(n)
            self.changed.notify_all()

    def read(self, chunk):
        n, start, end = self.chunks[chunk]
        for path in self.place(n) + UNFINISHED, self.place(n):
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                # The training may write to the volume.
                if not path.endswith(UNFINISHED) and os.fstat(file.fileno()).st_mtime_ns != self.times.get(n):
                    raise Lost(f"{path} has changed")
                file.seek(start)
                return file.read(end - start)
        raise Lost(f"{path} is gone")

    def verify(self, n):
        """Gives a file its name, if its data is right."""
        each, path = self.files[n], self.place(n)
        if not each["size"]:
            open(path + UNFINISHED, "wb").close()
        if self.bucket:
            is_right = self.bucket.matches(self.given["s3"]["prefix"] + each["path"], path + UNFINISHED, each["size"], each["tag"])
        else:
            is_right = matches(path + UNFINISHED, each)
        if is_right is None:
            log(self, f"{shown(each['url'])}: its ETag {each['tag']} has no MD5 sums, so only its size was verified")
        if is_right is False:
            self.note(n, None)
            with self.changed:
                self.set_have(n, 0)
                self.count = sum(self.have)
            os.remove(path + UNFINISHED)
            kinds = [("ETag", self.bucket and each["tag"]), ("sha256 digest", each.get("sha256")), ("Git digest", each.get("git"))]
            wanted = next(f"{kind} {value}" for kind, value in kinds if value)
            raise Refused(f"{shown(each['url'])}: the data does not match its {wanted}"
                          + ("; correct `sha256`, if the file has changed on purpose" if "url" in self.given else ""))
        os.chmod(path + UNFINISHED, 0o644)
        self.times[n] = os.stat(path + UNFINISHED).st_mtime_ns
        os.replace(path + UNFINISHED, path)
        self.note(n, self.times[n])
        self.verified.add(n)

    def verify_ready(self, pool):
        """Begins to verify the files of which all chunks are here. Fails if one was wrong."""
        while self.ready:
            self.checks.append(pool.submit(self.verify, self.ready.pop()))
        done = [each for each in self.checks if each.done()]
        self.checks = [each for each in self.checks if not each.done()]
        for each in done:
            each.result()

    def is_verified(self, pool):
        """Whether all files are here and verified."""
        if self.files is None or self.count < len(self.chunks):
            return False
        self.verify_ready(pool)
        for each in self.checks:
            each.result()
        return len(self.verified) == len(self.files)

    def finish(self):
        if self.given["unpacks"] and not self.is_complete:
            log(self, "unpacking")
            unpack(self.place(0), self.root, self.files[0]["path"], self.files[0]["url"])
            self.note("unpacked")
        with self.changed:
            self.is_complete = True
            self.changed.notify_all()

    def forget_archive(self):
        """Removes an archive that was unpacked, when the pods below this one have it."""
        if self.given["unpacks"] and self.is_complete and len(self.done) >= self.below:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.place(0))
            with self.changed:
                self.have, self.count = bytearray(len(self.chunks)), 0

    def wait(self, is_met):
        with self.changed:
            return self.changed.wait_for(is_met, POLL)


def matches(path, each):
    if each.get("sha256"):
        return digest(path, hashlib.sha256()) == each["sha256"]
    if each.get("git"):
        # Git names a file by the SHA-1 of its content with this header.
        return digest(path, hashlib.new("sha1", b"blob %d\0" % each["size"], usedforsecurity=False)) == each["git"]
    return True


def digest(path, hashed):
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            hashed.update(data)
    return hashed.hexdigest()


def unpack(path, root, name, url):
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                # It removes `..` from names itself.
                archive.extractall(root)
        else:
            with tarfile.open(path) as archive:
                extract(archive, root)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise Refused(f"{shown(url)} cannot be unpacked: {str(error).split(chr(10))[0].rstrip(':')}; remove `unpacks: true`, if it is not an archive of tar or zip") from None


def extract(archive, root):
    if hasattr(tarfile, "data_filter"):
        return archive.extractall(root, filter="data")
    for each in archive:
        path = os.path.realpath(os.path.join(root, each.name))
        if not (each.isfile() or each.isdir()) or path != root and not path.startswith(root + os.sep):
            raise tarfile.TarError(f"this Python unpacks only files and folders, and {each.name!r} is another kind, or leads outside")
        archive.extract(each, root, set_attrs=each.isfile())


# The source.


class Redirects(urllib.request.HTTPRedirectHandler):
    """Sends the token only to the server that it is for."""

    def redirect_request(self, request, *words):
        further = super().redirect_request(request, *words)
        token = request.unredirected_hdrs.get("Authorization")
        if token and (further.type, further.host) == (request.type, request.host):
            further.add_unredirected_header("Authorization", token)
        return further


def bucket_of(given):
    """The bucket of an S3 volume."""
    if "s3" not in given:
        return None
    import s3
    return s3.Bucket(given["s3"])


class Source:
    """The server that the spec names."""

    def __init__(self, given):
        self.given, self.opener = given, urllib.request.build_opener(Redirects)
        self.direct, self.lock = {}, threading.Lock()
        self.endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
        self.token = None
        if given["hasToken"]:
            self.token_name = "HF_TOKEN" if "huggingFace" in given else "TOKEN"
            try:
                with open(os.path.join(TOKENS, given["name"], self.token_name)) as file:
                    self.token = file.read().strip()
            except FileNotFoundError:
                raise Refused(f"the Secret of `secretName` has no key {self.token_name}") from None

    def open(self, url, take, headers=dict):
        """Sends a request, and repeats it while that may help, each time with new headers. Returns the result of `take`."""
        for tried in range(TRIES):
            wait_before(tried)
            target = self.direct.get(url, url)
            request = urllib.request.Request(target, headers=headers())
            if self.token and target == url:
                request.add_unredirected_header("Authorization", "Bearer " + self.token)
            try:
                with self.opener.open(request, timeout=60) as answer:
                    # The other host may need no token, and its address is valid for a while.
                    if host_of(answer.geturl()) != host_of(url):
                        self.direct[url] = answer.geturl()
                    return take(answer)
            except urllib.error.HTTPError as error:
                if error.code == 416:
                    return take(error)
                why = f"HTTP {error.code}"
                if target != url:
                    self.direct.pop(url, None)
                elif error.code < 500 and error.code not in (408, 429):
                    raise Refused(f"{shown(url)}: {why}; {self.advice(error.code)}") from None
                if error.code == 429 and (error.headers.get("retry-after") or "").isdigit():
                    time.sleep(min(300, int(error.headers["retry-after"])))
            except (OSError, http.client.HTTPException) as error:
                if is_full(error):
                    raise
                why = str(getattr(error, "reason", None) or error) or repr(error)
                if isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError):
                    raise Refused(f"{shown(url)}: {why}") from None
            if tried == 4:
                print(f"khorovod: {self.given['name']}: {shown(url)}: {why}; trying again", file=sys.stderr, flush=True)
        raise Unavailable(f"{shown(url)}: {why}; check that the pods can reach the server")

    def advice(self, code):
        if code in (401, 403) and not self.token:
            return "set `secretName`, a Secret with a token that may read it"
        if code in (401, 403):
            return f"check that the token in the Secret's key {self.token_name} may read it"
        if code in (404, 410):
            return "check `huggingFace` and `revision`" if "huggingFace" in self.given else "check `url`"
        return "the server refuses the request"

    def list(self):
        """The files with their sizes and digests."""
        if "url" in self.given:
            url = self.given["url"]
            name = os.path.basename(urllib.parse.unquote(urllib.parse.urlsplit(url).path)) or "download"
            size, tag = self.open(url, measure, lambda: {"Range": "bytes=0-0"})
            if size is None:
                raise Refused(f"{shown(url)}: the server does not report the size of the file; download it in the command of the ranks")
            return [{"path": name, "size": size, "sha256": self.given.get("sha256"), "url": url, "tag": tag}]
        name, revision = self.given["huggingFace"], self.given["revision"]
        kind = name.split("/")[0] if name.startswith(("datasets/", "spaces/")) else "models"
        repository = name[len(kind) + 1:] if name.startswith(kind + "/") else name
        files, url = [], f"{self.endpoint}/api/{kind}/{repository}/tree/{revision}?recursive=true&expand=false"
        while url:
            page, link = self.open(url, lambda answer: (answer.read(), answer.headers.get("link") or ""))
            try:
                entries = [each for each in json.loads(page) if each["type"] == "file"]
                for each in entries:
                    place = f"{self.endpoint}/{name}/resolve/{revision}/{urllib.parse.quote(each['path'])}"
                    wanted = {"sha256": each["lfs"]["oid"]} if each.get("lfs") else {"git": each["oid"]}
                    files.append({"path": each["path"], "size": each["size"], "url": place, "tag": None, **wanted})
            except (ValueError, TypeError, KeyError):
                raise Refused(f"{shown(url)} did not return a list of files of the Hugging Face Hub") from None
            following = re.search('<([^>]+)>; *rel="next"', link)
            url = following and urllib.parse.urljoin(url, following[1])
        patterns = self.given.get("files") or ["*"]
        files = [each for each in files if any(fnmatch.fnmatchcase(each["path"], pattern) for pattern in patterns)]
        if not files:
            raise Refused(f"{self.endpoint}/{name} has no file that matches `files`: {', '.join(patterns)}")
        return files

    def fill(self, volume, pool, verifiers):
        """Downloads the missing chunks: ranges of a file in the order of the files, several at once."""
        if volume.files is None or not volume.is_pinned:
            volume.adopt(self.list())
        size = sum(end - start for c, (_, start, end) in enumerate(volume.chunks) if not volume.have[c])
        log(volume, f"{len(volume.files)} files, {size} bytes from {host_of(volume.files[0]['url']) if volume.files else 'the source'}")
        parts = []
        for n in range(len(volume.files)):
            part = []
            for chunk in volume.missing(n):
                if part and (chunk != part[-1] + 1 or len(part) == PART // CHUNK):
                    parts.append(part)
                    part = []
                part.append(chunk)
            parts += [part] if part else []
        for at in range(0, len(parts), QUEUED):
            waiting = [pool.submit(self.fetch, volume, part) for part in parts[at:at + QUEUED]]
            try:
                for each in concurrent.futures.as_completed(waiting):
                    each.result()
                    volume.verify_ready(verifiers)
            finally:
                for each in waiting:
                    each.cancel()

    def fetch(self, volume, part):
        each = volume.files[volume.chunks[part[0]][0]]
        left = list(part)

        def take(answer):
            start = volume.chunks[left[0]][1]
            if answer.status == 200 and each["tag"] and answer.headers.get("etag") != each["tag"]:
                raise Refused(f"{shown(each['url'])} has changed during the download; set `sha256`")
            if answer.status == 200:
                # The server does not support ranges.
                skip(answer, start)
            elif range_of(answer) != (start, each["size"]):
                raise Refused(f"{shown(each['url'])} has another size than before")
            while left:
                _, at, end = volume.chunks[left[0]]
                volume.write(left[0], read_all(answer, end - at))
                del left[0]

        def headers():
            # An earlier try may have received some of the chunks.
            start, end = volume.chunks[left[0]][1], volume.chunks[left[-1]][2]
            return {"Range": f"bytes={start}-{end - 1}", **({"If-Range": each["tag"]} if each["tag"] else {})}

        self.open(each["url"], take, headers)


class BucketSource(Source):
    """The bucket of an S3 volume."""

    def __init__(self, volume):
        self.bucket, self.prefix, self.place = volume.bucket, volume.given["s3"]["prefix"], volume.given["s3"]["bucket"]

    def list(self):
        with unavailable():
            found = [(key, size, tag) for key, size, tag, _ in self.bucket.list(self.prefix) if not key.endswith("/")]
        return [
            {"path": key[len(self.prefix):], "size": size, "url": f"s3://{self.place}/{key}", "tag": tag}
            for key, size, tag in found
        ]

    def fetch(self, volume, part):
        for chunk in part:
            n, start, end = volume.chunks[chunk]
            headers = {"range": f"bytes={start}-{end - 1}", "if-match": f'"{volume.files[n]["tag"]}"'}
            with unavailable():
                take = functools.partial(read_all, size=end - start)
                _, data = self.bucket.call("GET", self.prefix + volume.files[n]["path"], take=take, **headers)
            volume.write(chunk, data)


@contextlib.contextmanager
def unavailable():
    """Reports an error of s3.py as one that a restarted container may not have, such as one of credentials that are renewed."""
    import s3
    try:
        yield
    except s3.Refused as error:
        raise Unavailable(str(error)) from None


def measure(answer):
    """The size of a file, and its strong ETag."""
    tag = answer.headers.get("etag") or ""
    size = range_of(answer)[1] if answer.status in (206, 416) else answer.headers.get("content-length")
    return None if size is None else int(size), tag if tag.startswith('"') else None


def range_of(answer):
    """The start of a range, and the size of the file."""
    found = re.fullmatch(r"bytes (?:([0-9]+)-[0-9]+|\*)/([0-9]+)", answer.headers.get("content-range") or "")
    return (int(found[1] or 0), int(found[2])) if found else (None, None)


def skip(answer, size):
    while size:
        data = answer.read(min(size, 1 << 20))
        if not data:
            raise OSError("the server closed the connection")
        size -= len(data)


def read_all(answer, size):
    data = bytearray()
    while len(data) < size:
        more = answer.read(min(size - len(data), 1 << 20))
        if not more:
            raise OSError(f"{size - len(data)} bytes short")
        data += more
    return data


def shown(url):
    """A URL without its query, which may be a signature that gives access."""
    return url.split("?")[0]


def host_of(url):
    return urllib.parse.urlsplit(url).netloc


def is_full(error):
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)


def wait_before(tried):
    """Waits before another try, at random, so that pods that fail at the same time do not repeat at the same time."""
    time.sleep(min(30, 2**tried / 4) * random.uniform(0.5, 1) if tried else 0)


# Other pods.


def run_key():
    """The key of the run, which every pod with ranks has."""
    for name in "host_key", "id_rsa":
        with contextlib.suppress(FileNotFoundError), open(os.path.join(KEYS, name), "rb") as file:
            return hmac.digest(file.read(), b"khorovod download", "sha256")
    raise Refused(f"{KEYS} has no key")


def sign(key, *words):
    return hmac.new(key, b"\n".join(word.encode() for word in words), "sha256").hexdigest()


class Peer:
    """Another pod."""

    def __init__(self, host, key):
        self.host, self.key, self.threads = host, key, threading.local()

    def get(self, path, connect_within=5):
        """The authenticated answer to a request: its status, and its body. 503 means that the pod does not have it yet."""
        for tried in range(2):
            kept = getattr(self.threads, "connection", None)
            connection = kept or http.client.HTTPConnection(self.host, PORT, timeout=connect_within)
            nonce = secrets.token_hex(16)
            try:
                if not kept:
                    connection.connect()
                    connection.sock.settimeout(POLL + 20)
                    self.threads.connection = connection
                headers = {"X-Khorovod-Nonce": nonce, "X-Khorovod-Signature": sign(self.key, "request", nonce, path)}
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                body = answer.read()
                signature = answer.headers.get("x-khorovod-signature") or ""
                wanted = sign(self.key, "answer", nonce, str(answer.status), hashlib.sha256(body).hexdigest())
                if not hmac.compare_digest(signature, wanted):
                    raise Lost(f"{self.host} does not have the key of this run")
                return answer.status, body
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self.threads.connection = None
                # The pod may have closed a connection that was not used for a while.
                if not kept or tried:
                    raise Lost(f"{self.host}: {error!r}") from None
            except Lost:
                connection.close()
                self.threads.connection = None
                raise

    def is_complete(self, volume):
        try:
            return self.get(f"/{volume.number}/complete", 2)[0] == 200
        except Lost:
            return False

    def fill(self, volume, pool, verifiers, touch):
        """Copies what the other pod has, until this pod has all. Calls `touch` after each answer."""
        while True:
            status, body = self.get(f"/{volume.number}/files")
            check(self, status, body)
            if status == 200:
                break
            touch()
        volume.adopt(json.loads(body))
        known = -1
        while volume.count < len(volume.chunks):
            status, body = self.get(f"/{volume.number}/have/{known}")
            check(self, status, body)
            touch()
            if status == 503:
                continue
            if known == -1:
                log(volume, f"{len(volume.files)} files from {self.host}")
            wanted = [c for c, there in enumerate(body) if there and not volume.have[c]][:QUEUED]
            # The next answer comes at once if this one has more than that.
            known = sum(body) if len(wanted) < QUEUED else 0
            waiting = [pool.submit(self.fetch, volume, chunk, touch) for chunk in wanted]
            try:
                for each in waiting:
                    each.result()
            finally:
                for each in waiting:
                    each.cancel()
            volume.verify_ready(verifiers)

    def fetch(self, volume, chunk, touch):
        status, body = self.get(f"/{volume.number}/chunk/{chunk}")
        if status != 200:
            raise Lost(f"{self.host} no longer has the data")
        touch()
        volume.write(chunk, body)


def check(peer, status, body):
    if status not in (200, 503):
        raise Lost(f"{peer.host}: {body.decode(errors='replace')}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 120
    volumes, key = [], b""

    def do_GET(self):
        nonce, signature = (self.headers.get("x-khorovod-" + name) or "" for name in ("nonce", "signature"))
        if not hmac.compare_digest(signature, sign(self.key, "request", nonce, self.path)):
            self.close_connection = True
            return self.send_error(403)
        try:
            status, body = self.answer(*self.path.split("/")[1:])
        except (Lost, ValueError, IndexError, OSError) as error:
            status, body = 410, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Khorovod-Signature", sign(self.key, "answer", nonce, str(status), hashlib.sha256(body).hexdigest()))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, number, what, which=""):
        volume = self.volumes[int(number)]
        if what == "complete":
            return (200 if volume.is_complete and volume.count == len(volume.chunks) else 404), b""
        if what == "done":
            volume.done.add(which)
            volume.forget_archive()
            return 200, b""
        if what == "files":
            is_known = volume.wait(lambda: volume.files is not None)
            return (200, json.dumps(volume.files).encode()) if is_known else (503, b"")
        if what == "have":
            is_more = volume.wait(lambda: volume.count != int(which))
            if volume.is_complete and volume.count < len(volume.chunks):
                raise Lost("the archive was removed after it was unpacked")
            return (200, bytes(volume.have)) if is_more else (503, b"")
        data = volume.read(int(which)) if volume.have[int(which)] else None
        return (404, b"") if data is None else (200, data)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve(volumes, key):
    """Starts the server. With hostNetwork, another job on the node may have the port; the pods below then ask another pod."""
    try:
        family = socket.AF_INET6 if ":" in ADDRESS else socket.AF_INET
        listener = socket.create_server((ADDRESS, PORT), family=family, backlog=64)
    except OSError as error:
        print(f"khorovod: port {PORT} cannot be used: {error}; other pods get no data from this one", file=sys.stderr, flush=True)
        return
    Handler.volumes, Handler.key = volumes, key
    server = Server(("", PORT), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket, server.server_address = listener, listener.getsockname()
    threading.Thread(target=server.serve_forever, daemon=True).start()


def get_volume(volume, above, below, pool, verifiers):
    """Fills a volume from the nearest pod above that answers, from a pod below that is complete, or from the source."""
    last, told = [time.monotonic()], 0

    def touch():
        last[0] = time.monotonic()

    while not volume.is_verified(verifiers):
        silent = time.monotonic() - last[0]
        try:
            fill(volume, above, below, pool, verifiers, silent, touch)
        except Lost as error:
            if not above:
                below = []
            why = error
        else:
            continue
        if silent - told >= PATIENCE:
            log(volume, f"{why}; trying again")
            told = silent
        time.sleep(0.5)


def fill(volume, above, below, pool, verifiers, silent, touch):
    """Tries the pods that may be asked after this many silent seconds."""
    why = None
    for distance, peer in enumerate(above):
        if silent >= distance * PATIENCE:
            try:
                return peer.fill(volume, pool, verifiers, touch)
            except Lost as error:
                why = why or error
    if above and silent < (len(above) + 2) * PATIENCE:
        raise why
    complete = [peer for peer in below if peer.is_complete(volume)]
    if complete:
        return complete[0].fill(volume, pool, verifiers, touch)
    if above:
        log(volume, f"no pod above this one answers ({why}); downloading from the source")
    source = BucketSource(volume) if volume.bucket else Source(volume.given)
    return source.fill(volume, pool, verifiers)


def log(volume, text):
    print(f"khorovod: {volume.name}: {text}", file=sys.stderr, flush=True)


def run(volumes, index, above, below):
    pool = concurrent.futures.ThreadPoolExecutor(8)
    verifiers = concurrent.futures.ThreadPoolExecutor(2)
    for volume in volumes:
        began = time.monotonic()
        try:
            if not volume.is_complete:
                get_volume(volume, above, below, pool, verifiers)
                volume.finish()
        except OSError as error:
            if not is_full(error):
                raise
            free = shutil.disk_usage(volume.root).free
            raise Refused(f"cannot write to {volume.root}, which has {free} bytes free: {error.strerror}; raise `sizeLimit` of the volume, or workers.ephemeralStorage") from None
        size = sum(each["size"] for each in volume.files)
        log(volume, f"complete in {volume.root}: {len(volume.files)} files, {size} bytes, {time.monotonic() - began:.1f} s")
        for peer in above[:1]:
            with contextlib.suppress(Lost):
                # It may remove an archive.
                peer.get(f"/{volume.number}/done/{index}")
        volume.forget_archive()


def main():
    result, index, count, *names = sys.argv[1:]
    index, count = int(index), int(count)
    cut = names.index("-")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "download.json")) as file:
        given = json.load(file)
    code, text = 0, "ok"
    try:
        key = run_key() if count > 1 else b""
        volumes = [Volume(number, each) for number, each in enumerate(given)]
        above, below = ([Peer(name, key) for name in part] for part in (names[:cut], names[cut + 1:]))
        for volume in volumes:
            volume.below = len(below)
        if count > 1:
            serve(volumes, key)
        run(volumes, index, above, below)
    except (Unavailable, OSError) as error:
        code, text = 1, str(error)
    except Refused as error:
        code, text = 2, str(error)
    with open(result + ".new", "w") as file:
        file.write(text)
    os.replace(result + ".new", result)
    if code or count == 1:
        # At once, without the rest of the queue.
        os._exit(code)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
