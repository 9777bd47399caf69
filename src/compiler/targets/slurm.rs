//! `Plan` → a batch script for Slurm: `#SBATCH` directives, then bash code that checks the allocation, prepares the environment
//! and starts the ranks. See [`script`].
//!
//! The bash code is static text from the folder `slurm/scripts/`. Only the variable assignments between its parts differ
//! between jobs, and every value in them is quoted.

mod refusals;

use super::{Target, TargetOutput};
use crate::job::Case;
use crate::job::target::{Facts, SshKeys};
use crate::kubernetes::Object;
use crate::pods::File;
use crate::problem::{Problem, count};
use crate::report::{Batch, Description};
use std::fmt::Write as _;

use crate::job::quantity::Quantity;
use crate::job::types::format_duration;
use crate::job::valid::{Checkpoint, EnvValue, Group, LauncherKind, Mpi, Slurm as Options, Spec};
use crate::plan::{HOSTFILE, Plan};
use crate::pods::words::word;

pub use refusals::CODES;

#[derive(Debug)]
pub struct Slurm;

static FACTS: Facts = Facts {
    name: "slurm",
    has_pods: false,
    ssh_keys: SshKeys::None,
    exceptions: refusals::EXCEPTIONS,
    ..Facts::COMMON
};

impl Target for Slurm {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        refusals::check(case, problems);
    }

    fn describe(&self, plan: &Plan) -> Description {
        let script = Script::new(plan);
        let (program, command) = script.launch();
        let (file, words_in_name) = output(&plan.spec);
        let hostfile = program
            .iter()
            .any(|word| word.contains(HOSTFILE))
            .then(|| "command: HOSTFILE is a file with the names of the nodes, which the script writes".to_owned());
        let alone =
            (script.starter == Starter::Rank).then_some("the script starts the only rank itself, without mpirun");
        let held = plan.spec.scheduling.suspend.then_some("held: the job starts after `scontrol release`");
        let (limit, starts) = (deadline(&plan.spec), plan.spec.lifecycle.retries.saturating_add(1));
        let restarts = (limit > 0 && starts > 1).then(|| {
            format!(
                "limit: the script ends the training after {}, and the time starts at 0 again each time Slurm starts it, at most {starts} times",
                format_duration(limit)
            )
        });
        Description {
            shape: "a batch script for Slurm",
            controller: "Slurm",
            batch: Some(Batch {
                launcher: match script.starter {
                    Starter::Step => Some("srun, as slurm.srun asks".to_owned()),
                    Starter::Agents => Some("srun, which starts one torchrun per node".to_owned()),
                    Starter::Rank => Some("the script itself".to_owned()),
                    Starter::Mpi | Starter::Shell => None,
                },
                launch: [program, command]
                    .concat()
                    .into_iter()
                    .map(|word| word.replace(HOSTFILE, "HOSTFILE"))
                    .collect(),
                hosts: "the nodes that Slurm allocates",
                release: "Slurm releases the nodes when the script ends",
                output: word(&file),
                most_seconds: (limit > 0).then(|| limit.saturating_mul(u64::from(starts))),
                notes: ["the ranks run directly on the nodes; the image is not used"]
                    .into_iter()
                    .chain(alone)
                    .chain(held)
                    .map(str::to_owned)
                    .chain(restarts)
                    .chain(words_in_name)
                    .chain(hostfile)
                    .collect(),
            }),
            ..Description::default()
        }
    }

    /// The list is empty: the output is a script.
    fn workloads<'a>(&self, _: &'a Plan, _: &[File]) -> Vec<Object<'a>> {
        Vec::new()
    }

    fn build<'a>(&self, plan: &'a Plan, _: &'a [File], _: &'a [(&'static str, String)]) -> TargetOutput<'a> {
        TargetOutput::Script { name: plan.spec.name.clone(), text: script(plan) }
    }
}

/// The placeholders in the name of an output file that Slurm replaces when the job starts: the words that a report prints for
/// them, and their meanings.
const PLACEHOLDERS: &[(&str, &str, &str)] = &[
    ("%j", "JOBID", "the number that sbatch prints"),
    ("%A", "JOBID", "the number that sbatch prints"),
    ("%a", "INDEX", "the index in the array"),
    ("%u", "USER", "your user name"),
    ("%N", "NODE", "the first node of the job"),
];

/// The file to which Slurm writes the job's output, and a note about the words in it that stand for values which only Slurm
/// has.
fn output(spec: &Spec) -> (String, Option<String>) {
    let arg = |option: &str| spec.slurm.args.iter().rev().find_map(|word| word.strip_prefix(option));
    let usual = if arg("--array=").is_some() { "slurm-%A_%a.out" } else { "slurm-%j.out" };
    let mut file = arg("--output=").unwrap_or(usual).replace("%x", &spec.name);
    let mut meanings: Vec<String> = Vec::new();
    for (pattern, word, meaning) in PLACEHOLDERS {
        let meaning = format!("{word} is {meaning}");
        if file.contains(pattern) && !meanings.contains(&meaning) {
            meanings.push(meaning);
        }
        file = file.replace(pattern, word);
    }
    let note = (!meanings.is_empty()).then(|| format!("output: in the name of its file, {}", meanings.join(", and ")));
    (file, note)
}

/// How many seconds before Slurm's time limit the training receives SIGTERM.
const MARGIN: u64 = 30;

macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("slurm/scripts/", $name))
    };
}

