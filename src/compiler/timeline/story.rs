//! [`Story`]: builds a timeline phase by phase. The phases that all scenarios share are here.

use super::times::{Source, Time, measured};
use super::{Activity, Facts, Kind, Lane, Phase, Pods, Scenario, State, Timeline, count, duration};

/// The role of the pods of a lane in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The pod that starts the ranks.
    Head,
    /// The worker that has the fault.
    Victim,
    /// The other workers.
    Others,
    Spare,
    /// The pod that replaces a lost pod.
    Replacement,
    /// The pods of another run.
    NewHead,
    NewWorkers,
}

use Role::{Head, NewHead, NewWorkers, Others, Replacement, Spare, Victim};

/// The activity of a pod: its role, its state, and the end of a sentence.
pub type Act<'a> = (Role, State, &'a str);

/// A timeline that is being built.
pub struct Story<'a> {
    pub facts: &'a Facts,
    scenario: Scenario,
    lanes: Vec<(Role, Lane)>,
    now: Vec<Activity>,
    phases: Vec<Phase>,
    clock: Option<u64>,
    headline: String,
    pub notes: Vec<String>,
    fault: Option<usize>,
    again: Option<usize>,
}

impl<'a> Story<'a> {
    pub fn new(facts: &'a Facts, scenario: Scenario) -> Self {
        let lanes = lanes(facts, scenario);
        let now = lanes.iter().map(|_| Activity { state: State::Absent, does: "not there".to_owned() }).collect();
        Self {
            facts,
            scenario,
            lanes,
            now,
            phases: Vec::new(),
            clock: Some(0),
            headline: String::new(),
            notes: Vec::new(),
            fault: None,
            again: None,
        }
    }

    /// Whether a separate launcher pod starts the ranks.
    pub fn has_launcher(&self) -> bool {
        self.facts.pods == Pods::Launcher
    }

    pub fn has(&self, role: Role) -> bool {
        self.lanes.iter().any(|(one, _)| *one == role)
    }

    /// Changes what pods do from now on. Roles without a lane are skipped.
    pub fn set(&mut self, acts: &[Act]) {
        for (role, state, does) in acts {
            for ((lane, _), now) in self.lanes.iter().zip(&mut self.now) {
                if lane == role {
                    *now = Activity { state: *state, does: (*does).to_owned() };
                }
            }
        }
    }

    /// Adds a phase.
    pub fn add(&mut self, kind: Kind, title: &str, time: Time, text: &str, log: Vec<String>) {
        let holding = self.lanes.iter().zip(&self.now);
        let sum = |is: fn(State) -> bool| {
            holding.clone().filter(|(_, now)| is(now.state)).map(|((_, lane), _)| lane.holds).sum()
        };
        self.phases.push(Phase {
            kind,
            title: title.to_owned(),
            text: text.to_owned(),
            start: self.clock,
            seconds: time.seconds,
            source: time.source,
            reason: time.reason,
            log,
            pods: self.now.clone(),
            held: sum(|state| !matches!(state, State::Absent | State::Pending | State::Dead)),
            dead: sum(|state| state == State::Dead),
        });
        self.clock = self.clock.zip(time.seconds).map(|(clock, seconds)| clock + seconds);
    }

    /// Sets the headline.
    pub fn conclude(&mut self, headline: impl Into<String>) {
        self.headline = headline.into();
    }

    /// Marks the next phase as the one that begins with the fault.
    pub fn fails(&mut self) {
        self.fault = Some(self.phases.len());
    }

    pub fn finish(self) -> Timeline {
        Timeline {
            scenario: self.scenario,
            headline: self.headline,
            notes: self.notes,
            unit: unit(self.facts),
            lanes: self.lanes.into_iter().map(|(_, lane)| lane).collect(),
            phases: self.phases,
            fault: self.fault,
            again: self.again,
        }
    }

    /// The host name of a worker in the log.
    pub fn host(&self, index: u32) -> String {
        let Facts { workload, service, pods, .. } = self.facts;
        match pods {
            Pods::Agents => format!("{workload}-{index}"),
            _ => format!("{workload}-{index}.{service}"),
        }
    }

    /// The host name of the worker that has the fault.
    pub fn victim(&self) -> String {
        self.host(victim(self.facts))
    }

