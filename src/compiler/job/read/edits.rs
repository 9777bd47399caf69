//! Edits of the text of a spec, for automatic fixes: they insert a missing field at its usual place, with the right
//! indentation. This is the only part of the reader that depends on the layout of the text.

use serde_json::Value as Json;

use crate::problem::{Fix, Span, line_start};
use crate::yaml::flow::flow;
use crate::yaml::{Entry, Kind, Node, Scalar};

/// The texts that spans point into.
pub trait Texts {
    /// The whole text that contains a place.
    fn around(&self, place: Span) -> &str;
}

/// A single text, which contains every place.
impl Texts for &str {
    fn around(&self, _: Span) -> &str {
        self
    }
}

/// Inserts the field `key` into the map at `node`. `order` lists the fields of the map in their usual order; the new field comes
/// after the last existing field that precedes it in this list. Returns nothing if the text of the map is elsewhere, as with an
/// alias.
pub fn field(texts: &dyn Texts, node: &Node, order: &[&str], key: &str, value: &Json) -> Option<Fix> {
    let Kind::Map(entries) = &node.kind else { return None };
    let text = texts.around(node.span);
    let entries: Vec<_> = entries.iter().filter(|entry| entry.key_span.within(node.span)).collect();
    let rank = |key: &str| order.iter().position(|known| *known == key);
    // If the map has an unknown key, this key may be a misspelling of the missing field.
    if entries.iter().any(|entry| rank(&entry.key).is_none()) {
        return None;
    }
    // The value of a field that an overlay sets is not in this text.
    let own = entries.iter().filter(|entry| entry.value.span.within(node.span));
    let before = own.filter(|entry| rank(&entry.key) < rank(key)).max_by_key(|entry| rank(&entry.key));
    let insert = |at: usize, text: String| Some(Fix { span: Span { start: at, end: at, ..node.span }, text });
    let first = entries.first().map(|entry| entry.key_span.start);
    if text.get(node.span.start..)?.starts_with('{') {
        let json = first.is_some_and(|at| text[at..].starts_with('"'));
        let written = if json { format!("\"{key}\": {value}") } else { format!("{key}: {}", flow(value)) };
        return match (before, first) {
            (Some(entry), _) => insert(entry.value.span.end, format!(", {written}")),
            (None, Some(first)) => insert(first, format!("{written}, ")),
            (None, None) => insert(node.span.start + 1, written),
        };
    }
    let first = first?;
    let indent = indent(text, first)?;
    let written = block(key, value, &indent);
    match before {
        None => insert(first, format!("{written}\n{indent}")),
        Some(entry) => {
            // The span of a block scalar also contains the line break at its end.
            let end = text[..entry.value.span.end].trim_end().len();
            let line = end + text[end..].find('\n').unwrap_or(text.len() - end);
            let (line, newline) = if text[..line].ends_with('\r') { (line - 1, "\r\n") } else { (line, "\n") };
            insert(line, format!("{newline}{indent}{written}"))
        }
    }
}

/// Moves `entry` from the map `parent` into the map `section` below it, and changes the key and the value of the entry:
/// `numNodes: 4` becomes `workers: {replicas: 4}`. Adds the map `section` if it is missing. Returns nothing if the entry
/// shares a line with other text.
pub fn moved(
    texts: &dyn Texts,
    parent: &Node,
    entry: &Entry,
    (section, key): (&str, &str),
    order: &[&str],
    value: &Json,
) -> Option<Fix> {
    let (text, own) = (texts.around(entry.key_span), entry.value.span);
    if own.source != entry.key_span.source || own.end <= entry.key_span.start {
        return None;
    }
    let Some(there) = parent.entry(section) else {
        let span = Span { end: own.end, ..entry.key_span };
        let is_json = text[span.start..].starts_with('"');
        return (!is_json).then(|| Fix { span, text: format!("{section}: {{{key}: {}}}", flow(value)) });
    };
    let insertion = field(texts, &there.value, order, key, value).filter(|_| there.value.get(key).is_none())?;
    let line = line_start(text, entry.key_span.start);
    let end = own.end + text[own.end..].find('\n')? + 1;
    let is_alone = text[line..entry.key_span.start].trim().is_empty() && text[own.end..end].trim().is_empty();
    if !is_alone || insertion.span.source != own.source {
        return None;
    }
    let at = insertion.span.start;
    let (span, text) = match at <= line {
        true => (at..end, [&insertion.text, &text[at..line]].concat()),
        // The insertion point is below the entry's line, or at the end of the line itself.
        false => (line..at, [&text[end..at.max(end)], &insertion.text].concat()),
    };
    Some(Fix { span: Span { start: span.start, end: span.end, ..own }, text })
}

