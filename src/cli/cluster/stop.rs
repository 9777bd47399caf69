//! `khorovod stop`: ends the runs of a job, after its ranks had time to save a checkpoint.

use khorovod::report::KINDS;

use super::connection::{Job, Which};
use super::diagnosis::{Phase, State};
use super::objects::{JOB, Objects, RUN};
use crate::cli::show::Screen;
use crate::cli::{Failure, Outcome, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod stop mnist          # ranks first get lifecycle.checkpoint's signal\n  \
    khorovod stop mnist --now    # without a checkpoint\n  \
    khorovod stop mnist --dry-run\n\n\
    It deletes the Job of the launcher and waits: the launcher signals all ranks,\n\
    gives them the grace period of lifecycle.checkpoint, uploads S3 volumes, and\n\
    scales the workers to 0. Claims and their data stay. `khorovod run` starts the\n\
    same run again, without a new runTag.\n\n\
    It ends jobs of the target plain. For the job of an operator, delete its object;\n\
    under Slurm, use scancel.")]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// End the pods within seconds, without a checkpoint
    #[arg(long)]
    now: bool,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    let job = args.which.job(screen)?;
    let selector = format!("--selector={JOB}={}", job.name);
    if args.which.dry_run {
        return output::stdout(&job.kubectl.lines(&calls(&selector, args.now, true)));
    }
    let objects = job.objects(screen)?;
    let claims = claims(&objects);
    let has_sets = !objects.stateful_sets.is_empty();
    let state = job.describe(objects, None, screen)?;
    if state.phase == Phase::Absent {
        return Err(job.absent(&state));
    }
    let is_over = |phase: Phase, is_released: bool| phase.has_ended() && is_released;
    let others_ended = state.other_runs.iter().all(|run| run.phase.has_ended());
    if is_over(state.phase, state.is_released) && others_ended {
        return output::stdout(&format!("{} has already ended: {}\n", job.name, state.message));
    }
    if let Some(note) = &state.other_controller {
        return Err(Failure::Usage(format!(
            "khorovod stop ends only jobs of the target plain, and {note}; delete that object"
        )));
    }
    if let Some(notice) = notice(state.phase).filter(|_| !args.now) {
        screen.notice(notice);
    }
    for call in calls(&selector, args.now, has_sets) {
        // A `wait` that fails, for example after its timeout, is not an error: the state that is read next shows
        // whether the pods have ended.
        match call[0] {
            "wait" => drop(job.kubectl.call(&call, None, screen)?),
            _ => drop(job.kubectl.demand(&call, None, screen)?),
        }
    }
    let state = job.state(None, screen)?;
    let how = match state.is_released {
        true => " is stopped, and its resources are released".to_owned(),
        false if args.now => " is stopped, and its pods end within seconds".to_owned(),
        false => format!(" is stopped: {}", state.message),
    };
    output::stdout(&format!("{}{how}\n{}\n", job.name, stays(&job, &claims, &state)))
}

/// Describes what the job does before its end, if it is stopped without `--now` in this phase.
fn notice(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Saving => Some("the ranks save a checkpoint, and keep the grace period of lifecycle.checkpoint"),
        Phase::Uploading => Some(
            "the results are uploaded to S3 first, which may take as long as the grace period of lifecycle.checkpoint",
        ),
        _ if phase.is_running() => {
            Some("the ranks get the signal of lifecycle.checkpoint, and its grace period to save a checkpoint")
        }
        _ => None,
    }
}

/// The calls that end all runs. Without `--now`, the first call returns when the launcher has exited. The launcher also
/// scales the workers down. If the launcher cannot run, or has no permission, the call of `scale` scales them down.
fn calls(selector: &str, now: bool, has_sets: bool) -> Vec<Vec<&str>> {
    let how = if now { ["--cascade=background", "--wait=false"] } else { ["--cascade=foreground", "--wait=true"] };
    let mut calls = vec![vec!["delete", "jobs.batch", selector, how[0], how[1], "--ignore-not-found"]];
    if has_sets {
        calls.push(vec!["scale", "statefulsets", selector, "--replicas=0"]);
    }
    if now {
        calls.push(vec!["delete", "pods", selector, "--grace-period=1", "--wait=false", "--ignore-not-found"]);
    } else {
        // The launcher exits once the workers are scaled to 0, and the workers end a moment later.
        calls.push(vec!["wait", "pods", selector, "--for=delete", "--timeout=20s"]);
    }
    calls
}

/// The names of the claims of the job.
fn claims(objects: &Objects) -> Vec<String> {
    objects.claims.iter().map(|claim| claim.metadata.name.clone()).collect()
}

/// Describes the objects that remain in the cluster, and the command that deletes them.
fn stays(job: &Job, claims: &[String], state: &State) -> String {
    let run = state.run.as_ref().map_or(String::new(), |run| format!(" ({RUN}={run})"));
    let data = match claims {
        [] => String::new(),
        [one] => format!("the claim {one} with its data, and "),
        many => format!("the claims {} with their data, and ", many.join(", ")),
    };
    let line = job.kubectl.line(&["delete", "-l", &format!("{JOB}={}", job.name), KINDS]);
    format!("these stay: {data}the small objects of the job{run}; to delete those, but no claim: {line}")
}
