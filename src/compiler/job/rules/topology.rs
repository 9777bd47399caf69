//! Rules about `placement.topology`.

use super::cluster::KUBE_VERSION;
use super::{Case, key};
use crate::job::declare;
use crate::job::declare::RankOrder;
use crate::job::declare::scalars::LabelKey;
use crate::job::read::At;
use crate::job::read::suggestions::{alternatives, nearest};
use crate::job::types::KubeVersion;
use crate::job::types::spec::{Level, Placer, Topology};
use crate::problem::{Problem, codes};

codes! {
    /// A topology that contradicts itself, or that nothing in the cluster would apply
    ///
    /// `placement.topology` needs at least one of its fields, and only one of `required` and `preferred`. Slices need Kueue
    /// (`scheduling.localQueue`) or the target `volcano`, and their size must divide the number of workers: no other scheduler
    /// places parts of a job. For `rankOrder`, the pods need the permission to read nodes. They get it only without `--target`, with
    /// `security.apiAccess`, and without `lifecycle.keepWorkers`. The levels `zone` and `region`, and the word `measured`, do not need this permission.
    Error TOPOLOGY = "topology";

    /// A level of a topology that is probably another one
    ///
    /// A level of `placement.topology` is one of the words `host`, `nvlink`, `rack`, `block`, `zone` and `region`, or the label of
    /// nodes. Another word is also the name of a label, and the pods stay Pending if no node has it. If nodes have this label, you can
    /// ignore the warning. `placement.spread` and `placement.pack` take only labels, not words. In `rankOrder` a level after a smaller one has no effect: begin with the largest. The word `measured` replaces the list. All workers run in one `host` only if it has GPUs for all of them.
    Warning TOPOLOGY_LEVEL = "topology-level";
}

/// The words for levels, the smallest first.
const WORDS: &[&str] = &["host", "nvlink", "rack", "block", "zone", "region"];

fn misspelt_levels(given: &declare::Topology, problems: &mut Vec<Problem>) {
    let orders = given.rank_order.iter().flat_map(|order| order.levels());
    let slices = given.slices.iter().filter_map(|slices| slices.required.as_ref());
    for level in given.required.iter().chain(&given.preferred).chain(slices).chain(orders) {
        let word = level.0.as_str();
        let is_word = word.bytes().all(|byte| byte.is_ascii_alphabetic()) && !WORDS.contains(&word);
        if let Some(near) = nearest(word, WORDS.iter().copied()).filter(|_| is_word) {
            let message = format!(
                "`{word}` is not a level that khorovod has a word for, so it is read as the node label `{word}`"
            );
            let hint = format!("did you mean `{near}`? A word for a level is {}", alternatives(WORDS));
            let problem = Problem::new(&TOPOLOGY_LEVEL, level.span, message);
            problems.push(problem.hint(hint).fix(level.span, near));
        }
    }
}

/// Reports a word in `spread` and `pack`, which take only labels of nodes.
fn words_for_labels(case: &Case<'_>, problems: &mut Vec<Problem>) {
    for (name, level) in [("spread", field!(case.placement.spread)), ("pack", field!(case.placement.pack))] {
        let Some(at) = level else { continue };
        let message = format!("`{name}` takes the label of nodes, and `{}` is read as one", at.0);
        let problem = Problem::new(&TOPOLOGY_LEVEL, at.span, message);
        let label = Level::new(&at.0).label;
        if label != at.0 {
            problems.push(problem.hint(format!("write `{name}: {label}`")).fix(at.span, label));
        } else if ["disabled", "false", "never", "no", "none", "off"].contains(&at.0.as_str()) {
            let hint = match name {
                "spread" => {
                    "remove it: spreading is only preferred, so it keeps no pod from starting; to put the workers together, \
                     use `pack` or `topology`"
                }
                _ => "remove it",
            };
            problems.push(problem.hint(hint));
        }
    }
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    words_for_labels(case, problems);
    let Some(given) = field!(case.placement.topology) else { return };
    misspelt_levels(given, problems);
    if !case.could_read(&["placement.topology", "workers", "scheduling"]) {
        return;
    }
    if let (Some(required), Some(preferred)) = (&given.required, &given.preferred) {
        let message = "`required` and `preferred` exclude each other";
        let problem = Problem::new(&TOPOLOGY, preferred.key, message).and(required.key, "required");
        problems.push(problem.hint("keep one of the two"));
    }
    one_host(case, given, problems);
    if let Some(order) = &given.rank_order {
        sorted_levels(order.levels(), problems);
        measured_in_a_list(order, problems);
    }
    let has_order = case.spec.placement.topology.as_ref().is_some_and(|topology| topology.rank_order.is_some());
    if given.required.is_none() && given.preferred.is_none() && given.slices.is_none() && !has_order {
        let problem = Problem::new(&TOPOLOGY, given.span, "`topology` is empty");
        problems.push(problem.hint("add `required: rack`, or another level"));
    }
    slices(case, problems);
    rank_order(case, problems);
}

/// The most GPUs that a node has.
const MOST_GPUS: u32 = 16;

