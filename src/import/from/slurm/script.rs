//! Splits a batch script into parts: directives as sbatch reads them, and statements as bash runs them.

use std::ops::Range;

use khorovod_compiler::shell::{self, CommandKind, Effects, Statement, TokenKind};

/// One part of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its place, without the comment after it.
    pub place: Range<usize>,
    /// Its place with the comment after it in the same line.
    pub line: Range<usize>,
    pub kind: Kind,
    /// The changes that it makes in the shell.
    pub effects: Effects,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A line of `#SBATCH` with its words. None if a quote is not closed.
    Directive(Option<Vec<String>>),
    /// A line of `#SBATCH` after the first command, which sbatch ignores.
    Late,
    /// One simple command, or several that are joined by `|`, `&&` or `||`.
    Command,
    /// A loop, a condition, a function, a group, or a command with a here-document.
    Block,
    /// Text that the parser does not understand.
    Unknown,
}

impl Part {
    /// Whether bash runs it.
    pub fn runs(&self) -> bool {
        matches!(self.kind, Kind::Command | Kind::Block | Kind::Unknown)
    }
}

/// Splits a script. Blank lines and comments are not part of the result.
pub fn parts(text: &str) -> Vec<Part> {
    let script = shell::parse(text);
    let mut parts: Vec<Part> = Vec::new();
    for statement in &script.statements {
        let place = statement.span.clone();
        let document = has_document(text, statement);
        let effects = shell::effects(text, std::slice::from_ref(statement));
        // The body of a here-document is below its line. All commands of this line therefore become one part.
        if let Some(last) = parts.last_mut()
            && !text[last.place.end..place.start].contains('\n')
            && (document || has_open_document(text, last))
        {
            last.place.end = last.place.end.max(place.end);
            last.kind = Kind::Block;
            last.effects = last.effects.clone().with(effects);
            continue;
        }
        let unknown = statement.commands.iter().any(|command| command.kind == CommandKind::Unknown);
        let simple = statement.commands.iter().all(|command| {
            matches!(
                command.kind,
                CommandKind::Simple { .. } | CommandKind::Test { .. } | CommandKind::Arithmetic { .. }
            )
        });
        let kind = match (unknown, simple && !document) {
            (true, _) => Kind::Unknown,
            (false, true) => Kind::Command,
            (false, false) => Kind::Block,
        };
        parts.push(Part { line: place.clone(), place, kind, effects });
    }
    let first = parts.first().map_or(text.len(), |part| part.place.start);
    let mut directives = Vec::new();
    for token in script.tokens.iter().filter(|token| token.kind == TokenKind::Comment) {
        let comment = &text[token.span.clone()];
        let place = token.span.start..token.span.start + comment.trim_end_matches('\r').len();
        let before = parts.partition_point(|part| part.place.start <= place.start).checked_sub(1);
        if let Some(part) = before.map(|at| &mut parts[at]) {
            if place.start < part.place.end {
                continue;
            }
            if text[part.place.end..place.start].chars().all(|c| c == ' ' || c == '\t') {
                part.line.end = place.end;
                continue;
            }
        }
        let begins_line = place.start == 0 || text[..place.start].ends_with('\n');
        if let Some(rest) = directive(comment).filter(|_| begins_line) {
            let kind = if place.start > first { Kind::Late } else { Kind::Directive(words(rest)) };
            directives.push(Part { line: place.clone(), place, kind, effects: Effects::default() });
        }
    }
    for part in &mut parts {
        part.line.end = part.line.end.max(part.place.end);
    }
    parts.extend(directives);
    parts.sort_by_key(|part| part.place.start);
    parts
}

/// Whether a statement has a here-document.
fn has_document(text: &str, statement: &Statement) -> bool {
    statement.commands.iter().any(|command| {
        command.redirections.iter().any(|redirection| {
            let operator = text[redirection.operator.clone()].trim_start_matches(|c: char| c.is_ascii_digit());
            operator == "<<" || operator == "<<-"
        })
    })
}

/// Whether a part has a here-document, and other commands follow in its line.
fn has_open_document(text: &str, part: &Part) -> bool {
    let text = &text[part.place.clone()];
    !text.contains('\n') && shell::parse(text).statements.iter().any(|statement| has_document(text, statement))
}

/// Whether commands of a script are nested too deeply.
pub fn is_too_deep(text: &str) -> bool {
    shell::parse(text).failure == Some(shell::Failure::TooDeep)
}

/// Returns the text after `#SBATCH` at the beginning of a line.
fn directive(line: &str) -> Option<&str> {
    line.strip_prefix("#SBATCH").filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Splits a directive into words as sbatch does: a backslash quotes the next character, and `#` begins a comment. None
/// if a quote is not closed.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&str, Kind)> {
        parts(text).into_iter().map(|part| (&text[part.place], part.kind)).collect()
    }

    #[test]
    fn a_script_is_split_into_parts() {
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
                ("srun ./a 'b\nc'", Kind::Command),
            ]
        );
        assert_eq!(&text[parts(text).pop().unwrap().line], "srun ./a 'b\nc' # end");
    }

    #[test]
    fn unterminated_parts_are_not_understood() {
        assert_eq!(kinds("for a in b; do\n x\n"), [("for a in b; do\n x\n", Kind::Unknown)]);
        assert_eq!(kinds("echo 'a\nb"), [("echo 'a\nb", Kind::Unknown)]);
        assert_eq!(kinds("#SBATCH -J 'a"), [("#SBATCH -J 'a", Kind::Directive(None))]);
    }

    #[test]
    fn commands_of_a_line_are_parts_of_their_own() {
        assert_eq!(kinds("cat <<E\nx"), [("cat <<E\nx", Kind::Block)]);
        assert_eq!(kinds("cat <<E; a; b\nx\nE\nc"), [("cat <<E; a; b\nx\nE", Kind::Block), ("c", Kind::Command)]);
        assert_eq!(kinds("f() { a; }\nx"), [("f() { a; }", Kind::Block), ("x", Kind::Command)]);
        assert_eq!(kinds("f(){\n a\n}; x # y; z"), [("f(){\n a\n}", Kind::Block), ("x", Kind::Command)]);
        assert_eq!(kinds("a; b & c && d"), ["a", "b &", "c && d"].map(|text| (text, Kind::Command)));
        assert_eq!(kinds(""), []);
    }
}
