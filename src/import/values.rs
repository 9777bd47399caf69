//! Reads the values of a job into one tree: YAML of charts, manifests and MPIJobs, parameters of ksonnet, and the
//! settings of `--set`.

use crate::api::{Options, System};
use crate::codes::BAD_VALUE;
use crate::from::openmpi;
use crate::{detect, manifest, placeholders};
use khorovod_compiler::Text;
use khorovod_compiler::problem::{Problem, Problems, Span};
use khorovod_compiler::yaml::{self, Kind, Node};

/// Reads the texts of one job and merges them as Helm does: a later text overrides an earlier one, and a setting
/// overrides all texts. Returns None if `found` contains an error.
pub fn read(system: System, texts: &[Text], options: &Options, found: &mut Problems) -> Option<Node> {
    let mut whole: Option<Node> = None;
    let empty = || Node { span: Span::default(), kind: Kind::Map(Vec::new()) };
    let sets = options.sets.iter().flat_map(|sets| settings(sets));
    let sets: Vec<Text> = sets.map(|set| Text { name: format!("--set {set}"), text: set.to_owned() }).collect();
    for (index, text) in texts.iter().enumerate() {
        let source = u32::try_from(index).unwrap_or(u32::MAX);
        let span = Span { source, start: 0, end: text.text.len() };
        let read = match system {
            _ if system.kind().is_some() => {
                Ok(manifest::stream(&text.text, span, system.kind().unwrap_or_default(), &mut found.list))
            }
            System::KubeflowOpenmpi => Ok(openmpi::parameters::read(&text.text, span, &mut found.list)),
            // `helm get values` prints such a text for a release without values.
            System::StableHorovod | System::ElasticHorovod if no_values(&text.text) => Ok(Some(empty())),
            _ if several(&text.text, span, &mut found.list) => Err(yaml::Unreadable),
            _ => yaml::parse(&text.text, span, &mut found.list),
        };
        match read {
            Ok(Some(node)) if matches!(node.kind, Kind::Map(_)) => match &mut whole {
                Some(whole) => yaml::merge(whole, node),
                None => whole = Some(node),
            },
            Ok(Some(node)) => {
                let message = format!("{} is {}, not a map of values", text.name, node.describe());
                found.list.push(
                    Problem::new(&BAD_VALUE, node.span, message).hint("import the file that contains the values"),
                );
            }
            Ok(None) | Err(yaml::Unreadable) => {}
        }
    }
    let mut whole = whole.unwrap_or_else(empty);
    for setting in sets {
        let source = found.sources.add(&setting.name, setting.text.clone());
        set(&mut whole, &setting.text, source, &mut found.list);
    }
    if !found.any_error() {
        placeholders::check(&whole, options, &mut found.list);
    }
    (!found.any_error()).then_some(whole)
}

/// Returns whether a text has more than one YAML document. If it has, pushes a problem.
fn several(text: &str, span: Span, problems: &mut Vec<Problem>) -> bool {
    let bodies = yaml::pieces(text).into_iter().map(|piece| piece.body);
    let mut starts = bodies.filter_map(|body| Some(body.start + detect::content(&text[body])?));
    let Some(second) = starts.nth(1) else { return false };
    let at = Span { start: second, end: second + 1, ..span };
    let message = "a second document begins here, but one document is one job";
    problems.push(Problem::new(&BAD_VALUE, at, message).hint("put each document into its own file"));
    true
}

/// Whether all values are empty maps, as in `worker: {}`.
pub fn only_headings(values: &Node) -> bool {
    let Kind::Map(entries) = &values.kind else { return false };
    entries.iter().all(|entry| matches!(&entry.value.kind, Kind::Map(below) if below.is_empty()))
}

/// Whether a text is only `null`, with or without a heading such as `USER-SUPPLIED VALUES:`.
fn no_values(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.ends_with("VALUES:"));
    lines.eq(["null"])
}

/// Splits the argument of one `--set` into its settings, which are separated by commas. A comma is part of a value if
/// no `PATH=` follows it, or if a backslash precedes it.
fn settings(sets: &str) -> Vec<&str> {
    let begins = |rest: &str| {
        let path = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_-./\\[]".contains(c));
        path.is_some_and(|end| end > 0 && rest[end..].starts_with('='))
    };
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in sets.match_indices(',') {
        if !sets[..at].ends_with('\\') && begins(&sets[at + 1..]) {
            found.push(&sets[start..at]);
            start = at + 1;
        }
    }
    found.push(&sets[start..]);
    found
}

/// Sets one `PATH=VALUE` in the values.
fn set(whole: &mut Node, setting: &str, source: u32, problems: &mut Vec<Problem>) {
    let Some((path, value)) = setting.split_once('=') else {
        let span = Span { source, start: 0, end: setting.len() };
        return problems
            .push(Problem::new(&BAD_VALUE, span, "`--set` takes PATH=VALUE").hint("write `--set worker.number=8`"));
    };
    let at = Span { source, start: 0, end: path.len() };
    let behind = Span { source, start: path.len() + 1, end: setting.len() };
    let node = match braced(value, behind) {
        Some(list) => Ok(Some(list)),
        None => yaml::parse(value, behind, problems),
    };
    let Ok(node) = node else { return };
    let node = node.unwrap_or(Node { span: behind, kind: Kind::Scalar { text: String::new(), plain: false } });
    if let Err(why) = yaml::set(whole, path, at, node) {
        problems.push(Problem::new(&BAD_VALUE, at, why).hint("write a path such as `worker.image.tag`"));
    }
}

/// Reads `{a,b}`, which is a list in the syntax of `helm --set`. None for any other text.
fn braced(value: &str, span: Span) -> Option<Node> {
    let inner = value.trim().strip_prefix('{')?.strip_suffix('}')?;
    let items = inner.split(',').filter(|_| !inner.is_empty());
    let scalar = |text: &str| Node { span, kind: Kind::Scalar { text: text.trim().to_owned(), plain: true } };
    Some(Node { span, kind: Kind::List(items.map(scalar).collect()) })
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn settings_are_separated_by_commas_as_in_helm() {
        assert_eq!(settings("worker.number=8,worker.image.tag=x"), ["worker.number=8", "worker.image.tag=x"]);
        assert_eq!(settings("a={x,y},b[0].c=1"), ["a={x,y}", "b[0].c=1"]);
        assert_eq!(settings("a=x\\,b=1"), ["a=x\\,b=1"]);
        assert_eq!(settings("worker.number"), ["worker.number"]);
    }
}
