//! Completion in real shells, with the fake kubectl of [`super::cluster`].

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::common::{khorovod, place};
use super::run;

/// A shell that starts without the user's settings, and the lines that load the completions.
struct Shell {
    program: &'static str,
    args: &'static [&'static str],
    start: &'static str,
}

const BASH: Shell = Shell {
    program: "bash",
    args: &["--noprofile", "--norc", "-i"],
    start: "source <(khorovod completions bash)\nshow() { printf 'done: %s\\n' \"$*\"; }\n",
};
const ZSH: Shell = Shell {
    program: "zsh",
    args: &["-f", "-i"],
    start: "autoload -U compinit; compinit -u -D; source <(khorovod completions zsh); show() { print -r -- done: $* }\n",
};

/// Types keys into an interactive shell that has the completions, and returns what the last command printed. None if the
/// shell is not installed.
fn typed_in(shell: &Shell, folder: &Path, keys: &str) -> Option<String> {
    let mut keyboard = fs::File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let screen = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
    let screen = || fs::File::options().read(true).write(true).open(&screen).unwrap();
    let mut command = Command::new(shell.program);
    command.args(shell.args).stdin(screen()).stdout(screen()).stderr(Stdio::null());
    let mut process = surrounded(&mut command, folder).env("TERM", "dumb").env("INPUTRC", "/dev/null").spawn().ok()?;
    drop(command);
    keyboard.write_all(shell.start.as_bytes()).unwrap();
    // `show` gets the completed words.
    keyboard.write_all(format!("{keys}\x01show \nexit\n").as_bytes()).unwrap();
    let mut output = Vec::new();
    let _ = process.wait();
    let mut bytes = [0; 4096];
    // After the end of the shell, the terminal still has what it printed, and then an error.
    while let Ok(length @ 1..) = keyboard.read(&mut bytes) {
        output.extend_from_slice(&bytes[..length]);
    }
    Some(String::from_utf8_lossy(&output).replace('\r', ""))
}

fn typed(folder: &Path, keys: &str) -> String {
    typed_in(&BASH, folder, keys).unwrap()
}

/// A command in a folder, with this khorovod in its PATH and the fake kubectl.
fn surrounded<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_khorovod")).parent().unwrap();
    command
        .current_dir(folder)
        .env("PATH", format!("{}:/usr/bin:/bin", binary.display()))
        .env("KUBECTL", Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/kubectl"))
        .env("FAKE", folder)
}

fn names(folder: &Path) {
    fs::write(folder.join("configmaps.txt"), "mnist\ngpt\ngpt-large\n").unwrap();
    fs::write(folder.join("namespaces.txt"), "default\nteam-a\n").unwrap();
    fs::write(folder.join("contexts.txt"), "laptop\nprod\n").unwrap();
}

/// Command lines, and what the shell completes at their end.
const LINES: &[(&str, &str)] = &[
    ("khorovod status mn", "mnist"),
    ("khorovod logs --rank 3 gpt-", "gpt-large"),
    ("khorovod stop mnist -n te", "team-a"),
    ("khorovod stop mnist --namespace=te", "--namespace=team-a"),
    ("khorovod list --context la", "laptop"),
    // As without names.
    ("khorovod stat", "status"),
    ("khorovod status --namesp", "--namespace"),
    ("khorovod render configm", "configmaps.txt"),
];

/// A command line that ends with the completed word.
fn completed(line: &str, word: &str) -> String {
    format!("{} {word}", line.rsplit_once(' ').unwrap().0)
}

#[test]
fn zsh_completes_jobs_namespaces_and_contexts() {
    let place = place();
    names(place.path());
    for (line, word) in LINES {
        let Some(screen) = typed_in(&ZSH, place.path(), &format!("{line}\t")) else { return };
        assert!(screen.contains(&format!("done: {}\n", completed(line, word))), "{line}: {screen}");
    }
}

#[test]
fn fish_completes_jobs_namespaces_and_contexts() {
    let place = place();
    names(place.path());
    let code = "khorovod completions fish | source; complete -C $argv[1]";
    let complete = |line: &str| {
        let mut fish = Command::new("fish");
        let output = surrounded(fish.args(["--no-config", "-c", code, line]), place.path()).output().ok()?;
        let output = String::from_utf8(output.stdout).unwrap();
        // Each line has a completion, a tab and its description.
        Some(output.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>())
    };
    for (line, word) in LINES {
        let Some(found) = complete(line) else { return };
        assert_eq!(found, [*word], "{line}");
    }
    let jobs = complete("khorovod status ").unwrap();
    assert!(
        ["gpt", "gpt-large", "mnist", "configmaps.txt"].iter().all(|one| jobs.iter().any(|job| job == one)),
        "{jobs:?}"
    );
}

#[test]
fn bash_completes_jobs_namespaces_and_contexts() {
    let place = place();
    names(place.path());
    for (line, word) in LINES {
        let (keys, expected) = (format!("{line}\t"), format!("done: {}\n", completed(line, word)));
        let screen = typed(place.path(), &keys);
        assert!(screen.contains(&expected), "{line}: {screen}");
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
