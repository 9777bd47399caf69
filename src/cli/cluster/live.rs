//! The live view of `status --watch`: the state of jobs in the whole terminal, drawn again after each look. [`frame`] is a pure
//! function of the states and the size of the terminal.

use std::io::{self, Write};

use anstream::AutoStream;
use khorovod::show::clean_line;
use terminal_size::{Height, Width, terminal_size_of};

use super::diagnosis::{Phase, State};
use super::objects::Time;
use super::page::{facts, sentence};

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// Escape sequences: `HOME` moves the cursor to the first cell, `REST_OF_LINE` clears the rest of a line, and
/// `REST_OF_SCREEN` clears all lines below.
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const REST_OF_SCREEN: &str = "\x1b[J";

/// The terminal, which shows its former content again when the view ends.
pub struct View {
    has_colour: bool,
}

impl View {
    /// Takes over the terminal. Ctrl-C gives it back, and ends the process.
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
    for (state, log) in states {
        let end = lines.len() + share;
        let head = wrapped(&clean_line(&sentence(state, now)), width);
        lines.extend(head.into_iter().take(4).map(|line| painted(colour(state.phase), &line)));
        for (name, value) in facts(state, now) {
            let bar = bar(state, name, width);
            for (row, part) in wrapped(&clean_line(&value), width.saturating_sub(11 + bar.chars().count()))
                .into_iter()
                .take(3)
                .enumerate()
            {
                let name = if row == 0 { name } else { "" };
                let bar = if row == 0 { bar.as_str() } else { "" };
                lines.push(format!("{}{bar}{part}", painted("2", &format!(" {name:<10}"))));
            }
        }
        lines.truncate(end.max(1));
        if let Some(pod) = state.log_pod.as_ref().filter(|_| !log.is_empty() && lines.len() + 2 < end) {
            let title = cut(&format!("── {} ", clean_line(pod)), width);
            let rule = "─".repeat(width.saturating_sub(title.chars().count()));
            lines.push(painted("2", &format!("{title}{rule}")));
            let rows = end - lines.len();
            let last = log.len().saturating_sub(rows);
            lines.extend(log[last..].iter().map(|line| cut(&clean_line(line), width)));
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

/// Colours that are readable on light and on dark terminals.
fn colour(phase: Phase) -> &'static str {
    match phase {
        Phase::Training | Phase::Running | Phase::Trained => "1;32",
        Phase::Failed | Phase::PastDeadline => "1;31",
        Phase::Absent | Phase::Stopped | Phase::Superseded => "1",
        _ => "1;33",
    }
}

/// A bar for facts that are a share of a whole, with a space behind it.
fn bar(state: &State, fact: &str, width: usize) -> String {
    let share = match fact {
        "workers" => Some((u64::from(state.workers.ready), u64::from(state.workers.wanted))),
        "GPUs" => state.gpus.first().map(|gpus| (gpus.held, gpus.wanted)),
        "progress" => state.progress.as_ref().and_then(|progress| Some((progress.step, progress.steps?))),
        _ => None,
    };
    let cells = if width >= 120 { 40 } else { 20 };
    let Some((part, whole)) = share.filter(|(_, whole)| *whole > 0) else { return String::new() };
    let full = usize::try_from(part.min(whole).saturating_mul(cells) / whole).unwrap_or(0);
    let cells = usize::try_from(cells).unwrap_or(0);
    format!("{}{} ", "█".repeat(full), "░".repeat(cells - full))
}

/// A text in lines of at most `width` characters, broken between words if possible.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(10);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let used = lines.last().map_or(0, |line| line.chars().count());
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
        } else if used > 0 {
            lines.last_mut().into_iter().for_each(|line| line.push(' '));
        }
        for c in word.chars() {
            if lines.last().is_some_and(|line| line.chars().count() >= width) {
                lines.push(String::new());
            }
            lines.last_mut().into_iter().for_each(|line| line.push(c));
        }
    }
    lines
}

fn cut(line: &str, width: usize) -> String {
    match line.chars().count() > width {
        true => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => line.to_owned(),
    }
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
                let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
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
        assert!(painted[0].starts_with("\x1b[1;32mgpt, run abc: training, attempt 2 of 4"), "{}", painted[0]);
    }
}
