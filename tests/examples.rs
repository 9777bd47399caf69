//! Every example renders without a word of complaint to what lies beside it, is described by its
//! `plan.txt`, and is understood by Kubernetes' own types without loss.
//!
//! `make bless` writes the files anew.

#[path = "common/kubernetes.rs"]
mod kubernetes;

use std::fs;
use std::path::{Path, PathBuf};

use khorovod::{Inputs, Keys, Text};
use serde_json::Value as Json;

/// The folders under `examples/`, in order.
fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut folders: Vec<_> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn inputs() -> Inputs {
    let hex = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ssh.seed")).unwrap();
    let byte = |index: usize| u8::from_str_radix(&hex[index * 2..index * 2 + 2], 16).unwrap();
    Inputs { keys: Keys::Seed(std::array::from_fn(byte)), ..Inputs::default() }
}

fn job(folder: &Path) -> Text {
    let text = fs::read_to_string(folder.join("job.yaml")).unwrap();
    Text { name: format!("{}/job.yaml", folder.file_name().unwrap().to_string_lossy()), text }
}

fn rendered(folder: &Path) -> String {
    match khorovod::render(&job(folder), &inputs()) {
        Ok(rendered) => {
            let warnings: Vec<_> = rendered.warnings.list.iter().map(|problem| &problem.message).collect();
            assert!(warnings.is_empty(), "{}: {warnings:?}", folder.display());
            rendered.text
        }
        Err(problems) => panic!("{}: {:?}", folder.display(), problems.list),
    }
}

/// Compares with a file, or writes it where `KHOROVOD_BLESS` is set.
fn hold(path: &Path, text: &str, stale: &mut Vec<String>) {
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(path, text).unwrap();
    } else if fs::read_to_string(path).unwrap_or_default() != text {
        stale.push(path.display().to_string());
    }
}

#[test]
fn every_example_renders_to_what_lies_beside_it() {
    let mut stale = Vec::new();
    let folders = examples();
    assert!(folders.len() >= 16, "only {} examples", folders.len());
    for folder in folders {
        let text = rendered(&folder);
        assert_eq!(text, rendered(&folder), "{}: two renders differ", folder.display());
        hold(&folder.join("objects.yaml"), &text, &mut stale);
    }
    assert!(stale.is_empty(), "not what the code renders; look at the difference, then `make bless`: {stale:#?}");
}

#[test]
fn every_example_is_described_by_its_plan() {
    let mut stale = Vec::new();
    for folder in examples() {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_khorovod"))
            .arg("plan")
            .arg(folder.join("job.yaml"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&output.stderr));
        hold(&folder.join("plan.txt"), &String::from_utf8(output.stdout).unwrap(), &mut stale);
    }
    assert!(stale.is_empty(), "not what the code plans; look at the difference, then `make bless`: {stale:#?}");
}

#[test]
fn every_object_is_of_its_kubernetes_type_without_loss() {
    let mut foreign = std::collections::BTreeSet::new();
    for folder in examples() {
        for document in serde_yaml::Deserializer::from_str(&rendered(&folder)) {
            let object: Json = serde::Deserialize::deserialize(document).unwrap();
            let kind = object["kind"].as_str().unwrap();
            let place = format!("{}: {kind} {}", folder.display(), object["metadata"]["name"]);
            if !kubernetes::is_of_its_type(&object, &place) {
                foreign.insert(kind.to_owned());
            }
        }
    }
    assert!(foreign.iter().all(|kind| ["PodGroup", "PodMonitor"].contains(&kind.as_str())), "{foreign:?}");
}
