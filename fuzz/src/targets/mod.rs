//! The fuzz targets, one file per target: how bytes become an input, and which assertions hold for the output. libFuzzer
//! runs them through `main.rs`; `tests/fuzz.rs` runs them on the seeds and on all regressions.
//!
//! A target uses the public API of the library. An independent YAML parser checks the output.

pub mod choices;
mod import;
mod krm;
mod merge;
mod reader;
mod render;
pub mod seeds;
mod spec;
mod stream;
mod written;

use khorovod::problem::Problems;
use khorovod::{Inputs, Keys, Text, show};
use serde::Deserialize;
use serde_json::Value as Json;

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Runs the target on an input; panics if an assertion fails.
    pub run: fn(&[u8]),
}

pub const ALL: &[Target] = &[
    Target { name: "reader", run: reader::run },
    Target { name: "written", run: written::run },
    Target { name: "render", run: render::run },
    Target { name: "spec", run: spec::run },
    Target { name: "stream", run: stream::run },
    Target { name: "merge", run: merge::run },
    Target { name: "krm", run: krm::run },
    Target { name: "import", run: import::run },
];

/// A valid job of the kind with the fewest scripts; further lines of its spec can be appended.
pub const JOB: &str = "apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata: {name: fuzz}
spec:
  image: a/b:1
  command: [python, train.py]
  launcher: {kind: torchrun}
  workers: {replicas: 2, gpus: 1}
";

fn text(text: impl Into<String>) -> Text {
    Text { name: "job.yaml".to_owned(), text: text.into() }
}

fn inputs() -> Inputs {
    Inputs { keys: Keys::Masked, ..Inputs::default() }
}

/// The documents of a stream by libyaml; `None` if libyaml rejects the stream.
fn documents(yaml: &str) -> Option<Vec<Json>> {
    serde_yaml::Deserializer::from_str(yaml).map(|one| Json::deserialize(one).ok()).collect()
}

/// Like [`documents`], for a stream that must be valid.
#[track_caller]
fn read(yaml: &str) -> Vec<Json> {
    documents(yaml).unwrap_or_else(|| panic!("libyaml rejects the output:\n{yaml}"))
}

/// Formats the problems in one of the formats, which the input selects. No format may contain control characters for a
/// terminal or commands for GitHub.
fn check_reports(found: &Problems) {
    let Some(last) = found.list.last() else { return };
    let shown = show::distinct([found]).count();
    let harmless = |c: char| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match last.message.len() % 4 {
        0 => {
            let commands = show::github(std::slice::from_ref(found));
            assert!(commands.chars().all(|c| matches!(c, '\n' | '\t') || harmless(c)), "{commands:?}");
            assert_eq!(commands.lines().count(), shown, "{commands}");
            assert!(
                commands
                    .lines()
                    .all(|line| ["::error ", "::warning ", "::notice "].iter().any(|start| line.starts_with(start))),
                "{commands}"
            );
        }
        1 => {
            let sarif: Json = serde_json::from_str(&show::sarif(std::slice::from_ref(found))).expect("SARIF is JSON");
            assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(shown));
        }
        _ => {
            let page = show::Style::default().problems([found]).concat();
            assert!(
                page.chars().all(|c| c == '\n' || c == '\t' || harmless(c)),
                "a terminal would obey this: {page:?}"
            );
        }
    }
}
