//! The reader and the emitter, end to end: any YAML as the value of a patch, which puts it into an object. libyaml must
//! read from what comes out what it reads from what went in.

use khorovod::Inputs;
use serde_json::{Map, Value as Json};

use super::{JOB, documents, inputs, read, say, text};

pub fn run(input: &[u8]) {
    let Ok(value) = std::str::from_utf8(input) else { return };
    let job = format!("{JOB}  patches: [{{target: {{kind: Service}}, patch: {{}}}}]\n");
    let inputs = Inputs { sets: vec![format!("patches[0].patch.fuzz={value}")], ..inputs() };
    let rendered = match khorovod::render(&text(job), &inputs) {
        Ok(rendered) => rendered,
        Err(found) => return say(&found),
    };
    let document = rendered.documents.iter().find(|one| one.kind == "Service").expect("the job has a Service");
    let service = read(&rendered.text[document.range.clone()]).remove(0);
    // What libyaml refuses, or takes for two documents, it cannot judge; nor what YAML 1.2 has made a text, and only 1.1 a key
    // or the end of a line, nor the colon in an anchor's name, which only 1.2 allows,
    // nor a `#` that begins a line of a block which is the whole text, for which only 1.1 takes a comment, nor a byte order
    // mark in the middle, which libyaml skips where a line begins, nor whether a block ends in a line's end that it has not.
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

/// What a merge patch makes of nothing.
fn merged(patch: &Json) -> Json {
    let Json::Object(patch) = patch else { return patch.clone() };
    let kept = patch.iter().filter(|(_, value)| !value.is_null());
    Json::Object(kept.map(|(key, value)| (key.clone(), merged(value))).collect::<Map<_, _>>())
}
