//! No input can overflow the stack or take unlimited time: tests the deepest and widest inputs of all kinds on a small
//! stack.

use std::time::{Duration, Instant};

use khorovod::import::{Options, System, import};
use khorovod::{Inputs, Keys, Text};

/// A debug build's stack frames are several times as large as those of the release, which `tests/output` runs on 256 KiB.
const STACK: usize = 1 << 20;

fn text(text: &str) -> Text {
    Text { name: "job.yaml".to_owned(), text: text.to_owned() }
}

fn inputs() -> Inputs {
    Inputs { keys: Keys::Masked, ..Inputs::default() }
}

/// Runs a function on a small stack with a time limit, ten times the limit for an idle machine.
fn small(what: &str, run: impl FnOnce() + Send + 'static) {
    let start = Instant::now();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap();
    thread.join().unwrap_or_else(|_| panic!("{what}"));
    assert!(start.elapsed() < Duration::from_secs(60), "{what} takes {:?}", start.elapsed());
}

const JOB: &str = "apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata: {name: deep}
spec:
  image: a/b:1
  command: [python]
  workers: {replicas: 2, gpus: 1}
";

/// A text nested in itself a number of times; not always closed.
fn nested(open: &str, close: &str, times: usize) -> [String; 2] {
    [format!("{}x{}", open.repeat(times), close.repeat(times)), open.repeat(times)]
}

fn deep() -> Vec<String> {
    let mut all = Vec::new();
    for times in [47, 48, 49, 127, 128, 129, 100_000] {
        for (open, close) in [
            ("[", "]"),
            ("{a: ", "}"),
            ("- ", ""),
            ("? ", ""),
            ("- - ", ""),
            ("[{a: ", "}]"),
            ("{\"a\":", "}"),
            ("&a [", "]"),
            ("!x [", "]"),
        ] {
            all.extend(nested(open, close, times));
        }
    }
    let steps: Vec<String> = (0..1_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    all.push(steps.concat());
    all
}

#[test]
fn depth_takes_no_stack() {
    for value in deep() {
        let start: String = value.chars().take(20).collect();
        small(&start, move || {
            let job = format!("{JOB}  patches: [{{patch: {{metadata: {value}}}}}]\n");
            for stream in [&value, &job, &format!("{JOB}---\n{value}"), &format!("{JOB}{value}")] {
                let _ = khorovod::check(&text(stream), &inputs());
                let _ = khorovod::render(&text(stream), &inputs());
                let _ = khorovod::preview(&text(stream), &inputs(), 9);
                let _ = khorovod::changes(&text(stream), &text(stream), &inputs());
                let _ = khorovod::expand("<stdin>", stream.as_bytes(), &inputs(), &mut |_| ());
            }
            let laid = Inputs { overlays: vec![text(&value)], sets: vec![format!("patches={value}")], ..inputs() };
            let _ = khorovod::check(&text(JOB), &laid);
            for list in [
                value.clone(),
                format!("kind: ResourceList\nitems:\n- {value}\n"),
                format!("{{\"kind\": \"ResourceList\", \"items\": [{value}]}}"),
            ] {
                let _ = khorovod::krm(&text(&list), &inputs());
            }
        });
    }
}

#[test]
fn settings_take_no_stack() {
    let path = "a.".repeat(100_000) + "a";
    let index = "spec".to_owned() + &"[0]".repeat(100_000);
    small("a long path", move || {
        for path in [path, index] {
            let _ = khorovod::check(&text(JOB), &Inputs { sets: vec![format!("{path}=1")], ..inputs() });
        }
    });
}

#[test]
fn old_files_take_no_stack() {
    for system in System::ALL {
        let mut olds = deep();
        // A script is read line by line and several times: only the depth is tested here.
        olds.retain(|old| *system != System::Slurm || old.len() < 10_000);
        for (open, close) in [
            ("(", ")"),
            ("$(", ")"),
            ("`", "`"),
            ("{", "}"),
            ("${a:-", "}"),
            ("\"$(", ")\""),
            ("if x; then\n", "fi\n"),
            ("for a in b; do\n", "done\n"),
            ("case a in b)\n", ";;\nesac\n"),
            ("{ params+: ", "}"),
            ("a+(", ")"),
        ] {
            olds.extend(nested(open, close, 1_000));
        }
        for old in olds {
            let start: String = format!("{}: {}", system.name(), old.chars().take(20).collect::<String>());
            small(&start, move || {
                for old in [
                    format!("#!/bin/bash\n#SBATCH --nodes=2\n{old}\nsrun python a.py\n"),
                    format!("kind: MPIJob\nspec: {old}"),
                    old,
                ] {
                    let _ = import(*system, &[text(&old)], &Options::default());
                }
            });
        }
    }
}