/// The program that starts the ranks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Starter {
    /// srun, with one task per rank.
    Step,
    /// srun, with one torchrun per node.
    Agents,
    /// mpirun, or a launcher that runs it, on the first node.
    Mpi,
    /// The only rank, as a child of the script.
    Rank,
    /// The command of the spec itself.
    Shell,
}

fn starter(plan: &Plan) -> Starter {
    let spec = &plan.spec;
    // A single rank starts without mpirun, because many programs for one GPU are installed without MPI. If the spec has options
    // of mpirun, mpirun starts the rank.
    let is_alone = plan.np == 1 && plan.workers == 1 && !spec.launcher.runs_ranks && spec.launcher.args.is_empty();
    match spec.launcher.kind {
        LauncherKind::Torchrun => Starter::Agents,
        // `refusals` reports JAX and TensorFlow as errors, so no plan has them.
        LauncherKind::Jax | LauncherKind::Tensorflow | LauncherKind::Shell => Starter::Shell,
        LauncherKind::Mpirun if spec.slurm.srun.is_some() => Starter::Step,
        LauncherKind::Mpirun if is_alone => Starter::Rank,
        LauncherKind::Mpirun | LauncherKind::Horovodrun | LauncherKind::Deepspeed => Starter::Mpi,
    }
}

/// The values from which the parts of the script are built.
struct Script<'a> {
    plan: &'a Plan,
    group: &'a Group,
    starter: Starter,
    nodes: u32,
    /// The number of Slurm tasks per node: the ranks, or one torchrun.
    tasks: u32,
}

impl<'a> Script<'a> {
    fn new(plan: &'a Plan) -> Self {
        let group = &plan.spec.groups[0];
        let starter = starter(plan);
        let tasks = if starter == Starter::Agents { 1 } else { group.slots };
        let nodes = plan.workers + u32::from(plan.spec.launcher.runs_ranks);
        Self { plan, group, starter, nodes, tasks }
    }

    /// Two parts: the program that starts the ranks, with its options, and the command of the ranks. The script puts
    /// its check between these two parts.
    fn launch(&self) -> (Vec<String>, Vec<String>) {
        let Plan { spec, launch, .. } = self.plan;
        let command = [spec.slurm.wrap.as_slice(), &spec.command].concat();
        let program = launch.strip_suffix(spec.command.as_slice()).unwrap_or_default();
        match self.starter {
            Starter::Shell => (Vec::new(), spec.command.clone()),
            Starter::Rank => (Vec::new(), command),
            Starter::Mpi => (program.to_vec(), command),
            Starter::Step => (srun(self), command),
            Starter::Agents => (srun(self), [program, &command].concat()),
        }
    }
}

/// Builds the script, which is submitted with sbatch.
fn script(plan: &Plan) -> String {
    let spec = &plan.spec;
    let script = Script::new(plan);

    let mut text = format!("#!/bin/bash\n{}", header(&script));
    for (option, value) in directives(&script) {
        let value = value.map_or(String::new(), |value| format!("={}", quote_for_sbatch(&value)));
        let _ = writeln!(text, "#SBATCH --{option}{value}");
    }
    for option in &spec.slurm.args {
        let _ = writeln!(text, "#SBATCH {}", quote_for_sbatch(option));
    }
    // SC2016: values in single quotes must not be expanded. SC1091: ShellCheck cannot follow `/dev/stdin`.
    text += "\n# shellcheck disable=SC1091,SC2016\n# The settings of this job.\n";
    for (name, value) in assignments(&script) {
        let _ = writeln!(text, "{name}={value}");
    }
    text += part!("begin.sh");
    environment(&script, &mut text);
    launch(&script, &mut text);
    text += part!("end.sh");
    text
}

