//! The command as a process: exit codes, what goes to which stream, and what a failure leaves
//! behind.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{JOB, SEED, khorovod, place};

fn run(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().expect("it was not killed"), text(stdout), text(stderr))
}

/// Runs with a text on standard input.
fn piped(command: &mut Command, input: &str) -> (i32, String, String) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().expect("it was not killed"), text(stdout), text(stderr))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

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
fn wrong_usage_is_2() {
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
fn who_looks_for_kubectl_is_told() {
    let place = place();
    for (word, tip) in
        [("run", "khorovod render | kubectl apply -f -"), ("logs", "kubectl logs -f -l khorovod.dev/job=NAME")]
    {
        let (code, _, err) = run(khorovod(place.path()).args([word, "job.yaml"]));
        assert!(
            code == 2 && err.contains(&format!("tip: khorovod talks to no cluster; kubectl does: {tip}\n")),
            "{err}"
        );
    }
    for (words, tip) in [
        (&["diff"][..], "tip: here it is `khorovod plan --against OLD job.yaml`"),
        (&["import", "yaml", "pods.yaml"], "tip: for YAML of your own start with `khorovod init`"),
        (&["render", "--gpus", "4"], "tip: a field of the spec is set as in `--set workers.gpus=4`"),
    ] {
        let (code, _, err) = run(khorovod(place.path()).args(words));
        assert!(code == 2 && err.contains(tip), "{err}");
    }
    let (code, _, err) = run(khorovod(place.path()).arg("rendr"));
    assert!(code == 2 && err.contains("'render'") && !err.contains("kubectl"), "{err}");
}

#[test]
fn what_cannot_be_read_is_3_and_named() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("binary.yaml"), b"spec:\n  \xff\n").unwrap();
    fs::write(at("utf16.yaml"), b"\xff\xfes\0p\0").unwrap();
    fs::create_dir(at("folder")).unwrap();
    for (name, words) in [
        ("missing.yaml", "no such file"),
        ("binary.yaml", "byte 0xff in line 2"),
        ("utf16.yaml", "UTF-16"),
        ("folder", "is a directory"),
    ] {
        for command in ["render", "plan", "validate"] {
            let (code, out, err) = run(khorovod(place.path()).args([command, name]));
            assert_eq!((code, out.as_str()), (3, ""), "{err}");
            assert!(err.contains(name) && err.contains(words), "{err}");
            let (code, ..) = piped(khorovod(place.path()).args([command, "-f", name, "-"]), JOB);
            assert_eq!(code, 3);
        }
    }
}

#[test]
fn seeds_are_checked_before_they_are_used() {
    let place = place();
    let seed = place.path().join("seed");
    let render = || run(khorovod(place.path()).args(["render", "-", "--ssh-seed", "seed"]));
    let (code, _, err) = render();
    assert!(code == 3 && err.contains("cannot read the ssh seed"), "{err}");
    fs::write(&seed, "too short").unwrap();
    fs::set_permissions(&seed, fs::Permissions::from_mode(0o600)).unwrap();
    let (code, _, err) = render();
    assert!(code == 3 && err.contains("64 hex digits"), "{err}");
    assert!(!err.contains("too short"), "key material must not be shown: {err}");
    fs::write(&seed, SEED).unwrap();
    fs::set_permissions(&seed, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, _, err) = piped(khorovod(place.path()).args(["render", "--ssh-seed", "seed"]), JOB);
    assert!(code == 0 && err.contains("chmod 600 seed"), "{err}");
    let (code, _, err) = run(khorovod(place.path()).args(["keygen", "keys"]).env("KHOROVOD_SSH_SEED", "abc"));
    assert!(code == 2 && err.contains("KHOROVOD_SSH_SEED") && !err.contains("abc"), "{err}");
}

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
fn a_full_disk_is_3() {
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let place = place();
    for args in [&["init", "-o", "-"][..], &["completions", "bash"], &["init", "-o", "/dev/full", "--force"]] {
        let (code, _, err) = run(khorovod(place.path()).args(args).stdout(full()));
        assert!(code == 3 && err.contains("no space left"), "{args:?}: {code} {err}");
    }
}

