//! A batch script as its parts: directives as sbatch reads them, and commands as bash would take them one by one.

use std::ops::Range;

use super::text::{outside, without_comment};

/// One part of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it stands.
    pub place: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A line of `#SBATCH`: its words, or none where a quote does not end.
    Directive(Option<Vec<String>>),
    /// The same behind the first command, where sbatch does not look any more.
    Late,
    /// One command, its lines joined as they stand.
    Command,
    /// What bash takes as a whole: a loop, a condition, a function, a text in `<<`.
    Block,
}

/// Takes a script apart. Blank lines and comments are in no part.
pub fn parts(text: &str) -> Vec<Part> {
    let (mut parts, mut at, mut commands) = (Vec::new(), 0, false);
    while at < text.len() {
        let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end);
        let line = text[at..line_end].trim_end_matches('\r');
        if let Some(rest) = directive(line) {
            let kind = if commands { Kind::Late } else { Kind::Directive(words(rest)) };
            parts.push(Part { place: at..at + line.len(), kind });
            at = line_end + 1;
        } else if line.trim().is_empty() || line.trim_start().starts_with('#') {
            at = line_end + 1;
        } else {
            let start = at + (line.len() - line.trim_start().len());
            let (end, kind) = command(text, start);
            commands = true;
            match kind {
                Kind::Command => parts.extend(each(text, start..end)),
                kind => parts.push(Part { place: start..end, kind }),
            }
            at = end.max(start + 1) + 1;
        }
    }
    parts
}

/// What stands behind the word that sbatch looks for, which begins a line.
fn directive(line: &str) -> Option<&str> {
    line.strip_prefix("#SBATCH").filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// The words of a directive, in sbatch's own way of quoting: a backslash takes the next character, `#` ends the line.
pub fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, Option<char>) = (Vec::new(), None, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => word.get_or_insert_default().extend(chars.next()),
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('#', None) => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The commands of a line, `a; b`.
fn each(text: &str, line: Range<usize>) -> Vec<Part> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, line.start);
    let whole = &text[line.clone()];
    let ends = outside(whole).filter(|(at, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        *c == ';' && depth == 0 && *at < without_comment(whole).len()
    });
    let ends: Vec<usize> = ends.map(|(at, _)| line.start + at).collect();
    // `for a in b; do c; done` is one.
    let compound = whole.split(';').any(|command| self::depth(command) != 0);
    let ends = if compound { Vec::new() } else { ends };
    for end in ends.into_iter().chain([line.end]) {
        let command = &text[start..end];
        let from = start + command.len() - command.trim_start().len();
        if !command.trim().is_empty() {
            parts.push(Part { place: from..end, kind: Kind::Command });
        }
        start = end + 1;
    }
    parts
}

/// Where a command ends that starts here, and what it is.
fn command(text: &str, start: usize) -> (usize, Kind) {
    let mut end = line(text, start);
    let heredoc = marks(&text[start..end]);
    let mut open = depth(&text[start..end]);
    if heredoc.is_empty() && open <= 0 {
        return (end, Kind::Command);
    }
    for mark in heredoc {
        end = behind(text, end, &mark);
    }
    while open > 0 && end < text.len() {
        let next = line(text, end + 1);
        open += depth(&text[(end + 1).min(next)..next]);
        let marks = marks(&text[end + 1..next]);
        end = marks.iter().fold(next, |end, mark| behind(text, end, mark));
    }
    (end, Kind::Block)
}

