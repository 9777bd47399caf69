//! Injection tests: puts hostile texts into every string of the schema. If khorovod accepts a text, the output must have the
//! same objects with this text as a value, scripts that bash reads as the same settings, lines of the same form, and messages
//! without control characters and commands.

#[path = "../../fuzz/src/targets/choices.rs"]
#[allow(dead_code)]
mod choices;
mod judges;
mod places;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use choices::HOSTILE;
use judges::{check_reports, directives, files, names_set, objects, only_shows, outline, well_formed};
use khorovod::import::{Options, System, import};
use khorovod::problem::Problems;
use khorovod::{Inputs, Keys, Rendered, Target, Text, show, targets};
use places::{Place, all_places, bases, home, put};
use serde::Deserialize;
use serde_json::{Value as Json, json};

fn inputs(target: &'static dyn Target) -> Inputs {
    Inputs { keys: Keys::Masked, target, ..Inputs::default() }
}

fn render(job: &Json, target: &'static dyn Target) -> Result<Rendered, Problems> {
    khorovod::render(&Text { name: "job.yaml".to_owned(), text: job.to_string() }, &inputs(target))
}

/// Places where several fields must match each other, so that a change of one text is always rejected. Other places have the
/// same formats.
const HOMELESS: &[&str] = &[
    "spec.observability.metrics.from[].",
    "spec.observability.launcherMetrics.from[].",
    "spec.security.egressTo[].",
    "spec.placement.affinity.",
    "spec.placement.tolerations[].value",
    "spec.storage[].emptyDir.",
    "spec.storage[].hostPath",
    "spec.image.digest",
    "spec.image.pullSecrets[]",
    "spec.env.*.",
    "spec.workers.groups[].gpuClaim",
    "spec.workers.groups[].r",
    "spec.workers.rdma.claim",
    "spec.workers.resourceClaims",
    "spec.workers.resources.",
    "spec.storage[].persistentVolume.",
    "spec.storage[].s3.uploadInterval",
];

/// The results of all texts at one place.
#[derive(Default)]
struct Tried {
    taken: usize,
    refused: usize,
    /// The settings, those of a harmless text in the same job, and the index of the text.
    settings: Vec<(String, String, String)>,
}

/// Puts every `step`th hostile text at a place, starting with `first`.
fn try_place(root: &Json, bases: &[Json], place: &Place, first: usize, step: usize) -> Tried {
    let (mut tried, of) = (Tried::default(), place.name());
    if HOMELESS.iter().any(|known| of.starts_with(known)) {
        return tried;
    }
    let Some((target, base, text)) = home(root, place, bases) else {
        panic!("no job was found in which {of} takes any text")
    };
    let with = |text: &str| {
        let mut job = base.clone();
        put(root, &mut job, &place.way, text);
        job
    };
    let usual = render(&with(&text), target).unwrap();
    let of_kubernetes = target != targets::SLURM;
    let usual_objects = if of_kubernetes { objects(&usual) } else { Vec::new() };
    for hostile in HOSTILE.iter().skip(first).step_by(step) {
        let job = with(hostile);
        let of = format!("{of} = {hostile:?}");
        let rendered = match render(&job, target) {
            Ok(rendered) => rendered,
            Err(found) => {
                check_reports(&found, &of);
                tried.refused += 1;
                continue;
            }
        };
        tried.taken += 1;
        check_reports(&rendered.warnings, &of);
        let text = Text { name: "job.yaml".to_owned(), text: job.to_string() };
        only_shows(&show::plan(&khorovod::reports(&text, &inputs(target)).unwrap().jobs, "khorovod render", true), &of);
        if !of_kubernetes {
            assert_eq!(directives(&rendered.text), directives(&usual.text), "{of}");
            continue;
        }
        let objects = objects(&rendered);
        // A patch may change its object in any way.
        if !of.starts_with("spec.patches") && !of.starts_with("spec.code.files.(key)") {
            assert_eq!(outline(&objects), outline(&usual_objects), "{of}");
        }
        let [own, others] = [files(&objects), files(&usual_objects)];
        well_formed(&own, &of);
        if let (Some(own), Some(others)) = (own.get("job.sh"), others.get("job.sh")) {
            tried.settings.push(((*own).to_owned(), (*others).to_owned(), of));
        }
    }
    tried
}

/// Runs a function for each place, on all CPUs.
fn at_every_place(places: &[Place], one: impl Fn(usize, &Place) -> Tried + Sync) -> Vec<Tried> {
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let lane = |lane: usize| {
            let one = &one;
            scope.spawn(move || places.iter().enumerate().skip(lane).step_by(lanes).map(|(n, p)| one(n, p)).collect())
        };
        let running: Vec<std::thread::ScopedJoinHandle<'_, Vec<Tried>>> = (0..lanes).map(lane).collect();
        running.into_iter().flat_map(|lane| lane.join().expect("what a lane says stands above")).collect()
    })
}

