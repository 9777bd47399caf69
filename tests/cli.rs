//! The command as a process: exit codes, what goes to which stream, and what a failure leaves
//! behind.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SEED: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

const SMALLEST: &str = "apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata:
  name: mnist
spec:
  image: ghcr.io/acme/mnist:1.4
  command: [python, train.py]
  workers: {replicas: 4, gpus: 8}
";

/// The command in an environment of its own: no seed, no state folder, no colour.
fn khorovod(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_khorovod"));
    command.env_clear().env("HOME", folder).current_dir(folder).stdin(Stdio::null());
    command
}

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

fn place() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn help_is_for_people() {
    let place = place();
    let mut all = String::new();
    for args in
        [&["--help"][..], &["render", "--help"], &["plan", "--help"], &["init", "--help"], &["explain", "--help"]]
    {
        let (code, out, err) = run(khorovod(place.path()).args(args));
        assert_eq!((code, err.as_str()), (0, ""));
        all += &format!("$ khorovod {}\n{out}\n", args.join(" "));
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
            let (code, ..) = piped(khorovod(place.path()).args([command, "-f", name, "-"]), SMALLEST);
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
    let (code, _, err) = render();
    assert!(code == 3 && err.contains("chmod 600 seed"), "{err}");
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
