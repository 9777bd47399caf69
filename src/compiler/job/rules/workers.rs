//! Rules about workers: slots, resources and groups.

use serde_json::json;

use super::Case;
use crate::job::declare::{self, MAX_WORKERS, WorkerFields};
use crate::job::read::edits::{self, Texts};
use crate::job::types::quantity::Quantity;
use crate::job::types::spec::{LauncherKind, LauncherPod};
use crate::problem::{Fix, Problem, codes, count};
use crate::yaml::{self, Node};

codes! {
    /// More ranks than GPUs on a worker
    ///
    /// Each rank of a GPU job uses its own GPU. With more slots than GPUs, two ranks share a GPU and run out of memory or are
    /// slow. Lower `slotsPerWorker`, raise `gpus`, or set `gpus: 0` to train on CPUs.
    Error SLOTS_ABOVE_GPUS = "slots-above-gpus";

    /// Fewer ranks than GPUs on a worker
    ///
    /// GPUs without a rank are idle. That is correct if each rank uses several GPUs. Otherwise remove `slotsPerWorker`. The number of
    /// ranks follows from `gpus`; GPUs that are only in `resources` get no rank.
    Warning IDLE_GPUS = "idle-gpus";

    /// Several MIG slices on a worker
    ///
    /// A process with CUDA uses only one MIG slice, and NCCL refuses two ranks of one pod on the same GPU. So the other slices of the
    /// worker are idle, or its ranks fail. Request one slice per worker, and more workers instead.
    Warning MIG_SLICES = "mig-slices";

    /// GPUs that cannot be divided among the ranks of a worker
    ///
    /// With `launcher: jax` and `launcher: tensorflow` each rank uses an equal share of the GPUs of its worker. Set `slotsPerWorker`
    /// to a number that divides `gpus`: 1 for one rank with all GPUs, or leave it out for one rank per GPU.
    Error GPUS_PER_RANK = "gpus-per-rank";

    /// `/dev/shm` is larger than the memory of the worker
    ///
    /// `/dev/shm` uses the memory of the pod. A worker that fills it would be killed.
    Error SHM_ABOVE_MEMORY = "shm-above-memory";

    /// Huge pages that Kubernetes refuses
    ///
    /// An amount of huge pages is a multiple of the size of one page, and a container with huge pages also needs CPUs or memory.
    Error HUGE_PAGES = "huge-pages";

    /// A resource that no device plugin has
    ///
    /// Device plugins name GPUs `nvidia.com/gpu` and `amd.com/gpu`. Pods that request another name, such as
    /// `nvidia.com/gpus`, wait forever, because no node has such a resource.
    Warning UNKNOWN_RESOURCE = "unknown-resource";

    /// Resources are given twice
    ///
    /// `resources` sets requests and limits in full and replaces `cpu`, `memory` and `ephemeralStorage`. khorovod adds the
    /// devices of `gpus` and `rdma`, so another number of them in `resources` would be lost. For the same reason, `rdma.resource`
    /// cannot be the resource of the GPUs, or `memory`. Remove one of the two.
    Error RESOURCES_TWICE = "resources-twice";

    /// A request above its limit, or a device whose request and limit differ
    ///
    /// Kubernetes refuses both. Write the same number in both.
    Error REQUEST_ABOVE_LIMIT = "request-above-limit";

    /// Too many workers or ranks
    ///
    /// A job has at most 100,000 workers, with its spares, and 4,000,000 ranks.
    Error TOO_MANY_WORKERS = "too-many-workers";

    /// A list that must not be empty
    ///
    /// `groups: []` describes a job without workers.
    Error EMPTY_LIST = "empty-list";

    /// More spares than workers
    ///
    /// A spare holds its GPUs and runs no ranks until another worker is lost. One or two are enough for most jobs, because a lost
    /// worker is replaced in any case.
    Warning MANY_SPARES = "many-spares";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(workers) = &case.body.workers else { return };
    let groups = workers.groups.as_ref().map(|at| at.value.as_slice());
    let kind = case.spec.launcher.kind;
    match groups {
        None => {
            let node = case.document.get("spec").and_then(|body| body.get("workers"));
            let fields = WorkerFields::new(workers, None);
            Worker { fields, shares_slots: false, kind, node, texts: case.texts }.check(problems);
        }
        Some([]) => {
            let span = workers.groups.as_ref().map_or(workers.span, |at| at.span);
            let problem = Problem::new(&EMPTY_LIST, span, "`spec.workers.groups` is empty: the job has no workers");
            problems.push(problem.hint("give `replicas` instead, or at least one group"));
        }
        Some(groups) => {
            for group in groups {
                let fields = WorkerFields::new(workers, Some(group));
                let shares_slots = group.slots_per_worker.is_none();
                Worker { fields, shares_slots, kind, node: None, texts: case.texts }.check(problems);
            }
        }
    }
    let total: u64 = case.spec.groups.iter().map(|group| u64::from(group.replicas) + u64::from(group.spares)).sum();
    if total > u64::from(MAX_WORKERS) {
        let spares = if case.spec.groups.iter().any(|group| group.spares > 0) { " and spares" } else { "" };
        let message = format!("the job has {total} workers{spares} together, more than {MAX_WORKERS}");
        problems.push(Problem::new(&TOO_MANY_WORKERS, workers.key, message).hint("split the job"));
    }
    many_spares(case, workers, problems);
    let ranks: u64 = case.spec.groups.iter().map(|group| u64::from(group.replicas) * u64::from(group.slots)).sum();
    if ranks > 4_000_000 {
        let message = format!("the job has {ranks} ranks, more than 4000000");
        problems
            .push(Problem::new(&TOO_MANY_WORKERS, workers.key, message).hint("lower `slotsPerWorker` or `replicas`"));
    }
}

