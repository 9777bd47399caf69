//! `Plan` → a batch script for Slurm: directives, then bash that checks what Slurm gave, prepares the environment and
//! starts the ranks.
//!
//! Its parts are static text, in `slurm/`; what differs between jobs are assignments between them, in which every value
//! is quoted.

mod refusals;

use super::plain;
use super::{Made, Target};
use crate::job::Case;
use crate::job::target::{Facts, SshKeys};
use crate::kubernetes::Object;
use crate::pods::File;
use crate::problem::Problem;
use crate::report::{Batch, Description};
use std::fmt::Write as _;

use crate::job::quantity::Quantity;
use crate::job::valid::{EnvValue, Group, LauncherKind, Mpi, Slurm as Options, Spec};
use crate::plan::{HOSTFILE, Plan};
use crate::pods::words::word;

pub use refusals::CODES;

#[derive(Debug)]
pub struct Slurm;

static FACTS: Facts = Facts {
    name: "slurm",
    has_pods: false,
    own_workloads: false,
    uses_jobs: false,
    has_job_shape: true,
    is_gang: false,
    brings_service: false,
    ssh_keys: SshKeys::None,
    templates_set_subdomain: false,
    templates_set_restart_policy: true,
    first_success_ends_job: false,
    pod_index: None,
    index_role: "worker",
    group_suffix: "",
    launcher_suffix: "",
    pod_group_suffix: "",
    immutable_fields: &[],
    workload_kinds: &[],
    longest_suffix: plain::longest_suffix,
};

impl Target for Slurm {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        refusals::check(case, problems);
    }

    fn describe(&self, plan: &Plan) -> Description {
        let held = plan.spec.scheduling.suspend.then_some("held: it starts after `scontrol release`");
        Description {
            shape: "a batch script for Slurm",
            controller: "Slurm",
            batch: Some(Batch {
                hosts: "the nodes that Slurm gives",
                release: "Slurm takes the nodes back when the script ends",
                notes: ["the ranks run on the nodes as they are; the image is for Kubernetes"]
                    .into_iter()
                    .chain(held)
                    .collect(),
            }),
            ..Description::default()
        }
    }

    /// None: the output is a script.
    fn workloads<'a>(&self, _: &'a Plan, _: &[File]) -> Vec<Object<'a>> {
        Vec::new()
    }

    fn build<'a>(&self, plan: &'a Plan, _: &'a [File], _: &'a [(&'static str, String)]) -> Made<'a> {
        Made::Script { name: plan.spec.name.clone(), text: script(plan) }
    }
}

/// How many seconds before Slurm's time limit the training receives SIGTERM.
const MARGIN: u64 = 30;

macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("slurm/scripts/", $name))
    };
}

/// Who starts the ranks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// srun, one task a rank.
    Step,
    /// srun, one torchrun a node.
    Agents,
    /// mpirun, or what runs it, on the first node.
    Mpi,
    /// The command itself.
    Shell,
}

fn way(spec: &Spec) -> Way {
    match spec.launcher.kind {
        LauncherKind::Torchrun => Way::Agents,
        LauncherKind::Shell => Way::Shell,
        LauncherKind::Mpirun if spec.slurm.srun.is_some() => Way::Step,
        LauncherKind::Mpirun | LauncherKind::Horovodrun | LauncherKind::Deepspeed => Way::Mpi,
    }
}

/// What the script says of its job.
struct World<'a> {
    plan: &'a Plan,
    group: &'a Group,
    way: Way,
    nodes: u32,
    /// Slurm's tasks on each node: ranks, or one torchrun.
    tasks: u32,
}

/// The script, to be given to sbatch.
fn script(plan: &Plan) -> String {
    let spec = &plan.spec;
    let group = &spec.groups[0];
    let way = way(spec);
    let tasks = if way == Way::Agents { 1 } else { group.slots };
    let nodes = plan.workers + u32::from(spec.launcher.runs_ranks);
    let world = World { plan, group, way, nodes, tasks };

    let mut text = format!("#!/bin/bash\n{}", head(&world));
    for (option, value) in directives(&world) {
        let value = value.map_or(String::new(), |value| format!("={}", directive(&value)));
        let _ = writeln!(text, "#SBATCH --{option}{value}");
    }
    for option in &spec.slurm.args {
        let _ = writeln!(text, "#SBATCH {}", directive(option));
    }
    // Values stay as they are, and `/dev/stdin` is no file to follow.
    text += "\n# shellcheck disable=SC1091,SC2016\n# What the spec says.\n";
    for (name, value) in settings(&world) {
        let _ = writeln!(text, "{name}={value}");
    }
    text += part!("begin.sh");
    environment(&world, &mut text);
    launch(&world, &mut text);
    text += part!("end.sh");
    text
}

