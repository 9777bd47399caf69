//! Renders every example without a warning and compares the result with the files beside it: the objects with
//! `objects.yaml`, the output of `khorovod plan` with `plan.txt`, and the picture of one job with `picture.svg`. Reads every rendered object into its Kubernetes type;
//! no field may be lost.
//!
//! A script of the pods that is the same text in every job is one line in `objects.yaml`: `wait.sh: <static script>`.
//! Only the examples in [`COMPLETE`] have its text. `examples/scripts.sha256` has the digest of each such script, so a
//! changed script changes three files under `examples/`, not one per example.
//!
//! `make bless` writes all these files again.

#[path = "common/kubernetes.rs"]
mod kubernetes;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use khorovod::{Inputs, Keys, Text};
use khorovod_compiler::pods::without_comments;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// The examples whose `objects.yaml` has every script in full: the first one that a reader opens, and the one with the
/// most scripts.
const COMPLETE: [&str; 2] = ["smallest", "s3"];

/// The text in a condensed `objects.yaml` in place of a static script.
const MARK: &str = "<static script>";

/// The first lines of a condensed `objects.yaml`.
const HEAD: &str = "\
# What `khorovod render job.yaml` prints, except that `<static script>` stands for a script that is the same in every job.
# The text of most of these scripts is in ../smallest/objects.yaml; ../scripts.sha256 has the digest of each.
";

/// Compares this binary with another one for one example. Returns whether they render the same, and the output of the script.
#[cfg(unix)]
fn compared_with(new: &Path) -> (bool, String) {
    let script = path("tests/compare/objects.py");
    let binary = env!("CARGO_BIN_EXE_khorovod");
    let output = std::process::Command::new("python3")
        .arg("-B")
        .args([script.as_path(), Path::new(binary), new, &path("examples/smallest/job.yaml")])
        .output()
        .expect("python3");
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

/// The stage `cluster` of the tests runs each example as `tests/cluster/examples.toml` defines, and needs a cluster to find a
/// missing entry.
#[test]
fn the_cluster_stage_has_an_entry_for_each_example() {
    let table = fs::read_to_string(path("tests/cluster/examples.toml")).unwrap();
    let entries = table
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']').map(|name| name.trim_matches(['[', ']'])));
    let mut entries: Vec<&str> = entries.map(|name| name.split('.').next().unwrap_or(name)).collect();
    entries.sort_unstable();
    entries.dedup();
    let folders = fs::read_dir(path("examples")).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.path().join("job.yaml").exists());
    let mut folders: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    folders.sort_unstable();
    assert_eq!(entries, folders);
}

#[cfg(unix)]
#[test]
fn the_script_that_compares_binaries_finds_each_difference() {
    use std::os::unix::fs::PermissionsExt;

    let binary = env!("CARGO_BIN_EXE_khorovod");
    assert_eq!(compared_with(Path::new(binary)), (true, "6 renderings compared, 0 differences\n".to_owned()));
    // A binary that renders another number of retries, and refuses the target volcano.
    let folder = tempfile::tempdir().unwrap();
    let changed = folder.path().join("khorovod");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *volcano*) echo 'error[target-cannot]: no' >&2; exit 1 ;; esac\n\
         exec \"{binary}\" \"$@\" | sed 's/\"backoffLimit\": [0-9]*/\"backoffLimit\": 7/'\n"
    );
    fs::write(&changed, script).unwrap();
    fs::set_permissions(&changed, fs::Permissions::from_mode(0o755)).unwrap();
    let (is_same, text) = compared_with(&changed);
    assert!(!is_same, "{text}");
    for line in [
        "mpijob: MPIJob/JOB-RUN spec runPolicy backoffLimit: 0 → 7 (smallest)",
        "volcano: is refused now: target-cannot (smallest)",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

/// A path in the repository.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The folders under `examples/`, in order.
fn examples() -> Vec<PathBuf> {
    let entries = fs::read_dir(path("examples")).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The folder of the static scripts.
const SCRIPTS: &str = "src/compiler/pods/scripts";

/// The text of each static script as pods get it, by its name in the ConfigMap.
fn static_scripts() -> BTreeMap<String, String> {
    let entries = fs::read_dir(path(SCRIPTS)).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.extension().is_none_or(|extension| extension != "rs"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, without_comments(&fs::read_to_string(path).unwrap()))
        })
        .collect()
}

/// A static script as an entry of a rendered ConfigMap, from the line break before it.
fn full_entry(name: &str, script: &str) -> String {
    let mut entry = format!("\n  {name}: |\n");
    for line in script.split_inclusive('\n') {
        entry.extend([if line == "\n" { "" } else { "    " }, line]);
    }
    entry
}

/// The same entry in a condensed file.
fn short_entry(name: &str) -> String {
    format!("\n  {name}: {MARK}\n")
}

/// Rendered objects with one line for each static script.
fn condense(objects: &str, scripts: &BTreeMap<String, String>) -> String {
    scripts
        .iter()
        .fold(objects.to_owned(), |text, (name, script)| text.replace(&full_entry(name, script), &short_entry(name)))
}

