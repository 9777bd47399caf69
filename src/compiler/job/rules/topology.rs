//! Rules about `placement.topology`.

use super::{Case, key};
use crate::job::types::spec::Placer;
use crate::problem::{Problem, codes};

codes! {
    /// A topology that contradicts itself, or that nothing in the cluster would follow
    ///
    /// `placement.topology` needs at least one of its fields, and only one of `required` and `preferred`. Slices need Kueue
    /// (`scheduling.localQueue`) or the target `volcano`, and their size must divide the number of workers: no other scheduler
    /// places parts of a job.
    Error TOPOLOGY = "topology";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(given) = field!(case.placement.topology) else { return };
    if !case.could_read(&["placement.topology", "workers", "scheduling"]) {
        return;
    }
    if let (Some(required), Some(preferred)) = (&given.required, &given.preferred) {
        let message = "`required` and `preferred` exclude each other";
        let problem = Problem::new(&TOPOLOGY, preferred.key, message).and(required.key, "required");
        problems.push(problem.hint("keep one of the two"));
    }
    if given.required.is_none() && given.preferred.is_none() && given.slices.is_none() {
        let problem = Problem::new(&TOPOLOGY, given.span, "`topology` is empty");
        problems.push(problem.hint("add `required: rack`, or another level"));
    }
    slices(case, problems);
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
