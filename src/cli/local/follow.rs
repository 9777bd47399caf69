//! Starts the pods of a local run, prints their output, and ends them. See [`follow`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use khorovod::report::Report;
use khorovod::show;

use super::pods::Job;
use crate::cli::show::Screen;
use crate::cli::{Failure, Outcome, output, seed};

/// How often the logs are checked for new output.
const LOOK: Duration = Duration::from_millis(50);
/// If a worker has ended this many times, the run fails.
const ENDS: usize = 5;
/// Starts the pods and prints their output until the launcher has ended.
pub fn follow(job: &Job, report: &Report, folder: &Path, screen: &Screen) -> Outcome {
    let stops = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&stops);
    if ctrlc::set_handler(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    })
    .is_err()
    {
        screen.notice("Ctrl-C ends the job at once");
    }
    let began = Instant::now();
    let (mut child, events) = start(folder)?;
    let mut stdin = child.stdin.take();
    // Whether each pod prints the output of its own ranks. Otherwise the launcher starts all ranks over ssh, and prints
    // their output.
    let is_per_pod = job.has_agents();
    let mut tails: Vec<Tail> = Vec::new();
    for (index, pod) in job.pods.iter().enumerate() {
        if is_per_pod || index == job.launcher {
            let name = if is_per_pod && job.pods.len() > 1 { short(job, &pod.name) } else { String::new() };
            tails.push(Tail { path: log_of(folder, &pod.name), name, ..Tail::default() });
        }
    }
    let (mut ends, mut stopped): (BTreeMap<String, usize>, usize) = (BTreeMap::new(), 0);
    let code = loop {
        let is_open = print(&mut tails, false)?;
        let asked = stops.load(Ordering::SeqCst).max(usize::from(!is_open));
        if asked > stopped {
            if asked > 1 || !is_open {
                break None;
            }
            stopped = asked;
            let _ = stdin.as_mut().map(|stdin| stdin.write_all(b"stop\n"));
            screen.notice(
                "the ranks get the signal of lifecycle.checkpoint and its grace period; Ctrl-C again ends them at once",
            );
        }
        match events.try_recv() {
            Ok(event) => match event.split(' ').collect::<Vec<_>>().as_slice() {
                ["launcher", code] => break code.parse::<u8>().ok(),
                ["worker", name, code] => {
                    let count = ends.entry((*name).to_owned()).or_default();
                    *count += 1;
                    let last = last_line(&log_of(folder, name));
                    let message = format!("{name} ended with code {code}: {last}");
                    if *count >= ENDS {
                        end(child, stdin);
                        return Err(super::unable(report, &[format!("{message}; it has ended {ENDS} times")]));
                    }
                    screen.notice(&format!("{message}; it starts again"));
                }
                _ => {}
            },
            Err(TryRecvError::Empty) => thread::sleep(LOOK),
            Err(TryRecvError::Disconnected) => {
                let why = last_line(&folder.join("host.log"));
                end(child, stdin);
                return Err(super::unable(report, &[format!("its processes have ended: {why}")]));
            }
        }
    };
    print(&mut tails, true)?;
    let took = show::clean_line(&format!("{} s", began.elapsed().as_secs())).into_owned();
    match code {
        Some(0) => screen.notice(&format!("{}: trained in {took}; all its processes have ended", report.job)),
        Some(code) => {
            let logs = copy_logs(job, report, folder)
                .map_or_else(String::new, |logs| format!("; the logs of all pods are in {logs}"));
            screen.notice(&format!("{}: the launcher ended with code {code} after {took}{logs}", report.job));
        }
        None => screen.notice(&format!("{}: ended after {took}", report.job)),
    }
    end(child, stdin);
    match code {
        Some(0) => Ok(()),
        _ if stops.load(Ordering::SeqCst) > 0 => Err(Failure::Ended(130)),
        Some(code) => Err(Failure::Ended(code)),
        None => Ok(()),
    }
}

/// Starts host.sh, and reads its events.
fn start(folder: &Path) -> Result<(Child, Receiver<String>), Failure> {
    let cannot = |error: std::io::Error| Failure::File(format!("cannot run unshare: {}", output::reason(&error)));
    let log = File::create(folder.join("host.log")).map_err(|error| output::cannot_write(folder, &error))?;
    let mut command = Command::new("unshare");
    command.args("--user --map-root-user --mount --pid --fork --kill-child --mount-proc /bin/bash".split(' '));
    command.arg(folder.join("host.sh")).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    // host.sh gets its own process group, so that only khorovod receives Ctrl-C and can give the ranks time to save a
    // checkpoint.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(cannot)?;
    let (sender, events) = channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
    }
    Ok((child, events))
}

/// Ends all processes of the run.
fn end(mut child: Child, stdin: Option<ChildStdin>) {
    drop(stdin);
    let _ = child.wait();
}

/// The name of a pod without the names of the job and the run, as `khorovod logs` prints it.
fn short(job: &Job, name: &str) -> String {
    let first = &job.pods[job.launcher].name;
    name.strip_prefix(first.trim_end_matches(|c: char| c.is_ascii_digit())).unwrap_or(name).to_owned()
}

fn log_of(folder: &Path, pod: &str) -> PathBuf {
    folder.join("pods").join(pod).join("log")
}

/// The last line of a log.
fn last_line(path: &Path) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let is_own = |line: &&str| !line.trim().is_empty() && !line.starts_with("unshare: sigprocmask");
    let line = text.lines().rev().find(is_own).unwrap_or("it has printed nothing");
    show::clean_line(line).into_owned()
}

/// Copies the logs of all pods to a folder that stays.
fn copy_logs(job: &Job, report: &Report, folder: &Path) -> Option<String> {
    let target = seed::state(&format!("local/logs/{}-{}", report.job, report.run))?;
    fs::create_dir_all(&target).ok()?;
    for pod in &job.pods {
        let _ = fs::copy(log_of(folder, &pod.name), target.join(format!("{}.log", pod.name)));
    }
    Some(target.display().to_string())
}

/// A log whose new lines are printed.
#[derive(Default)]
struct Tail {
    path: PathBuf,
    /// The name to print in front of each line.
    name: String,
    file: Option<File>,
    /// The part of a line whose end has not been read yet.
    rest: Vec<u8>,
}

/// Prints the new lines of the logs. At the end of the run, also prints a last line without a line break. Returns false
/// if standard output is closed.
fn print(tails: &mut [Tail], is_end: bool) -> Result<bool, Failure> {
    for tail in tails {
        tail.file = tail.file.take().or_else(|| File::open(&tail.path).ok());
        let Some(file) = &mut tail.file else { continue };
        let _ = file.read_to_end(&mut tail.rest);
        let complete = match tail.rest.iter().rposition(|byte| *byte == b'\n') {
            _ if is_end => tail.rest.len(),
            Some(end) => end + 1,
            None => continue,
        };
        let lines: Vec<u8> = tail.rest.drain(..complete).collect();
        for line in String::from_utf8_lossy(&lines).lines() {
            if !output::line(&tail.name, line)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
