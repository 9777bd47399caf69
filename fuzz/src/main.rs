//! The entry point of libFuzzer into one of the [targets], selected by `FUZZ_TARGET`. A target's file has its assertions;
//! this file also asserts that each input takes a limited time.
#![no_main]

mod targets;

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use rustix::time::{ClockId, clock_gettime};

static TARGET: LazyLock<targets::Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let named = targets::ALL.iter().find(|target| target.name == name);
    *named.unwrap_or_else(|| panic!("FUZZ_TARGET={name:?} is not a target"))
});

/// The time limit for an input: one second per 100 KB, plus half a second for data that is initialized once and for YAML
/// aliases.
fn allowed(input: &[u8]) -> Duration {
    Duration::from_micros(10 * input.len() as u64).max(Duration::from_millis(500))
}

/// The CPU time of this thread, so that a busy machine does not look like a hang.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Writes the seeds of the target into the folder `FUZZ_SEEDS`.
fn seed() {
    let Some(folder) = std::env::var_os("FUZZ_SEEDS").map(std::path::PathBuf::from) else { return };
    for (number, seed) in targets::seeds::of(TARGET.name).iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number:03}")), seed).expect("the folder of seeds can be written");
    }
}

fuzz_target!(init: seed(), |input: &[u8]| {
    let time = || {
        let start = spent();
        (TARGET.run)(input);
        spent() - start
    };
    // On a shared machine the CPU time may include that of others, but not three times in a row.
    let took = time();
    let least = if took > allowed(input) { took.min(time()).min(time()) } else { took };
    assert!(least <= allowed(input), "{} bytes took {least:?}", input.len());
});
