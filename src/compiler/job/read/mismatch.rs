//! Reports of values that cannot be read: of the wrong type, empty, misspelt or missing.

use core::net::IpAddr;
use std::fmt;

use serde_json::Value as Json;

use super::suggestions::alternatives;
use super::*;
use super::{edits, suggestions};
use crate::job::secrets;
use crate::problem::Fix;
use crate::yaml::flow::{flow, quoted};
use crate::yaml::{self, Trap};

impl Expected {
    /// Whether this text, in quotes, is a value of the type.
    fn takes_text(self, text: &str) -> bool {
        match self {
            Self::Text(form) => form.accepts(text),
            Self::Word(words) => words.contains(&text),
            Self::Scalar => true,
            _ => false,
        }
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Text(_) | Self::Word(_))
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Integer { .. } | Self::Quantity | Self::Scalar)
    }

    fn is_map(self) -> bool {
        matches!(self, Self::Fields | Self::Names)
    }

    /// A value of the type, as in "give it an absolute path".
    fn value(self) -> String {
        match self {
            Self::Text(form) => form.expected.to_owned(),
            Self::Word(known) => alternatives(known),
            other => other.to_string(),
        }
    }
}

/// The type, as in "takes a string, not a map".
impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("a boolean"),
            Self::Integer { .. } => f.write_str("an integer"),
            Self::Quantity => f.write_str("a quantity such as `\"32\"` or `64Gi` (a string or a number)"),
            Self::Duration => f.write_str("a duration such as `30m`, `1h30m` or `90s`"),
            Self::Text(_) => f.write_str("a string"),
            Self::Word(words) => write!(f, "a string such as `{}`", words.first().unwrap_or(&"")),
            Self::Scalar => f.write_str("a string or a number"),
            Self::List(_) => f.write_str("a list"),
            Self::Fields => f.write_str("a map of fields"),
            Self::Names => f.write_str("a map"),
        }
    }
}

/// How to rewrite a scalar as a value of the expected type: a hint and, if there is only one way, the text that replaces the
/// scalar.
#[expect(clippy::cast_possible_truncation, reason = "a number that does not fit is outside the limits of every field")]
fn rewrite_scalar(text: &str, scalar: Scalar<'_>, expected: Expected) -> Option<(String, Option<String>)> {
    let in_quotes = || (format!("put it in quotes: `\"{text}\"`"), Some(format!("\"{text}\"")));
    let without_quotes = || (format!("write it without quotes: `{text}`"), Some(text.to_owned()));
    let in_brackets = |words: Vec<String>| {
        let list = format!("[{}]", words.join(", "));
        (format!("put it in brackets: `{list}`"), Some(list))
    };
    match (scalar, expected) {
        (Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_), _) if expected.takes_text(text) => Some(in_quotes()),
        (Scalar::Float(value), Expected::Integer { min, .. }) => {
            let (below, above) = (value.floor(), value.ceil());
            Some(match below < f64::from(min) || below == 0.0 {
                // Most fields do not take 0, so the hint does not suggest it.
                true => ("write `1`, or another integer".to_owned(), None),
                false => (format!("write `{}` or `{}`", below as i64, above as i64), None),
            })
        }
        (Scalar::Text(_), Expected::Integer { min, max }) => {
            let Scalar::Int(number) = Scalar::plain(text) else { return None };
            Some(match (i64::from(min)..=i64::from(max)).contains(&number) {
                true => without_quotes(),
                false => (format!("give a number from {min} to {max}, without quotes"), None),
            })
        }
        (Scalar::Text(_), Expected::Boolean) => match Scalar::plain(text) {
            Scalar::Bool(_) => Some(without_quotes()),
            Scalar::Trap(Trap::Word(value)) => Some((format!("write `{value}`"), Some(value.to_string()))),
            _ => None,
        },
        (Scalar::Text(_), Expected::List(Item::Text)) if !text.starts_with('[') => {
            Some(in_brackets(text.split_whitespace().map(quoted).collect()))
        }
        (Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_), Expected::List(Item::Text)) => {
            Some(in_brackets(vec![quoted(text)]))
        }
        (Scalar::Text(_) | Scalar::Int(_), Expected::List(Item::Number)) => {
            let words: Vec<String> =
                text.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
            words.iter().all(|word| word.parse::<u32>().is_ok()).then(|| in_brackets(words))
        }
        _ => None,
    }
}

