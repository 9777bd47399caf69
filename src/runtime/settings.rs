//! The files of a job that are not the same for every job, from handlebars templates. Each has
//! one small view, whose words are quoted before the template sees them.

use std::sync::LazyLock;

use handlebars::Handlebars;
use serde::Serialize;

use super::{scales, words::word};
use crate::plan::{Plan, Shape};
use crate::spec::valid::{LauncherKind, Mpi};

static TEMPLATES: LazyLock<Handlebars<'static>> = LazyLock::new(|| {
    let mut templates = Handlebars::new();
    templates.set_strict_mode(true);
    templates.register_escape_fn(handlebars::no_escape);
    for (name, text) in [("job.sh", include_str!("job.sh.hbs")), ("passwd", include_str!("passwd.hbs"))] {
        templates.register_template_string(name, text).expect("a template of ours parses");
    }
    templates
});

fn fill(template: &str, view: &impl Serialize) -> String {
    TEMPLATES.render(template, view).expect("a view of ours has what its template asks for")
}

/// Each field is one quoted shell word, or an array of them.
#[derive(Serialize)]
struct Job {
    job: String,
    run: String,
    kind: &'static str,
    mpi: &'static str,
    port: u16,
    user: String,
    np: u32,
    /// Of each group: the workers' name before the index, how many there are, and the ranks on each.
    team_names: String,
    team_replicas: String,
    team_slots: String,
    /// What stands between a host and its slots.
    hostfile_mark: &'static str,
    /// The host name of the pod that launches, where ranks run in it too.
    launcher_host: String,
    launcher_slots: u32,
    /// Set where the launcher owns the workers' scale.
    scales: &'static str,
    /// Empty unless elastic.
    min_workers: String,
    max_workers: String,
    /// What is launched, and its part before the training's own words.
    launch: String,
    runner: String,
}

/// A bash array of words that are quoted already.
fn array(words: impl Iterator<Item = String>) -> String {
    let mut array = "(".to_owned();
    words.for_each(|word| array.extend([" ", &word]));
    array + " )"
}

/// `job.sh`: what the static scripts read.
pub fn job(plan: &Plan) -> String {
    let spec = &plan.spec;
    let elastic = |value: fn(&crate::spec::valid::Elastic) -> u32| {
        spec.elastic.as_ref().map_or_else(|| word(""), |elastic| value(elastic).to_string())
    };
    let launcher_host = match plan.shape {
        Shape::StatefulSet if spec.launcher.runs_ranks => format!("{}-{}-launcher.{}", spec.name, plan.run, spec.name),
        Shape::IndexedJob => plan.teams[0].host(0, &spec.name),
        _ => String::new(),
    };
    let words = |words: &[String]| array(words.iter().map(|text| word(text)));
    fill(
        "job.sh",
        &Job {
            job: word(&spec.name),
            run: word(&plan.run),
            kind: match spec.launcher.kind {
                LauncherKind::Mpirun => "mpirun",
                LauncherKind::Horovodrun => "horovodrun",
                LauncherKind::Torchrun => "torchrun",
                LauncherKind::Deepspeed => "deepspeed",
                LauncherKind::Shell => "shell",
            },
            mpi: match spec.launcher.mpi {
                Mpi::OpenMpi => "openmpi",
                Mpi::IntelMpi => "intelmpi",
                Mpi::Mpich => "mpich",
            },
            port: spec.ssh.port,
            user: word(&spec.ssh.user),
            np: plan.np,
            team_names: array(plan.teams.iter().map(|team| word(&team.workload))),
            team_replicas: array(plan.teams.iter().map(|team| team.replicas.to_string())),
            team_slots: array(plan.teams.iter().map(|team| team.slots.to_string())),
            hostfile_mark: if spec.launcher.mpi == Mpi::OpenMpi { "' slots='" } else { ":" },
            launcher_host: word(&launcher_host),
            launcher_slots: plan.teams[0].slots,
            scales: if scales(plan) { "yes" } else { "''" },
            min_workers: elastic(|elastic| elastic.min_workers),
            max_workers: elastic(|elastic| elastic.max_workers),
            launch: words(&plan.launch),
            // Where the training's words are not at the end, as under the shell launcher, there is
            // no trial launch that would need what stands before them.
            runner: words(plan.launch.strip_suffix(spec.command.as_slice()).unwrap_or_default()),
        },
    )
}

#[derive(Serialize)]
struct Passwd<'a> {
    user: &'a str,
    uid: u32,
    /// Root's own line, where the user is another.
    root: &'static str,
}

/// Gives the pod's user id a name; none where the platform chooses the id.
pub fn passwd(plan: &Plan) -> Option<String> {
    let uid = plan.spec.security.run_as_user?;
    Some(fill(
        "passwd",
        &Passwd {
            user: &plan.spec.ssh.user,
            uid,
            root: if uid == 0 { "" } else { "root:x:0:0:root:/root:/bin/bash\n" },
        },
    ))
}
