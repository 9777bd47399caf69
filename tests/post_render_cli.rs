//! `khorovod post-render` as a process: the state after a failure, where its messages are written, and streams that end
//! early, late or never.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{JOB, SEED, khorovod, place};

/// The file in which it stores its messages.
const KEPT: &str = ".local/state/khorovod/post-render.txt";

fn post_render(folder: &Path, args: &[&str]) -> Command {
    let mut command = khorovod(folder);
    command.arg("post-render").args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Exit code, standard output and standard error.
fn piped(mut command: Command, input: &[u8]) -> (i32, Vec<u8>, String) {
    let mut child = command.spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (status.code().expect("it was not killed"), stdout, String::from_utf8(stderr).unwrap())
}

#[test]
fn jobs_become_the_objects_of_render() {
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    fs::write(place.path().join("seed"), SEED).unwrap();
    let options = ["--ssh-seed", "seed", "--set", "workers.gpus=2", "-n", "ml", "-q"];
    let mut render = Command::new(env!("CARGO_BIN_EXE_khorovod"));
    let rendered = render.current_dir(place.path()).args(["render", "job.yaml"]).args(options).output().unwrap().stdout;
    let (before, after) = (&b"a:  1 \xff\r\n---\n"[..], &b"---\n# theirs"[..]);
    let (code, out, err) = piped(post_render(place.path(), &options), &[before, JOB.as_bytes(), after].concat());
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(rendered.len() > 10_000 && out == [before, &rendered, after].concat());
}

#[test]
fn a_failure_prints_no_object_and_stores_its_messages() {
    let place = place();
    let kept = place.path().join(KEPT);
    let stream = format!("a: 1\n---\n{}", JOB.replace("gpus", "gpu"));
    let mut under_helm = post_render(place.path(), &["--color", "always"]);
    under_helm.env("HELM_PLUGIN_NAME", "khorovod");
    let (code, out, err) = piped(under_helm, stream.as_bytes());
    assert_eq!((code, out.len()), (1, 0));
    let messages = fs::read_to_string(&kept).unwrap();
    assert!(
        messages.contains("error[unknown-field]")
            && messages.contains("did you mean `gpus`?")
            && !messages.contains('\x1b')
    );
    assert!(err.contains("unknown-field") && err.contains(&format!("the errors are in {}", kept.display())), "{err}");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    // The next run without messages deletes it.
    assert_eq!(piped(post_render(place.path(), &["-q"]), b"a: 1\n").0, 0);
    assert!(!kept.exists());
    // Helm does not show the warnings of a successful run either.
    let unpinned = JOB.replace(":1.4", "");
    let (code, out, err) = piped(post_render(place.path(), &["--no-keys"]), unpinned.as_bytes());
    assert!(code == 0 && !out.is_empty() && err.contains("image-unpinned"), "{err}");
    assert!(fs::read_to_string(&kept).unwrap().contains("image-unpinned"));
    let (code, out, _) = piped(post_render(place.path(), &["--no-keys", "--strict"]), unpinned.as_bytes());
    assert_eq!((code, out.len()), (1, 0));
}

#[test]
fn messages_are_stored_in_the_given_file() {
    let place = place();
    let (code, _, err) = piped(post_render(place.path(), &["--errors", "ci/khorovod.txt"]), JOB.as_bytes());
    assert!(code == 1 && err.contains("no-ssh-keys"), "{err}");
    assert!(fs::read_to_string(place.path().join("ci/khorovod.txt")).unwrap().contains("no-ssh-keys"));
    assert!(!place.path().join(KEPT).exists());
    // Each run overwrites its own file, but not another file.
    let again = piped(post_render(place.path(), &["--errors", "ci/khorovod.txt", "-q"]), b"a: 1\n");
    assert!(again.0 == 0 && !place.path().join("ci/khorovod.txt").exists());
    fs::write(place.path().join("values.yaml"), "a: 1\n").unwrap();
    let (code, out, err) = piped(post_render(place.path(), &["--errors", "values.yaml"]), b"a: 1\n");
    assert!(
        (code, out.as_slice()) == (2, b"".as_slice()) && err.contains("values.yaml exists and was not written by"),
        "{err}"
    );
    assert_eq!(fs::read_to_string(place.path().join("values.yaml")).unwrap(), "a: 1\n");
    let (code, _, err) = piped(post_render(place.path(), &["--errors", "/proc/none/x"]), JOB.as_bytes());
    assert!(code == 1 && err.contains("cannot write /proc/none/x"), "{err}");
    // A wrong option is the mistake that is hardest to detect in Helm 4.
    let (code, out, err) = piped(post_render(place.path(), &["post-render"]), JOB.as_bytes());
    assert_eq!((code, out.len()), (2, 0));
    assert!(
        err.contains("unexpected argument") && fs::read_to_string(place.path().join(KEPT)).unwrap().ends_with(&err)
    );
    // The same for an option that is rejected later. Without a home folder, there is no file.
    for (args, code, why) in
        [(&["--overlay", "-"][..], 2, "cannot be `-`"), (&["--overlay", "none"], 3, "cannot read none")]
    {
        let found = piped(post_render(place.path(), args), JOB.as_bytes());
        assert!(found.0 == code && found.2.contains(why), "{}", found.2);
        assert!(fs::read_to_string(place.path().join(KEPT)).unwrap().contains(why));
    }
    let mut homeless = post_render(place.path(), &[]);
    homeless.env_remove("HOME");
    let (code, _, err) = piped(homeless, JOB.as_bytes());
    assert!(code == 1 && !err.contains("stands in"), "{err}");
}

#[test]
fn only_an_existing_seed_is_used() {
    let place = place();
    assert_eq!(piped(post_render(place.path(), &[]), JOB.as_bytes()).0, 1);
    let seed = place.path().join(".local/state/khorovod/seed");
    assert!(!seed.exists());
    fs::write(&seed, SEED).unwrap();
    let (code, out, _) = piped(post_render(place.path(), &[]), JOB.as_bytes());
    assert!(code == 0 && String::from_utf8(out).unwrap().contains("\nkind: Secret\n"));
}

#[test]
fn a_stream_that_never_ends_is_stopped() {
    let place = place();
    let mut child = post_render(place.path(), &["--limit", "4"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Ends only when the reader closes the pipe.
    let writer = thread::spawn(move || while stdin.write_all(b"a: 1\n---\n").is_ok() {});
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let err = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(1), 0));
    assert!(err.contains("error[stream-too-large]: the stream is larger than 4 MiB"), "{err}");
    let (code, out, err) = piped(post_render(place.path(), &["--limit", "0"]), b"");
    assert!(code == 2 && out.is_empty() && err.contains("--limit"), "{err}");
    let (code, _, err) = piped(post_render(place.path(), &["--limit", "4294967295"]), b"");
    assert!(code == 3 && err.contains("a lower `--limit MIB`"), "{err}");
}

/// The output pipe may contain the pages of the input, which must not change, even after khorovod has exited.
#[test]
fn a_late_reader_gets_all_output() {
    let place = place();
    let foreign = |letter: &str| format!("a: {}\n---\n", letter.repeat(300_000));
    let (before, after) = (foreign("x"), foreign("y"));
    let input = [&before, JOB, "---\n", &after].concat();
    let mut command = post_render(place.path(), &["--ssh-seed", "seed"]);
    fs::write(place.path().join("seed"), SEED).unwrap();
    fs::write(place.path().join("stream"), input).unwrap();
    let mut child = command.stdin(fs::File::open(place.path().join("stream")).unwrap()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(2);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    assert!(status.success() && stdout.starts_with(before.as_bytes()) && stdout.ends_with(after.as_bytes()));
    let ours = &stdout[before.len()..stdout.len() - after.len()];
    assert!(ours.len() > 10_000 && std::str::from_utf8(ours).is_ok_and(|text| text.contains("kind: StatefulSet")));
}

#[test]
fn streams_that_are_closed() {
    let place = place();
    // An empty input from a writer that has exited.
    let (code, out, err) = piped(post_render(place.path(), &[]), b"");
    assert_eq!((code, out.len(), err.as_str()), (0, 0, ""));
    let shell = |redirection: &str| {
        let script = format!("exec {} post-render {redirection}", env!("CARGO_BIN_EXE_khorovod"));
        let mut command = Command::new("sh");
        command.env_clear().env("HOME", place.path()).current_dir(place.path()).args(["-c", &script]);
        let Output { status, stdout, stderr } = command.output().unwrap();
        (status.code().unwrap(), stdout.len(), String::from_utf8(stderr).unwrap())
    };
    assert_eq!(shell("<&-"), (0, 0, String::new()));
    let (code, out, err) = shell("</");
    assert!(code == 3 && out == 0 && err.contains("cannot read <stdin>: is a directory"), "{err}");
    fs::write(place.path().join("large"), "a: 1\n".repeat(1 << 20)).unwrap();
    assert_eq!(shell("<large >&-"), (0, 0, String::new()));
    let (code, _, err) = shell("<large >/dev/full");
    assert!(code == 3 && err.contains("cannot write to standard output"), "{err}");
    // A reader that exits after a part.
    let mut child =
        post_render(place.path(), &[]).stdin(fs::File::open(place.path().join("large")).unwrap()).spawn().unwrap();
    let mut part = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut part).unwrap();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!((status.code(), stderr.len()), (Some(0), 0));
}