/// The two numbers of a range such as `2:8` or `2-8`.
fn range_of(text: &str) -> Option<(u32, u32)> {
    let (min, max) = text.split_once([':', '-'])?;
    Some((min.trim().parse().ok()?, max.trim().parse().ok()?))
}

/// Whether a text is a variable of a shell or a part of a template, which another program would replace.
fn is_filled_later(text: &str) -> bool {
    let is_within = |open: &str, close: &str| text.starts_with(open) && text.ends_with(close);
    is_within("${", "}")
        || is_within("{{", "}}")
        || is_within("$(", ")")
        || text.strip_prefix('$').is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
}

/// Whether a text is the list or map that a field takes, put in quotes by mistake.
fn is_quoted(text: &str, expected: Expected) -> bool {
    let whole = Span { source: 0, start: 0, end: text.len() };
    let parsed = || yaml::parse(text, whole, &mut Vec::new()).ok().flatten().map(|node| node.kind);
    match expected {
        Expected::Fields | Expected::Names => text.starts_with('{') && matches!(parsed(), Some(Kind::Map(_))),
        Expected::List(_) => text.starts_with('[') && matches!(parsed(), Some(Kind::List(_))),
        _ => false,
    }
}

impl<'n> Reader<'n, '_> {
    /// Reports that the field takes a value of another type, with a hint about the way to write it.
    pub fn wrong_type<T>(&mut self, node: &Node, expected: Expected) -> Option<T> {
        let path = self.path();
        let text = node.written().unwrap_or_default();
        let problem = match node.scalar() {
            Some(Scalar::Null) => self.empty(node, expected),
            Some(Scalar::Trap(trap)) => ambiguous(&path, node.span, text, trap, expected),
            scalar => {
                let what = match (scalar, expected) {
                    (Some(Scalar::Float(_)), Expected::Integer { .. }) => format!("`{text}`"),
                    _ => node.describe().to_owned(),
                };
                let problem = Problem::new(&WRONG_TYPE, node.span, format!("`{path}` takes {expected}, not {what}"));
                // A label such as `false` is possible, but hardly meant by `spread: false`.
                let is_level = ["spread", "pack", "topology.required", "topology.preferred"]
                    .iter()
                    .any(|key| path.strip_prefix("spec.placement.") == Some(key));
                let rewritten = scalar.filter(|scalar| !is_level || !matches!(scalar, Scalar::Bool(_)));
                match rewritten.and_then(|scalar| rewrite_scalar(text, scalar, expected)) {
                    Some((hint, fix)) => {
                        let label = match expected.takes_text(text) {
                            true => format!("{what} without quotes"),
                            false => String::new(),
                        };
                        let fix = fix.map(|text| Fix { span: node.span, text });
                        Problem { fix, ..problem.here(label).hint(hint) }
                    }
                    None => self.general(problem, node, expected),
                }
            }
        };
        self.push(problem);
        None
    }

    /// The report of a key without a value.
    fn empty(&self, node: &Node, expected: Expected) -> Problem {
        let path = self.path();
        let Some(Step::Key(entry, shape, _)) = self.path.last() else {
            let problem = Problem::new(&EMPTY_VALUE, node.span, format!("`{path}` has no value"));
            return problem.hint(format!("give it {}, or remove it", expected.value()));
        };
        // Only a job with an interactive shell may leave out the command, so the hint does not suggest to remove it.
        let way_out =
            if shape.needed.contains(&entry.key.as_str()) || path == "spec.command" { "" } else { ", or remove it" };
        let nowhere = node.span.start == node.span.end;
        // An empty value has no text that could be marked, so the key is marked.
        let span = if nowhere { entry.key_span } else { node.span };
        let problem = Problem::new(&EMPTY_VALUE, span, format!("`{path}` has no value"));
        let example = match path.as_str() {
            "spec.launcher" | "spec.launcher.kind" => Some(Json::from(self.launcher())),
            _ => shape.example(&entry.key),
        };
        match example {
            Some(example @ Json::Object(_)) => {
                let written = flow(&example);
                problem.hint(format!("indent its fields below it, or write `{}: {written}`{way_out}", entry.key))
            }
            Some(Json::Array(items)) if items.iter().all(Json::is_object) => {
                problem.hint(format!("write its items below it, each after `- `{way_out}"))
            }
            Some(example) => {
                let written = flow(&example);
                let problem = problem.hint(format!("give it a value, such as `{}: {written}`{way_out}", entry.key));
                let colon = edits::colon(self.texts, entry);
                let problem = problem.by_choice();
                match colon {
                    Some(place) if nowhere => problem.fix(place, format!(" {written}")),
                    _ if nowhere => problem,
                    _ => problem.fix(node.span, written),
                }
            }
            None => problem.hint(format!("give it {}{way_out}", expected.value())),
        }
    }

    /// The launcher for the image of the job: `torchrun` for an image of PyTorch, or else the default.
    fn launcher(&self) -> &'static str {
        let image = self.document.get("spec").and_then(|spec| spec.get("image"));
        let name = image.and_then(|image| image.get("name").or(Some(image))?.text()).unwrap_or_default();
        if suggestions::is_pytorch(name) { "torchrun" } else { "mpirun" }
    }

    /// Adds the hint for a value of the wrong type that [`rewrite_scalar`] cannot rewrite. The hint depends on the field.
    fn general(&self, problem: Problem, node: &Node, expected: Expected) -> Problem {
        let path = self.path();
        let own = match self.path.last() {
            Some(Step::Key(entry, shape, name)) => Some((*entry, shape.example(name))),
            _ => None,
        };
        match &node.kind {
            Kind::Scalar { text, plain: true } if text.contains(" //") => {
                let meant = text.replacen(" //", " #", 1);
                problem.hint(format!("a comment begins with `#`: write `{meant}`")).fix(node.span, meant)
            }
            Kind::Scalar { text, plain: false } if is_quoted(text, expected) => {
                problem.hint("remove the quotes: they turn the value into a string").fix(node.span, text)
            }
            // A list in the wrong brackets, `{python, train.py}`, which YAML reads as a map without values.
            Kind::Map(entries)
                if expected.is_text() && entries.iter().all(|entry| entry.value.scalar() == Some(Scalar::Null)) =>
            {
                let words: Vec<String> = entries.iter().map(|entry| quoted(&entry.key)).collect();
                problem.hint(format!("write a list in brackets: `[{}]`", words.join(", ")))
            }
            Kind::Scalar { .. } if matches!(expected, Expected::List(Item::Map)) => {
                problem.hint(format!("write a list of maps, such as `{}`", flow(&self.example().unwrap_or_default())))
            }
            Kind::Map(entries) if matches!(expected, Expected::List(_)) => match entries.first() {
                // A map from names to items, as in Docker Compose.
                Some(first)
                    if entries
                        .iter()
                        .all(|entry| matches!(entry.value.kind, Kind::Map(_)) && !self.index.contains(&entry.key)) =>
                {
                    problem
                        .hint(format!("write `- name: {}` instead of the key, and the same for the others", first.key))
                }
                // A map from mount paths to buckets, as in SkyPilot.
                Some(first) if path == "spec.storage" && first.key.starts_with('/') => {
                    let bucket = first.value.text().and_then(|url| url.split("://").nth(1)?.split('/').next());
                    problem.hint(format!(
                        "write one item per mount, such as `- {{name: data, mountPath: {}, s3: {{bucket: {}}}}}`",
                        first.key,
                        bucket.unwrap_or("my-bucket")
                    ))
                }
                _ if !matches!(expected, Expected::List(Item::Map)) && self.example().is_some() => {
                    let example = self.example().unwrap_or_default();
                    problem.hint(format!("write a list of strings, such as `{}`", flow(&example)))
                }
                _ => {
                    let fields = entries.iter().all(|entry| self.index.contains(&entry.key));
                    let hint = match self.example() {
                        Some(Json::Array(items)) if !fields && !items.is_empty() => {
                            format!("write a list of maps, such as `[{}]`", flow(&items[0]))
                        }
                        _ => "put `- ` before the first line, and indent the other lines by two spaces".to_owned(),
                    };
                    let problem = problem.hint(hint);
                    Problem { fix: edits::as_item(self.texts, node).filter(|_| fields), ..problem }
                }
            },
            // A list for a field that takes a word or a map, as in `launcher: [torchrun]`.
            Kind::List(items) if expected.is_map() && matches!(&own, Some((_, Some(Json::String(_))))) => {
                let word = items.first().and_then(Node::text).filter(|_| items.len() == 1);
                let Some((entry, Some(example))) = own else { return problem };
                problem.hint(format!("write `{}: {}`", entry.key, word.map_or_else(|| flow(&example), quoted)))
            }
            Kind::List(_) if path == "spec.code.files" => {
                problem.hint(format!("write the text of each file, as in `train.py: |`; {}", suggestions::NO_FOLDERS))
            }
            Kind::List(items) if expected.is_map() => {
                let lines = suggestions::variables(items).filter(|_| path == "spec.env");
                let Some(lines) = lines else {
                    let such = match own.and_then(|(_, example)| example) {
                        Some(example) => format!(", such as `{}`", flow(&example)),
                        None => String::new(),
                    };
                    return problem.hint(format!("write `key: value` instead of a list{such}"));
                };
                let problem = problem.hint(format!("write a map of names and values: `{}`", lines[0]));
                let key = own.map_or(node.span, |(entry, _)| entry.key_span);
                Problem { fix: edits::lines(self.texts, key, node.span, &lines), ..problem }
            }
            Kind::Scalar { text, plain } if expected.is_map() && *plain && self.index.missing_space(text).is_some() => {
                let fixed = self.index.missing_space(text).unwrap_or_default();
                problem
                    .hint(format!("write a colon and a space between key and value: `{fixed}`"))
                    .fix(node.span, fixed)
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
            Kind::Scalar { text, .. } if path.starts_with("spec.envFrom[") && !text.is_empty() => {
                let name = quoted(text);
                problem.hint(format!("write `{{secretRef: {{name: {name}}}}}` or `{{configMapRef: {{name: {name}}}}}`"))
            }
            _ if matches!(expected, Expected::Fields) => {
                let such =
                    own.and_then(|(_, example)| example).map(|example| format!("such as `{}`; ", flow(&example)));
                problem.hint(format!("{}`khorovod explain {path}` lists the fields", such.unwrap_or_default()))
            }
            Kind::Scalar { text, .. } if is_filled_later(text) => problem.hint(format!(
                "khorovod does not fill in `{text}`: write the value, or set it with `--set {path}=VALUE`"
            )),
            // A single item of a list.
            Kind::List(items)
                if items.len() == 1
                    && items[0].written().is_some_and(|text| {
                        expected.takes_text(text)
                            || expected.is_number() && text.starts_with(|c: char| c.is_ascii_digit())
                    }) =>
            {
                let text = items[0].written().unwrap_or_default();
                problem.hint(format!("write it without brackets: `{text}`")).fix(node.span, text)
            }
            // `[[python, train.py]]`.
            Kind::List(_) if path.starts_with("spec.command[") || path.starts_with("spec.args[") => {
                problem.hint("remove the inner brackets: the words of a command are one list")
            }
            // `pullSecrets: [{name: regcred}]`, as in a pod.
            Kind::Map(entries)
                if expected.is_text()
                    && entries.len() == 1
                    && entries[0].key == "name"
                    && entries[0].value.text().is_some_and(|name| expected.takes_text(name))
                    && !["spec.command[", "spec.args["].iter().any(|list| path.starts_with(list)) =>
            {
                let name = entries[0].value.text().unwrap_or_default();
                problem.hint(format!("write only the name: `{name}`")).fix(node.span, name)
            }
            // `[python, -c, print: 1]`, which YAML reads as a map.
            Kind::Map(entries) if expected.is_text() && path.ends_with(']') && entries.len() == 1 => {
                let entry = &entries[0];
                let value = entry.value.written().unwrap_or_default();
                let text = format!("{}: {value}", entry.key);
                problem.hint(format!("put it in quotes: `\"{text}\"`; YAML reads a text with `: ` as a map"))
            }
            _ if matches!(expected, Expected::Boolean) => problem.hint("write `true` or `false`"),
            // The type and number of GPUs, as in `gpus: A100:4`.
            Kind::Scalar { text, .. } if path.rsplit('.').next() == Some("gpus") && !text.is_empty() => {
                let count = text.rsplit(':').next().filter(|count| count.parse::<u32>().is_ok()).unwrap_or("8");
                problem.hint(format!(
                    "write only the number, such as `gpus: {count}`; choose the type with `placement.nodeSelector`"
                ))
            }
            // A peer of a NetworkPolicy: `egressTo[0]`, `metrics.from[0]`.
            Kind::Scalar { text, .. }
                if expected.is_map() && ["egressTo", "from"].iter().any(|list| path.contains(&format!(".{list}["))) =>
            {
                let cidr = match (text.parse::<IpAddr>(), text.split_once('/')) {
                    (Ok(IpAddr::V4(_)), _) => format!("{text}/32"),
                    (Ok(IpAddr::V6(_)), _) => format!("\"{text}/128\""),
                    (_, Some((address, _))) if address.parse::<IpAddr>().is_ok() => quoted(text),
                    _ => {
                        let hint = "list addresses, as in `{ipBlock: {cidr: 10.1.2.3/32}}`; a NetworkPolicy cannot contain host names";
                        return problem.hint(hint);
                    }
                };
                problem.hint(format!("write `{{ipBlock: {{cidr: {cidr}}}}}`"))
            }
            Kind::Scalar { .. } if path == "spec.placement.spread" => problem.hint(
                "remove it: spreading is only preferred, so it keeps no pod from starting; to put the workers together, use \
                 `pack` or `topology`",
            ),
            // A range, as torchrun and Slurm take it: `2:8`, `2-8`.
            Kind::Scalar { text, .. } if path == "spec.workers.replicas" && range_of(text).is_some() => {
                let (min, max) = range_of(text).unwrap_or_default();
                problem
                    .hint(format!("write `replicas: {max}` and `elastic: {{minReplicas: {min}, maxReplicas: {max}}}`"))
            }
            Kind::Scalar { text, .. } if path.ends_with("runAsUser") && text == "root" => {
                problem.hint("write the id of the user: root is `0`, with `podSecurityLevel: baseline`")
            }
            _ if expected.is_number() => {
                let example = own.and_then(|(_, example)| example).map_or_else(|| "4".to_owned(), |one| flow(&one));
                problem.hint(format!("write it in digits, such as `{example}`"))
            }
            // `{name: hf}`, as Kubernetes refers to objects.
            Kind::Map(entries) if expected.is_text() => {
                let alone = |entry: &Entry| entries.len() == 1 && (entry.key.ends_with("Name") || entry.key == "value");
                let name = entries.iter().find(|entry| entry.key == "name" || alone(entry));
                match (own, name.and_then(|entry| entry.value.text())) {
                    (Some((entry, _)), Some(name)) => problem.hint(format!("write `{}: {}`", entry.key, quoted(name))),
                    (Some((entry, Some(example))), None) => {
                        let what = if example.is_array() { "a list" } else { "a string" };
                        problem.hint(format!("write {what}, such as `{}: {}`", entry.key, flow(&example)))
                    }
                    _ => problem,
                }
            }
            Kind::Scalar { .. } => match (expected, own) {
                (Expected::Word(known), _) => problem.hint(format!("it takes {}", alternatives(known))),
                (_, Some((entry, Some(example)))) => {
                    problem.hint(format!("write {}, such as `{}: {}`", expected.value(), entry.key, flow(&example)))
                }
                _ => problem.hint(format!("write {}", expected.value())),
            },
            _ => problem,
        }
    }

    /// Reports the value of the current variable if it looks like a secret, and returns whether it does. In that case,
    /// the caller must not put the value into another message.
    pub fn report_secret(&mut self, node: &Node) -> bool {
        let (Some(Step::Key(entry, ..)), Kind::Scalar { text, .. }) = (self.path.last(), &node.kind) else {
            return false;
        };
        let Some(problem) = secrets::find_secret(&entry.key, text, node.span) else { return false };
        self.push(problem);
        true
    }

    /// An example value of the current field.
    pub fn example(&self) -> Option<Json> {
        match self.path.last() {
            Some(Step::Key(_, shape, name)) => shape.example(name),
            _ => None,
        }
    }

    /// Reports a text that does not have the form that the field needs.
    pub fn invalid<T>(&mut self, node: &Node, wanted: &str, way_out: Option<WayOut>) -> Option<T> {
        self.unfit(node, &format!("is not {wanted}"), way_out)
    }

    /// Reports a text that the field does not take. In the message, `what` follows the name of the field.
    pub fn unfit<T>(&mut self, node: &Node, what: &str, way_out: Option<WayOut>) -> Option<T> {
        let path = self.path();
        let problem = invalid(node.span, format!("`{path}` {what}"), way_out);
        // A relative path starts at a directory of the image that khorovod cannot see, so an absolute path is only a guess.
        let is_guess = path == "spec.workingDir" && problem.fix.as_ref().is_some_and(|fix| fix.text.starts_with('/'));
        self.push(if is_guess { problem.by_choice() } else { problem });
        None
    }

    /// Pushes a problem at a value.
    pub fn refuse<T>(&mut self, code: &'static Code, node: &Node, message: String, hint: Option<String>) -> Option<T> {
        let mut problem = Problem::new(code, node.span, message);
        problem.hint = hint;
        self.push(problem);
        None
    }

    /// Reports `key` if it is missing in the map at `node`.
    pub fn required(&mut self, node: &Node, shape: &Shape, key: &str) {
        if node.get(key).is_some() {
            return;
        }
        let path = self.path();
        // A field of `spec` in the first column, such as `image` or `spec.image`, is reported there.
        let is_misplaced = || {
            let mut top = self.document.entries().iter();
            let is_field = |name: &str| suggestions::field_of_spec(name, shape.keys) == Some(key);
            path == "spec" && top.any(|entry| is_field(&entry.key) || entry.key.strip_prefix("spec.") == Some(key))
        };
        if self.guessed.contains(&format!("{path}.{key}")) || is_misplaced() {
            return;
        }
        let span = first_line(node);
        let message = match path.as_str() {
            "the document" => format!("`{key}` is missing"),
            _ => format!("`{path}` needs `{key}`"),
        };
        let problem = Problem::new(&MISSING_FIELD, span, message).here(format!("`{key}` belongs here"));
        let problem = match shape.example(key) {
            Some(example) => problem.hint(format!("add `{key}: {}`", flow(&example))),
            None => problem.hint(format!("add `{key}`")),
        };
        // `apiVersion` and `kind` have only one valid value each, so the user need not choose whether to apply the fix.
        let fix_is_choice = path != "the document" || !matches!(key, "apiVersion" | "kind");
        self.push(Problem { fix: self.put(node, shape, key), fix_is_choice, ..problem });
    }

    /// The edit that puts a field into a map, with the value of its example.
    fn put(&self, node: &Node, shape: &Shape, key: &str) -> Option<Fix> {
        edits::field(self.texts, node, shape.keys, key, &shape.example(key)?)
    }

    /// Reports the map at `node` if it does not have exactly one of `keys`.
    pub fn exactly_one(&mut self, node: &'n Node, shape: &Shape, keys: &[&str]) {
        let given: Vec<&Entry> = keys.iter().filter_map(|key| node.entry(key)).collect();
        let path = self.path();
        let misspelt = keys.iter().any(|key| self.guessed.contains(&format!("{path}.{key}")));
        // An elastic job cannot have groups, so the message names only `replicas`.
        let is_elastic = node.get("elastic").is_some() && given.is_empty();
        let keys = keys.get(..1).filter(|first| is_elastic && first[0] == "replicas").unwrap_or(keys);
        match given.as_slice() {
            [_] => {}
            [] if misspelt => {}
            [] => {
                let choice = if keys.len() == 1 { "" } else { "one of " };
                let message = format!("`{path}` needs {choice}{}", alternatives(keys));
                let problem = Problem::new(&CHOOSE_ONE, first_line(node), message);
                let problem = problem.hint(format!("add {choice}{}", alternatives(keys)));
                // If there are more than two keys, khorovod cannot guess which one the user meant, so there is no fix.
                let fix = if keys.len() <= 2 { self.put(node, shape, keys[0]) } else { None };
                self.push(Problem { fix, ..problem.by_choice() });
            }
            [first, others @ ..] => {
                let message = format!("`{path}` takes only one of {}", alternatives(keys));
                let mut problem = Problem::new(&CHOOSE_ONE, first.key_span, message).here("this one");
                for other in others {
                    problem = problem.and(other.key_span, "or this one");
                }
                self.push(problem.hint("keep one of them"));
            }
        }
    }
}

