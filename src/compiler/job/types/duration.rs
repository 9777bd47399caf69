//! Durations in seconds, as specs write them: `30m`, `1h30m`, `90s`, `7d`.

/// A pattern for the schema. It matches the texts that [`parse_duration`] accepts, and also the empty text.
pub const DURATION_PATTERN: &str = r"^([0-9]{1,6}d)?([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$";

/// Reads a duration: days, hours, minutes and seconds in this order, each at most once. None for any other text.
pub fn parse_duration(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut seconds = 0;
    for (unit, length) in [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)] {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        if (1..=6).contains(&digits) && rest[digits..].starts_with(unit) {
            seconds += rest[..digits].parse::<u64>().ok()? * length;
            rest = &rest[digits + 1..];
        }
    }
    (rest.is_empty() && !text.is_empty()).then_some(seconds)
}

/// Writes a duration in hours, minutes and seconds: `1h30m`.
pub fn format_duration(seconds: u64) -> String {
    let parts = [(seconds / 3_600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let text: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text.concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_durations_are_read_back() {
        for (seconds, text) in [(0, "0s"), (90, "1m30s"), (7_200, "2h"), (86_400, "24h"), (3_661, "1h1m1s")] {
            assert_eq!(format_duration(seconds), text);
            assert_eq!(parse_duration(text), Some(seconds));
        }
        for text in ["", "90", "1m1h", "1234567s", "1.5h", "-1s"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
