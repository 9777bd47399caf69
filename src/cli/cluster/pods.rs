//! Finds the pods of a run that print the output of its ranks. The main type is [`Output`].

use khorovod::report::Report;
use khorovod::{Inputs, Keys, Text};

use super::objects::{COMPONENT, GROUP, INDEX, Job, Objects, Pod, PodSpec, RUN};
use crate::cli::agent::is_agent;

/// The pods that print the output of the ranks of a run.
#[derive(Debug)]
pub struct Output<'a> {
    /// All pods of the run: first the pods that start the ranks (the launchers, or pod 0), then the workers by their
    /// index.
    pub pods: Vec<&'a Pod>,
    /// Whether each pod prints the output of its own ranks. If it is false, the launcher prints the output of all
    /// ranks.
    pub is_per_pod: bool,
}

impl<'a> Output<'a> {
    /// The pods of a run.
    pub fn find(objects: &'a Objects, run: &str) -> Self {
        let mut pods: Vec<&Pod> = objects.pods.iter().filter(|pod| pod.metadata.label(RUN) == run).collect();
        pods.sort_by_key(|pod| (!launches(pod), group(pod), index(pod), pod.metadata.creation_timestamp));
        let has_agent = |spec: &PodSpec| spec.containers.first().is_some_and(|first| is_agent(&first.command));
        // Before the first pod exists, only the template of the Job has the command.
        let is_of_run = |job: &&Job| job.metadata.label(RUN) == run;
        let templates = objects.jobs.iter().filter(is_of_run).map(|job| &job.spec.template.spec);
        let is_per_pod = templates.chain(pods.first().map(|pod| &pod.spec)).any(has_agent);
        Self { pods, is_per_pod }
    }

    /// The pods that start the ranks, the oldest first. All but the last one have ended.
    pub fn launchers(&self) -> Vec<&'a Pod> {
        self.pods.iter().copied().filter(|pod| launches(pod)).collect()
    }

    /// The workers that a word names: by a number, such as `3` or `worker-3`, or else by the name of a pod or the end
    /// of such a name.
    pub fn worker(&self, word: &str) -> Vec<&'a Pod> {
        let number: Option<u32> = word.strip_prefix("worker-").unwrap_or(word).parse().ok();
        let is_worker = |pod: &&Pod| !is_own_launcher(pod) && number.is_some() && index(pod) == number;
        let is_named = |pod: &&Pod| pod.metadata.name == word || pod.metadata.name.ends_with(&format!("-{word}"));
        let found: Vec<_> = self.pods.iter().copied().filter(is_worker).collect();
        if found.is_empty() { self.pods.iter().copied().filter(is_named).collect() } else { found }
    }
}

fn launches(pod: &Pod) -> bool {
    is_own_launcher(pod) || pod.metadata.label(INDEX) == "0"
}

fn is_own_launcher(pod: &Pod) -> bool {
    pod.metadata.label(COMPONENT) == "launcher"
}

fn group(pod: &Pod) -> String {
    pod.metadata.label(GROUP).to_owned()
}

/// The index of a worker.
pub fn index(pod: &Pod) -> Option<u32> {
    let index = pod.metadata.label(INDEX);
    if index.is_empty() { pod.metadata.name.rsplit('-').next()?.parse().ok() } else { index.parse().ok() }
}

/// A short name of a pod, to print in front of its lines: `launcher`, `worker-3`, `cpu-0` in the group cpu.
pub fn short_name(pod: &Pod) -> String {
    if is_own_launcher(pod) {
        return "launcher".to_owned();
    }
    let group = group(pod);
    let kind = if group.is_empty() { "worker" } else { &group };
    index(pod).map_or_else(|| pod.metadata.name.clone(), |index| format!("{kind}-{index}"))
}

/// Whether a pod or its container has failed.
pub fn has_failed(pod: &Pod) -> bool {
    let failed = |code: i32| code != 0;
    pod.status.phase == "Failed"
        || pod.container().is_some_and(|status| {
            let states = [&status.state, &status.last_state];
            states.iter().any(|state| state.terminated.as_ref().is_some_and(|end| failed(end.exit_code)))
        })
}