/// The first key of a map, or the value itself: the place to mark for a field that is missing.
fn first_line(node: &Node) -> Span {
    node.entries().first().map_or(node.span, |entry| entry.key_span)
}

fn ambiguous(path: &str, span: Span, text: &str, trap: Trap, expected: Expected) -> Problem {
    let what = match trap {
        Trap::Word(_) => "a boolean for some readers of YAML and a string for others",
        Trap::Special => "not a number for every reader of YAML",
        _ if expected.takes_text(text) => {
            "one number for some readers of YAML, and another number or a string for others"
        }
        _ => "not a number for every reader of YAML",
    };
    let in_quotes = || Some(format!("\"{text}\""));
    let (hint, fix) = match (trap, expected) {
        (Trap::Word(value), Expected::Boolean) => (format!("write `{value}`"), Some(value.to_string())),
        (Trap::Word(_), _) if expected.takes_text(text) => (format!("put it in quotes: `\"{text}\"`"), in_quotes()),
        (Trap::Special, _) if expected.takes_text(text) => {
            (format!("write it in decimal digits, or in quotes: `\"{text}\"`"), in_quotes())
        }
        _ if expected.takes_text(text) => {
            (format!("write decimal digits, or put it in quotes: `\"{text}\"`"), in_quotes())
        }
        (Trap::Word(_), _) => (format!("give it {}", expected.value()), None),
        _ if text.len() > 18 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            ("write a smaller number".to_owned(), None)
        }
        _ if expected.is_number() => ("write it in decimal digits".to_owned(), None),
        _ => (format!("give it {}", expected.value()), None),
    };
    let problem = Problem::new(&AMBIGUOUS, span, format!("`{path}`: `{text}` is {what}")).hint(hint);
    Problem { fix: fix.map(|text| Fix { span, text }), ..problem }
}

