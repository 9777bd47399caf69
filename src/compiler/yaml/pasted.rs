//! Recognises texts that were copied with something around their lines: a diff, line numbers, a terminal. See [`find_sign`].

use std::ops::Range;

/// A sign that a text was copied from something else.
pub struct Sign {
    /// The byte range of the sign in the text.
    pub at: Range<usize>,
    /// The text that this seems to be, with its article.
    pub what: &'static str,
    /// How to get a spec from it.
    pub hint: &'static str,
}

type Test = fn(&[&str]) -> Option<usize>;

/// For each kind of text: the kind, its hint, and a test. The test returns the index of the first line that is a sign
/// of this kind. A test looks only at the starts of lines and at whole texts, because a spec may contain anything in
/// its strings.
const KINDS: &[(&str, &str, Test)] = &[
    ("a diff", "apply it with `git apply` or `patch`, or remove the `+`, `-` and spaces before each line", diff),
    ("a text with line numbers", "remove the number before each line", numbers),
    ("a text copied from a terminal", "remove the prompts and the commands", prompt),
    ("a quotation from a mail", "remove the `>` before each line", |lines| all(lines, |line| line.starts_with('>'))),
    (
        "a text with comments as in JavaScript",
        "a comment begins with `#`: replace `//`, and remove `/*` and `*/`",
        slashes,
    ),
    ("a web page", "download the file itself, not the page that shows it", |lines| {
        first(lines, |line| line.starts_with('<'))
    }),
    ("a table of kubectl", "print the objects with `kubectl get -o yaml`", table),
    ("a text with `=` between keys and values", "write `key: value`, and indent the keys of each map", assignments),
];

/// The first sign in a text that it was copied from something else.
pub fn find_sign(text: &str) -> Option<Sign> {
    let lines: Vec<&str> = text.lines().collect();
    KINDS.iter().find_map(|(what, hint, test)| {
        let line = lines[test(&lines)?];
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        Some(Sign { at: start..start + line.trim_end().len(), what, hint })
    })
}

/// The lines with text, and their indexes.
fn content<'t>(lines: &[&'t str]) -> impl Iterator<Item = (usize, &'t str)> {
    lines.iter().copied().enumerate().filter(|(_, line)| !line.trim().is_empty())
}

/// The index of the first line with text, if it has a property.
fn first(lines: &[&str], has: impl Fn(&str) -> bool) -> Option<usize> {
    content(lines).next().filter(|(_, line)| has(line)).map(|(index, _)| index)
}

/// The index of the first line with text, if there are two and all of them have a property.
fn all(lines: &[&str], has: impl Fn(&str) -> bool) -> Option<usize> {
    let count = content(lines).count();
    (count > 1 && content(lines).all(|(_, line)| has(line))).then(|| content(lines).next().map(|(index, _)| index))?
}

