//! Checks the fields of patches: finds fields that Kubernetes does not have, and values that a field does not take. See
//! [`check`].

use super::{BROKEN_PATCH, UNKNOWN_PATCH_FIELD};
use crate::job::{alternatives, meant_quantity, nearest};
use crate::kubernetes::field_types::{Struct, Type};
use crate::problem::Problem;
use crate::yaml::flow::quoted;
use crate::yaml::{Entry, Kind, Node, Scalar};

/// Returns the problems of the fields of a patch. `kind` is the kind of the patched object. An unknown field or word is
/// reported only if it is similar to a known one: otherwise it may belong to a newer Kubernetes. In a custom resource, only
/// the pod templates are checked, because its other fields are not known.
pub fn check(patch: &Node, kind: &str) -> Vec<Problem> {
    let mut search = Search { kind, path: Vec::new(), is_item: false, problems: Vec::new() };
    match Struct::find(kind) {
        Some(of) => search.fields(patch, of),
        None => search.templates(patch),
    }
    if let Some(entry) = patch.entry("status") {
        let message = "`status` has no effect in a patch: only controllers write it";
        search.problems.push(Problem::new(&UNKNOWN_PATCH_FIELD, entry.key_span, message).hint("remove it"));
    }
    search.problems
}

struct Search<'p> {
    kind: &'p str,
    path: Vec<&'p str>,
    /// Whether the value is an item of the list at the path.
    is_item: bool,
    problems: Vec<Problem>,
}

impl<'p> Search<'p> {
    /// Checks the templates of pods in a custom resource.
    fn templates(&mut self, part: &'p Node) {
        for entry in part.entries() {
            self.path.push(&entry.key);
            match Struct::find("Pod") {
                // If the `spec` of a template contains a template, the outer one is not a pod template. For example, it may
                // be the template of a Job.
                Some(pod)
                    if entry.key == "template"
                        && entry.value.get("spec").is_none_or(|spec| spec.get("template").is_none()) =>
                {
                    self.fields(&entry.value, pod);
                }
                _ => self.templates(&entry.value),
            }
            self.path.pop();
        }
        part.items().iter().for_each(|item| self.templates(item));
    }

    fn fields(&mut self, part: &'p Node, of: Struct) {
        for entry in part.entries().iter().filter(|entry| !entry.key.starts_with('$')) {
            match of.field(&entry.key) {
                Some(of) => self.below(entry, of),
                None => self.unknown(entry, of),
            }
        }
    }

    fn unknown(&mut self, entry: &Entry, of: Struct) {
        let Some(near) = nearest(&entry.key, of.fields().map(|(name, _)| name)) else { return };
        let what = match self.path.last() {
            Some(last) => format!("`{last}`"),
            None => self.kind.to_owned(),
        };
        let message = format!("{what} has no field `{}`: Kubernetes refuses or ignores it", entry.key);
        let problem = Problem::new(&UNKNOWN_PATCH_FIELD, entry.key_span, message);
        self.problems.push(problem.hint(format!("did you mean `{near}`?")).fix(entry.key_span, near));
    }

    fn below(&mut self, entry: &'p Entry, of: Type) {
        self.path.push(&entry.key);
        self.is_item = false;
        self.value(&entry.value, of);
        self.path.pop();
    }

    fn value(&mut self, part: &'p Node, of: Type) {
        // In a patch, `null` removes the field.
        if part.scalar() == Some(Scalar::Null) {
            return;
        }
        match (of, &part.kind) {
            (Type::Fields(of), Kind::Map(_)) => self.fields(part, of),
            (Type::Map(of), Kind::Map(entries)) => {
                let of = Type::parse(of);
                entries.iter().filter(|entry| !entry.key.starts_with('$')).for_each(|entry| self.below(entry, of));
            }
            (Type::List(of), Kind::List(items)) => {
                let of = Type::parse(of);
                for item in items {
                    let name = item.get("name").and_then(Node::text);
                    self.path.extend(name);
                    self.is_item = true;
                    self.value(item, of);
                    self.path.truncate(self.path.len() - usize::from(name.is_some()));
                }
            }
            _ => self.problems.extend(self.mismatch(part, of)),
        }
    }

