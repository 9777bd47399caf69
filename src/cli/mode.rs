//! File permissions, on systems that have them.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// Lets only the owner read and write a file.
pub fn make_private(path: &Path) -> io::Result<()> {
    set(path, 0o600)
}

/// Copies the permissions of one file to another.
pub fn copy(from: &Metadata, to: &Path) -> io::Result<()> {
    fs::set_permissions(to, from.permissions())
}

/// Creates a temporary file in a folder: private, or with the permissions that the umask allows.
pub fn temporary(folder: &Path, private: bool) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".khorovod-");
    #[cfg(unix)]
    if !private {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let _ = private;
    builder.tempfile_in(folder)
}

/// Whether other users than the owner can read a file.
#[cfg(unix)]
pub fn others_can_read(meta: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    meta.permissions().mode() & 0o077 != 0
}

/// Sets the permission bits of a file.
#[cfg(unix)]
pub fn set(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Always false: the access lists of other systems are not read.
#[cfg(not(unix))]
pub fn others_can_read(_: &Metadata) -> bool {
    false
}

/// Does nothing: the system has no permission bits.
#[cfg(not(unix))]
pub fn set(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
