//! Checks of everything that contains a text: messages, objects, settings, lines.

use khorovod_compiler::pods::without_comments;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use khorovod::problem::Problems;
use khorovod::{Rendered, show};
use serde::Deserialize;
use serde_json::Value as Json;

/// Asserts that a text contains no control characters for a terminal and no commands for GitHub.
pub fn only_shows(page: &str, of: &str) {
    let moves = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harmless = |c: char| matches!(c, '\n' | '\t') || !moves(c);
    assert!(page.chars().all(harmless), "{of}: {page:?}");
}

pub fn check_reports(found: &Problems, of: &str) {
    only_shows(&show::Style::default().problems([found]).concat(), of);
    let found = std::slice::from_ref(found);
    let problems = show::distinct(found).count();
    let document: Json = serde_json::from_str(&show::json(found)).unwrap();
    assert_eq!(document["problems"].as_array().map(Vec::len), Some(problems), "{of}");
    let commands = show::github(found);
    only_shows(&commands, of);
    let ours = |line: &&str| ["::error ", "::warning ", "::notice "].iter().any(|start| line.starts_with(start));
    assert_eq!(commands.lines().filter(ours).count(), problems, "{of}: {commands}");
    assert_eq!(commands.lines().count(), problems, "{of}: {commands}");
}

pub fn objects(rendered: &Rendered) -> Vec<Json> {
    serde_yaml::Deserializer::from_str(&rendered.text).map(|one| Json::deserialize(one).unwrap()).collect()
}

/// The kinds of the objects, and the keys of a Secret, which no text may change.
pub fn outline<'a>(objects: &'a [Json]) -> Vec<(&'a str, Vec<&'a String>)> {
    let outline_of = |object: &'a Json| {
        let kind = object["kind"].as_str().unwrap_or_default();
        let data = object["data"].as_object().filter(|_| kind == "Secret");
        (kind, data.into_iter().flatten().map(|(key, _)| key).collect())
    };
    objects.iter().map(outline_of).collect()
}

/// The files of the run's ConfigMap.
pub fn files(objects: &[Json]) -> BTreeMap<&str, &str> {
    let maps = objects.iter().filter(|one| one["kind"] == "ConfigMap" && one["data"].get("job.sh").is_some());
    maps.flat_map(|map| map["data"].as_object().unwrap())
        .map(|(name, text)| (name.as_str(), text.as_str().unwrap()))
        .collect()
}

/// Reads many settings with one bash, each in its own subshell and folder; returns the names that each sets. Detects
/// commands that they run.
pub fn names_set(texts: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (number, text) in texts.iter().enumerate() {
        fs::create_dir(folder.path().join(number.to_string())).unwrap();
        fs::write(folder.path().join(format!("{number}/job.sh")), text).unwrap();
    }
    let program = "compgen -v >usual
        for folder in */; do ( cd \"$folder\" || exit; bash -n job.sh || echo 'no bash' >wrong
        . ./job.sh 2>said; [[ ! -s said ]] || mv said wrong; compgen -v >names ); done";
    let done = Command::new("bash").args(["-c", program]).current_dir(folder.path()).output().expect("bash runs");
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    let names = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap().lines().map(str::to_owned).collect();
    let usual: BTreeSet<String> = names("usual");
    let read = |(number, text): (usize, &String)| {
        let mut there: Vec<_> = fs::read_dir(folder.path().join(number.to_string()))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        there.sort();
        there.retain(|name| name != "said");
        assert_eq!(there, ["job.sh", "names"], "what a text says was done:\n{text}");
        let set = &names(&format!("{number}/names")) - &usual;
        (text.clone(), set.into_iter().filter(|name| !["_", "folder", "PIPESTATUS"].contains(&name.as_str())).collect())
    };
    texts.iter().enumerate().map(read).collect()
}

/// Asserts that every line of the files that are not scripts has the expected form.
pub fn well_formed(files: &BTreeMap<&str, &str>, of: &str) {
    let host = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
    };
    for line in files.get("hostfile").into_iter().flat_map(|text| text.lines()) {
        let (name, slots) = line.split_once(" slots=").or_else(|| line.split_once(':')).unwrap_or((line, "1"));
        assert!(host(name) && slots.parse::<u32>().is_ok(), "{of}: hostfile: {line:?}");
    }
    for line in files.get("passwd").into_iter().flat_map(|text| text.lines()) {
        assert_eq!(line.split(':').count(), 7, "{of}: passwd: {line:?}");
    }
    if let Some(transfers) = files.get("s3.json") {
        serde_json::from_str::<Json>(transfers).unwrap_or_else(|error| panic!("{of}: s3.json: {error}"));
    }
    let ssh = without_comments(include_str!("../../src/compiler/pods/scripts/ssh_config"));
    assert!(files.get("ssh_config").is_none_or(|text| *text == ssh), "{of}: the ssh configuration is no job's own");
}

/// The lines that sbatch reads: those before the first line that is not a comment.
pub fn directives(script: &str) -> usize {
    script.lines().take_while(|line| line.starts_with('#')).filter(|line| line.starts_with("#SBATCH")).count()
}
