//! The timelines of nodes that fail and of evictions. Each function adds phases to a [`Story`].

use super::facts::FOREVER;
use super::story::Role::{Head, Others, Replacement, Spare, Victim};
use super::story::{Story, named};
use super::times::{Time, seconds};
use super::{Kind, Pods, State, duration};

/// The node of a worker fails.
pub fn worker_node(story: &mut Story) {
    if !story.has(Victim) {
        launcher_node(story);
        return;
    }
    story.start();
    story.train(Time::of("trained"));
    story.fails();
    if story.facts.min_workers.is_some() {
        elastic_worker(story);
        return;
    }
    let facts = story.facts;
    let victim = story.victim();
    story.set(&[
        (Victim, State::Dead, "not answering: the node has failed"),
        (Others, State::Stuck, "waiting for the lost ranks"),
    ]);
    let counts = "The attempt ran for more than a minute, so this costs no retry.";
    let text = match facts.pods {
        Pods::Launcher => {
            "A node fails without notice, and the ranks wait for those of its worker. The launcher asks all workers, and one no longer answers."
        }
        Pods::Indexed => {
            "A node fails without notice, and the ranks wait for those of its pod. Pod 0 asks all pods, and one no longer answers."
        }
        Pods::Agents => {
            "A node fails without notice. The agents send each other a line every two seconds, and one is silent."
        }
    };
    if !story.has_launcher() {
        story.set(&[(Head, State::Stuck, "waiting for the lost ranks")]);
    }
    let ended = vec![
        format!("lost worker {victim}"),
        format!("attempt ended: lost worker {victim}; it does not count against lifecycle.retries"),
    ];
    story.add(Kind::Fault, "A worker is lost", Time::of("lost"), text, ended);
    if facts.pods == Pods::Launcher && facts.spares > 0 {
        spare_takes_over(story, &victim, "lost");
    } else if facts.pods == Pods::Launcher && facts.has_access {
        another_worker(story, &victim);
    } else if facts.has_access {
        another_pod(story, &victim);
    } else {
        never_replaced(story);
        return;
    }
    let text = story.continues();
    let taken = if facts.spares > 0 { Spare } else { Replacement };
    let acts = [(
        taken,
        State::Training,
        if facts.spares > 1 {
            "one running the ranks of the lost worker"
        } else {
            "running the ranks of the lost worker"
        },
    )];
    story.trains_again(&acts, text);
    story.completes();
    story.summarize("A node fails");
    story.notes.push(counts.to_owned());
    if facts.pods == Pods::Launcher && facts.spares == 0 {
        let saved = seconds("replace");
        story.notes.push(format!(
            "With `workers.spares: 1`, a ready worker takes the place: {} less, and no free node is needed.",
            duration(saved)
        ));
    }
    if facts.spares > 0 {
        story.notes.push("A spare holds GPUs while it waits. Without one, the launcher starts another worker, which needs a free node.".to_owned());
    }
    note_volume(story);
}

fn spare_takes_over(story: &mut Story, victim: &str, why: &str) {
    let spare = story.host(story.facts.workers);
    story.set(&[(Others, State::Ready, "old ranks ended"), (Spare, State::Ready, "taking the place")]);
    let mut log = vec![format!("{spare} takes the place of {victim}")];
    if why == "lost" {
        log.insert(0, story.answer(story.facts.workers, 0));
    }
    let text = format!(
        "The spare is ready, so the next attempt starts at once. Every other rank stays on its host.{}",
        checked(story)
    );
    story.add(Kind::Recover, "Use the spare", Time::of("restart"), &text, story.start_lines(log));
}

fn another_worker(story: &mut Story, victim: &str) {
    let workers = story.facts.workers;
    let next = story.next();
    story.set(&[
        (Others, State::Ready, "old ranks ended"),
        (Replacement, State::Starting, "getting a free node, starting"),
    ]);
    let text = "Kubernetes does not replace a pod of a StatefulSet while its node does not answer. So the launcher adds one worker, with a higher index.";
    let log = vec![
        story.waiting(workers - 1, victim),
        format!("{victim} has an address but does not answer: {next} replaces it"),
        story.answer(workers, seconds("replace")),
    ];
    story.add(Kind::Recover, "Start another worker", Time::of("replace"), text, log);
    story.set(&[(Replacement, State::Ready, "answering")]);
    start_again(story, vec![format!("{next} takes the place of {victim}")]);
}

