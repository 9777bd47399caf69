//! Functions on shell text: the variables that it names and sets, and replacements in it.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value as Json;

use khorovod_compiler::shell::{
    self, Assignment, Change, Command, CommandKind, Context, Part, PartKind, Statement, TokenKind, is_name, reference,
};

/// The text for a value that is known only when the job runs.
pub const UNKNOWN: &str = "…";

/// Removes the comment at the end of a line. Text of several lines is returned unchanged.
pub fn without_comment(text: &str) -> &str {
    let tokens = shell::tokenize(text);
    let end = tokens.iter().find(|token| token.kind == TokenKind::Comment).map_or(text.len(), |token| token.span.start);
    if text[end..].contains('\n') { text } else { text[..end].trim_end() }
}

/// Returns the variables that a script uses, without those that the script, `env`, bash or the pod sets.
pub fn unset(script: &str, env: Option<&Json>) -> Vec<String> {
    let mut names = names(&without_quoted(script));
    names.sort();
    names.dedup();
    let set = set_by(script);
    let in_env = |name: &str| env.is_some_and(|env| env.get(name).is_some());
    names.retain(|name| !set.contains(name) && !anywhere(name) && !in_env(name));
    names
}

/// Removes comments and single-quoted parts, because a dollar has no meaning in them.
pub fn without_quoted(text: &str) -> String {
    let mut dropped = Vec::new();
    quoted(text, 0..text.len(), &mut dropped);
    without(text, dropped)
}

/// Removes ranges from a text.
fn without(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let (mut kept, mut at) = (String::with_capacity(text.len()), 0);
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        if range.start >= at {
            kept.push_str(&text[at..range.start]);
        }
        at = at.max(range.end);
    }
    kept + &text[at..]
}

/// Finds the comments and single-quoted parts in a range of a text, also within substitutions.
fn quoted(text: &str, range: Range<usize>, dropped: &mut Vec<Range<usize>>) {
    let base = range.start;
    for token in shell::parse(&text[range.clone()]).tokens {
        match &token.kind {
            TokenKind::Comment => dropped.push(base + token.span.start..base + token.span.end),
            TokenKind::Word(word) => quoted_parts(text, base, &word.parts, dropped),
            // Text that the parser does not understand may still contain comments and quotes: parse it again by itself.
            TokenKind::Unknown if token.span != (0..range.len()) => {
                quoted(text, base + token.span.start..base + token.span.end, dropped);
            }
            _ => {}
        }
    }
}

fn quoted_parts(text: &str, base: usize, parts: &[Part], dropped: &mut Vec<Range<usize>>) {
    for part in parts {
        let span = base + part.span.start..base + part.span.end;
        match &part.kind {
            PartKind::Single | PartKind::Ansi => dropped.push(span),
            PartKind::Double(inner) | PartKind::Braced(inner) => quoted_parts(text, base, inner, dropped),
            PartKind::Command(_) | PartKind::Process(_) => quoted(text, span.start + 2..span.end - 1, dropped),
            PartKind::List(words) => words.iter().for_each(|word| quoted_parts(text, base, &word.parts, dropped)),
            _ => {}
        }
    }
}

/// Removes functions, single-quoted parts and quoted here-documents, because `$1` in them is not an argument of the
/// script.
pub fn of_script(text: &str) -> String {
    let mut dropped = Vec::new();
    quoted(text, 0..text.len(), &mut dropped);
    let script = shell::parse(text);
    functions(&script.statements, &mut dropped);
    let bodies: Vec<&Range<usize>> =
        script.tokens.iter().filter(|token| token.kind == TokenKind::HereDocument).map(|token| &token.span).collect();
    for command in shell::simple_commands(&script.statements) {
        for redirection in &command.redirections {
            let operator = text[redirection.operator.clone()].trim_start_matches(|c: char| c.is_ascii_digit());
            let is_quoted = text[redirection.target.span.clone()].contains(['\'', '"', '\\']);
            if ["<<", "<<-"].contains(&operator) && is_quoted {
                let body = bodies.iter().find(|body| body.start >= redirection.span.end);
                dropped.extend(body.map(|body| (*body).clone()));
            }
        }
    }
    without(text, dropped)
}

fn functions(statements: &[Statement], found: &mut Vec<Range<usize>>) {
    for command in statements.iter().flat_map(|statement| &statement.commands) {
        match &command.kind {
            CommandKind::Function { .. } => found.push(command.span.clone()),
            CommandKind::Compound { body, .. } => functions(body, found),
            _ => {}
        }
    }
}

