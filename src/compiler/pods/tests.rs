//! Checks that every script of every shape is valid shell, and that no value of a spec can escape its quotes in
//! `job.sh`.

use std::{borrow::Cow, collections::BTreeMap, fs, path::Path, process::Command};

use super::{Content, File, REVISION, Scripts, TREE_FROM, current, scripts::NAMES, without_comments};
use crate::job::declare;
use crate::job::fixtures::{group, spec};
use crate::job::valid::*;
use crate::plan::{Plan, Shape};

fn files(plan: &Plan) -> Vec<File> {
    super::files(plan, Scripts::default())
}

/// A plan for two workers of two ranks each, under Open MPI.
fn plan() -> Plan {
    let spec = spec(|spec| {
        spec.groups = vec![Group { slots: 2, ..group(None, 2, 0) }];
        spec.health_check.policy = HealthPolicy::Never;
    });
    let mut plan = Plan::new(spec, "bcdfgh".to_owned());
    plan.launch =
        "mpirun -np 4 --hostfile /horovod/generated/hostfile python train.py".split(' ').map(str::to_owned).collect();
    plan.env.clear();
    plan
}

/// A small job does not get the scripts of the tree, and `tree.sh` has the same limit as the compiler.
#[test]
fn only_large_jobs_use_a_tree() {
    let has_tree = |plan: &Plan| files(plan).iter().any(|file| file.name == "srun");
    let mut plan = plan();
    assert!(!has_tree(&plan));
    plan.workers = TREE_FROM - 1;
    assert!(!has_tree(&plan));
    plan.workers = TREE_FROM;
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::IntelMpi] {
        plan.spec.launcher.mpi = mpi;
        assert!(has_tree(&plan));
    }
    for kind in [LauncherKind::Horovodrun, LauncherKind::Deepspeed, LauncherKind::Shell] {
        plan.spec.launcher.kind = kind;
        assert!(has_tree(&plan));
    }
    plan.launch.clear();
    assert!(!has_tree(&plan));
    assert!(include_str!("scripts/tree.sh").contains(&format!("tree_from=${{tree_from:-{TREE_FROM}}}")));
}

/// One plan for each possible set of files.
fn plans() -> Vec<Plan> {
    let changed = |change: fn(&mut Plan)| {
        let mut plan = plan();
        change(&mut plan);
        plan
    };
    vec![
        plan(),
        changed(|plan| plan.workers = TREE_FROM),
        changed(|plan| {
            plan.shape = Shape::IndexedJob;
            plan.hostfile = None;
            plan.teams[0].workload = "mnist-bcdfgh".to_owned();
            plan.spec.launcher.mpi = Mpi::Mpich;
            plan.spec.health_check.policy = HealthPolicy::Always;
        }),
        changed(|plan| {
            plan.shape = Shape::Agents;
            plan.spec.scheduling.gang = Some(Gang::Native);
            plan.spec.health_check.policy = HealthPolicy::OnFailure;
            plan.hostfile = None;
            plan.teams[0].workload = "mnist-bcdfgh".to_owned();
            plan.spec.launcher.kind = LauncherKind::Torchrun;
            plan.launch = ["torchrun", "train.py"].map(str::to_owned).to_vec();
        }),
        changed(|plan| {
            plan.shape = Shape::Agents;
            plan.hostfile = None;
            plan.teams[0].workload = "mnist-bcdfgh".to_owned();
            plan.spec.launcher.kind = LauncherKind::Tensorflow;
            plan.launch = ["python", "train.py"].map(str::to_owned).to_vec();
        }),
        changed(|plan| {
            plan.spec.launcher.kind = LauncherKind::Horovodrun;
            plan.spec.lifecycle.keep_workers = true;
            plan.spec.elastic =
                Some(Elastic { min_replicas: 1, max_replicas: 4, cooldown: None, timeout: 600, reset_limit: None });
        }),
        changed(|plan| {
            let rank_order = Some(RankOrder::Levels(vec![Level::new("rack")]));
            plan.spec.placement.topology = Some(Topology { rank_order, ..Topology::default() });
        }),
        changed(|plan| {
            let rank_order = Some(RankOrder::Measured);
            plan.spec.placement.topology = Some(Topology { rank_order, ..Topology::default() });
            plan.spec.scheduling.gang = Some(Gang::Native);
        }),
        changed(|plan| {
            plan.spec.lifecycle.stall =
                Some(Stall { timeout: 60, file: None, metric: None, retries: true, evidence: None });
            plan.spec.observability.events = true;
        }),
        changed(|plan| {
            plan.spec.security.api_access = false;
            plan.spec.observability.progress = Some(Progress::Pattern(r"it's (\d+)".to_owned()));
            plan.spec.observability.launcher_metrics = Some(Metrics { port: 9401, pod_monitor: true, from: None });
        }),
        changed(|plan| {
            plan.spec.launcher.kind = LauncherKind::Shell;
            plan.spec.launcher.interactive = true;
            plan.launch.clear();
            plan.spec.security.run_as_user = None;
        }),
        changed(|plan| {
            plan.spec.storage = vec![Volume {
                name: "set".to_owned(),
                mount_path: "/set".to_owned(),
                read_only: false,
                sub_path: None,
                source: VolumeSource::S3(S3 {
                    endpoint: None,
                    bucket: "b".to_owned(),
                    prefix: "p/".to_owned(),
                    region: "eu-west-1".to_owned(),
                    secret: Some("s3-keys".to_owned()),
                    download: true,
                    upload: true,
                    upload_interval: 600,
                    size: None,
                }),
            }];
        }),
        changed(|plan| {
            plan.spec.storage = crate::job::fixtures::storage();
        }),
    ]
}