/// Adds the phases in which Kubernetes replaces the lost pod of an Indexed Job.
fn another_pod(story: &mut Story, victim: &str) {
    story.set(&[(Head, State::Ready, "waiting for the lost pod"), (Others, State::Ready, "old ranks ended")]);
    let log = match story.facts.pods {
        Pods::Agents => vec![],
        _ => vec![story.waiting(story.facts.workers - 1, victim)],
    };
    let rest = seconds("not_ready") - seconds("lost");
    let reason = format!("{} Of these, {} have passed.", Time::of("not_ready").reason, duration(seconds("lost")));
    let time = Time { reason, ..Time::of("not_ready").lasting(rest) };
    story.add(
        Kind::Recover,
        "Kubernetes notices",
        time,
        "The other pods have ended their ranks and wait. They keep their GPUs.",
        log,
    );
    replaced_by_kubernetes(story);
    start_again(story, Vec::new());
}

/// Kubernetes replaces a pod of a Job whose node has become NotReady.
fn replaced_by_kubernetes(story: &mut Story) {
    let time = match story.facts.tolerated {
        Some(seconds) if seconds != FOREVER => Time::field(seconds, "placement.tolerations"),
        _ => Time::of("tolerated"),
    };
    story.add(
        Kind::Recover,
        "Wait for the node",
        time,
        "Kubernetes keeps the pod for a while, because many nodes come back.",
        Vec::new(),
    );
    story.set(&[(Replacement, State::Pending, "waiting for the back-off")]);
    story.add(
        Kind::Recover,
        "Back-off",
        Time::of("backoff"),
        "Kubernetes starts the pod again on another node, after a pause.",
        Vec::new(),
    );
    story.set(&[(Replacement, State::Starting, "getting a node, starting")]);
}

fn start_again(story: &mut Story, before: Vec<String>) {
    let text = format!("The launcher ends what is left of the old attempt and starts the next one.{}", checked(story));
    let text = if story.has_launcher() { text } else { text.replace("The launcher", "Pod 0") };
    story.add(Kind::Recover, "Start the ranks", Time::of("restart"), &text, story.start_lines(before));
}

/// The sentence about health checks before a further attempt. Empty if there are none.
pub fn checked(story: &Story) -> &'static str {
    if story.facts.checks_again { " Before that it checks the GPUs of all hosts." } else { "" }
}

/// Without permissions, the launcher cannot add a worker, and the lost pod is replaced only after the node is deleted.
fn never_replaced(story: &mut Story) {
    let why = if story.facts.keeps_workers { "`lifecycle.keepWorkers: true`" } else { "`security.apiAccess: false`" };
    let timeout = story.facts.start_timeout;
    story.set(&[(Others, State::Ready, "waiting"), (Head, State::Ready, "waiting for the lost worker")]);
    let victim = story.victim();
    let text = format!(
        "With {why}, nothing replaces a pod on a dead node until you delete the node. The next attempt waits for it."
    );
    let log = vec![story.waiting(story.facts.workers - 1, &victim)];
    story.add(Kind::Fault, "Wait for the node", Time::field(timeout, "lifecycle.startTimeout"), &text, log);
    story.release("only some of the workers answered", "Failed, code 42", "The workers did not all answer in time.");
    story.conclude(format!(
        "A node fails: the run ends with code 42, unless you delete the node within {}.",
        duration(timeout)
    ));
}

fn note_volume(story: &mut Story) {
    if !story.facts.has_volume {
        story.notes.push("Save checkpoints to a volume: without one, each restart begins from nothing.".to_owned());
    }
}

/// Adds the note about the work that an elastic job loses if it continues with other workers.
pub fn note_lost(story: &mut Story) {
    let note = if story.has_launcher() {
        "The work since the last commit of Horovod's state is lost. The workers that are left keep that state in memory."
    } else if story.facts.has_volume && story.facts.has_checkpoints {
        "torchrun starts all ranks again, so the work since the last checkpoint is lost."
    } else {
        "torchrun starts all ranks again, so the work since the last checkpoint is lost; all work is lost if the program saves none."
    };
    story.notes.push(note.to_owned());
}