    /// The host name of the worker that is added if a worker is lost: its index is the first one after the workers and
    /// spares of the spec.
    pub fn next(&self) -> String {
        self.host(self.facts.workers + self.facts.spares)
    }

    /// The number of workers that an attempt needs, as a number and as the phrase in the log.
    fn needed_workers(&self) -> (u32, String) {
        match self.facts.min_workers {
            Some(least) => (least, format!("at least {least} workers")),
            None => (self.facts.workers, format!("{} workers", self.facts.workers)),
        }
    }

    pub fn answer(&self, up: u32, after: u64) -> String {
        format!("{up} of {} answer after {after} s", self.needed_workers().1)
    }

    pub fn waiting(&self, up: u32, missing: &str) -> String {
        format!("{up} of {} answer; waiting for {missing}", self.needed_workers().1)
    }

    pub fn launching(&self) -> String {
        format!("launching: '{}' …", self.facts.program)
    }

    /// The log lines at the start of an attempt. The lines in `before` come first.
    pub fn start_lines(&self, before: Vec<String>) -> Vec<String> {
        let Facts { mpi, workers, ranks, .. } = self.facts;
        let mpi = mpi.as_ref().map(|mpi| format!("{mpi} … on {workers} hosts for {ranks} ranks"));
        before.into_iter().chain(mpi).chain([self.launching()]).collect()
    }

    /// Adds the phases from `kubectl apply` until the ranks train.
    pub fn start(&mut self) {
        let facts = self.facts;
        let (text, launched) = match facts.pods {
            Pods::Launcher if facts.keeps_workers => (
                "`kubectl apply` creates the objects: a Job for the launcher, and the StatefulSet with all workers.",
                true,
            ),
            Pods::Launcher => (
                "`kubectl apply` creates the objects: a Job for the launcher, and a StatefulSet, which starts with one worker.",
                true,
            ),
            Pods::Indexed => {
                ("`kubectl apply` creates the objects: one Indexed Job for all pods. Pod 0 also launches.", false)
            }
            Pods::Agents => (
                "`kubectl apply` creates the objects: one Indexed Job. An agent in each pod starts the ranks of its pod.",
                false,
            ),
        };
        self.set_workers(State::Pending, "without a node");
        self.set(&[(Head, State::Pending, "without a node"), (Spare, State::Pending, "without a node")]);
        self.add(Kind::Start, "Apply", Time::of("apply"), text, Vec::new());
        if let Some(queue) = &facts.queue {
            self.add(Kind::Start, "Queue", Time::of("queued"), queue, Vec::new());
        }
        self.set_workers(State::Starting, "getting a node, pulling the image, starting");
        let spare = [(Spare, State::Starting, "getting a node, pulling the image, starting")];
        self.set(&spare);
        let until = format!(
            "If the workers do not all answer within {}, the run ends with code 42.",
            named(facts.start_timeout, "lifecycle.startTimeout")
        );
        let started = super::times::seconds("start");
        let (needed, _) = self.needed_workers();
        // In an Indexed Job, pod 0 itself looks for the other pods, so the list of missing pods begins with pod 1.
        let from = u32::from(!self.has_launcher());
        let names: Vec<_> = (from..facts.workers.min(from + 2)).map(|index| self.host(index)).collect();
        let names = if facts.workers > from + 2 { format!("{} …", names.join(" ")) } else { names.join(" ") };
        let (what, log) = match facts.pods {
            Pods::Agents => ("The other agents wait for pod 0.", vec![]),
            Pods::Indexed => (
                "Pod 0 connects to all pods at the same time, and logs which are missing.",
                vec![self.waiting(1, &names), self.answer(needed, started)],
            ),
            Pods::Launcher => (
                "The launcher scales the StatefulSet, connects to all workers at the same time, and logs which are missing.",
                vec![self.waiting(0, &names), self.answer(needed, started)],
            ),
        };
        let head = if launched {
            (State::Leading, "waiting for the workers")
        } else {
            (State::Starting, "getting a node, pulling the image, starting")
        };
        self.set(&[(Head, head.0, head.1)]);
        self.add(Kind::Wait, "Wait", Time::of("start"), &format!("{what} {until}"), log);
        self.check(self.start_lines(Vec::new()));
    }