/// Reports the first group with more spares than workers, at its own fields, which may be in an overlay or in `--set`. Not if the job
/// cannot have spares: then `conflicts.rs` reports them, and a smaller number would be just as wrong.
fn many_spares(case: &Case<'_>, workers: &declare::Workers, problems: &mut Vec<Problem>) {
    if case.spec.launcher.runs_in != LauncherPod::Own || case.spec.elastic.is_some() {
        return;
    }
    let Some(index) = case.spec.groups.iter().position(|group| group.spares > group.replicas) else { return };
    let group = workers.groups.as_ref().and_then(|groups| groups.value.get(index)).map(|at| &at.value);
    let Some(spares) = WorkerFields::new(workers, group).spares else { return };
    let replicas = group.map_or(workers.replicas.as_ref(), |group| group.replicas.as_ref());
    let resolved = &case.spec.groups[index];
    let message = format!("{} spares wait for the loss of {} workers", resolved.spares, resolved.replicas);
    let mut problem = Problem::new(&MANY_SPARES, spares.span, message);
    if let Some(replicas) = replicas {
        problem = problem.and(replicas.span, "the workers");
    }
    problems.push(problem.hint("write `spares: 1`; a lost worker is replaced in any case"));
}

/// The input of the rules for one worker.
struct Worker<'a> {
    fields: WorkerFields<'a>,
    /// Whether `slotsPerWorker` is written beside `groups`, so that it applies to all groups.
    shares_slots: bool,
    kind: LauncherKind,
    /// The map `workers`, if the job has no groups.
    node: Option<&'a Node>,
    texts: &'a dyn Texts,
}

