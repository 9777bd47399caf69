//! Puts the fields of TrainingJobs into the canonical order. See [`format()`].

use std::collections::HashMap;
use std::ops::Range;

use super::recognise::{self, Expected, Found};
use crate::api::Text;
use crate::job;
use crate::problem::{Problems, Severity, Span, line_start};
use crate::yaml::path::of_key;
use crate::yaml::{self, Entry, Kind, Node};

/// The fields of each map in the order of their declarations, by the path of the map. Items of lists have the path of the list.
type Order = HashMap<String, Vec<&'static str>>;

/// Puts the fields of every TrainingJob of a stream into the order of their declarations, as in `docs/fields.md`. A
/// comment moves together with the field on the same line, or else with the field below the comment. Values, maps in
/// flow style, maps whose keys the user chooses, and other documents stay unchanged. Returns the problems of a text
/// that is not valid YAML.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Text, format};
///
/// let spec = "\
/// kind: TrainingJob
/// apiVersion: khorovod.dev/v1alpha1
/// spec:
///   workers: {gpus: 8, replicas: 4}
///   ## The newest one.
///   image: a:1
/// ";
/// let text = Text { name: "job.yaml".to_owned(), text: spec.to_owned() };
/// let expected = "\
/// apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// spec:
///   ## The newest one.
///   image: a:1
///   workers: {gpus: 8, replicas: 4}
/// ";
/// assert_eq!(format(&text).unwrap(), expected);
/// ```
pub fn format(text: &Text) -> Result<String, Problems> {
    let mut order = Order::new();
    job::fields(&mut |parent, key| order.entry(parent.to_owned()).or_default().push(key));
    let mut problems = Problems::default();
    let source = problems.sources.add(&text.name, text.text.clone());
    let (mut formatted, mut end, mut seen) = (String::with_capacity(text.text.len()), 0, 0);
    for piece in yaml::pieces(&text.text) {
        let Range { start, end: piece_end } = piece.body;
        let span = Span { source, start, end: piece_end };
        let body = &text.text[start..piece_end];
        let found = recognise::find(body, span, Expected::Jobs, &mut problems.list, &mut seen);
        formatted += &text.text[end..start];
        end = piece_end;
        match found {
            Found::Job(document) => formatted += &format_document(body, start, &document, &order),
            Found::Invalid | Found::Other => formatted += body,
        }
    }
    problems.list.retain(|problem| problem.severity == Severity::Error);
    if problems.list.is_empty() { Ok(formatted + &text.text[end..]) } else { Err(problems) }
}

/// Formats one document. Returns it unchanged if the new order would change its value, for example if an alias would
/// come before its anchor.
fn format_document(body: &str, offset: usize, document: &Node, order: &Order) -> String {
    let end = if body.ends_with('\n') || body.is_empty() { "" } else { "\n" };
    let text = [body, end].concat();
    let editor = Formatter { text: &text, offset, order };
    let first = editor.start(document);
    let formatted = [&text[..first], &editor.value(document, "", first..text.len())].concat();
    let span = Span { source: 0, start: 0, end: formatted.len() };
    let parsed = yaml::parse(&formatted, span, &mut Vec::new()).ok().flatten();
    // The order of the keys does not matter to this comparison.
    if parsed.is_some_and(|parsed| parsed.to_exact_json() == document.to_exact_json()) { formatted } else { text }
}

struct Formatter<'t> {
    text: &'t str,
    /// The byte offset of `text` in the source that spans refer to.
    offset: usize,
    order: &'t Order,
}

