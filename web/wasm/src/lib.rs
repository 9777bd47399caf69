//! The core as a browser calls it: texts in, JSON out.
//!
//! An adapter: it turns byte offsets into those of JavaScript and cuts off what nobody could look at. What was made is
//! many times longer than what is said of it, and most of it is not looked at: it stands as bytes behind the JSON, and
//! offsets in it are of bytes.

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

/// A line of JSON, and behind it the text it is about.
fn packed(said: &Value, made: &str) -> Vec<u8> {
    let mut bytes = said.to_string().into_bytes();
    bytes.push(b'\n');
    bytes.extend_from_slice(made.as_bytes());
    bytes
}

/// Everything there is to show of a stream of specs, keys masked: `problems`, and where none of them is an error also
/// `jobs`, and `documents` in the text behind.
#[wasm_bindgen]
pub fn preview(spec: String) -> Vec<u8> {
    let spec = text(spec);
    let offsets = Offsets::new(&spec.text);
    match khorovod::preview(&spec, &inputs(Keys::Masked), JOBS) {
        Ok(preview) => packed(&shown(&preview, &offsets), &preview.rendered.text),
        Err(found) => packed(&json!({ "problems": problems(&found, &offsets), "more": more(&found) }), ""),
    }
}

/// The objects to apply, as `files` in the text behind: with ssh keys that derive from the seed, or without the Secret
/// where there is none. Empty where the stream has errors.
#[wasm_bindgen]
pub fn render(spec: String, seed: &[u8]) -> Vec<u8> {
    let keys = seed.try_into().map_or(Keys::LeftOut, Keys::Seed);
    let rendered = khorovod::render(&text(spec), &inputs(keys)).unwrap_or_default();
    let files = khorovod::files(std::slice::from_ref(&rendered)).into_iter();
    let files = files.map(|(path, one, _)| json!({ "path": path, "from": one.range.start, "to": one.range.end }));
    packed(&json!({ "files": files.collect::<Vec<_>>() }), &rendered.text)
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

fn shown(preview: &Preview, offsets: &Offsets) -> Value {
    let Preview { rendered, origins, jobs, places, left_out } = preview;
    let documents = rendered.documents.iter().zip(origins).map(|(one, origin)| document(one, origin.as_ref()));
    let places = places.iter().map(|fields| {
        let place = |(path, range): &(String, std::ops::Range<usize>)| {
            (path.clone(), json!([offsets.utf16(range.start), offsets.utf16(range.end)]))
        };
        fields.iter().map(place).collect::<Map<_, _>>()
    });
    json!({
        "problems": problems(&rendered.warnings, offsets),
        "more": more(&rendered.warnings),
        "jobs": jobs,
        "places": places.collect::<Vec<_>>(),
        "documents": documents.collect::<Vec<_>>(),
        "leftOut": left_out,
    })
}

fn document(document: &Document, origin: Option<&Origin>) -> Value {
    json!({
        "kind": document.kind,
        "name": document.name,
        "namespace": document.namespace,
        "from": document.range.start,
        "to": document.range.end,
        "job": origin.map(|origin| origin.job),
        "fields": origin.map_or(&[][..], |origin| &origin.fields),
    })
}

/// The first of them, as the page shows them.
fn problems(found: &Problems, offsets: &Offsets) -> Vec<Value> {
    // Where not all can be shown, the worst go first.
    let of = |severity| found.list.iter().filter(move |problem| problem.severity == severity);
    let all = [Severity::Error, Severity::Warning, Severity::Note].into_iter().flat_map(of);
    all.take(PROBLEMS).map(|one| problem(one, offsets)).collect()
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
        "severity": problem.severity.word(),
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

    /// What is said, and the text behind it.
    fn unpacked(bytes: Vec<u8>) -> (Value, String) {
        let all = String::from_utf8(bytes).unwrap();
        let (said, made) = all.split_once('\n').unwrap();
        (serde_json::from_str(said).unwrap(), made.to_owned())
    }

    fn parsed(text: &str) -> (Value, String) {
        unpacked(preview(text.to_owned()))
    }

    /// What JavaScript's `slice` would give.
    fn slice(text: &str, place: [&Value; 2]) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        let [from, to] = place.map(|at| usize::try_from(at.as_u64().unwrap()).unwrap());
        String::from_utf16(&units[from..to]).unwrap()
    }

    #[test]
    fn places_are_those_of_javascript() {
        let (preview, made) = parsed(JOB);
        let place = &preview["places"][0]["spec.workers"];
        assert_eq!(slice(JOB, [&place[0], &place[1]]), "workers: {replicas: 4, gpus: 8}");
        let set = preview["documents"].as_array().unwrap().iter().find(|one| one["kind"] == "StatefulSet").unwrap();
        let [from, to] = ["from", "to"].map(|end| usize::try_from(set[end].as_u64().unwrap()).unwrap());
        assert!(made[from..to].starts_with("apiVersion: apps/v1\nkind: StatefulSet\n"));
        assert_eq!(set["fields"][0], "spec.workers");
    }

    #[test]
    fn a_fix_is_an_edit_of_the_text() {
        let wrong = JOB.replace("gpus", "gpu");
        let (preview, made) = parsed(&wrong);
        let problem = &preview["problems"][0];
        assert_eq!(slice(&wrong, [&problem["fix"]["from"], &problem["fix"]["to"]]), "gpu");
        assert_eq!((&problem["code"], &problem["fix"]["text"]), (&"unknown-field".into(), &"gpus".into()));
        assert_eq!((&preview["jobs"], made.as_str()), (&Value::Null, ""));
    }

    /// The page asks for nothing of which a note is said today; `--target slurm` has some.
    #[test]
    fn a_note_is_no_warning_and_stands_last() {
        let spec = text(JOB.replace("'a:1'", "a").replace("spec: {", "spec: {placement: {pack: rack}, "));
        let inputs = Inputs { target: "slurm".parse().unwrap(), ..inputs(Keys::Masked) };
        let shown = problems(&khorovod::check(&spec, &inputs), &Offsets::new(&spec.text));
        let words: Vec<&str> = shown.iter().filter_map(|one| one["severity"].as_str()).collect();
        assert_eq!((words.first(), words.last()), (Some(&"warning"), Some(&"note")), "{shown:?}");
    }

    #[test]
    fn keys_are_made_only_from_a_seed() {
        let kinds = |seed: &[u8]| {
            unpacked(render(JOB.to_owned(), seed)).0.to_string().matches("-secret-mnist-ssh.yaml").count()
        };
        assert_eq!((kinds(&[]), kinds(&[7; 32])), (0, 1));
        assert!(parsed(JOB).1.contains("bWFza2Vk"));
    }

    #[test]
    fn no_more_is_shown_than_anybody_looks_at() {
        let jobs: Vec<String> = (0..60).map(|at| JOB.replace("mnist", &format!("job-{at}"))).collect();
        let (preview, _) = parsed(&jobs.join("---\n"));
        assert_eq!((preview["jobs"].as_array().unwrap().len(), &preview["leftOut"]), (50, &10.into()));
        let (wrong, _) = parsed(&vec![JOB.replace("gpus", "gpu"); 300].join("---\n"));
        assert_eq!(wrong["problems"].as_array().unwrap().len(), 200);
        assert!(wrong["more"].as_u64().unwrap() >= 100);
    }
}
