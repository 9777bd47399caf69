//! Calls of `kubectl logs`, one per pod, whose lines are printed as they come. The main type is [`Streams`].

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use khorovod::show;

use super::Wanted;
use crate::cli::cluster::kubectl::Kubectl;
use crate::cli::{Failure, output::reason};

/// How many lines are kept while standard output is slow.
const BUFFER: usize = 1024;

pub struct Streams<'a> {
    kubectl: &'a Kubectl,
    /// The words of the call, without the name of the pod.
    options: Vec<String>,
    most: usize,
    children: Vec<Child>,
    /// The threads that read their output.
    readers: Vec<JoinHandle<()>>,
    /// The pods that have been started.
    known: BTreeSet<(String, bool)>,
    sender: SyncSender<(String, String)>,
    lines: Receiver<(String, String)>,
}

impl Drop for Streams<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl<'a> Streams<'a> {
    /// Streams of at most `most` pods at the same time.
    pub fn new(kubectl: &'a Kubectl, options: Vec<String>, most: usize) -> Self {
        let (sender, lines) = sync_channel(BUFFER);
        Self {
            kubectl,
            options,
            most,
            children: Vec::new(),
            readers: Vec::new(),
            known: BTreeSet::new(),
            sender,
            lines,
        }
    }

    fn start(&self, pod: &str, is_previous: bool) -> Result<Child, Failure> {
        let mut words: Vec<&str> = self.options.iter().map(String::as_str).collect();
        words.insert(1, pod);
        if is_previous {
            words.push("--previous");
        }
        self.kubectl.start(&words)
    }

    /// Prints the logs of pods one after the other, and reads those of the next ones meanwhile. Returns a message for each pod
    /// whose log could not be read.
    pub fn print_each(
        &mut self,
        pods: &[Wanted],
        is_prefixed: bool,
        keeps: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, Failure> {
        let mut lost = Vec::new();
        for some in pods.chunks(16) {
            let mut children = Vec::new();
            for (pod, _, is_previous) in some {
                let child = self.start(pod, *is_previous)?;
                children.push(thread::spawn(move || child.wait_with_output()));
            }
            for ((pod, name, _), child) in some.iter().zip(children) {
                let answer = child.join().ok().and_then(Result::ok);
                let Some(answer) = answer.filter(|answer| {
                    if !answer.status.success() {
                        let why = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
                        lost.push(format!("no log of {pod}: {}", show::clean_line(&why)));
                    }
                    answer.status.success()
                }) else {
                    continue;
                };
                for line in String::from_utf8_lossy(&answer.stdout).lines().filter(|line| keeps(line)) {
                    let name = is_prefixed.then_some(name.as_str());
                    if !print(name, line)? {
                        return Ok(Vec::new());
                    }
                }
            }
        }
        Ok(lost)
    }

    /// Starts to follow pods that are not followed yet.
    pub fn follow(&mut self, pods: &[Wanted], is_prefixed: bool) -> Result<(), Failure> {
        self.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        for (pod, name, is_previous) in pods {
            let key = (pod.clone(), *is_previous);
            if self.children.len() >= self.most || self.known.contains(&key) {
                continue;
            }
            self.known.insert(key);
            let mut child = self.start(pod, *is_previous)?;
            let name = if is_prefixed || self.known.len() > 1 { name.clone() } else { String::new() };
            let sender = self.sender.clone();
            drop(child.stderr.take());
            if let Some(stream) = child.stdout.take() {
                self.readers.push(thread::spawn(move || {
                    let mut lines = BufReader::new(stream);
                    let mut bytes = Vec::new();
                    while lines.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
                        let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
                        bytes.clear();
                        if sender.send((name.clone(), line)).is_err() {
                            break;
                        }
                    }
                }));
            }
            self.children.push(child);
        }
        Ok(())
    }

    /// Prints all lines that have come. Returns false if standard output is closed.
    pub fn print(&mut self, keeps: &dyn Fn(&str) -> bool) -> Result<bool, Failure> {
        loop {
            match self.lines.try_recv() {
                Ok((name, line)) => {
                    if keeps(&line) && !print(Some(name.as_str()).filter(|name| !name.is_empty()), &line)? {
                        return Ok(false);
                    }
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Ok(true),
            }
        }
    }

    /// Whether any pod has been followed.
    pub fn have_started(&self) -> bool {
        !self.known.is_empty()
    }

    /// Whether all calls have ended, and their last lines can be printed.
    pub fn are_done(&mut self) -> bool {
        self.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        self.readers.retain(|reader| !reader.is_finished());
        self.children.is_empty() && self.readers.is_empty()
    }
}

/// Prints a line, after the name of its pod if there is one. Returns false if standard output is closed.
fn print(name: Option<&str>, line: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    // Colours of the training may pass, but only in a terminal may a sequence do harm.
    let line = if stdout.is_terminal() { show::clean_line(line) } else { line.into() };
    let written = match name {
        Some(name) => writeln!(stdout, "[{name}] {line}"),
        None => writeln!(stdout, "{line}"),
    };
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::File(format!("cannot write to standard output: {}", reason(&error)))),
    }
}
