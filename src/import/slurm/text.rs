//! Lines of shell as texts: what is quoted, commented, filled in, hidden.

use std::collections::HashMap;
use std::ops::Range;

use crate::words::{Word, is_name, words};
use khorovod_compiler::job::looks_secret;

/// What stands in for a value that only the job can know.
pub const UNKNOWN: &str = "…";

/// Characters that stand in no quotes and behind no backslash.
pub fn outside(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut escaped) = (None, false);
    text.char_indices().filter(move |(_, c)| {
        match (*c, quote) {
            _ if escaped => {
                escaped = false;
                return false;
            }
            ('\\', None | Some('"')) => escaped = true,
            ('\'' | '"', None) => quote = Some(*c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        quote.is_none() && !escaped
    })
}

/// A line without the comment at its end.
pub fn without_comment(text: &str) -> &str {
    let starts = |at: usize| text[..at].ends_with(char::is_whitespace) || at == 0;
    let end = outside(text).find(|(at, c)| *c == '#' && starts(*at)).map_or(text.len(), |(at, _)| at);
    // Where lines go on, it is within the text.
    if text[end..].contains('\n') { text } else { text[..end].trim_end() }
}

/// A text without remarks and without what stands in single quotes, where a dollar is a dollar.
pub fn without_quoted(text: &str) -> String {
    let (mut kept, mut double, mut single, mut escaped) = (String::new(), false, false, false);
    let (mut remark, mut blank) = (false, true);
    for c in text.chars() {
        // `# it's small` begins no quote.
        remark = c != '\n' && (remark || c == '#' && blank && !double && !single);
        if remark {
            continue;
        }
        match c {
            '\'' if !double && !escaped => single = !single,
            '"' if !single && !escaped => double = !double,
            _ => {}
        }
        escaped = c == '\\' && !escaped && !single;
        blank = c.is_whitespace();
        kept.extend((!single).then_some(c));
    }
    kept
}

/// A text without what has words of its own behind `$1`: functions, programs of awk, what single quotes hold.
pub fn of_script(text: &str) -> String {
    let (mut kept, mut inside) = (String::new(), None);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim();
        let named = words.split_once("()").is_some_and(|(name, _)| is_name(name.trim()));
        match inside {
            Some(at) if at == indent && words.starts_with('}') => inside = None,
            Some(_) => {}
            None if named || words.starts_with("function ") => inside = (!words.ends_with('}')).then_some(indent),
            None => kept.extend([line, "\n"]),
        }
    }
    // In double quotes a single one is none: `"$(hostname -I | awk '{print $1}')"`.
    while let Some(start) = kept.find("'{") {
        let Some(length) = kept[start..].find("}'") else { break };
        kept.replace_range(start..start + length + 2, "");
    }
    without_quoted(&kept)
}

/// Whether bash and pods have a variable anyway.
pub fn anywhere(name: &str) -> bool {
    ["HOME", "HOSTNAME", "PATH", "PWD", "OLDPWD", "RANDOM", "SECONDS", "BASH", "IFS"].contains(&name)
}

/// The names of variables in a text.
pub fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices('$') {
        let behind = &text[at + 1..];
        let rest = behind.trim_start_matches(['{', '(', '#', '!', ' ']);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        // What `$(…)` runs is a program; `$((…))` calculates.
        let runs = behind.starts_with('(') && !behind.starts_with("((");
        if is_name(name) && !runs {
            names.push(name.to_owned());
        }
    }
    names
}

/// The names that a text may mean by variables; in sums they stand without a dollar.
pub fn named(text: &str) -> impl Iterator<Item = String> {
    let sums = text.contains("((").then(|| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    names(text).into_iter().chain(sums.into_iter().flatten().map(str::to_owned))
}

/// A line that gives a variable its value, without the word that keeps it.
pub fn unrestricted(line: &str) -> &str {
    line.strip_prefix("readonly ").filter(|rest| assigns_first(rest)).unwrap_or(line)
}

/// Whether a text gives a variable its value.
pub fn sets(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = &text[at + name.len()..];
        let starts = before.is_none_or(|c| !c.is_ascii_alphanumeric() && !"_$-{".contains(c));
        let given = ["=", "+=", ":=", ":-"].iter().any(|sign| behind.starts_with(sign)) && !behind.starts_with("==");
        let read = ["read ", "for ", "declare ", "mapfile ", "local "].iter().any(|word| text[..at].contains(word));
        let ends = !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        starts && ends && (given || read)
    })
}

