//! libFuzzer's way into one of the [targets], named by `FUZZ_TARGET`. What a target asserts is in its file; that nothing
//! takes long is asserted here, where each run is alone with its input.
#![no_main]

mod targets;

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use rustix::time::{ClockId, clock_gettime};

static TARGET: LazyLock<targets::Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let named = targets::ALL.iter().find(|target| target.name == name);
    *named.unwrap_or_else(|| panic!("FUZZ_TARGET={name:?} is none of the targets"))
});

/// What an input may take: a second for 100 KB, and a half for what is filled once and for aliases, up to their limit.
fn allowed(input: &[u8]) -> Duration {
    Duration::from_micros(10 * input.len() as u64).max(Duration::from_millis(500))
}

/// The time this thread has had a processor: a busy machine is no hang.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Writes what the target starts from into the folder `FUZZ_SEEDS`.
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
    // A shared machine may count what others took; not three times.
    let took = time();
    let least = if took > allowed(input) { took.min(time()).min(time()) } else { took };
    assert!(least <= allowed(input), "{} bytes took {least:?}", input.len());
});
