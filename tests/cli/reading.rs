//! The input: from which files it is read, and the messages about input that is not a job.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use super::common::{JOB, SEED, khorovod, place};
use super::{piped, run};

#[test]
fn unreadable_files_exit_with_code_3_and_are_named() {
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
            let (code, ..) = piped(khorovod(place.path()).args([command, "--overlay", name, "-"]), JOB);
            assert_eq!(code, 3);
        }
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
        // The problems of all files are printed, each with its location.
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
    assert!(err.contains("base.yaml and prod.yaml both contain the NetworkPolicy mnist"), "{err}");
    assert_eq!(render("away.yaml").0, 0);

    // Without output, the jobs may be for two namespaces: a warning, not an error.
    let validate = |other| run(khorovod(place.path()).args(["validate", "base.yaml", other]));
    let (code, _, err) = validate("prod.yaml");
    assert!(code == 0 && err.contains("base.yaml and prod.yaml both contain the NetworkPolicy mnist: in one"), "{err}");
    assert!(!validate("away.yaml").2.contains("both contain"));
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
        let (code, _, err) = piped(khorovod(place.path()).args([command, "--overlay", "job.yaml"]), "");
        assert!(code == 1 && err.contains("an overlay needs a spec"), "{err}");
    }
}

#[test]
fn without_a_file_the_default_is_read() {
    let place = place();
    let validate = || run(khorovod(place.path()).arg("validate").stdin(Stdio::null()));
    let (code, _, err) = validate();
    assert!(code == 2 && err.contains("there is no job.yaml here"), "{err}");
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    assert_eq!((validate().0, validate().1.as_str()), (0, ""));
}

#[test]
fn input_without_a_job_is_described() {
    let place = place();
    for (text, message, hint) in [
        ("kind: Deployment\n", "this is `kind: Deployment`", "apply it with `kubectl apply`"),
        ("kind: 'RayJob' # theirs\n", "this is `kind: RayJob`", "are in `workerGroupSpecs`"),
        (
            "name: a\nnum_nodes: 2\nresources: {accelerators: H100:8}\nrun: |\n  torchrun train.py\n",
            "a file of SkyPilot",
            "`num_nodes` is `workers.replicas`",
        ),
        ("import torchx.specs as specs\n\ndef train(): ...\n", "a file of torchx", "`workers: {replicas: 2, gpus: 8}`"),
        ("[torchx:component]\nimage=a:1\n", "a file of torchx", "`launcher: torchrun`"),
        ("kind: PaddleJob\n", "this is `kind: PaddleJob`", "copy image, command and workers"),
        (
            "kind: Service\n---\nkind: Secret\n",
            "2 documents is a TrainingJob; the first is `kind: Service`",
            "`kubectl apply`",
        ),
        (
            "kind: Job\nmetadata: {labels: {khorovod.dev/job: a}}\n",
            "kind: Job",
            "the spec that they were rendered from",
        ),
        ("kind: MPIJob\n", "kind: MPIJob", "`khorovod import mpijob job.yaml`"),
        ("kind: \"PyTorchJob\"\n", "kind: PyTorchJob", "`khorovod import pytorchjob job.yaml`"),
        (
            "kind: ClusterTrainingRuntime\n---\nkind: TrainJob\n",
            "`kind: ClusterTrainingRuntime`",
            "`khorovod import trainjob job.yaml`",
        ),
        ("kind: TFJob\n", "kind: TFJob", "`khorovod import tfjob job.yaml`"),
        ("kind: JobSet # ours\n", "kind: JobSet", "`khorovod import jobset job.yaml`"),
        ("#SBATCH -N 2\nsrun a\n", "no TrainingJob", "`khorovod import slurm job.yaml`"),
        ("worker: {number: 2}\nmaster: {}\n", "no TrainingJob", "`khorovod import stable-horovod job.yaml`"),
        ("image: a:1\nworkers: {replicas: 2}\n", "it has only fields of `spec`", "indent them below `spec:`"),
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
fn an_overlay_reaches_into_a_short_image() {
    let place = place();
    fs::write(place.path().join("registry.yaml"), "spec: {image: {pullSecrets: [registry]}}\n").unwrap();
    for args in [["--overlay", "registry.yaml"], ["--set", "image.pullSecrets=[registry]"]] {
        let (code, out, err) = piped(khorovod(place.path()).args(["render", "--no-keys", "-"]).args(args), JOB);
        assert_eq!(code, 0, "{err}");
        assert_eq!(out.matches("image: ghcr.io/acme/mnist:1.4").count(), 2, "{out}");
        assert_eq!(out.matches("- name: registry\n").count(), 2, "{out}");
    }
}

#[test]
fn terminals_get_a_note_about_the_input() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    fs::write(place.path().join("less.yaml"), "spec: {workers: {replicas: 2}}\n").unwrap();
    for (args, note) in [
        (&["validate", "-"][..], "note: reading from the terminal; press Ctrl-D"),
        (&["validate", "-q", "-"], ""),
        (&["validate"], "ok: job.yaml is valid"),
        (&["validate", "--overlay", "less.yaml"], "note: no FILE given: less.yaml is merged over job.yaml"),
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
            status.success() && stderr.starts_with(note) && stderr.is_empty() == note.is_empty(),
            "{args:?}: {stderr}"
        );
    }
}

#[test]
fn a_spec_can_be_named_as_for_kubectl() {
    let place = place();
    fs::write(place.path().join("mine.yaml"), JOB).unwrap();
    for command in ["render", "plan", "validate"] {
        let by_name = run(khorovod(place.path()).args([command, "--no-keys", "mine.yaml"]));
        let by_option = run(khorovod(place.path()).args([command, "--no-keys", "-f", "mine.yaml"]));
        assert_eq!((by_name.0, by_name.1), (by_option.0, by_option.1));
    }
    // As an overlay in earlier versions, and as values in Helm.
    let (code, out, err) = run(khorovod(place.path()).args(["render", "mine.yaml", "-f", "prod.yaml"]));
    assert!(code == 2 && out.is_empty() && err.contains("use `--overlay FILE`"), "{err}");
    let (code, _, err) = piped(khorovod(place.path()).args(["post-render", "-f", "prod.yaml"]), JOB);
    assert!(code == 2 && err.contains("use `--overlay FILE`"), "{err}");
    // A part of a spec is not a TrainingJob.
    fs::write(place.path().join("part.yaml"), "spec: {workers: {replicas: 2}}\n").unwrap();
    let (code, _, err) = run(khorovod(place.path()).args(["plan", "-f", "part.yaml"]));
    assert!(code == 1 && err.contains("`--overlay`"), "{err}");
}
