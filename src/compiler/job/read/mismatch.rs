//! What is said of a value that cannot be read: of another type, empty, misspelt, missing.

use serde_json::Value as Json;

use super::*;
use super::{edits, suggestions};
use crate::job::secrets;
use crate::job::wording::{flow, nearest, quoted, words};
use crate::problem::Fix;
use crate::yaml::Trap;

impl<'n> Reader<'n, '_> {
    /// Pushes that `node` is not `wanted`, with the way to write it.
    pub fn wrong_type<T>(&mut self, node: &Node, wanted: &str) -> Option<T> {
        let path = self.path();
        let span = node.span;
        let text = match &node.kind {
            Kind::Scalar { text, .. } => text.as_str(),
            _ => "",
        };
        let problem = match node.scalar() {
            Some(Scalar::Null) => self.empty(node, wanted),
            Some(Scalar::Trap(trap)) => ambiguous(&path, span, text, trap, wanted),
            Some(Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_)) if wanted.contains("text") => {
                Problem::new(&WRONG_TYPE, span, format!("`{path}` takes {wanted}, not {}", node.describe()))
                    .here(format!("{} without quotes", node.describe()))
                    .hint(format!("put it in quotes: `\"{text}\"`"))
                    .fix(span, format!("\"{text}\""))
            }
            Some(Scalar::Float(value)) if wanted == "a whole number" => {
                let hint = match value.floor() {
                    // Few fields take a zero.
                    0.0 => "write `1`, or another whole number".to_owned(),
                    below => format!("write `{below:.0}` or `{:.0}`", value.ceil()),
                };
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
                    _ if self.of_maps(wanted) => self.general(problem, node, wanted),
                    _ if wanted.contains("a list") && !text.starts_with('[') => {
                        let words: Vec<String> = text.split_whitespace().map(quoted).collect();
                        let list = format!("[{}]", words.join(", "));
                        problem.hint(format!("put it in brackets: `{list}`")).fix(span, list)
                    }
                    _ => self.general(problem, node, wanted),
                }
            }
            _ => {
                let problem =
                    Problem::new(&WRONG_TYPE, span, format!("`{path}` takes {wanted}, not {}", node.describe()));
                self.general(problem, node, wanted)
            }
        };
        self.push(problem);
        None
    }

    /// A key with nothing behind it.
    fn empty(&self, node: &Node, wanted: &str) -> Problem {
        let path = self.path();
        let Some(Step::Key(entry, own)) = self.path.last() else {
            let problem = Problem::new(&EMPTY_VALUE, node.span, format!("`{path}` has no value"));
            return problem.hint(format!("give it {wanted}, or remove it"));
        };
        // Only a shell for people goes without a command.
        let way_out = if own.needed || path == "spec.command" { "" } else { ", or remove it" };
        let nowhere = node.span.start == node.span.end;
        // Where nothing stands, the key does.
        let span = if nowhere { entry.key_span } else { node.span };
        let problem = Problem::new(&EMPTY_VALUE, span, format!("`{path}` has no value"));
        match (own.example)(&entry.key) {
            Some(example @ Json::Object(_)) => {
                let written = flow(&example);
                problem
                    .hint(format!("indent what belongs to it below it, or write `{}: {written}`{way_out}", entry.key))
            }
            Some(Json::Array(items)) if items.iter().all(Json::is_object) => {
                problem.hint(format!("write its items below it, each behind `- `{way_out}"))
            }
            Some(example) => {
                let written = flow(&example);
                let problem = problem.hint(format!("give it a value, such as `{}: {written}`{way_out}", entry.key));
                let colon = edits::colon(self.texts, entry);
                match colon {
                    Some(place) if nowhere => problem.fix(place, format!(" {written}")),
                    _ if nowhere => problem,
                    _ => problem.fix(node.span, written),
                }
            }
            None => problem.hint(format!("give it {wanted}{way_out}")),
        }
    }

    /// Whether the field we are at takes a list of maps.
    fn of_maps(&self, wanted: &str) -> bool {
        let maps = |example: Json| example.as_array().is_some_and(|items| items.iter().all(Json::is_object));
        wanted.contains("a list") && self.example().is_some_and(maps)
    }

    /// The way out of a wrong type, where the value itself says none.
    fn general(&self, problem: Problem, node: &Node, wanted: &str) -> Problem {
        let path = self.path();
        let own = match self.path.last() {
            Some(Step::Key(entry, own)) => Some((*entry, (own.example)(&entry.key))),
            _ => None,
        };
        let takes_map = wanted.starts_with("a map");
        match &node.kind {
            Kind::Scalar { text, plain: false }
                if takes_map && text.starts_with('{') || wanted.contains("a list") && text.starts_with('[') =>
            {
                problem.hint("remove the quotes: they make a text of it").fix(node.span, text)
            }
            // `{python, train.py}`, as other tools write a list.
            Kind::Map(entries)
                if wanted.contains("text")
                    && entries.iter().all(|entry| entry.value.scalar() == Some(Scalar::Null)) =>
            {
                let words: Vec<String> = entries.iter().map(|entry| quoted(&entry.key)).collect();
                problem.hint(format!("a list stands in brackets: `[{}]`", words.join(", ")))
            }
            Kind::Scalar { .. } if self.of_maps(wanted) => {
                problem.hint(format!("write a list of maps, such as `{}`", flow(&self.example().unwrap_or_default())))
            }
            Kind::Map(entries) if wanted.contains("a list") => match entries.first() {
                // Named by their keys, as Compose has it.
                Some(first)
                    if entries
                        .iter()
                        .all(|entry| matches!(entry.value.kind, Kind::Map(_)) && !self.index.contains(&entry.key)) =>
                {
                    problem.hint(format!("put `- name: {}` in the place of the key, and so on", first.key))
                }
                _ if !self.of_maps(wanted) && self.example().is_some() => {
                    let example = self.example().unwrap_or_default();
                    problem.hint(format!("write a list of texts, such as `{}`", flow(&example)))
                }
                _ => {
                    let problem = problem.hint("put `- ` before the first line, and indent the others under it");
                    let fields = entries.iter().all(|entry| self.index.contains(&entry.key));
                    Problem { fix: edits::as_item(self.texts, node).filter(|_| fields), ..problem }
                }
            },
            Kind::List(items) if takes_map => {
                let lines = suggestions::variables(items).filter(|_| path == "spec.env");
                let Some(lines) = lines else {
                    let such = match own.and_then(|(_, example)| example) {
                        Some(example) => format!(", such as `{}`", flow(&example)),
                        None => String::new(),
                    };
                    return problem.hint(format!("write `key: value` instead of a list{such}"));
                };
                let problem = problem.hint(format!("names are keys here: write `{}`", lines[0]));
                let key = own.map_or(node.span, |(entry, _)| entry.key_span);
                Problem { fix: edits::lines(self.texts, key, node.span, &lines), ..problem }
            }
            Kind::Scalar { text, plain } if takes_map && *plain && self.index.missing_space(text).is_some() => {
                let fixed = self.index.missing_space(text).unwrap_or_default();
                problem.hint(format!("put a colon and a space between the two: `{fixed}`")).fix(node.span, fixed)
            }
            Kind::Scalar { text, .. } if suggestions::in_full(&path, text).is_some() => {
                let (hint, whole) = suggestions::in_full(&path, text).unwrap_or_default();
                let key = own.map(|(entry, _)| entry.key_span).filter(|key| key.source == node.span.source);
                let problem = problem.hint(hint);
                match (whole, key) {
                    (Some(field), Some(key)) if key.start < node.span.start => {
                        problem.fix(Span { start: key.start, ..node.span }, field)
                    }
                    _ => problem,
                }
            }
            _ if wanted.contains("a map of fields") => {
                let such =
                    own.and_then(|(_, example)| example).map(|example| format!("such as `{}`; ", flow(&example)));
                problem.hint(format!("{}`khorovod explain {path}` lists the fields", such.unwrap_or_default()))
            }
            _ if wanted.contains("true") => problem.hint("write `true` or `false`"),
            _ if wanted.contains("number") => {
                let example = own.and_then(|(_, example)| example).map_or_else(|| "4".to_owned(), |one| flow(&one));
                problem.hint(format!("write it in digits, such as `{example}`"))
            }
            // `{name: hf}`, as Kubernetes refers to objects.
            Kind::Map(entries) if wanted.starts_with("a text") => {
                let alone = |entry: &Entry| entries.len() == 1 && (entry.key.ends_with("Name") || entry.key == "value");
                let name = entries.iter().find(|entry| entry.key == "name" || alone(entry));
                match (own, name.and_then(|entry| entry.value.text())) {
                    (Some((entry, _)), Some(name)) => problem.hint(format!("write `{}: {}`", entry.key, quoted(name))),
                    (Some((entry, Some(example))), None) => {
                        problem.hint(format!("write a text, such as `{}: {}`", entry.key, flow(&example)))
                    }
                    _ => problem,
                }
            }
            _ => problem,
        }
    }

    /// Says so where the value of the variable we are at sounds like a secret. Then it must not be repeated.
    pub fn secret(&mut self, node: &Node) -> bool {
        let (Some(Step::Key(entry, _)), Kind::Scalar { text, .. }) = (self.path.last(), &node.kind) else {
            return false;
        };
        let Some(problem) = secrets::secret(&entry.key, text, node.span) else { return false };
        self.push(problem);
        true
    }

    /// A value that the field we are at can have.
    pub fn example(&self) -> Option<Json> {
        match self.path.last() {
            Some(Step::Key(entry, own)) => (own.example)(&entry.key),
            _ => None,
        }
    }

    /// Pushes that a text lacks the form the field needs.
    pub fn invalid<T>(&mut self, node: &Node, wanted: &str, way_out: Option<WayOut>) -> Option<T> {
        self.unfit(node, &format!("is not {wanted}"), way_out)
    }

    /// The same, in words behind the field's name.
    pub fn unfit<T>(&mut self, node: &Node, what: &str, way_out: Option<WayOut>) -> Option<T> {
        self.push(invalid(node.span, format!("`{}` {what}", self.path()), way_out));
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
        if entry.value.scalar() == Some(Scalar::Null)
            && let Some(fixed) = self.index.missing_space(&entry.key)
        {
            self.guessed.extend(fixed.split_once(':').map(|(key, _)| format!("{path}.{key}")));
            let problem = problem.hint(format!("put a colon and a space between the two: `{fixed}`"));
            return self.push(problem.fix(entry.key_span, fixed));
        }
        if let Some((key, written)) = suggestions::rewritten(entry, known) {
            self.guessed.push(format!("{path}.{key}"));
            let problem = problem.hint(format!("write `{written}`"));
            // Two fields would ask for two lines, or for a comma.
            let one = !written.contains(", ") && entry.key_span.start < entry.value.span.end;
            let span = Span { end: entry.value.span.end, ..entry.key_span };
            return self.push(if one { problem.fix(span, written) } else { problem });
        }
        if path.rsplit('.').next() == Some("claim") && ["name", "claimName"].contains(&entry.key.as_str()) {
            self.guessed.push(format!("{path}.size"));
            let name = entry.value.text().unwrap_or("NAME");
            return self.push(problem.hint(format!(
                "a claim that exists is `existingClaim: {name}` in the place of `claim`; one to be made is named after the job and the entry"
            )));
        }
        let near = nearest(&entry.key, known.iter().copied())
            .filter(|_| !suggestions::is_foreign(&entry.key, known))
            .or_else(|| suggestions::renamed(&entry.key, known));
        self.guessed.extend(near.map(|near| format!("{path}.{near}")));
        self.push(match near {
            Some(near) => problem.hint(format!("did you mean `{near}`?")).fix(entry.key_span, near),
            None => {
                let hint = self.index.hint(&entry.key, &path);
                problem.hint(hint.unwrap_or_else(|| format!("it takes {}", words(known))))
            }
        });
    }

    /// Pushes that `key` is missing in the map at `node`, if it is.
    pub fn required<S: Shape>(&mut self, node: &Node, key: &str) {
        if node.get(key).is_some() {
            return;
        }
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
        let problem = match S::example(key) {
            Some(example) => problem.hint(format!("add `{key}: {}`", flow(&example))),
            None => problem.hint(format!("add `{key}`")),
        };
        self.push(Problem { fix: self.put::<S>(node, key), ..problem });
    }

    /// The edit that puts a field into a map, with the value of its example.
    fn put<S: Shape>(&self, node: &Node, key: &str) -> Option<Fix> {
        edits::field(self.texts, node, S::KEYS, key, &S::example(key)?)
    }

    /// Exactly one of `keys` must stand in the map at `node`.
    pub fn exactly_one<S: Shape>(&mut self, node: &'n Node, keys: &[&str]) {
        let given: Vec<&Entry> = keys.iter().filter_map(|key| node.entry(key)).collect();
        let path = self.path();
        let misspelt = keys.iter().any(|key| self.guessed.contains(&format!("{path}.{key}")));
        match given.as_slice() {
            [_] => {}
            [] if misspelt => {}
            [] => {
                let message = format!("`{path}` needs one of {}", words(keys));
                let problem = Problem::new(&CHOOSE_ONE, first_line(node), message);
                let problem = problem.hint(format!("add one of {}", words(keys)));
                // Of more, none is likely enough.
                let fix = if keys.len() == 2 { self.put::<S>(node, keys[0]) } else { None };
                self.push(Problem { fix, ..problem });
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
    pub fn needs<S: Shape>(&mut self, node: &Node, key: &str, other: &str) {
        if let Some(entry) = node.entry(key)
            && node.entry(other).is_none()
        {
            let message = format!("`{}.{key}` needs `{other}` beside it", self.path());
            let such = S::example(other).map_or_else(String::new, |example| format!(": {}", flow(&example)));
            let problem = Problem::new(&NEEDS_FIELD, entry.key_span, message);
            let problem = problem.hint(format!("add `{other}{such}`, or remove `{key}`"));
            // One of several would be one too many.
            let fix = if S::NEEDED.contains(&other) { None } else { self.put::<S>(node, other) };
            self.push(Problem { fix, ..problem });
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
