//! `docs/reference.md`: the JSON fields that it lists are those that the commands print. Also `doctor` and `version`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::{JOB, SEED, khorovod, place};
use super::run;

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md")
}

/// The fields that the page lists for a command. `?` marks a field that may be absent.
fn listed(command: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(page()).unwrap();
    let block = page.split(&format!("<!-- fields: {command} -->\n")).nth(1).unwrap();
    let rows = block.split("<!-- end -->").next().unwrap().lines();
    rows.filter_map(|row| Some(row.strip_prefix("| `")?.split('`').next()?.to_owned())).collect()
}

/// Adds the path of every value that is not null.
fn collect(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            fields.iter().for_each(|(name, field)| collect(field, &format!("{path}{dot}{name}"), found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, &format!("{path}[]"), found)),
        Value::Null => {}
        _ => drop(found.insert(path.to_owned())),
    }
}

fn fields(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(&serde_json::from_str(text).unwrap(), "", &mut found);
    found
}

#[test]
fn the_fields_of_validate_and_version() {
    let place = place();
    // The key that is set twice has two fixes.
    let spec = JOB.replace("gpus", "gpsu") + "  workingDir: /a\n  workingDir: /b\n";
    fs::write(place.path().join("job.yaml"), spec).unwrap();
    let (code, out, _) = run(khorovod(place.path()).args(["validate", "-o", "json", "job.yaml"]));
    assert_eq!((code, fields(&out)), (1, listed("validate")));
    let (code, out, _) = run(khorovod(place.path()).args(["version", "-o", "json"]));
    assert_eq!((code, fields(&out)), (0, listed("version")));
    let (_, text, _) = run(khorovod(place.path()).arg("version"));
    assert!(text.starts_with(concat!("khorovod ", env!("CARGO_PKG_VERSION"), ",")), "{text}");
}

/// The rows of a table with path, type and meaning of each field below a schema.
fn rows(root: &Value, schema: &Value, path: &str, table: &mut String) {
    let schema = resolve(root, schema);
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let dot = if path.is_empty() { "" } else { "." };
        let meaning = field["description"].as_str().unwrap_or_default().replace('\n', " ");
        let mut below = resolve(root, field);
        let mut path = format!("{path}{dot}{name}{optional}");
        // A pair has `prefixItems`.
        while let Some(items) = [&below["items"], &below["prefixItems"][0]].into_iter().find(|items| items.is_object())
        {
            path += "[]";
            below = resolve(root, items);
        }
        let kind = match &below["type"] {
            Value::String(kind) if kind == "object" => "",
            Value::String(kind) => kind,
            Value::Array(kinds) => kinds[0].as_str().unwrap(),
            _ => "string",
        };
        let words = below["oneOf"].as_array().into_iter().flatten().filter_map(|word| {
            Some(format!(" `{}`: {}", word["const"].as_str()?, word["description"].as_str()?.replace('\n', " ")))
        });
        let _ = writeln!(table, "| `{path}` | {kind} | {meaning}{} |", words.collect::<String>());
        rows(root, below, &path, table);
    }
}

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let alternatives = schema["anyOf"].as_array().and_then(|parts| parts.first());
    let path = alternatives.unwrap_or(schema)["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

/// The table of `plan -o json` comes from the declarations. A test of templates compares the same fields with all plans of the
/// examples.
#[test]
fn the_fields_of_a_plan() {
    let mut table = String::from("| Field | Type | Meaning |\n|---|---|---|\n");
    for (name, schema) in [
        ("jobs[]", schemars::schema_for!(khorovod::report::Report)),
        ("changes?[]", schemars::schema_for!(khorovod::report::Change)),
    ] {
        rows(schema.as_value(), schema.as_value(), name, &mut table);
    }
    let (start, end) = ("<!-- fields: plan -->\n", "\n<!-- end -->");
    let text = fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once(start).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let new = format!("{before}{start}{table}{}{after}", end.trim_start());
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(page(), &new).unwrap();
    }
    assert!(fs::read_to_string(page()).unwrap() == new, "docs/reference.md is not what the code says: `make bless`");
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/template.rs")).unwrap();
    let list = source.split("const FIELDS: &[&str] = &[").nth(1).unwrap().split("];").next().unwrap();
    let known: BTreeSet<String> =
        list.lines().filter_map(|line| Some(line.split('"').nth(1)?.replace('?', ""))).collect();
    let is_leaf = |row: &&str| !row.contains("` |  |");
    let listed: BTreeSet<String> = table
        .lines()
        .filter(is_leaf)
        .filter_map(|row| Some(row.strip_prefix("| `")?.split('`').next()?.replace('?', "")))
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn the_fields_of_the_report_of_an_import() {
    let place = place();
    let mut found = BTreeSet::new();
    for (system, name) in [("stable-horovod", "everything"), ("mpijob", "sleeping-launcher")] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/import/{system}/{name}.yaml"));
        let args = ["import", system, "--report", "json", path.to_str().unwrap()];
        let (code, _, report) = run(khorovod(place.path()).args(args));
        assert_eq!(code, 0, "{report}");
        found.extend(fields(&report));
    }
    assert_eq!(found, listed("import"));
}