/// The end of a line of commands: one that is neither escaped nor in quotes nor in a list, `A=(…)`.
fn line(text: &str, from: usize) -> usize {
    let (mut quote, mut escaped, mut before) = (None, false, ' ');
    let (mut comment, mut lists) = (false, 0);
    for (at, c) in text[from.min(text.len())..].char_indices() {
        match (c, quote) {
            ('\n', None) if lists > 0 && !escaped => comment = false,
            ('\n', _) if comment => return from + at,
            _ if comment => {}
            ('(', None) if !escaped && (lists > 0 || before == '=') => lists += 1,
            (')', None) if !escaped && lists > 0 => lists -= 1,
            _ if escaped => escaped = false,
            ('\\', None | Some('"')) => escaped = true,
            ('\n', None) => return from + at,
            ('#', None) if before.is_whitespace() => comment = true,
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    text.len()
}

/// The words that end the texts of `<<WORD` in a line.
fn marks(line: &str) -> Vec<String> {
    let mut marks = Vec::new();
    for (at, _) in line.match_indices("<<") {
        let rest = &line[at + 2..];
        if rest.starts_with('<') || line[..at].ends_with('<') {
            continue;
        }
        let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start();
        let quoted = rest.trim_start_matches(['\'', '"', '\\']);
        let mark: String = quoted.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if !mark.is_empty() && !mark.starts_with(|c: char| c.is_ascii_digit()) {
            marks.push(mark);
        }
    }
    marks
}

/// The end of the line that is `mark`, below a line that ends here.
fn behind(text: &str, end: usize, mark: &str) -> usize {
    let mut at = end + 1;
    while at < text.len() {
        let stop = text[at..].find('\n').map_or(text.len(), |end| at + end);
        if text[at..stop].trim() == mark {
            return stop;
        }
        at = stop + 1;
    }
    text.len()
}

/// How many of bash's compound commands a text opens and does not close, as far as its first words say.
fn depth(text: &str) -> i32 {
    let mut depth = 0;
    for command in text.split(['\n', ';', '&', '|']) {
        let mut words = command.split_whitespace();
        let first = words.next().unwrap_or_default();
        // `then if`, `do for`: the word behind opens too.
        let first = if ["then", "else", "do"].contains(&first) { words.next().unwrap_or_default() } else { first };
        if first.starts_with('#') {
            continue;
        }
        match first {
            "if" | "for" | "while" | "until" | "case" | "select" | "{" | "(" => depth += 1,
            "fi" | "done" | "esac" | "}" | ")" => depth -= 1,
            // A list that goes on.
            _ if command.trim_end().ends_with("=(") => depth += 1,
            _ if first == "function" || first.ends_with("()") || words.next() == Some("()") => {
                depth += i32::from(command.contains('{'));
            }
            _ => {}
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&str, Kind)> {
        parts(text).into_iter().map(|part| (&text[part.place], part.kind)).collect()
    }

    #[test]
    fn a_script_comes_apart() {
        let text = "#!/bin/bash\n#SBATCH --nodes=2 -p \"a b\" # two\n# why\n#SBATCH -J x\\#y\n\nmodule load A \\\n  B\nif true; then\n  echo a\nfi\ncat <<'E' >f\n#SBATCH no\nE\n#SBATCH --late\nsrun ./a 'b\nc' # end\n";
        let words = |words: &[&str]| Kind::Directive(Some(words.iter().map(|word| (*word).to_owned()).collect()));
        assert_eq!(
            kinds(text),
            [
                ("#SBATCH --nodes=2 -p \"a b\" # two", words(&["--nodes=2", "-p", "a b"])),
                ("#SBATCH -J x\\#y", words(&["-J", "x#y"])),
                ("module load A \\\n  B", Kind::Command),
                ("if true; then\n  echo a\nfi", Kind::Block),
                ("cat <<'E' >f\n#SBATCH no\nE", Kind::Block),
                ("#SBATCH --late", Kind::Late),
                ("srun ./a 'b\nc' # end", Kind::Command),
            ]
        );
    }

    #[test]
    fn what_does_not_end_ends_with_the_script() {
        assert_eq!(kinds("for a in b; do\n x\n"), [("for a in b; do\n x\n", Kind::Block)]);
        assert_eq!(kinds("cat <<E\nx"), [("cat <<E\nx", Kind::Block)]);
        assert_eq!(kinds("echo 'a\nb"), [("echo 'a\nb", Kind::Command)]);
        assert_eq!(kinds("#SBATCH -J 'a"), [("#SBATCH -J 'a", Kind::Directive(None))]);
        assert_eq!(kinds("f() { a; }\nx"), [("f() { a; }", Kind::Command), ("x", Kind::Command)]);
        assert_eq!(kinds(""), []);
    }
}