#[test]
fn the_same_spec_gives_the_same_bytes() {
    let place = place();
    let render = |command: &mut Command| piped(command.args(["render", "-"]).env("KHOROVOD_SSH_SEED", SEED), JOB);
    let (code, first, err) = render(&mut khorovod(place.path()));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(first.contains("kind: StatefulSet") && first.contains("kind: Secret"));
    assert_eq!(render(khorovod(place.path()).env("TZ", "Asia/Tokyo").env("LANG", "C")).1, first);
    fs::write(place.path().join("seed"), SEED).unwrap();
    fs::set_permissions(place.path().join("seed"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(piped(khorovod(place.path()).args(["render", "--ssh-seed", "seed"]), JOB).1, first);
}

#[test]
fn one_bad_file_keeps_stdout_empty() {
    let place = place();
    fs::write(place.path().join("good.yaml"), JOB).unwrap();
    fs::write(place.path().join("bad.yaml"), JOB.replace("gpus: 8", "gpsu: 8")).unwrap();
    fs::write(place.path().join("worse.yaml"), JOB.replace("replicas: 4", "replicas: four")).unwrap();
    for command in ["render", "plan"] {
        let files = [command, "good.yaml", "bad.yaml", "worse.yaml"];
        let (code, out, err) = run(khorovod(place.path()).args(files).env("KHOROVOD_SSH_SEED", SEED));
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        // The problems of every file are shown, each with its place.
        assert!(err.contains("error[unknown-field]") && err.contains("bad.yaml:8:26"), "{err}");
        assert!(err.contains("worse.yaml:8:23") && err.contains("2 errors"), "{err}");
    }
    fs::write(place.path().join("other.yaml"), JOB.replace("mnist", "other")).unwrap();
    let two = ["render", "good.yaml", "other.yaml"];
    let (code, out, _) = run(khorovod(place.path()).args(two).env("KHOROVOD_SSH_SEED", SEED));
    assert_eq!((code, out.matches("\nkind: StatefulSet\n").count()), (0, 2));
}

#[test]
fn two_files_of_one_job_are_refused() {
    let place = place();
    fs::write(place.path().join("base.yaml"), JOB).unwrap();
    fs::write(place.path().join("prod.yaml"), JOB.replace("gpus: 8", "gpus: 4")).unwrap();
    fs::write(place.path().join("away.yaml"), JOB.replace("  name: mnist\n", "  name: mnist\n  namespace: b\n"))
        .unwrap();
    let render =
        |other| run(khorovod(place.path()).args(["render", "base.yaml", other]).env("KHOROVOD_SSH_SEED", SEED));
    let (code, out, err) = render("prod.yaml");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("base.yaml and prod.yaml both make the NetworkPolicy mnist"), "{err}");
    assert_eq!(render("away.yaml").0, 0);
}

#[test]
fn other_documents_pass_as_they_are() {
    let place = place();
    let other = "# mine\na:   [1,\n  2]   \nb: 'x'\n";
    let stream = format!("{other}---\n{JOB}---\n{other}");
    let (code, out, _) = piped(khorovod(place.path()).arg("render").env("KHOROVOD_SSH_SEED", SEED), &stream);
    assert!(code == 0 && out.starts_with(&format!("{other}---\n")) && out.ends_with(&format!("---\n{other}")), "{out}");
}

#[test]
fn empty_input_is_a_problem() {
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    for command in ["render", "plan", "validate"] {
        let (code, out, err) = piped(khorovod(place.path()).arg(command), "");
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("no-training-job"), "{err}");
        // As kubectl's `-f` would be.
        let (code, _, err) = piped(khorovod(place.path()).args([command, "-f", "job.yaml"]), "");
        assert!(code == 1 && err.contains("the spec goes without it"), "{err}");
    }
}

#[test]
fn who_is_handed_nothing_reads_the_default() {
    let place = place();
    let validate = || run(khorovod(place.path()).arg("validate").stdin(Stdio::null()));
    let (code, _, err) = validate();
    assert!(code == 2 && err.contains("there is no job.yaml here"), "{err}");
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    assert_eq!((validate().0, validate().1.as_str()), (0, ""));
}

