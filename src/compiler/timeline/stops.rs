//! The timelines of runs without a fault of the cluster: the training ends, crashes, hangs, takes too long or is
//! replaced. Each function adds phases to a [`Story`].

use super::faults::{checked, note_lost};
use super::story::Role::{Head, NewHead, NewWorkers, Others, Spare, Victim};
use super::story::{Story, named};
use super::times::{Time, seconds};
use super::{Kind, Pods, State, duration};

/// Nothing fails.
pub fn no_fault(story: &mut Story) {
    story.start();
    let facts = story.facts;
    if facts.interactive {
        let reason = "The session ends when you end it, or after `launcher.idleTimeout` without use.".to_owned();
        story.train(Time { reason, ..Time::of("trained").lasting(3_600) });
        story.release("trained", "Complete", "The session has ended.");
    } else {
        story.train(Time::of("trained").lasting(3_600));
        story.completes();
    }
    let unit = if facts.gpus_workers > 0 { "GPUs" } else { "pods" };
    story.conclude(if facts.keeps_workers {
        format!("The training ends, and the workers keep their {unit} until you delete them.")
    } else {
        format!("The training ends, and its {unit} are free within {}.", duration(seconds("released")))
    });
    story.notes.push("The steps are not to scale. Choose what goes wrong, and move through the time.".to_owned());
}

/// A rank exits with an error.
pub fn crash(story: &mut Story) {
    story.start();
    story.train(Time::of("trained"));
    story.fails();
    let facts = story.facts;
    let victim = if story.has(Victim) { Victim } else { Head };
    story.set(&[(Others, State::Stuck, "waiting for the rank that has ended")]);
    if !story.has_launcher() {
        story.set(&[(Head, State::Stuck, "waiting for the rank that has ended")]);
    }
    story.set(&[(victim, State::Stuck, "with a rank that exited with code 1")]);
    if facts.min_workers.is_some() {
        let text = if story.has_launcher() {
            "Horovod starts the ranks of the other workers again, from their last commit. The host may return after `workers.elastic.cooldown`."
        } else {
            "torchrun starts all ranks again."
        };
        story.add(Kind::Fault, "A rank fails", Time::of("adapt"), text, vec![]);
        story.trains_again(&[(victim, State::Training, "running ranks")], "Training continues.");
        story.completes();
        story.summarize("A rank exits with an error");
        note_lost(story);
        return;
    }
    let failed = if facts.pods == Pods::Agents && facts.workers > 1 {
        format!("ranks failed on {}", story.victim())
    } else {
        "training ended with code 1".to_owned()
    };
    let log = vec![format!("attempt 1 of {} failed: {failed}", facts.retries + 1)];
    let text = match facts.pods {
        Pods::Agents => "A rank exits with code 1. Its agent reports it, and all agents end their ranks.",
        _ => "A rank exits with code 1. The launch program notices and ends the other ranks.",
    };
    story.add(Kind::Fault, "A rank fails", Time::of("noticed"), text, log);
    if facts.retries == 0 {
        first_failure_ends(story, &failed, "A rank exits with an error");
        return;
    }
    retry(story, Vec::new());
    story.summarize("A rank exits with an error");
    let retries = facts.retries;
    story.notes.push(format!(
        "This costs one of {retries} retries. After {} failed attempts in a row the run ends with code 42.",
        retries + 1
    ));
    if let Some(reset) = facts.reset_after {
        let reset = named(reset, "lifecycle.retriesResetAfter");
        story.notes.push(format!("An attempt that ran for {reset} sets the count back."));
        let limit = match facts.deadline {
            Some(seconds) => format!("until the deadline of {}", named(seconds, "lifecycle.deadline")),
            None => "without a limit: set `lifecycle.deadline`".to_owned(),
        };
        story.notes.push(format!("A bug that appears later than that starts the training again and again, {limit}."));
    }
}

/// Adds the phases in which the run ends because no retry is allowed. `failed` is why the attempt failed.
fn first_failure_ends(story: &mut Story, failed: &str, what: &str) {
    let line = format!("failed after 1 attempt; the last: {failed}");
    story.release(&line, "Failed, code 42", "`lifecycle.retries` is 0.");
    story.conclude(format!("{what}: the run ends with code 42, because `lifecycle.retries` is 0."));
    story.notes.push("Set `lifecycle.retries: 3`: then the training starts again.".to_owned());
}

