//! The live view of `status --watch`: the state of jobs in the whole terminal, drawn again each time the state is read.
//! [`frame`] is a pure function of the states and the size of the terminal.

use std::io::{self, Write};

use anstream::AutoStream;
use khorovod::show::clean_line;
use terminal_size::{Height, Width, terminal_size_of};

use super::diagnosis::{Phase, State};
use super::objects::Time;
use super::page::{facts, parts};

/// Switches to a second screen, hides the cursor and turns automatic wrapping off. Without wrapping, a line that is
/// wider than computed does not move the lines below it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Escape sequences: `HOME` moves the cursor to the first cell, `REST_OF_LINE` clears the rest of a line, and
/// `REST_OF_SCREEN` clears all lines below.
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const REST_OF_SCREEN: &str = "\x1b[J";

/// The mark before the state of a job.
const MARK: &str = "●";

/// The terminal, which shows its former content again when the view ends.
pub struct View {
    has_colour: bool,
}

impl View {
    /// Opens the view in the whole terminal. Ctrl-C restores the terminal and ends the process.
    pub fn open() -> Self {
        let _ = ctrlc::set_handler(|| {
            leave();
            std::process::exit(130);
        });
        let mut stdout = io::stdout();
        let _ = write!(stdout, "{ENTER}").and_then(|()| stdout.flush());
        Self { has_colour: AutoStream::choice(&stdout) != anstream::ColorChoice::Never }
    }

    /// Draws the states, each with the end of its log.
    pub fn draw(&self, states: &[(State, Vec<String>)], now: Time) -> io::Result<()> {
        let size = terminal_size_of(io::stdout())
            .map_or((80, 24), |(Width(width), Height(height))| (width.into(), height.into()));
        let lines = frame(states, now, size, self.has_colour);
        let text = format!("{HOME}{}{REST_OF_LINE}{REST_OF_SCREEN}", lines.join(&format!("{REST_OF_LINE}\r\n")));
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        leave();
    }
}

fn leave() {
    let mut stdout = io::stdout();
    let _ = write!(stdout, "{LEAVE}").and_then(|()| stdout.flush());
}

/// The lines of the view, at most as many as the terminal has rows, and none wider than it is.
pub fn frame(
    states: &[(State, Vec<String>)],
    now: Time,
    (width, height): (usize, usize),
    has_colour: bool,
) -> Vec<String> {
    let painted =
        |code: &str, text: &str| if has_colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let footer = "Ctrl-C stops watching; the job continues";
    let room = height.saturating_sub(1);
    let mut lines: Vec<String> = Vec::new();
    let share = room / states.len().max(1);
    // The largest number of lines for one text.
    let most = if share < 12 { 1 } else { 3 };
    for (state, log) in states {
        // An empty line separates jobs.
        let end = lines.len() + share;
        let last = if states.len() > 1 && share > 2 { end - 1 } else { end };
        let (head, since) = parts(state, now);
        let head = limited(&format!("{MARK} {}", clean_line(&head)), &since, width, most + 1);
        lines.extend(head.into_iter().map(|line| match line.strip_prefix(MARK) {
            Some(rest) => painted(colour(state.phase), MARK) + &painted("1", rest),
            None => painted("1", &line),
        }));
        for (name, value) in facts(state, now, true) {
            let bar = bar(state, name, width);
            let parts = limited(&clean_line(&value), "", width.saturating_sub(11 + columns(&bar)), most);
            for (row, part) in parts.into_iter().enumerate() {
                let name = if row == 0 { name } else { "" };
                let bar = if row == 0 { bar.as_str() } else { "" };
                lines.push(format!("{}{bar}{part}", painted("2", &format!(" {name:<10}"))));
            }
        }
        lines.truncate(last.max(1));
        if let Some(pod) = state.log_pod.as_ref().filter(|_| !log.is_empty() && lines.len() + 2 < last) {
            let title = cut(&format!("── {} ", clean_line(pod)), width);
            let rule = "─".repeat(width.saturating_sub(columns(&title)));
            lines.push(painted("2", &format!("{title}{rule}")));
            let rows = last - lines.len();
            let first = log.len().saturating_sub(rows);
            lines.extend(log[first..].iter().map(|line| cut(&clean_line(line), width)));
        }
        while lines.len() < end {
            lines.push(String::new());
        }
    }
    lines.truncate(room);
    while lines.len() < room {
        lines.push(String::new());
    }
    lines.push(painted("2", &cut(footer, width)));
    lines
}

/// The colour of the mark before a state. The sentence itself has the colour of the terminal's text, because green and yellow
/// text is hardly readable on a light background.
fn colour(phase: Phase) -> &'static str {
    match phase {
        Phase::Training | Phase::Running | Phase::Trained => "32",
        Phase::Failed | Phase::PastDeadline => "31",
        Phase::Absent | Phase::Stopped | Phase::Superseded => "2",
        _ => "33",
    }
}