    /// Adds the phase with the checks before the first attempt.
    fn check(&mut self, log: Vec<String>) {
        let facts = self.facts;
        self.set_workers(State::Ready, "being checked");
        self.set(&[
            if self.has_launcher() {
                (Head, State::Leading, "checking the workers")
            } else {
                (Head, State::Ready, "checking the pods")
            },
            (Spare, State::Ready, "ready, running no ranks"),
        ]);
        let mut text = match (facts.pods, facts.min_workers.is_some()) {
            (Pods::Agents, true) => "The agents meet at pod 0 and start the ranks.".to_owned(),
            (Pods::Agents, _) => format!("The agents meet at pod 0 and start {}.", count(facts.ranks, "rank")),
            (_, elastic) => {
                let mut text = "Each worker must answer with its own name".to_owned();
                text.push_str(if facts.mpi.is_some() { ", and must have the same MPI version." } else { "." });
                if facts.mpi.is_some() || facts.program == "horovodrun" && !elastic {
                    text.push_str(" Each rank checks that the world has the size of the spec, before anything trains.");
                }
                text
            }
        };
        if facts.checks_first {
            text.push_str(
                " `workers.healthCheck` also checks GPUs, disks and mounts first, and takes as long as its command.",
            );
        }
        self.add(Kind::Check, "Check the world", Time::of("restart"), &text, log);
    }

    /// Adds a phase in which the ranks train for `time`.
    pub fn train(&mut self, time: Time) {
        let text = if self.facts.interactive {
            "People run commands in the session.".to_owned()
        } else {
            format!("{} train.", count(self.facts.ranks, "rank"))
        };
        self.train_with(time, &text);
    }

    pub fn train_with(&mut self, time: Time, text: &str) {
        self.set_workers(State::Training, "running ranks");
        self.set(&[self.head_trains()]);
        self.add(Kind::Train, "Train", time, text, Vec::new());
    }

