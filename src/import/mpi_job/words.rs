//! The launcher's command and arguments: the line in them that started ranks, and how many it started.

use serde_json::{Value as Json, json};

use super::{FIRST, Replica, queued};
use crate::desk::{Desk, items, text};
use crate::filled::Filled;
use crate::launch::{self, Place, World};
use crate::ledger::Verdict;
use crate::program::{is_shell, takes_script};
use khorovod_compiler::yaml::Node;

/// The launcher's words as a line that started ranks.
pub fn launch(job: &Node, launcher: &Replica<'_>, worker: &Replica<'_>, gpus: u32, slots: u32, desk: &mut Desk<'_>) {
    let number = worker.spec.and_then(|spec| spec.get("replicas"));
    let workers = number.map_or(Some(1), |node| desk.count(node)).unwrap_or(1).max(1);
    if let Some(node) = number {
        desk.ledger.settle(node, Verdict::Kept, "spec.workers.replicas", "");
    }
    let also = job.get("spec").and_then(|spec| spec.get("runLauncherAsWorker"));
    let leads = also.is_some_and(|node| desk.yes(node));
    if let Some(node) = also {
        match leads {
            true if queued(desk) => desk.ledger.settle(node, Verdict::Changed, "spec.workers.replicas", FIRST),
            true => desk.ledger.settle(node, Verdict::Kept, "spec.launcher.runsRanks", ""),
            false => desk.needless(node, "the same here"),
        }
    }
    let pods = workers.saturating_add(u32::from(leads));
    let world =
        World { pods, from: "Worker.replicas".to_owned(), without_launcher: leads.then_some(workers), gpus: slots };
    words(launcher, &world, desk);
    if leads && !queued(desk) && desk.draft.get("spec.workers.replicas") == Some(&json!(pods)) {
        desk.draft.put("spec.workers.replicas", workers, "");
        desk.draft.put("spec.launcher.runsRanks", true, "runLauncherAsWorker");
    }
    if desk.draft.get("spec.workers.slots").is_none() && slots != gpus.max(1) {
        let given = job.get("spec").and_then(|spec| spec.get("slotsPerWorker")).is_some();
        let from = if given { "slotsPerWorker" } else { "the operator's default" };
        desk.draft.put("spec.workers.slots", slots, from);
    }
}

/// What a script of the launcher's own says of the workers' sshd.
fn script(desk: &mut Desk<'_>, place: &Place) {
    let Some(text) = desk.draft.get("spec.command").and_then(Json::as_str) else { return };
    if text.contains("ssh -") || text.contains("plm_rsh_args") {
        let row = desk.ledger.add(format!("{}: ssh with options", place.path), place.span);
        let how =
            "ssh and mpirun find workers and their port by themselves here: take `-p` out, or it waits for nobody";
        desk.ledger.settle_row(row, Verdict::Changed, "spec.command", how);
    }
}

fn words(launcher: &Replica<'_>, world: &World, desk: &mut Desk<'_>) {
    let parts = ["command", "args"].map(|key| launcher.field(key));
    let all: Vec<Filled> = parts
        .iter()
        .flatten()
        .flat_map(|node| items(node))
        .filter_map(text)
        .map(|word| Filled::new(&word, launcher.container))
        .collect();
    let place = |node: &Node| Place { path: "Launcher".to_owned(), span: node.span };
    if let Some((typed, span)) = desk.typed.clone() {
        launch::line(desk, &typed, &Place { path: "--command".to_owned(), span }, world);
        parts.into_iter().flatten().for_each(|node| desk.replaced(node, "another command was given"));
    } else if let Some(first) = parts.iter().flatten().next().filter(|_| !all.is_empty()) {
        let line = match all.as_slice() {
            [shell, dash, script] if is_shell(&shell.text()) && takes_script(&dash.text()) => script.text(),
            words => words.iter().map(Filled::word).collect::<Vec<_>>().join(" "),
        };
        launch::line(desk, &line, &place(first), world);
        script(desk, &place(first));
        let to = "spec.command spec.launcher";
        let how = launch::became(desk);
        for node in parts.into_iter().flatten() {
            desk.ledger.settle(node, Verdict::Changed, to, how);
        }
    } else {
        launch::by_hand(desk, "the image's own entry point launched; `--command LINE` puts it here", world);
    }
}