#[test]
fn what_is_no_job_is_told_what_it_is() {
    let place = place();
    for (text, message, hint) in [
        ("kind: Deployment\n", "this is `kind: Deployment`", "`kubectl apply` takes it"),
        ("kind: 'RayJob' # theirs\n", "this is `kind: RayJob`", "carry over image"),
        ("kind: Service\n---\nkind: Secret\n", "2 documents from `kind: Service` on", "`kubectl apply`"),
        ("kind: Job\nmetadata: {labels: {khorovod.dev/job: a}}\n", "kind: Job", "name the spec they came from"),
        ("kind: MPIJob\n", "kind: MPIJob", "`khorovod import mpijob job.yaml`"),
        ("#SBATCH -N 2\nsrun a\n", "no TrainingJob", "`khorovod import slurm job.yaml`"),
        ("worker: {number: 2}\nmaster: {}\n", "no TrainingJob", "`khorovod import stable-horovod job.yaml`"),
        ("image: a:1\nworkers: {replicas: 2}\n", "fields of a spec alone", "write them below `spec:`"),
        ("train.py on 2 nodes\n", "no TrainingJob", "`khorovod init`"),
    ] {
        fs::write(place.path().join("job.yaml"), text).unwrap();
        for command in ["validate", "plan", "render"] {
            let (code, out, err) = run(khorovod(place.path()).args([command, "job.yaml", "--no-keys"]));
            assert_eq!((code, out.as_str()), (1, ""), "{text}");
            assert!(err.contains(message) && err.contains(hint), "{text}\n{err}");
        }
    }
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
        // Examples stand as they are.
        let said = page.split("\nWrong:\n").next().unwrap_or_default();
        assert!(!said.is_empty() && said.lines().all(|line| line.chars().count() <= 80), "{topic}: {err}{said}");
        seen += 1;
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn without_a_seed_it_says_what_to_do() {
    let place = place();
    let (code, out, err) = piped(khorovod(place.path()).arg("render").env("CI", "true"), JOB);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("no-ssh-keys") && err.contains("--ssh-seed"), "{err}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "no seed is made in CI");
    let (code, out, _) = piped(khorovod(place.path()).args(["render", "--no-keys"]), JOB);
    assert!(code == 0 && out.contains("kind: StatefulSet") && !out.contains("kind: Secret"));
    // What a spec would run can be judged without any.
    assert_eq!(piped(khorovod(place.path()).arg("plan"), JOB).0, 0);
    assert_eq!(piped(khorovod(place.path()).arg("validate"), JOB).0, 0);
    // Elsewhere a seed of one's own is made once, said aloud, and found again, in CI too.
    let (code, first, err) = piped(khorovod(place.path()).arg("render"), JOB);
    let state = place.path().join(".local/state/khorovod/seed");
    assert!(code == 0 && err.contains("made an ssh seed") && err.contains("--ssh-seed"), "{err}");
    assert_eq!(mode(&state), 0o600);
    assert_eq!(piped(khorovod(place.path()).arg("render").env("CI", "true"), JOB), (0, first, String::new()));
    fs::write(&state, SEED).unwrap();
    let (_, own, _) = piped(khorovod(place.path()).arg("render"), JOB);
    assert_eq!(own, piped(khorovod(place.path()).arg("render").env("KHOROVOD_SSH_SEED", SEED), JOB).1);
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
    assert_eq!(mode(&at("out/03-secret-mnist-ssh.yaml")), 0o600);
    for out in ["all.yaml", "out/", "out"] {
        assert_eq!(render(out, &JOB.replace("gpus: 8", "gpus: -8")).0, 1);
        assert_eq!((fs::read_to_string(at("all.yaml")).unwrap(), files()), before);
    }
    // One file that is not ours, and the folder is not touched.
    fs::write(at("out/notes.yaml"), "mine").unwrap();
    let (code, _, err) = render("out", &JOB.replace("mnist", "other"));
    assert!(code == 3 && err.contains("notes.yaml"), "{err}");
    assert!(at("out/03-secret-mnist-ssh.yaml").exists());
    let (code, _, err) = render("no/such/all.yaml", JOB);
    assert!(code == 3 && err.contains("mkdir -p no/such"), "{err}");
    // Nothing half written lies about.
    let mut left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["all.yaml", "out"]);
}