impl Worker<'_> {
    fn check(&self, problems: &mut Vec<Problem>) {
        self.slots(problems);
        self.mig_slices(problems);
        self.devices(problems);
        self.devices_twice(problems);
        self.rdma_resource(problems);
        self.unknown_resources(problems);
        self.huge_pages(problems);
        self.shm(problems);
        self.resources(problems);
    }

    /// Reports several GPUs that are only in `resources`. The number of ranks follows from `gpus`, so there is only one
    /// rank.
    fn devices(&self, problems: &mut Vec<Problem>) {
        let (None, Some(resources)) = (self.fields.slots_per_worker, self.fields.resources) else { return };
        if self.fields.gpus.is_some_and(|gpus| gpus.0 > 0) {
            return;
        }
        let limits = resources.limits.iter().chain(&resources.requests).flat_map(|list| &list.0);
        let mut gpus = limits.filter(|(name, count)| name.0.ends_with("/gpu") && count.milli() > 1_000);
        if let Some((name, count)) = gpus.next() {
            let message = format!("1 rank on {} GPUs per worker: the number of ranks follows from `gpus`", count.value);
            let resource =
                if name.0 == "nvidia.com/gpu" { String::new() } else { format!(", gpuResource: {}", name.0) };
            let hint = format!(
                "write `gpus: {}{resource}` beside `replicas` instead; or `slotsPerWorker: 1`, if one rank uses all of them",
                count.value
            );
            let fix = self.counted_by_gpus(&name.0, count.milli());
            problems.push(Problem { fix, ..Problem::new(&IDLE_GPUS, name.span, message).hint(hint).by_choice() });
        }
    }

    /// The edit that moves a number of GPUs from `resources` to `gpus`.
    fn counted_by_gpus(&self, resource: &str, thousandths: i128) -> Option<Fix> {
        let node = self.node.filter(|node| node.get("gpus").is_none() && resource == "nvidia.com/gpu")?;
        let count =
            u32::try_from(thousandths / 1_000).ok().filter(|count| i128::from(*count) * 1_000 == thousandths)?;
        let mut edits = self.without_resource(resource)?;
        edits.push(edits::field(self.texts, node, declare::Workers::SHAPE.keys, "gpus", &json!(count))?);
        edits::combined(self.texts.around(node.span), edits)
    }

    /// The edits that remove a resource from `resources`, with maps that would be empty.
    fn without_resource(&self, resource: &str) -> Option<Vec<Fix>> {
        let node = self.node?;
        let (at, resources) = node.entries().iter().enumerate().find(|(_, entry)| entry.key == "resources")?;
        let text = self.texts.around(node.span);
        let remove = |map: &Node, index: usize| {
            let span = yaml::removal(text, 0, map.entries(), index).filter(|span| span.source == node.span.source)?;
            Some(Fix { span, text: String::new() })
        };
        let sides = resources.value.entries();
        let is_only = |side: &Node| side.entries().iter().all(|entry| entry.key == resource);
        if sides.iter().all(|side| is_only(&side.value)) {
            return Some(vec![remove(node, at)?]);
        }
        let mut edits = Vec::new();
        for (index, side) in sides.iter().enumerate() {
            let Some(own) = side.value.entries().iter().position(|entry| entry.key == resource) else { continue };
            edits.push(if is_only(&side.value) { remove(&resources.value, index)? } else { remove(&side.value, own)? });
        }
        Some(edits)
    }

    fn huge_pages(&self, problems: &mut Vec<Problem>) {
        let Some(resources) = self.fields.resources else { return };
        let lists = || resources.limits.iter().chain(&resources.requests).flat_map(|list| &list.0);
        let pages = || lists().filter_map(|(name, amount)| Some((name, name.0.strip_prefix("hugepages-")?, amount)));
        for (name, page, amount) in pages() {
            let Some(page_size) = Quantity::parse(page).filter(|page| page.milli() > 0) else { continue };
            if amount.milli() % page_size.milli() != 0 {
                let message = format!("`{}: {}` is not a multiple of {page}", name.0, amount.value);
                problems.push(
                    Problem::new(&HUGE_PAGES, amount.span, message).hint(format!("write a multiple of `{page}`")),
                );
            }
        }
        let has_other = lists().any(|(name, _)| matches!(name.0.as_str(), "cpu" | "memory"));
        if let Some((name, ..)) = pages().next().filter(|_| !has_other) {
            let message = format!("`{}` needs `cpu` or `memory` beside it", name.0);
            problems.push(Problem::new(&HUGE_PAGES, name.span, message).hint("add `memory` to the same list"));
        }
    }

    /// Reports names of resources that differ only slightly from the name of a GPU resource, such as `nvidia.com/gpus`.
    fn unknown_resources(&self, problems: &mut Vec<Problem>) {
        let lists = self.fields.resources.into_iter().flat_map(|at| at.limits.iter().chain(&at.requests));
        let listed = lists.flat_map(|list| &list.0).map(|(name, _)| (name.0.as_str(), name.span));
        let own = self.fields.gpu_resource.map(|at| (at.0.as_str(), at.span));
        for (name, span) in listed.chain(own) {
            let Some((domain @ ("nvidia.com" | "amd.com"), resource)) = name.split_once('/') else { continue };
            // A field beside `groups` belongs to all of them, and is reported once.
            let is_known = problems.iter().any(|other| other.labels.first().is_some_and(|label| label.span == span));
            if !is_known && resource != "gpu" && resource.to_ascii_lowercase().trim_end_matches('s') == "gpu" {
                let meant = format!("{domain}/gpu");
                let message = format!("no device plugin has the resource `{name}`: the pods would wait forever");
                problems.push(
                    Problem::new(&UNKNOWN_RESOURCE, span, message)
                        .hint(format!("did you mean `{meant}`?"))
                        .fix(span, meant),
                );
            }
        }
    }

    /// Reports devices whose number in `resources` differs from the number in `gpus` or `rdma`. khorovod uses the number in
    /// `gpus` or `rdma`.
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
                let problem = problem.hint(format!("remove `{name}` from `resources`; `{field}` adds it"));
                let fix = self.without_resource(name).and_then(|edits| {
                    edits::combined(self.node.map_or("", |node| self.texts.around(node.span)), edits)
                });
                problems.push(Problem { fix, ..problem.by_choice() });
            }
        }
    }

    /// Reports an RDMA resource that another field counts, such as `nvidia.com/gpu`: the number of one would replace that of the
    /// other.
    fn rdma_resource(&self, problems: &mut Vec<Problem>) {
        let Some(at) = self.fields.rdma.and_then(|at| at.resource.as_ref()) else { return };
        let name = at.0.as_str();
        let message = if name.ends_with("/gpu") || name == self.fields.gpu_resource().value.0 {
            format!("`rdma.resource` is `{name}`, which counts GPUs")
        } else if !name.contains('/') {
            format!("`rdma.resource` is `{name}`, which is not a device")
        } else {
            return;
        };
        // A field beside `groups` belongs to all of them, and is reported once.
        if problems.iter().any(|other| other.labels.first().is_some_and(|label| label.span == at.span)) {
            return;
        }
        let hint = "write the resource of your RDMA device plugin, such as `rdma/hca`, or remove `rdma`";
        problems.push(Problem::new(&RESOURCES_TWICE, at.span, message).hint(hint));
    }

    /// Reports several MIG slices on a worker.
    fn mig_slices(&self, problems: &mut Vec<Problem>) {
        let (Some(gpus), Some(resource)) = (self.fields.gpus, self.fields.gpu_resource) else { return };
        if gpus.0 < 2 || !resource.0.contains("/mig-") {
            return;
        }
        let message = format!("{} MIG slices per worker, of which a process uses only one", gpus.0);
        let hint = format!("write `gpus: 1`, and {} times as many `replicas`", gpus.0);
        problems.push(Problem::new(&MIG_SLICES, gpus.span, message).and(resource.span, "a MIG slice").hint(hint));
    }

    fn slots(&self, problems: &mut Vec<Problem>) {
        let (Some(gpus), Some(slots)) = (self.fields.gpus, self.fields.slots_per_worker) else { return };
        if gpus.0 == 0 || slots.0 == gpus.0 {
            return;
        }
        let ranks = count(slots.0, "rank");
        if self.kind.starts_processes() && slots.0 < gpus.0 {
            if !gpus.0.is_multiple_of(slots.0) {
                let message = format!("{} GPUs cannot be divided among {ranks} per worker", gpus.0);
                let problem = Problem::new(&GPUS_PER_RANK, slots.span, message).here("ranks per worker");
                let hint =
                    "write `slotsPerWorker: 1`, so that one rank uses all GPUs, or remove it for one rank per GPU";
                problems.push(problem.and(gpus.span, "GPUs per worker").hint(hint));
            }
            return;
        }
        let (code, message) = match slots.0 > gpus.0 {
            true => (&SLOTS_ABOVE_GPUS, format!("{ranks} would share {} on each worker", count(gpus.0, "GPU"))),
            false => (&IDLE_GPUS, format!("{ranks} on {} GPUs per worker: some GPUs have no rank", gpus.0)),
        };
        let problem =
            Problem::new(code, slots.span, message).here("ranks per worker").and(gpus.span, "GPUs per worker");
        problems.push(match self.shares_slots {
            // Another number would be wrong for the other groups.
            true => problem.hint("remove `slotsPerWorker`: each group then runs one rank per GPU"),
            false => {
                let more = match slots.0 < gpus.0 {
                    true => "; keep it if each rank uses several GPUs, as with `accelerate launch` or a `torchrun` in the command",
                    false => "",
                };
                let hint = format!("write `slotsPerWorker: {}`, or remove it{more}", gpus.0);
                let problem = problem.hint(hint).fix(slots.span, gpus.0.to_string());
                // Fewer ranks than GPUs may be intended, so the user chooses whether to apply this fix.
                if slots.0 < gpus.0 { problem.by_choice() } else { problem }
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
                .here("uses the memory")
                .and(memory.span, "all memory of the worker");
            problems.push(problem.hint(format!("write `shm: {}`, or remove it", memory.quarter())));
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
                    .here("requested")
                    .and(limit.span, "limit");
                problems.push(problem.hint(format!("write `{}: {}` in both", name.0, limit.value)));
            }
        }
    }
}