fn write(files: &[File], folder: &Path) {
    for file in files {
        fs::write(folder.join(file.name), file.text().as_bytes()).unwrap();
    }
}

fn is_shell(file: &File) -> bool {
    Path::new(file.name).extension().is_some_and(|extension| extension == "sh")
        || file.text().starts_with("#!/bin/bash")
}

/// Whether a script assigns a value to a variable that other files see.
fn sets(text: &str, variable: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.lines().filter(|line| !line.trim_start().starts_with('#')).any(|line| {
        line.match_indices(variable).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + variable.len()..]);
            let assigned =
                after.trim_start().trim_start_matches('+').starts_with('=') && !after.trim_start().starts_with("==");
            let is_whole = !before.ends_with(|c| is_name(c) || "$-{".contains(c));
            is_whole && !before.contains("local ") && (assigned || before.ends_with("mapfile -t "))
        })
    })
}

/// Checks that the table of scripts/README.md names every script that sets one of its variables.
#[test]
fn shared_variables_have_an_owner() {
    let files: Vec<File> = plans().iter().flat_map(files).collect();
    let text = |name: &str| files.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("no {name}")).text();
    let readme = include_str!("scripts/README.md");
    let table = readme.split_once("| Owner |").expect("a table of owners").1;
    let (mut owners, mut variables, mut allowed) = (Vec::new(), Vec::new(), Vec::new());
    for row in table.lines().skip(2).take_while(|row| row.starts_with('|')) {
        let words = |cell: &'static str| cell.split('`').skip(1).step_by(2).collect::<Vec<_>>();
        let cells: Vec<_> = row.split('|').map(words).collect();
        if !cells[1].is_empty() {
            owners.clone_from(&cells[1]);
        }
        for variable in &cells[2] {
            assert!(owners.iter().all(|owner| sets(&text(owner), variable)), "{owners:?} set no {variable}");
            variables.push(*variable);
            allowed.push([owners.clone(), cells[4].clone()].concat());
        }
    }
    assert!(variables.len() > 20, "{variables:?}");
    // A script with a `#!` line is a process of its own, unless it reads the files that share their variables.
    let has_shared_variables = |file: &&File| {
        let is_script = Path::new(file.name).extension().is_some_and(|end| end == "sh") && file.name != "job.sh";
        is_script && (!file.text().starts_with("#!") || file.text().contains("/scripts/common.sh"))
    };
    let shared: BTreeMap<_, _> =
        files.iter().filter(has_shared_variables).map(|file| (file.name, file.text())).collect();
    assert!(shared.len() > 22, "{:?}", shared.keys());
    for (name, text) in shared {
        for (variable, allowed) in variables.iter().zip(&allowed) {
            assert!(allowed.contains(&name) || !sets(&text, variable), "{name} sets {variable}: name it in README.md");
        }
    }
}