impl Formatter<'_> {
    fn start(&self, node: &Node) -> usize {
        node.span.start - self.offset
    }

    /// The end of the line that contains a position, with the line end.
    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |length| at + length + 1)
    }

    /// The number of bytes before a position in its line. None if the line has other text than spaces before the
    /// position.
    fn column(&self, at: usize) -> Option<usize> {
        let line = line_start(self.text, at);
        self.text[line..at].bytes().all(|byte| byte == b' ').then_some(at - line)
    }

    /// The text of `range`, with the value in it formatted.
    fn value(&self, node: &Node, path: &str, range: Range<usize>) -> String {
        let inside = node.span.start >= self.offset && range.contains(&self.start(node));
        let formatted = match &node.kind {
            Kind::Map(entries) if inside => self.map(node, entries, path, range.clone()),
            Kind::List(items) if inside && !self.text[self.start(node)..].starts_with('[') => {
                Some(self.list(items, path, range.clone()))
            }
            _ => None,
        };
        formatted.unwrap_or_else(|| self.text[range].to_owned())
    }

    fn list(&self, items: &[Node], path: &str, range: Range<usize>) -> String {
        let (mut text, mut end) = (String::new(), range.start);
        for (index, item) in items.iter().enumerate() {
            let start = self.start(item);
            // An item that is an alias has the span of a value at another place. It is copied unchanged, with the text
            // before the next item.
            if start < end || start >= range.end {
                continue;
            }
            let next = items.get(index + 1).map_or(range.end, |next| {
                self.text[..self.start(next).min(range.end)].rfind('\n').map_or(range.end, |end| end + 1)
            });
            text += &self.text[end..start];
            text += &self.value(item, path, start..next.max(start));
            end = next.max(start);
        }
        text + &self.text[end..range.end]
    }

    /// Formats a map in block style. None if it is in flow style or cannot be ordered.
    fn map(&self, node: &Node, entries: &[Entry], path: &str, range: Range<usize>) -> Option<String> {
        let key_start = |entry: &Entry| entry.key_span.start.checked_sub(self.offset).filter(|at| range.contains(at));
        if key_start(entries.first()?)? != self.start(node) {
            return None;
        }
        let (first, others) = entries.split_first()?;
        let first_column = key_start(first)? - line_start(self.text, key_start(first)?);
        let (mut starts, mut before) = (vec![range.start], first);
        for entry in others {
            starts.push(self.end_of_entry(before, self.column(key_start(entry)?)?));
            before = entry;
        }
        // Comments and empty lines at the end of the map stay at the end.
        let end = self.end_of_entry(before, first_column).min(range.end);
        let ends = starts.iter().skip(1).copied().chain([end]);
        let known = self.order.get(path).map_or(&[][..], Vec::as_slice);
        let mut chunks = Vec::new();
        for ((entry, start), end) in entries.iter().zip(&starts).zip(ends) {
            let rank = known.iter().position(|key| *key == entry.key).unwrap_or(usize::MAX);
            chunks.push((rank, self.entry(entry, path, *start..end)?));
        }
        let tail = &self.text[end..range.end];
        let in_order = chunks.is_sorted_by_key(|(rank, _)| *rank);
        if !in_order {
            // If the map is an item of a list, its first key follows the hyphen, so the text of the first entry has no
            // indentation. Add the indentation before the entries are sorted, and remove it from the new first entry. In
            // other maps, comments before the first key stay at the top of the document.
            let column = if range.start == self.start(node) { first_column } else { 0 };
            chunks[0].1.insert_str(0, &" ".repeat(column));
            chunks.sort_by_key(|(rank, _)| *rank);
            let first = chunks[0].1.trim_start_matches(['\n', '\r']);
            chunks[0].1 =
                if column == 0 { first.to_owned() } else { first.strip_prefix(&" ".repeat(column))?.to_owned() };
            // A comment cannot follow the hyphen of a list item.
            if column > 0 && chunks[0].1.starts_with([' ', '#']) {
                return None;
            }
        }
        Some(chunks.into_iter().map(|(_, chunk)| chunk).collect::<String>() + tail)
    }

    /// The end of an entry, including the comments that belong to it: a comment in its last line, and comments below it
    /// that start after `column`, the column of its map.
    fn end_of_entry(&self, entry: &Entry, column: usize) -> usize {
        let key = entry.key_span.end - self.offset;
        let value = entry.value.span.end.saturating_sub(self.offset).clamp(key, self.text.len());
        // The span of a block scalar contains the empty lines after it.
        let mut end = self.line_end(self.text[..value].trim_end().len().max(key));
        loop {
            let next = self.line_end(end);
            let line = &self.text[end..next];
            let indent = line.len() - line.trim_start_matches(' ').len();
            if end == next || indent <= column || !line[indent..].starts_with('#') {
                return end;
            }
            end = next;
        }
    }

    /// The text of an entry, with its value formatted.
    fn entry(&self, entry: &Entry, path: &str, range: Range<usize>) -> Option<String> {
        let below = self.line_end(entry.key_span.end - self.offset);
        let value = entry.value.span.start.checked_sub(self.offset)?;
        // The comments before the first field below the key belong to that field.
        let start = if value >= below { below } else { value };
        if !range.contains(&start) {
            return Some(self.text[range].to_owned());
        }
        let formatted = self.value(&entry.value, &of_key(path, &entry.key), start..range.end);
        Some([&self.text[range.start..start], &formatted].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(spec: &str) -> String {
        let head = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\n";
        let text = Text { name: "job.yaml".to_owned(), text: format!("{head}{spec}") };
        let once = format(&text).unwrap_or_else(|problems| panic!("{problems:?}"));
        let again = format(&Text { text: once.clone(), ..text }).unwrap();
        assert_eq!(once, again, "formatting is not stable");
        once.strip_prefix(head).unwrap_or(&once).to_owned()
    }

    #[test]
    fn comments_move_with_their_fields() {
        let spec = "\
# The job.
spec:
  # Not too many.
  workers: # all of them
    gpus: 8 # A100
    # Four
    # nodes.
    replicas: 4
    # No more workers.

  # This image.
  image: a:1
metadata: {name: mnist}
";
        let expected = "\
metadata: {name: mnist}
# The job.
spec:
  # This image.
  image: a:1
  # Not too many.
  workers: # all of them
    # Four
    # nodes.
    replicas: 4
    gpus: 8 # A100
    # No more workers.
";
        assert_eq!(formatted(spec).replace("\n\n", "\n"), expected);
    }

    #[test]
    fn items_of_lists_are_ordered_too() {
        let spec = "\
metadata: {name: mnist}
spec:
  storage:
  - mountPath: /data
    name: data
    claim:
      storageClassName: fast
      size: 1Ti
  # For results.
  - name: out
    mountPath: /out
    emptyDir: {}
";
        let expected =
            spec.replace("  - mountPath: /data\n    name: data\n", "  - name: data\n    mountPath: /data\n").replace(
                "      storageClassName: fast\n      size: 1Ti\n",
                "      size: 1Ti\n      storageClassName: fast\n",
            );
        assert_eq!(formatted(spec), expected);
    }

    #[test]
    fn values_and_names_stay_as_they_are() {
        for spec in [
            "spec:\n  image: a:1\n  env:\n    B: b\n    A: a\n",
            "spec: {workers: {gpus: 8, replicas: 4}, image: a:1}\n",
            "spec:\n  image: a:1\n  command:\n  - |\n    workers: b\n    image: a\n\n  args: [x]\n",
            // An anchor must come before its alias, so this order must not change.
            "spec:\n  args: &a [x]\n  image: a:1\n  command: *a\n",
        ] {
            let text = format!("metadata: {{name: mnist}}\n{spec}");
            assert_eq!(formatted(&text), text);
        }
    }

    #[test]
    fn blocks_of_text_and_windows_lines_move_as_a_whole() {
        let spec = "spec:\r\n  command: |\r\n    a\r\n\r\n    b\r\n  image: a:1\r\n";
        assert_eq!(formatted(spec), "spec:\r\n  image: a:1\r\n  command: |\r\n    a\r\n\r\n    b\r\n");
        assert_eq!(formatted("spec:\n  args: [x]\n  image: a:1"), "spec:\n  image: a:1\n  args: [x]\n");
    }

    #[test]
    fn other_documents_pass_through() {
        let other = "kind: ConfigMap\napiVersion: v1\n";
        let job = "kind: TrainingJob\napiVersion: khorovod.dev/v1alpha1\n";
        let text = Text { name: "all.yaml".to_owned(), text: format!("{other}---\n{job}\n---\n{other}") };
        let sorted = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\n";
        assert_eq!(format(&text).unwrap(), format!("{other}---\n{sorted}\n---\n{other}"));
        let broken = Text { text: format!("{job}spec: [\n"), ..text };
        assert!(format(&broken).is_err());
    }
}
