//! The core as a browser calls it: texts in, JSON out.
//!
//! An adapter: it turns byte offsets into those of JavaScript and cuts off what nobody could look at.

mod offsets;

use khorovod::problem::{Problem, Problems, Severity};
use khorovod::{Document, Inputs, Keys, Origin, Preview, Text};
use serde_json::{Map, Value, json};
use wasm_bindgen::prelude::wasm_bindgen;

use offsets::Offsets;

/// More jobs than these are checked but not shown.
const JOBS: usize = 50;
/// More problems than these help nobody.
const PROBLEMS: usize = 200;

fn text(text: String) -> Text {
    Text { name: "job.yaml".to_owned(), text }
}

fn inputs(keys: Keys) -> Inputs {
    Inputs { keys, ..Inputs::default() }
}

/// Everything there is to show of a stream of specs, keys masked: `problems`, and where none of them is an error also
/// `jobs`, `documents` and the `text` they stand in.
#[wasm_bindgen]
pub fn preview(spec: String) -> String {
    let spec = text(spec);
    let offsets = Offsets::new(&spec.text);
    match khorovod::preview(&spec, &inputs(Keys::Masked), JOBS) {
        Ok(preview) => shown(preview, &offsets),
        Err(found) => json!({ "problems": problems(&found, &offsets), "more": more(&found) }),
    }
    .to_string()
}

/// The objects to apply, as one `text` and as `files` in it: with ssh keys that derive from the seed, or without the
/// Secret where there is none. Empty where the stream has errors.
#[wasm_bindgen]
pub fn render(spec: String, seed: &[u8]) -> String {
    let keys = seed.try_into().map_or(Keys::LeftOut, Keys::Seed);
    let rendered = khorovod::render(&text(spec), &inputs(keys)).unwrap_or_default();
    let out = Offsets::new(&rendered.text);
    let files = khorovod::files(std::slice::from_ref(&rendered)).into_iter().map(|(path, one, _)| {
        let [from, to] = [one.range.start, one.range.end].map(|at| out.utf16(at));
        json!({ "path": path, "from": from, "to": to })
    });
    let files: Vec<Value> = files.collect();
    json!({ "text": rendered.text, "files": files }).to_string()
}

/// What happens to running jobs when one spec takes the place of another; empty where either has errors.
#[wasm_bindgen]
pub fn changes(old: String, new: String) -> String {
    let found = khorovod::changes(&text(old), &text(new), &inputs(Keys::Masked));
    json!(found.unwrap_or_default()).to_string()
}

/// What each problem code means, in Markdown.
#[wasm_bindgen]
pub fn codes() -> String {
    let details = |code: &khorovod::problem::Code| {
        let lines: Vec<&str> = code.details().lines().map(str::trim).collect();
        json!({ "title": code.title(), "details": lines.join("\n") })
    };
    let codes: Map<String, Value> = khorovod::codes().map(|code| (code.name.to_owned(), details(code))).collect();
    Value::Object(codes).to_string()
}

fn shown(preview: Preview, offsets: &Offsets) -> Value {
    let Preview { rendered, origins, jobs, places, left_out } = preview;
    let out = Offsets::new(&rendered.text);
    let documents: Vec<Value> =
        rendered.documents.iter().zip(&origins).map(|(one, origin)| document(one, origin.as_ref(), &out)).collect();
    let places = places.into_iter().map(|fields| {
        let place = |(path, range): (String, std::ops::Range<usize>)| {
            (path, json!([offsets.utf16(range.start), offsets.utf16(range.end)]))
        };
        fields.into_iter().map(place).collect::<Map<_, _>>()
    });
    json!({
        "problems": problems(&rendered.warnings, offsets),
        "more": more(&rendered.warnings),
        "jobs": jobs,
        "places": places.collect::<Vec<_>>(),
        "documents": documents,
        "leftOut": left_out,
        "text": rendered.text,
    })
}

fn document(document: &Document, origin: Option<&Origin>, out: &Offsets) -> Value {
    json!({
        "kind": document.kind,
        "name": document.name,
        "namespace": document.namespace,
        "from": out.utf16(document.range.start),
        "to": out.utf16(document.range.end),
        "job": origin.map(|origin| origin.job),
        "fields": origin.map_or(&[][..], |origin| &origin.fields),
    })
}