#[test]
fn no_text_leaves_its_place() {
    let root = khorovod::schema();
    let (places, bases) = (all_places(&root), bases());
    // Each place is tested with some of the texts, and other places with other texts; with many cases, all texts.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let step = match cases.unwrap_or(256) {
        0..100 => 20,
        100..1000 => 5,
        _ => 1,
    };
    let tried = at_every_place(&places, |number, place| try_place(&root, &bases, place, number % step, step));
    let settings: BTreeMap<_, _> =
        tried.iter().flat_map(|one| &one.settings).map(|(own, others, of)| (own, (others, of))).collect();
    let names = names_set(&settings.iter().flat_map(|(own, (others, _))| [own, *others]).cloned().collect());
    for (own, (others, of)) in &settings {
        assert_eq!(names[*own], names[*others], "{of}:\n{own}");
    }
    let taken: usize = tried.iter().map(|one| one.taken).sum();
    let refused: usize = tried.iter().map(|one| one.refused).sum();
    println!(
        "{} places, {taken} texts taken, {refused} refused, {} settings read by bash",
        places.len(),
        settings.len()
    );
    assert!(
        places.len() > 150 && taken > 5_000 / step && refused > 5_000 / step && settings.len() > 500 / step,
        "{} {taken} {refused} {}",
        places.len(),
        settings.len()
    );
}

#[test]
fn a_comment_of_an_object_cannot_be_ended() {
    let job = bases()[0].to_string();
    let mut rendered = 0;
    for end in ["\r", "\u{85}", "\u{2028}", "\u{2029}"] {
        let text = format!("# Source: a{end}pwned: 1\n{job}");
        if let Ok(objects) = khorovod::render(&Text { name: "job.yaml".to_owned(), text }, &inputs(targets::PLAIN)) {
            assert!(!objects.text.contains("pwned"), "{end:?}");
            rendered += 1;
        }
    }
    assert!(rendered > 1, "{rendered}");
}

/// A value with one text replaced, for each text in it.
fn each_changed(value: &Json, text: &str, each: &mut dyn FnMut(Json)) {
    match value {
        Json::Object(map) => {
            for (key, below) in map {
                each_changed(below, text, &mut |changed| {
                    let mut whole = map.clone();
                    whole[key] = changed;
                    each(Json::Object(whole));
                });
                let mut renamed = map.clone();
                let below = renamed.shift_remove(key).unwrap();
                renamed.insert(text.to_owned(), below);
                each(Json::Object(renamed));
            }
        }
        Json::Array(list) => {
            for at in 0..list.len() {
                each_changed(&list[at], text, &mut |changed| {
                    let mut whole = list.clone();
                    whole[at] = changed;
                    each(Json::Array(whole));
                });
            }
        }
        _ => each(json!(text)),
    }
}

#[test]
fn a_comment_of_a_draft_cannot_be_ended() {
    // The line ends of all YAML versions, and those of 1.1 only.
    let texts = [["\n", "\r", "\r\n"], ["\u{85}", "\u{2028}", "\u{2029}"]];
    let texts = texts.map(|ends| ends.map(|end| format!("a{end}pwned: 1{end}# ")).concat());
    let (mut drafted, mut refused) = (0, 0);
    for system in System::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(system.name());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let old = fs::read_to_string(&path).unwrap();
            if path.to_string_lossy().ends_with(".job.yaml") || path.extension().is_some_and(|end| end == "txt") {
                continue;
            }
            let mut tried = |old: String, of: &str| match import(
                *system,
                &[Text { name: format!("old\n{of}"), text: old }],
                &Options::default(),
            ) {
                Ok(imported) => {
                    drafted += 1;
                    let documents: Vec<Json> = serde_yaml::Deserializer::from_str(&imported.job)
                        .map(|one| Json::deserialize(one).unwrap())
                        .collect();
                    let keys: Vec<&String> = documents[0].as_object().unwrap().keys().collect();
                    assert_eq!(
                        (documents.len(), keys),
                        (
                            1,
                            vec!["apiVersion", "kind", "metadata", "spec"]
                                .into_iter()
                                .map(str::to_owned)
                                .collect::<Vec<_>>()
                                .iter()
                                .collect()
                        ),
                        "{of}:\n{}",
                        imported.job
                    );
                    only_shows(&show::import(&imported), of);
                }
                Err(found) => {
                    refused += 1;
                    check_reports(&found, of);
                }
            };
            match serde_yaml::from_str::<Json>(&old) {
                // The comments and the report repeat the values of maps.
                Ok(values @ Json::Object(_)) => {
                    for text in &texts {
                        each_changed(&values, text, &mut |changed| tried(changed.to_string(), text));
                    }
                }
                // Each word of a script.
                _ => {
                    for text in &texts {
                        for (at, word) in old.split_whitespace().enumerate() {
                            tried(old.replacen(word, text, 1), &format!("word {at}: {text}"));
                        }
                    }
                }
            }
        }
    }
    println!("{drafted} drafts, {refused} refused");
    assert!(drafted > 500 && refused > 200, "{drafted} {refused}");
}