/// Moves `entry` from the map `parent`, which is a field of the document, to the top of the document, below `parent`. Returns nothing
/// if the entry is not a map in block style.
pub fn to_top(texts: &dyn Texts, parent: &Node, entry: &Entry) -> Option<Fix> {
    let (text, own) = (texts.around(entry.key_span), entry.value.span);
    let is_block = !entry.value.entries().is_empty() && own.within(parent.span) && own.start > entry.key_span.end;
    let line = text[..entry.key_span.start].rfind('\n')? + 1;
    let indent = &text[line..entry.key_span.start];
    if !is_block || indent.is_empty() || !indent.bytes().all(|byte| byte == b' ') {
        return None;
    }
    let (end, last) = (line_end(text, own.end), line_end(text, parent.span.end));
    let after = text.get(end..last).filter(|after| after.is_empty() || after.ends_with('\n'))?;
    // The user may be about to continue the block in a line that has only its indentation yet.
    let blank = text[last..].len() - text[last..].trim_start_matches([' ', '\r', '\n']).len();
    let blank =
        if last + blank == text.len() { blank } else { text[last..last + blank].rfind('\n').map_or(0, |at| at + 1) };
    let moved = [&text[line..end], &text[last..last + blank]].concat();
    let moved =
        moved.split_inclusive('\n').map(|line| line.strip_prefix(indent).unwrap_or(line.trim_start_matches(' ')));
    Some(Fix {
        span: Span { start: line, end: last + blank, ..own },
        text: after.chars().chain(moved.flat_map(str::chars)).collect(),
    })
}

/// Moves `entry`, which a map in `section` contains, out of it: behind `section`, with the same indentation. Returns nothing if the
/// map in `section` is not in block style, or has no other field.
pub fn out_of(texts: &dyn Texts, section: &Entry, entry: &Entry) -> Option<Fix> {
    let (text, own, value) = (texts.around(entry.key_span), entry.key_span, entry.value.span);
    let is_block = own.within(section.value.span) && value.within(section.value.span) && value.start > own.end;
    let first = section.value.entries().first()?.key_span.start;
    if !is_block || section.value.entries().len() < 2 || text.get(section.key_span.end..first)?.contains('{') {
        return None;
    }
    let less = indent(text, own.start)?.len().checked_sub(indent(text, section.key_span.start)?.len())?;
    let line = line_start(text, own.start);
    if !text[line..own.start].bytes().all(|byte| byte == b' ') {
        return None;
    }
    let (end, last) = (line_end(text, value.end), line_end(text, section.value.span.end));
    let after = text.get(end..last).filter(|after| after.is_empty() || after.ends_with('\n'))?;
    let prefix = " ".repeat(less);
    let moved = text[line..end]
        .split_inclusive('\n')
        .map(|line| line.strip_prefix(&prefix).unwrap_or(line.trim_start_matches(' ')));
    Some(Fix {
        span: Span { start: line, end: last, ..own },
        text: after.chars().chain(moved.flat_map(str::chars)).collect(),
    })
}