/// The pause after a failed attempt, and the next attempt, which trains to the end.
fn retry(story: &mut Story, before: Vec<String>) {
    story.set_workers(State::Ready, "old ranks ended");
    let state = if story.has_launcher() { State::Leading } else { State::Ready };
    story.set(&[(Head, state, "preparing the next attempt")]);
    story.add(Kind::Recover, "Pause", Time::of("pause"), "The next attempt starts soon.", Vec::new());
    let text = format!("The next attempt starts on the same hosts.{}", checked(story));
    let mut log = before;
    if story.facts.pods != Pods::Agents {
        log.insert(0, story.answer(story.facts.workers, 0));
    }
    story.add(Kind::Recover, "Start the ranks", Time::of("restart"), &text, story.start_lines(log));
    let text = story.continues();
    story.trains_again(&[(Victim, State::Training, "running ranks")], text);
    story.completes();
}

/// A rank hangs.
pub fn hang(story: &mut Story) {
    story.start();
    story.train(Time::of("trained"));
    story.fails();
    let facts = story.facts;
    let victim = if story.has(Victim) { Victim } else { Head };
    story.set(&[(Others, State::Stuck, "waiting for the rank that hangs")]);
    if !story.has_launcher() {
        story.set(&[(Head, State::Stuck, "waiting for the rank that hangs")]);
    }
    story.set(&[(victim, State::Stuck, "with a rank that hangs")]);
    let what = "One rank waits for something that does not come, and all others wait for it. There is no error.";
    let Some(timeout) = facts.stall else {
        hangs_on(story, what);
        return;
    };
    let text = format!("{what} Nothing is printed.");
    story.add(Kind::Fault, "A rank hangs", Time::field(timeout, "lifecycle.stall.timeout"), &text, vec![]);
    let every = if timeout < 25 { 5 } else { timeout / 5 };
    let time = Time {
        seconds: Some(every),
        reason: "It looks five times per `lifecycle.stall.timeout`.".to_owned(),
        ..Time::of("noticed")
    };
    let looks = if story.has_launcher() { "The launcher looks" } else { "Pod 0 looks" };
    story.add(Kind::Fault, "Next look", time, &format!("{looks} for progress at intervals."), vec![]);
    let stalled = format!("no output for {} s", timeout + every);
    let ranks = facts.ranks;
    let log = vec![
        format!("{stalled}: asking all hosts what their ranks are doing"),
        format!("  {} in all_reduce (train.py:88)", super::count(ranks.saturating_sub(1), "rank")),
        format!(
            "  rank {} in read (data.py:12) on {}",
            ranks.saturating_sub(1).min(17),
            story.victim().split('.').next().unwrap_or_default()
        ),
    ];
    let text = "All hosts are asked what their ranks are doing. The log groups the ranks by the line that they are in, with stacks.";
    story.add(Kind::Fault, "Collect evidence", Time::of("collect"), text, log);
    if !facts.stall_retries {
        hangs_on(story, "`lifecycle.stall.action` is `report`, so the attempt goes on.");
        return;
    }
    if facts.retries == 0 {
        first_failure_ends(story, &stalled, "A rank hangs");
        return;
    }
    retry(story, vec![]);
    story.summarize("A rank hangs");
    story.notes.push("This costs a retry. The log shows which rank hangs, and where.".to_owned());
    story.notes.push("The timeout must be longer than the longest pause of a healthy training.".to_owned());
}

/// The training hangs until a person or the deadline ends it.
fn hangs_on(story: &mut Story, what: &str) {
    let facts = story.facts;
    let has_stall = facts.stall.is_some();
    let unset = if has_stall { "" } else { " Without `lifecycle.stall`, nothing looks for progress." };
    if let Some(deadline) = facts.deadline {
        let text = format!("{what}{unset} The ranks hang until the deadline.");
        let passed = story.passed();
        let time = Time::field(deadline.saturating_sub(passed), "lifecycle.deadline");
        story.add(Kind::Fault, "A rank hangs", time, &text, vec![]);
        expire(story, deadline);
        story.conclude(format!("A rank hangs: all GPUs are held until the deadline of {}.", duration(deadline)));
    } else {
        let text = format!("{what}{unset} All pods keep what they hold.");
        story.add(
            Kind::Fault,
            "A rank hangs",
            Time::open("Until you notice it, and delete the job or the pod."),
            &text,
            vec![],
        );
        story.conclude("A rank hangs: nothing ends it, and all GPUs are held until you act.");
    }
    if !has_stall {
        let advice = if facts.retries == 0 {
            "Set `lifecycle: {stall: {timeout: 20m}}`: then the log shows which rank hangs and where, and the run ends. With `lifecycle.retries: 3`, the training starts again."
        } else {
            "Set `lifecycle: {stall: {timeout: 20m}}`: then the log shows which rank hangs and where, and the training starts again."
        };
        story.notes.push(advice.to_owned());
    }
}