/// Reports each value of a document, at any depth, that YAML parsers read differently. This function is for documents
/// that are converted to JSON without a check of their fields.
pub fn refuse_ambiguous(node: &Node, path: &str, problems: &mut Vec<Problem>) {
    match &node.kind {
        Kind::Scalar { text, .. } => {
            if let Some(Scalar::Trap(trap)) = node.scalar() {
                problems.push(ambiguous(path, node.span, text, trap, Expected::Scalar));
            }
        }
        Kind::List(items) => {
            for (index, item) in items.iter().enumerate() {
                refuse_ambiguous(item, &format!("{path}[{index}]"), problems);
            }
        }
        Kind::Map(entries) => {
            let dot = if path.is_empty() { "" } else { "." };
            for entry in entries {
                refuse_ambiguous(&entry.value, &format!("{path}{dot}{}", entry.key), problems);
            }
        }
    }
}

/// The correction of a wrong value.
#[derive(Debug)]
pub enum WayOut {
    /// The correct value.
    Write(String),
    /// A correct value, and a sentence about another possible one.
    WriteOr(String, String),
    /// Advice in words.
    Advice(String),
}

/// A problem of a text in the wrong format, with the correction.
pub fn invalid(span: Span, message: String, way_out: Option<WayOut>) -> Problem {
    let problem = Problem::new(&INVALID_VALUE, span, message);
    match way_out {
        Some(WayOut::Write(text)) => problem.hint(format!("write `{text}`")).fix(span, quoted(&text)),
        Some(WayOut::WriteOr(text, other)) => problem.hint(format!("write `{text}`; {other}")).fix(span, quoted(&text)),
        Some(WayOut::Advice(hint)) => problem.hint(hint),
        None => problem,
    }
}