/// Writes a map for each step but the last of the path that is the key of `entry`: `a.b: 1` becomes `b: 1` below `a:`. Returns
/// nothing if the value is not behind the key, or if the key is in quotes.
pub fn nested(texts: &dyn Texts, entry: &Entry, steps: &[&str]) -> Option<Fix> {
    let (text, own, value) = (texts.around(entry.key_span), entry.key_span, entry.value.span);
    let [sections @ .., last] = steps else { return None };
    if value.source != own.source || value.start <= own.end || text[own.start..].starts_with(['"', '\'']) {
        return None;
    }
    let Some(indent) = indent(text, own.start) else {
        // In flow style.
        let opened: String = sections.iter().flat_map(|step| [*step, ": {"]).collect();
        let written = [&opened, *last, &text[own.end..value.end], &"}".repeat(sections.len())].concat();
        return Some(Fix { span: Span { end: value.end, ..own }, text: written });
    };
    let mut written = String::new();
    for (depth, step) in sections.iter().enumerate() {
        written.extend([*step, ":\n", &indent, &"  ".repeat(depth + 1)]);
    }
    written.push_str(last);
    let more = "  ".repeat(sections.len());
    let end = own.end + text[own.end..value.end].trim_end().len();
    for (number, line) in text[own.end..end].split_inclusive('\n').enumerate() {
        written.extend([if number == 0 || line.trim().is_empty() { "" } else { &more }, line]);
    }
    Some(Fix { span: Span { end, ..own }, text: written })
}

/// Moves `entry` to the end of the map `section`, and renames it to `key`. Both are fields of the same map. Returns nothing if one of
/// them is not in block style.
pub fn into_map(texts: &dyn Texts, section: &Entry, entry: &Entry, key: &str) -> Option<Fix> {
    let (text, own) = (texts.around(entry.key_span), entry.key_span);
    let line = line_start(text, own.start);
    let own_indent = &text[line..own.start];
    let is_first = own_indent.bytes().all(|byte| byte == b' ');
    if !is_first || section.key_span.source != own.source || text[own.start..].starts_with(['"', '\'']) {
        return None;
    }
    let value = entry.value.span;
    // A value without text, and the value of an alias, are not behind the key.
    let is_behind = value.source == own.source && value.start > own.end && value.end > value.start;
    let end = match is_behind {
        true => line_end(text, value.end),
        false => line_end(text, own.end),
    };
    let colon = section.key_span.end;
    let is_own = section.value.span.source == own.source;
    // An overlay or an alias may set the other fields.
    let first = section.value.entries().iter().find(|field| is_own && field.key_span.within(section.value.span));
    let (indent, below) = match first {
        Some(first) if first.key_span.start > colon && !text[colon..first.key_span.start].contains('{') => {
            (indent(text, first.key_span.start)?, line_end(text, section.value.span.end))
        }
        None if section.value.scalar() == Some(Scalar::Null) => {
            let below = line_end(text, colon);
            let rest = text[colon..below].strip_prefix(':')?.trim();
            (rest.is_empty() || rest.starts_with('#')).then(|| ("  ".to_owned(), below))?
        }
        _ => return None,
    };
    let mut lines = text[own.end..end].split_inclusive('\n');
    let mut moved = [&indent, key, lines.next()?].concat();
    for line in lines {
        let rest = line.strip_prefix(own_indent).unwrap_or(line);
        moved.extend([if line.trim().is_empty() { "" } else { &indent }, rest]);
    }
    let with_break =
        |text: &str| if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let is_note = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let (span, text) = match text.get(below..line) {
        Some(between) if between.lines().all(is_note) => (below..end, between.to_owned() + &moved),
        Some(between) => (below..end, with_break(&moved) + between),
        None => (line..below, with_break(text.get(end..below)?) + &moved),
    };
    Some(Fix { span: Span { start: span.start, end: span.end, ..own }, text })
}

/// The end of the line in which the text before `end` ends, with its line break.
fn line_end(text: &str, end: usize) -> usize {
    let end = text[..end].trim_end().len();
    end + text[end..].find('\n').map_or(text.len() - end, |at| at + 1)
}