/// Returns the words of a text that begins with a simple command, without the assignments before them and without quotes.
/// There are no words if the text begins with another command, such as `if`.
pub fn first_words(text: &str) -> Vec<String> {
    let script = shell::parse(text);
    match script.statements.first().and_then(|statement| statement.commands.first()).map(|command| &command.kind) {
        Some(CommandKind::Simple { words, .. }) => {
            words.iter().map(|word| shell::unquoted(text, &word.parts)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the program of a text that begins with a simple command. Empty if there is none.
pub fn first_word(text: &str) -> String {
    first_words(text).into_iter().next().unwrap_or_default()
}

/// Whether bash or the pod sets a variable.
pub fn anywhere(name: &str) -> bool {
    ["HOME", "HOSTNAME", "PATH", "PWD", "OLDPWD", "RANDOM", "SECONDS", "BASH", "IFS"].contains(&name)
}

/// Whether a command uses a variable only with a default: `${NAME:-x}`.
pub fn has_default(text: &str, name: &str) -> bool {
    let uses: Vec<(&str, &str)> = uses(text, name).map(|place| (&text[..place.start], &text[place.end..])).collect();
    let defaults = |rest: &str| rest.trim_start_matches(':').starts_with(['-', '=', '+']);
    !uses.is_empty() && uses.iter().all(|(before, rest)| before.ends_with('{') && defaults(rest))
}

/// Returns the first place where a text uses a variable: `$NAME`, `${NAME…}`, or its name in arithmetic.
pub fn first_use(text: &str, name: &str) -> Option<Range<usize>> {
    let is_expanded = |place: &Range<usize>| text[..place.start].trim_end_matches(['{', '#', '!']).ends_with('$');
    uses(text, name).find(is_expanded).or_else(|| uses(text, name).next())
}

/// Returns the places of a name that are not parts of longer names.
fn uses(text: &str, name: &str) -> impl Iterator<Item = Range<usize>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let places = text.match_indices(name).map(|(at, name)| at..at + name.len());
    places.filter(move |place| !text[..place.start].ends_with(is_part) && !text[place.end..].starts_with(is_part))
}

/// Returns the names of all variables in a text, whatever quotes are around them: the text may contain a script for
/// another shell.
pub fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices('$') {
        let behind = &text[at + 1..];
        let rest = behind.trim_start_matches(['{', '(', '[', '#', '!', ' ']);
        let name = &rest[..shell::name_length(rest)];
        // `$(…)` runs a program, `$((…))` calculates.
        let runs = behind.starts_with('(') && !behind.starts_with("((");
        if is_name(name) && !runs {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns the names of variables in a text, including those in arithmetic, which have no dollar.
pub fn named(text: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = names(text).into_iter().collect();
    for (open, close) in [("((", "))"), ("$[", "]")] {
        for (at, _) in text.match_indices(open) {
            let sum = &text[at + open.len()..];
            let sum = &sum[..sum.find(close).unwrap_or(sum.len())];
            let words = sum.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            found.extend(words.filter(|word| is_name(word)).map(str::to_owned));
        }
    }
    found
}

/// Whether a text uses positional parameters: `$1`, `$@`, `$#`.
pub fn names_positional(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let behind = text[at + 1..].trim_start_matches('{');
        behind.starts_with(|c: char| c.is_ascii_digit() && c != '0' || "@*".contains(c)) || text[at..].starts_with("$#")
    })
}

/// Returns the variables that a text sets.
pub fn set_by(text: &str) -> BTreeSet<String> {
    shell::effects(text, &shell::parse(text).statements).sets
}

/// Returns the assignments of the first command of a line, and whether this command is the only one of the line. There
/// are no assignments if the command also runs a program.
fn leading_assignments(line: &str) -> (Vec<Assignment>, bool) {
    let script = shell::parse(line);
    let Some(command) = script.statements.first().and_then(|statement| statement.commands.first()) else {
        return (Vec::new(), false);
    };
    let is_only_command =
        script.statements.len() == 1 && script.statements[0].commands.len() == 1 && !script.statements[0].is_background;
    (assignments(line, command), is_only_command)
}

/// Returns the assignments of a command that only has assignments, with `export` or without.
pub fn assignments(text: &str, command: &Command) -> Vec<Assignment> {
    let CommandKind::Simple { assignments, words } = &command.kind else { return Vec::new() };
    match words.split_first() {
        None => assignments.clone(),
        Some((first, rest)) if first.literal(text) == Some("export") => {
            rest.iter().filter_map(|word| shell::assignment(text, word)).collect()
        }
        Some(_) => Vec::new(),
    }
}

/// Removes `readonly` before an assignment.
pub fn unrestricted(line: &str) -> &str {
    line.strip_prefix("readonly ").filter(|rest| assigns_first(rest)).unwrap_or(line)
}

/// Whether a line only has assignments.
pub fn is_assignment(line: &str) -> bool {
    let (given, is_only_command) = leading_assignments(line);
    is_only_command && !given.is_empty()
}

/// Whether a line begins with an assignment, whose value a shell does not split into words.
pub fn assigns_first(line: &str) -> bool {
    !leading_assignments(line).0.is_empty()
}

/// Returns the variable of the assignment that a line begins with.
pub fn first_assigned(line: &str) -> Option<String> {
    leading_assignments(line).0.into_iter().next().map(|assignment| assignment.name)
}

/// Returns the variables of a line that only has assignments.
pub fn assigned(line: &str) -> Vec<String> {
    let (given, is_only_command) = leading_assignments(line);
    if is_only_command { given.into_iter().map(|assignment| assignment.name).collect() } else { Vec::new() }
}

/// Whether a launcher sets a variable for its ranks.
pub fn by_launcher(name: &str) -> bool {
    ["OMPI_", "PMI_", "PMIX_", "HOROVOD_", "MPI_", "PET_", "TORCHELASTIC_"].iter().any(|start| name.starts_with(start))
}

/// Replaces variables by their values, if the values need no quotes. If `words` is true, a value may contain spaces.
pub fn fill(text: &str, variables: &[(String, String)], words: bool) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,^".contains(c) || words && c == ' ';
    let value_of = |name: &str| {
        let value = variables.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        value.filter(|value| !value.is_empty() && value.chars().all(bare)).cloned()
    };
    shell::rewrite(text, |place| match (reference(place.written), shell::with_default(place.written)) {
        (Some((name, false)), _) => value_of(name).map_or(Change::Keep, Change::To),
        (_, Some(name)) => value_of(name).map_or(Change::Within, Change::To),
        _ => Change::Within,
    })
}

/// Shell text in which each command substitution is replaced by a variable, so that the text can be split into words.
pub struct Hidden {
    pub text: String,
    commands: Vec<String>,
}

impl Hidden {
    pub fn of(text: &str) -> Self {
        let mut commands = Vec::new();
        let text = shell::rewrite(text, |place| match place.kind {
            PartKind::Command(_) | PartKind::Backquoted => {
                commands.push(place.written.to_owned());
                Change::To(Self::name(commands.len() - 1))
            }
            PartKind::Arithmetic(_) if place.written.starts_with("$((") => {
                commands.push(place.written.to_owned());
                Change::To(Self::name(commands.len() - 1))
            }
            _ => Change::Within,
        });
        Self { text, commands }
    }

    fn name(number: usize) -> String {
        format!("${{__{number}}}")
    }

    /// Returns a part of the text with the commands restored.
    pub fn shown(&self, text: &str) -> String {
        let commands = self.commands.iter().enumerate();
        commands.fold(text.to_owned(), |text, (number, command)| text.replace(&Self::name(number), command))
    }

    /// Returns a part of the text with `…` for the commands, for the report.
    pub fn short(&self, text: &str) -> String {
        (0..self.commands.len()).fold(text.to_owned(), |text, number| text.replace(&Self::name(number), UNKNOWN))
    }

    /// Whether there is at least one command, and fewer than 100.
    pub fn fits(&self) -> bool {
        (1..100).contains(&self.commands.len())
    }
}

/// Returns a line with `…` for each expansion.
pub fn marked(text: &str) -> String {
    shell::rewrite(text, |place| match place.kind {
        PartKind::Braced(_) | PartKind::Command(_) | PartKind::Arithmetic(_) => Change::To(UNKNOWN.to_owned()),
        PartKind::Variable if reference(place.written).is_some() => Change::To(UNKNOWN.to_owned()),
        _ if place.context == Context::Sum => Change::Keep,
        _ => Change::Within,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_of_variables() {
        let text = "# A\nB=$AB x=${A} $((A + 1)) $A";
        assert_eq!(first_use(text, "A").map(|place| &text[place.start - 2..]), Some("${A} $((A + 1)) $A"));
        assert_eq!(first_use("echo $((N+1))", "N"), Some(8..9));
        assert_eq!(first_use("echo $NN", "N"), None);
        assert!(
            !has_default("x $A-$B", "A")
                && has_default("x ${A:-1} ${A-2}", "A")
                && !has_default("x ${A:-1} $A", "A")
                && !has_default("x", "A")
        );
    }

    #[test]
    fn arguments_of_the_script_are_distinguished_from_others() {
        let script = "A=\"$(ip | awk '{print $1}')\"\nB=$(ip | awk '{print $2}')\nf() {\n  echo $3\n}\nfunction g {\n  echo $4\n}\n\
                      h() { echo $5; }\nf ${6}\n";
        assert_eq!(of_script(script), "A=\"$(ip | awk )\"\nB=$(ip | awk )\n\n\n\nf ${6}\n");
        assert_eq!(of_script("cat >a <<'E'\nx $@\nE\ny $1 <<E\n$2\nE\n").matches('$').count(), 2);
        assert_eq!(of_script("A=1 # it's $1\nx $2 ${#A} 'a # b' # don't\n"), "A=1 \nx $2 ${#A}  \n");
        assert!(names_positional("x ${1:-a}") && names_positional("\"$@\"") && !names_positional("$0 ${#A} $A1"));
    }
}
