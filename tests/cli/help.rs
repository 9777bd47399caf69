//! Help, manual pages, completions, `explain`, and errors about wrong usage.

use std::fs;

use super::common::{SEED, khorovod, place};
use super::{piped, run};

#[test]
fn help_is_for_people() {
    let place = place();
    let mut all = String::new();
    for args in [
        &["--help"][..],
        &["render", "--help"],
        &["plan", "--help"],
        &["post-render", "--help"],
        &["init", "--help"],
        &["explain", "--help"],
    ] {
        let (code, out, err) = run(khorovod(place.path()).args(args));
        assert_eq!((code, err.as_str()), (0, ""));
        all.extend(["$ khorovod ", &args.join(" "), "\n", &out, "\n"]);
    }
    insta::assert_snapshot!(all);
}

#[test]
fn every_page_and_completion_is_made() {
    let place = place();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, out, _) = run(khorovod(place.path()).args(["completions", shell]));
        assert!(code == 0 && out.contains("kube-version"), "{shell}");
    }
    assert!(run(khorovod(place.path()).arg("man")).1.contains(".TH khorovod 1"));
    assert_eq!(run(khorovod(place.path()).args(["man", "--dir", "pages"])).0, 0);
    let render = fs::read_to_string(place.path().join("pages/khorovod-render.1")).unwrap();
    assert!(render.contains("kube\\-version"));
}

#[test]
fn wrong_usage_exits_with_code_2() {
    let place = place();
    for args in [
        &[][..],
        &["nonsense"],
        &["render", "--nonsense"],
        &["render", "--kube-version", "2"],
        &["render", "--ssh-seed", "x", "--no-keys"],
        &["render", "-", "-"],
        &["init", "--gpu", "--cpu"],
        &["init", "Not_A_Name"],
        &["validate", "-o", "x", "-"],
        &["plan", "--against", "-", "-"],
        &["explain", "no-such-thing-at-all"],
    ] {
        let (code, out, err) = run(khorovod(place.path()).args(args));
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(!err.is_empty());
    }
}

#[test]
fn unknown_commands_get_a_tip() {
    let place = place();
    for (words, tip) in [
        (&["apply"][..], "tip: use `khorovod run job.yaml`\n"),
        (&["watch"], "tip: use `khorovod status JOB --watch`\n"),
        (&["ps"], "tip: use `khorovod list`\n"),
        (&["log"], "tip: use `khorovod logs JOB -f`\n"),
        (&["kill"], "tip: use `khorovod stop JOB`\n"),
        (&["delete"], "kubectl delete -l khorovod.dev/job=JOB statefulset,job,"),
        (&["compare"], "`khorovod diff job.yaml` compares with the cluster"),
        (&["upgrade"], "change the spec"),
        (&["scale"], "change the spec"),
        (&["describe"], "`khorovod status JOB`"),
        (&["preflight"], "Preflight and benchmark"),
        (&["render", "--dry-run"], "`khorovod run --dry-run`"),
        (&["render", "--verbose"], "`khorovod plan --all`"),
        (&["plan", "-v"], "`khorovod plan --all`"),
        (&["plan", "--format", "json"], "use `-o`"),
        (&["init", "--horovod"], "`khorovod init --help` lists the examples"),
        (&["import", "yaml", "pods.yaml"], "tip: for other YAML, start with `khorovod init`"),
        (&["render", "-R", "jobs"], "tip: name the files of a folder: `khorovod render jobs/*.yaml`"),
        (&["render", "--gpus", "4"], "tip: to set a field of the spec, use for example `--set workers.gpus=4`"),
    ] {
        let (code, _, err) = run(khorovod(place.path()).args(words));
        assert!(code == 2 && err.contains(tip), "{err}");
    }
    let (code, _, err) = run(khorovod(place.path()).arg("rendr"));
    assert!(code == 2 && err.contains("'render'") && !err.contains("kubectl"), "{err}");
}

#[test]
fn explain_fits_80_columns() {
    let place = place();
    let (_, codes, _) = run(khorovod(place.path()).args(["explain", "--codes"]));
    let codes: Vec<&str> = codes.lines().filter_map(|line| line.split_once("  ").map(|(code, _)| code)).collect();
    let topics = codes.iter().chain(&["spec", "workers", "launcher.kind", "42", "139"]);
    let mut seen = 0;
    for topic in topics {
        let (_, page, err) = run(khorovod(place.path()).args(["explain", topic]));
        // Lines of examples are not wrapped.
        let text = page.split("\nWrong:\n").next().unwrap_or_default();
        assert!(!text.is_empty() && text.lines().all(|line| line.chars().count() <= 80), "{topic}: {err}{text}");
        seen += 1;
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn every_code_can_be_explained_and_every_lesson_renders() {
    let place = place();
    let (code, codes, _) = run(khorovod(place.path()).args(["explain", "--codes"]));
    assert!(code == 0 && codes.lines().count() > 30);
    for line in codes.lines() {
        let name = line.split_whitespace().next().unwrap();
        let (code, out, _) = run(khorovod(place.path()).args(["explain", name]));
        let title = out.lines().next().unwrap().split_once(' ').map(|(_, title)| title);
        assert!(code == 0 && title == Some(name), "{out}");
        assert!(out.contains("\n\nWrong:\n\n    ") && out.contains("\n\nRight:\n\n    "), "{name}: {out}");
    }
    let (_, help, _) = run(khorovod(place.path()).args(["init", "--help"]));
    let lessons = help.split("Lessons:").nth(1).unwrap().split("Global options:").next().unwrap();
    let flags: Vec<&str> = lessons
        .lines()
        .filter_map(|line| line.trim().split(' ').next())
        .filter(|word| word.starts_with("--"))
        .collect();
    assert!(flags.len() > 10);
    for flag in flags {
        let (_, spec, _) = run(khorovod(place.path()).args(["init", "mine", flag, "-o", "-"]));
        let (code, out, err) =
            piped(khorovod(place.path()).args(["render", "--strict"]).env("KHOROVOD_SSH_SEED", SEED), &spec);
        assert!(code == 0 && out.contains("khorovod.dev/job: mine"), "{flag}: {err}");
    }
}

#[test]
fn a_field_is_explained_by_any_of_its_names() {
    let place = place();
    let explain = |topic: &str| run(khorovod(place.path()).args(["explain", topic]));
    for topic in ["workers.shm", "spec.workers.shm"] {
        assert!(explain(topic).1.contains("/dev/shm"));
    }
    assert!(explain("storage[0].mountPath").0 == 0 && explain("metadata.name").0 == 0);
    assert!(explain("workers.gpsu").2.contains("did you mean workers.gpus"));
    assert!(explain("torchrun").1.starts_with("spec.launcher\n"));
    assert!(explain("139").1.contains("signal 11") && explain("42").1.contains("launcher"));
    assert!(explain("slot-above-gpus").2.contains("slots-above-gpus"));
}
