//! Durations in the forms of other systems, such as `12:00:00` or `2 days`, for hints and fixes.

use crate::job::types::parse_duration;
use crate::yaml::Scalar;

/// A float as an integer of 32 bits, if it is one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "values that do not fit are refused")]
pub fn to_integer(value: f64) -> Option<u32> {
    (value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value)).then_some(value as u32)
}

/// The duration that was meant by `2 days`, `30min`, `12 H`, `24:00:00`, `1-12:00:00`, `1.5h` or `PT1H`.
pub fn meant_duration(text: &str) -> Option<String> {
    if let Some(iso) = text.strip_prefix('P').filter(|iso| iso.contains(['T', 'D'])) {
        let short = iso.replace('T', "").to_ascii_lowercase();
        return parse_duration(&short).map(|_| short);
    }
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let days = days.strip_suffix('d').unwrap_or(days);
    if let [hours, minutes, seconds] = *clock.split(':').collect::<Vec<_>>() {
        let mut written = String::new();
        for (digits, unit) in [(days, 'd'), (hours, 'h'), (minutes, 'm'), (seconds, 's')] {
            match digits.parse::<u32>().ok()? {
                0 => {}
                count => written.extend([count.to_string(), unit.to_string()]),
            }
        }
        return parse_duration(&written).map(|_| written);
    }
    let text = text.trim_end_matches('.');
    if text.contains(char::is_whitespace)
        && text.matches(|c: char| c.is_ascii_alphabetic()).count() > 1
        && let Some(parts) = several_parts(text)
    {
        return Some(parts);
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    if number.contains('.') {
        let parts = [("d", 24, "h"), ("h", 60, "m"), ("m", 60, "s")];
        let (_, count, smaller) = parts.into_iter().find(|(known, ..)| unit.trim() == *known)?;
        let Scalar::Float(value) = Scalar::plain(number) else { return None };
        let parts = to_integer(value * f64::from(count)).filter(|parts| *parts > 0)?;
        return Some(format!("{parts}{smaller}"));
    }
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "w" | "wk" | "week" | "weeks" => return Some(format!("{}d", number.parse::<u32>().ok()?.checked_mul(7)?)),
        "d" | "day" | "days" => "d",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        _ => return None,
    };
    let fixed = format!("{number}{unit}");
    parse_duration(&fixed).map(|_| fixed)
}

/// The duration that was meant by several numbers with units, such as `1 day 2h`.
fn several_parts(text: &str) -> Option<String> {
    let mut starts: Vec<usize> = Vec::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c.is_ascii_digit() && !before.is_ascii_digit() {
            starts.push(at);
        }
        before = c;
    }
    if starts.len() < 2 || starts[0] != 0 {
        return None;
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let parts: Option<Vec<String>> =
        starts.iter().zip(ends).map(|(start, end)| meant_duration(text[*start..end].trim())).collect();
    let written = parts?.concat();
    parse_duration(&written).map(|_| written)
}
