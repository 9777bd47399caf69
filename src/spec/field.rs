//! How one field is read: a value and its place, or a problem pushed.
//!
//! [`shape!`](super::shape) and [`choice!`](super::choice) turn declarations into [`Field`]s; the
//! scalar types are in `scalars`.

use std::ops::Deref;

use serde_json::{Map, Value as Json};

use super::elsewhere;
use crate::problem::{Code, Problem, Span, codes};
use crate::source::{Entry, Kind, Node, Scalar, Trap};

codes! {
    /// A field the spec does not have
    ///
    /// Every field is checked, so that a misspelt one cannot be ignored in silence. The hint names
    /// the nearest field there is; `khorovod explain spec.workers` lists them.
    Error UNKNOWN_FIELD = "unknown-field";

    /// A required field is missing
    ///
    /// Add it; the hint shows a value.
    Error MISSING_FIELD = "missing-field";

    /// A value of another type than the field takes
    ///
    /// A text where a number should stand, a number where a text should stand (put it in quotes),
    /// a map where a list should stand.
    Error WRONG_TYPE = "wrong-type";

    /// A key without a value
    ///
    /// `gpus:` with nothing behind it is null. Give it a value, or remove the key to take the default.
    Error EMPTY_VALUE = "empty-value";

    /// A word the field does not know
    ///
    /// The field takes one of a few words; the hint names the nearest, or all of them.
    Error UNKNOWN_VALUE = "unknown-value";

    /// A value outside the field's limits
    ///
    /// The message names the limits.
    Error OUT_OF_RANGE = "out-of-range";

    /// A text that does not have the form the field needs
    ///
    /// Names, paths, quantities, durations, images and labels have forms that Kubernetes or the
    /// tools in the pods insist on; the message says which.
    Error INVALID_VALUE = "invalid-value";

    /// One field out of several must be given, and only one
    ///
    /// Such as `claim`, `nfs` or `s3` in a storage entry: it says where the data lies.
    Error CHOOSE_ONE = "choose-one";

    /// A field that needs another beside it
    ///
    /// Add the field that the message names.
    Error NEEDS_FIELD = "needs-field";

    /// A value that readers of YAML disagree on
    ///
    /// `yes`, `on` and `n` are booleans to YAML 1.1 and texts to 1.2; `0777`, `1:30` and `1_000`
    /// are one number to one reader and another, or a text, to the next. khorovod does not guess:
    /// write `"on"` for the text, `true` for the boolean, and plain decimal digits for a number.
    Error AMBIGUOUS = "yaml-ambiguous";
}

