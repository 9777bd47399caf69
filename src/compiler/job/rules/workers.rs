//! Workers: slots, resources, groups, and the shape they take.

use super::Case;
use crate::job::declare::{MAX_WORKERS, WorkerFields};
use crate::problem::{Problem, codes, count};

codes! {
    /// More ranks than GPUs on a worker
    ///
    /// Each rank of a GPU job takes a GPU of its own; with more slots than GPUs, two ranks share
    /// one and both run out of memory or crawl. Lower `slots`, raise `gpus`, or set `gpus: 0` to
    /// train on CPUs.
    Error SLOTS_ABOVE_GPUS = "slots-above-gpus";

    /// Fewer ranks than GPUs on a worker
    ///
    /// GPUs without a rank stand idle. That is right when each rank drives several GPUs; otherwise
    /// leave `slots` out. Ranks follow from `gpus`: those that only `resources` asks for have none.
    Warning IDLE_GPUS = "idle-gpus";

    /// `/dev/shm` is larger than the memory it is taken from
    ///
    /// `/dev/shm` lives in the pod's memory: a worker that fills it would be killed for memory.
    Error SHM_ABOVE_MEMORY = "shm-above-memory";

    /// Resources are given twice
    ///
    /// `resources` gives requests and limits in full and takes the place of `cpu`, `memory` and
    /// `ephemeralStorage`. Devices that `gpus` or `rdma` counts are added to it, so another number of them there
    /// would be dropped. Keep one way.
    Error RESOURCES_TWICE = "resources-twice";

    /// A request above its limit, or a device whose request and limit differ
    ///
    /// Kubernetes refuses both.
    Error REQUEST_ABOVE_LIMIT = "request-above-limit";

    /// More workers than khorovod renders
    ///
    /// A job has at most 100,000 workers and 4,000,000 ranks.
    Error TOO_MANY_WORKERS = "too-many-workers";

    /// A list that must not be empty
    ///
    /// `groups: []` describes a job without workers.
    Error EMPTY_LIST = "empty-list";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(workers) = &case.body.workers else { return };
    let groups = workers.groups.as_ref().map(|at| at.value.as_slice());
    match groups {
        None => Worker { fields: WorkerFields::new(workers, None), shares_slots: false }.check(problems),
        Some([]) => {
            let span = workers.groups.as_ref().map_or(workers.span, |at| at.span);
            let problem = Problem::new(&EMPTY_LIST, span, "`spec.workers.groups` is empty: the job has no workers");
            problems.push(problem.hint("give `replicas` instead, or at least one group"));
        }
        Some(groups) => {
            for group in groups {
                let fields = WorkerFields::new(workers, Some(group));
                Worker { fields, shares_slots: group.slots.is_none() }.check(problems);
            }
        }
    }
    let total: u64 = case.spec.groups.iter().map(|group| u64::from(group.replicas)).sum();
    if total > u64::from(MAX_WORKERS) {
        let message = format!("the groups have {total} workers together, more than {MAX_WORKERS}");
        problems.push(Problem::new(&TOO_MANY_WORKERS, workers.key, message).hint("split the job"));
    }
    let ranks: u64 = case.spec.groups.iter().map(|group| u64::from(group.replicas) * u64::from(group.slots)).sum();
    if ranks > 4_000_000 {
        let message = format!("the job has {ranks} ranks, more than 4000000");
        problems.push(Problem::new(&TOO_MANY_WORKERS, workers.key, message).hint("lower `slots` or `replicas`"));
    }
}

/// What the rules for one worker look at.
struct Worker<'a> {
    fields: WorkerFields<'a>,
    /// Whether `slots` stands beside `groups`, for all of them.
    shares_slots: bool,
}

