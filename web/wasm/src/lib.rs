//! The compiler as the preview page calls it: specs in, JSON out, with the rendered text behind it.
//!
//! An adapter: it converts byte offsets to JavaScript's UTF-16 offsets and leaves out what the page cannot show. The
//! rendered text is many times longer than the JSON and is rarely looked at, so it stays UTF-8, and offsets into it stay
//! byte offsets. The shapes of the JSON are the types of `khorovod-web-wire`.

mod offsets;

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;

use khorovod::problem::{self, Problems};
use khorovod::{Inputs, Keys, Origin, Scripts, Target, Text, picture};
use khorovod_web_wire::{
    Compiled, Files, FoundSecret, Grid, Map, Picture, PictureItem, PlacedText, Preview, Problem, RenderedDocument,
    RenderedFile, Severity,
};
use khorovod_web_wire::{json, packed};
use wasm_bindgen::prelude::wasm_bindgen;

use offsets::Offsets;

/// The scripts that pods run, once the page has loaded them.
static SCRIPTS: OnceLock<Scripts> = OnceLock::new();
thread_local! {
    /// The jobs that need ssh keys, while [`jobs_with_keys`] runs.
    static JOBS_WITH_KEYS: RefCell<String> = const { RefCell::new(String::new()) };
    /// The ssh keys that [`render`] was called with.
    static SSH_KEYS: RefCell<String> = const { RefCell::new(String::new()) };
    /// The target that jobs are rendered for; the default if it is `None`.
    static TARGET: Cell<Option<&'static dyn Target>> = const { Cell::new(None) };
}

/// At most this many jobs are described; further ones are only checked.
const JOBS: usize = 50;
/// At most this many problems are listed.
const PROBLEMS: usize = 200;

fn text(text: String) -> Text {
    Text { name: "job.yaml".to_owned(), text }
}

fn inputs(keys: Keys) -> Inputs {
    let scripts = SCRIPTS.get().copied().unwrap_or(Scripts::LEFT_OUT);
    let inputs = Inputs { keys, scripts, derive_keys: known_keys, ..Inputs::default() };
    Inputs { target: TARGET.get().unwrap_or(inputs.target), ..inputs }
}

/// The keys of a job among those that [`render`] was called with.
fn known_keys(_: &[u8; 32], namespace: &str, name: &str) -> [String; 4] {
    let wanted = format!("{namespace}/{name}");
    SSH_KEYS.with_borrow(|keys| {
        let mut parts = keys.split('\0').skip_while(|part| *part != wanted).skip(1);
        [(); 4].map(|()| parts.next().unwrap_or_default().to_owned())
    })
}

/// Sets the target of all further calls, by the name that `--target` takes. Returns whether the module has this target: without
/// the feature `targets` it only has the default.
#[wasm_bindgen]
pub fn set_target(name: &str) -> bool {
    let target = target_named(name);
    TARGET.set(target);
    target.is_some()
}

#[cfg(feature = "targets")]
fn target_named(name: &str) -> Option<&'static dyn Target> {
    name.parse().ok()
}

/// Does not use the list of targets, which would link all of them.
#[cfg(not(feature = "targets"))]
fn target_named(name: &str) -> Option<&'static dyn Target> {
    Some(khorovod::targets::PLAIN).filter(|target| target.name() == name)
}

/// Takes the texts of the scripts of pods, which are the result of the function `scripts` of `khorovod-web-texts`. Before this
/// call, scripts are empty in rendered objects. Returns whether the texts are those of this version.
#[wasm_bindgen]
pub fn load_scripts(texts: &str) -> bool {
    let Some(scripts) = Scripts::split(texts) else { return false };
    SCRIPTS.set(scripts).is_ok()
}