/// A value, where it stands, and where its key stands.
#[derive(Debug, Clone)]
pub struct At<T> {
    pub value: T,
    pub span: Span,
    pub key: Span,
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// The shapes a schema refers to, by name.
pub type Defs = Map<String, Json>;

/// Something a field can hold.
pub trait Field: Sized {
    /// Reads it, or pushes what is wrong.
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self>;
    /// Its JSON Schema.
    fn schema(defs: &mut Defs) -> Json;
    /// Names the fields that may stand below it, those of `path` itself first: how deep, where, and how it is called.
    fn fields(_path: &str, _depth: usize, _each: &mut dyn FnMut(usize, &str, &'static str)) {}
}

/// No field is looked for deeper than this.
pub const DEEPEST: usize = 3;

/// What reading needs: where we are, and where problems go.
pub struct Reader<'n, 'p> {
    problems: &'p mut Vec<Problem>,
    /// How many problems there may be once this document is read.
    most: usize,
    path: Vec<Step<'n>>,
    /// The fields that misspelt keys were taken for: they are not missing.
    guessed: Vec<String>,
}

/// Past these, a document is garbage.
const MAX_PROBLEMS: usize = 1_000;

enum Step<'n> {
    Key(&'n Entry),
    Index(usize),
}

impl<'n, 'p> Reader<'n, 'p> {
    /// A reader at the top of a document.
    pub fn new(problems: &'p mut Vec<Problem>) -> Self {
        let most = problems.len() + MAX_PROBLEMS;
        Self { problems, most, path: Vec::new(), guessed: Vec::new() }
    }

    /// Pushes a problem, up to as many as anybody will read.
    pub fn push(&mut self, problem: Problem) {
        if self.problems.len() < self.most {
            self.problems.push(problem);
        }
    }

    /// Where we are: `spec.storage[0].mountPath`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Key(entry) if path.is_empty() => path.push_str(&entry.key),
                Step::Key(entry) => {
                    path.push('.');
                    path.push_str(&entry.key);
                }
                Step::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        if path.is_empty() { "the document".to_owned() } else { path }
    }

    /// Reads the value under a key.
    pub fn entry<T: Field>(&mut self, entry: &'n Entry) -> Option<At<T>> {
        self.path.push(Step::Key(entry));
        let value = T::read(&entry.value, self);
        self.path.pop();
        Some(At { value: value?, span: entry.value.span, key: entry.key_span })
    }

    /// Reads an item of a list.
    pub fn item<T: Field>(&mut self, index: usize, node: &'n Node) -> Option<At<T>> {
        self.path.push(Step::Index(index));
        let value = T::read(node, self);
        self.path.pop();
        Some(At { value: value?, span: node.span, key: node.span })
    }

    /// The entries of a map.
    pub fn map(&mut self, node: &'n Node, wanted: &str) -> Option<&'n [Entry]> {
        match &node.kind {
            Kind::Map(entries) => Some(entries),
            _ => self.wrong_type(node, wanted),
        }
    }

    /// The items of a list.
    pub fn list(&mut self, node: &'n Node, wanted: &str) -> Option<&'n [Node]> {
        match &node.kind {
            Kind::List(items) => Some(items),
            _ => self.wrong_type(node, wanted),
        }
    }

    /// The text of a scalar that is one without doubt.
    pub fn text(&mut self, node: &'n Node, wanted: &str) -> Option<&'n str> {
        match node.scalar() {
            Some(Scalar::Text(text)) => Some(text),
            _ => self.wrong_type(node, wanted),
        }
    }

    /// Pushes that `node` is not `wanted`, with the way to write it.
    pub fn wrong_type<T>(&mut self, node: &Node, wanted: &str) -> Option<T> {
        let path = self.path();
        let span = node.span;
        let text = match &node.kind {
            Kind::Scalar { text, .. } => text.as_str(),
            _ => "",
        };
        let problem = match node.scalar() {
            Some(Scalar::Null) => {
                // Where nothing stands, the key does.
                let span = match self.path.last() {
                    Some(Step::Key(entry)) if span.start == span.end => entry.key_span,
                    _ => span,
                };
                Problem::new(&EMPTY_VALUE, span, format!("`{path}` has no value"))
                    .hint(format!("give it {wanted}, or remove it"))
            }
            Some(Scalar::Trap(trap)) => ambiguous(&path, span, text, trap, wanted),
            Some(Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_)) if wanted.contains("text") => {
                Problem::new(&WRONG_TYPE, span, format!("`{path}` takes {wanted}, not {}", node.describe()))
                    .here(format!("{} without quotes", node.describe()))
                    .hint(format!("put it in quotes: `\"{text}\"`"))
                    .fix(span, format!("\"{text}\""))
            }
            Some(Scalar::Float(value)) if wanted == "a whole number" => {
                let hint = format!("write `{:.0}` or `{:.0}`", value.floor(), value.ceil());
                Problem::new(&WRONG_TYPE, span, format!("`{path}` takes {wanted}, not `{text}`")).hint(hint)
            }
            Some(Scalar::Text(_)) => {
                let problem = Problem::new(&WRONG_TYPE, span, format!("`{path}` takes {wanted}, not a text"));
                match Scalar::plain(text) {
                    Scalar::Int(_) if wanted.contains("number") => {
                        problem.hint(format!("write it without quotes: `{text}`")).fix(span, text)
                    }
                    Scalar::Bool(_) if wanted.contains("true") => {
                        problem.hint(format!("write it without quotes: `{text}`")).fix(span, text)
                    }
                    _ if wanted.contains("a list") => {
                        let words: Vec<String> = text.split_whitespace().map(quoted).collect();
                        problem.hint(format!("put it in brackets: `[{}]`", words.join(", ")))
                    }
                    _ => general(problem, &path, node, wanted),
                }
            }
            _ => {
                let problem =
                    Problem::new(&WRONG_TYPE, span, format!("`{path}` takes {wanted}, not {}", node.describe()));
                general(problem, &path, node, wanted)
            }
        };
        self.push(problem);
        None
    }

    /// Pushes that a text lacks the form the field needs.
    pub fn invalid<T>(&mut self, node: &Node, wanted: &str, way_out: Option<WayOut>) -> Option<T> {
        let message = format!("`{}` is not {wanted}", self.path());
        self.push(invalid(node.span, message, way_out));
        None
    }

    /// Pushes a problem at a value.
    pub fn refuse<T>(&mut self, code: &'static Code, node: &Node, message: String, hint: Option<String>) -> Option<T> {
        let mut problem = Problem::new(code, node.span, message);
        problem.hint = hint;
        self.push(problem);
        None
    }

    /// Pushes that a key is not among those known.
    pub fn unknown(&mut self, entry: &Entry, known: &[&str]) {
        let path = self.path();
        let message = match path.as_str() {
            "the document" => format!("a TrainingJob has no field `{}`", entry.key),
            _ => format!("`{path}` has no field `{}`", entry.key),
        };
        let problem = Problem::new(&UNKNOWN_FIELD, entry.key_span, message);
        let near = nearest(&entry.key, known.iter().copied()).filter(|_| !elsewhere::is_foreign(&entry.key, known));
        self.guessed.extend(near.map(|near| format!("{path}.{near}")));
        self.push(match near {
            Some(near) => problem.hint(format!("did you mean `{near}`?")).fix(entry.key_span, near),
            None => {
                problem.hint(elsewhere::hint(&entry.key, known).unwrap_or_else(|| format!("it takes {}", words(known))))
            }
        });
    }

    /// Pushes that `key` is missing in the map at `node`.
    pub fn missing(&mut self, node: &Node, key: &str, example: Option<&Json>) {
        let path = self.path();
        if self.guessed.contains(&format!("{path}.{key}")) {
            return;
        }
        let span = first_line(node);
        let message = match path.as_str() {
            "the document" => format!("`{key}` is missing"),
            _ => format!("`{path}` lacks `{key}`"),
        };
        let problem = Problem::new(&MISSING_FIELD, span, message).here(format!("`{key}` belongs here"));
        self.push(match example {
            Some(example) => problem.hint(format!("add `{key}: {}`", flow(example))),
            None => problem.hint(format!("add `{key}`")),
        });
    }

    /// Exactly one of `keys` must stand in the map at `node`.
    pub fn exactly_one(&mut self, node: &'n Node, keys: &[&str]) {
        let given: Vec<&Entry> = keys.iter().filter_map(|key| node.entry(key)).collect();
        let path = self.path();
        let misspelt = keys.iter().any(|key| self.guessed.contains(&format!("{path}.{key}")));
        match given.as_slice() {
            [_] => {}
            [] if misspelt => {}
            [] => {
                let message = format!("`{path}` needs one of {}", words(keys));
                self.push(
                    Problem::new(&CHOOSE_ONE, first_line(node), message).hint(format!("add one of {}", words(keys))),
                );
            }
            [first, others @ ..] => {
                let message = format!("`{path}` takes only one of {}", words(keys));
                let mut problem = Problem::new(&CHOOSE_ONE, first.key_span, message).here("this one");
                for other in others {
                    problem = problem.and(other.key_span, "or this one");
                }
                self.push(problem.hint("keep one of them"));
            }
        }
    }

    /// Where `key` stands, `other` must too.
    pub fn needs(&mut self, node: &Node, key: &str, other: &str) {
        if let Some(entry) = node.entry(key)
            && node.entry(other).is_none()
        {
            let message = format!("`{}.{key}` needs `{other}` beside it", self.path());
            self.push(
                Problem::new(&NEEDS_FIELD, entry.key_span, message).hint(format!("add `{other}`, or remove `{key}`")),
            );
        }
    }
}

/// The first key of a map, or the value itself: a place to point at for what is not there.
fn first_line(node: &Node) -> Span {
    match &node.kind {
        Kind::Map(entries) => entries.first().map_or(node.span, |entry| entry.key_span),
        _ => node.span,
    }
}

/// The way out of a wrong type, where the value itself says none.
fn general(problem: Problem, path: &str, node: &Node, wanted: &str) -> Problem {
    match &node.kind {
        // `{python, train.py}`, as other tools write a list.
        Kind::Map(entries)
            if wanted.contains("text") && entries.iter().all(|entry| entry.value.scalar() == Some(Scalar::Null)) =>
        {
            let words: Vec<String> = entries.iter().map(|entry| quoted(&entry.key)).collect();
            problem.hint(format!("a list stands in brackets: `[{}]`", words.join(", ")))
        }
        Kind::Map(_) if wanted.contains("a list") => problem.hint("put `- ` before each item"),
        Kind::List(_) if wanted.contains("a map") => problem.hint("write `key: value` lines instead of `- ` items"),
        Kind::Scalar { text, .. } if elsewhere::in_full(path, text).is_some() => {
            Problem { hint: elsewhere::in_full(path, text), ..problem }
        }
        _ if wanted.contains("a map of fields") => problem.hint(format!("`khorovod explain {path}` lists the fields")),
        _ if wanted.contains("true") => problem.hint("write `true` or `false`"),
        _ if wanted.contains("number") => problem.hint("write it in digits, such as `4`"),
        _ => problem,
    }
}

fn ambiguous(path: &str, span: Span, text: &str, trap: Trap, wanted: &str) -> Problem {
    let (what, way_out, fix) = match trap {
        Trap::Word(value) if wanted.contains("true") => {
            ("a boolean to some readers of YAML and a text to others", format!("write `{value}`"), value.to_string())
        }
        Trap::Word(_) if !wanted.contains("text") => {
            ("a boolean to some readers of YAML and a text to others", format!("give it {wanted}"), String::new())
        }
        Trap::Word(_) => (
            "a boolean to some readers of YAML and a text to others",
            format!("put it in quotes: `\"{text}\"`"),
            format!("\"{text}\""),
        ),
        Trap::Radix | Trap::Sexagesimal | Trap::Underscore | Trap::Special if !wanted.contains("text") => {
            ("no number that every reader of YAML takes", "write it in decimal digits".to_owned(), String::new())
        }
        Trap::Special => (
            "no number that every reader of YAML takes",
            format!("write it in decimal digits, or in quotes: `\"{text}\"`"),
            format!("\"{text}\""),
        ),
        Trap::Radix | Trap::Sexagesimal | Trap::Underscore => (
            "one number to some readers of YAML and another, or a text, to others",
            format!("write decimal digits, or put it in quotes: `\"{text}\"`"),
            format!("\"{text}\""),
        ),
    };
    let problem = Problem::new(&AMBIGUOUS, span, format!("`{path}`: `{text}` is {what}")).hint(way_out);
    if fix.is_empty() { problem } else { problem.fix(span, fix) }
}

/// How a value may be mended.
#[derive(Debug)]
pub enum WayOut {
    /// By another in its place.
    Write(String),
    /// By the person.
    Say(String),
}

/// A problem of a text that lacks its form, with the way out.
pub fn invalid(span: Span, message: String, way_out: Option<WayOut>) -> Problem {
    let problem = Problem::new(&INVALID_VALUE, span, message);
    match way_out {
        Some(WayOut::Write(text)) => problem.hint(format!("write `{text}`")).fix(span, quoted(&text)),
        Some(WayOut::Say(hint)) => problem.hint(hint),
        None => problem,
    }
}

/// The known word nearest to one that may be misspelt.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let wanted = plain(word);
    let (length, far) = (wanted.chars().count(), |candidate: &str| 1 + candidate.len().min(word.len()) / 4);
    known
        // A word may be of any length, and each distance takes as much time and memory.
        .filter(|candidate| plain(candidate).len().abs_diff(length) <= far(candidate))
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= far(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The one of a few words that somebody means: misspelt, or the only one that begins so.
pub fn nearest_word<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    nearest(word, known.iter().copied()).or_else(|| {
        let mut begun = known.iter().filter(|known| word.len() > 3 && known.starts_with(word));
        begun.next().filter(|_| begun.next().is_none()).copied()
    })
}

/// `a`, `b` or `c`.
pub fn words(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., final_one] => format!("{} or {final_one}", others.join(", ")),
    }
}

/// An example as people write it on one line.
pub fn flow(value: &Json) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Json::String(text) => quoted(text),
        Json::Array(items) => format!("[{}]", list(items.iter().map(flow).collect())),
        Json::Object(map) => {
            format!(
                "{{{}}}",
                list(map.iter().map(|(key, value)| format!("{}: {}", quoted(key), flow(value))).collect())
            )
        }
        other => other.to_string(),
    }
}

/// A text as it can stand in a YAML flow list.
fn quoted(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-=:".contains(c)) && !text.ends_with(':');
    let start = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        || text.starts_with('-') && text.chars().any(|c| c.is_ascii_alphabetic());
    if plain && start && matches!(Scalar::plain(text), Scalar::Text(_)) {
        text.to_owned()
    } else {
        Json::from(text).to_string()
    }
}
