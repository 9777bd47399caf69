//! Runs each batch script twice: unchanged, and after it was imported and rendered for Slurm. Both must start the same programs
//! with the same arguments.
//!
//! The test needs neither Slurm nor MPI nor PyTorch: it creates replacements of srun, mpirun, torchrun and accelerate, which start
//! only the first rank, and a replacement of python, which records its arguments.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use khorovod::import::System;
use khorovod::{Inputs, render, targets};

use super::{Case, cases, text};

/// The first lines of each replacement.
const COMMON: &str = r#"#!/bin/bash
# number OPTION: the value that one of the words before gives to an option.
number() {
    local word before=''
    for word in "${words[@]}"; do
        [[ $before != "$1" ]] || echo "$word"
        [[ $word != "$1="* ]] || echo "${word#*=}"
        before=$word
    done
}
words=("$@")
# The program begins at the first word that is one.
while (($#)); do
    case ${1##*/} in bash | python | torchrun | accelerate | env) break ;; *) shift ;; esac
done
"#;

const PROGRAMS: &[(&str, &str)] = &[
    (
        "srun",
        r#"export SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 PMIX_RANK=0
export SLURM_STEP_NUM_TASKS=$SLURM_NTASKS SLURM_STEP_NUM_NODES=$SLURM_JOB_NUM_NODES
export SLURM_STEP_TASKS_PER_NODE=$SLURM_TASKS_PER_NODE
exec "$@""#,
    ),
    (
        "mpirun",
        r#"[[ ${words[0]} != --version ]] || { echo 'mpirun (Open MPI) 4.1.4'; exit; }
export OMPI_COMM_WORLD_SIZE=$SLURM_NTASKS OMPI_COMM_WORLD_LOCAL_SIZE=$((SLURM_NTASKS / SLURM_JOB_NUM_NODES))
export OMPI_COMM_WORLD_RANK=0
exec "$@""#,
    ),
    (
        "torchrun",
        r#"each=$(number --nproc-per-node) nodes=$(number --nnodes)
export RANK=0 LOCAL_RANK=0 GROUP_RANK=0 WORLD_SIZE=$((${each:-1} * ${nodes:-1})) MASTER_ADDR=first MASTER_PORT=29500
(($#)) || for word in "${words[@]}"; do [[ $# -eq 0 && $word != *.py ]] || set -- "$@" "$word"; done
[[ $1 != *.py ]] || set -- python "$@"
exec "$@""#,
    ),
    ("scontrol", "printf 'first\\nsecond\\n'"),
    ("git", "mkdir -p model"),
    ("module", ":"),
    // Not every node has the program, and bash has the word.
    ("time", "exit 127"),
];

/// Programs that record their arguments.
const RECORDED: &[&str] = &["python", "accelerate"];

/// Returns the programs that a script starts, each with its arguments.
fn programs(script: &str, case: &Case) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    let bin = tempfile::tempdir().unwrap();
    let record = bin.path().join("record");
    let program = |name: &str, text: String| {
        fs::write(bin.path().join(name), text).unwrap();
        fs::set_permissions(bin.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    for (name, text) in PROGRAMS {
        program(name, format!("{COMMON}{text}\n"));
    }
    for name in RECORDED {
        let text = format!(
            "#!/bin/bash\nshift $((0))\nwords=(\"$@\")\n[[ ${{words[0]}} != -u ]] || words=(\"${{words[@]:1}}\")\n\
             printf '%s' {name} >>{0}\nprintf ' [%s]' \"${{words[@]}}\" >>{0}\necho >>{0}\n",
            record.display()
        );
        program(name, text);
    }
    for line in case.text.lines().filter_map(|line| line.strip_prefix("# file ")) {
        let (name, text) = line.split_once(": ").unwrap();
        fs::write(folder.path().join(name), format!("{text}\n")).unwrap();
    }
    let option = |name: &str| {
        let words = script.lines().filter(|line| line.starts_with("#SBATCH")).flat_map(str::split_whitespace);
        let values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        values.map(|value| value.parse::<u32>().unwrap()).next()
    };
    let (nodes, tasks) = (option("--nodes").unwrap_or(1), option("--ntasks-per-node").unwrap_or(1));
    let each = if nodes == 1 { tasks.to_string() } else { format!("{tasks}(x{nodes})") };
    let path = folder.path().join("script");
    fs::write(&path, script).unwrap();
    let output = Command::new("/bin/bash")
        .arg(&path)
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", bin.path().display()))
        .envs([("SLURM_JOB_ID", "1"), ("SLURM_JOB_NODELIST", "node[1-2]"), ("SLURM_PROCID", "0")])
        .envs(
            [("SLURM_JOB_NUM_NODES", nodes), ("SLURM_NNODES", nodes), ("SLURM_NTASKS", nodes * tasks)]
                .map(|(name, number)| (name, number.to_string())),
        )
        .env("SLURM_TASKS_PER_NODE", each)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(stderr.into_owned());
    }
    Ok(fs::read_to_string(record).unwrap_or_default().lines().map(str::to_owned).collect())
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap()
}

/// Each of these scripts once lost its training, or had it start with other words.
const SCRIPTS: &[&str] = &[
    "accelerate-processes-by-world-size",
    "accelerate-processes-in-words",
    "angle-brackets-in-a-comment",
    "appended-in-a-condition",
    "assignment-before-a-list",
    "assignment-before-piped-launch",
    "blank-line-after-backslash",
    "clone-before-cd",
    "comment-after-backslash",
    "counted-in-a-condition",
    "dollars-in-values",
    "errors-end-the-setup",
    "exported-by-set-a",
    "function-with-brace-behind-its-name",
    "list-as-the-last-line",
    "output-into-a-file",
    "positional-parameters-are-set",
    "printed-into-a-variable",
    "read-into-an-array",
    "semicolon-in-a-comment",
    "sourced-if-it-exists",
    "sourced-variable",
    "sum-in-brackets",
    "switches-named-as-secrets",
    "time-before-the-program",
    "traps",
    "two-torchruns-on-one-node",
    "unset-before-the-launch",
    "unused-variables",
    "variable-for-a-sourced-file",
    "variables-named-as-ours",
    "words-split-at-commas",
    "world-size-beyond-tasks",
    "world-size-that-only-the-script-knows",
];

#[test]
fn scripts_start_the_same_programs_there_and_back() {
    let cases: Vec<Case> = cases()
        .into_iter()
        .filter(|case| case.system == System::Slurm && SCRIPTS.contains(&stem(&case.path)))
        .collect();
    assert_eq!(cases.len(), SCRIPTS.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let name = stem(&case.path);
        let imported = match case.import() {
            Ok(imported) => imported,
            Err(problems) => {
                wrong.push(format!("{name}: {:#?}", problems.list));
                continue;
            }
        };
        let inputs = Inputs { target: targets::SLURM, ..Inputs::default() };
        let before = programs(&case.text, case).unwrap_or_else(|failed| panic!("{name}: {failed}"));
        let after = render(&text(&imported.job), &inputs).map_err(|found| format!("{:#?}", found.list));
        let after = after.and_then(|script| programs(&script.text, case)).unwrap_or_else(|failed| vec![failed]);
        if before.is_empty() || before != after {
            wrong.push(format!("{name}:\nbefore {before:#?}\nafter {after:#?}\n{}", imported.job));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