    /// The problem of a value that is not of a type.
    fn mismatch(&self, part: &Node, of: Type) -> Option<Problem> {
        let path = self.path.join(".");
        let at = format!("{}`{path}` of a {}", if self.is_item { "an item of " } else { "" }, self.kind);
        let text = part.written().unwrap_or_default();
        let wanted = match (of, part.scalar()) {
            (Type::Any, _)
            | (Type::Boolean, Some(Scalar::Bool(_)))
            | (Type::Integer | Type::Port, Some(Scalar::Int(_)))
            | (Type::Number | Type::Quantity, Some(Scalar::Int(_) | Scalar::Float(_)))
            | (Type::Text | Type::Port, Some(Scalar::Text(_))) => return None,
            (Type::Quantity, Some(Scalar::Text(text))) if is_quantity(text) => return None,
            (Type::Word(words), Some(Scalar::Text(text))) => {
                let words: Vec<&str> = words.split('|').collect();
                if words.contains(&text) {
                    return None;
                }
                let near = nearest(text, words.iter().copied());
                let message = format!("{at} does not take `{text}`");
                let problem = Problem::new(&UNKNOWN_PATCH_FIELD, part.span, message);
                let problem = problem.hint(format!("it takes {}", alternatives(&words)));
                return Some(near.into_iter().fold(problem, |problem, near| problem.fix(part.span, near)));
            }
            (Type::Boolean, _) => "a boolean",
            (Type::Integer, _) => "an integer",
            (Type::Number, _) => "a number",
            (Type::Text | Type::Word(_), _) => "a string",
            (Type::Quantity, _) => "a quantity",
            (Type::Port, _) => "a number or a name",
            (Type::List(of), _) if matches!(Type::parse(of), Type::Fields(_)) => "a list of maps",
            (Type::List(_), _) => "a list",
            (Type::Map(_) | Type::Fields(_), _) => "a map",
        };
        let given = match (of, part.scalar()) {
            (Type::Quantity, Some(Scalar::Text(text))) => format!("`{text}`"),
            _ => part.describe().to_owned(),
        };
        let message = format!("{at} is {wanted}, but the patch has {given}");
        let problem = Problem::new(&BROKEN_PATCH, part.span, message);
        let write = |problem: Problem, new: &str| problem.hint(format!("write `{new}`")).fix(part.span, new.to_owned());
        let plain = |is_it: fn(&Scalar<'_>) -> bool| {
            matches!(part.scalar(), Some(Scalar::Text(_))) && is_it(&Scalar::plain(text))
        };
        let first = match of {
            Type::List(of) | Type::Map(of) => match Type::parse(of) {
                Type::Fields(of) => of
                    .fields()
                    .map(|(name, _)| name)
                    .find(|name| *name == "name")
                    .or_else(|| of.fields().next().map(|(name, _)| name)),
                _ => None,
            },
            Type::Fields(of) => of.fields().map(|(name, _)| name).find(|name| *name == "name"),
            _ => None,
        };
        Some(match (of, &part.kind) {
            (Type::Boolean, Kind::Scalar { .. }) if plain(|scalar| matches!(scalar, Scalar::Bool(_))) => {
                write(problem, text)
            }
            (Type::Boolean, _) => problem.hint("write `true` or `false`"),
            (Type::Integer | Type::Number, Kind::Scalar { .. }) if plain(|scalar| matches!(scalar, Scalar::Int(_))) => {
                problem.hint(format!("write it without quotes: `{text}`")).fix(part.span, text)
            }
            (Type::Integer, _) if path.contains("Seconds") => problem.hint("write the number of seconds, such as `60`"),
            (Type::Integer | Type::Number, _) => problem.hint("write it in digits"),
            (Type::Text | Type::Word(_), Kind::Scalar { .. }) => {
                let text = format!("\"{text}\"");
                problem.hint(format!("put it in quotes: `{text}`")).fix(part.span, text)
            }
            (Type::Quantity, _) => match meant_quantity(text) {
                Some(meant) => write(problem, &meant),
                None => problem.hint("write a quantity such as `500m` or `64Gi`"),
            },
            (Type::List(_), Kind::Scalar { .. }) if first.is_none() => write(problem, &format!("[{}]", quoted(text))),
            (Type::List(_), Kind::Map(entries)) if !entries.is_empty() => problem.hint(
                "put the map into a list: `- ` before its first line, and its other lines indented by two spaces",
            ),
            (Type::List(_), _) => match first {
                Some(first) => problem.hint(format!("write a list of maps, such as `[{{{first}: …}}]`")),
                None => problem.hint("write a list, such as `[a, b]`"),
            },
            (Type::Fields(_), Kind::Scalar { .. }) if first == Some("name") => {
                write(problem, &format!("{{name: {}}}", quoted(text)))
            }
            (Type::Fields(of), _) => {
                let names: Vec<&str> = of.fields().map(|(name, _)| name).take(8).collect();
                problem.hint(format!("write a map with fields such as {}", alternatives(&names)))
            }
            (Type::Map(_), Kind::List(_)) => problem.hint("write `key: value` instead of a list"),
            _ => problem.hint(format!("write {wanted}")),
        })
    }
}

/// Whether Kubernetes reads a text as a quantity.
fn is_quantity(text: &str) -> bool {
    let number = text.trim_start_matches(['+', '-']);
    let digits = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let (number, suffix) = number.split_at(digits);
    let is_exponent = || suffix.strip_prefix(['e', 'E']).is_some_and(|power| power.parse::<i8>().is_ok());
    number.contains(|c: char| c.is_ascii_digit())
        && number.matches('.').count() < 2
        && (["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].contains(&suffix)
            || is_exponent())
}