/// A progress bar and a space, for a fact that is a part of a total, such as 3 of 8 workers. Empty for other facts.
fn bar(state: &State, fact: &str, width: usize) -> String {
    let share = match fact {
        "workers" => Some((u64::from(state.workers.ready), u64::from(state.workers.wanted))),
        "GPUs" => state.gpus.first().map(|gpus| (gpus.held, gpus.wanted)),
        "progress" => state.progress.as_ref().and_then(|progress| Some((progress.step, progress.steps?))),
        _ => None,
    };
    let cells = match width {
        120.. => 40,
        60..120 => 20,
        _ => 8,
    };
    let Some((part, whole)) = share.filter(|(_, whole)| *whole > 0) else { return String::new() };
    let full = usize::try_from(part.min(whole).saturating_mul(cells) / whole).unwrap_or(0);
    let cells = usize::try_from(cells).unwrap_or(0);
    format!("{}{} ", "█".repeat(full), "░".repeat(cells - full))
}

/// Like [`wrapped`], with a suffix and in at most `most` lines. If the text is too long, it is cut, and `…` comes
/// before the suffix.
fn limited(text: &str, suffix: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = wrapped(&format!("{text}{suffix}"), width);
    let mut kept: Vec<char> = text.chars().take(width.max(10) * most).collect();
    while lines.len() > most && kept.pop().is_some() {
        let start: String = kept.iter().collect();
        lines = wrapped(&format!("{}…{suffix}", start.trim_end()), width);
    }
    lines
}

/// The cells of the terminal that a text needs, with the usual width of Chinese, Japanese and Korean characters and of emoji.
fn columns(text: &str) -> usize {
    text.chars().map(cells).sum()
}

fn cells(c: char) -> usize {
    match u32::from(c) {
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// A text in lines of at most `width` cells, broken between words if possible.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(10);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let used = lines.last().map_or(0, |line| columns(line));
        let length = columns(word);
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
        } else if used > 0 {
            lines.last_mut().into_iter().for_each(|line| line.push(' '));
        }
        for c in word.chars() {
            if lines.last().is_some_and(|line| columns(line) + cells(c) > width) {
                lines.push(String::new());
            }
            lines.last_mut().into_iter().for_each(|line| line.push(c));
        }
    }
    lines
}

