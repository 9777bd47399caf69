//! The type of an unquoted scalar: [`Scalar`]. Scalars that YAML 1.1 and YAML 1.2 parsers read as different values are
//! [`Trap`]s, which validation reports.

/// The value of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
    /// A scalar that YAML 1.1 and YAML 1.2 parsers read as different values. It needs quotes or another notation.
    Trap(Trap),
}

/// The reason why YAML parsers disagree on a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trap {
    /// `yes`, `on`, `n`: a string in YAML 1.2, and a boolean with this value in YAML 1.1.
    Word(bool),
    /// `0777`, `0o17`, `0x1F`, `0b1`: parsers read different numbers, or a string.
    Radix,
    /// `1:30`: the number 90 in YAML 1.1.
    Sexagesimal,
    /// `1_000`: the number 1000 in YAML 1.1.
    Underscore,
    /// `.inf`, `.nan`, or a number that does not fit into `i64` or `f64`.
    Special,
}

impl<'a> Scalar<'a> {
    /// The value of an unquoted scalar, by the core schema of YAML 1.2.
    pub fn plain(text: &'a str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "true" | "True" | "TRUE" => return Self::Bool(true),
            "false" | "False" | "FALSE" => return Self::Bool(false),
            _ => {}
        }
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "yes" | "y" | "on" => return Self::Trap(Trap::Word(true)),
            "no" | "n" | "off" => return Self::Trap(Trap::Word(false)),
            _ => {}
        }
        let digits = lower.strip_prefix(['+', '-']).unwrap_or(&lower);
        if matches!(digits, ".inf" | ".nan") {
            return Self::Trap(Trap::Special);
        }
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Self::Text(text);
        }
        Self::number(text, digits)
    }

    /// The value of a scalar that may be a number. `digits` is `text` in lower case without its sign; it starts with a digit or
    /// a dot.
    fn number(text: &'a str, digits: &str) -> Self {
        let all = |text: &str, test: fn(&u8) -> bool| !text.is_empty() && text.as_bytes().iter().all(test);
        if let Some(rest) = digits.strip_prefix("0x").or(digits.strip_prefix("0o")).or(digits.strip_prefix("0b"))
            && all(rest, |b| b.is_ascii_hexdigit() || *b == b'_')
        {
            return Self::Trap(Trap::Radix);
        }
        if all(digits, u8::is_ascii_digit) {
            if digits.len() > 1 && digits.starts_with('0') {
                return Self::Trap(Trap::Radix);
            }
            return text.parse().map_or(Self::Trap(Trap::Special), Self::Int);
        }
        if digits.contains('_') && all(digits, |b| b.is_ascii_digit() || matches!(b, b'_' | b'.' | b',')) {
            return Self::Trap(Trap::Underscore);
        }
        if digits.contains(':') && digits.split(':').all(|part| all(part, |b| b.is_ascii_digit() || *b == b'.')) {
            return Self::Trap(Trap::Sexagesimal);
        }
        let float = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'+' | b'-');
        match all(digits, float).then(|| super::float::parse(text)).flatten() {
            Some(value) if value.is_finite() => Self::Float(value),
            Some(_) => Self::Trap(Trap::Special),
            None => Self::Text(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_have_their_yaml_1_2_value_or_are_traps() {
        let cases = [
            ("", Scalar::Null),
            ("~", Scalar::Null),
            ("true", Scalar::Bool(true)),
            ("8", Scalar::Int(8)),
            ("-8", Scalar::Int(-8)),
            ("0", Scalar::Int(0)),
            ("0.5", Scalar::Float(0.5)),
            (".5", Scalar::Float(0.5)),
            ("1e3", Scalar::Float(1000.0)),
            ("64Gi", Scalar::Text("64Gi")),
            ("1.2.3", Scalar::Text("1.2.3")),
            ("2024-01-01", Scalar::Text("2024-01-01")),
            ("mnist", Scalar::Text("mnist")),
            (".", Scalar::Text(".")),
            ("...", Scalar::Text("...")),
            ("12e03", Scalar::Float(12000.0)),
            ("yes", Scalar::Trap(Trap::Word(true))),
            ("On", Scalar::Trap(Trap::Word(true))),
            ("n", Scalar::Trap(Trap::Word(false))),
            ("0777", Scalar::Trap(Trap::Radix)),
            ("0o17", Scalar::Trap(Trap::Radix)),
            ("0x1F", Scalar::Trap(Trap::Radix)),
            ("1:30", Scalar::Trap(Trap::Sexagesimal)),
            ("1_000", Scalar::Trap(Trap::Underscore)),
            (".inf", Scalar::Trap(Trap::Special)),
            ("99999999999999999999", Scalar::Trap(Trap::Special)),
            ("1e999", Scalar::Trap(Trap::Special)),
        ];
        for (text, expected) in cases {
            assert_eq!(Scalar::plain(text), expected, "{text:?}");
        }
    }
}