/// Reports a job whose GPUs must all be in one host, but are more than a host has.
fn one_host(case: &Case<'_>, given: &declare::Topology, problems: &mut Vec<Problem>) {
    let Some(required) = given.required.as_ref().filter(|at| Level::new(&at.0).label == "kubernetes.io/hostname")
    else {
        return;
    };
    // Slices of GPUs are not counted, because a node may have more than [`MOST_GPUS`] of them.
    let groups = case.spec.groups.iter().filter(|group| group.gpu_resource.ends_with("/gpu"));
    let gpus = groups.map(|group| group.replicas.saturating_mul(group.gpus)).fold(0, u32::saturating_add);
    if gpus > MOST_GPUS {
        let message = format!("all {gpus} GPUs of the job must be in one host, and no host has more than {MOST_GPUS}");
        let problem = Problem::new(&TOPOLOGY_LEVEL, required.span, message);
        problems.push(problem.hint("write a larger level, such as `nvlink` or `rack`"));
    }
}

/// Reports a level in `rankOrder` that comes directly after the same level or after a smaller one. `WORDS` is sorted from
/// small to large.
fn sorted_levels(levels: &[At<LabelKey>], problems: &mut Vec<Problem>) {
    let size = |level: &At<LabelKey>| WORDS.iter().position(|word| *word == level.0);
    for pair in levels.windows(2) {
        let (Some(outer), Some(inner)) = (size(&pair[0]), size(&pair[1])) else { continue };
        if outer > inner {
            continue;
        }
        let message =
            format!("`{}` after `{}` has no effect: the hosts of one {1} are in one {0}", WORDS[inner], WORDS[outer]);
        let problem = Problem::new(&TOPOLOGY_LEVEL, pair[1].span, message).and(pair[0].span, "the level before");
        problems.push(problem.hint(if outer == inner { "remove it" } else { "write the larger level first" }));
    }
}

/// Reports the word `measured` in a list, where it is read as the label of nodes.
fn measured_in_a_list(order: &At<RankOrder>, problems: &mut Vec<Problem>) {
    let Some(level) = order.levels().iter().find(|level| level.0 == RankOrder::MEASURED) else { return };
    let message = "`measured` in a list is read as the label of nodes";
    let problem = Problem::new(&TOPOLOGY_LEVEL, level.span, message);
    let problem = problem.hint("to measure round-trip times, write `rankOrder: measured` without a list");
    problems.push(if order.levels().len() == 1 { problem.fix(order.span, RankOrder::MEASURED) } else { problem });
}

fn slices(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(at) = field!(case.placement.topology.slices) else { return };
    let spec = case.spec;
    if spec.target.has_pods && !matches!(spec.placer(), Placer::Kueue | Placer::VolcanoJob) {
        let message = "`slices` needs Kueue or the target `volcano`: no other scheduler places parts of a job";
        let problem = Problem::new(&TOPOLOGY, at.key, message);
        problems.push(
            problem.hint("add `scheduling: {localQueue: NAME}`, render with `--target volcano`, or remove `slices`"),
        );
        return;
    }
    let Some(size) = &at.size else { return };
    if let Some(elastic) = &spec.elastic {
        let numbers = [("minReplicas", elastic.min_replicas), ("maxReplicas", elastic.max_replicas)];
        if let Some((name, number)) = numbers.into_iter().find(|(_, number)| number % size.0 != 0) {
            let message = format!("slices of {} workers do not divide `{name}`, which is {number}", size.0);
            let problem = Problem::new(&TOPOLOGY, size.span, message);
            problems.push(problem.hint(format!("change `size`, or make `{name}` a multiple of it")));
            return;
        }
    }
    if let Some(group) = spec.groups.iter().find(|group| group.replicas % size.0 != 0) {
        let replicas = group.replicas;
        let message = format!("slices of {} workers do not divide {replicas} workers", size.0);
        let mut problem = Problem::new(&TOPOLOGY, size.span, message);
        if let Some(workers) = key(field!(case.workers.replicas)) {
            problem = problem.and(workers, "the number of workers");
        }
        problems.push(problem.hint("change `size` or the number of workers"));
    }
}

fn rank_order(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let spec = case.spec;
    let Some(at) = field!(case.placement.topology.rank_order).filter(|order| !order.levels().is_empty()) else {
        return;
    };
    if !spec.target.has_pods || !case.could_read(&["security", "lifecycle"]) {
        return;
    }
    let needs = KubeVersion::new(35);
    if spec.placement.topology.as_ref().is_some_and(Topology::reads_nodes) {
        // Each row is a reason why the pods have no permissions. `Plan::own_job` has the same conditions.
        let why = [
            (!spec.target.own_workloads, "the pods of an operator have no permissions", "leave `--target` out"),
            (!spec.security.api_access, "`security.apiAccess` is false", "remove `apiAccess`"),
            (
                spec.security.worker_account.is_some(),
                "with `workers.serviceAccountName`, workers have no token for the API server",
                "remove `serviceAccountName`",
            ),
            (spec.lifecycle.keep_workers, "`lifecycle.keepWorkers` is true", "remove `keepWorkers`"),
        ];
        if let Some((_, reason, hint)) = why.into_iter().find(|(is_so, ..)| *is_so) {
            let message = format!("`rankOrder` needs the labels of nodes, but the pods may not read nodes: {reason}");
            let problem = Problem::new(&TOPOLOGY, at.key, message);
            problems.push(
                problem
                    .hint(format!("{hint}, use only the levels `zone` and `region`, or write `rankOrder: measured`")),
            );
        }
    } else if case.kube_version < needs {
        let version = case.kube_version;
        let message = format!(
            "pods have the labels of their zone and region since Kubernetes {needs}, and `--kube-version` is {version}"
        );
        let problem = Problem::new(&KUBE_VERSION, at.key, message);
        problems
            .push(problem.hint("use a newer `--kube-version`, or add a level of the nodes, such as `rack` or `host`"));
    }
}
