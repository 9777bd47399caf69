//! Draws a [`Timeline`]: a ribbon with the phases, a lane for each kind of pod, and the resources that the run holds.
//!
//! The widths of the phases grow with the logarithm of their times, because a run takes days and a restart seconds.

use std::fmt::Write;

use super::elements::{label, path, rect};
use super::text::{Escaped, fit, wrap};
use crate::timeline::{Activity, Kind, Phase, Source, State, Timeline, duration};

/// The minimum width. A narrower timeline could not show its texts.
const MIN_WIDTH: u32 = 280;
const MAX_WIDTH: u32 = 2_000;
/// The phases, from the upper edge.
const RIBBON: u32 = 24;
const RIBBON_HEIGHT: u32 = 44;
const LANES: u32 = 126;
const LANE: u32 = 24;
const GAP: u32 = 8;
/// The height of the bars that show how much the run holds.
const HELD: u32 = 40;
/// The size of small texts.
const SMALL: u32 = 11;

/// A timeline as a picture. Lengths are in CSS pixels.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Drawing {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
    /// SVG elements, with texts escaped.
    pub svg: String,
    /// A description for screen readers.
    pub description: String,
    /// For each phase, the distance from the left edge and the width.
    pub spans: Vec<(u32, u32)>,
}

/// Draws a timeline with a width in CSS pixels.
pub fn timeline(timeline: &Timeline, width: u32) -> Drawing {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    let names = if width < 520 { 98 } else { 124 };
    let spans = spans(timeline, names, width - names - 4);
    let mut svg = String::new();
    ribbon(&mut svg, timeline, &spans);
    times(&mut svg, timeline, &spans, width);
    let mut y = LANES;
    for (index, lane) in timeline.lanes.iter().enumerate() {
        label(&mut svg, 0, y + 16, "", &fit(&lane.name, names - 8, 12));
        segments(&mut svg, timeline, index, &spans, y);
        y += LANE + GAP;
    }
    held(&mut svg, timeline, &spans, y, names);
    y += HELD + 22;
    if let Some((x, _)) = timeline.fault.and_then(|fault| spans.get(fault)) {
        path(&mut svg, "now fault", &format!("M{x} 4V{}", y - 6));
    }
    Drawing { width, height: y, svg, description: description(timeline), spans }
}

/// A sentence per phase.
fn description(timeline: &Timeline) -> String {
    let mut text = format!("Timeline: {}", timeline.headline);
    for phase in &timeline.phases {
        let time = phase.seconds.map_or(String::new(), |seconds| format!(", {}", duration(seconds)));
        let _ = write!(text, " {}{time}.", phase.title);
    }
    text
}

/// The position and the width of each phase. Each phase gets room for its texts, if there is enough. Longer phases get
/// more of the remaining width.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "widths are small"
)]
fn spans(timeline: &Timeline, left: u32, room: u32) -> Vec<(u32, u32)> {
    let weight = |phase: &Phase| match (phase.kind, phase.seconds) {
        (Kind::End, _) => 0.5,
        (_, Some(seconds)) => 0.3 + (1.0 + seconds as f64).log10() * 0.5,
        (_, None) => 2.2,
    };
    let word = |phase: &Phase| phase.title.split(' ').map(|word| width_of(word) + 9).max().unwrap_or_default();
    let words: Vec<_> = timeline.phases.iter().map(word).collect();
    let both: Vec<_> =
        timeline.phases.iter().zip(&words).map(|(phase, word)| (*word).max(width_of(&length(phase).1) + 4)).collect();
    let fits = |least: &&Vec<u32>| least.iter().sum::<u32>() <= room;
    let none = vec![0; words.len()];
    let least = [&both, &words].into_iter().find(fits).unwrap_or(&none);
    let rest = f64::from(room - least.iter().sum::<u32>());
    let all: f64 = timeline.phases.iter().map(weight).sum();
    let mut done = 0.0;
    let mut start = left;
    let span = |(phase, least): (&Phase, &u32)| {
        done += f64::from(*least) + rest * weight(phase) / all;
        let end = left + done.round() as u32;
        let span = (start, end - start);
        start = end;
        span
    };
    timeline.phases.iter().zip(least).map(span).collect()
}

