//! Variables that hold pieces of a launch: texts with other variables in them, lists, sums. Where a launch names one, what
//! it holds stands in its place.

use super::text::{UNKNOWN, marked};
use crate::shell::{
    self, Change, Context, PartKind, TokenKind, is_name, reference, within_quotes, without_quotes, words,
};

/// What a variable holds, as a shell would read it.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    /// Within double quotes.
    Text(String),
    /// As the words of a command.
    List(String),
}

/// Names and what they hold.
pub type Known = Vec<(String, Held)>;

/// How long a text may become, as one may hold another twice.
const LONGEST: usize = 32 << 10;

/// Learns what a line gives a variable, where that is several words; else forgets what it held.
pub fn learn(line: &str, known: &mut Known) {
    let words = ["export ", "declare ", "typeset ", "readonly ", "-a ", "-x "];
    let line = words.iter().fold(line.trim(), |line, word| line.strip_prefix(word).unwrap_or(line).trim_start());
    let Some((name, value)) = line.split_once('=') else { return };
    let (name, more) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    if !is_name(name) {
        return;
    }
    let value = spliced(value, known);
    let list = value.trim_end().strip_prefix('(').and_then(|list| list.strip_suffix(')'));
    let held = match list {
        Some(list) => Some(one_line(list)).filter(|list| words_of(list)).map(Held::List),
        None => within_quotes(&value).map(Held::Text),
    };
    let before = known.iter().position(|(other, _)| other == name).map(|at| known.swap_remove(at).1);
    let held = match (more, before, held) {
        (false, _, held) => held,
        (true, Some(Held::Text(before)), Some(Held::Text(held))) => Some(Held::Text(before + &held)),
        (true, Some(Held::List(before)), Some(Held::List(held))) => Some(Held::List(before + " " + &held)),
        _ => None,
    };
    let several = |held: &Held| match held {
        Held::Text(text) => marked(text).contains(char::is_whitespace),
        Held::List(_) => true,
    };
    let fits = |held: &Held| matches!(held, Held::Text(text) | Held::List(text) if text.len() < LONGEST);
    known.extend(held.filter(|held| several(held) && fits(held)).map(|held| (name.to_owned(), held)));
}

/// Whether a list has words, and not only what a program says.
fn words_of(list: &str) -> bool {
    let alone = list.trim().starts_with("$(") && marked(list).trim() == UNKNOWN;
    !alone && words(&marked(list)).is_some()
}

/// The words of a list without the comments between them, in one line.
fn one_line(list: &str) -> String {
    let tokens = shell::tokenize(list).into_iter();
    let words = tokens.filter(|token| !token.kind.is_space() && token.kind != TokenKind::Comment);
    words.map(|token| &list[token.span]).collect::<Vec<_>>().join(" ")
}

/// A line with what variables hold in their places.
pub fn spliced(line: &str, known: &Known) -> String {
    if known.is_empty() {
        return line.to_owned();
    }
    shell::rewrite(line, |place| {
        if let PartKind::Double(_) = place.kind {
            // `"${A[@]}"` is as many words as the list has.
            let inside = place.written.strip_prefix('"').and_then(|inside| inside.strip_suffix('"'));
            let list = inside.filter(|inside| inside.ends_with("[@]}")).and_then(reference);
            return match list.and_then(|(name, _)| find(name, known)) {
                Some(Held::List(list)) => Change::To(list.clone()),
                _ => Change::Within,
            };
        }
        if let PartKind::List(_) = place.kind {
            return Change::Within;
        }
        let Some((name, all)) = reference(place.written) else { return Change::Keep };
        match (find(name, known), all, place.context) {
            (Some(Held::Text(text)), false, Context::Quoted) => Change::To(text.clone()),
            (Some(Held::Text(text)), false, Context::Bare) => Change::To(without_quotes(text)),
            (Some(Held::List(list)), true, Context::Bare) => Change::To(list.clone()),
            (Some(Held::List(list)), true, Context::Quoted) if !list.contains(['"', '\'', '\\']) => {
                Change::To(list.clone())
            }
            _ => Change::Keep,
        }
    })
}

fn find<'k>(name: &str, known: &'k Known) -> Option<&'k Held> {
    known.iter().find(|(other, _)| other == name).map(|(_, held)| held)
}

/// What stands within double quotes behind `bash -c`, as the lines that bash runs.
pub fn lines(text: &str) -> String {
    let (mut made, mut escaped) = (String::new(), false);
    for c in text.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            c if escaped && !"\"\\$`".contains(c) => made.extend(['\\', c]),
            c => made.push(c),
        }
        escaped = false;
    }
    made.trim().to_owned()
}

/// A text with what can be reckoned in it in its place: `$((2 * N))`, `$[2 * N]`, `$(expr 2 \* 4)`; `$(pwd)` is a
/// variable.
pub fn reckoned(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    shell::rewrite(text, |place| {
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
        match sum.and_then(|sum| reckon(sum, &value)) {
            Some(sum) => Change::To(sum.to_string()),
            None => Change::Within,
        }
    })
}

fn reckon(sum: &str, value: impl Fn(&str) -> Option<String>) -> Option<i64> {
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

    fn after(script: &[&str], line: &str) -> String {
        let mut known = Known::new();
        for line in script {
            learn(line, &mut known);
        }
        spliced(line, &known)
    }

    #[test]
    fn texts_and_lists_stand_where_they_are_named() {
        let launcher = "export L=\"torchrun --rank \\$R \\\n --at $HOST:1\"";
        assert_eq!(after(&[launcher], "srun $L a.py"), "srun torchrun --rank \\$R --at ${HOST}:1 a.py");
        assert_eq!(after(&[launcher], "srun '$L' \\$L"), "srun '$L' \\$L");
        let line = after(&[launcher, "C=\"$L a.py\""], "bash -c \"$C\"");
        let word = within_quotes(line.strip_prefix("bash -c ").unwrap()).unwrap();
        assert_eq!(lines(&word), "torchrun --rank $R --at ${HOST}:1 a.py");
        let list = "declare -a A=(\n  --lr 1 # low\n  \"b c\"\n)";
        assert_eq!(after(&[list, "A+=( $D )"], "x \"${A[@]}\" ${A[*]}"), "x --lr 1 \"b c\" $D --lr 1 \"b c\" $D");
        assert_eq!(after(&["A=\"a *\"", "A+=' it'\"'\"'s'"], "x $A \"$A\""), "x a \\* it\\'s \"a * it's\"");
    }

    #[test]
    fn what_is_no_text_stays_a_variable() {
        assert_eq!(after(&["A=\"a b\"", "A=$(date)"], "x $A"), "x $A");
        assert_eq!(after(&["A=one", "B=($(hosts))", "C+=\" x y\""], "$A ${B[@]} $C"), "$A ${B[@]} $C");
        let twice: Vec<String> = (0..40).map(|_| "A=\"$A $A\"".to_owned()).collect();
        let twice: Vec<&str> = std::iter::once("A=\"a b\"").chain(twice.iter().map(String::as_str)).collect();
        assert!(after(&twice, "$A").len() < LONGEST);
    }

    #[test]
    fn sums_are_reckoned() {
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
        for (text, wanted) in cases {
            assert_eq!(reckoned(text, value), wanted);
        }
    }
}
