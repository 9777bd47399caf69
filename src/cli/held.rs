//! A stream that is held in memory until all of it has been read, for `post-render`: nothing of it is ever moved or
//! copied here, and a pipe behind takes its pages as they are.

use std::io::{self, Read};

use memmap2::MmapMut;

use super::Failure;
use super::output::reason;
use super::pipe;

/// A stream that was read to its end, or one byte beyond the limit.
pub struct Held {
    /// As large as the limit; only what is written to takes room.
    room: MmapMut,
    length: usize,
}

/// What one call reads at most.
const STEP: usize = 1 << 20;
/// A large page.
const PAGE: usize = 2 << 20;

impl Held {
    pub fn read(mut stream: impl Read + pipe::End, limit: usize) -> Result<Self, Failure> {
        let room = MmapMut::map_anon(limit.saturating_add(1)).map_err(|error| {
            let why = reason(&error);
            Failure::File(format!("cannot reserve memory for a stream: {why}; a lower `--limit MIB` needs less"))
        })?;
        // Large pages take a third of the time; where there are none, small ones do.
        #[cfg(target_os = "linux")]
        let _ = room.advise(memmap2::Advice::HugePage);
        pipe::widen(&stream);
        let mut held = Self { room, length: 0 };
        let mut touched = 0;
        loop {
            let end = (held.length + STEP).min(held.room.len());
            // The system clears a page when it is first touched. While it reads it would keep the writer waiting meanwhile.
            while touched < end {
                held.room[touched] = 0;
                touched += PAGE;
            }
            match stream.read(&mut held.room[held.length..end]) {
                Ok(0) => return Ok(held),
                Ok(count) => held.length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::File(format!("cannot read <stdin>: {}", reason(&error)))),
            }
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }
}