/// A part of the first comment of a script. By this text, the importer recognises a rendered script.
pub const SCRIPT_MARK: &str = ". Rendered by khorovod: ";

/// The comment at the start of the script.
fn header(script: &Script<'_>) -> String {
    let Plan { spec, np, .. } = script.plan;
    format!(
        "# Training job {}: {} on {}{SCRIPT_MARK}change the spec, not this file. Submit it with sbatch.\n\
         # The ranks run directly on the nodes; the image {} is not used.\n",
        spec.name,
        count(*np, "rank"),
        count(script.nodes, "node"),
        spec.image.reference,
    )
}

/// The sbatch options and their values, in the conventional order.
fn directives(script: &Script<'_>) -> Vec<(&'static str, Option<String>)> {
    let spec = &script.plan.spec;
    let Options { partition, account, qos, constraint, nodelist, exclude, reservation, gres, .. } = &spec.slurm;
    let group = script.group;
    let mut all = vec![
        ("job-name", Some(spec.name.clone())),
        ("nodes", Some(script.nodes.to_string())),
        ("ntasks-per-node", Some(script.tasks.to_string())),
    ];
    let mut add = |option, value: Option<String>| all.extend(value.map(|value| (option, Some(value))));
    add("cpus-per-task", cpus_per_task(script).map(|count| count.to_string()));
    add("mem", requested_amount(group, "memory").map(mebibytes));
    add("tmp", requested_amount(group, "ephemeral-storage").map(mebibytes));
    add("gres", (group.gpus > 0).then(|| format!("{gres}:{}", group.gpus)));
    add("time", time_limit(spec).map(format_time));
    let named = [
        ("partition", partition),
        ("account", account),
        ("qos", qos),
        ("constraint", constraint),
        ("nodelist", nodelist),
        ("exclude", exclude),
        ("reservation", reservation),
    ];
    for (option, value) in named {
        add(option, value.clone());
    }
    add("signal", signal_directive(script));
    all.push((if spec.lifecycle.retries > 0 { "requeue" } else { "no-requeue" }, None));
    all.extend(spec.scheduling.suspend.then_some(("hold", None)));
    all
}

/// The number of CPUs per task. Slurm allocates whole CPUs, so the number is rounded down: if `workers.cpu` is all CPUs of a node,
/// no node would have more.
fn cpus_per_task(script: &Script<'_>) -> Option<i128> {
    let milli = requested_amount(script.group, "cpu")?.milli();
    Some((milli / (i128::from(script.tasks) * 1_000)).max(1))
}

/// The amount of a resource per worker: the request, or otherwise the limit.
fn requested_amount<'g>(group: &'g Group, resource: &str) -> Option<&'g Quantity> {
    let all = group.resources.requests.iter().chain(&group.resources.limits);
    all.filter(|(name, _)| name == resource).map(|(_, quantity)| quantity).next()
}

/// Formats an amount of memory for sbatch, rounded up to MiB; in GiB if it is a whole number of GiB.
fn mebibytes(quantity: &Quantity) -> String {
    let mebibytes = (quantity.value() + (1 << 20) - 1) >> 20;
    if mebibytes % 1024 == 0 { format!("{}G", mebibytes / 1024) } else { format!("{mebibytes}M") }
}

/// Slurm's time limit in seconds.
fn time_limit(spec: &Spec) -> Option<u64> {
    spec.slurm.time.into_iter().chain(spec.lifecycle.deadline.map(|deadline| deadline + 60)).min()
}

/// Whether `lifecycle.checkpoint` differs from its default, SIGTERM and 30 s. The default needs no option, because
/// Slurm ends every job in this way.
fn has_checkpoint(spec: &Spec) -> bool {
    let Checkpoint { signal, grace_period } = spec.lifecycle.checkpoint;
    signal != "TERM" || grace_period != 30
}

/// The maximum number of seconds before the time limit at which Slurm can send a signal.
const EARLIEST_SIGNAL: u64 = 65_535;

/// How many seconds before Slurm's time limit the ranks get the signal of `lifecycle.checkpoint`. The script stops the training
/// before that limit, and the ranks get the signal one grace period before the script stops it.
fn signal_lead(spec: &Spec) -> u64 {
    let stops = deadline(spec);
    let margin = time_limit(spec).filter(|_| stops > 0).map_or(0, |limit| limit.saturating_sub(stops));
    (margin + u64::from(spec.lifecycle.checkpoint.grace_period)).min(EARLIEST_SIGNAL)
}

