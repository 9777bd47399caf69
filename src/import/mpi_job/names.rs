//! Names of the operator's pods, `JOB-worker-0` or `JOB-launcher`, in variables and in the launch: here pods have others,
//! so whoever looked for one of those would wait for a host that never comes.

use serde_json::Value as Json;

use super::Replica;
use crate::desk::{Desk, items, text};
use crate::launch::FIRST_WORKER;
use crate::ledger::Verdict;
use khorovod_compiler::pods::word;
use khorovod_compiler::yaml::Node;

/// What to say where nothing can be put in its place.
const OTHERS: &str = "it names a pod of the operator's, and pods have other names here: the launcher has the workers' in /horovod/generated/hostfile";

/// A variable that may not stay, and what ranks set it to.
pub type Gone = (String, Option<String>);

/// Says what becomes of variables with such names, before they are read like others, and of the launch.
pub fn settle(job: &Node, replicas: [&Replica<'_>; 2], desk: &mut Desk<'_>) -> Vec<Gone> {
    let name = job.get("metadata").and_then(|node| node.get("name")).and_then(text).unwrap_or_default();
    let names = |text: &str| text.contains(&format!("{name}-worker-")) || text.contains(&format!("{name}-launcher"));
    if name.is_empty() {
        return Vec::new();
    }
    let in_launch = desk.draft.get("spec.command").is_some_and(|command| names(&command.to_string()));
    if let Some(node) = replicas.iter().find_map(|replica| replica.field("command")).filter(|_| in_launch) {
        let row = desk.ledger.add(format!("Launcher: {name}-…"), node.span);
        desk.ledger.settle_row(row, Verdict::Changed, "spec.command", OTHERS);
    }
    // The launcher's own name says nothing of the workers'.
    let in_workers =
        desk.draft.get("spec.launcher.kind").is_none() && desk.draft.get("spec.launcher.runsRanks").is_none();
    let mut gone: Vec<Gone> = Vec::new();
    for item in replicas.iter().filter_map(|replica| replica.field("env")).flat_map(items) {
        let variable = item.get("name").and_then(text).unwrap_or_default();
        let Some(value) = item.get("value").and_then(text).filter(|value| names(value)) else { continue };
        let line = first(&value, &name).filter(|_| in_workers);
        match &line {
            Some(_) => {
                desk.ledger.settle(
                    item,
                    Verdict::Changed,
                    "spec.command",
                    "each rank asks for the first worker's name",
                );
            }
            None => desk.lose(item, OTHERS),
        }
        if gone.iter().all(|(other, _)| *other != variable) {
            gone.push((variable, line));
        }
    }
    gone
}

/// A value with the first worker's name in it, as a shell in a worker makes it.
fn first(value: &str, job: &str) -> Option<String> {
    let theirs = format!("{job}-worker-0");
    let (before, rest) = value.split_once(&theirs)?;
    let domain = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-.".contains(c)).len();
    let whole = domain == 0 || rest.starts_with('.');
    let after = &rest[domain..];
    let plain = |text: &str| !text.contains(['"', '$', '`', '\\']) && !text.contains(&format!("{job}-"));
    (whole && plain(before) && plain(after)).then(|| format!("\"{before}{FIRST_WORKER}{after}\""))
}

/// Takes them from the variables, and has ranks set them.
pub fn put(gone: Vec<Gone>, desk: &mut Desk<'_>) {
    let mut lines = String::new();
    for (name, value) in gone {
        desk.draft.take(&format!("spec.env.{name}"));
        if let Some(value) = value {
            lines.extend(["export ", &name, "=", &value, "\n"]);
        }
    }
    if desk.draft.get("spec.env").and_then(Json::as_object).is_some_and(serde_json::Map::is_empty) {
        desk.draft.take("spec.env");
    }
    let program = match desk.draft.get("spec.command") {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(words)) => words.iter().filter_map(Json::as_str).map(word).collect::<Vec<_>>().join(" "),
        _ => return,
    };
    if !lines.is_empty() {
        desk.draft.put("spec.command", lines + &program, "Launcher");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_worker_is_told_from_others() {
        let expected = |before: &str, after: &str| Some(format!("\"{before}{FIRST_WORKER}{after}\""));
        assert_eq!(first("a-worker-0", "a"), expected("", ""));
        assert_eq!(first("tcp://a-worker-0.a-worker.ns.svc:29500/x", "a"), expected("tcp://", ":29500/x"));
        for other in ["a-worker-01", "a-worker-1", "a-launcher", "a-worker-0,a-worker-1", "$X-a-worker-0", "b-worker-0"]
        {
            assert_eq!(first(other, "a"), None, "{other}");
        }
    }
}