/// Whether a program is installed. CI must have it.
fn have(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    assert!(found || std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI needs {program}");
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

#[test]
fn bash_parses_every_script() {
    for plan in plans() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&plan);
        write(&files, folder.path());
        for file in files.iter().filter(|file| is_shell(file)) {
            let out = Command::new("bash").arg("-n").arg(folder.path().join(file.name)).output().unwrap();
            assert!(out.status.success(), "{}: {}", file.name, String::from_utf8_lossy(&out.stderr));
        }
    }
}

#[test]
fn shellcheck_finds_nothing() {
    if !have("shellcheck") {
        return;
    }
    for plan in plans() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&plan);
        write(&files, folder.path());
        let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/pods/scripts/.shellcheckrc");
        fs::copy(settings, folder.path().join(".shellcheckrc")).unwrap();
        let scripts = files.iter().filter(|file| is_shell(file));
        let mut command = Command::new("shellcheck");
        let out = command.arg("--shell=bash").args(scripts.map(|file| folder.path().join(file.name))).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    }
}

#[test]
fn every_file_that_a_script_uses_exists() {
    for plan in plans() {
        let files = files(&plan);
        for file in &files {
            for line in file.text().lines() {
                // Only lines of the form `. "$scripts/x.sh"` require a script. Other lines source a script only if it exists, or
                // do not source one.
                let Some((_, name)) = line.split_once("$scripts/").filter(|_| line.starts_with(". ")) else { continue };
                let name = name.trim_end_matches('"');
                assert!(files.iter().any(|other| other.name == name), "{} names {name}", file.name);
            }
        }
    }
}

#[test]
fn difficult_values_stay_one_word() {
    let nasty = [
        "",
        " ",
        "it's",
        "\"",
        "$(touch /tmp/x)",
        "`id`",
        "a\nb\n",
        "\t",
        "{{launch}}",
        "&<>",
        "\\",
        "*",
        "~",
        "[0]=x",
        "-n",
        "é\u{2028}",
        "\r\n",
        ")",
        "# no",
    ];
    let mut plan = plan();
    plan.launch = nasty.map(str::to_owned).to_vec();
    let folder = tempfile::tempdir().unwrap();
    write(&files(&plan), folder.path());
    let out = Command::new("bash")
        .args(["-u", "-c", r#". "$0" && printf '%s\0' "${launch[@]}""#])
        .arg(folder.path().join("job.sh"))
        .output()
        .unwrap();
    let words = String::from_utf8(out.stdout).unwrap();
    assert_eq!(words.split_terminator('\0').collect::<Vec<_>>(), nasty, "{}", String::from_utf8_lossy(&out.stderr));
}

/// Without the texts of the scripts, a plan has the same files, and those that are generated are complete.
#[test]
fn scripts_can_be_left_out() {
    for plan in plans() {
        for (file, without) in files(&plan).iter().zip(super::files(&plan, Scripts::LEFT_OUT)) {
            assert_eq!(file.name, without.name);
            let expected = if NAMES.contains(&file.name) { Cow::default() } else { file.text() };
            assert_eq!(without.text(), expected);
        }
        assert_eq!(files(&plan).len(), super::files(&plan, Scripts::LEFT_OUT).len());
    }
}

#[test]
fn the_files_of_a_plain_job_are_small() {
    let total: usize = files(&plan()).iter().map(|file| file.text().len()).sum();
    assert!(total < 56 << 10, "{total} bytes in every job");
}

#[test]
fn only_limits_may_change_in_place() {
    let mut plan = plan();
    plan.spec.lifecycle.stall = Some(Stall { timeout: 60, file: None, metric: None, retries: true, evidence: None });
    let before: Vec<_> = files(&plan).into_iter().map(|file| file.content).collect();
    plan.spec.lifecycle.deadline = Some(60);
    plan.spec.lifecycle.retries = 7;
    plan.spec.lifecycle.start_timeout = 5;
    plan.spec.launcher.lost_timeout = 6;
    plan.spec.lifecycle.retries_reset_after = Some(8);
    plan.spec.lifecycle.retries_without_progress = Some(9);
    plan.spec.lifecycle.final_exit_codes = vec![2, 64];
    if let Some(stall) = &mut plan.spec.lifecycle.stall {
        stall.timeout = 61;
    }
    let after: Vec<_> = files(&plan).into_iter().map(|file| file.content).collect();
    assert_eq!(before, after);
    let entries = [
        ("run", "bcdfgh"),
        ("retries", "7"),
        ("retries-reset-after", "8"),
        ("wait-timeout", "5"),
        ("lost-timeout", "6"),
        ("retries-without-progress", "9"),
        ("final-exit-codes", "2 64"),
        ("stall-timeout", "61"),
        ("deadline", "60"),
    ];
    assert_eq!(current(&plan), entries.map(|(name, value)| (name, value.to_owned())));
}

/// The static scripts, by name.
fn scripts() -> Vec<(String, String)> {
    let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/pods/scripts")).unwrap();
    let mut all: Vec<_> = folder
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap()))
        .filter(|(name, _)| !name.starts_with('.') && name != "README.md")
        .collect();
    all.sort();
    all
}