/// A line without the `export` before it.
fn unexported(line: &str) -> &str {
    line.trim_start().strip_prefix("export ").unwrap_or(line).trim_start()
}

/// Whether a line does nothing but give variables values.
pub fn is_assignment(line: &str) -> bool {
    assigns_first(line) && !outside(unexported(line)).any(|(_, c)| matches!(c, ';' | '&'))
}

/// Whether a line begins with a variable's value, where a shell makes no words of it.
pub fn assigns_first(line: &str) -> bool {
    unexported(line).split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// The variable that a line begins with, where it gives that a value.
pub fn first_assigned(line: &str) -> Option<&str> {
    let name = unexported(line).split_once('=')?.0;
    Some(name.strip_suffix('+').unwrap_or(name)).filter(|name| is_name(name))
}

/// The variables that a line gives values, where it does nothing else.
pub fn assigned(line: &str) -> Vec<String> {
    let words = if is_assignment(line) { words(&marked(unexported(line))) } else { None };
    let name = |word: &Word| word.text.split_once('=').map_or_else(String::new, |(name, _)| name.to_owned());
    words.unwrap_or_default().iter().map(name).collect()
}

/// Whether what starts a rank sets a variable for it.
pub fn by_launcher(name: &str) -> bool {
    ["OMPI_", "PMI_", "PMIX_", "HOROVOD_", "MPI_", "PET_", "TORCHELASTIC_"].iter().any(|start| name.starts_with(start))
}

/// Whether a variable in a text is given what looks like a secret.
pub fn hides(text: &str) -> bool {
    let words = text.split(|c: char| c.is_whitespace() || c == ';');
    let pairs = words.filter_map(|word| word.split_once('=')).filter(|(name, _)| is_name(name));
    let mut pairs = pairs.map(|(name, value)| (name, value.trim_matches(['"', '\''])));
    let key = |rest: &str| rest.len() == 40 && rest.chars().all(|c| c.is_ascii_hexdigit());
    let login = text.split_once("wandb login").is_some_and(|(_, rest)| rest.split_whitespace().any(key));
    login || pairs.any(|(name, value)| !value.starts_with('$') && looks_secret(name, value))
}

/// A text with the values of variables in their places, where those need no quotes; `words` where one may be several.
pub fn fill(text: &str, variables: &[(String, String)], words: bool) -> String {
    let mut filled = String::with_capacity(text.len());
    let (mut rest, mut single) = (text, false);
    while let Some(c) = rest.chars().next() {
        match c {
            '\'' => single = !single,
            '\\' if !single => {
                let end = rest.chars().nth(1).map_or(1, |next| 1 + next.len_utf8());
                filled.push_str(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
            '$' if !single => {
                if let Some((value, length)) = variable(rest, variables, words) {
                    filled.push_str(value);
                    rest = &rest[length..];
                    continue;
                }
            }
            _ => {}
        }
        filled.push(c);
        rest = &rest[c.len_utf8()..];
    }
    filled
}

/// The value of the variable that a text begins with, and how long its name is there.
fn variable<'v>(text: &str, variables: &'v [(String, String)], words: bool) -> Option<(&'v str, usize)> {
    let (name, length) = match text[1..].strip_prefix('{') {
        Some(inner) => (inner.split_once('}')?.0, 3),
        None => {
            let end =
                text[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(text.len(), |end| end + 1);
            (&text[1..end], 1)
        }
    };
    let value = &variables.iter().find(|(known, _)| known == name)?.1;
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,^".contains(c) || words && c == ' ';
    (!value.is_empty() && value.chars().all(bare)).then_some((value.as_str(), name.len() + length))
}

/// A text with a variable in the place of each `$(…)` and each command between backticks, so that it can be read as
/// words.
pub struct Hidden {
    pub text: String,
    commands: Vec<String>,
}

impl Hidden {
    pub fn of(text: &str) -> Self {
        let (closed, mut at) = (closed(text), 0);
        let mut hidden = Self { text: String::new(), commands: Vec::new() };
        let next = |at: usize| text[at..].find("$(").into_iter().chain(text[at..].find('`')).min();
        while let Some(start) = next(at).map(|start| at + start) {
            let behind = &text[start + 1..];
            let length = match text[start..].starts_with('$') {
                true => closed.get(&(start + 1)).copied().unwrap_or(1),
                false => behind.find('`').map_or(behind.len(), |end| end + 1),
            };
            hidden.text.push_str(&text[at..start]);
            at = start + 1 + length;
            hidden.text.push_str(&Self::name(hidden.commands.len()));
            hidden.commands.push(text[start..at].to_owned());
        }
        hidden.text.push_str(&text[at..]);
        hidden
    }

    fn name(number: usize) -> String {
        format!("${{__{number}}}")
    }

    /// A part of the text with the commands in it again.
    pub fn shown(&self, text: &str) -> String {
        let commands = self.commands.iter().enumerate();
        commands.fold(text.to_owned(), |text, (number, command)| text.replace(&Self::name(number), command))
    }

    /// The same for a person to read.
    pub fn short(&self, text: &str) -> String {
        (0..self.commands.len()).fold(text.to_owned(), |text, number| text.replace(&Self::name(number), UNKNOWN))
    }

    /// Whether there are so many that a text is none to be read.
    pub fn fits(&self) -> bool {
        (1..100).contains(&self.commands.len())
    }
}

/// A line with what a shell would put in replaced by a word that says so.
pub fn marked(text: &str) -> String {
    let closed = closed(text);
    let (mut marked, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        marked.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let length = match behind.chars().next() {
            Some('(') => closed.get(&(text.len() - behind.len())).copied(),
            Some('{') => behind.find('}').map(|end| end + 1),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                Some(behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(behind.len()))
            }
            _ => None,
        };
        match length {
            Some(_) => marked.push_str(UNKNOWN),
            None => marked.push('$'),
        }
        rest = &behind[length.unwrap_or(0)..];
    }
    marked + rest
}

/// How long what is in parentheses is, with them, by where it begins; in one pass, however many are never closed.
pub fn closed(text: &str) -> HashMap<usize, usize> {
    let (mut open, mut closed) = (Vec::new(), HashMap::new());
    for at in memchr::memchr2_iter(b'(', b')', text.as_bytes()) {
        if text.as_bytes()[at] == b'(' {
            open.push(at);
        } else if let Some(start) = open.pop() {
            closed.insert(start, at + 1 - start);
        }
    }
    closed
}

/// A text without the values of what looks like secrets in it.
pub fn masked(text: &str) -> String {
    let mut masked = text.to_owned();
    for word in text.split_whitespace() {
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name))
            && looks_secret(name, value.trim_matches(['"', '\'']))
        {
            masked = masked.replace(word, &format!("{name}=…"));
        }
    }
    masked
}

/// Where a line holds what looks like a secret, other than as the value of a variable.
pub fn secret(line: &str) -> Option<Range<usize>> {
    let mut at = 0;
    for word in line.split_inclusive(char::is_whitespace) {
        let start = at;
        at += word.len();
        let value = word.trim_end().rsplit(['=', '"', '\'', ':']).find(|part| !part.is_empty()).unwrap_or_default();
        if looks_secret("", value) && word.split_once('=').is_none_or(|(name, _)| !is_name(name)) {
            return Some(start..start + word.trim_end().len());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_script_itself_are_told_from_others() {
        let script = "A=\"$(ip | awk '{print $1}')\"\nB=$(ip | awk '{print $2}')\nf() {\n  echo $3\n}\nfunction g {\n  echo $4\n}\n\
                      h() { echo $5; }\nf ${6}\n";
        assert_eq!(of_script(script), "A=\"$(ip | awk )\"\nB=$(ip | awk )\nf ${6}\n");
        assert_eq!(of_script("A=1 # it's $1\nx $2 ${#A} 'a # b' # don't\n"), "A=1 \nx $2 ${#A} ' \n");
    }
}