/// An elastic job continues with the remaining workers.
fn elastic_worker(story: &mut Story) {
    let facts = story.facts;
    let (least, timeout) = (facts.min_workers.unwrap_or_default(), facts.elastic_timeout);
    let left = facts.workers - 1;
    let horovod = facts.pods == Pods::Launcher;
    story.set(&[
        (Victim, State::Dead, "not answering: the node has failed"),
        (Others, State::Stuck, "waiting for the lost ranks"),
    ]);
    if !story.has_launcher() {
        story.set(&[(Head, State::Stuck, "waiting for the lost ranks")]);
    }
    let text = if horovod {
        "Horovod asks every second which workers answer. One that is silent gets no ranks any more, and the others start again from their last commit."
    } else {
        "torchrun notices that an agent is gone, and starts the ranks of the other pods again."
    };
    story.add(Kind::Fault, "A worker is lost", Time::of("adapt"), text, Vec::new());
    if left < least {
        story.set(&[(Others, State::Stuck, "waiting for more workers")]);
        let log = vec![format!(
            "{left} of at least {least} workers answer; training waits for more until workers.elastic.timeout"
        )];
        let log = if horovod { log } else { Vec::new() };
        story.add(
            Kind::Fault,
            "Too few workers",
            Time::field(timeout, "workers.elastic.timeout"),
            &format!("{left} workers are fewer than `workers.elastic.minReplicas`."),
            log,
        );
        story.set(&[(Others, State::Ready, "waiting for more workers")]);
        let text = "The attempt has failed. The next one waits again.";
        story.add(
            Kind::Fault,
            "Wait for workers",
            Time::field(facts.start_timeout, "lifecycle.startTimeout"),
            text,
            vec![],
        );
        story.release("too few workers answered", "Failed, code 42", "No worker has come.");
        story.conclude(format!(
            "A node fails: {left} workers are too few, so the training waits, and the run ends if none comes."
        ));
        return;
    }
    if !horovod && facts.has_access {
        let time = seconds("not_ready") + seconds("tolerated") + seconds("backoff");
        let reason = format!("Kubernetes replaces the pod {} after the failure.", duration(time));
        let time = Time { reason, ..Time::of("not_ready").lasting(time.saturating_sub(seconds("adapt"))) };
        let from = if facts.has_volume && facts.has_checkpoints {
            "from the last checkpoint"
        } else {
            "from the last checkpoint if the program saves any and loads it"
        };
        story.trains_again(&[], &format!("Training continues with {left} workers, {from}."));
        // `trains_again` uses an example for the length of the phase. Here, Kubernetes ends the phase by replacing the
        // pod.
        story.replace_last(time);
        story.set(&[
            (Replacement, State::Starting, "joining"),
            (Head, State::Stuck, "starting ranks again"),
            (Others, State::Stuck, "starting ranks again"),
        ]);
        story.add(
            Kind::Recover,
            "A pod joins",
            Time::of("adapt"),
            "torchrun starts all ranks again, with those of the new pod.",
            vec![],
        );
        let acts = [
            story.head_trains(),
            (Others, State::Training, "running ranks"),
            (Replacement, State::Training, "running ranks"),
        ];
        story.set(&acts);
        story.add(Kind::Train, "Train", Time::of("trained"), "All workers train.", vec![]);
    } else {
        story.trains_again(&[], &format!("Training continues with {left} workers."));
    }
    story.completes();
    story.summarize("A node fails");
    note_lost(story);
    if horovod {
        story.notes.push(
            "The worker is not replaced while its node is dead. To get another one, scale the StatefulSet up by one."
                .to_owned(),
        );
    }
}

