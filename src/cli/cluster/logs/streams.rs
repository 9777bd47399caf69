//! Calls of `kubectl logs`, one per pod, whose lines are printed as they come. The main type is [`Streams`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use khorovod::show;

use crate::cli::cluster::kubectl::Kubectl;
use crate::cli::{Failure, output};

/// How many lines are kept while standard output is slow.
const BUFFER: usize = 1024;
/// How many logs are read at the same time if they are printed one after the other.
const AHEAD: usize = 16;
/// How long to wait before a stream of a pod that still runs is opened again.
const PAUSE: Duration = Duration::from_secs(2);

/// The log of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub pod: String,
    /// The name that begins its lines, if several logs are printed.
    pub name: String,
    /// Whether it is that of the container before the current one.
    pub is_previous: bool,
    /// Whether the pod has ended, so that its log is complete.
    pub has_ended: bool,
}

/// A line, and the name that begins it; empty if there is none.
type Line = (String, String);

/// The logs of the pods that are followed.
pub struct Streams<'a> {
    kubectl: &'a Kubectl,
    /// The words of the call, without the name of the pod.
    options: Vec<String>,
    most: usize,
    children: BTreeMap<String, Child>,
    /// The threads that read their output.
    readers: Vec<JoinHandle<()>>,
    /// The pods that were followed before, and when their streams ended.
    closed: BTreeMap<String, Instant>,
    /// All pods that have been followed.
    known: BTreeSet<String>,
    sender: SyncSender<Line>,
    lines: Receiver<Line>,
}

impl Drop for Streams<'_> {
    fn drop(&mut self) {
        for child in self.children.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl<'a> Streams<'a> {
    /// Streams of at most `most` pods at the same time.
    pub fn new(kubectl: &'a Kubectl, options: Vec<String>, most: usize) -> Self {
        let (sender, lines) = sync_channel(BUFFER);
        let (children, readers) = (BTreeMap::new(), Vec::new());
        let (closed, known) = (BTreeMap::new(), BTreeSet::new());
        Self { kubectl, options, most, children, readers, closed, known, sender, lines }
    }

    /// Starts a call. If it continues an earlier one, it prints only lines that are not older than `since`.
    fn start(&self, log: &Log, since: Option<Duration>) -> Result<Child, Failure> {
        let since = since.map(|since| format!("--since={}s", since.as_secs() + 1));
        let is_start = |word: &str| word.starts_with("--tail=") || word.starts_with("--since=");
        let mut words: Vec<&str> =
            self.options.iter().map(String::as_str).filter(|word| since.is_none() || !is_start(word)).collect();
        words.insert(1, &log.pod);
        words.extend(log.is_previous.then_some("--previous"));
        words.extend(since.as_deref());
        self.kubectl.start(&words)
    }

    /// Prints logs one after the other, and reads the next ones meanwhile. Returns a message for each log that could not be read.
    pub fn print_each(&self, logs: &[Log], keeps: &dyn Fn(&str) -> bool) -> Result<Vec<String>, Failure> {
        let is_prefixed = logs.len() > 1;
        let mut lost = Vec::new();
        for some in logs.chunks(AHEAD) {
            let mut calls = Vec::new();
            for log in some {
                let mut child = self.start(log, None)?;
                let (sender, lines) = sync_channel(BUFFER);
                let name = if is_prefixed { log.name.clone() } else { String::new() };
                let reader = child.stdout.take().map(|stream| thread::spawn(move || pass(stream, &name, &sender)));
                calls.push((log, child, lines, reader));
            }
            for (log, mut child, lines, reader) in calls {
                for line in lines {
                    if keeps(&line.1) && !output::line(&line.0, &line.1)? {
                        let _ = child.kill();
                        let _ = child.wait();
                        return Ok(Vec::new());
                    }
                }
                drop(reader.map(JoinHandle::join));
                let mut why = String::new();
                let _ = child.stderr.take().map(|mut stream| stream.read_to_string(&mut why));
                if !child.wait().is_ok_and(|status| status.success()) {
                    lost.push(format!("no log of {}: {}", log.pod, show::clean_line(why.trim())));
                }
            }
        }
        Ok(lost)
    }

    /// Starts to follow pods that are not followed yet. If the stream of a pod that still runs has ended, because its container
    /// started again or the connection was lost, it is opened again; a few lines may then be printed twice.
    pub fn follow(&mut self, logs: &[Log]) -> Result<(), Failure> {
        self.close_ended();
        for log in logs {
            let is_again = self.known.contains(&log.pod);
            let since = self.closed.get(&log.pod).map(Instant::elapsed);
            let waits = log.has_ended || since.is_none_or(|since| since < PAUSE);
            if self.children.len() >= self.most || self.children.contains_key(&log.pod) || is_again && waits {
                continue;
            }
            self.closed.remove(&log.pod);
            let mut child = self.start(log, since)?;
            drop(child.stderr.take());
            self.known.insert(log.pod.clone());
            let name = if logs.len() > 1 || self.known.len() > 1 { log.name.clone() } else { String::new() };
            if let Some(stream) = child.stdout.take() {
                let sender = self.sender.clone();
                self.readers.push(thread::spawn(move || pass(stream, &name, &sender)));
            }
            self.children.insert(log.pod.clone(), child);
        }
        Ok(())
    }

    fn close_ended(&mut self) {
        let closed = &mut self.closed;
        self.children.retain(|pod, child| {
            let runs = matches!(child.try_wait(), Ok(None));
            if !runs {
                closed.insert(pod.clone(), Instant::now());
            }
            runs
        });
        self.readers.retain(|reader| !reader.is_finished());
    }

    /// Prints all lines that have come. Returns false if standard output is closed.
    pub fn print(&self, keeps: &dyn Fn(&str) -> bool) -> Result<bool, Failure> {
        for line in self.lines.try_iter() {
            if keeps(&line.1) && !output::line(&line.0, &line.1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether any pod has been followed.
    pub fn have_started(&self) -> bool {
        !self.known.is_empty()
    }

    /// Whether all calls have ended, and their last lines can be printed.
    pub fn are_done(&mut self) -> bool {
        self.close_ended();
        self.children.is_empty() && self.readers.is_empty()
    }
}

/// Sends each line of a stream, until it ends or the receiver is gone.
fn pass(stream: impl Read, name: &str, sender: &SyncSender<Line>) {
    let mut stream = BufReader::new(stream);
    let mut bytes = Vec::new();
    while stream.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
        let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
        bytes.clear();
        if sender.send((name.to_owned(), line)).is_err() {
            break;
        }
    }
}