#[test]
fn a_large_render_into_a_closed_or_full_stream() {
    let place = place();
    // More than a pipe holds.
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
fn escapes_in_the_input_do_not_reach_the_terminal() {
    let place = place();
    for evil in ["a\u{1b}]0;x\u{7}b", "a\u{9b}31mb", "a\u{202e}b", "\\e[31m"] {
        let text = JOB.replace("name: mnist", &format!("name: \"{evil}\"")).replace("gpus", "gp\u{7f}us");
        for args in [&["render"][..], &["plan"], &["validate"], &["validate", "--format", "github"]] {
            let (code, out, err) = piped(khorovod(place.path()).args(args).env("KHOROVOD_SSH_SEED", SEED), &text);
            assert_eq!(code, 1);
            let shown = format!("{out}{err}");
            let bad = shown.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(bad, None, "{args:?}: {shown}");
        }
    }
    fs::write(place.path().join("e\u{1b}[31m.yaml"), "x").unwrap();
    for args in [["render", "e\u{1b}[31m.yaml"], ["render", "no\u{1b}[31m.yaml"], ["explain", "\u{1b}[31m"]] {
        let (_, _, err) = run(khorovod(place.path()).args(args));
        assert!(!err.contains('\u{1b}'), "{err}");
    }
}

#[test]
fn a_secret_in_a_spec_is_not_repeated() {
    let place = place();
    let text = format!("{JOB}  env: {{DB_PASSWORD: hunter2-hunter2}}\n");
    for format in ["human", "json", "github", "sarif"] {
        let (_, out, err) = piped(khorovod(place.path()).args(["validate", "--format", format]), &text);
        assert!(format!("{out}{err}").contains("DB_PASSWORD"), "{out}{err}");
        assert!(!format!("{out}{err}").contains("hunter2"), "{out}{err}");
    }
}

#[test]
fn warnings_warn_and_strict_stops() {
    let place = place();
    let text = JOB.replace(":1.4", "");
    let render =
        |args: &[&str]| piped(khorovod(place.path()).arg("render").args(args).env("KHOROVOD_SSH_SEED", SEED), &text);
    let (code, out, err) = render(&[]);
    assert!(code == 0 && out.contains("StatefulSet") && err.contains("warning[image-unpinned]"), "{err}");
    assert!(err.contains("1 warning"), "{err}");
    assert_eq!(render(&["-q"]).2, "");
    let (code, out, err) = render(&["--strict"]);
    assert!(code == 1 && out.is_empty() && err.contains("error[image-unpinned]"), "{err}");
}

#[test]
fn colour_where_it_is_wanted() {
    let place = place();
    let bad = JOB.replace("gpus", "gpsu");
    let err = |args: &[&str], env: (&str, &str)| {
        piped(khorovod(place.path()).arg("validate").args(args).env(env.0, env.1), &bad).2
    };
    assert!(err(&["--color", "always"], ("A", "")).contains("\u{1b}["));
    assert!(err(&[], ("CLICOLOR_FORCE", "1")).contains("\u{1b}["));
    for plain in [err(&[], ("A", "")), err(&[], ("NO_COLOR", "1")), err(&["--color", "never"], ("CLICOLOR_FORCE", "1"))]
    {
        assert!(!plain.contains('\u{1b}'), "{plain}");
    }
}

#[test]
fn validate_speaks_to_machines() {
    let place = place();
    fs::write(place.path().join("bad.yaml"), JOB.replace("gpus", "gpsu")).unwrap();
    let validate = |args: &[&str]| run(khorovod(place.path()).arg("validate").args(args).arg("bad.yaml"));
    let (code, out, err) = validate(&["--format", "github"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(
        out.starts_with("::error file=bad.yaml,line=8,endLine=8,col=26,endColumn=29,title=unknown-field::"),
        "{out}"
    );
    for (format, pointer) in [("json", "/problems/0/code"), ("sarif", "/runs/0/results/0/ruleId")] {
        let (code, out, _) = validate(&["--format", format, "-o", "found.json"]);
        assert_eq!((code, out.as_str()), (1, ""));
        let text = fs::read_to_string(place.path().join("found.json")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value.pointer(pointer), Some(&"unknown-field".into()));
    }
}

#[test]
fn plan_compares_with_specs_and_with_what_was_rendered() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("old.yaml"), JOB).unwrap();
    fs::write(at("image.yaml"), JOB.replace("1.4", "1.5")).unwrap();
    fs::write(at("label.yaml"), JOB.replace("  name: mnist\n", "  name: mnist\n  labels: {team: a}\n")).unwrap();
    let (code, rendered, _) = run(khorovod(place.path()).args(["render", "old.yaml"]).env("KHOROVOD_SSH_SEED", SEED));
    assert_eq!(code, 0);
    fs::write(at("rendered.yaml"), rendered).unwrap();
    for old in ["old.yaml", "rendered.yaml"] {
        for (new, verdict, reason) in
            [("image.yaml", "restarts", "mnist:1.5"), ("label.yaml", "inPlace", "team"), ("old.yaml", "nothing", "")]
        {
            let args = ["plan", "--format", "json", "--against", old, new];
            let (code, out, err) = run(khorovod(place.path()).args(args));
            assert_eq!(code, 0, "{err}");
            let value: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!(value["changes"][0]["effect"], verdict, "{old} {new}: {out}");
            assert!(value["changes"].to_string().contains(reason), "{out}");
            assert_eq!(value["jobs"][0]["ranks"], 32);
        }
    }
    let (code, out, _) = piped(khorovod(place.path()).args(["plan", "--against", "-", "image.yaml"]), JOB);
    assert!(code == 0 && out.contains("restarts the run") && out.contains("1.4 → ghcr.io/acme/mnist:1.5"), "{out}");
}

#[test]
fn what_was_applied_is_compared_as_it_was() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("job.yaml"), JOB).unwrap();
    fs::write(at("less.yaml"), "spec: {workers: {replicas: 2}}\n").unwrap();
    let (_, before, _) = run(khorovod(place.path()).args(["render", "--no-keys", "-f", "less.yaml", "job.yaml"]));
    fs::write(at("before.yaml"), before).unwrap();
    let effects = |args: &[&str]| {
        let (code, out, err) = run(khorovod(place.path()).args(["plan", "--format", "json", "--no-keys"]).args(args));
        assert_eq!(code, 0, "{err}");
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        let all =
            value["changes"].as_array().unwrap().iter().map(|change| change["effect"].as_str().unwrap().to_owned());
        (all.collect::<Vec<_>>().join(" "), err)
    };
    let (effect, err) = effects(&["--against", "job.yaml", "job.yaml", "--set", "workers.replicas=2"]);
    assert!(effect == "restarts" && err.contains("the old one is taken as it is"), "{effect}: {err}");
    assert_eq!(effects(&["--against", "job.yaml", "job.yaml", "-f", "less.yaml"]).0, "restarts");
    assert_eq!(effects(&["--against", "before.yaml", "job.yaml", "-f", "less.yaml"]).0, "nothing");
    // Where the old one names no namespace, it went where the new one goes; what was rendered went where it says.
    assert_eq!(effects(&["--against", "job.yaml", "job.yaml", "-n", "team"]), ("nothing".to_owned(), String::new()));
    assert_eq!(effects(&["--against", "before.yaml", "job.yaml", "-n", "team", "-f", "less.yaml"]).0, "new gone");
}

