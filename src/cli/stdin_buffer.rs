//! A buffer in memory for all of standard input, for `post-render`. The bytes are never moved or copied, so that
//! [`pipe::lend`] can pass their pages to a pipe.

use std::io::{self, Read};

use memmap2::MmapMut;

use super::Failure;
use super::output::reason;
use super::pipe;

/// A stream that was read to its end, or to one byte beyond the limit.
pub struct StdinBuffer {
    /// As large as the limit. Only pages that were written to use memory.
    pages: MmapMut,
    length: usize,
}

/// How many bytes one call reads at most.
const STEP: usize = 1 << 20;
/// The size of a large page.
const PAGE: usize = 2 << 20;

impl StdinBuffer {
    /// Reads a stream to its end, or to one byte beyond `limit`.
    pub fn read(mut stream: impl Read + pipe::End, limit: usize) -> Result<Self, Failure> {
        let pages = MmapMut::map_anon(limit.saturating_add(1)).map_err(|error| {
            let why = reason(&error);
            Failure::File(format!("cannot reserve memory for a stream: {why}; use a lower `--limit MIB`"))
        })?;
        // With large pages, reading takes a third of the time. Without support for them, the kernel uses small ones.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        pipe::widen(&stream);
        let mut buffer = Self { pages, length: 0 };
        let mut touched = 0;
        loop {
            let end = (buffer.length + STEP).min(buffer.pages.len());
            // The kernel clears a page when the process first touches it. Touching the pages before the read keeps this
            // work out of the read, during which the writer of the pipe waits.
            while touched < end {
                buffer.pages[touched] = 0;
                touched += PAGE;
            }
            match stream.read(&mut buffer.pages[buffer.length..end]) {
                Ok(0) => return Ok(buffer),
                Ok(count) => buffer.length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::File(format!("cannot read <stdin>: {}", reason(&error)))),
            }
        }
    }

    /// Everything that was read.
    pub fn bytes(&self) -> &[u8] {
        &self.pages[..self.length]
    }
}
