//! Kubernetes quantities: `32`, `500m`, `64Gi`.

use std::fmt;

/// A quantity as written, with its value in thousandths for comparisons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    text: String,
    milli: i128,
}

/// The suffixes of quantities, each with its factor in thousandths.
const SUFFIXES: &[(&str, i128)] = &[
    ("Ki", 1_000 << 10),
    ("Mi", 1_000 << 20),
    ("Gi", 1_000 << 30),
    ("Ti", 1_000 << 40),
    ("Pi", 1_000 << 50),
    ("Ei", 1_000 << 60),
    ("m", 1),
    ("k", 1_000_000),
    ("M", 1_000_000_000),
    ("G", 1_000_000_000_000),
    ("T", 1_000_000_000_000_000),
    ("P", 1_000_000_000_000_000_000),
    ("E", 1_000_000_000_000_000_000_000),
];

/// The factor of a suffix such as `e9`, in thousandths.
fn power(suffix: &str) -> Option<i128> {
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let least = exponent == "0" || !exponent.starts_with('0') && exponent.bytes().all(|b| b.is_ascii_digit());
    let exponent = exponent.parse().ok().filter(|exponent| least && *exponent <= 18)?;
    Some(1_000 * 10_i128.pow(exponent))
}

impl Quantity {
    /// The format that [`Quantity::parse`] takes, for the schema. At most 12 digits before and after the point, so that
    /// nothing overflows.
    pub const PATTERN: &'static str =
        r"^[0-9]{1,12}(\.[0-9]{1,12})?(Ki|Mi|Gi|Ti|Pi|Ei|m|k|M|G|T|P|E|[eE](1[0-8]|[0-9]))?$";

    /// Reads a quantity. Returns nothing for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(digits_end);
        let factor = match suffix {
            "" => 1_000,
            _ => SUFFIXES
                .iter()
                .find(|(name, _)| *name == suffix)
                .map(|(_, factor)| *factor)
                .or_else(|| power(suffix))?,
        };
        let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
        let valid = |digits: &str| (1..=12).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        if !valid(whole) || !fraction.is_none_or(valid) {
            return None;
        }
        let mut milli = whole.parse::<i128>().ok()?.checked_mul(factor)?;
        if let Some(fraction) = fraction {
            let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
            milli += fraction.parse::<i128>().ok()?.checked_mul(factor)? / scale;
        }
        Some(Self { text: text.to_owned(), milli })
    }

    /// A number of whole units.
    pub fn units(count: u32) -> Self {
        Self { text: count.to_string(), milli: i128::from(count) * 1_000 }
    }

    /// A quarter of the quantity, in the largest unit in which the result is a whole number. If the quantity has a
    /// decimal unit, so has the result.
    #[must_use]
    pub fn quarter(&self) -> Self {
        let bytes = self.milli / 4_000;
        let units = match self.text.ends_with(['k', 'M', 'G', 'T', 'P', 'E']) {
            true => ["E", "P", "T", "G", "M", "k"],
            false => ["Ei", "Pi", "Ti", "Gi", "Mi", "Ki"],
        };
        let text = units
            .iter()
            .filter_map(|name| SUFFIXES.iter().find(|(suffix, _)| suffix == name))
            .find(|(_, factor)| bytes > 0 && bytes % (factor / 1_000) == 0)
            .map_or(bytes.to_string(), |(name, factor)| format!("{}{name}", bytes / (factor / 1_000)));
        Self { text, milli: bytes * 1_000 }
    }

    /// The value in thousandths.
    pub fn milli(&self) -> i128 {
        self.milli
    }

    /// The value in whole units, such as bytes, rounded up.
    pub fn value(&self) -> i128 {
        (self.milli + 999) / 1_000
    }

    /// The text of the quantity.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl serde::Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_in_kubernetes() {
        for (text, milli) in
            [("32", 32_000), ("500m", 500), ("0.5", 500), ("1Ki", 1_024_000), ("1k", 1_000_000), ("1.5e3", 1_500_000)]
        {
            assert_eq!(Quantity::parse(text).map(|q| q.milli()), Some(milli), "{text}");
        }
        for text in
            ["", "Gi", "1 Gi", "1gb", "1GB", "-1", "1e-3", "1e03", "1e19", "1.", ".5", "1.2.3", "0x1", "1234567890123"]
        {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_quarter_keeps_a_readable_unit() {
        for (whole, quarter) in [("256Gi", "64Gi"), ("1Gi", "256Mi"), ("3", "0"), ("100G", "25G"), ("1M", "250k")] {
            assert_eq!(Quantity::parse(whole).map(|q| q.quarter().to_string()).as_deref(), Some(quarter), "{whole}");
        }
    }
}
