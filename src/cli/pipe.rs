//! What Linux does for pipes that others do not: larger ones, and pages that are handed over instead of copied. Where it
//! refuses, or there is no pipe, nothing is lost but time.

#[cfg(target_os = "linux")]
pub use linux::{End, lend, widen};

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, IoSlice};
    pub use std::os::fd::AsFd as End;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, SpliceFFlags, fcntl, vmsplice};

    /// Makes a pipe hold a mebibyte, not 64 KiB: its two ends wait for each other less often.
    pub fn widen(pipe: &impl End) {
        let _ = fcntl(pipe.as_fd(), FcntlArg::F_SETPIPE_SZ(1 << 20));
    }

    /// Lets a pipe have the pages that bytes stand in, and returns how many it took: none if it is no pipe. Who reads it
    /// reads these very pages, so they must stay as they are for good.
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
pub use elsewhere::{End, lend, widen};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::io;

    pub trait End {}
    impl<T> End for T {}

    pub fn widen(_: &impl End) {}

    pub fn lend(_: &impl End, _: &[u8]) -> io::Result<usize> {
        Ok(0)
    }
}