/// The node of the pod that starts the ranks fails.
pub fn launcher_node(story: &mut Story) {
    story.start();
    story.train(Time::of("trained"));
    story.fails();
    let facts = story.facts;
    story.set(&[(Head, State::Dead, "not answering: the node has failed")]);
    if !facts.has_access {
        let text =
            "A Job with a failure policy replaces a pod only after it has ended, and a pod on a dead node never ends.";
        let workers = if story.has_launcher() { "without a launcher; ranks may run on" } else { "waiting for pod 0" };
        story.set_others(State::Stuck, workers);
        let time = Time::open("Delete the node: then the pod is replaced.");
        story.add(Kind::Fault, "Nothing replaces it", time, text, vec![]);
        let why = if facts.keeps_workers { "lifecycle.keepWorkers: true" } else { "security.apiAccess: false" };
        story.conclude(format!(
            "The node fails: nothing happens until you delete the node. This is the cost of `{why}`."
        ));
        return;
    }
    let tolerated = facts.tolerated.unwrap_or_else(|| seconds("tolerated"));
    let forever = tolerated == FOREVER;
    if story.has_launcher() {
        story.set_others(State::Stuck, "without a launcher; ranks may run on");
        let text =
            "The node fails without notice, and with it the launcher. The workers keep their pods and their GPUs.";
        story.add(Kind::Fault, "The launcher is lost", Time::of("not_ready"), text, vec![]);
    } else {
        agents_without_head(story);
    }
    if story.has_launcher()
        && facts.has_guard
        && (forever || tolerated.saturating_add(seconds("backoff")) > facts.lost_timeout)
    {
        no_launcher(story);
        return;
    }
    if forever {
        let time = Time::open("`placement.tolerations` tolerates such a node without end. Delete the node.");
        story.add(Kind::Fault, "Wait for the node", time, "Kubernetes does not replace the pod.", vec![]);
        story
            .conclude("The node fails: nothing happens until you delete the node, because of `placement.tolerations`.");
        return;
    }
    replaced_by_kubernetes(story);
    let what = if story.has_launcher() { "The node of the launcher fails" } else { "The node of pod 0 fails" };
    // Agents do not record their attempts for a later pod 0, so these do not count.
    if facts.retries == 0 && facts.pods != Pods::Agents {
        let line = "1 attempt failed, the last with its launcher, and lifecycle.retries is 0";
        story.release(
            line,
            "Failed, code 42",
            "The attempt has failed with its launcher, and `lifecycle.retries` is 0.",
        );
        story.conclude(format!("{what}: the run ends with code 42, because `lifecycle.retries` is 0."));
        return;
    }
    let before = match facts.pods {
        Pods::Agents => vec![],
        _ => vec![story.answer(facts.min_workers.unwrap_or(facts.workers), 1)],
    };
    start_again(story, before);
    let text = story.continues();
    let head = if story.has_launcher() {
        (Replacement, story.head_trains().1, "watching the workers, printing the output of the ranks")
    } else {
        (Replacement, State::Training, "running ranks, leading the run")
    };
    let spare = (Spare, State::Ready, "ready, running no ranks");
    story.trains_again(&[(Head, State::Dead, "not answering"), head, spare], text);
    story.completes();
    story.summarize(what);
    let note = match facts.pods {
        Pods::Launcher => "Another launcher continues the run on the same workers. This costs a retry.",
        Pods::Indexed => "The other pods stay. Pod 0 starts on another node. This costs a retry.",
        Pods::Agents => "The other pods stay. Pod 0 starts on another node. This costs no retry.",
    };
    story.notes.push(note.to_owned());
    note_volume(story);
}

/// Adds the phase in which pod 0 of an Indexed Job is lost and the other pods wait for it.
fn agents_without_head(story: &mut Story) {
    let facts = story.facts;
    if facts.pods == Pods::Agents && facts.min_workers.is_none() {
        story.set_others(State::Stuck, "waiting for the ranks of pod 0");
        let text = "A node fails without notice, and with it pod 0. The other agents no longer hear from it.";
        let log = if facts.workers > 1 {
            vec![format!("lost worker {}; this agent joins again", story.host(0))]
        } else {
            vec![]
        };
        story.add(Kind::Fault, "Pod 0 is lost", Time::of("lost"), text, log);
        story.set_others(State::Ready, "waiting for pod 0");
        let rest = seconds("not_ready") - seconds("lost");
        let text = format!(
            "The other agents have ended their ranks. They wait for pod 0, at most {}.",
            named(facts.start_timeout, "lifecycle.startTimeout")
        );
        story.add(
            Kind::Recover,
            "Kubernetes notices",
            Time::of("not_ready").lasting(rest),
            &text,
            vec![format!("waiting for {}.{}", story.host(0), facts.service)],
        );
    } else {
        story.set_others(State::Stuck, "waiting for pod 0");
        let text = "A node fails without notice, and with it pod 0. The other pods stay, and keep their GPUs.";
        story.add(Kind::Fault, "Pod 0 is lost", Time::of("not_ready"), text, vec![]);
    }
}

