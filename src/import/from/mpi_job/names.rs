//! Imports names of the operator's pods, `JOB-worker-0` or `JOB-launcher`, in variables and in the line that starts the
//! ranks. khorovod's pods have other names, so a program that looks for the old ones would wait forever.

use crate::field::{self, set};

use super::Replica;
use crate::context::{Context, text};
use crate::field_outcomes::Verdict;
use crate::launch::{FIRST_WORKER, program};
use khorovod_compiler::yaml::Node;

/// The note for a name that cannot be replaced.
const OTHERS: &str = "it contains the name of a pod of the operator, and the pods have other names now: /horovod/generated/hostfile in the launcher lists those of the workers";

/// A variable that cannot keep its value, and its new value as shell text. None if no new value can be computed.
pub type ReplacedVariable = (String, Option<String>);

/// Records the outcomes of variables that contain names of the operator's pods, and of a launch line that contains such
/// names. Returns these variables. Runs before other variables are imported.
pub fn settle(job: &Node, replicas: [&Replica<'_>; 2], context: &mut Context<'_>) -> Vec<ReplacedVariable> {
    let name = job.get("metadata").and_then(|node| node.get("name")).and_then(text).unwrap_or_default();
    let names = |text: &str| text.contains(&format!("{name}-worker-")) || text.contains(&format!("{name}-launcher"));
    if name.is_empty() {
        return Vec::new();
    }
    let in_launch = context.spec.get(field::COMMAND).is_some_and(|command| names(&command.to_string()));
    if let Some(node) = replicas.iter().find_map(|replica| replica.field("command")).filter(|_| in_launch) {
        context.report(format!("Launcher: {name}-…"), node.span, Verdict::Changed, field::COMMAND, OTHERS);
    }
    // A worker can compute the name of the first worker from its own name. The launcher cannot, so the command must run in
    // workers only.
    let in_workers =
        context.spec.get(field::LAUNCHER_KIND).is_none() && context.spec.get(field::LAUNCHER_RUNS_RANKS).is_none();
    let mut gone: Vec<ReplacedVariable> = Vec::new();
    for item in replicas.iter().filter_map(|replica| replica.field("env")).flat_map(Node::items) {
        let variable = item.get("name").and_then(text).unwrap_or_default();
        let Some(value) = item.get("value").and_then(text).filter(|value| names(value)) else { continue };
        let line = first(&value, &name).filter(|_| in_workers);
        match &line {
            Some(_) => context.changed(item, field::COMMAND, "each rank computes the name of the first worker"),
            None => context.lose(item, OTHERS),
        }
        if gone.iter().all(|(other, _)| *other != variable) {
            gone.push((variable, line));
        }
    }
    gone
}

/// Returns a value that contains the first worker's name, as text for the shell of a worker.
fn first(value: &str, job: &str) -> Option<String> {
    let theirs = format!("{job}-worker-0");
    let (before, rest) = value.split_once(&theirs)?;
    let domain = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-.".contains(c)).len();
    let whole = domain == 0 || rest.starts_with('.');
    let after = &rest[domain..];
    let plain = |text: &str| !text.contains(['"', '$', '`', '\\']) && !text.contains(&format!("{job}-"));
    (whole && plain(before) && plain(after)).then(|| format!("\"{before}{FIRST_WORKER}{after}\""))
}

/// Removes the variables from `spec.env`. If a variable has a new value, the command of the ranks sets it.
pub fn put(gone: Vec<ReplacedVariable>, context: &mut Context<'_>) {
    let mut lines = String::new();
    for (name, value) in gone {
        context.spec.take_key(set::ENV, &name);
        if let Some(value) = value {
            lines.extend(["export ", &name, "=", &value, "\n"]);
        }
    }
    let Some(program) = context.spec.get(field::COMMAND).and_then(program::as_text) else { return };
    if !lines.is_empty() {
        context.spec.put(set::COMMAND, lines + &program, "Launcher");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_worker_is_recognised() {
        let expected = |before: &str, after: &str| Some(format!("\"{before}{FIRST_WORKER}{after}\""));
        assert_eq!(first("a-worker-0", "a"), expected("", ""));
        assert_eq!(first("tcp://a-worker-0.a-worker.ns.svc:29500/x", "a"), expected("tcp://", ":29500/x"));
        for other in ["a-worker-01", "a-worker-1", "a-launcher", "a-worker-0,a-worker-1", "$X-a-worker-0", "b-worker-0"]
        {
            assert_eq!(first(other, "a"), None, "{other}");
        }
    }
}