/// Compiles a stream of specs with masked keys: a [`Preview`] as JSON, then a newline and the rendered objects, which are
/// empty if there is an error. The picture has the given width in CSS pixels; there is none if the width is 0.
#[wasm_bindgen]
pub fn preview(spec: String, width: u32) -> Vec<u8> {
    let spec = text(spec);
    let offsets = Offsets::new(&spec.text);
    match khorovod::preview(&spec, &inputs(Keys::Masked), JOBS) {
        Ok(found) => {
            let warnings = &found.rendered.warnings;
            let compiled = Some(compiled(&found, &offsets, width));
            let preview = Preview { problems: problems(warnings, &offsets), more: more(warnings), compiled };
            packed(&preview, &found.rendered.text)
        }
        Err(found) => packed(&Preview { problems: problems(&found, &offsets), more: more(&found), compiled: None }, ""),
    }
}

/// Draws the jobs of a stream, for a page whose width has changed: a [`Picture`] as JSON, or `null` if the stream has errors.
#[wasm_bindgen]
pub fn draw(spec: String, width: u32) -> String {
    let found = khorovod::preview(&text(spec), &inputs(Keys::Masked), JOBS);
    json(&found.ok().map(|found| drawn(&found, width)))
}

/// Draws the jobs of a stream as an SVG file; empty if the stream has errors.
#[wasm_bindgen]
pub fn svg(spec: String) -> String {
    let found = khorovod::preview(&text(spec), &inputs(Keys::Masked), JOBS);
    found.map_or(String::new(), |found| picture::svg(&found.jobs))
}

/// Returns what the timelines of the jobs of a stream depend on, one line per job, for the module `khorovod-web-timeline`; an
/// empty text if the stream has errors.
#[wasm_bindgen]
pub fn facts(spec: String) -> String {
    let all_facts = khorovod::timeline_facts(&text(spec), &inputs(Keys::Masked)).unwrap_or_default();
    all_facts.iter().take(JOBS).map(|facts| facts.to_line() + "\n").collect()
}

/// Finds the values of a text that look like secrets: a list of [`FoundSecret`] as JSON.
#[wasm_bindgen]
pub fn secrets(text: &str) -> String {
    let offsets = Offsets::new(text);
    let found = khorovod::find_secrets(text).into_iter().map(|one| FoundSecret {
        what: one.what,
        from: offsets.utf16(one.range.start),
        to: offsets.utf16(one.range.end),
    });
    json(&found.collect::<Vec<_>>())
}

/// Returns the jobs of a stream that need ssh keys, one line `NAMESPACE/NAME` each, for the function `ssh_keys` of
/// `khorovod-web-keys`; empty if the stream has errors.
#[wasm_bindgen]
pub fn jobs_with_keys(spec: String) -> String {
    fn note(_: &[u8; 32], namespace: &str, name: &str) -> [String; 4] {
        JOBS_WITH_KEYS.with_borrow_mut(|jobs| jobs.extend([namespace, "/", name, "\n"]));
        Default::default()
    }
    // The seed is not used.
    let inputs = Inputs { derive_keys: note, ..inputs(Keys::Seed([0; 32])) };
    let is_valid = khorovod::render(&text(spec), &inputs).is_ok();
    let jobs = JOBS_WITH_KEYS.take();
    if is_valid { jobs } else { String::new() }
}

/// Renders the objects to apply: [`Files`] as JSON, then a newline and their text. `keys` are the ssh keys of the jobs, which the
/// function `ssh_keys` of `khorovod-web-keys` returns; if they are empty, the Secrets are left out. Empty if the stream has errors.
#[wasm_bindgen]
pub fn render(spec: String, keys: String) -> Vec<u8> {
    // The seed is not used.
    let source = if keys.is_empty() { Keys::LeftOut } else { Keys::Seed([0; 32]) };
    SSH_KEYS.set(keys);
    let rendered = khorovod::render(&text(spec), &inputs(source)).unwrap_or_default();
    SSH_KEYS.take();
    let files = khorovod::files(std::slice::from_ref(&rendered)).into_iter();
    let files = files.map(|(path, one, _)| RenderedFile { path, from: one.range.start, to: one.range.end });
    packed(&Files { files: files.collect() }, &rendered.text)
}

/// Returns what happens to running jobs if the spec `new` replaces the spec `old`, as JSON; an empty list if either has errors.
#[wasm_bindgen]
pub fn changes(old: String, new: String) -> String {
    json(&khorovod::spec_changes(&text(old), &text(new), &inputs(Keys::Masked)).unwrap_or_default())
}