/// The value of `--signal`. With `B:`, Slurm sends the signal to the script, which passes it on to the ranks. If the
/// command of the spec starts the ranks itself, Slurm sends the signal to the steps that the command started with srun.
fn signal_directive(script: &Script<'_>) -> Option<String> {
    let spec = &script.plan.spec;
    let to_script = if script.starter == Starter::Shell { "" } else { "B:" };
    has_checkpoint(spec).then(|| format!("{to_script}{}@{}", spec.lifecycle.checkpoint.signal, signal_lead(spec)))
}

/// The number of seconds after which the script stops the training; 0 for no limit. It is less than Slurm's time limit, so that
/// the log contains the reason.
fn deadline(spec: &Spec) -> u64 {
    let own = spec.slurm.time.map(|time| time.saturating_sub(MARGIN).max(time / 2));
    own.into_iter().chain(spec.lifecycle.deadline).min().unwrap_or(0)
}

/// Formats seconds in sbatch's notation `days-hours:minutes:seconds`.
fn format_time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    format!("{days}-{:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// Quotes the value of a directive by sbatch's own rules, which differ from those of bash.
fn quote_for_sbatch(value: &str) -> String {
    let is_unquoted = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,[]()&|*".contains(c);
    if value.chars().all(is_unquoted) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A bash array of quoted words. The path that the hostfile has in pods is replaced by the variable with its path under Slurm.
fn bash_array(words: &[String]) -> String {
    let words = words.iter().map(|text| match text.as_str() {
        HOSTFILE => r#""$khorovod_hostfile""#.to_owned(),
        text => word(text),
    });
    format!("({})", words.collect::<Vec<_>>().join(" "))
}

/// The variables that the static parts read, and their values in bash syntax.
fn assignments(script: &Script<'_>) -> Vec<(&'static str, String)> {
    let spec = &script.plan.spec;
    let tasks = match script.nodes {
        1 => script.tasks.to_string(),
        nodes => format!("{}(x{nodes})", script.tasks),
    };
    let mut assignments = vec![
        ("khorovod_nodes", script.nodes.to_string()),
        ("khorovod_tasks", word(&tasks)),
        ("khorovod_retries", spec.lifecycle.retries.to_string()),
        ("khorovod_deadline", deadline(spec).to_string()),
    ];
    if script.starter == Starter::Mpi {
        let mpi = match spec.launcher.mpi {
            Mpi::OpenMpi => "openmpi",
            Mpi::IntelMpi => "intelmpi",
            Mpi::Mpich => "mpich",
        };
        assignments.push(("khorovod_mpi", mpi.to_owned()));
        assignments.push(("khorovod_slots", script.group.slots.to_string()));
    }
    if script.starter == Starter::Step {
        let mpi = spec.slurm.srun.as_ref().and_then(|srun| srun.mpi.as_deref());
        assignments.push(("khorovod_mpi", word(mpi.unwrap_or_default())));
    }
    if matches!(script.starter, Starter::Mpi | Starter::Step) {
        assignments.push(("khorovod_np", script.plan.np.to_string()));
    }
    if has_checkpoint(spec) && script.starter != Starter::Shell {
        // The variable that only processes of ranks have. torchrun sets RANK; for other launchers, khorovod's check
        // sets `khorovod_is_rank`.
        let mark = if script.starter == Starter::Agents { "RANK" } else { "khorovod_is_rank" };
        assignments.push(("khorovod_signal", spec.lifecycle.checkpoint.signal.to_owned()));
        assignments.push(("khorovod_mark", mark.to_owned()));
    }
    assignments
}

/// Writes the part of the script that prepares the environment: modules, variables, `slurm.setup`, and the working
/// directory.
fn environment(script: &Script<'_>, text: &mut String) {
    let Plan { spec, env, .. } = script.plan;
    if !spec.slurm.modules.is_empty() {
        let _ = writeln!(text, "\nkhorovod_modules={}", bash_array(&spec.slurm.modules));
        *text += part!("modules.sh");
    }
    let required: Vec<String> = spec
        .env
        .iter()
        .filter(|variable| !matches!(variable.value, EnvValue::Text(_)))
        .map(|variable| variable.name.clone())
        .collect();
    if !required.is_empty() {
        let _ = writeln!(
            text,
            "\n# On Kubernetes these variables come from Secrets and ConfigMaps.\nkhorovod_needs={}",
            bash_array(&required)
        );
        *text += part!("needs.sh");
    }
    let literal = spec.env.iter().filter_map(|variable| match &variable.value {
        EnvValue::Text(value) => Some((variable.name.as_str(), value.as_str())),
        _ => None,
    });
    let mut all = env.iter().map(|(name, value)| (&**name, &**value)).chain(literal).peekable();
    if all.peek().is_some() {
        *text += "\n# Environment of every rank.\n";
    }
    for (name, value) in all {
        // In a job array, Slurm sets these variables in each job, and Slurm's values take precedence.
        let value = match name.starts_with(ARRAY) {
            true => format!("${{{name}:-{}}}", word(value)),
            false => word(value),
        };
        let _ = writeln!(text, "export {name}={value}");
    }
    if let Some(setup) = &spec.slurm.setup {
        let end = heredoc_delimiter(setup);
        let _ = write!(text, "\n# slurm.setup\n. /dev/stdin <<'{end}'\n{}\n{end}\n", setup.trim_end_matches('\n'));
        *text += part!("setup.sh");
    }
    if let Some(folder) = &spec.working_dir {
        let _ = write!(
            text,
            "\nkhorovod_workdir={}\ncd \"$khorovod_workdir\" || khorovod_fail 42 \"the directory $khorovod_workdir (workingDir) does not exist on $HOSTNAME\"\n",
            word(folder)
        );
    }
}

/// The beginning of the names of Slurm's variables about a job array.
const ARRAY: &str = "SLURM_ARRAY_";

/// A here-document delimiter that is not a line of the text.
fn heredoc_delimiter(text: &str) -> String {
    let mut end = "SETUP".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    end
}

/// Writes the three arrays that form the launch command: the program that starts ranks, the check that runs first in each rank,
/// and the command of the rank.
fn launch(script: &Script<'_>, text: &mut String) {
    let spec = &script.plan.spec;
    let (program, command) = script.launch();
    let check = match script.starter {
        Starter::Shell | Starter::Rank => "",
        Starter::Mpi => part!("rank.sh"),
        Starter::Step => part!("step.sh"),
        // The check runs once per node, before torchrun.
        Starter::Agents => part!("agent.sh"),
    };
    if script.starter == Starter::Mpi {
        text.extend(["\n", include_str!("../pods/scripts/mpi.sh"), part!("mpi.sh")]);
        if matches!(spec.launcher.kind, LauncherKind::Horovodrun | LauncherKind::Deepspeed) {
            *text += part!("hosts.sh");
        }
    }
    *text += check;
    let _ = writeln!(text, "\nkhorovod_launch={}", bash_array(&program));
    *text += match script.starter {
        Starter::Shell => "khorovod_check=()\n",
        // The command may use the variables that Open MPI sets for each rank, so the script sets them.
        Starter::Rank => {
            "khorovod_check=(env khorovod_is_rank=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1)\n"
        }
        Starter::Mpi => {
            "khorovod_check=(bash -c \"$khorovod_rank\" rank \"$khorovod_np\" \"$khorovod_slots\" \"$PWD\")\n"
        }
        Starter::Step => {
            "khorovod_check=(bash -c \"$khorovod_rank\" rank \"$khorovod_np\" \"$khorovod_tasks\" \"$PWD\" \"$khorovod_mpi\")\n"
        }
        Starter::Agents => {
            "khorovod_check=(bash -c \"$khorovod_rank\" agent \"$khorovod_nodes\" \"$khorovod_tasks\" \"$PWD\")\n"
        }
    };
    let _ = writeln!(text, "khorovod_command={}", bash_array(&command));
    if has_checkpoint(spec) && script.starter != Starter::Shell {
        text.extend([part!("signal_begin.sh"), include_str!("../pods/scripts/ranks.sh"), part!("signal_end.sh")]);
    }
}

/// The srun command and its options.
fn srun(script: &Script<'_>) -> Vec<String> {
    let spec = &script.plan.spec;
    let mut words = vec!["srun".to_owned(), "--kill-on-bad-exit=1".to_owned()];
    // srun does not inherit this option from the job.
    words.extend(cpus_per_task(script).map(|count| format!("--cpus-per-task={count}")));
    // torchrun prefixes the output of its ranks itself.
    words.extend((script.starter == Starter::Step && spec.observability.rank_prefix).then(|| "--label".to_owned()));
    if let Some(srun) = &spec.slurm.srun {
        words.extend(srun.mpi.as_ref().map(|mpi| format!("--mpi={mpi}")));
        words.extend(srun.args.iter().cloned());
    }
    words
}

#[cfg(test)]
mod tests;
