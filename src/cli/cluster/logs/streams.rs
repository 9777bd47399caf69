//! Calls of `kubectl logs`, one per pod, whose lines are printed as they come. The main type is [`Streams`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
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
/// The option of kubectl that puts the time in front of each line.
const TIMES: &str = "--timestamps";

/// The log of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub pod: String,
    /// The name to print in front of each line, if several logs are printed.
    pub name: String,
    /// Whether it is the log of the container before the current one.
    pub is_previous: bool,
    /// Whether the pod has ended, so that its log is complete.
    pub has_ended: bool,
}

/// The name to print in front of a line, which may be empty, and the line.
type Line = (String, String);

/// How far a log has been read: the time of its latest line, and how many lines with this time were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Position {
    time: String,
    lines: usize,
}

/// The logs of the pods that are followed.
pub struct Streams<'a> {
    kubectl: &'a Kubectl,
    /// The words of the call, without the name of the pod.
    options: Vec<String>,
    most: usize,
    /// Whether each line gets the name of its pod even while only one pod has started.
    pub names_all: bool,
    children: BTreeMap<String, Child>,
    /// The threads that read the output of the followed pods.
    readers: BTreeMap<String, JoinHandle<()>>,
    /// For each followed pod, the position up to which its log has been read.
    positions: BTreeMap<String, Arc<Mutex<Position>>>,
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
        let (children, readers, positions) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (closed, known) = (BTreeMap::new(), BTreeSet::new());
        let names_all = false;
        Self { kubectl, options, most, names_all, children, readers, positions, closed, known, sender, lines }
    }

    /// Whether the user asked for the time of each line.
    fn prints_times(&self) -> bool {
        self.options.iter().any(|word| word == TIMES)
    }

    /// Starts a call that prints a whole log.
    fn start(&self, log: &Log) -> Result<Child, Failure> {
        let mut words: Vec<&str> = self.options.iter().map(String::as_str).collect();
        words.insert(1, &log.pod);
        words.extend(log.is_previous.then_some("--previous"));
        self.kubectl.start(&words)
    }

    /// Starts a call that follows a log. If a part of the log was read before, it continues at that position. The API
    /// server accepts only whole seconds, so the first lines may be lines that were read before.
    fn start_from(&self, log: &Log, from: &Position) -> Result<Child, Failure> {
        let is_again = !from.time.is_empty();
        let since = format!("--since-time={}", from.time);
        let is_start = |word: &str| word.starts_with("--tail=") || word.starts_with("--since=");
        let mut words: Vec<&str> =
            self.options.iter().map(String::as_str).filter(|word| !is_again || !is_start(word)).collect();
        words.insert(1, &log.pod);
        words.extend((!self.prints_times()).then_some(TIMES));
        words.extend(is_again.then_some(since.as_str()));
        self.kubectl.start(&words)
    }

    /// Prints logs one after the other, and reads the next ones meanwhile. Returns a message for each log that could not be read.
    pub fn print_each(&self, logs: &[Log], keeps: &dyn Fn(&str) -> bool) -> Result<Vec<String>, Failure> {
        let is_prefixed = logs.len() > 1;
        let mut lost = Vec::new();
        for some in logs.chunks(AHEAD) {
            let mut calls = Vec::new();
            for log in some {
                let mut child = self.start(log)?;
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
                    let is_forbidden = why.contains("(Forbidden)");
                    let advice = if is_forbidden { "; ask your cluster administrator for get on pods/log" } else { "" };
                    lost.push(format!("no log of {}: {}{advice}", log.pod, show::clean_line(why.trim())));
                }
            }
        }
        Ok(lost)
    }

    /// Starts to follow pods that are not followed yet. If the stream of a pod has ended although the pod still runs,
    /// because the container has started again or the connection was lost, the stream is opened again and continues
    /// after the last line that was read.
    pub fn follow(&mut self, logs: &[Log]) -> Result<(), Failure> {
        self.close_ended();
        for log in logs {
            let is_again = self.known.contains(&log.pod);
            let since = self.closed.get(&log.pod).map(Instant::elapsed);
            let waits = log.has_ended || since.is_none_or(|since| since < PAUSE);
            let is_read = self.children.contains_key(&log.pod) || self.readers.contains_key(&log.pod);
            if self.children.len() >= self.most || is_read || is_again && waits {
                continue;
            }
            self.closed.remove(&log.pod);
            let position = Arc::clone(self.positions.entry(log.pod.clone()).or_default());
            let from = position.lock().map(|position| position.clone()).unwrap_or_default();
            let mut child = self.start_from(log, &from)?;
            drop(child.stderr.take());
            self.known.insert(log.pod.clone());
            let is_named = self.names_all || logs.len() > 1 || self.known.len() > 1;
            let name = if is_named { log.name.clone() } else { String::new() };
            if let Some(stream) = child.stdout.take() {
                let (sender, keeps_time) = (self.sender.clone(), self.prints_times());
                let reader = thread::spawn(move || pass_on(stream, &name, &sender, &position, &from, keeps_time));
                self.readers.insert(log.pod.clone(), reader);
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
        self.readers.retain(|_, reader| !reader.is_finished());
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

    /// Whether all calls have ended and all their lines have been sent.
    pub fn are_done(&mut self) -> bool {
        self.close_ended();
        self.children.is_empty() && self.readers.is_empty()
    }
}

/// Sends each line of a stream, until the stream ends or the receiver is closed.
fn pass(stream: impl Read, name: &str, sender: &SyncSender<Line>) {
    each_line(stream, |line| sender.send((name.to_owned(), line)).is_ok());
}

/// Like [`pass`], for lines that begin with their time. Leaves out the lines up to the position `from`, and updates
/// `position` with each line.
fn pass_on(
    stream: impl Read,
    name: &str,
    sender: &SyncSender<Line>,
    position: &Mutex<Position>,
    from: &Position,
    keeps_time: bool,
) {
    let mut now = Position::default();
    each_line(stream, |line| {
        let Some((time, text)) = line.split_once(' ').filter(|(time, _)| is_time(time)) else {
            return sender.send((name.to_owned(), line)).is_ok();
        };
        if now.time == time {
            now.lines += 1;
        } else {
            now = Position { time: time.to_owned(), lines: 1 };
        }
        if (now.time.as_str(), now.lines) <= (from.time.as_str(), from.lines) {
            return true;
        }
        if let Ok(mut position) = position.lock() {
            position.clone_from(&now);
        }
        sender.send((name.to_owned(), if keeps_time { line.clone() } else { text.to_owned() })).is_ok()
    });
}

/// Whether a word is a time as Kubernetes prints it: `2026-11-26T07:00:00.123456789Z`. All times have nine decimals, so
/// comparing the texts of two times compares the times.
fn is_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 20 && bytes[4] == b'-' && bytes[10] == b'T' && bytes[..4].iter().all(u8::is_ascii_digit)
}

/// Calls a function with each line, until it returns false.
fn each_line(stream: impl Read, mut take: impl FnMut(String) -> bool) {
    let mut stream = BufReader::new(stream);
    let mut bytes = Vec::new();
    while stream.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
        let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
        bytes.clear();
        if !take(line) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The new lines of a log, and the position after them.
    fn read(log: &str, from: &Position) -> (Vec<String>, Position) {
        let (sender, lines) = sync_channel(100);
        let position = Mutex::new(from.clone());
        pass_on(log.as_bytes(), "", &sender, &position, from, false);
        drop(sender);
        (lines.iter().map(|(_, line)| line).collect(), position.into_inner().unwrap())
    }

    #[test]
    fn a_log_continues_behind_the_last_line() {
        let line = |second: u32, text: &str| format!("2026-11-26T07:00:0{second}.000000000Z {text}\n");
        let first = line(1, "a") + &line(2, "b") + &line(2, "c");
        let (lines, position) = read(&first, &Position::default());
        assert_eq!(lines, ["a", "b", "c"]);
        // The server sends all lines from the beginning of the second again. One of these lines is new, although a line with
        // the same time was read before.
        let again = line(2, "b") + &line(2, "c") + &line(2, "d") + &line(3, "") + "no time\n";
        assert_eq!(read(&again, &position).0, ["d", "", "no time"]);
        // The container has started again.
        assert_eq!(read(&line(4, "a"), &position).0, ["a"]);
    }
}