/// The class for the source of a phase's length, and the length as a short text. The text is empty for the last phase.
fn length(phase: &Phase) -> (&'static str, String) {
    match (phase.source, phase.seconds.map(duration)) {
        (_, None) if phase.kind == Kind::End => ("", String::new()),
        (Source::Runtime, Some(time)) => ("runtime", format!("≤ {time}")),
        (Source::Kubernetes, Some(time)) => ("kubernetes", time),
        (Source::Spec, Some(time)) => ("spec", time),
        (Source::Program, Some(time)) => ("program", format!("~ {time}")),
        (_, Some(time)) => ("example", format!("~ {time}")),
        (_, None) => ("person", "no end".to_owned()),
    }
}

/// Draws the phases with their titles, or with numbers if there is no room.
fn ribbon(svg: &mut String, timeline: &Timeline, spans: &[(u32, u32)]) {
    let fits = |lines: &[String], width: u32| lines.iter().all(|line| !line.contains('…') && has_room(line, width));
    let titles: Vec<Vec<String>> =
        timeline.phases.iter().zip(spans).map(|(phase, (_, width))| wrap(&phase.title, *width, SMALL, 3)).collect();
    // Use titles only if most of them fit. Titles that are cut, or titles mixed with numbers, are harder to read than
    // only numbers.
    let fitting = titles.iter().zip(spans).filter(|(lines, (_, width))| fits(lines, *width)).count();
    let has_titles = 3 * fitting >= 2 * titles.len();
    for (index, (phase, (x, width))) in timeline.phases.iter().zip(spans).enumerate() {
        let kind = phase.kind.name();
        let _ = write!(svg, r"<g class='phase' data-phase='{index}' transform='translate({x} {RIBBON})'>");
        rect(svg, 0, [width.saturating_sub(2), RIBBON_HEIGHT], 4, &format!("block {kind}"));
        let middle = (width.saturating_sub(2)) / 2;
        let lines = &titles[index];
        if !has_titles || !fits(lines, *width) {
            label(svg, middle, RIBBON_HEIGHT / 2 + 4, &format!("on {kind} middle"), &(index + 1).to_string());
        } else {
            let count = u32::try_from(lines.len()).unwrap_or(1);
            for (line, y) in lines.iter().zip((RIBBON_HEIGHT / 2 + 10 - 6 * count..).step_by(12)) {
                label(svg, middle, y, &format!("on {kind} middle"), line);
            }
        }
        svg.push_str("</g>");
    }
}

/// Draws the length of each phase, with a mark for the source of the length, and the time at which each phase begins.
fn times(svg: &mut String, timeline: &Timeline, spans: &[(u32, u32)], width: u32) {
    let y = RIBBON + RIBBON_HEIGHT + 4;
    for (phase, (x, width)) in timeline.phases.iter().zip(spans) {
        let (class, text) = length(phase);
        if text.is_empty() {
            continue;
        }
        let end = x + width.saturating_sub(3);
        path(svg, &format!("source {class}"), &format!("M{} {y}H{end}", x + 1));
        if has_room(&text, *width) {
            label(svg, x + width / 2 - 1, y + 15, &format!("small strong middle {class}"), &text);
        }
    }
    // Before the fault, times are measured from `kubectl apply`. After the fault, they are measured from the fault.
    let fault = timeline.fault.unwrap_or(usize::MAX);
    let fault_at = timeline.phases.get(fault).and_then(|phase| phase.start);
    let mut free = 0;
    for (index, (phase, (x, _))) in timeline.phases.iter().zip(spans).enumerate() {
        let Some(start) = phase.start else { continue };
        let (class, text) = match fault_at {
            Some(at) if index > fault => ("small since", format!("+{}", duration(start - at))),
            Some(_) if index == fault => ("small since strong", "fault".to_owned()),
            _ => ("small", duration(start)),
        };
        let length = width_of(&text) + 8;
        // At the right edge, the text ends with the picture.
        let (at, class) = if x + length > width { (width, format!("{class} last")) } else { (*x, class.to_owned()) };
        let from = at.min(width.saturating_sub(length)).min(*x);
        if from >= free {
            label(svg, at, LANES - 10, &class, &text);
            free = from + length;
        }
    }
}

