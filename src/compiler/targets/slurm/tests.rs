//! Runs rendered scripts with fake mpirun and srun programs, and checks that no value escapes its quotes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::plan::Plan;
use crate::problem::{Problem, Span};
use crate::yaml;

/// The plan of a small spec, in which the fields of `more` replace those of `spec`.
fn plan(more: &Json) -> Plan {
    let mut job = json!({
        "apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mnist"},
        "spec": {"image": "image:1", "command": ["train"], "workers": {"replicas": 2, "slotsPerWorker": 2}},
    });
    for (key, value) in more.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    let mut text = String::new();
    crate::yaml::writer::to_yaml(&job, &mut text);
    let mut problems: Vec<Problem> = Vec::new();
    let span = Span { source: 0, start: 0, end: text.len() };
    let document = yaml::parse(&text, span, &mut problems).ok().flatten().expect("it is valid YAML");
    let spec = crate::targets::read(&document, crate::targets::SLURM, &mut problems);
    Plan::new(spec.unwrap_or_else(|| panic!("{problems:#?}\n{text}")), "bcdfgh".to_owned())
}

/// The arguments and the environment that a fake mpirun, srun or command received, and the messages of the script.
struct Recorded {
    arguments: Vec<String>,
    env: Vec<String>,
    messages: String,
}

/// Runs a script that trains. See [`execute`].
fn run(script: &str) -> Recorded {
    let (code, recorded) = execute(script);
    assert_eq!(code, Some(0), "{}", recorded.messages);
    recorded
}

/// Runs a script as Slurm does, with fake programs that only record their arguments and environment. Returns its exit code.
fn execute(script: &str) -> (Option<i32>, Recorded) {
    execute_on(script, ["2", "2(x2)"], &["mpirun", "horovodrun", "srun", "train"])
}

/// Runs a script as [`execute`] does, in an allocation with the given numbers of nodes and of tasks per node, and with the given
/// fake programs.
fn execute_on(script: &str, [nodes, tasks]: [&str; 2], programs: &[&str]) -> (Option<i32>, Recorded) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let program = format!(
        "#!/bin/bash\n[[ $1 != --version ]] || {{ echo 'mpirun (Open MPI) 4.1.4'; exit; }}\n\
         printf '%s\\0' \"$@\" >{0}/words\nenv -0 >{0}/env\n",
        folder.path().display()
    );
    for name in programs {
        fs::write(path(name), &program).unwrap();
        fs::set_permissions(path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(path("script"), script).unwrap();
    let out = Command::new("/bin/bash")
        .arg(path("script"))
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
        .envs([("SLURM_JOB_ID", "1"), ("SLURM_JOB_NUM_NODES", nodes), ("SLURM_TASKS_PER_NODE", tasks)])
        .output()
        .unwrap();
    let list = |name: &str| {
        let text = String::from_utf8(fs::read(path(name)).unwrap_or_default()).unwrap();
        let mut list: Vec<String> = text.split('\0').map(str::to_owned).collect();
        list.pop();
        list
    };
    let messages = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code(), Recorded { arguments: list("words"), env: list("env"), messages })
}

/// Random texts of characters that bash or sbatch interpret outside of quotes.
fn difficult_text() -> impl Strategy<Value = String> {
    let bits = [
        "'",
        "\"",
        "$(touch x)",
        "`id`",
        "\n",
        " ",
        "\\",
        "-n",
        "--",
        "#",
        ";exit 9;",
        "${IFS}",
        "*",
        "RANK",
        "SETUP",
        "é",
        "\t",
        "!",
        "~",
        "END",
        "<<",
    ];
    proptest::collection::vec(proptest::sample::select(bits.to_vec()), 1..8).prop_map(|bits| bits.concat())
}

