//! The state of a job as one page of text.

use std::fmt::Write as _;

use khorovod::show::clean_line;

use super::diagnosis::{Gpus, Phase, Progress, State, duration};
use super::objects::Time;

/// The page: a sentence, and one line for each fact that is known.
pub fn page(state: &State, log: &[String], hint: Option<&str>, now: Time) -> String {
    let mut text = format!("{}\n", clean_line(&sentence(state, now)));
    let mut rows = facts(state, now, false);
    if let Some(pod) = state.log_pod.clone().filter(|_| !log.is_empty()) {
        rows.push(("log", pod));
    }
    for (name, value) in rows {
        let _ = writeln!(text, "  {name:<10}{}", clean_line(&value));
    }
    for line in log {
        let _ = writeln!(text, "    {}", clean_line(line));
    }
    if let Some(hint) = hint {
        let _ = writeln!(text, "  {:<10}{}", "next", clean_line(hint));
    }
    text
}

/// A name and a value for each fact that is known. If `is_cut` is true, the caller may cut values at the end. Then only
/// two of the pods that wait are named, so that the reason after the names is not cut.
pub fn facts(state: &State, now: Time, is_cut: bool) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let has_ended = state.phase.has_ended();
    if state.workers.wanted > 0 && !has_ended {
        rows.push(("workers", format!("{} of {} Ready", state.workers.ready, state.workers.wanted)));
    }
    for Gpus { resource, wanted, held } in state.gpus.iter().filter(|gpus| gpus.held > 0 || !has_ended) {
        rows.push(("GPUs", format!("{held} of {wanted} held ({resource})")));
    }
    if let Some(progress) = &state.progress {
        rows.push(("progress", describe(progress, now)));
    }
    if let Some(end) = state.last_end.as_ref().filter(|_| !has_ended && state.phase != Phase::Recovering) {
        rows.push(("last end", end.clone()));
    }
    if let Some((held, trained)) = state.held_seconds.zip(state.trained_seconds).filter(|(held, _)| *held > 0.0) {
        #[allow(clippy::cast_possible_truncation)]
        let (held, trained, share) = (held as i64, trained as i64, (100.0 * trained / held).round() as i64);
        rows.push(("goodput", format!("{share} %: trained {} of {} with workers", duration(trained), duration(held))));
    }
    for cause in state.waits_for.iter().filter(|cause| !cause.pods.is_empty()) {
        let named = &cause.pods[..cause.pods.len().min(if is_cut { 2 } else { usize::MAX })];
        let more = cause.workers.saturating_sub(u32::try_from(named.len()).unwrap_or(u32::MAX));
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let is_first = rows.last().is_none_or(|(name, _)| !matches!(*name, "pods" | ""));
        let value = format!("{}{more}: {}", named.join(", "), cause.reason);
        rows.push((if is_first { "pods" } else { "" }, value));
    }
    rows.extend(state.notes.iter().map(|note| ("note", note.clone())));
    rows
}

/// The job, its run, its state, and how long it has been in this state.
pub fn sentence(state: &State, now: Time) -> String {
    let (text, since) = parts(state, now);
    text + &since
}

/// The two parts of [`sentence`]: the job with its state, and how long it has been in this state.
pub fn parts(state: &State, now: Time) -> (String, String) {
    let run = state.run.as_ref().map_or(String::new(), |run| format!(", run {run}"));
    let since = state.since.map(|since| duration(now.0 - since));
    let since = match (since, state.phase.has_ended() || state.phase == Phase::Absent) {
        (Some(since), false) => format!(" (for {since})"),
        (Some(since), true) => format!(" ({since} ago)"),
        (None, _) => String::new(),
    };
    (format!("{}{run}: {}", state.job, state.message), since)
}

/// `step 120 of 1000 (12 %), about 14 min left, reported 20 s ago`.
fn describe(progress: &Progress, now: Time) -> String {
    let Progress { step, steps, unit, at, seconds_left } = progress;
    let mut text = match steps {
        Some(steps) => format!("{unit} {step} of {steps} ({} %)", (100 * step).checked_div(*steps).unwrap_or(0)),
        None => format!("{unit} {step}"),
    };
    if let Some(left) = seconds_left {
        let _ = write!(text, ", about {} left", duration(i64::try_from(*left).unwrap_or(i64::MAX)));
    }
    if let Some(at) = at {
        let _ = write!(text, ", reported {} ago", duration(now.0 - at));
    }
    text
}

/// A table of jobs, one line per job.
pub fn table(states: &[State], has_namespaces: bool, now: Time) -> String {
    let mut rows = vec![["NAMESPACE", "JOB", "RUN", "PHASE", "FOR", "WORKERS", "GPUS", "STATE"].map(str::to_owned)];
    for state in states {
        let gpus: u64 = state.gpus.iter().map(|gpus| gpus.held).sum();
        let cell = |text: Option<&String>| text.map_or("-".to_owned(), |text| clean_line(text).into_owned());
        rows.push([
            cell(state.namespace.as_ref()),
            cell(Some(&state.job)),
            cell(state.run.as_ref()),
            phase_word(state.phase),
            state.since.map_or("-".to_owned(), |since| duration(now.0 - since)),
            format!("{}/{}", state.workers.ready, state.workers.wanted),
            gpus.to_string(),
            clean_line(&state.message).chars().take(100).collect(),
        ]);
    }
    let first = usize::from(!has_namespaces);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = (first..8).map(|column| format!("{:<width$}", row[column], width = widths[column]));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The word of a phase, as in JSON.
pub fn phase_word(phase: Phase) -> String {
    serde_json::to_value(phase).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}