fn compiled<'a>(preview: &'a khorovod::Preview, offsets: &Offsets, width: u32) -> Compiled<'a> {
    let documents = preview.rendered.documents.iter().zip(&preview.origins);
    let places = preview.places.iter().map(|fields| {
        let place = |(path, range): &'a (String, std::ops::Range<usize>)| {
            (path.as_str(), [offsets.utf16(range.start), offsets.utf16(range.end)])
        };
        Map(fields.iter().map(place).collect())
    });
    Compiled {
        jobs: &preview.jobs,
        places: places.collect(),
        picture: (width > 0).then(|| drawn(preview, width)),
        documents: documents.map(|(one, origin)| document(one, origin.as_ref())).collect(),
        left_out: preview.left_out,
    }
}

fn drawn(preview: &khorovod::Preview, width: u32) -> Picture {
    let drawn = picture::draw(&preview.jobs, preview.left_out, width);
    let item = |item: picture::Item| {
        let picture::Item { job, key, x, y, svg, tip, field, grid, .. } = item;
        let grid = grid.map(|picture::Grid { columns, pitch, workers_each, workers, .. }| Grid {
            columns,
            pitch,
            workers_each,
            workers,
        });
        PictureItem { job, key, x, y, svg, tip, field, grid }
    };
    Picture {
        width: drawn.width,
        height: drawn.height,
        description: drawn.description,
        items: drawn.items.into_iter().map(item).collect(),
    }
}

fn document<'a>(document: &'a khorovod::Document, origin: Option<&'a Origin>) -> RenderedDocument<'a> {
    RenderedDocument {
        kind: document.kind,
        name: &document.name,
        namespace: document.namespace.as_deref(),
        from: document.range.start,
        to: document.range.end,
        job: origin.map(|origin| origin.job),
        fields: origin.map_or(&[], |origin| &origin.fields),
    }
}

/// The first [`PROBLEMS`] problems, the worst first.
fn problems<'a>(found: &'a Problems, offsets: &Offsets) -> Vec<Problem<'a>> {
    let with = |severity| found.list.iter().filter(move |problem| problem.severity == severity);
    let worst_first = [problem::Severity::Error, problem::Severity::Warning, problem::Severity::Note];
    worst_first.into_iter().flat_map(with).take(PROBLEMS).map(|one| problem(one, offsets)).collect()
}

/// How many problems [`problems`] leaves out.
fn more(found: &Problems) -> usize {
    found.list.len().saturating_sub(PROBLEMS)
}