impl Worker<'_> {
    fn check(&self, problems: &mut Vec<Problem>) {
        self.slots(problems);
        self.devices(problems);
        self.devices_twice(problems);
        self.shm(problems);
        self.resources(problems);
    }

    /// Ranks follow from `gpus`, so what only `resources` asks for has none.
    fn devices(&self, problems: &mut Vec<Problem>) {
        let (None, Some(resources)) = (self.fields.slots, self.fields.resources) else { return };
        if self.fields.gpus.is_some_and(|gpus| gpus.0 > 0) {
            return;
        }
        let limits = resources.limits.iter().chain(&resources.requests).flat_map(|list| &list.0);
        let mut gpus = limits.filter(|(name, count)| name.0.ends_with("/gpu") && count.milli() > 1_000);
        if let Some((name, count)) = gpus.next() {
            let message = format!("1 rank on {} GPUs a worker: ranks follow from `gpus`", count.value);
            let resource =
                if name.0 == "nvidia.com/gpu" { String::new() } else { format!(", gpuResource: {}", name.0) };
            let hint = format!(
                "write `gpus: {}{resource}` beside `replicas` in its place; or `slots: 1`, if that is meant",
                count.value
            );
            problems.push(Problem::new(&IDLE_GPUS, name.span, message).hint(hint));
        }
    }

    /// What `gpus` and `rdma` count takes the place of the same in `resources`.
    fn devices_twice(&self, problems: &mut Vec<Problem>) {
        let Some(resources) = self.fields.resources else { return };
        let gpu = self.fields.gpu_resource().value.0;
        let gpus = self.fields.gpus.filter(|at| at.0 > 0).map(|at| ("gpus", gpu.as_str(), at.0, at.span));
        let rdma = self.fields.rdma.and_then(|at| {
            let (count, span) = (at.count().value.0, at.count.as_ref().map_or(at.key, |count| count.span));
            Some(("rdma", at.resource.as_ref()?.0.as_str(), count, span))
        });
        for (field, name, count, span) in gpus.into_iter().chain(rdma) {
            let mut lists = resources.limits.iter().chain(&resources.requests).flat_map(|list| &list.0);
            let other = lists.find(|(key, amount)| key.0 == name && amount.milli() != i128::from(count) * 1_000);
            if let Some((key, amount)) = other {
                let message = format!("`resources` has {} {name} and `{field}` {count}", amount.value);
                let problem = Problem::new(&RESOURCES_TWICE, key.span, message).and(span, "counted here");
                problems.push(problem.hint(format!("remove `{name}` from `resources`; `{field}` adds it")));
            }
        }
    }

    fn slots(&self, problems: &mut Vec<Problem>) {
        let (Some(gpus), Some(slots)) = (self.fields.gpus, self.fields.slots) else { return };
        if gpus.0 == 0 || slots.0 == gpus.0 {
            return;
        }
        let ranks = count(slots.0, "rank");
        let (code, message) = match slots.0 > gpus.0 {
            true => (&SLOTS_ABOVE_GPUS, format!("{ranks} would share {} on each worker", count(gpus.0, "GPU"))),
            false => (&IDLE_GPUS, format!("{ranks} on {} GPUs a worker: some GPUs have none", gpus.0)),
        };
        let problem = Problem::new(code, slots.span, message).here("ranks a worker").and(gpus.span, "GPUs a worker");
        problems.push(match self.shares_slots {
            // Another number would be wrong for the other groups.
            true => problem.hint("leave `slots` out: each group then runs one rank a GPU"),
            false => {
                let more = match slots.0 < gpus.0 {
                    true => "; right as it is where a rank uses several, as `accelerate launch` does",
                    false => "",
                };
                let hint = format!("write `slots: {}`, or leave it out{more}", gpus.0);
                problem.hint(hint).fix(slots.span, gpus.0.to_string())
            }
        });
    }

    fn shm(&self, problems: &mut Vec<Problem>) {
        let limit = self
            .fields
            .resources
            .and_then(|at| at.limits.as_ref())
            .and_then(|at| at.0.iter().find(|(name, _)| name.0 == "memory"));
        let memory = self.fields.memory.or(limit.map(|(_, at)| at));
        if let (Some(shm), Some(memory)) = (self.fields.shm, memory)
            && shm.milli() > memory.milli()
        {
            let message = format!("`shm` ({}) is larger than the worker's memory ({})", shm.value, memory.value);
            let problem = Problem::new(&SHM_ABOVE_MEMORY, shm.span, message)
                .here("lives in memory")
                .and(memory.span, "all memory there is");
            problems.push(problem.hint(format!("write `shm: {}`, or leave it out", memory.quarter())));
        }
    }

    fn resources(&self, problems: &mut Vec<Problem>) {
        let Some(resources) = self.fields.resources else { return };
        let sizes = [self.fields.cpu, self.fields.memory, self.fields.ephemeral_storage];
        if let Some(size) = sizes.into_iter().flatten().next() {
            let problem = Problem::new(
                &RESOURCES_TWICE,
                resources.key,
                "`resources` and `cpu`, `memory` or `ephemeralStorage` are both given",
            );
            problems.push(problem.here("in full here").and(size.key, "and here").hint("keep one of the two"));
        }
        let (Some(requests), Some(limits)) = (&resources.requests, &resources.limits) else { return };
        for (name, request) in &requests.0 {
            let Some((_, limit)) = limits.0.iter().find(|(other, _)| other.0 == name.0) else { continue };
            let device = name.0.contains('/');
            if request.milli() > limit.milli() || device && request.milli() != limit.milli() {
                let what = if device { "differs from" } else { "is above" };
                let message =
                    format!("the request for {} ({}) {what} its limit ({})", name.0, request.value, limit.value);
                let problem = Problem::new(&REQUEST_ABOVE_LIMIT, request.span, message)
                    .here("asked for")
                    .and(limit.span, "allowed");
                problems.push(problem.hint(format!("write `{}: {}` in both", name.0, limit.value)));
            }
        }
    }
}