/// The report of a job, computed from the spec that the job's ConfigMap has in an annotation.
fn report(objects: &Objects, job: &str) -> Option<Report> {
    let text = objects.current(job)?.metadata.annotations.get("khorovod.dev/spec")?.clone();
    let text = Text { name: "the spec in the cluster".to_owned(), text };
    let reports = khorovod::reports(&text, &Inputs { keys: Keys::Masked, ..Inputs::default() }).ok()?;
    reports.jobs.into_iter().next()
}

/// The number of the pod that runs a rank, if the spec of the job is known.
pub fn pod_of_rank(objects: &Objects, job: &str, rank: u32) -> Option<u32> {
    rank.checked_div(report(objects, job)?.workers.first()?.slots)
}

/// The maximum number of ranks that a job may have, if its spec is known.
pub fn most_ranks(objects: &Objects, job: &str) -> Option<u32> {
    let report = report(objects, job)?;
    let slots = report.workers.first()?.slots;
    Some(report.elastic.map_or(report.ranks, |(_, most)| most.saturating_mul(slots))).filter(|most| *most > 0)
}

/// The rank that printed a line of a launcher, from the prefix that the launcher program adds: `[1,3]<stdout>:` of Open MPI,
/// `[3]<stdout>:` of horovodrun, and `[3] ` of MPICH and Intel MPI.
pub fn rank_of_line(line: &str) -> Option<u32> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rank = inside.rsplit(',').next()?.parse().ok()?;
    (rest.starts_with("<std") || rest.starts_with(' ')).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_ranks() {
        for (line, rank) in [
            ("[1,3]<stdout>: loss 1", Some(3)),
            ("[1,12]<stderr>:a", Some(12)),
            ("[0]<stdout>:a", Some(0)),
            ("[7] a", Some(7)),
            ("[2026-11-26 07:00:00] a", None),
            ("[rank0]: a", None),
            ("12:00:00 khorovod: launching", None),
            ("[3", None),
        ] {
            assert_eq!(rank_of_line(line), rank, "{line}");
        }
    }

    fn objects(pods: &[(&str, &str, &str, &str)]) -> Objects {
        let mut objects = Objects::default();
        let items: Vec<_> = pods
            .iter()
            .map(|(name, component, index, command)| {
                let mut labels = serde_json::json!({RUN: "abc", COMPONENT: component});
                if !index.is_empty() {
                    labels[INDEX] = (*index).into();
                }
                serde_json::json!({"kind": "Pod", "metadata": {"name": name, "labels": labels},
                    "spec": {"containers": [{"name": "worker", "command": ["/bin/bash", command]}]}})
            })
            .collect();
        objects.add(&serde_json::json!({ "items": items }).to_string()).unwrap();
        objects
    }

    #[test]
    fn the_launcher_has_the_output_unless_torchrun_runs() {
        let sets = objects(&[
            ("a-abc-worker-10", "worker", "", "/etc/khorovod/scripts/worker.sh"),
            ("a-abc-worker-2", "worker", "", "/etc/khorovod/scripts/worker.sh"),
            ("a-abc-launcher-x1", "launcher", "", "/etc/khorovod/scripts/launcher.sh"),
        ]);
        let found = Output::find(&sets, "abc");
        let names: Vec<_> = found.pods.iter().map(|pod| short_name(pod)).collect();
        assert_eq!(names, ["launcher", "worker-2", "worker-10"]);
        assert!(!found.is_per_pod && found.launchers().len() == 1);
        for word in ["10", "worker-10", "a-abc-worker-10"] {
            assert_eq!(found.worker(word)[0].metadata.name, "a-abc-worker-10");
        }
        assert!(found.worker("3").is_empty() && Output::find(&sets, "other").pods.is_empty());
        let torchrun = objects(&[
            ("a-abc-1-x", "worker", "1", "/etc/khorovod/scripts/agent.sh"),
            ("a-abc-0-y", "worker", "0", "/etc/khorovod/scripts/agent.sh"),
        ]);
        let found = Output::find(&torchrun, "abc");
        assert!(found.is_per_pod && found.launchers()[0].metadata.name == "a-abc-0-y");
        assert_eq!(short_name(found.worker("1")[0]), "worker-1");
    }
}
