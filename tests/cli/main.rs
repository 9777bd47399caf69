//! The command as a process: exit codes, its output streams, and the files that exist after a
//! failure.

mod cluster;
#[path = "../common/mod.rs"]
mod common;
mod completion;
mod edits;
mod helm;
mod help;
mod keys;
mod messages;
mod plan;
mod reading;
mod reference;
mod templates;
mod writing;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().expect("it was not killed"), text(stdout), text(stderr))
}

/// Runs the command with a text on standard input.
fn piped(command: &mut Command, input: &str) -> (i32, String, String) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().expect("it was not killed"), text(stdout), text(stderr))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
