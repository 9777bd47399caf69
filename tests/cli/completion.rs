//! Completion in real shells, with the fake kubectl of [`super::cluster`].

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::common::{khorovod, place};
use super::run;

/// Types keys into an interactive bash that has the completions, and returns what the last command printed.
fn typed(folder: &Path, keys: &str) -> String {
    let mut keyboard = fs::File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let screen = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
    let screen = || fs::File::options().read(true).write(true).open(&screen).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_khorovod")).parent().unwrap();
    let mut bash = Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-i"])
        .current_dir(folder)
        .env("PATH", format!("{}:/usr/bin:/bin", binary.display()))
        .env("KUBECTL", Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/kubectl"))
        .env("FAKE", folder)
        .env("TERM", "dumb")
        .env("INPUTRC", "/dev/null")
        .stdin(screen())
        .stdout(screen())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    keyboard.write_all(b"source <(khorovod completions bash)\nprint() { printf 'done: %s\\n' \"$*\"; }\n").unwrap();
    // `print` gets the completed words.
    keyboard.write_all(format!("{keys}\x01print \nexit\n").as_bytes()).unwrap();
    let mut output = Vec::new();
    let _ = bash.wait();
    let mut bytes = [0; 4096];
    // After the end of bash, the terminal still has what it printed, and then an error.
    while let Ok(length @ 1..) = keyboard.read(&mut bytes) {
        output.extend_from_slice(&bytes[..length]);
    }
    String::from_utf8_lossy(&output).replace('\r', "")
}

fn names(folder: &Path) {
    fs::write(folder.join("configmaps.txt"), "mnist\ngpt\ngpt-large\n").unwrap();
    fs::write(folder.join("namespaces.txt"), "default\nteam-a\n").unwrap();
    fs::write(folder.join("contexts.txt"), "laptop\nprod\n").unwrap();
}

#[test]
fn bash_completes_jobs_namespaces_and_contexts() {
    let place = place();
    names(place.path());
    for (keys, expected) in [
        ("khorovod status mn\t", "done: khorovod status mnist\n"),
        ("khorovod logs --rank 3 gpt-\t", "done: khorovod logs --rank 3 gpt-large\n"),
        ("khorovod stop mnist -n te\t", "done: khorovod stop mnist -n team-a\n"),
        ("khorovod stop mnist --namespace=te\t", "done: khorovod stop mnist --namespace=team-a\n"),
        ("khorovod list --context la\t", "done: khorovod list --context laptop\n"),
        // As before.
        ("khorovod stat\t", "done: khorovod status\n"),
        ("khorovod status --namesp\t", "done: khorovod status --namespace\n"),
        ("khorovod render configm\t", "done: khorovod render configmaps.txt\n"),
    ] {
        let screen = typed(place.path(), keys);
        assert!(screen.contains(expected), "{keys:?}: {screen}");
    }
    let calls = fs::read_to_string(place.path().join("calls")).unwrap();
    assert!(!calls.lines().any(|call| call.contains("team-a")), "{calls}");
    typed(place.path(), "khorovod status -n team-a mn\t");
    let calls = fs::read_to_string(place.path().join("calls")).unwrap();
    assert!(calls.lines().any(|call| call.starts_with("--namespace=team-a get configmaps")), "{calls}");
}

#[test]
fn a_cluster_that_fails_or_hangs_completes_files() {
    let place = place();
    fs::write(place.path().join("mine.yaml"), "").unwrap();
    fs::write(place.path().join("get.fail"), "error: no cluster\n").unwrap();
    let screen = typed(place.path(), "khorovod status mi\t");
    assert!(screen.contains("done: khorovod status mine.yaml\n") && !screen.contains("no cluster"), "{screen}");
    fs::write(place.path().join("all.sleep"), "").unwrap();
    let began = Instant::now();
    let screen = typed(place.path(), "khorovod status mi\t");
    assert!(screen.contains("done: khorovod status mine.yaml\n"), "{screen}");
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

/// zsh and fish, if they are installed, ask the same question; the scripts themselves are checked by their shells.
#[test]
fn the_scripts_of_other_shells_are_valid() {
    let place = place();
    names(place.path());
    for shell in ["zsh", "fish"] {
        let (code, script, err) = run(khorovod(place.path()).args(["completions", shell]));
        assert_eq!(code, 0, "{err}");
        assert!(script.contains(&format!("khorovod completions {shell} -- ")), "{script}");
        let path = place.path().join(shell);
        fs::write(&path, script).unwrap();
        let Ok(output) = Command::new(shell).arg("-n").arg(&path).output() else { continue };
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let kubectl = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/kubectl");
    let mut command = khorovod(place.path());
    command.env("KUBECTL", kubectl).env("FAKE", place.path()).env("PATH", "/usr/bin:/bin");
    assert_eq!(
        run(command.args(["completions", "zsh", "--", "status", "g"])),
        (0, "gpt\ngpt-large\n".to_owned(), String::new())
    );
}
