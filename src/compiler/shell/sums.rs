//! Calculates the arithmetic expressions in shell text whose result does not depend on a running shell.

use super::rewrite::{Change, rewrite};
use super::token::PartKind;

/// Replaces arithmetic in a text by its result, if that is known: `$((2 * N))`, `$[2 * N]`, `$(expr 2 \* 4)`. `$(pwd)`
/// becomes a variable.
pub fn calculate(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    rewrite(text, |place| {
        let inside = |open: &str, close: &str| place.written.strip_prefix(open)?.strip_suffix(close);
        let sum = match place.kind {
            PartKind::Arithmetic(_) => inside("$((", "))").or_else(|| inside("$[", "]")),
            PartKind::Command(_) | PartKind::Backquoted => {
                let command = inside("$(", ")").or_else(|| inside("`", "`")).unwrap_or_default().trim();
                if command == "pwd" {
                    return Change::To("$PWD".to_owned());
                }
                command.strip_prefix("expr ")
            }
            _ => None,
        };
        match sum.and_then(|sum| value_of(sum, &value)) {
            Some(sum) => Change::To(sum.to_string()),
            None => Change::Within,
        }
    })
}

fn value_of(sum: &str, value: impl Fn(&str) -> Option<String>) -> Option<i64> {
    let (mut total, mut sign, mut term, mut sign_of_term) = (0_i64, 1, None::<i64>, ' ');
    let mut rest = sum.trim_start();
    while let Some(c) = rest.chars().next() {
        let word_end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let length = word_end.max(c.len_utf8());
        let word = &rest[..length];
        match c {
            '\\' | '\'' | '"' | '$' | '{' | '}' => {}
            '+' | '-' => {
                total = total.checked_add(term.take()?.checked_mul(sign)?)?;
                sign = if c == '+' { 1 } else { -1 };
            }
            '*' | '/' | '%' if term.is_some() && sign_of_term == ' ' => sign_of_term = c,
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let number: i64 = word.parse().ok().or_else(|| value(word)?.parse().ok())?;
                term = Some(match (term, sign_of_term) {
                    (None, _) => number,
                    (Some(term), '*') => term.checked_mul(number)?,
                    (Some(term), '/') => term.checked_div(number)?,
                    (Some(term), '%') => term.checked_rem(number)?,
                    _ => return None,
                });
                sign_of_term = ' ';
            }
            _ => return None,
        }
        rest = rest[length..].trim_start();
    }
    total.checked_add(term?.checked_mul(sign)?).filter(|_| sign_of_term == ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_calculated() {
        let value = |name: &str| match name {
            "N" => Some("4".to_owned()),
            "LEAST" => Some(i64::MIN.to_string()),
            _ => None,
        };
        let cases = [
            ("$((N * 2)) $(( $N-1+2*3 ))", "8 9"),
            ("$(expr 2 \\* ${N})", "8"),
            ("$((X*2)) $((RANDOM % 5)) $((2/0)) $(date)", "$((X*2)) $((RANDOM % 5)) $((2/0)) $(date)"),
            ("$((1 - LEAST))", "$((1 - LEAST))"),
            ("$((1", "$((1"),
            ("$((2 * ұ))", "$((2 * ұ))"),
        ];
        for (text, expected) in cases {
            assert_eq!(calculate(text, value), expected);
        }
    }
}