#[test]
fn an_overlay_reaches_into_a_short_image() {
    let place = place();
    fs::write(place.path().join("registry.yaml"), "spec: {image: {pullSecrets: [registry]}}\n").unwrap();
    for args in [["-f", "registry.yaml"], ["--set", "image.pullSecrets=[registry]"]] {
        let (code, out, err) = piped(khorovod(place.path()).args(["render", "--no-keys", "-"]).args(args), JOB);
        assert_eq!(code, 0, "{err}");
        assert_eq!(out.matches("image: ghcr.io/acme/mnist:1.4").count(), 2, "{out}");
        assert_eq!(out.matches("- name: registry\n").count(), 2, "{out}");
    }
}

#[test]
fn what_is_read_is_not_written_over() {
    let place = place();
    let job = place.path().join("job.yaml");
    fs::write(&job, JOB).unwrap();
    for args in [
        &["render", "--no-keys", "job.yaml"][..],
        &["render", "--no-keys", "-", "-f", "job.yaml"],
        &["validate", "--format", "json", "job.yaml"],
        &["plan", "job.yaml"],
        &["plan", "-", "--against", "job.yaml"],
        &["import", "slurm", "job.yaml"],
    ] {
        let (code, _, err) = run(khorovod(place.path()).args(args).args(["-o", "./job.yaml"]));
        assert!(code == 2 && err.contains("is not written over"), "{args:?}: {err}");
        assert_eq!(fs::read_to_string(&job).unwrap(), JOB);
    }
}

