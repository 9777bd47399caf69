//! Imports the launcher's command and arguments: the line in them that starts the ranks, and the number of ranks.

use crate::field::{self, set};
use serde_json::{Value as Json, json};

use super::{FIRST, Replica, queued};
use crate::context::{Context, text};
use crate::field_outcomes::Verdict;
use crate::launch::program::{is_shell, takes_script};
use crate::launch::{self, Place, World};
use crate::pod::kubelet_vars::Filled;
use khorovod_compiler::yaml::Node;

/// Imports the launcher's command and arguments as the line that starts the ranks.
pub fn launch(
    job: &Node,
    launcher: &Replica<'_>,
    worker: &Replica<'_>,
    gpus: u32,
    slots: u32,
    context: &mut Context<'_>,
) {
    let number = worker.spec.and_then(|spec| spec.get("replicas"));
    let given = number.map_or(Some(1), |node| context.count(node)).unwrap_or(1);
    let workers = given.max(1);
    let also = job.get("spec").and_then(|spec| spec.get("runLauncherAsWorker"));
    let leads = also.is_some_and(|node| context.yes(node));
    if let Some(node) = also {
        match leads {
            true if queued(context) => context.changed(node, field::WORKERS_REPLICAS, FIRST),
            true => context.kept(node, field::LAUNCHER_RUNS_RANKS),
            false => context.needless(node, "this is the default of khorovod, too"),
        }
    }
    let pods = workers.saturating_add(u32::from(leads));
    let world =
        World { pods, from: "Worker.replicas".to_owned(), without_launcher: leads.then_some(workers), gpus: slots };
    words(launcher, &world, context);
    if leads && !queued(context) && context.spec.get(field::WORKERS_REPLICAS) == Some(&json!(pods)) {
        context.spec.put(set::WORKERS_REPLICAS, workers, "");
        context.spec.put(set::LAUNCHER_RUNS_RANKS, true, "runLauncherAsWorker");
    }
    if let Some(node) = number {
        launch::replicas_outcome(context, node, given);
    }
    if context.spec.get(field::WORKERS_SLOTS_PER_WORKER).is_none() && slots != gpus.max(1) {
        let given = job.get("spec").and_then(|spec| spec.get("slotsPerWorker")).is_some();
        let from = if given { "slotsPerWorker" } else { "the operator's default" };
        context.spec.put(set::WORKERS_SLOTS_PER_WORKER, slots, from);
    }
    slots_outcome(job, slots, gpus, context);
}

/// Records the outcome of `slotsPerWorker`, which changes if the launch line starts another number of ranks per worker.
fn slots_outcome(job: &Node, slots: u32, gpus: u32, context: &mut Context<'_>) {
    let Some(node) = job.get("spec").and_then(|spec| spec.get("slotsPerWorker")) else { return };
    let ranks =
        context.spec.get(field::WORKERS_SLOTS_PER_WORKER).and_then(Json::as_u64).unwrap_or(u64::from(gpus.max(1)));
    match ranks == u64::from(slots) {
        true => context.kept(node, field::WORKERS_SLOTS_PER_WORKER),
        false => {
            context.changed(node, field::WORKERS_SLOTS_PER_WORKER, &format!("{ranks}, as the launch line asks for"));
        }
    }
}

/// Reports options of ssh in the launcher's script, because khorovod configures ssh itself.
fn script(context: &mut Context<'_>, place: &Place) {
    let Some(text) = context.spec.get(field::COMMAND).and_then(Json::as_str) else { return };
    if text.contains("ssh -") || text.contains("plm_rsh_args") {
        let how =
            "khorovod configures ssh with the port of the workers: remove `-p`, otherwise ssh waits for a closed port";
        context.report(format!("{}: ssh with options", place.path), place.span, Verdict::Changed, field::COMMAND, how);
    }
}

fn words(launcher: &Replica<'_>, world: &World, context: &mut Context<'_>) {
    let parts = ["command", "args"].map(|key| launcher.field(key));
    let all: Vec<Filled> = parts
        .iter()
        .flatten()
        .flat_map(|node| node.items())
        .filter_map(text)
        .map(|word| Filled::new(&word, launcher.container))
        .collect();
    let place = |node: &Node| Place { path: "Launcher".to_owned(), span: node.span };
    if let Some((typed, span)) = context.typed.clone() {
        launch::line(context, &typed, &Place { path: "--command".to_owned(), span }, world);
        parts.into_iter().flatten().for_each(|node| context.replaced(node, "`--command` replaces it"));
    } else if let Some(first) = parts.iter().flatten().next().filter(|_| !all.is_empty()) {
        let line = match all.as_slice() {
            [shell, dash, script] if is_shell(&shell.text()) && takes_script(&dash.text()) => script.text(),
            words => words.iter().map(Filled::word).collect::<Vec<_>>().join(" "),
        };
        launch::line(context, &line, &place(first), world);
        script(context, &place(first));
        let to = field::COMMAND_AND_LAUNCHER;
        let how = launch::launcher_note(context);
        for node in parts.into_iter().flatten() {
            context.changed(node, to, how);
        }
    } else {
        launch::by_hand(
            context,
            "the entry point of the image started the training; pass that command with `--command LINE`",
            world,
        );
    }
}