/// Draws the activities of the pods of a lane. Successive phases with the same activity become one segment.
fn segments(svg: &mut String, timeline: &Timeline, lane: usize, spans: &[(u32, u32)], y: u32) {
    let mut at = 0;
    while at < spans.len() {
        let Activity { state, does, .. } = &timeline.phases[at].pods[lane];
        let same = |phase: &&Phase| phase.pods[lane].state == *state;
        let end = at + timeline.phases[at..].iter().take_while(same).count();
        let (x, (last, last_width)) = (spans[at].0, spans[end - 1]);
        let width = (last + last_width - x).saturating_sub(2);
        if *state == State::Absent {
            at = end;
            continue;
        }
        let class = state.name();
        let tip = Escaped(does);
        let _ = write!(svg, r"<g transform='translate({x} {y})'><title>{tip}</title>");
        rect(svg, 0, [width, LANE], 4, &format!("segment {class}"));
        if has_room(state.word(), width) {
            label(svg, width / 2, 16, &format!("small-word middle {class}"), state.word());
        }
        svg.push_str("</g>");
        at = end;
    }
}

/// The width of a small text.
fn width_of(text: &str) -> u32 {
    u32::try_from(text.chars().count() * 61 / 10).unwrap_or(u32::MAX)
}

/// Whether a small text fits a width.
fn has_room(text: &str, width: u32) -> bool {
    width_of(text) <= width
}

/// Draws how much the run holds: one bar per phase, with the number wherever it changes.
fn held(svg: &mut String, timeline: &Timeline, spans: &[(u32, u32)], y: u32, names: u32) {
    let most = timeline.phases.iter().map(|phase| phase.held + phase.dead).max().unwrap_or(0).max(1);
    label(svg, 0, y + HELD - 4, "strong", &fit(&format!("{}s held", timeline.unit), names - 8, 12));
    let bottom = y + HELD;
    let right = spans.last().map_or(names, |(x, width)| x + width);
    path(svg, "ground-line", &format!("M{names} {bottom}H{right}"));
    let height = |amount: u32| u32::try_from(u64::from(HELD - 4) * u64::from(amount) / u64::from(most)).unwrap_or(0);
    let mut before = None;
    for (phase, (x, width)) in timeline.phases.iter().zip(spans) {
        let (held, dead) = (height(phase.held), height(phase.dead));
        if held > 0 {
            path(svg, "held", &format!("M{x} {bottom}v-{held}h{width}v{held}z"));
        }
        if dead > 0 {
            path(svg, "held dead", &format!("M{x} {}v-{dead}h{width}v{dead}z", bottom - held));
        }
        let now = (phase.held, phase.dead);
        if before != Some(now) {
            let text = match phase.dead {
                0 => phase.held.to_string(),
                dead => {
                    let long = format!("{} and {dead} on the dead node", phase.held);
                    if has_room(&long, *width) { long } else { format!("{}+{dead}", phase.held) }
                }
            };
            // At the right edge, the text ends with the bar.
            let is_last = x + width_of(&text) > right;
            label(
                svg,
                if is_last { right } else { *x },
                bottom + 14,
                if is_last { "small last" } else { "small" },
                &text,
            );
            before = Some(now);
        }
    }
}