    /// The activity, during the training, of the pod that starts the ranks.
    pub fn head_trains(&self) -> Act<'static> {
        match (self.facts.pods, self.facts.launcher_trains) {
            (Pods::Launcher, false) => (Head, State::Leading, "watching the workers, printing the output of the ranks"),
            (Pods::Launcher, true) => (Head, State::Training, "running ranks, watching the workers"),
            _ => (Head, State::Training, "running ranks, leading the run"),
        }
    }

    /// Sets the activity of all workers. Without a separate launcher, this includes pod 0.
    pub fn set_workers(&mut self, state: State, does: &str) {
        self.set(&[(Victim, state, does), (Others, state, does)]);
        if !self.has_launcher() {
            self.set(&[(Head, state, does)]);
        }
    }

    /// Adds the training after a fault, until its end. `acts` changes what single pods do.
    pub fn trains_again(&mut self, acts: &[Act], text: &str) {
        self.set(&[(Others, State::Training, "running ranks"), self.head_trains()]);
        self.set(acts);
        self.add_again(text);
    }

    /// Replaces the length of the last phase.
    pub fn replace_last(&mut self, time: Time) {
        let Some(phase) = self.phases.last_mut() else { return };
        self.clock = phase.start.zip(time.seconds).map(|(start, seconds)| start + seconds);
        (phase.seconds, phase.source, phase.reason) = (time.seconds, time.source, time.reason);
    }

    /// Sets the activity of all pods that run ranks, except the pod that starts the ranks.
    pub fn set_others(&mut self, state: State, does: &str) {
        self.set(&[(Victim, state, does), (Others, state, does)]);
    }

    /// Adds the training after a fault, without a change of what the pods do.
    pub fn add_again(&mut self, text: &str) {
        self.again = Some(self.phases.len());
        self.add(Kind::Train, "Train", Time::of("trained"), text, Vec::new());
    }

    /// The seconds since the pods started.
    pub fn passed(&self) -> u64 {
        let queued = self.phases.iter().take_while(|phase| phase.kind == Kind::Start);
        let queued: u64 = queued.filter_map(|phase| phase.seconds).sum();
        self.clock.unwrap_or_default().saturating_sub(queued)
    }

    /// The text for the phase of training after a fault. A volume alone does not show that the program saves checkpoints.
    pub fn continues(&self) -> &'static str {
        match (self.facts.has_volume, self.facts.has_checkpoints) {
            (true, true) => {
                "The program starts from its beginning and loads its last checkpoint. It repeats the work since then."
            }
            (true, false) => {
                "The program starts from its beginning. If it saves checkpoints to a volume and loads the last one, it repeats the work since then; otherwise the work until now is lost."
            }
            (false, _) => {
                "The program starts from its beginning. The spec has no volume that outlives a pod, so the work until now is lost, unless the program saves checkpoints elsewhere."
            }
        }
    }

    /// Adds the phases after a successful training, in which the GPUs are released.
    pub fn completes(&mut self) {
        self.release("trained", "Complete", "The training has succeeded.");
    }

    /// Adds the phases in which the run ends. `line` is the last line of its log, and `end` is the title of the last
    /// phase.
    pub fn release(&mut self, line: &str, end: &str, text: &str) {
        let facts = self.facts;
        if facts.keeps_workers {
            self.set(&[(Head, State::Absent, "ended")]);
            self.set_workers(State::Ready, "staying, because `lifecycle.keepWorkers` is true");
            self.add(
                Kind::End,
                end,
                Time::open("You must delete the workers."),
                &format!(
                    "{text} The workers keep their {}s until you delete them: `lifecycle.keepWorkers` is true.",
                    unit(facts)
                ),
                vec![line.to_owned()],
            );
            return;
        }
        let (how, time) = match facts.pods {
            Pods::Launcher => ("The launcher scales the workers to 0 and exits.", Time::of("released")),
            _ => {
                let reason = "Kubernetes ends the pods of a Job that has ended.".to_owned();
                ("Pod 0 exits, and Kubernetes ends all other pods.", Time { reason, ..Time::of("released") })
            }
        };
        let released = (facts.pods == Pods::Launcher).then(|| "released the workers".to_owned());
        let alive: Vec<Role> = self.alive();
        for role in &alive {
            self.set(&[(*role, State::Ready, "ending")]);
        }
        self.add(
            Kind::Release,
            "Release",
            time,
            &format!("{text} {how}"),
            [line.to_owned()].into_iter().chain(released).collect(),
        );
        for role in &alive {
            self.set(&[(*role, State::Absent, "gone")]);
        }
        let dead = self.phases.last().is_some_and(|phase| phase.dead > 0);
        let mut rest = format!("The run holds no {}.", unit(facts));
        if dead {
            rest = format!(
                "The scheduler counts the {}s of the pods on the dead node until you delete the node.",
                unit(facts)
            );
        }
        if facts.has_volume {
            rest.push_str(" Volumes stay.");
        }
        let reason = "The objects stay until you delete them, or apply the next spec.";
        self.add(Kind::End, end, Time { source: Source::Person, ..Time::open(reason) }, &rest, Vec::new());
    }

    /// The roles of the pods of this run that still run.
    fn alive(&self) -> Vec<Role> {
        let is_alive = |state| !matches!(state, State::Absent | State::Dead);
        let pods = self.lanes.iter().zip(&self.now).filter(|(_, now)| is_alive(now.state)).map(|((role, _), _)| *role);
        pods.filter(|role| !matches!(role, NewHead | NewWorkers)).collect()
    }

    /// If the ranks run again, sets the headline, which names the sum of the times until then. Also adds a note with
    /// the time that the chaos bench measured.
    pub fn summarize(&mut self, what: &str) {
        let (Some(fault), Some(again)) = (self.fault, self.again) else { return };
        let phases = &self.phases[fault..again];
        let total: u64 = phases.iter().filter_map(|phase| phase.seconds).sum();
        let unbounded = phases.iter().find(|phase| matches!(phase.source, Source::Example | Source::Program));
        self.headline = match unbounded {
            Some(_) => format!("{what}: the ranks run again by themselves, here after {}.", duration(total)),
            None => {
                // Another pod that starts needs a node, and its time has no part for the image.
                let starts = phases.iter().flat_map(|phase| &phase.pods).any(|pod| pod.state == State::Starting);
                let condition = if starts { ", if a node is free and has the image" } else { "" };
                format!("{what}: the ranks run again within {}{condition}.", duration(total))
            }
        };
        let facts = self.facts;
        // The kinds of jobs in `measured.txt`, and `elastic`, for which the bench has no measurements.
        let kind_of_job = match facts.pods {
            Pods::Agents => "agents",
            _ if facts.min_workers.is_some() => "elastic",
            Pods::Launcher if facts.spares > 0 => "spare",
            Pods::Launcher => "set",
            Pods::Indexed => "job",
        };
        let found = self.scenario.fault().and_then(|fault| measured(fault, kind_of_job));
        // The measurement is left out if the job of the bench is not comparable. In the bench, a job loses pods again
        // and again, so its back-off grows and may be longer than here. The time of a hang depends on
        // `lifecycle.stall`.
        let is_alike = |most: &str| {
            most.split('.').next().and_then(|whole| whole.parse().ok()).is_some_and(|most: u64| most < total)
        };
        let found = found.filter(|(_, most)| unbounded.is_none() && self.scenario != Scenario::Hang && is_alike(most));
        if let Some((median, most)) = found {
            self.notes.push(format!("The chaos bench measured {median} s at the median, and {most} s at most."));
        }
    }
}

