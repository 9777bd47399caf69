//! The output files: they are written completely or not at all.

use std::fs;
use std::io::Read;
use std::process::{Output, Stdio};

use super::common::{JOB, SEED, khorovod, place};
use super::{mode, piped, run};

#[test]
fn init_writes_once() {
    let place = place();
    let (code, out, err) = run(khorovod(place.path()).args(["init", "mine", "--elastic"]));
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let first = fs::read_to_string(place.path().join("job.yaml")).unwrap();
    assert!(first.starts_with("# yaml-language-server: $schema=") && first.contains("\n  name: mine\n"));
    let (code, _, err) = run(khorovod(place.path()).args(["init"]));
    assert!(code == 3 && err.contains("--force"), "{err}");
    assert_eq!(fs::read_to_string(place.path().join("job.yaml")).unwrap(), first);
    assert_eq!(run(khorovod(place.path()).args(["init", "--force"])).0, 0);
    assert_ne!(fs::read_to_string(place.path().join("job.yaml")).unwrap(), first);
    assert!(run(khorovod(place.path()).args(["init", "-o", "-"])).1.contains("kind: TrainingJob"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = place();
    let mut child = khorovod(place.path())
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_exits_with_code_3() {
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let place = place();
    for args in [&["init", "-o", "-"][..], &["completions", "bash"], &["init", "-o", "/dev/full", "--force"]] {
        let (code, _, err) = run(khorovod(place.path()).args(args).stdout(full()));
        assert!(code == 3 && err.contains("no space left"), "{args:?}: {code} {err}");
    }
}

#[test]
fn rendered_json_is_a_list_of_the_same_objects() {
    let place = place();
    let input = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"1\"}}\ndata: {{a: \"1\"}}\n---\n{JOB}");
    let render = |args: &[&str], text: &str| {
        piped(khorovod(place.path()).arg("render").args(args).env("KHOROVOD_SSH_SEED", SEED), text)
    };
    let (code, json, err) = render(&["-o", "json"], &input);
    assert_eq!((code, err.as_str()), (0, ""));
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&"v1".into(), &"List".into()));
    let yaml = render(&[], &input).1;
    let objects: Vec<serde_json::Value> =
        serde_yaml::Deserializer::from_str(&yaml).map(|one| serde::Deserialize::deserialize(one).unwrap()).collect();
    assert!(objects.len() > 5);
    assert_eq!(list["items"].as_array().unwrap(), &objects);
    assert_eq!(render(&["-o", "all.json"], &input), (0, String::new(), String::new()));
    assert_eq!(fs::read_to_string(place.path().join("all.json")).unwrap(), json);
    // It contains keys.
    assert_eq!(mode(&place.path().join("all.json")), 0o600);
    let (code, out, err) = render(&["-o", "json", "--target", "slurm"], JOB);
    assert!(code == 2 && out.is_empty() && err.contains("leave out -o json"), "{code} {err}");
    // Another document that YAML parsers read differently.
    let (code, out, err) = render(&["-o", "json"], &format!("a: on\n---\n{JOB}"));
    assert!(code == 1 && out.is_empty() && err.contains("error[yaml-ambiguous]"), "{err}");
}

#[test]
fn a_failed_render_leaves_the_last_one_alone() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    let render = |out: &str, text: &str| {
        piped(khorovod(place.path()).args(["render", "-o", out]).env("KHOROVOD_SSH_SEED", SEED), text)
    };
    for out in ["all.yaml", "out/"] {
        assert_eq!(render(out, JOB), (0, String::new(), String::new()));
    }
    let files = || {
        let mut found: Vec<_> = fs::read_dir(at("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found.iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect::<Vec<_>>()
    };
    let before = (fs::read_to_string(at("all.yaml")).unwrap(), files());
    assert_eq!(mode(&at("all.yaml")), 0o600, "there is a key in it");
    let is_secret = |path: &std::path::PathBuf| path.to_string_lossy().contains("-secret-mnist-");
    let secret = before.1.iter().map(|(path, _)| path).find(|path| is_secret(path)).unwrap();
    assert_eq!(mode(secret), 0o600);
    for out in ["all.yaml", "out/", "out"] {
        assert_eq!(render(out, &JOB.replace("gpus: 8", "gpus: -8")).0, 1);
        assert_eq!((fs::read_to_string(at("all.yaml")).unwrap(), files()), before);
    }
    // If the folder contains one other file, it is not changed.
    fs::write(at("out/notes.yaml"), "mine").unwrap();
    let (code, _, err) = render("out", &JOB.replace("mnist", "other"));
    assert!(code == 3 && err.contains("notes.yaml"), "{err}");
    assert!(secret.exists());
    let (code, _, err) = render("no/such/all.yaml", JOB);
    assert!(code == 3 && err.contains("mkdir -p no/such"), "{err}");
    // There are no partial files.
    let mut left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["all.yaml", "out"]);
}