/// The rendered objects that a condensed text stands for.
fn expand(condensed: &str, scripts: &BTreeMap<String, String>) -> String {
    scripts
        .iter()
        .fold(condensed.to_owned(), |text, (name, script)| text.replace(&short_entry(name), &full_entry(name, script)))
}

fn parse(objects: &str) -> impl Iterator<Item = Json> {
    serde_yaml::Deserializer::from_str(objects).map(|document| serde::Deserialize::deserialize(document).unwrap())
}

fn inputs() -> Inputs {
    let hex = fs::read_to_string(path("examples/ssh.seed")).unwrap();
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
fn every_example_renders_to_its_objects_yaml() {
    let mut stale = Vec::new();
    let scripts = static_scripts();
    let mut digests = BTreeMap::new();
    let folders = examples();
    assert!(folders.len() >= 16, "only {} examples", folders.len());
    for folder in folders {
        let full = rendered(&folder);
        assert_eq!(full, rendered(&folder), "{}: two renders differ", folder.display());

        let condensed = condense(&full, &scripts);
        assert_eq!(expand(&condensed, &scripts), full, "{}: the condensed text has lost something", folder.display());
        for (mut short, full) in parse(&condensed).zip(parse(&full)) {
            let data = short.get_mut("data").and_then(Json::as_object_mut);
            for (name, text) in data.into_iter().flatten().filter(|(_, text)| *text == MARK) {
                let script = &scripts[name];
                digests.insert(name.clone(), Sha256::digest(fs::read(path(SCRIPTS).join(name)).unwrap()));
                *text = script.as_str().into();
            }
            assert_eq!(short, full, "{}: a marked script is not the static one", folder.display());
        }

        let is_complete = COMPLETE.iter().any(|name| folder.ends_with(name));
        let expected = if is_complete { full } else { [HEAD, &condensed].concat() };
        hold(&folder.join("objects.yaml"), &expected, &mut stale);
    }
    let mut list = format!("# Static scripts of the pods; `sha256sum --check` reads this in {SCRIPTS}.\n");
    for (name, digest) in digests {
        let _ = writeln!(list, "{digest:x}  {name}");
    }
    hold(&path("examples/scripts.sha256"), &list, &mut stale);
    assert!(stale.is_empty(), "not what the code renders; look at the difference, then `make bless`: {stale:#?}");
}

#[test]
fn every_example_is_described_by_its_plan() {
    let mut stale = Vec::new();
    for folder in examples() {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_khorovod"))
            .args(["plan", "job.yaml"])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&output.stderr));
        hold(&folder.join("plan.txt"), &String::from_utf8(output.stdout).unwrap(), &mut stale);
    }
    let smallest = path("examples/smallest");
    let reports = khorovod::reports(&job(&smallest), &Inputs { keys: Keys::Masked, ..Inputs::default() }).unwrap();
    hold(&smallest.join("picture.svg"), &khorovod::picture::svg(&reports.jobs), &mut stale);
    assert!(stale.is_empty(), "not what the code plans; look at the difference, then `make bless`: {stale:#?}");
}

/// The preview and `khorovod plan -o json` show why each object exists, and which pods it becomes.
#[test]
fn every_object_has_a_purpose_and_every_pod_an_owner() {
    let targets = ["plain", "slurm", "mpijob", "trainjob", "jobset", "volcano"];
    let mut described = 0;
    for (folder, target) in examples().iter().flat_map(|folder| targets.map(|target| (folder, target))) {
        let inputs = Inputs { target: target.parse().unwrap(), ..inputs() };
        // Some targets refuse some examples.
        let Ok(reports) = khorovod::reports(&job(folder), &inputs) else { continue };
        for report in reports.jobs {
            let what = format!("{} for {target}", folder.display());
            for object in &report.objects {
                let (kind, purpose) = (&object.kind, &object.purpose);
                assert!(purpose.ends_with('.') && purpose.matches(". ").count() < 3, "{what}: {kind}: {purpose:?}");
                assert!(!object.fact.is_empty() || kind.ends_with("Binding"), "{what}: {kind} has no fact");
                described += 1;
            }
            let created = report.objects.iter().flat_map(|object| &object.creates);
            let pods: u32 = created.filter(|created| created.kind == "Pod").map(|created| created.count).sum();
            assert_eq!(pods, if target == "slurm" { 0 } else { report.pods }, "{what}");
        }
    }
    assert!(described > 900, "only {described} objects");
}

#[test]
fn every_object_is_of_its_kubernetes_type_without_loss() {
    let mut foreign = std::collections::BTreeSet::new();
    for folder in examples() {
        for object in parse(&rendered(&folder)) {
            let kind = object["kind"].as_str().unwrap();
            let place = format!("{}: {kind} {}", folder.display(), object["metadata"]["name"]);
            if !kubernetes::is_of_its_type(&object, &place) {
                foreign.insert(kind.to_owned());
            }
        }
    }
    assert!(
        foreign.iter().all(|kind| ["ComputeDomain", "PodGroup", "PodMonitor"].contains(&kind.as_str())),
        "{foreign:?}"
    );
}
