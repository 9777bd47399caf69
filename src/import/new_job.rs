//! The new job as a spec: its name in problems, and its [`check`].

use khorovod_compiler::problem::{Problems, Severity};
use khorovod_compiler::{Inputs, Keys, Text, pipeline};

/// The name of the new job in problems. It contains the names of the old files, because the new job has no file yet.
pub fn name(texts: &[Text]) -> String {
    let names: Vec<&str> = texts.iter().map(|text| text.name.as_str()).collect();
    format!("job imported from {}", names.join(", "))
}

/// Checks the new job like any other spec. Returns its warnings, or all its problems if one of these is an error.
pub fn check(name: &str, job: &str) -> Result<Problems, Problems> {
    let text = Text { name: name.to_owned(), text: job.to_owned() };
    let found = pipeline::check(&text, &Inputs { keys: Keys::Masked, ..Inputs::default() });
    if found.list.iter().any(|problem| problem.severity == Severity::Error) { Err(found) } else { Ok(found) }
}