/// A script that cannot read a limit from the ConfigMap uses a value of its own. This value must be the default of the field.
#[test]
fn scripts_fall_back_to_the_defaults_of_fields() {
    let (lifecycle, launcher) = (declare::Lifecycle::default(), declare::Launcher::default());
    let defaults = [
        ("retries", lifecycle.retries().value.0.to_string()),
        ("retries-reset-after", lifecycle.retries_reset_after().value.0.unwrap_or_default().to_string()),
        ("retries-without-progress", lifecycle.retries_without_progress().value.0.to_string()),
        ("wait-timeout", lifecycle.start_timeout().value.0.to_string()),
        ("lost-timeout", launcher.lost_timeout().value.0.to_string()),
        ("idle-timeout", launcher.idle_timeout().value.0.to_string()),
    ];
    let mut compared = 0;
    for (name, text) in scripts() {
        for call in text.split("$(limit ").skip(1) {
            let mut words = call.split(')').next().unwrap().split(' ');
            let (limit, fallback) = (words.next().unwrap(), words.next().unwrap());
            let Some((_, default)) = defaults.iter().find(|(known, _)| *known == limit) else { continue };
            assert_eq!(default, fallback, "{limit} in {name}");
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn pods_get_scripts_without_comments() {
    let text = "#!/bin/bash\n# Why.\n\nset -u\n  # Indented.\n  echo \"# said\" # at the end\n";
    assert_eq!(without_comments(text), "#!/bin/bash\nset -u\n  echo \"# said\" # at the end\n");
    // An edit of a comment changes nothing that pods get.
    assert_eq!(without_comments(&text.replace("Why", "Because")), without_comments(text));
}

#[test]
fn scripts_without_comments_mean_the_same() {
    const DUMP: &str = r"import ast, sys; print(ast.dump(ast.parse(open(sys.argv[1]).read())).replace(r'\n\n', r'\n'))";
    // The lines of a script, as its interpreter reads them.
    let parsed = |program: &str, args: &[&str], text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        fs::write(&file, text).unwrap();
        let out = Command::new(program).args(args).arg(&file).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        // bash prints an empty line for a comment outside functions.
        let text = String::from_utf8(out.stdout).unwrap();
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    for (name, text) in scripts() {
        let shipped = without_comments(&text);
        let (program, args): (_, &[&str]) = match name.rsplit_once('.') {
            Some((_, "py")) => ("python3", &["-c", DUMP]),
            _ if name.ends_with("_config") => continue,
            _ => ("bash", &["--pretty-print"]),
        };
        assert!(program == "bash" || have("python3"));
        for (line, shipped) in parsed(program, args, &text).iter().zip(parsed(program, args, &shipped)) {
            assert_eq!(*line, shipped, "{name}");
        }
    }
}

/// A watcher may end before the first pause, which writes the file that `wake_attempt` reads.
#[test]
fn a_watcher_that_ends_early_prints_nothing() {
    let files = files(&plans()[0]);
    let attempt = files.iter().find(|file| file.name == "attempt.sh").expect("attempt.sh");
    let text = attempt.text();
    let function = text.lines().find(|line| line.starts_with("wake_attempt() {")).expect("wake_attempt");
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "{function}\ngenerated=$1\nwake_attempt\nsleep 60 & echo $! >\"$1/pause\"\nwake_attempt\nwait $!\n((($? == 141)))"
    );
    let output = Command::new("bash").args(["-c", &script, "bash"]).arg(folder.path()).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

/// A job of eight workers that has not trained yet. Five answer, one has an address but does not answer, and two have no address, because
/// no node has room for them: only the sixth is lost, and only after it has had its address for two minutes.
#[test]
fn a_worker_that_waits_for_a_node_is_not_replaced() {
    let all: BTreeMap<_, _> = scripts().into_iter().collect();
    let functions = [&all["api.sh"], &all["scale.sh"]];
    let functions: Vec<&str> = functions.iter().flat_map(|text| text.split("\n}\n")).collect();
    let wanted = ["find_no_address()", "wanted()", "replace_lost()"];
    let functions: Vec<String> = wanted
        .iter()
        .map(|name| {
            let found = functions.iter().find_map(|text| Some(&text[text.find(&format!("\n{name} {{"))? + 1..]));
            let found = found.unwrap_or_else(|| panic!("{name}"));
            if found.starts_with("wanted") { found.lines().next().unwrap().to_owned() } else { format!("{found}\n}}") }
        })
        .collect();
    let rounds = |list: &str| {
        let script = format!(
            r#"{}
declare -A nodes=() addressed=() listed=() no_address=() team_of=() verdicts=()
call() {{ {list}; }}
is_unfit() {{ false; }}
scale() {{ echo "scale to $2"; }}
log_replaced() {{ echo "$1 is lost"; }}
has_endpoints=yes has_list='' namespace=n service=s attempts='' is_successor='' max_workers='' unscaled=''
team_names=(w) team_replicas=(8) team_spares=(0) team_added=() needed=8 up=5
hosts=() missing=(w-5.s w-6.s w-7.s)
for host in w-{{0..7}}.s; do hosts+=("$host") team_of[$host]=0; done
candidates=("${{hosts[@]}}")
for waited in 10 60 119 121 130 131 200; do
  SECONDS=$waited free=(3)
  find_no_address
  replace_lost "$waited"
done"#,
            functions.join("\n")
        );
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let list = r#"status=200; answer='{"subsets":[{"addresses":[{"ip":"10.0.0.5","hostname":"w-5"}]}]}'"#;
    assert_eq!(rounds(list), ("w-5.s is lost\nscale to 9\n".to_owned(), String::new()));
    // The API server does not answer.
    assert_eq!(rounds("status=000; answer=''"), (String::new(), String::new()));
    // The list of addresses is too long.
    assert_eq!(rounds("status=200; answer='over-capacity'"), (String::new(), String::new()));
    // Two workers have answered before; the API server lists only the address of one.
    let list = r#"nodes[w-5.s]=a nodes[w-6.s]=b status=200; answer='{"subsets":[{"addresses":[{"ip":"10.0.0.5","hostname":"w-5"}]}]}'"#;
    assert_eq!(rounds(list).0, "w-5.s is lost\nscale to 9\n");
}

/// SIGTERM arrives while bash begins to read a `$(`.
#[test]
fn a_trap_that_ends_a_script_runs_at_any_time() {
    let all: BTreeMap<_, _> = scripts().into_iter().collect();
    let function = all["common.sh"].lines().find(|line| line.starts_with("end_on() {")).expect("end_on");
    let script = format!("{function}\nend_on 'exit 143' TERM\nx=$(kill -TERM $$; sleep 0.1)$(printf a)\necho lost");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&printed).as_ref()), (Some(143), ""));
    for name in ["launcher.sh", "agent.sh", "worker.sh", "order.sh", "srun"] {
        assert!(all[name].contains("\nend_on "), "{name}");
    }
}

/// The kernel ignores SIGTERM to the first process of a container that does not handle it. So a script handles it before it reads others.
#[test]
fn a_script_that_gets_sigterm_at_its_start_exits() {
    let all: BTreeMap<_, _> = scripts().into_iter().collect();
    for name in ["launcher.sh", "agent.sh", "worker.sh"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("common.sh"), "kill -TERM $$\necho went on\nkill -KILL $$\n").unwrap();
        let script = all[name].replace("/etc/khorovod/scripts", &folder.path().display().to_string());
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(143), b"".as_slice()), "{name}");
    }
}