/// The unit for the resources that a run holds.
fn unit(facts: &Facts) -> &'static str {
    if facts.gpus_workers + facts.gpus_spares > 0 { "GPU" } else { "pod" }
}

/// A time and the field that sets it: `30 min (`lifecycle.startTimeout`)`.
pub fn named(seconds: u64, field: &str) -> String {
    format!("{} (`{field}`)", duration(seconds))
}

/// The index of the worker that has the fault. If there are several workers, it is not 0, because pod 0 may be the pod
/// that starts the ranks.
pub fn victim(facts: &Facts) -> u32 {
    u32::from(facts.workers > 1)
}

/// The lanes of a scenario.
fn lanes(facts: &Facts, scenario: Scenario) -> Vec<(Role, Lane)> {
    let has_launcher = facts.pods == Pods::Launcher;
    let Facts { gpus_each: each, gpus_workers: all, gpus_spares: spares, gpus_launcher: launcher, .. } = *facts;
    let has_gpus = unit(facts) == "GPU";
    let holds = |gpus: u32, pods: u32| if has_gpus { gpus } else { pods };
    let lane = |role, name: String, gpus, pods| (role, Lane { name, holds: holds(gpus, pods) });
    let worker = if has_launcher { "worker" } else { "pod" };
    let mut lanes = Vec::new();
    // The workers, and their GPUs, that no lane shows yet.
    let (mut rest, mut gpus) = (facts.workers, all);
    if has_launcher {
        lanes.push(lane(Head, "launcher".to_owned(), launcher, 1));
    } else {
        lanes.push(lane(Head, "pod 0, leads".to_owned(), each, 1));
        (rest, gpus) = (rest.saturating_sub(1), gpus.saturating_sub(each));
    }
    let one = matches!(scenario, Scenario::WorkerNode | Scenario::Eviction | Scenario::Crash | Scenario::Hang);
    if one && rest > 0 {
        lanes.push(lane(Victim, format!("{worker} {}", victim(facts)), each, 1));
        (rest, gpus) = (rest - 1, gpus.saturating_sub(each));
    }
    if rest > 0 {
        let name = match rest {
            1 if has_launcher => "worker 0".to_owned(),
            1 => format!("pod {}", 1 + u32::from(one)),
            _ if one || !has_launcher => format!("{rest} others"),
            _ => count(rest, worker),
        };
        lanes.push(lane(Others, name, gpus, rest));
    }
    if facts.spares > 0 {
        let name = if facts.spares == 1 { "spare".to_owned() } else { count(facts.spares, "spare") };
        lanes.push(lane(Spare, name, spares, facts.spares));
    }
    let replaced = facts.min_workers.is_none() && facts.spares == 0 && has_launcher && facts.has_access;
    if scenario == Scenario::WorkerNode && replaced {
        lanes.push(lane(Replacement, format!("worker {}, new", facts.workers), each, 1));
    }
    if scenario == Scenario::LauncherNode {
        let name = if has_launcher { "launcher, new" } else { "pod 0, new" };
        let gpus = if has_launcher { launcher } else { each };
        lanes.push(lane(Replacement, name.to_owned(), gpus, 1));
    }
    if scenario == Scenario::WorkerNode && !has_launcher && (facts.has_access || facts.min_workers.is_some()) {
        lanes.push(lane(Replacement, format!("pod {}, new", victim(facts)), each, 1));
    }
    if scenario == Scenario::Change {
        if has_launcher {
            lanes.push(lane(NewHead, "launcher, new run".to_owned(), launcher, 1));
        }
        let name = format!("{}, new run", count(facts.workers, worker));
        lanes.push(lane(NewWorkers, name, all + spares, facts.workers + facts.spares));
    }
    lanes
}