/// What a person should know who finds the script.
fn head(world: &World<'_>) -> String {
    let Plan { spec, np, .. } = world.plan;
    let many = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!(
        "# Training job {}: {} on {}. Made by khorovod from its spec: change that, and give this to sbatch.\n\
         # The ranks run on the nodes as they are; the image {} is for Kubernetes.\n",
        spec.name,
        many(*np, "rank"),
        many(world.nodes, "node"),
        spec.image.reference,
    )
}

/// Options of sbatch and their values, in the order people write them.
fn directives(world: &World<'_>) -> Vec<(&'static str, Option<String>)> {
    let spec = &world.plan.spec;
    let Options { partition, account, qos, constraint, nodelist, exclude, reservation, gres, .. } = &spec.slurm;
    let group = world.group;
    let mut all = vec![
        ("job-name", Some(spec.name.clone())),
        ("nodes", Some(world.nodes.to_string())),
        ("ntasks-per-node", Some(world.tasks.to_string())),
    ];
    let mut add = |option, value: Option<String>| all.extend(value.map(|value| (option, Some(value))));
    add("cpus-per-task", cpus(world).map(|count| count.to_string()));
    add("mem", amount(group, "memory").map(mebibytes));
    add("tmp", amount(group, "ephemeral-storage").map(mebibytes));
    add("gres", (group.gpus > 0).then(|| format!("{gres}:{}", group.gpus)));
    add("time", limit(spec).map(clock));
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
    all.push((if spec.launcher.retries > 0 { "requeue" } else { "no-requeue" }, None));
    all.extend(spec.scheduling.suspend.then_some(("hold", None)));
    all
}

/// CPUs of each task; Slurm gives whole ones.
fn cpus(world: &World<'_>) -> Option<i128> {
    let milli = amount(world.group, "cpu")?.milli();
    Some((milli + i128::from(world.tasks) * 1_000 - 1) / (i128::from(world.tasks) * 1_000))
}

/// What a worker asks for of a resource, or else may use.
fn amount<'g>(group: &'g Group, resource: &str) -> Option<&'g Quantity> {
    let all = group.resources.requests.iter().chain(&group.resources.limits);
    all.filter(|(name, _)| name == resource).map(|(_, quantity)| quantity).next()
}

/// As sbatch takes it, and as people write it where it is whole.
fn mebibytes(quantity: &Quantity) -> String {
    let mebibytes = (quantity.value() + (1 << 20) - 1) >> 20;
    if mebibytes % 1024 == 0 { format!("{}G", mebibytes / 1024) } else { format!("{mebibytes}M") }
}

/// Slurm's time limit in seconds.
fn limit(spec: &Spec) -> Option<u64> {
    spec.slurm.time.or_else(|| spec.lifecycle.deadline.map(|deadline| deadline + 60))
}

/// When the script ends the training itself, in seconds; 0: never. Before Slurm would, so that a person reads why.
fn deadline(spec: &Spec) -> u64 {
    let own = spec.slurm.time.map(|time| time.saturating_sub(MARGIN).max(time / 2));
    own.into_iter().chain(spec.lifecycle.deadline).min().unwrap_or(0)
}