#[test]
fn a_large_render_into_a_closed_or_full_stream() {
    let place = place();
    // More than the capacity of a pipe.
    let many =
        (0..5).map(|n| format!("{}---\n", JOB.replace("mnist", &format!("job-{n}")))).collect::<Vec<_>>().concat();
    fs::write(place.path().join("many.yaml"), many).unwrap();
    let render = || {
        let mut command = khorovod(place.path());
        command.args(["render", "many.yaml"]).env("KHOROVOD_SSH_SEED", SEED).stderr(Stdio::piped());
        command
    };
    let mut child = render().stdout(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!((status.code(), stderr.as_slice()), (Some(0), &b""[..]));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (code, _, err) = run(render().stdout(full));
    assert!(code == 3 && err.contains("no space left"), "{err}");
}

#[test]
fn inputs_are_not_overwritten() {
    let place = place();
    let job = place.path().join("job.yaml");
    fs::write(&job, JOB).unwrap();
    for args in [
        &["render", "--no-keys", "job.yaml"][..],
        &["render", "--no-keys", "-", "--overlay", "job.yaml"],
        &["import", "slurm", "job.yaml"],
    ] {
        let (code, _, err) = run(khorovod(place.path()).args(args).args(["-o", "./job.yaml"]));
        assert!(code == 2 && err.contains("is not overwritten"), "{args:?}: {err}");
        assert_eq!(fs::read_to_string(&job).unwrap(), JOB);
    }
    let json = place.path().join("job.json");
    fs::write(&json, JOB).unwrap();
    for args in [&["validate", "job.json"][..], &["plan", "job.json"], &["plan", "-", "--against", "job.json"]] {
        let (code, _, err) = run(khorovod(place.path()).args(args).args(["-o", "job.json"]));
        assert!(code == 2 && err.contains("is not overwritten"), "{args:?}: {err}");
        assert_eq!(fs::read_to_string(&json).unwrap(), JOB);
    }
}

#[test]
fn a_folder_with_other_jobs_is_not_replaced() {
    let place = place();
    let named = |name: &str| JOB.replacen("mnist", name, 1) + "  ssh: {secretName: team-keys}\n";
    let render = |text: &str| piped(khorovod(place.path()).args(["render", "--no-keys", "-o", "out/"]), text);
    assert_eq!(render(&named("one")).0, 0);
    let (code, _, err) = render(&named("two"));
    assert!(
        code == 3 && err.contains("the objects of one, which this would delete") && err.contains("jobs/*.yaml"),
        "{err}"
    );
    assert_eq!(render(&[named("one"), named("two")].join("---\n")), (0, String::new(), String::new()));
    let (code, _, err) = render(&named("two"));
    assert!(code == 0 && err.contains("removed the objects of one from out/"), "{err}");
    let (code, out, _) =
        piped(khorovod(place.path()).args(["plan", "--no-keys", "--against", "out", "-"]), &named("two"));
    assert!(code == 0 && out.starts_with("No changes."), "{out}");
}

#[test]
fn a_format_is_never_a_file() {
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    let render =
        |out: &str| run(khorovod(place.path()).args(["render", "job.yaml", "-o", out]).env("KHOROVOD_SSH_SEED", SEED));
    let (code, out, err) = render("yaml");
    assert!(code == 0 && out.contains("kind: Secret"), "{err}");
    for word in ["svg", "wide", "out"] {
        let (code, out, err) = render(word);
        assert!(code == 2 && out.is_empty() && err.contains("the formats are yaml and json"), "{word}: {err}");
    }
    let (code, _, err) = render("all.svg");
    assert!(code == 2 && err.contains("this command does not print svg"), "{err}");
    assert!(run(khorovod(place.path()).args(["init", "x", "-o", "yaml"])).1.contains("kind: TrainingJob"));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "no file was written");
    assert_eq!(render("./yaml").0, 0);
    assert_eq!(mode(&place.path().join("yaml")), 0o600);
}
