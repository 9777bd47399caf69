//! The YAML reader and the emitter together: any YAML as the value of a patch, which inserts it into an object. libyaml
//! must read the same value from the output as from the input.

use khorovod::Inputs;
use serde_json::{Map, Value as Json};

use super::{JOB, check_reports, documents, inputs, read, text};

pub fn run(input: &[u8]) {
    let Ok(value) = std::str::from_utf8(input) else { return };
    let job = format!("{JOB}  patches: [{{target: {{kind: Service}}, patch: {{}}}}]\n");
    let inputs = Inputs { sets: vec![format!("patches[0].patch.fuzz={value}")], ..inputs() };
    let rendered = match khorovod::render(&text(job), &inputs) {
        Ok(rendered) => rendered,
        Err(found) => return check_reports(&found),
    };
    let document = rendered.documents.iter().find(|one| one.kind == "Service").expect("the job has a Service");
    let service = read(&rendered.text[document.range.clone()]).remove(0);
    // Skips inputs that libyaml (YAML 1.1) rejects, reads as two documents, or reads differently from YAML 1.2: characters
    // that only 1.1 treats as a key or a line end; a colon in an anchor's name; a `#` at the start of a line of a block that
    // is the whole text, which only 1.1 treats as a comment; a byte order mark in the middle, which libyaml skips at the
    // start of a line; and the last line end of a block without one.
    let anchors =
        || value.split(|c: char| c.is_whitespace() || "[]{},".contains(c)).filter(|word| word.starts_with(['&', '*']));
    let in_block = || {
        value.contains(['|', '>'])
            && (["\n#", "\r#"].iter().any(|comment| value.contains(comment)) || value.ends_with([' ', '\t']))
    };
    let of_both = !value.contains(['?', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'])
        && !anchors().any(|word| word.contains(':'))
        && !in_block();
    if let (true, Some([meant])) = (of_both, documents(value).as_deref()) {
        assert_eq!(service["fuzz"], merged(meant), "{value:?}");
    }
}

/// The result of a strategic merge patch on an empty value: without nulls and directives.
fn merged(patch: &Json) -> Json {
    let directive = |value: &Json| value.get("$patch").and_then(Json::as_str).map(str::to_owned);
    match patch {
        Json::Object(patch) => {
            let kept = patch.iter().filter(|(key, value)| {
                !key.starts_with('$') && !value.is_null() && directive(value).as_deref() != Some("delete")
            });
            Json::Object(kept.map(|(key, value)| (key.clone(), merged(value))).collect::<Map<_, _>>())
        }
        Json::Array(items) => items.iter().filter(|item| directive(item).is_none()).map(merged).collect(),
        other => other.clone(),
    }
}
