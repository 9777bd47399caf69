//! Faster pipes on Linux: larger buffers, and pages that are passed to the reader without a copy. If the kernel refuses, or
//! the stream is not a pipe, writing is only slower.

#[cfg(target_os = "linux")]
pub use linux::{End, lend, widen};

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, IoSlice};
    pub use std::os::fd::AsFd as End;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, SpliceFFlags, fcntl, vmsplice};

    /// Sets the buffer of a pipe to 1 MiB instead of 64 KiB, so that reader and writer wait for each other less often.
    pub fn widen(pipe: &impl End) {
        let _ = fcntl(pipe.as_fd(), FcntlArg::F_SETPIPE_SZ(1 << 20));
    }

    /// Passes the pages of `bytes` to a pipe without a copy, and returns how many bytes the pipe accepted, or 0 if the
    /// output is not a pipe. The reader gets these pages themselves, so the pages must never change.
    pub fn lend(pipe: &impl End, bytes: &[u8]) -> io::Result<usize> {
        let mut lent = 0;
        while lent < bytes.len() {
            match vmsplice(pipe.as_fd(), &[IoSlice::new(&bytes[lent..])], SpliceFFlags::empty()) {
                Ok(count) => lent += count,
                Err(Errno::EINTR) => {}
                Err(Errno::EPIPE) => return Err(Errno::EPIPE.into()),
                Err(_) => break,
            }
        }
        Ok(lent)
    }
}

#[cfg(not(target_os = "linux"))]
pub use other::{End, lend, widen};

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    pub trait End {}
    impl<T> End for T {}

    pub fn widen(_: &impl End) {}

    pub fn lend(_: &impl End, _: &[u8]) -> io::Result<usize> {
        Ok(0)
    }
}