/// The first of them, as the page shows them.
fn problems(found: &Problems, offsets: &Offsets) -> Vec<Value> {
    // Where not all can be shown, errors go first.
    let severe = |problem: &&Problem| problem.severity == Severity::Error;
    let errors = found.list.iter().filter(severe);
    let warnings = found.list.iter().filter(|problem| !severe(problem));
    errors.chain(warnings).take(PROBLEMS).map(|one| problem(one, offsets)).collect()
}

fn more(found: &Problems) -> usize {
    found.list.len().saturating_sub(PROBLEMS)
}

fn problem(problem: &Problem, offsets: &Offsets) -> Value {
    let labels = problem.labels.iter().map(|label| {
        json!({ "from": offsets.utf16(label.span.start), "to": offsets.utf16(label.span.end), "text": label.text })
    });
    let fix = problem.fix.as_ref().map(
        |fix| json!({ "from": offsets.utf16(fix.span.start), "to": offsets.utf16(fix.span.end), "text": fix.text }),
    );
    json!({
        "code": problem.code.name,
        "error": problem.severity == Severity::Error,
        "message": problem.message,
        "hint": problem.hint,
        "labels": labels.collect::<Vec<_>>(),
        "fix": fix,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "# ä𝄞\napiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\n\
        spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}\n";

    fn parsed(text: &str) -> Value {
        serde_json::from_str(&preview(text.to_owned())).unwrap()
    }

    /// What JavaScript's `slice` would give.
    fn slice(text: &str, place: [&Value; 2]) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        let [from, to] = place.map(|at| usize::try_from(at.as_u64().unwrap()).unwrap());
        String::from_utf16(&units[from..to]).unwrap()
    }

    #[test]
    fn places_are_those_of_javascript() {
        let preview = parsed(JOB);
        let place = &preview["places"][0]["spec.workers"];
        assert_eq!(slice(JOB, [&place[0], &place[1]]), "workers: {replicas: 4, gpus: 8}");
        let text = preview["text"].as_str().unwrap();
        let set = preview["documents"].as_array().unwrap().iter().find(|one| one["kind"] == "StatefulSet").unwrap();
        assert!(slice(text, [&set["from"], &set["to"]]).starts_with("apiVersion: apps/v1\nkind: StatefulSet\n"));
        assert_eq!(set["fields"][0], "spec.workers");
    }

    #[test]
    fn a_fix_is_an_edit_of_the_text() {
        let wrong = JOB.replace("gpus", "gpu");
        let preview = parsed(&wrong);
        let problem = &preview["problems"][0];
        assert_eq!(slice(&wrong, [&problem["fix"]["from"], &problem["fix"]["to"]]), "gpu");
        assert_eq!((&problem["code"], &problem["fix"]["text"]), (&"unknown-field".into(), &"gpus".into()));
        assert!(preview["text"].is_null());
    }

    #[test]
    fn keys_are_made_only_from_a_seed() {
        let kinds = |text: String| text.matches("-secret-mnist-ssh.yaml").count();
        assert_eq!(kinds(render(JOB.to_owned(), &[])), 0);
        assert_eq!(kinds(render(JOB.to_owned(), &[7; 32])), 1);
        assert!(parsed(JOB)["text"].as_str().unwrap().contains("bWFza2Vk"));
    }

    #[test]
    fn no_more_is_shown_than_anybody_looks_at() {
        let jobs: Vec<String> = (0..60).map(|at| JOB.replace("mnist", &format!("job-{at}"))).collect();
        let preview = parsed(&jobs.join("---\n"));
        assert_eq!((preview["jobs"].as_array().unwrap().len(), &preview["leftOut"]), (50, &10.into()));
        let wrong = parsed(&vec![JOB.replace("gpus", "gpu"); 300].join("---\n"));
        assert_eq!(wrong["problems"].as_array().unwrap().len(), 200);
        assert!(wrong["more"].as_u64().unwrap() >= 100);
    }
}
