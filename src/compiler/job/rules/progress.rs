//! Rules about `observability.progress.pattern`, a regular expression of Python: see [`find_mistake`].

use super::Case;
use crate::problem::{Problem, codes};
use crate::yaml::flow::quoted;

codes! {
    /// A pattern that Python does not compile, or that does not find the step
    ///
    /// `observability.progress.pattern` is a regular expression of Python's module `re`. A group in parentheses finds the step, and a
    /// second one the number of all steps. With names they are `(?P<step>…)` and `(?P<steps>…)`, or `epoch` and `epochs`. A
    /// character such as `(` or `[` that belongs to the text needs a backslash: `\[(\d+)/(\d+)\]`. Try a pattern with
    /// `python3 -c 'import re; print(re.search(r"step (\d+)", "step 7"))'`.
    Error PROGRESS_PATTERN = "progress-pattern";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(at) = field!(case.observability.progress).and_then(|at| at.pattern.as_ref()) else { return };
    let Some((what, hint)) = find_mistake(&at.0) else { return };
    let problem =
        Problem::new(&PROGRESS_PATTERN, at.span, format!("`observability.progress.pattern`: {what}")).hint(hint);
    let python = at.0.replace("(?<step", "(?P<step").replace("(?<epoch", "(?P<epoch");
    let has_fix = python != at.0 && find_mistake(&python).is_none();
    problems.push(if has_fix { problem.fix(at.span, quoted(&python)) } else { problem });
}

/// The first mistake in a pattern, and how to correct it.
fn find_mistake(pattern: &str) -> Option<(String, String)> {
    let literal = |what: char| format!("write `\\{what}` for the character itself");
    let mut rest = pattern.char_indices().peekable();
    let (mut open, mut names, mut can_repeat) = (Vec::new(), Vec::new(), false);
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' if rest.next().is_none() => {
                return Some((
                    "it ends with a backslash".to_owned(),
                    "write the character after the backslash".to_owned(),
                ));
            }
            '[' => {
                rest.next_if(|(_, c)| *c == '^');
                rest.next_if(|(_, c)| *c == ']');
                loop {
                    match rest.next() {
                        Some((_, '\\')) => drop(rest.next()),
                        Some((_, ']')) => break,
                        Some(_) => {}
                        None => return Some(("`[` has no `]`".to_owned(), format!("add `]`, or {}", literal('[')))),
                    }
                }
            }
            '(' => {
                let group = &pattern[at + 1..];
                open.push(at);
                can_repeat = false;
                if let Some(name) = group.strip_prefix("?P<") {
                    names.push(name.split('>').next().unwrap_or_default());
                } else if let Some(name) = group.strip_prefix("?<").filter(|rest| !rest.starts_with(['=', '!'])) {
                    let name = name.split('>').next().unwrap_or_default();
                    return Some((format!("Python has no group `(?<{name}>`"), format!("write `(?P<{name}>`")));
                }
                if group.starts_with('?') {
                    rest.next();
                }
                continue;
            }
            ')' if open.pop().is_none() => {
                return Some(("`)` closes nothing".to_owned(), format!("remove it, or {}", literal(')'))));
            }
            '*' | '+' | '?' if !can_repeat => {
                return Some((format!("there is nothing before `{c}` to repeat"), literal(c)));
            }
            _ => {}
        }
        can_repeat = c != '|' && c != '^';
    }
    if !open.is_empty() {
        return Some(("`(` has no `)`".to_owned(), format!("add `)`, or {}", literal('('))));
    }
    if let Some(name) = names.first().filter(|_| !names.contains(&"step") && !names.contains(&"epoch")) {
        return Some((
            format!("its groups have names, such as `{name}`, but none is `step` or `epoch`"),
            "name the group of the step, as in `(?P<step>\\d+)`, or remove the names".to_owned(),
        ));
    }
    let twice = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
    twice.map(|(_, name)| (format!("two groups have the name `{name}`"), "rename one of them".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::find_mistake;

    const GOOD: &[&str] = &[
        r"step (\d+)/(\d+)",
        r"step (?P<step>\d+)(?:/(?P<steps>\d+))?",
        r"\[(\d+)/(\d+)\]",
        r"[[]([^]]+)",
        r"(?i)Epoch[ :]*(?P<epoch>[0-9]+?)\b",
        r"(?<=step )(\d+)",
        r"(?<!re)step\s*(\d{1,9})",
        r"iter=(\d+)|it (\d+)",
        r"(a)(?=b)c*",
    ];
    const BAD: &[&str] = &[
        r"step (\d+",
        r"step \d+)(",
        r"[(\d+)",
        r"*(\d+)",
        r"(?P<step>\d+)(?P<step>\d+)",
        "(a)\\",
        r"(?<step>\d+)",
        r"(+\d)",
        r"(a)|*b",
    ];

    #[test]
    fn patterns_are_judged_as_by_python() {
        for pattern in GOOD {
            assert_eq!(find_mistake(pattern), None, "{pattern}");
        }
        for pattern in BAD {
            assert!(find_mistake(pattern).is_some(), "{pattern}");
        }
        assert!(find_mistake(r"(?P<loss>\d+) (?P<stp>\d+)").is_some());
        let program = "import re, sys\nfor pattern in sys.argv[1:]:\n try: re.compile(pattern); print('good')\n except re.error: print('bad')";
        let Ok(output) = Command::new("python3").args(["-c", program]).args(GOOD).args(BAD).output() else { return };
        let expected = "good\n".repeat(GOOD.len()) + &"bad\n".repeat(BAD.len());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}