#[test]
fn who_types_is_told_what_is_awaited() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    fs::write(place.path().join("less.yaml"), "spec: {workers: {replicas: 2}}\n").unwrap();
    for (args, said) in [
        (&["validate", "-"][..], "note: reading what you type; Ctrl-D"),
        (&["validate", "-q", "-"], ""),
        (&["validate"], "note: no problems"),
        (&["validate", "-f", "less.yaml"], "note: no FILE given: less.yaml is laid over job.yaml"),
    ] {
        let mut keyboard = fs::File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let screen = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        let screen = fs::File::options().read(true).write(true).open(screen).unwrap();
        let mut command = khorovod(place.path());
        let child = command.args(args).stdin(screen).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        keyboard.write_all(JOB.as_bytes()).unwrap();
        keyboard.write_all(b"\x04").unwrap();
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(stderr).unwrap();
        assert!(
            status.success() && stderr.starts_with(said) && stderr.is_empty() == said.is_empty(),
            "{args:?}: {stderr}"
        );
    }
}

#[test]
fn keygen_makes_new_keys_unless_told_otherwise() {
    let place = place();
    let args = ["keygen", "keys", "-n", "a"];
    let keygen = |seed: &str| run(khorovod(place.path()).args(args).env("KHOROVOD_SSH_SEED", seed)).1;
    let (one, other) = (keygen(""), keygen(""));
    assert!(
        one.contains("name: keys")
            && one.contains("namespace: a")
            && one.contains("\n  id_ed25519: LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZ"),
        "{one}"
    );
    assert_ne!(one, other);
    assert_eq!(keygen(SEED), keygen(SEED));
    assert_eq!(run(khorovod(place.path()).args(["keygen", "keys", "-o", "keys.yaml"])).0, 0);
    assert_eq!(mode(&place.path().join("keys.yaml")), 0o600);
}

#[test]
fn keys_of_another_name_start_another_run() {
    let place = place();
    let spec = |keys: &str| JOB.replace("  workers:", &format!("  ssh: {{secret: {keys}}}\n  workers:"));
    fs::write(place.path().join("old.yaml"), spec("team-keys")).unwrap();
    let plan = |keys: &str| piped(khorovod(place.path()).args(["plan", "-", "--against", "old.yaml"]), &spec(keys)).1;
    assert!(plan("team-keys-2").contains("restarts the run"), "{}", plan("team-keys-2"));
    assert!(!plan("team-keys").contains("restarts the run"), "{}", plan("team-keys"));
    // What the Secret holds is no part of the run: it may be made again and again.
    let rendered = piped(khorovod(place.path()).args(["render", "-"]), &spec("team-keys")).1;
    assert!(rendered.contains("secretName: team-keys") && !rendered.contains("kind: Secret"), "{rendered}");
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
    let lessons = help.split("Lessons:").nth(1).unwrap().split("Everywhere:").next().unwrap();
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
    assert!(explain("torchrun").1.starts_with("spec.launcher.kind\n"));
    assert!(explain("139").1.contains("signal 11") && explain("42").1.contains("launcher"));
    assert!(explain("slot-above-gpus").2.contains("slots-above-gpus"));
}