/// The traps of SIGUSR1 and SIGUSR2 return to the launcher, which ends if it is about to read a `$(`. So it uses none while ranks run:
/// bash would trace its commands with `++`, as it does with those of the trap. The training sends SIGUSR1, and the trap makes the launcher
/// check its limits again.
#[test]
fn a_launcher_expands_no_command_substitution_while_ranks_run() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().display().to_string();
    let files: Vec<_> = files(&plans()[0])
        .into_iter()
        .map(|file| File {
            content: Content::Generated(
                file.text()
                    .replace("/etc/khorovod/scripts", &here)
                    .replace("/etc/khorovod/current", &here)
                    .replace("/horovod/generated", &here),
            ),
            name: file.name,
        })
        .collect();
    write(&files, folder.path());
    for (name, value) in [("run", "bcdfgh"), ("deadline", "1000")] {
        fs::write(folder.path().join(name), value).unwrap();
    }
    let script = r#". "$0/common.sh"; . "$0/attempt.sh"
        finish() { echo "finish $*"; exit 1; }
        began=$EPOCHSECONDS pause_length=0.1 checks=0
        trap 'SECONDS=$((SECONDS + 10)); ((++checks))' USR1
        launch=(/bin/bash -c 'for turn in {1..5}; do sleep 0.2; kill -USR1 "$PPID"; done; sleep 0.3')
        start_uploads() { set -x; }
        wake_attempt() { set +x; }
        attempt && echo "trained after $checks checks""#;
    let output = Command::new("bash").args(["-c", script, &here]).output().unwrap();
    let (printed, traced) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed, "trained after 5 checks\n", "{traced}");
    assert!(traced.contains("+ check_limits"), "{traced}");
    let is_trap = |line: &&str| line.starts_with("++ SECONDS=") || *line == "++ (( ++checks ))";
    assert_eq!(traced.lines().filter(is_trap).count(), 10, "{traced}");
    assert_eq!(traced.lines().find(|line| line.starts_with("++") && !is_trap(line)), None);
}