fn cut(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in line.chars() {
        used += cells(c);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::super::diagnosis::{Subject, diagnose};
    use super::super::objects::Objects;
    use super::*;

    fn states() -> Vec<(State, Vec<String>)> {
        let labels =
            |component: &str| serde_json::json!({"khorovod.dev/run": "abc", "app.kubernetes.io/component": component});
        let pod = |name: &str, component: &str| {
            serde_json::json!({"kind": "Pod", "metadata": {"name": name, "labels": labels(component)}, "spec": {"nodeName": "n",
                "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                    "containerStatuses": [{"name": "c", "state": {"running": {"startedAt": "2026-11-26T06:00:00Z"}}}]}})
        };
        let report = r#"{"phase": "training", "since": 1795672800, "attempt": 2, "failures": 1, "retries": 3, "lastEnd": "lost worker gpt-abc-worker-3.gpt",
            "step": 600, "steps": 1000, "progressAt": 1795676390, "held": 4000, "trained": 3600}"#;
        let mut objects = Objects::default();
        let items = serde_json::json!({"items": [
            {"kind": "Job", "metadata": {"name": "gpt-abc-launcher", "labels": labels("launcher"), "annotations": {"khorovod.dev/status": report}}},
            {"kind": "StatefulSet", "metadata": {"name": "gpt-abc-worker", "labels": labels("worker"), "annotations": {"khorovod.dev/replicas": "4"}},
                "spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}}},
            pod("gpt-abc-worker-0", "worker"), pod("gpt-abc-worker-1", "worker"), pod("gpt-abc-worker-2", "worker"), pod("gpt-abc-launcher-x", "launcher"),
        ]});
        objects.add(&items.to_string()).unwrap();
        let state = diagnose(&objects, Subject { job: "gpt", namespace: None, run: None }, Time(1_795_676_400));
        let log =
            (0..100).map(|step| format!("[1,0]<stdout>: step {step} loss 0.{step:02} {}", "x".repeat(step))).collect();
        vec![(state, log)]
    }

    #[test]
    fn a_frame_fits_the_terminal() {
        for (width, height) in [(80, 24), (200, 60), (40, 10), (20, 5), (10, 2), (1, 1)] {
            for count in 1..=3 {
                let states: Vec<_> = (0..count).flat_map(|_| states()).collect();
                let lines = frame(&states, Time(1_795_676_400), (width, height), false);
                assert_eq!(lines.len(), height, "{lines:#?}");
                let widest = lines.iter().map(|line| columns(line)).max().unwrap();
                assert!(widest <= width.max(42), "{widest} at {width}: {lines:#?}");
                if width >= 40 {
                    assert!(widest <= width, "{widest} at {width}: {lines:#?}");
                }
            }
        }
    }

    #[test]
    fn the_view_of_a_training() {
        let lines = frame(&states(), Time(1_795_676_400), (80, 24), false);
        insta::assert_snapshot!(lines.join("\n"));
        let painted = frame(&states(), Time(1_795_676_400), (80, 24), true);
        let state = "\x1b[32m●\x1b[0m\x1b[1m gpt, run abc: training, attempt 2 of 4";
        assert!(painted[0].starts_with(state), "{}", painted[0]);
    }

    fn waiting(count: usize) -> (State, Vec<String>) {
        let labels = |component: &str| serde_json::json!({"khorovod.dev/run": "mgxbqm", "app.kubernetes.io/component": component});
        let mut objects = Objects::default();
        let mut items = vec![
            serde_json::json!({"kind": "Job", "metadata": {"name": "gpt-mgxbqm-launcher", "namespace": "team-a", "creationTimestamp": "2026-11-26T06:50:00Z", "labels": labels("launcher")}}),
            serde_json::json!({"kind": "StatefulSet", "metadata": {"name": "gpt-mgxbqm-worker", "labels": labels("worker"), "annotations": {"khorovod.dev/replicas": count.to_string()}},
                "spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}}}),
            serde_json::json!({"kind": "Pod", "metadata": {"name": "gpt-mgxbqm-launcher-x7k2p", "labels": labels("launcher")}, "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [{"name": "c", "state": {"running": {"startedAt": "2026-11-26T06:55:00Z"}}}]}}),
        ];
        for index in 0..count {
            let status = match index % 3 {
                0 => {
                    serde_json::json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient nvidia.com/gpu. no new claims"}]})
                }
                1 => {
                    serde_json::json!({"phase": "Pending", "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"registry.example.com/team-a/a-long-name-of-an-image/training:2026-11-26-nightly\": ErrImagePull: failed to resolve reference: 403 Forbidden"}}}]})
                }
                _ => {
                    serde_json::json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [{"name": "c", "state": {"running": {"startedAt": "2026-11-26T06:55:00Z"}}}]})
                }
            };
            items.push(serde_json::json!({"kind": "Pod", "metadata": {"name": format!("gpt-mgxbqm-worker-{index}"), "labels": labels("worker")}, "spec": {"nodeName": if index % 3 == 0 { None } else { Some("n") }, "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}, "status": status}));
        }
        objects.add(&serde_json::json!({ "items": items }).to_string()).unwrap();
        let state = diagnose(&objects, Subject { job: "gpt", namespace: None, run: None }, Time(1_795_676_400));
        (state, vec!["12:40:31 khorovod: 5 of 8 workers answer; waiting for gpt-mgxbqm-worker-5.gpt gpt-mgxbqm-worker-6.gpt gpt-mgxbqm-worker-7.gpt".to_owned(), "\u{4e2d}\u{6587}\u{8bad}\u{7ec3}\tloss 0.1".repeat(12)])
    }

    #[test]
    fn a_frame_counts_hidden_lines() {
        let frame = |states: &[(State, Vec<String>)], size| frame(states, Time(1_795_676_400), size, false);
        let lines = frame(&[waiting(64)], (80, 24));
        assert!(lines[0].starts_with("● gpt, run mgxbqm: waiting for 43 of 64 workers: 22 Pending"), "{lines:#?}");
        assert!(lines[3].ends_with("… (for 5 min)"), "{lines:#?}");
        assert!(
            lines[6].starts_with(" pods      gpt-mgxbqm-worker-0, gpt-mgxbqm-worker-3 and 20 more: Pending"),
            "{lines:#?}"
        );
        assert!(
            lines[9].starts_with("           gpt-mgxbqm-worker-1, gpt-mgxbqm-worker-4 and 19 more: cannot"),
            "{lines:#?}"
        );
        // The characters of the log need two cells each.
        let log = lines.iter().find(|line| line.starts_with('\u{4e2d}')).unwrap();
        assert!(columns(log) <= 80 && log.chars().count() < 70 && log.ends_with('…'), "{lines:#?}");
        // In a large terminal, the text is complete.
        let lines = frame(&[waiting(8)], (200, 60));
        assert!(lines[1].ends_with("403 Forbidden (for 5 min)") && !lines[..8].concat().contains('…'), "{lines:#?}");
        // Each job is shown with its state and its workers. An empty line follows each job.
        let lines = frame(&[waiting(8), states().remove(0), waiting(32)], (80, 24));
        for first in [0, 7, 14] {
            assert!(lines[first].contains(", run ") && lines[first + 2].starts_with(" workers "), "{lines:#?}");
            assert!(lines[first + 6].is_empty(), "{lines:#?}");
        }
    }
}
