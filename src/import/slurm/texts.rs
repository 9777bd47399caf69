//! Variables that hold pieces of a launch: texts with other variables in them, lists, sums. Where a launch names one, what
//! it holds stands in its place.

use super::text::{UNKNOWN, closed, marked, without_comment};
use crate::words::{is_name, words};

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
        None => inner(&value).map(Held::Text),
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
    let lines = list.lines().map(|line| without_comment(line).trim_end().trim_end_matches('\\').trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A line with what variables hold in their places.
pub fn spliced(line: &str, known: &Known) -> String {
    let ends = closed(line);
    let (mut made, mut at, mut quote) = (String::new(), 0, None);
    while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        match (c, quote) {
            ('\\', None | Some('"')) => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                made.push_str(&rest[..length]);
                at += length;
                continue;
            }
            ('\'' | '"', None) => {
                // `"${A[@]}"` is as many words as the list has.
                let inside = rest.strip_prefix("\"$").and_then(|_| reference(&rest[1..]));
                if let Some((name, true, length)) = inside
                    && rest[..=length].ends_with("[@]}")
                    && rest[1 + length..].starts_with('"')
                    && let Some(Held::List(list)) = find(name, known)
                {
                    made.push_str(list);
                    at += length + 2;
                    continue;
                }
                quote = Some(c);
            }
            (c, Some(open)) if c == open => quote = None,
            ('$', None | Some('"')) => {
                let held = reference(rest).and_then(|(name, all, length)| Some((find(name, known)?, all, length)));
                let text = match (&held, quote) {
                    (Some((Held::Text(text), false, _)), Some(_)) => Some(text.clone()),
                    (Some((Held::Text(text), false, _)), None) => Some(bare(text)),
                    (Some((Held::List(list), true, _)), None) => Some(list.clone()),
                    (Some((Held::List(list), true, _)), Some(_)) if !list.contains(['"', '\'', '\\']) => {
                        Some(list.clone())
                    }
                    _ => None,
                };
                let length = held.map_or(1, |(.., length)| length);
                if let Some(text) = text {
                    made.push_str(&text);
                    at += length;
                } else {
                    let length = expansion(line, at, &ends);
                    made.push_str(&rest[..length]);
                    at += length;
                }
                continue;
            }
            _ => {}
        }
        made.push(c);
        at += c.len_utf8();
    }
    made
}

fn find<'k>(name: &str, known: &'k Known) -> Option<&'k Held> {
    known.iter().find(|(other, _)| other == name).map(|(_, held)| held)
}

/// The variable that a text begins with, whether all of a list is meant, and how long that is.
fn reference(text: &str) -> Option<(&str, bool, usize)> {
    let behind = text.strip_prefix('$')?;
    let braced = behind.strip_prefix('{');
    let inner = braced.unwrap_or(behind);
    let name = &inner[..name_length(inner)];
    let all = ["[@]", "[*]"].iter().any(|all| inner[name.len()..].starts_with(all)) && braced.is_some();
    let length = name.len() + if all { 3 } else { 0 };
    match braced {
        _ if !is_name(name) => None,
        Some(_) if !inner[length..].starts_with('}') => None,
        Some(_) => Some((name, all, length + 3)),
        None => Some((name, false, length + 1)),
    }
}

fn name_length(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// How long what a shell puts in is, which begins at a `$`.
fn expansion(text: &str, at: usize, ends: &std::collections::HashMap<usize, usize>) -> usize {
    let behind = &text[at + 1..];
    match behind.chars().next() {
        Some('(') => ends.get(&(at + 1)).map_or(1, |length| length + 1),
        Some('{') => behind.find('}').map_or(1, |end| end + 2),
        _ => 1 + name_length(behind),
    }
}

/// One word of a shell as what would stand for it within double quotes; none where it is more than a word.
pub fn inner(word: &str) -> Option<String> {
    let ends = closed(word);
    let (mut made, mut at, mut quote) = (String::new(), 0, None);
    while let Some(c) = word[at..].chars().next() {
        let next = word[at + c.len_utf8()..].chars().next();
        match (c, quote) {
            ('\\', None | Some('"')) => {
                let next = next?;
                match quote {
                    // What goes on in the next line stands further in for the eye.
                    _ if next == '\n' && made.ends_with(' ') => {
                        let blank = |c: char| c == ' ' || c == '\t';
                        at += 2;
                        at += word[at..].len() - word[at..].trim_start_matches(blank).len();
                        continue;
                    }
                    _ if next == '\n' => {}
                    Some(_) if !"\"\\$`".contains(next) => made.extend(["\\\\", next.encode_utf8(&mut [0; 4])]),
                    _ => literal(next, &mut made),
                }
                at += 1 + next.len_utf8();
                continue;
            }
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('$', None | Some('"')) => {
                let length = expansion(word, at, &ends);
                match reference(&word[at..]) {
                    // What follows may be part of a name.
                    Some((name, false, _)) => made.extend(["${", name, "}"]),
                    _ => made.push_str(&word[at..at + length]),
                }
                at += length;
                continue;
            }
            ('`', None | Some('"')) => return None,
            (c, None) if c.is_whitespace() || "|&;<>()".contains(c) => return None,
            ('~', None) if at == 0 => return None,
            (c, _) => literal(c, &mut made),
        }
        at += c.len_utf8();
    }
    quote.is_none().then_some(made)
}

/// A character as it stands within double quotes.
fn literal(c: char, made: &mut String) {
    if "\"\\$`".contains(c) {
        made.push('\\');
    }
    made.push(c);
}

/// What stands within double quotes, as the words that a shell makes of it without them.
fn bare(text: &str) -> String {
    let ends = closed(text);
    let (mut made, mut at) = (String::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        let length = match c {
            '\\' => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '$' => expansion(text, at, &ends),
            c => c.len_utf8(),
        };
        match c {
            '\n' => made.push(' '),
            '\'' | '|' | '&' | ';' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | '{' | '#' | '~' => {
                made.extend(['\\', c]);
            }
            _ => made.push_str(&text[at..at + length]),
        }
        at += length;
    }
    made
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

/// A text with what can be reckoned in it in its place: `$((2 * N))`, `$(expr 2 \* 4)`; `$(pwd)` is a variable.
pub fn reckoned(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let text = &text.replace("`pwd`", "$PWD").replace("$(pwd)", "$PWD");
    if !text.contains("$(") {
        return text.to_owned();
    }
    let ends = closed(text);
    let (mut made, mut at) = (String::new(), 0);
    while let Some(start) = text[at..].find("$(").map(|start| at + start) {
        let length = expansion(text, start, &ends);
        let inside = text[start..start + length].strip_prefix("$(").and_then(|inside| inside.strip_suffix(')'));
        let double = inside.and_then(|inside| inside.strip_prefix('(')?.strip_suffix(')'));
        let expr = inside.and_then(|inside| inside.trim().strip_prefix("expr "));
        made.push_str(&text[at..start]);
        match double.or(expr).and_then(|sum| reckon(sum, &value)) {
            Some(sum) => made.push_str(&sum.to_string()),
            None => made.push_str(&text[start..start + length]),
        }
        at = start + length;
    }
    made + &text[at..]
}

fn reckon(sum: &str, value: impl Fn(&str) -> Option<String>) -> Option<i64> {
    let (mut total, mut sign, mut term, mut sign_of_term) = (0_i64, 1, None::<i64>, ' ');
    let mut rest = sum.trim_start();
    while let Some(c) = rest.chars().next() {
        let length = name_length(rest).max(c.len_utf8());
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
        let word = inner(line.strip_prefix("bash -c ").unwrap()).unwrap();
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