/// These scripts have traps that return, and read no `$(` after it.
#[test]
fn scripts_read_no_command_substitution_after_a_trap_that_returns() {
    for (text, trap) in [
        (include_str!("scripts/processes.sh"), "\ntrap 'ending=143' TERM INT\n"),
        (include_str!("../targets/slurm/scripts/end.sh"), "|| trap khorovod_save \"$khorovod_signal\"\n"),
    ] {
        let (_, after) = text.split_once(trap).expect(trap);
        assert!(!after.replace("$((", "").contains("$("), "after {trap}");
    }
}

#[test]
fn scripts_change_only_with_the_revision() {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for (name, text) in scripts() {
        hash.update(format!("{name}\0{}\0", without_comments(&text)));
    }
    let now = format!("revision {REVISION}\nscripts {:x}\n", hash.finalize());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/pods/revision.txt");
    let recorded = fs::read_to_string(path).unwrap_or_default();
    if recorded == now {
        return;
    }
    assert!(
        !recorded.starts_with(&format!("revision {REVISION}\n")),
        "a script changed in more than comments, and revision {REVISION} is recorded with other scripts: add 1 to `REVISION` in \
         src/compiler/pods.rs, so that the change starts new runs, and run `make bless`"
    );
    assert!(std::env::var_os("KHOROVOD_BLESS").is_some(), "pods/revision.txt is of another revision: run `make bless`");
    fs::write(path, now).unwrap();
}

/// The script `tests/distances.sh` sorts hosts by times that it makes up.
#[test]
fn measured_times_become_groups() {
    let folder = tempfile::tempdir().unwrap();
    let measured = |plan: &&Plan| {
        let topology = plan.spec.placement.topology.as_ref();
        topology.is_some_and(|topology| matches!(topology.rank_order, Some(RankOrder::Measured)))
    };
    write(&files(plans().iter().find(measured).expect("a plan with measured times")), folder.path());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/pods/tests/distances.sh");
    let out = Command::new("bash").arg(script).current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && out.stderr.is_empty(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(text.lines().filter(|line| line.starts_with("ok ")).count(), 11, "{text}");
}