/// The words of a line of directives, split by the rules of sbatch.
fn sbatch_words(line: &str) -> Vec<String> {
    let (mut words, mut chars) = (Vec::new(), line.chars().peekable());
    loop {
        while chars.next_if(char::is_ascii_whitespace).is_some() {}
        let (mut word, mut quote, mut any) = (String::new(), None, false);
        while let Some(&c) = chars.peek() {
            match (c, quote) {
                ('\\', _) => {
                    chars.next();
                    word.extend(chars.peek());
                }
                (c, Some(q)) if c == q => quote = None,
                ('"' | '\'', None) => quote = Some(c),
                ('#', None) => return if any { [words, vec![word]].concat() } else { words },
                (c, None) if c.is_ascii_whitespace() => break,
                _ => word.push(c),
            }
            any = true;
            chars.next();
        }
        if !any {
            return words;
        }
        words.push(word);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("PROPTEST_CASES").map_or(24, |cases| cases.parse().unwrap_or(24)), ..ProptestConfig::default() })]

    #[test]
    fn values_are_passed_on_unchanged(value in difficult_text(), word in difficult_text(), wrap in difficult_text(), script in difficult_text()) {
        let word = word.trim_start_matches('-');
        let job = json!({
            "env": {"NASTY": value}, "command": ["train", word], "args": [script],
            "slurm": {"wrap": ["env", wrap]},
        });
        let seen = run(&super::script(&plan(&job)));
        let tail = [wrap.as_str(), "train", word, &script];
        prop_assert_eq!(&seen.arguments[seen.arguments.len() - 4..], &tail, "{}", seen.messages);
        prop_assert!(seen.env.contains(&format!("NASTY={value}")), "{:?}", seen.env);
    }

    #[test]
    fn setup_cannot_end_its_here_document(text in difficult_text()) {
        let setup = format!("true <<'X'\n{}\nX\nexport REACHED=1", text.replace("\nX\n", ""));
        let seen = run(&super::script(&plan(&json!({"slurm": {"setup": setup}}))));
        prop_assert!(seen.env.contains(&"REACHED=1".to_owned()), "{}", seen.messages);
    }

    #[test]
    fn directives_are_quoted_for_sbatch(text in difficult_text().prop_map(|text| text.replace(['\n', '\t'], " "))) {
        let script = super::script(&plan(&json!({"slurm": {"partition": text, "args": [format!("--comment={text}")]}})));
        let lines = script.lines().filter_map(|line| line.strip_prefix("#SBATCH"));
        let words: Vec<String> = lines.flat_map(sbatch_words).collect();
        prop_assert!(words.contains(&format!("--partition={text}")), "{words:?}");
        prop_assert!(words.contains(&format!("--comment={text}")), "{words:?}");
        prop_assert!(words.iter().all(|word| word.starts_with("--")), "{words:?}");
        // sbatch stops reading directives at the first line that is a command.
        let head = script.split("\n\n").next().unwrap();
        prop_assert!(head.contains("--comment="), "{head}");
    }
}

#[test]
fn flags_of_the_setup_are_for_its_own_lines() {
    let script = |setup: &str| super::script(&plan(&json!({"slurm": {"setup": setup}})));
    let (code, recorded) = execute(&script("set -e\nfalse\ntrue"));
    assert_eq!((code, recorded.arguments.len()), (Some(1), 0), "{}", recorded.messages);
    let (code, recorded) = execute(&script("false"));
    assert_eq!((code, recorded.arguments.len()), (Some(42), 0), "{}", recorded.messages);
    assert!(run(&script("set -euo pipefail\ntrue")).arguments.contains(&"train".to_owned()));
}

/// A job of one rank needs no MPI, unless it has options of mpirun.
#[test]
fn the_only_rank_starts_without_mpirun() {
    let job = |more: Json| {
        let mut job = json!({"workers": {"replicas": 1, "gpus": 1}, "command": ["train", "a b"], "slurm": {"wrap": ["env", "BOX=1"]}});
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        super::script(&plan(&job))
    };
    let programs = ["mpirun", "horovodrun", "train"];
    let (code, recorded) = execute_on(&job(json!({})), ["1", "1"], &programs);
    assert_eq!(code, Some(0), "{}", recorded.messages);
    assert_eq!(recorded.arguments, ["a b"]);
    for variable in ["khorovod_is_rank=1", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1", "BOX=1"] {
        assert!(recorded.env.iter().any(|set| set == variable), "{variable}");
    }
    for launcher in [json!({"kind": "mpirun", "args": ["--report-bindings"]}), json!({"kind": "horovodrun"})] {
        let (code, recorded) = execute_on(&job(json!({"launcher": launcher})), ["1", "1"], &programs);
        assert_eq!((code, &*recorded.arguments[0]), (Some(0), "-np"), "{}", recorded.messages);
    }
}

#[test]
fn a_trap_of_the_setup_runs_at_the_end() {
    for kind in ["mpirun", "horovodrun"] {
        let setup = "trap 'echo \"it is over\" >&2' EXIT";
        let recorded = run(&super::script(&plan(&json!({"launcher": {"kind": kind}, "slurm": {"setup": setup}}))));
        assert!(recorded.messages.ends_with("it is over\n"), "{kind}: {}", recorded.messages);
    }
}

