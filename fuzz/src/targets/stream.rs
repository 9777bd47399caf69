//! The post-renderer: other documents must pass through unchanged and in order. Tests the input as a stream, and its parts
//! between NUL bytes around TrainingJobs.

use std::sync::LazyLock;

use khorovod::problem::Problems;
use khorovod::{Inputs, Keys, expand};

use super::{JOB, inputs, text};

pub fn run(input: &[u8]) {
    if input.contains(&0) { check_text_around_jobs(input) } else { check_stream(input) }
}

fn expanded(stream: &[u8], inputs: &Inputs) -> Result<Vec<u8>, Problems> {
    let mut out = Vec::new();
    expand("<stdin>", stream, inputs, &mut |part| out.extend_from_slice(part)).map(|_| out)
}

fn check_stream(stream: &[u8]) {
    let ours = holds(stream, b"khorovod.dev");
    match expanded(stream, &inputs()) {
        Ok(out) if !ours => assert!(out == stream, "a stream without TrainingJobs is changed"),
        Ok(out) => {
            // If the whole stream can also be rendered, the result is the same.
            if let Ok(stream) = std::str::from_utf8(stream)
                && let Ok(rendered) = khorovod::render(&text(stream), &inputs())
            {
                assert_eq!(String::from_utf8_lossy(&out), rendered.text);
            }
        }
        Err(found) => assert!(ours, "a stream without TrainingJobs is rejected: {:?}", found.list),
    }
}

static NAMES: [&str; 2] = ["a", "b"];
static JOBS: LazyLock<[(String, String); 2]> = LazyLock::new(|| {
    NAMES.map(|name| {
        let job = JOB.replace("{name: fuzz}", &format!("{{name: {name}}}"));
        let objects = khorovod::render(&text(job.clone()), &seeded()).expect("the job is valid").text;
        (job, objects)
    })
});

fn check_text_around_jobs(input: &[u8]) {
    // Skips parts that contain a TrainingJob or a document marker.
    if holds(input, b"khorovod") {
        return;
    }
    let (mut stream, mut expected) = (Vec::new(), Vec::new());
    let mut parts = input.splitn(JOBS.len() + 1, |byte| *byte == 0);
    let first = parts.next().unwrap_or_default();
    for part in [&mut stream, &mut expected] {
        part.extend_from_slice(first);
    }
    for (part, (job, objects)) in parts.zip(JOBS.iter()) {
        for (stream, ours) in [(&mut stream, job), (&mut expected, objects)] {
            stream.extend_from_slice(b"\n---\n");
            stream.extend_from_slice(ours.as_bytes());
            stream.extend_from_slice(b"---\n");
            stream.extend_from_slice(part);
        }
    }
    let out = expanded(&stream, &seeded()).unwrap_or_else(|found| panic!("{:?}", found.list));
    assert!(out == expected, "{}\nis now\n{}", stream.escape_ascii(), out.escape_ascii());
}

fn seeded() -> Inputs {
    Inputs { keys: Keys::Seed([7; 32]), ..Inputs::default() }
}

/// Whether a slice contains another slice.
fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