/// No new launcher starts, so the first workers release all workers.
fn no_launcher(story: &mut Story) {
    let allowed = story.facts.lost_timeout;
    let time = Time::field(allowed, "launcher.lostTimeout");
    let text = "`placement.tolerations` keeps the pod of the launcher on its dead node, so no other launcher starts.";
    story.add(Kind::Fault, "No launcher", time, text, vec![]);
    let line = format!("no launcher has run for {allowed} s: this worker releases the workers of the run");
    story.release(&line, "Ended", "The first workers have noticed that no launcher runs.");
    story.conclude(format!(
        "The node of the launcher fails: the workers release their GPUs after {}.",
        duration(allowed)
    ));
}

/// A worker is evicted, with notice.
pub fn eviction(story: &mut Story) {
    story.start();
    story.train(Time::of("trained"));
    story.fails();
    let facts = story.facts;
    let victim = if story.has(Victim) { Victim } else { Head };
    let name = story.victim();
    let (signal, grace) = (&facts.signal, facts.grace);
    let asked = format!("worker {name} ends, because it was evicted or deleted");
    if facts.min_workers.is_some() {
        story.set(&[(victim, State::Saving, "saving a checkpoint")]);
        let text =
            format!("The worker gets no more ranks, and its ranks get SIG{signal}. The others start again without it.");
        story.add(Kind::Save, "Leave", Time::field(grace, "lifecycle.checkpoint.gracePeriod"), &text, vec![]);
        story.set(&[
            (victim, State::Starting, "starting on another node"),
            (Others, State::Stuck, "starting ranks again"),
        ]);
        story.add(
            Kind::Recover,
            "Adapt",
            Time::of("adapt"),
            "The training goes on with the workers that are left. A new pod joins when it has a node.",
            vec![],
        );
        story.trains_again(&[(victim, State::Training, "back again, running ranks")], "Training continues.");
        story.completes();
        story.summarize("A worker is evicted");
        note_lost(story);
        return;
    }
    story.set(&[(victim, State::Training, "got notice, announcing it")]);
    let text = "A drain, a preemption or `kubectl delete pod` ends a worker with notice. The worker announces it, and the launcher notices.";
    let text = if story.has_launcher() {
        text.to_owned()
    } else {
        text.replace("worker", "pod").replace("the launcher notices", "the others notice")
    };
    let all = format!("{asked}: all ranks get SIG{signal} and have {grace} s to save a checkpoint");
    story.add(Kind::Fault, "Notice", Time::of("noticed"), &text, vec![all]);
    story.set_workers(State::Saving, "saving a checkpoint");
    if !story.has_launcher() {
        story.set(&[(Head, State::Saving, "saving a checkpoint")]);
    }
    let text = format!(
        "All ranks get SIG{signal}, and save a checkpoint if the program handles it. If they exit sooner, this takes less."
    );
    let log = vec![format!("attempt ended: {asked}; it does not count against lifecycle.retries")];
    story.add(Kind::Save, "Save a checkpoint", Time::field(grace, "lifecycle.checkpoint.gracePeriod"), &text, log);
    story.set_workers(State::Ready, "old ranks ended");
    let mut acts = vec![];
    if facts.pods == Pods::Launcher && facts.spares > 0 {
        story.set(&[(Victim, State::Absent, "gone")]);
        spare_takes_over(story, &name, "evicted");
        acts.push((Spare, State::Training, "running the ranks of the evicted worker"));
        acts.push((Victim, State::Ready, "a new pod, ready as a spare"));
    } else {
        story.set(&[(victim, State::Starting, "starting on another node")]);
        if facts.pods != Pods::Launcher {
            let text = "Kubernetes waits before it replaces a pod of a Job.";
            story.add(Kind::Recover, "Back-off", Time::of("backoff"), text, vec![]);
        }
        start_again(story, vec![]);
        acts.push((victim, State::Training, "a new pod, running ranks"));
    }
    let text = match (facts.has_volume, facts.has_checkpoints) {
        (true, true) => "The program loads the checkpoint that it has just saved.",
        (true, false) => {
            "If the program has saved a checkpoint on the signal, it loads that; otherwise it repeats more work."
        }
        (false, _) => story.continues(),
    };
    story.trains_again(&acts, text);
    story.completes();
    story.summarize("A worker is evicted");
    story.notes.push(
        "With notice, no work is lost if the program saves a checkpoint on the signal. This costs no retry.".to_owned(),
    );
    note_volume(story);
}