/// Slurm sends the signal of `lifecycle.checkpoint` to the script, which passes it on to the ranks of this job.
#[test]
fn the_checkpoint_signal_reaches_the_ranks() {
    let checkpoint = json!({"retries": 3, "checkpoint": {"signal": "SIGUSR1", "gracePeriod": "2m"}});
    let job = |more: Json| {
        let mut job = json!({"lifecycle": checkpoint, "slurm": {"srun": {"mpi": "none"}, "time": "1h"}});
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        super::script(&plan(&job))
    };
    let script = job(json!({}));
    assert!(script.contains("#SBATCH --signal=B:USR1@150\n"), "{script}");
    // With the launcher `shell`, the command starts the steps itself, and Slurm sends the signal to them.
    assert!(job(json!({"launcher": {"kind": "shell"}, "slurm": {}})).contains("#SBATCH --signal=USR1@120\n"));
    assert!(!super::script(&plan(&json!({}))).contains("--signal"));

    // The fake srun starts one task with the variables of Slurm. Its rank waits for the signal, which it must get exactly once.
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let srun = "#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexport SLURM_STEP_NUM_TASKS=4 SLURM_STEP_TASKS_PER_NODE='2(x2)'\nexec \"$@\"\n";
    let train = "#!/bin/bash\ntrap 'echo saved >>saved; exit 3' USR1\ntouch started\nfor ((i = 0; i < 300; i++)); do sleep 0.1; done\n";
    for (name, text) in [("srun", srun), ("train", train), ("script", script.as_str())] {
        fs::write(path(name), text).unwrap();
        fs::set_permissions(path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let batch = Command::new("/bin/bash")
        .arg(path("script"))
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
        .envs([("SLURM_JOB_ID", "4321"), ("SLURM_JOB_NUM_NODES", "2"), ("SLURM_TASKS_PER_NODE", "2(x2)")])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..600 {
        if path("started").exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(Command::new("kill").args(["-USR1", &batch.id().to_string()]).status().unwrap().success());
    let out = batch.wait_with_output().unwrap();
    let messages = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(fs::read_to_string(path("saved")).unwrap_or_default(), "saved\n", "{messages}");
    // The attempt is the last.
    assert!(messages.contains("ended with code 3 after SIGUSR1") && !messages.contains("attempt"), "{messages}");
    assert_eq!(out.status.code(), Some(3), "{messages}");
}

/// In a job array, each job keeps its own index.
#[test]
fn jobs_of_an_array_keep_their_index() {
    let script = super::script(&plan(&json!({"env": {"SLURM_ARRAY_TASK_ID": "it's 0"}})));
    let export = script.lines().find(|line| line.starts_with("export SLURM_ARRAY")).unwrap();
    let value = |given: &str| {
        let line = format!("{given}{export}; printf %s \"$SLURM_ARRAY_TASK_ID\"");
        let out = Command::new("/bin/bash").env_clear().args(["-c", &line]).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    assert_eq!(value("SLURM_ARRAY_TASK_ID=3; "), "3");
    assert_eq!(value(""), "it's 0");
}

/// The command that a report shows to follow the output reads the file that `--output` names.
#[test]
fn the_output_is_followed_where_it_is() {
    let output = |args: Json| super::output(&plan(&json!({"slurm": {"args": args}})).spec);
    let job = "output: in the name of its file, JOBID is the number that sbatch prints";
    let array = format!("{job}, and INDEX is the index in the array");
    let cases = [
        (json!([]), "slurm-JOBID.out", Some(job)),
        (json!(["--output=logs/%x-%j.log", "--mail-type=END"]), "logs/mnist-JOBID.log", Some(job)),
        (json!(["--array=0-3"]), "slurm-JOBID_INDEX.out", Some(&array)),
        (json!(["--array=0-3", "--output=a-%A_%a.out"]), "a-JOBID_INDEX.out", Some(&array)),
        (json!(["--output=log"]), "log", None),
    ];
    for (args, file, note) in cases {
        assert_eq!(output(args), (file.to_owned(), note.map(str::to_owned)));
    }
}

/// One script of each kind.
fn scripts() -> Vec<String> {
    let slurm =
        json!({"partition": "ml", "modules": ["OpenMPI/4.1.4"], "setup": "source venv/bin/activate", "time": "8h"});
    let job = |more: Json| super::script(&plan(&more));
    vec![
        job(json!({})),
        job(
            json!({"slurm": slurm, "env": {"LR": "0.1", "TOKEN": {"secretKeyRef": {"name": "hf", "key": "token"}}}, "workingDir": "/work/my folder"}),
        ),
        job(
            json!({"slurm": {"srun": {"mpi": "pmix", "args": ["--cpu-bind=cores"]}}, "workers": {"replicas": 1, "gpus": 4, "cpu": "16"}}),
        ),
        job(json!({"launcher": {"kind": "torchrun"}})),
        job(json!({"workers": {"replicas": 1, "gpus": 1}})),
        job(json!({"lifecycle": {"checkpoint": {"signal": "SIGUSR1", "gracePeriod": "10m"}}})),
        job(json!({"launcher": {"kind": "horovodrun"}})),
        job(json!({"launcher": {"kind": "deepspeed"}, "lifecycle": {"deadline": "2h"}})),
        job(json!({"launcher": {"kind": "shell"}, "command": "mpirun ./train"})),
    ]
}

#[test]
fn shellcheck_finds_nothing() {
    if Command::new("shellcheck").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("shellcheck");
    for (index, script) in scripts().iter().enumerate() {
        let path = folder.path().join(format!("{index}.sh"));
        fs::write(&path, script).unwrap();
        command.arg(path);
    }
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn a_report_has_the_command_of_the_script() {
    let described = |more: Json| super::Target::describe(&super::Slurm, &plan(&more)).batch.unwrap();
    let srun = described(json!({"slurm": {"srun": {"mpi": "pmix", "args": ["--cpu-bind=cores"]}, "wrap": ["env"]}}));
    let words = ["srun", "--kill-on-bad-exit=1", "--label", "--mpi=pmix", "--cpu-bind=cores", "env", "train"];
    assert_eq!(srun.launch, words);
    assert!(srun.launcher.unwrap().starts_with("srun"));
    let torchrun = described(json!({"launcher": "torchrun"}));
    assert_eq!(torchrun.launch, ["srun", "--kill-on-bad-exit=1", "torchrun", "--no_python", "train"]);
    let mpirun = described(json!({}));
    assert_eq!((&mpirun.launch[..3], mpirun.launcher), (&["mpirun", "-np", "4"].map(str::to_owned)[..], None));
}

#[test]
fn a_limit_counts_from_each_start() {
    let described = |more: Json| super::Target::describe(&super::Slurm, &plan(&more)).batch.unwrap();
    let batch = described(json!({"lifecycle": {"deadline": "2h", "retries": 3}}));
    assert_eq!(batch.most_seconds, Some(4 * 7_200));
    assert!(batch.notes.iter().any(|note| note.contains("at most 4 times")), "{:?}", batch.notes);
    assert_eq!(described(json!({})).most_seconds, None);
}

#[test]
fn resources_are_converted_to_slurm_units() {
    let directives = |more: Json| -> Vec<String> {
        let script = super::script(&plan(&more));
        script.lines().filter_map(|line| line.strip_prefix("#SBATCH --")).map(str::to_owned).collect()
    };
    let found = directives(json!({
        "workers": {"replicas": 3, "gpus": 4, "slotsPerWorker": 4, "cpu": "10", "memory": "1000M", "ephemeralStorage": "1Gi"},
        "slurm": {"gres": "gpu:a100", "time": "26h"}, "lifecycle": {"retries": 0},
    }));
    let expected = [
        "job-name=mnist",
        "nodes=3",
        "ntasks-per-node=4",
        "cpus-per-task=2",
        "mem=954M",
        "tmp=1G",
        "gres=gpu:a100:4",
        "time=1-02:00:00",
        "no-requeue",
    ];
    assert_eq!(found, expected);
    let found = directives(
        json!({"launcher": {"kind": "torchrun"}, "workers": {"replicas": 1, "gpus": 8, "cpu": "64"}, "lifecycle": {"deadline": "59m"}}),
    );
    assert_eq!(found[2..], ["ntasks-per-node=1", "cpus-per-task=64", "gres=gpu:8", "time=0-01:00:00", "requeue"]);
    // The ranks of the launcher run on one more node, in the same way as they run in one more pod on Kubernetes.
    let found = directives(
        json!({"launcher": {"kind": "mpirun", "runsRanks": true, "runsIn": "ownPod"}, "scheduling": {"suspend": true}, "workers": {"replicas": 2, "slotsPerWorker": 2}}),
    );
    assert_eq!(found[1], "nodes=3");
    assert!(found.contains(&"hold".to_owned()));
}