/// A program in a folder that is all of PATH.
fn program(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn doctor(folder: &Path, bin: &Path, args: &[&str]) -> (i32, String, String) {
    run(khorovod(folder).arg("doctor").args(args).env("PATH", bin))
}

fn bin(place: &tempfile::TempDir) -> PathBuf {
    let bin = place.path().join("bin");
    fs::create_dir(&bin).unwrap();
    bin
}

#[test]
fn doctor_works_on_an_empty_machine() {
    let place = place();
    let bin = bin(&place);
    let (code, out, err) = doctor(place.path(), &bin, &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("warning  kubectl     not in PATH\n                     install it"), "{out}");
    assert!(out.contains("skipped  helm        not in PATH"), "{out}");
    assert!(out.contains("ok       ssh seed    none yet; the first render creates "), "{out}");
    let (_, out, _) = run(khorovod(place.path()).arg("doctor").env("PATH", &bin).env("CI", "1"));
    assert!(out.contains("warning  ssh seed    none, and none is created here"), "{out}");
    assert!(!place.path().join(".local").exists(), "doctor creates nothing");
    let (_, json, _) = doctor(place.path(), &bin, &["-o", "json"]);
    assert_eq!(fields(&json), listed("doctor"));
}

#[test]
fn doctor_reports_programs_and_fails_if_one_is_broken() {
    let place = place();
    let bin = bin(&place);
    let version = r#"{"clientVersion":{"gitVersion":"v1.33.2"},"serverVersion":{"gitVersion":"v1.32.1"}}"#;
    program(&bin, "kubectl", &format!("echo '{version}'"));
    program(&bin, "helm", "[ \"$1\" = plugin ] && echo 'khorovod-post-render 0.1.0' || echo v4.0.1");
    let (code, out, _) = doctor(place.path(), &bin, &[]);
    assert_eq!(code, 0, "{out}");
    for line in [
        "ok       kubectl     v1.33.2\n",
        "ok       cluster     v1.32.1\n                     render for it with `--kube-version 1.32`",
        "ok       helm        v4.0.1\n",
        "ok       plugin      khorovod-post-render\n",
    ] {
        assert!(out.contains(line), "{line}{out}");
    }
    program(&bin, "kubectl", "[ \"$2\" = --client ] || { echo 'refused' >&2; exit 1; }; echo '{}'");
    let (code, out, _) = doctor(place.path(), &bin, &[]);
    assert!(code == 0 && out.contains("skipped  cluster     refused\n"), "{out}");
    program(&bin, "helm", "echo 'Error: broken' >&2; exit 1");
    let (code, out, _) = doctor(place.path(), &bin, &[]);
    assert!(code == 1 && out.contains("failed   helm        Error: broken\n"), "{out}");
    fs::remove_file(bin.join("helm")).unwrap();
    let (code, out, _) = run(khorovod(place.path()).arg("doctor").env("PATH", &bin).env("KHOROVOD_SSH_SEED", "short"));
    assert!(code == 1 && out.contains("failed   ssh seed    ") && !out.contains(": short"), "{out}");
    let (_, out, _) = run(khorovod(place.path()).arg("doctor").env("PATH", &bin).env("KHOROVOD_SSH_SEED", SEED));
    assert!(out.contains("ok       ssh seed    in KHOROVOD_SSH_SEED\n"), "{out}");
}
