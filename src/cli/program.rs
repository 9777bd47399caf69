//! Runs another program for at most a few seconds.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The result of a program.
#[derive(Debug)]
pub enum Answer {
    /// The program exited with 0. The text is its standard output.
    Output(String),
    /// The program failed. The text is the last line of its standard error.
    Failed(String),
    /// It is not in PATH.
    Missing,
}

/// The longest time to wait for a program.
const LIMIT: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);

/// Runs a program without standard input. A program that takes too long is killed.
pub fn output_of(program: &str, args: &[&str]) -> Answer {
    output_within(program, args, LIMIT)
}

/// Like [`output_of`], with another time limit.
pub fn output_within(program: &str, args: &[&str], limit: Duration) -> Answer {
    match run(program, args, limit) {
        Ok(answer) => answer,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Answer::Missing,
        Err(error) => Answer::Failed(super::output::reason(&error)),
    }
}

fn run(program: &str, args: &[&str], limit: Duration) -> io::Result<Answer> {
    let mut command = Command::new(program);
    let mut child = command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Both streams are read while the program runs, because the program waits if a pipe is full.
    let output = child.stdout.take().map(|stream| thread::spawn(move || read(stream)));
    let errors = child.stderr.take().map(|stream| thread::spawn(move || read(stream)));
    let start = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                return Ok(Answer::Failed(format!("it did not end within {} s", limit.as_secs())));
            }
            None => thread::sleep(STEP),
        }
    };
    let text =
        |thread: Option<thread::JoinHandle<String>>| thread.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let (output, errors) = (text(output), text(errors));
    if status.success() {
        return Ok(Answer::Output(output));
    }
    let line = errors.lines().rev().find(|line| !line.trim().is_empty());
    Ok(Answer::Failed(line.map_or_else(|| status.to_string(), |line| line.trim().to_owned())))
}

fn read(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