/// Recognises a diff: it has an added line, a line such as `@@ -1,3 +1,4 @@`, or only removed lines.
fn diff(lines: &[&str]) -> Option<usize> {
    let is_sign = |line: &str| {
        let added = line.strip_prefix('+').map(str::trim_start);
        let is_key = |rest: &str| rest.split_once(':').is_some_and(|(key, _)| is_word(key.trim_start_matches("- ")));
        line.starts_with("diff --git ") || line.starts_with("@@ -") || added.is_some_and(is_key)
    };
    let removed =
        |line: &str| line.strip_prefix('-').is_some_and(|rest| !rest.starts_with([' ', '-']) && rest.contains(':'));
    content(lines)
        .find(|(_, line)| is_sign(line))
        .map(|(index, _)| index)
        .or_else(|| first(lines, removed).filter(|_| all(lines, |line| line.starts_with('-')).is_some()))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Consecutive numbers at the starts of all lines, before a separator.
fn numbers(lines: &[&str]) -> Option<usize> {
    let number = |line: &str| {
        let line = line.trim_start();
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let is_end = |c: char| c.is_whitespace() || "|:.)→│".contains(c);
        let is_separated = line[digits..].chars().next().is_none_or(is_end);
        line[..digits].parse::<u32>().ok().filter(|_| is_separated)
    };
    let found: Option<Vec<u32>> = content(lines).map(|(_, line)| number(line)).collect();
    let is_rising = |found: &Vec<u32>| found.len() > 2 && found.windows(2).all(|pair| pair[0] < pair[1]);
    found.filter(is_rising).and_then(|_| first(lines, |_| true))
}

/// A prompt of a shell at the first or the last line.
fn prompt(lines: &[&str]) -> Option<usize> {
    let is_prompt = |line: &str| {
        let line = line.trim_end();
        let mut marks = line.match_indices(['$', '%', '#']).map(|(at, _)| at);
        let shell = marks.find(|at| line[at + 1..].starts_with(' ') || at + 1 == line.len());
        let is_name = |before: &str| {
            // `user@host:~/jobs`, `[user@host jobs]`, `host`, or nothing before `$`.
            before.starts_with('[') && before.ends_with(']') && before.contains('@')
                || before.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@:~/._-".contains(&byte))
        };
        line.starts_with(">>> ")
            || line.starts_with("PS ") && line.contains('>')
            || shell.is_some_and(|at| is_name(&line[..at]) && (at > 0 || line.starts_with('$')))
    };
    let last = content(lines).last().filter(|(_, line)| is_prompt(line)).map(|(index, _)| index);
    first(lines, is_prompt).or(last)
}

/// Recognises a comment of JavaScript, either before all other text, or anywhere in a JSON text.
fn slashes(lines: &[&str]) -> Option<usize> {
    let is_json = first(lines, |line| line.trim_start().starts_with('{')).is_some();
    // A string of JSON ends in its line, so the parts with even numbers are outside strings.
    let has_comment = |line: &str| line.split('"').step_by(2).any(|part| part.contains("//") || part.contains("/*"));
    let commented = || content(lines).find(|(_, line)| is_json && has_comment(line)).map(|(index, _)| index);
    first(lines, |line| slashes_in(line).is_some()).or_else(commented)
}

/// The head of a table of `kubectl get`.
fn table(lines: &[&str]) -> Option<usize> {
    let is_head = |word: &str| word.bytes().all(|byte| byte.is_ascii_uppercase() || b"-()".contains(&byte));
    first(lines, |line| {
        let words = || line.split_whitespace();
        words().nth(1).is_some() && words().any(|word| word == "NAME") && words().all(is_head)
    })
}

/// Only lines such as `apiVersion=khorovod.dev/v1alpha1`.
fn assignments(lines: &[&str]) -> Option<usize> {
    all(lines, |line| line.split_once('=').is_some_and(|(key, _)| is_word(key.trim())))
}

/// The byte range of a comment as in JavaScript that begins a line.
pub fn slashes_in(line: &str) -> Option<Range<usize>> {
    let start = line.len() - line.trim_start().len();
    ["//", "/*"]
        .iter()
        .any(|mark| line[start..].starts_with(mark))
        .then(|| start..start + line[start..].trim_end().len())
}

#[cfg(test)]
mod tests {
    use super::find_sign;

    const SPEC: &str =
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata:\n  name: mnist\nspec:\n  image: a:1\n";

    fn each(line: impl Fn(usize, &str) -> String) -> String {
        SPEC.lines().enumerate().map(|(index, text)| line(index + 1, text) + "\n").collect()
    }

    fn kind_of(text: &str) -> &'static str {
        find_sign(text).map_or("", |sign| sign.what)
    }

    #[test]
    fn copied_texts_are_recognised() {
        for (text, expected) in [
            (each(|_, line| format!("+{line}")), "a diff"),
            (each(|_, line| format!("-{line}")), "a diff"),
            (format!("@@ -1,3 +1,3 @@\n{}-    gpus: 4\n+    gpus: 8\n", each(|_, line| format!(" {line}"))), "a diff"),
            (each(|number, line| format!("{number:3} | {line}")), "a text with line numbers"),
            (each(|number, line| format!("{number:6}\t{line}")), "a text with line numbers"),
            (each(|number, line| format!("{number}: {line}")), "a text with line numbers"),
            (format!("$ cat job.yaml\n{SPEC}"), "a text copied from a terminal"),
            (format!("{SPEC}user@host:~$ \n"), "a text copied from a terminal"),
            (format!("[root@node ~]# cat job.yaml\n{SPEC}"), "a text copied from a terminal"),
            (format!("host% cat job.yaml\n{SPEC}"), "a text copied from a terminal"),
            (each(|_, line| format!("> {line}")), "a quotation from a mail"),
            (format!("// my job\n{SPEC}"), "a text with comments as in JavaScript"),
            ("{\n  // my job\n  \"kind\": \"TrainingJob\"\n}\n".to_owned(), "a text with comments as in JavaScript"),
            (
                "{\"kind\": \"TrainingJob\", // mine\n\"spec\": {}}\n".to_owned(),
                "a text with comments as in JavaScript",
            ),
            ("<!DOCTYPE html>\n<html></html>\n".to_owned(), "a web page"),
            ("NAME    READY   STATUS\nmnist   1/1   Running\n".to_owned(), "a table of kubectl"),
            ("kind=TrainingJob\nname=mnist\n".to_owned(), "a text with `=` between keys and values"),
        ] {
            assert_eq!(kind_of(&text), expected, "{text}");
        }
    }

    #[test]
    fn yaml_is_not() {
        let commented = format!("# $ khorovod render job.yaml\n{SPEC}");
        let code = format!("{SPEC}  code:\n    files:\n      a.cc: |\n        // a\n        + b: c\n        $ ls\n");
        let list = "- apiVersion: v1\n- kind: Pod\n";
        let numbers = "1: a\n";
        for text in
            [SPEC, "", &commented, &code, list, numbers, "---\na: 1\n---\nb: 2\n", "{\"a\": \"// b\"}\n", "hello\n"]
        {
            assert_eq!(kind_of(text), "", "{text}");
        }
    }
}