/// The run reaches its deadline.
pub fn deadline(story: &mut Story) {
    story.start();
    let Some(deadline) = story.facts.deadline else {
        story.train(Time::open("The spec has no `lifecycle.deadline`."));
        story.conclude("There is no deadline: the run holds its GPUs for as long as the training runs.");
        story.notes.push("Set `lifecycle.deadline: 24h`, and the run ends after that time in any case.".to_owned());
        return;
    };
    let passed = story.passed();
    story.train(Time::field(deadline.saturating_sub(passed), "lifecycle.deadline"));
    story.fails();
    expire(story, deadline);
    story.conclude(format!("The run ends {} after its start, with code 44.", duration(deadline)));
    story.notes.push("You can change the deadline while the run is active: apply the changed spec.".to_owned());
}

/// The deadline has passed: the ranks get the signal to save a checkpoint, and the run ends.
fn expire(story: &mut Story, deadline: u64) {
    let why = format!("past its deadline of {deadline} s");
    let looks = if story.has_launcher() { "The launcher looks every 5 s." } else { "Pod 0 looks every 5 s." };
    let time = Time { reason: looks.to_owned(), ..Time::of("noticed") };
    let line = notice(story, &why);
    story.add(
        Kind::Fault,
        "The deadline passes",
        time,
        "The time since the start of the run is longer than `lifecycle.deadline`.",
        vec![line],
    );
    save(story);
    story.release(&why, "Ended, code 44", "The deadline has passed.");
}

/// The log line when all ranks get the signal to save a checkpoint. `why` is the reason for the signal.
fn notice(story: &Story, why: &str) -> String {
    format!("{why}: all ranks get SIG{} and have {} s to save a checkpoint", story.facts.signal, story.facts.grace)
}

/// All ranks save a checkpoint.
fn save(story: &mut Story) {
    story.set_workers(State::Saving, "saving a checkpoint");
    let text = format!(
        "All ranks get SIG{}, and save a checkpoint if the program handles it. If they exit sooner, this takes less.",
        story.facts.signal
    );
    let time = Time::field(story.facts.grace, "lifecycle.checkpoint.gracePeriod");
    story.add(Kind::Save, "Save a checkpoint", time, &text, Vec::new());
}

/// A spec that starts a new run is applied.
pub fn change(story: &mut Story) {
    story.start();
    story.train(Time::of("trained"));
    story.fails();
    let has_launcher = story.has_launcher();
    story.set(&[
        (NewHead, State::Leading, "waiting for the workers"),
        (NewWorkers, State::Pending, "without a node: the GPUs are in use"),
    ]);
    let text = "You apply a change that affects the ranks. Kubernetes creates the objects of a new run beside those of the old one, which trains on until it sees that it is not current.";
    let new = "superseded: run NEW is current";
    let line = notice(story, new);
    story.add(Kind::Fault, "A new run", Time::of("current"), text, vec![line]);
    save(story);
    story.set_workers(State::Ready, "ending");
    story.set(&[(Head, State::Ready, "ending"), (Spare, State::Ready, "ending")]);
    let released = has_launcher.then(|| "released the workers".to_owned());
    let log = [new.to_owned()].into_iter().chain(released).collect();
    story.add(
        Kind::Release,
        "The old run ends",
        Time::of("released"),
        "The old run ends with code 43. Its GPUs become free.",
        log,
    );
    story.set_workers(State::Absent, "gone");
    story.set(&[
        (Head, State::Absent, "ended"),
        (Spare, State::Absent, "gone"),
        (NewWorkers, State::Starting, "getting a node, pulling the image, starting"),
    ]);
    let facts = story.facts;
    let until = named(facts.start_timeout, "lifecycle.startTimeout");
    let log = if has_launcher { vec![story.answer(facts.workers, seconds("start"))] } else { vec![] };
    story.add(
        Kind::Wait,
        "Wait",
        Time::of("start"),
        &format!("The workers of the new run start as GPUs become free, at most {until}."),
        log,
    );
    story.set(&[(NewWorkers, State::Ready, "being checked")]);
    story.add(
        Kind::Recover,
        "Check the world",
        Time::of("restart"),
        "The same checks as before each first attempt.",
        story.start_lines(vec![]),
    );
    let acts = [
        (NewHead, State::Leading, "watching the workers, printing the output of the ranks"),
        (NewWorkers, State::Training, "running ranks"),
    ];
    story.set(&acts);
    story.add_again("The new run trains.");
    story
        .conclude("A change that affects the ranks: the old run gets time to save a checkpoint and ends, then the new one starts.");
    story.notes.push("Other changes, such as labels, time limits or retries, continue the run. The view Objects shows which kind a change is.".to_owned());
    story.notes.push("If there are free GPUs, the new run starts sooner, and both hold GPUs for a while.".to_owned());
}