fn problem<'a>(problem: &'a problem::Problem, offsets: &Offsets) -> Problem<'a> {
    let placed = |span: problem::Span, text: &'a str| PlacedText {
        from: offsets.utf16(span.start),
        to: offsets.utf16(span.end),
        text,
    };
    Problem {
        code: problem.code.name,
        severity: match problem.severity {
            problem::Severity::Error => Severity::Error,
            problem::Severity::Warning => Severity::Warning,
            problem::Severity::Note => Severity::Note,
        },
        message: &problem.message,
        hint: problem.hint.as_deref(),
        labels: problem.labels.iter().map(|label| placed(label.span, &label.text)).collect(),
        fix: problem.fix.as_ref().map(|fix| placed(fix.span, &fix.text)),
        other_fix: problem.other_fix.as_ref().map(|fix| placed(fix.span, &fix.text)),
        fix_is_choice: problem.fix_is_choice,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const JOB: &str = "# ä𝄞\napiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\n\
        spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}\n";

    /// The JSON, and the rendered text after it.
    fn unpacked(bytes: Vec<u8>) -> (Value, String) {
        let all = String::from_utf8(bytes).unwrap();
        let (json, rendered) = all.split_once('\n').unwrap();
        (serde_json::from_str(json).unwrap(), rendered.to_owned())
    }

    fn parsed(text: &str) -> (Value, String) {
        unpacked(preview(text.to_owned(), 640))
    }

    /// Does the same as JavaScript's `slice`.
    fn slice(text: &str, place: [&Value; 2]) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        let [from, to] = place.map(|at| usize::try_from(at.as_u64().unwrap()).unwrap());
        String::from_utf16(&units[from..to]).unwrap()
    }

    #[test]
    fn offsets_in_the_spec_are_utf16_offsets() {
        let (preview, rendered) = parsed(JOB);
        let compiled = &preview["compiled"];
        let place = &compiled["places"][0]["spec.workers"];
        assert_eq!(slice(JOB, [&place[0], &place[1]]), "workers: {replicas: 4, gpus: 8}");
        let set = compiled["documents"].as_array().unwrap().iter().find(|one| one["kind"] == "StatefulSet").unwrap();
        let [from, to] = ["from", "to"].map(|end| usize::try_from(set[end].as_u64().unwrap()).unwrap());
        assert!(rendered[from..to].starts_with("apiVersion: apps/v1\nkind: StatefulSet\n"));
        assert_eq!(set["fields"][0], "spec.workers");
    }

    #[test]
    fn a_fix_is_an_edit_of_the_text() {
        let wrong = JOB.replace("gpus", "gpu");
        let (preview, rendered) = parsed(&wrong);
        let problem = &preview["problems"][0];
        assert_eq!(slice(&wrong, [&problem["fix"]["from"], &problem["fix"]["to"]]), "gpu");
        assert_eq!((&problem["code"], &problem["fix"]["text"]), (&"unknown-field".into(), &"gpus".into()));
        assert_eq!((&preview["compiled"], rendered.as_str()), (&Value::Null, ""));
    }

    // Only other targets have notes about this spec.
    #[cfg(feature = "targets")]
    #[test]
    fn notes_come_after_warnings() {
        let spec = text(JOB.replace("'a:1'", "a").replace("spec: {", "spec: {placement: {pack: rack}, "));
        assert!(set_target("slurm"));
        let found = khorovod::check(&spec, &inputs(Keys::Masked));
        let shown = problems(&found, &Offsets::new(&spec.text));
        let severities: Vec<Severity> = shown.iter().map(|one| one.severity).collect();
        assert_eq!(
            (severities.first(), severities.last()),
            (Some(&Severity::Warning), Some(&Severity::Note)),
            "{shown:?}"
        );
    }

    #[cfg(not(feature = "targets"))]
    #[test]
    fn the_other_targets_are_left_out() {
        assert!(set_target("plain"));
        for target in khorovod::targets::ALL.iter().map(|target| target.name()).filter(|name| *name != "plain") {
            assert!(!set_target(target), "{target}");
        }
        assert_eq!(parsed(JOB).0["compiled"]["documents"].as_array().unwrap().len(), 10, "the default");
    }

    #[cfg(feature = "targets")]
    #[test]
    fn each_target_renders_its_objects() {
        for (target, last) in [
            ("jobset", "JobSet"),
            ("mpijob", "MPIJob"),
            ("trainjob", "TrainJob"),
            ("volcano", "Job"),
            ("slurm", "sbatch"),
            ("plain", "Job"),
        ] {
            assert!(set_target(target), "{target}");
            let (preview, rendered) = parsed(JOB);
            let documents = preview["compiled"]["documents"].as_array().unwrap();
            let found = documents.last().unwrap();
            assert_eq!((&found["kind"], &found["job"]), (&last.into(), &0.into()), "{target}");
            let objects = preview["compiled"]["jobs"][0]["objects"].as_array().unwrap();
            let kinds = |list: &[Value]| list.iter().map(|one| one["kind"].clone()).collect::<Vec<_>>();
            assert_eq!(kinds(objects), kinds(documents), "{target}: the report lists the documents in their order");
            assert_eq!(rendered.starts_with("#!"), target == "slurm", "{target}");
        }
        assert!(!set_target("nomad"));
        assert_eq!(parsed(JOB).0["compiled"]["documents"].as_array().unwrap().len(), 10, "the default");
    }

    #[test]
    fn the_picture_has_the_width_of_the_page() {
        let picture = &parsed(JOB).0["compiled"]["picture"];
        let again: Value = serde_json::from_str(&draw(JOB.to_owned(), 640)).unwrap();
        assert_eq!((picture, &picture["width"]), (&again, &640.into()));
        assert!(picture["items"].as_array().unwrap().iter().any(|item| item["key"] == "worker 0 3"));
        let narrow: Value = serde_json::from_str(&draw(JOB.to_owned(), 300)).unwrap();
        assert!(narrow["height"].as_u64() > picture["height"].as_u64());
        assert_eq!(unpacked(preview(JOB.to_owned(), 0)).0["compiled"]["picture"], Value::Null);
        assert_eq!(draw(JOB.replace("gpus", "gpu"), 640), "null");
    }

    #[test]
    fn the_picture_shows_every_job() {
        let jobs = format!("{JOB}---\n{}", JOB.replace("mnist", "bert").replace("replicas: 4", "replicas: 60"));
        let picture = &parsed(&jobs).0["compiled"]["picture"];
        let items = picture["items"].as_array().unwrap();
        let grid = items.iter().find(|item| item["key"] == "grid 0").unwrap();
        assert_eq!((&grid["job"], &grid["grid"]["workers"]), (&1.into(), &60.into()));
        assert!(grid["y"].as_u64() > items.iter().find(|item| item["key"] == "worker 0 3").unwrap()["y"].as_u64());
        let file = svg(jobs);
        assert!(file.starts_with("<svg ") && file.contains("bert"), "{file}");
        assert_eq!(svg(JOB.replace("gpus", "gpu")), "");
    }

    #[test]
    fn each_job_has_the_facts_of_its_timeline() {
        let found = facts(format!("{JOB}---\n{}", JOB.replace("mnist", "bert")));
        let found: Vec<_> = found.lines().filter_map(khorovod::timeline::Facts::from_line).collect();
        let jobs: Vec<_> = found.iter().map(|facts| (facts.job.as_str(), facts.ranks)).collect();
        assert_eq!(jobs, [("mnist", 32), ("bert", 32)]);
        assert_eq!(facts(JOB.replace("gpus", "gpu")), "");
    }

    #[test]
    fn secrets_have_utf16_offsets() {
        let text = "# ä𝄞\nenv: {DB_PASSWORD: 'ä𝄞 x'}\n";
        let found: Value = serde_json::from_str(&secrets(text)).unwrap();
        assert_eq!(found[0]["what"], "`DB_PASSWORD`");
        assert_eq!(slice(text, [&found[0]["from"], &found[0]["to"]]), "'ä𝄞 x'");
        assert_eq!(secrets(JOB), "[]");
    }

    #[test]
    fn secrets_have_the_keys_of_their_job() {
        let rendered = |keys: &str| unpacked(render(JOB.to_owned(), keys.to_owned()));
        let (files, text) = rendered("/other\0a\0b\0c\0d\0/mnist\0one\0two\0three\0four");
        assert_eq!(files.to_string().matches("-ssh.yaml").count(), 1);
        assert!(text.contains("id_ed25519: b25l\n") && text.contains("known_hosts: Zm91cg==\n"), "{text}");
        assert_eq!(rendered("").0.to_string().matches("-ssh.yaml").count(), 0);
        assert!(parsed(JOB).1.contains("bWFza2Vk"));
        assert_eq!(jobs_with_keys(JOB.replace("name: mnist", "name: mnist, namespace: team-a")), "team-a/mnist\n");
        assert_eq!(jobs_with_keys(JOB.replace("gpus", "gpu")), "");
    }

    #[test]
    fn jobs_and_problems_are_limited() {
        let jobs: Vec<String> = (0..60).map(|at| JOB.replace("mnist", &format!("job-{at}"))).collect();
        let (preview, _) = parsed(&jobs.join("---\n"));
        let compiled = &preview["compiled"];
        assert_eq!((compiled["jobs"].as_array().unwrap().len(), &compiled["leftOut"]), (50, &10.into()));
        let (wrong, _) = parsed(&vec![JOB.replace("gpus", "gpu"); 300].join("---\n"));
        assert_eq!(wrong["problems"].as_array().unwrap().len(), 200);
        assert!(wrong["more"].as_u64().unwrap() >= 100);
    }
}
