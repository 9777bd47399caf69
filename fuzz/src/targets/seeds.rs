//! The seeds: the examples, the fixtures of problems and the files of other systems, each in the format of its target.

use std::fs;
use std::path::{Path, PathBuf};

use khorovod::import::System;

/// The root folder of khorovod, in both crates that include this file.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().find(|path| path.join("examples").is_dir()).expect("the examples are there").to_owned()
}

/// Whether a file has this extension.
fn is(path: &str, extension: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|found| found == extension)
}

/// The seeds of a target; empty for a target that builds its inputs from choices.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let jobs = || files(&["examples", "tests/problems"], |path| is(path, "yaml") && !path.ends_with("objects.yaml"));
    match target {
        "reader" => jobs().chain(olds().map(|(_, text)| text)).collect(),
        "stream" => jobs().chain(files(&["examples"], |path| path.ends_with("objects.yaml")).take(4)).collect(),
        "render" => jobs().flat_map(|job| [with(0, &job), with(1, &job)]).collect(),
        "krm" => jobs().map(|job| listed(&job)).collect(),
        "import" => olds().map(|(system, text)| with(system, &text)).collect(),
        "merge" => {
            let overlay = b"\0metadata: {labels: {a: b}}\nspec: {env: null, workers: {replicas: 3}}\0args=[x]\0env.A=b";
            jobs().map(|job| [&job[..], overlay].concat()).collect()
        }
        _ => Vec::new(),
    }
}

/// The texts of all files in some folders whose path matches, in order.
fn files(folders: &[&str], wanted: fn(&str) -> bool) -> impl Iterator<Item = Vec<u8>> {
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of seeds") {
            let path = entry.expect("a folder of seeds").path();
            let list = if path.is_dir() { &mut folders } else { &mut paths };
            list.push(path);
        }
    }
    paths.retain(|path| wanted(&path.to_string_lossy()));
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).expect("a seed")).filter(|text| text.len() < 4000)
}

/// Files of other systems, each after the number of its system.
fn olds() -> impl Iterator<Item = (u8, Vec<u8>)> {
    (0..).zip(System::ALL).flat_map(|(number, system)| {
        let folder = format!("tests/import/{}", system.name());
        let old = |path: &str| !is(path, "txt") && !path.ends_with(".job.yaml");
        files(&[&folder], old).map(move |text| (number, text)).collect::<Vec<_>>()
    })
}

fn with(first: u8, text: &[u8]) -> Vec<u8> {
    [&[first], text].concat()
}

/// A job as the items of a list.
fn listed(job: &[u8]) -> Vec<u8> {
    let job = String::from_utf8_lossy(job).trim_end().replace('\n', "\n  ");
    format!("kind: ResourceList\nitems:\n- {{kind: Service, metadata: {{name: theirs}}}}\n-\n  {job}\n").into_bytes()
}
