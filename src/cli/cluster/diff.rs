//! `khorovod diff`: prints what applying a spec would do to the job in the cluster, as `plan --against` does for two
//! specs.

use std::fmt::Write as _;

use khorovod::{Inputs, Keys, Text, show, targets};

use super::connection::{Job, borrowed, default_namespace, named_in};
use super::kubectl::{Connection, Kubectl, explain, is_only_forbidden};
use super::objects::{JOB, Objects};
use crate::cli::seed::Seed;
use crate::cli::show::Screen;
use crate::cli::{Failure, Outcome, input, output, render};

/// The kinds of objects that are compared with those of the new spec.
const COMPARED: &str = "configmaps,services,networkpolicies,serviceaccounts,roles,rolebindings,\
    statefulsets.apps,jobs.batch,persistentvolumeclaims";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod diff job.yaml             # which jobs restart, and why\n  \
    khorovod diff job.yaml --objects   # every field, as `kubectl diff` prints it\n\n\
    It compares with the spec that the job's ConfigMap in the cluster carries. If it\n\
    carries none, because a value looks like a secret, it compares the objects.")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,
    #[command(flatten)]
    connection: Connection,
    /// Print the differences of the objects, as the API server would store them
    #[arg(long)]
    objects: bool,
    /// Print the calls of kubectl, and run none of them
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    if args.input.settings.target().name() == targets::SLURM.name() {
        return Err(Failure::Usage(
            "`diff` compares with a job in Kubernetes, and the target slurm is a batch script; to compare two specs, use: khorovod plan --target slurm --against OLD"
                .to_owned(),
        ));
    }
    let texts = args.input.texts(screen)?;
    let kubectl = Kubectl::new(&args.connection);
    let settings = &args.input.settings;
    let mut inputs = Inputs { keys: Keys::Masked, ..settings.inputs(screen)? };
    if !args.dry_run {
        inputs.default_namespace = inputs.default_namespace.or(default_namespace(&kubectl, screen)?);
    }
    let mut text = String::new();
    for one in &texts {
        for job in named_in(one, &inputs, &one.name, &kubectl, screen)? {
            if args.dry_run {
                text.push_str(&job.kubectl.lines(&[borrowed(&job.get())]));
            } else if !args.objects {
                text.push_str(&changes(&job, one, &inputs, settings, screen)?);
            }
        }
    }
    if args.objects {
        let kubectl = kubectl.in_namespace(settings.namespace.as_deref());
        if args.dry_run {
            let _ = writeln!(text, "{} | {}", args.input.render_command(), kubectl.line(&["diff", "-f", "-"]));
        } else {
            // The seed must be the one that `render` uses. With another seed, the keys in the Secret would differ.
            let seed = Seed::of(settings, screen)?.unless_new();
            let rendered = render::all(&texts, &Inputs { keys: seed.keys(), ..inputs }, screen)?;
            text = objects(&kubectl, &render::joined(rendered), screen)?;
        }
    }
    output::stdout(&text)
}

/// Describes what a spec changes for one of its jobs, as `plan --against` prints it.
pub fn changes(
    job: &Job,
    new: &Text,
    inputs: &Inputs,
    settings: &input::Settings,
    screen: &Screen,
) -> Result<String, Failure> {
    let objects = job.objects(screen)?;
    if let Some(current) = objects.target(&job.name).filter(|current| *current != inputs.target.name()) {
        return moved(job, current, settings);
    }
    // Objects in a cluster always have a namespace, even if their spec sets no namespace.
    let live = objects.current(&job.name).and_then(|map| map.metadata.namespace.clone());
    let mut inputs = inputs.clone();
    let old = match live_spec(&objects, &job.name) {
        Some(old) => old,
        None if objects.unreadable.iter().any(|kind| kind == "configmaps") => {
            return Ok(format!("{}: what the cluster has is unknown, because you may not read ConfigMaps\n", job.name));
        }
        None if objects.current(&job.name).is_none() => {
            return Ok(format!("{}: new, because the cluster does not have it\n", job.name));
        }
        // Without the old spec, compare with the objects of the job. kubectl prints them as a List, which the library
        // can read.
        None => {
            let selector = format!("--selector={JOB}={}", job.name);
            inputs.namespace = inputs.namespace.or(live);
            // The call below does not read Secrets, so there are no keys to compare.
            inputs.keys = Keys::LeftOut;
            let answer = job.kubectl.call(&["get", COMPARED, &selector, "--output=json"], None, screen)?;
            if !answer.is_success && !is_only_forbidden(&answer.stderr) {
                return Err(explain(&answer.stderr));
            }
            answer.stdout
        }
    };
    let old = Text { name: format!("the job {} in the cluster", job.name), text: old };
    let found = khorovod::changes(&old, new, &inputs).map_err(|problems| {
        screen.problems([&problems]);
        Failure::Problems
    })?;
    // The new text may contain further jobs. Leave out their changes.
    let found: Vec<_> = found.into_iter().filter(|change| change.job == job.name).collect();
    Ok(show::changes(&found))
}

/// Describes a change of the target of a job. In the cluster, the job has the target `current`. Without `--target`, this is
/// an error, because the user may have forgotten the option.
fn moved(job: &Job, current: &str, settings: &input::Settings) -> Result<String, Failure> {
    let name = &job.name;
    match settings.given_target {
        Some(target) => Ok(format!("{name}: restarts the run\n  because\n    --target: {current} → {target}\n")),
        None => Err(Failure::Usage(format!(
            "the cluster has {name} for the target {current}: add `--target {current}`, or `--target plain` to replace it by plain objects"
        ))),
    }
}

/// The spec that the job's ConfigMap has in an annotation, as JSON.
fn live_spec(objects: &Objects, job: &str) -> Option<String> {
    objects.current(job)?.metadata.annotations.get("khorovod.dev/spec").cloned()
}

/// The output of `kubectl diff`. kubectl exits with 1 if there are differences, and with more than 1 after an error.
fn objects(kubectl: &Kubectl, rendered: &str, screen: &Screen) -> Result<String, Failure> {
    let answer = kubectl.call(&["diff", "-f", "-"], Some(rendered), screen)?;
    match answer.is_success || (!answer.stdout.is_empty() && !answer.stderr.contains("rror")) {
        true => Ok(answer.stdout),
        false => Err(explain(&answer.stderr)),
    }
}