/// Combines edits of one text, which must not overlap, into one edit.
pub fn combined(text: &str, mut edits: Vec<Fix>) -> Option<Fix> {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let first = edits.first()?.span;
    let (mut written, mut end) = (String::new(), first.start);
    for edit in &edits {
        written.extend([text.get(end..edit.span.start)?, &edit.text]);
        end = edit.span.end;
    }
    Some(Fix { span: Span { end, ..first }, text: written })
}

/// The indentation of the line that contains a place. The hyphens of lists count as spaces. None if other text precedes the
/// place in its line.
pub fn indent(text: &str, at: usize) -> Option<String> {
    let start = line_start(text, at);
    let before = &text[start..at];
    before.chars().all(|c| c == ' ' || c == '-').then(|| " ".repeat(before.len()))
}

/// A field in block style; a map of several fields has a line for each.
fn block(key: &str, value: &Json, indent: &str) -> String {
    match value {
        Json::Object(fields) if fields.len() > 2 => {
            let line = |(key, value): (&String, &Json)| format!("\n{indent}  {key}: {}", flow(value));
            format!("{key}:{}", fields.iter().map(line).collect::<String>())
        }
        _ => format!("{key}: {}", flow(value)),
    }
}

/// The place after the colon of a key without a value. None if the text has another form.
pub fn colon(texts: &dyn Texts, entry: &Entry) -> Option<Span> {
    let text = texts.around(entry.key_span);
    let at = entry.key_span.end + text.get(entry.key_span.end..)?.starts_with(':').then_some(1)?;
    Some(Span { start: at, end: at, ..entry.key_span })
}

/// Makes a map the only item of a list.
pub fn as_item(texts: &dyn Texts, map: &Node) -> Option<Fix> {
    let text = texts.around(map.span);
    let written = text.get(map.span.start..map.span.end)?;
    let item = match written.starts_with('{') {
        true => format!("[{written}]"),
        false => {
            indent(text, map.span.start)?;
            format!("- {}", written.replace('\n', "\n  "))
        }
    };
    Some(Fix { span: map.span, text: item })
}