/// Seconds as sbatch reads them.
fn clock(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    format!("{days}-{:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// A value of a directive as one word of sbatch, which has a way of quoting of its own.
fn directive(value: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,[]()&|*".contains(c);
    if value.chars().all(bare) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

fn array(words: &[String]) -> String {
    let words = words.iter().map(|text| match text.as_str() {
        HOSTFILE => r#""$khorovod_hostfile""#.to_owned(),
        text => word(text),
    });
    format!("({})", words.collect::<Vec<_>>().join(" "))
}

/// What the static parts read.
fn settings(world: &World<'_>) -> Vec<(&'static str, String)> {
    let spec = &world.plan.spec;
    let tasks = match world.nodes {
        1 => world.tasks.to_string(),
        nodes => format!("{}(x{nodes})", world.tasks),
    };
    let mut settings = vec![
        ("khorovod_nodes", world.nodes.to_string()),
        ("khorovod_tasks", word(&tasks)),
        ("khorovod_retries", spec.launcher.retries.to_string()),
        ("khorovod_deadline", deadline(spec).to_string()),
    ];
    if world.way == Way::Mpi {
        let mpi = match spec.launcher.mpi {
            Mpi::OpenMpi => "openmpi",
            Mpi::IntelMpi => "intelmpi",
            Mpi::Mpich => "mpich",
        };
        settings.push(("khorovod_mpi", mpi.to_owned()));
        settings.push(("khorovod_slots", world.group.slots.to_string()));
    }
    if world.way == Way::Step {
        let mpi = spec.slurm.srun.as_ref().and_then(|srun| srun.mpi.as_deref());
        settings.push(("khorovod_mpi", word(mpi.unwrap_or_default())));
    }
    if world.way != Way::Shell && world.way != Way::Agents {
        settings.push(("khorovod_np", world.plan.np.to_string()));
    }
    settings
}

/// Modules, variables, the user's own preparation, the folder.
fn environment(world: &World<'_>, text: &mut String) {
    let Plan { spec, env, .. } = world.plan;
    if !spec.slurm.modules.is_empty() {
        let _ = writeln!(text, "\nkhorovod_modules={}", array(&spec.slurm.modules));
        *text += part!("modules.sh");
    }
    let needs: Vec<String> = spec
        .env
        .iter()
        .filter(|variable| !matches!(variable.value, EnvValue::Text(_)))
        .map(|variable| variable.name.clone())
        .collect();
    if !needs.is_empty() {
        let _ = writeln!(
            text,
            "\n# In Kubernetes they come from Secrets and ConfigMaps.\nkhorovod_needs={}",
            array(&needs)
        );
        *text += part!("needs.sh");
    }
    let own = spec.env.iter().filter_map(|variable| match &variable.value {
        EnvValue::Text(value) => Some((variable.name.as_str(), value.as_str())),
        _ => None,
    });
    let mut all = env.iter().map(|(name, value)| (&**name, &**value)).chain(own).peekable();
    if all.peek().is_some() {
        *text += "\n# For every rank.\n";
    }
    for (name, value) in all {
        let _ = writeln!(text, "export {name}={}", word(value));
    }
    if let Some(setup) = &spec.slurm.setup {
        let end = delimiter(setup);
        let _ = write!(
            text,
            "\n# slurm.setup\n. /dev/stdin <<'{end}' || khorovod_fail 42 \"slurm.setup failed; see the lines above\"\n{}\n{end}\n",
            setup.trim_end_matches('\n')
        );
        // What it asked bash for was for itself.
        *text += "set +eux\n";
    }
    if let Some(folder) = &spec.workdir {
        let _ = write!(
            text,
            "\nkhorovod_workdir={}\ncd \"$khorovod_workdir\" || khorovod_fail 42 \"there is no workdir $khorovod_workdir on $HOSTNAME\"\n",
            word(folder)
        );
    }
}

/// A word that no line of a text is.
fn delimiter(text: &str) -> String {
    let mut end = "SETUP".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    end
}

/// What runs: `launch`, what checks each rank, and its `command`.
fn launch(world: &World<'_>, text: &mut String) {
    let Plan { spec, launch, .. } = world.plan;
    let command = [spec.slurm.wrap.as_slice(), &spec.command].concat();
    let program = launch.strip_suffix(spec.command.as_slice()).unwrap_or_default();
    let (checked, program, command) = match world.way {
        Way::Shell => ("", Vec::new(), spec.command.clone()),
        Way::Mpi => (part!("rank.sh"), program.to_vec(), command),
        Way::Step => (part!("step.sh"), srun(world), command),
        // torchrun comes behind the check of its agent.
        Way::Agents => (part!("agent.sh"), srun(world), [program, &command].concat()),
    };
    if world.way == Way::Mpi {
        text.extend(["\n", include_str!("../pods/scripts/mpi.sh"), part!("mpi.sh")]);
        if matches!(spec.launcher.kind, LauncherKind::Horovodrun | LauncherKind::Deepspeed) {
            *text += part!("hosts.sh");
        }
    }
    *text += checked;
    let _ = writeln!(text, "\nkhorovod_launch={}", array(&program));
    *text += match world.way {
        Way::Shell => "khorovod_check=()\n",
        Way::Mpi => "khorovod_check=(bash -c \"$khorovod_rank\" rank \"$khorovod_np\" \"$khorovod_slots\" \"$PWD\")\n",
        Way::Step => {
            "khorovod_check=(bash -c \"$khorovod_rank\" rank \"$khorovod_np\" \"$khorovod_tasks\" \"$PWD\" \"$khorovod_mpi\")\n"
        }
        Way::Agents => {
            "khorovod_check=(bash -c \"$khorovod_rank\" agent \"$khorovod_nodes\" \"$khorovod_tasks\" \"$PWD\")\n"
        }
    };
    let _ = writeln!(text, "khorovod_command={}", array(&command));
}

/// srun and its options.
fn srun(world: &World<'_>) -> Vec<String> {
    let spec = &world.plan.spec;
    let mut words = vec!["srun".to_owned(), "--kill-on-bad-exit=1".to_owned()];
    // It does not take this one from the job.
    words.extend(cpus(world).map(|count| format!("--cpus-per-task={count}")));
    // torchrun says itself who speaks.
    words.extend((world.way == Way::Step && spec.observability.rank_prefix).then(|| "--label".to_owned()));
    if let Some(srun) = &spec.slurm.srun {
        words.extend(srun.mpi.as_ref().map(|mpi| format!("--mpi={mpi}")));
        words.extend(srun.args.iter().cloned());
    }
    words
}

#[cfg(test)]
mod tests;
