//! Reads numbers, times, memory sizes and lists of hosts in Slurm's syntax.

/// The largest number that an option may have.
const MOST: u32 = 100_000;

/// Returns the number of hosts in a list such as `a[0-2,5],b`. None if the text is the name of a file.
pub fn hosts(list: &str) -> Option<u32> {
    let (mut count, mut each, mut depth) = (0_u32, 1_u32, 0);
    let mut inner = String::new();
    for c in list.chars() {
        match c {
            '/' => return None,
            '[' => (depth, inner) = (depth + 1, String::new()),
            ']' => {
                depth -= 1;
                let ranges = inner.split(',').map(|range| match range.split_once('-') {
                    Some((low, high)) => {
                        Some(high.parse::<u32>().ok()?.checked_sub(low.parse().ok()?)?.saturating_add(1))
                    }
                    None => Some(1),
                });
                each = each.saturating_mul(ranges.sum::<Option<u32>>()?);
            }
            ',' if depth == 0 => (count, each) = (count.saturating_add(each), 1),
            _ if depth > 0 => inner.push(c),
            _ => {}
        }
    }
    Some(count.saturating_add(each).min(MOST))
}

pub fn count(value: &str) -> Result<u32, String> {
    match value.trim().parse() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("`{value}` is not a number from 1 to {MOST}")),
    }
}

/// Reads a memory size such as `64G` or `500`, in mebibytes.
pub fn mebibytes(value: &str) -> Result<u64, String> {
    let wrong = || format!("`{value}` is not an amount of memory such as 64G");
    let text = value.trim_end_matches(['B', 'b', 'n', 'c']);
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "M" => 1,
        "K" => return Ok(number.div_ceil(1 << 10).max(1)),
        "G" => 1 << 10,
        "T" => 1 << 20,
        _ => return Err(wrong()),
    };
    match number.checked_mul(factor) {
        Some(amount) if (1..1 << 30).contains(&amount) => Ok(amount),
        _ => Err(wrong()),
    }
}

pub fn quantity(mebibytes: u64) -> String {
    if mebibytes.is_multiple_of(1_024) { format!("{}Gi", mebibytes / 1_024) } else { format!("{mebibytes}Mi") }
}

/// Reads a time: `90`, `90:30`, `8:00:00`, `2-12`, `2-12:30` or `2-12:30:00`. None means no limit.
pub fn seconds(value: &str) -> Result<Option<u64>, String> {
    if ["UNLIMITED", "INFINITE", "0", "-1"].contains(&value.to_ascii_uppercase().as_str()) {
        return Ok(None);
    }
    let wrong = || format!("`{value}` is not a time such as 8:00:00 or 2-12:00");
    let (days, rest) = value.split_once('-').map_or((None, value), |(days, rest)| (Some(days), rest));
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number < 1_000_000).ok_or_else(wrong);
    let parts = rest.split(':').map(number).collect::<Result<Vec<_>, _>>()?;
    let seconds = match (days, parts.as_slice()) {
        (None, [minutes]) => minutes * 60,
        (None, [minutes, seconds]) => minutes * 60 + seconds,
        (None, [hours, minutes, seconds]) => hours * 3_600 + minutes * 60 + seconds,
        (Some(days), [hours, rest @ ..]) if rest.len() < 3 => {
            let small: u64 = rest.iter().zip([60, 1]).map(|(number, unit)| number * unit).sum();
            number(days)? * 86_400 + hours * 3_600 + small
        }
        _ => return Err(wrong()),
    };
    if seconds == 0 { Err(wrong()) } else { Ok(Some(seconds)) }
}

/// Returns the first value of `--array`, and the second if there is one: 0 and 4 for `0-15:4%2`.
pub fn first_of_array(value: &str) -> (String, Option<String>) {
    let mut parts = value.split('%').next().unwrap_or_default().split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let (range, step) = first.split_once(':').unwrap_or((first, "1"));
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let next = || {
        let next = low.parse::<u32>().ok()?.checked_add(step.parse().ok()?)?;
        (next <= high.parse().ok()?).then(|| next.to_string())
    };
    let other = |part: &str| part.split(['-', ':']).next().unwrap_or_default().to_owned();
    (low.to_owned(), next().or_else(|| parts.next().map(other)))
}

/// Reads `[B:]SIGNAL[@SECONDS]`, the value of `--signal`: the signal as the spec has it, and the seconds, by default 60. None if it
/// is not one of the signals that ask for a checkpoint.
pub fn signal(value: &str) -> Option<(&'static str, u32)> {
    let (signal, seconds) = value.split_once('@').unwrap_or((value, "60"));
    let signal = signal.split_once(':').map_or(signal, |(_, signal)| signal).to_ascii_uppercase();
    let signal = match signal.strip_prefix("SIG").unwrap_or(&signal) {
        "HUP" | "1" => "SIGHUP",
        "INT" | "2" => "SIGINT",
        "USR1" | "10" => "SIGUSR1",
        "USR2" | "12" => "SIGUSR2",
        "TERM" | "15" => "SIGTERM",
        _ => return None,
    };
    Some((signal, seconds.parse().ok()?))
}

/// Checks that a number of GPUs is possible on one node.
pub fn of_one(gpus: u32) -> Result<u32, String> {
    if gpus <= 64 { Ok(gpus) } else { Err(format!("{gpus} GPUs are more than any node has")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_values_of_arrays() {
        let found = ["0-3", "3-5%2", "0-15:4", "1,3,7", "7", "4-4,9-12", "x"].map(first_of_array);
        let some = |first: &str, second: &str| (first.to_owned(), Some(second.to_owned()));
        let one = |first: &str| (first.to_owned(), None);
        let expected =
            [some("0", "1"), some("3", "4"), some("0", "4"), some("1", "3"), one("7"), some("4", "9"), one("x")];
        assert_eq!(found, expected);
    }

    #[test]
    fn times_and_amounts_as_slurm_reads_them() {
        let cases = [
            ("90", 5_400),
            ("90:30", 5_430),
            ("08:00:00", 28_800),
            ("2-12", 216_000),
            ("1-0:30", 88_200),
            ("1-00:00:01", 86_401),
        ];
        for (text, expected) in cases {
            assert_eq!(seconds(text), Ok(Some(expected)), "{text}");
        }
        assert_eq!(seconds("UNLIMITED"), Ok(None));
        for text in ["", "a", "1:2:3:4", "1-", "-", "99999999999", "1-1:1:1:1"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        let signals = [
            ("USR1@120", Some(("SIGUSR1", 120))),
            ("B:10", Some(("SIGUSR1", 60))),
            ("RB:sigterm@90", Some(("SIGTERM", 90))),
            ("KILL@60", None),
            ("USR1@soon", None),
        ];
        for (text, expected) in signals {
            assert_eq!(signal(text), expected, "{text}");
        }
        let amounts = [
            ("500", "500Mi"),
            ("64G", "64Gi"),
            ("1536M", "1536Mi"),
            ("2T", "2048Gi"),
            ("1048576K", "1Gi"),
            ("4Gn", "4Gi"),
        ];
        for (text, expected) in amounts {
            assert_eq!(quantity(mebibytes(text).unwrap()), expected);
        }
        let lists = [("mega-[0-1]", Some(2)), ("a[0-2,5],b", Some(5)), ("n1,n2", Some(2)), ("r[1-2]n[0-3]", Some(8))];
        for (list, expected) in lists.into_iter().chain([("./hosts", None), ("a[x-y]", None)]) {
            assert_eq!(hosts(list), expected, "{list}");
        }
    }
}