/// Replaces the block below `key` with lines.
pub fn lines(texts: &dyn Texts, key: Span, block: Span, lines: &[String]) -> Option<Fix> {
    let text = texts.around(block);
    if key.source != block.source {
        return None;
    }
    if text.get(block.start..)?.starts_with('[') {
        return Some(Fix { span: block, text: format!("{{{}}}", lines.join(", ")) });
    }
    // The span of a block list may start after the hyphen of its first item. The hyphen is replaced too.
    let line = line_start(text, block.start);
    let start = text[line..block.start].find('-').map_or(block.start, |at| line + at);
    let block = Span { start, ..block };
    let (above, own) = (indent(text, key.start)?, indent(text, block.start)?);
    // The items of a list may have the indentation of their key. Fields of a map need a deeper indentation.
    let deeper = if own.len() > above.len() { "" } else { "  " };
    Some(Fix { span: block, text: format!("{deeper}{}", lines.join(&format!("\n{own}{deeper}"))) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;
    use serde_json::json;

    const ORDER: &[&str] = &["image", "command", "workers", "env"];

    /// The text with `key` put into its map at `path`.
    fn put(text: &str, path: &[&str], key: &str, value: &Json) -> Option<String> {
        let span = Span { source: 0, start: 0, end: text.len() };
        let document = yaml::parse(text, span, &mut Vec::new()).unwrap().unwrap();
        let node = path.iter().fold(&document, |node, key| node.get(key).unwrap());
        let fix = field(&text, node, ORDER, key, value)?;
        Some(format!("{}{}{}", &text[..fix.span.start], fix.text, &text[fix.span.end..]))
    }

    #[test]
    fn a_new_field_has_the_usual_place() {
        let workers = json!({"replicas": 4, "gpus": 8});
        let cases = [
            ("image: a # mine\nenv: {}\n", "image: a # mine\nworkers: {replicas: 4, gpus: 8}\nenv: {}\n"),
            ("# first\nenv:\n  A: b", "# first\nworkers: {replicas: 4, gpus: 8}\nenv:\n  A: b"),
            ("image: a", "image: a\nworkers: {replicas: 4, gpus: 8}"),
            ("image: a\r\nenv: {}\r\n", "image: a\r\nworkers: {replicas: 4, gpus: 8}\r\nenv: {}\r\n"),
            ("command: |\n  a\n  b\n\nenv: {}\n", "command: |\n  a\n  b\nworkers: {replicas: 4, gpus: 8}\n\nenv: {}\n"),
            ("command:\n- a\n- b # c\n", "command:\n- a\n- b # c\nworkers: {replicas: 4, gpus: 8}\n"),
            ("image:\nenv: {}\n", "image:\nworkers: {replicas: 4, gpus: 8}\nenv: {}\n"),
            ("{image: a}", "{image: a, workers: {replicas: 4, gpus: 8}}"),
            ("{env: {}}", "{workers: {replicas: 4, gpus: 8}, env: {}}"),
            ("{}", "{workers: {replicas: 4, gpus: 8}}"),
            (r#"{"image":"a"}"#, r#"{"image":"a", "workers": {"replicas":4,"gpus":8}}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(put(text, &[], "workers", &workers).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(put("imgae: a\n", &[], "image", &json!("a")), None, "the unknown key may be the missing field");
    }

    /// The text with the field `key` of the document moved into `spec`, as `name`.
    fn put_into_spec(text: &str, key: &str, name: &str) -> Option<String> {
        let span = Span { source: 0, start: 0, end: text.len() };
        let document = yaml::parse(text, span, &mut Vec::new()).unwrap().unwrap();
        let fix = into_map(&text, document.entry("spec").unwrap(), document.entry(key).unwrap(), name)?;
        Some(format!("{}{}{}", &text[..fix.span.start], fix.text, &text[fix.span.end..]))
    }

    #[test]
    fn a_field_in_the_first_column_moves_to_the_end_of_spec() {
        let cases = [
            ("spec:\n  image: a\ncommand: b", "spec:\n  image: a\n  command: b"),
            ("spec:\n    image: a\ncommand:\n- b\n\n- c\n", "spec:\n    image: a\n    command:\n    - b\n\n    - c\n"),
            ("spec:\n  env:\ncommand: |\n  b\n", "spec:\n  env:\n  command: |\n    b\n"),
            ("command: b # c\nkind: k\nspec:\n  image: a", "kind: k\nspec:\n  image: a\n  command: b # c\n"),
            ("spec:\n  image: a\nkind: k\ncommand: b\n", "spec:\n  image: a\n  command: b\nkind: k\n"),
            ("spec: # s\n# c\ncommand:\n", "spec: # s\n# c\n  command:\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(put_into_spec(text, "command", "command").as_deref(), Some(expected), "{text}");
        }
        assert_eq!(
            put_into_spec("spec:\n  image: a\ncomand: b\n", "comand", "command").unwrap(),
            "spec:\n  image: a\n  command: b\n"
        );
        for text in ["spec: {image: a}\ncommand: b\n", "spec: ~\ncommand: b\n", "{spec: {image: a}, command: b}"] {
            assert_eq!(put_into_spec(text, "command", "command"), None, "{text}");
        }
    }

    /// The text after an edit, which gets the entries on the way to `path`.
    fn edited(text: &str, path: &[&str], edit: impl Fn(&[&Entry]) -> Option<Fix>) -> Option<String> {
        let span = Span { source: 0, start: 0, end: text.len() };
        let document = yaml::parse(text, span, &mut Vec::new()).unwrap().unwrap();
        let (mut map, mut entries) = (&document, Vec::new());
        for key in path {
            entries.push(map.entry(key).unwrap());
            map = &entries[entries.len() - 1].value;
        }
        let fix = edit(&entries)?;
        Some(format!("{}{}{}", &text[..fix.span.start], fix.text, &text[fix.span.end..]))
    }

    #[test]
    fn a_field_moves_out_of_a_block() {
        let out = |text: &str| edited(text, &["l", "w"], |path| out_of(&text, path[0], path[1]));
        let cases = [
            ("l:\n  k: m\n  w: {r: 2}\ne: {}\n", "l:\n  k: m\nw: {r: 2}\ne: {}\n"),
            ("l:\n  w:\n    r: 2\n\n    g: 8\n  k: m\ne: {}\n", "l:\n  k: m\nw:\n  r: 2\n\n  g: 8\ne: {}\n"),
            ("l:\n    k: m\n    w: a # b", "l:\n    k: m\nw: a # b"),
        ];
        for (text, expected) in cases {
            assert_eq!(out(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["l: {k: m, w: {r: 2}}\n", "l:\n  w: {r: 2}\n", "l:\n  w: a\n  k: m"] {
            assert_eq!(out(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_as_a_key_is_written_nested() {
        let nest = |text: &str, key: &str| {
            let steps: Vec<&str> = key.split('.').collect();
            edited(text, &["s", key], |path| nested(&text, path[1], &steps))
        };
        let cases = [
            ("s:\n  a.b: {c: 1}\n  d: 2\n", "a.b", "s:\n  a:\n    b: {c: 1}\n  d: 2\n"),
            ("s:\n  a.b:\n    c: 1\n\n    d: 2\n", "a.b", "s:\n  a:\n    b:\n      c: 1\n\n      d: 2\n"),
            ("s:\n  a.b.c: 1 # d", "a.b.c", "s:\n  a:\n    b:\n      c: 1 # d"),
            ("s: {x: 1, a.b.c: 1}\n", "a.b.c", "s: {x: 1, a: {b: {c: 1}}}\n"),
        ];
        for (text, key, expected) in cases {
            assert_eq!(nest(text, key).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(nest("s:\n  \"a.b\": 1\n", "a.b"), None);
        let merge =
            |text: &str| edited(text, &["s", "a.b"], |path| into_map(&text, path[0].value.entry("a")?, path[1], "b"));
        let cases = [
            ("s:\n  a:\n    c: 1\n  a.b: {d: 2}\n  e: 3\n", "s:\n  a:\n    c: 1\n    b: {d: 2}\n  e: 3\n"),
            ("s:\n  a.b:\n    d: 2\n  e: 3\n  a:\n    c: 1\n", "s:\n  e: 3\n  a:\n    c: 1\n    b:\n      d: 2\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(merge(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_line_after_a_block_that_moves_to_the_top_keeps_its_place_in_the_block() {
        let text = "metadata:\n  name: a\n  spec:\n    workers:\n      replicas: 2\n      ";
        let span = Span { source: 0, start: 0, end: text.len() };
        let document = yaml::parse(text, span, &mut Vec::new()).unwrap().unwrap();
        let parent = document.get("metadata").unwrap();
        let fix = to_top(&text, parent, parent.entry("spec").unwrap()).unwrap();
        let moved = format!("{}{}{}", &text[..fix.span.start], fix.text, &text[fix.span.end..]);
        assert_eq!(moved, "metadata:\n  name: a\nspec:\n  workers:\n    replicas: 2\n    ");
    }

    #[test]
    fn a_new_field_has_the_indentation_of_its_siblings() {
        let below = put("a:\n    image: x\n", &["a"], "command", &json!(["p"]));
        assert_eq!(below.unwrap(), "a:\n    image: x\n    command: [p]\n");
        let long = json!({"image": "a:1", "command": ["p"], "workers": {"replicas": 2}});
        let nested = put("a:\n  image: x\n", &["a"], "env", &long);
        let expected = "a:\n  image: x\n  env:\n    image: a:1\n    command: [p]\n    workers: {replicas: 2}\n";
        assert_eq!(nested.unwrap(), expected);
        assert_eq!(put("a: &x {image: y}\nb: *x\n", &["b"], "command", &json!("p")), None);
    }
}
