//! The timeline of a run: it has the times that the runtime's tests hold, and those that docs/failures.md names.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use khorovod::timeline::{Facts, Kind, Scenario, Source, State, Timeline};
use khorovod::{Inputs, Keys, Text};

/// A job without a spare, one with a spare, and an Indexed Job, as the chaos bench has them.
const SET: &str = "workers: {replicas: 2, gpus: 4}, lifecycle: {stall: {timeout: 60s}, checkpoint: {gracePeriod: 10s}}";
const SPARE: &str =
    "workers: {replicas: 2, gpus: 4, spares: 1}, lifecycle: {stall: {timeout: 60s}, checkpoint: {gracePeriod: 10s}}";
const JOB: &str = "workers: {replicas: 2, gpus: 4}, launcher: {kind: mpirun, runsIn: firstWorker}, \
     lifecycle: {stall: {timeout: 60s}, checkpoint: {gracePeriod: 10s}}";

fn facts(fields: &str) -> Facts {
    let text = format!(
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{name: mnist}}\n\
         spec: {{image: 'a:1', command: [python, train.py], {fields}}}\n"
    );
    let spec = Text { name: "job.yaml".to_owned(), text };
    let mut found = khorovod::timeline_facts(&spec, &Inputs { keys: Keys::Masked, ..Inputs::default() }).expect(fields);
    let facts = found.remove(0);
    // The page passes facts as text.
    assert_eq!(Facts::from_line(&facts.to_line()).as_ref(), Some(&facts));
    facts
}

fn timeline(fields: &str, scenario: Scenario) -> Timeline {
    Timeline::new(&facts(fields), scenario)
}

/// The seconds from the fault until the ranks train again.
fn again(timeline: &Timeline) -> u64 {
    let phases = &timeline.phases[timeline.fault.expect("a fault")..timeline.again.expect("ranks that train again")];
    phases.iter().map(|phase| phase.seconds.expect("a phase that ends")).sum()
}

fn titles(timeline: &Timeline) -> Vec<&str> {
    timeline.phases.iter().map(|phase| phase.title.as_str()).collect()
}

fn log(timeline: &Timeline) -> String {
    timeline.phases.iter().flat_map(|phase| phase.log.iter().map(String::as_str)).collect::<Vec<_>>().join("\n")
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The bounds of the chaos bench, in seconds, by fault and kind of job.
fn bounds() -> BTreeMap<(String, String), u64> {
    let code = "
import bounds
backoff = bounds.TIMES['backoff']
for fault in bounds.DETECTION:
    for job in ('set', 'spare', 'job'):
        waits = backoff if job == 'job' or fault.startswith('launcher-') else 0
        found = bounds.bound(fault, shape='job' if job == 'job' else 'set', spare=job == 'spare', backoff=waits)
        print(fault, job, sum(found))
";
    let python = Command::new("python3").args(["-B", "-c", code]).current_dir(folder().join("bench/chaos")).output();
    let python = python.expect("python3");
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let text = String::from_utf8(python.stdout).unwrap();
    let row = |line: &str| {
        let cells: Vec<_> = line.split(' ').collect();
        ((cells[0].to_owned(), cells[1].to_owned()), cells[2].parse().unwrap())
    };
    text.lines().map(row).collect()
}

/// The rows of the measured table in docs/failures.md: the maximum in seconds, by fault and column.
fn documented(page: &str) -> BTreeMap<(&str, usize), f64> {
    let table = page.split("<!-- measured: bench/chaos/report.py -->").nth(1).unwrap();
    let table = table.split("<!-- end of measured -->").next().unwrap();
    let mut found = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| a ") || line.starts_with("| the ")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        for (column, cell) in cells[2..5].iter().enumerate() {
            if let Some((_, most)) = cell.split_once('(') {
                found.insert((cells[1], column), most.trim_end_matches(')').parse().unwrap());
            }
        }
    }
    found
}

#[test]
fn the_timeline_has_the_bounds_of_the_chaos_bench() {
    let bounds = bounds();
    let mut compared = 0;
    for (job, fields) in [("set", SET), ("spare", SPARE), ("job", JOB)] {
        for scenario in Scenario::ALL {
            let Some(fault) = scenario.fault() else { continue };
            let bound = bounds[&(fault.to_owned(), job.to_owned())];
            let found = again(&timeline(fields, scenario));
            // The bench allows a little less for a hang than the launcher may take at most.
            let allowed = if scenario == Scenario::Hang { bound..=bound + 2 } else { bound..=bound };
            assert!(allowed.contains(&found), "{job} {fault}: {found} s in the timeline, {bound} s in bounds.py");
            compared += 1;
        }
    }
    assert_eq!(compared, 15);
}

#[test]
fn measured_times_are_within_the_timeline() {
    let page = std::fs::read_to_string(folder().join("docs/failures.md")).unwrap();
    let documented = documented(&page);
    let names = [
        ("a rank is killed", Scenario::Crash),
        ("a rank hangs", Scenario::Hang),
        ("the node of a worker fails", Scenario::WorkerNode),
        ("a worker is evicted", Scenario::Eviction),
        ("the node of the launcher fails", Scenario::LauncherNode),
    ];
    for (name, scenario) in names {
        for (column, fields) in [SPARE, SET, JOB].into_iter().enumerate() {
            // The bench ends the same pods again and again, and the back-off of a Job grows.
            if matches!(scenario, Scenario::Eviction | Scenario::WorkerNode) && fields == JOB {
                continue;
            }
            let timeline = timeline(fields, scenario);
            let (most, found) = (documented[&(name, column)], again(&timeline));
            assert!(
                most <= f64::from(u32::try_from(found).unwrap()),
                "{name}: {most} s measured, {found} s in the timeline"
            );
            let note =
                timeline.notes.iter().any(|note| note.contains("chaos bench") && note.contains(&most.to_string()));
            assert_eq!(note, scenario != Scenario::Hang, "{name}: {:?}", timeline.notes);
        }
    }
    // The texts above that table name round numbers.
    for (words, scenario, fields) in [
        (
            "| the node of a worker fails, with a spare | `lost worker …`, then `… takes the place of …` | about 15 s |",
            Scenario::WorkerNode,
            SPARE,
        ),
        ("about 30 s; in the", Scenario::WorkerNode, SET),
        (
            "about 90 s: Kubernetes notices after 50 s, and the launcher tolerates that for 30 s",
            Scenario::LauncherNode,
            SET,
        ),
    ] {
        assert!(page.contains(words), "{words}");
        let about: u64 = words.split("about ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
        assert!(about <= again(&timeline(fields, scenario)), "{words}");
    }
}

#[test]
fn a_run_without_a_fault_goes_through_all_phases() {
    let timeline = timeline("workers: {replicas: 4, gpus: 8}", Scenario::Nothing);
    assert_eq!(titles(&timeline), ["Apply", "Wait", "Check the world", "Train", "Release", "Complete"]);
    let held: Vec<_> = timeline.phases.iter().map(|phase| phase.held).collect();
    assert_eq!((timeline.unit, held), ("GPU", vec![0, 32, 32, 32, 32, 0]));
    let lines = log(&timeline);
    for line in ["4 of 4 workers answer after 60 s", "launching: 'mpirun' …", "trained", "released the workers"] {
        assert!(lines.contains(line), "{line}: {lines}");
    }
    let sources: Vec<_> = timeline.phases[..3].iter().map(|phase| phase.source).collect();
    assert_eq!(sources, [Source::Example, Source::Example, Source::Runtime]);
}

#[test]
fn a_spare_saves_the_time_of_another_worker() {
    let with = timeline("workers: {replicas: 4, gpus: 8, spares: 1}", Scenario::WorkerNode);
    let without = timeline("workers: {replicas: 4, gpus: 8}", Scenario::WorkerNode);
    assert_eq!((again(&with), again(&without)), (25, 55));
    assert!(log(&with).contains("-worker-4.mnist takes the place of mnist-"), "{}", log(&with));
    assert!(log(&without).contains("has an address but does not answer: mnist-"), "{}", log(&without));
    // The scheduler counts the devices of the dead node until it is deleted.
    let last = |timeline: &Timeline| timeline.phases.last().map(|phase| (phase.held, phase.dead));
    assert_eq!((last(&with), last(&without)), (Some((0, 8)), Some((0, 8))));
    let most = |timeline: &Timeline| timeline.phases.iter().map(|phase| phase.held + phase.dead).max();
    assert_eq!((most(&with), most(&without)), (Some(40), Some(40)));
}

/// A volume alone does not show that the program saves checkpoints.
#[test]
fn ranks_load_a_checkpoint_only_if_the_spec_shows_one() {
    let volume = "storage: [{name: data, mountPath: /data, existingClaim: data}]";
    let text = |fields: &str, scenario| {
        let found = timeline(&format!("workers: {{replicas: 4, gpus: 8}}{fields}"), scenario);
        found.phases[found.again.expect("ranks that train again")].text.clone()
    };
    let shown = format!(", {volume}, lifecycle: {{checkpoint: {{signal: SIGUSR1}}}}");
    for scenario in [Scenario::Crash, Scenario::WorkerNode, Scenario::LauncherNode, Scenario::Eviction] {
        let with = text(&shown, scenario);
        assert!(with.contains("loads") && !with.contains("If "), "{scenario:?}: {with}");
        let perhaps = text(&format!(", {volume}"), scenario);
        assert!(perhaps.contains("If "), "{scenario:?}: {perhaps}");
        for fields in ["", ", storage: [{name: data, mountPath: /data, existingClaim: data, readOnly: true}]"] {
            let without = text(fields, scenario);
            assert!(without.contains("is lost") && without.contains("unless"), "{scenario:?}: {without}");
        }
    }
}

#[test]
fn without_a_stall_a_hang_does_not_end() {
    let hang = timeline("workers: {replicas: 4, gpus: 8}", Scenario::Hang);
    let last = hang.phases.last().unwrap();
    assert_eq!((last.seconds, last.source, last.held, hang.again), (None, Source::Person, 32, None));
    assert!(
        hang.notes[0].contains("lifecycle: {stall: ") && hang.notes[0].ends_with("starts again."),
        "{:?}",
        hang.notes
    );
    let once = timeline("workers: {replicas: 4, gpus: 8}, lifecycle: {retries: 0}", Scenario::Hang);
    assert!(once.notes[0].contains("the run ends. With `lifecycle.retries: 3`"), "{:?}", once.notes);
    let limited = timeline("workers: {replicas: 4, gpus: 8}, lifecycle: {deadline: 24h}", Scenario::Hang);
    assert_eq!(limited.phases.last().map(|phase| phase.held), Some(0));
    // Apply, the start of the pods, the training and the hang take as long as the deadline.
    let until = limited.phases.iter().find(|phase| phase.title == "The deadline passes").and_then(|phase| phase.start);
    assert_eq!(until, Some(24 * 3_600 + 2));
    let reported = "workers: {replicas: 4, gpus: 8}, lifecycle: {stall: {timeout: 20m, action: report}}";
    let reported = timeline(reported, Scenario::Hang);
    assert!(log(&reported).contains("no output for 1440 s: asking all hosts"), "{}", log(&reported));
    assert_eq!((reported.again, reported.phases.last().and_then(|phase| phase.seconds)), (None, None));
}

#[test]
fn a_deadline_gives_notice_and_ends_the_run() {
    let fields =
        "workers: {replicas: 4, gpus: 8}, lifecycle: {deadline: 2h, checkpoint: {gracePeriod: 2m, signal: SIGUSR1}}";
    let ended = timeline(fields, Scenario::Deadline);
    let start = ended.phases[ended.fault.unwrap()].start;
    assert_eq!(start, Some(2 * 3_600 + 2));
    let notice = "past its deadline of 7200 s: all ranks get SIGUSR1 and have 120 s to save a checkpoint";
    assert!(log(&ended).contains(notice), "{}", log(&ended));
    let save = ended.phases.iter().find(|phase| phase.kind == Kind::Save).unwrap();
    assert_eq!((save.seconds, save.source), (Some(120), Source::Spec));
    assert_eq!(ended.phases.last().map(|phase| phase.title.as_str()), Some("Ended, code 44"));
    let endless = timeline("workers: {replicas: 4, gpus: 8}", Scenario::Deadline);
    assert_eq!((endless.fault, endless.phases.last().unwrap().seconds), (None, None));
}

#[test]
fn a_change_ends_the_old_run_before_the_new_one_starts() {
    let change = timeline("workers: {replicas: 4, gpus: 8}", Scenario::Change);
    assert_eq!(
        titles(&change)[4..],
        ["A new run", "Save a checkpoint", "The old run ends", "Wait", "Check the world", "Train"]
    );
    assert!(change.phases.iter().all(|phase| phase.held <= 32), "both runs never hold GPUs");
    assert!(log(&change).contains("superseded: run NEW is current: all ranks get SIGTERM"), "{}", log(&change));
}

#[test]
fn retries_decide_whether_a_crash_ends_the_run() {
    let ends = timeline("workers: {replicas: 4, gpus: 8}, lifecycle: {retries: 0}", Scenario::Crash);
    assert_eq!(ends.phases.last().map(|phase| phase.title.as_str()), Some("Failed, code 42"));
    let again = timeline("workers: {replicas: 4, gpus: 8}", Scenario::Crash);
    assert!(log(&again).contains("attempt 1 of 4 failed: training ended with code 1"), "{}", log(&again));
    assert!(again.phases.iter().any(|phase| phase.text.contains("checks the GPUs")), "jobs with GPUs are checked");
    // A launcher that is lost, and a hang, count as failed attempts.
    let none = "workers: {replicas: 4, gpus: 8}, lifecycle: {retries: 0, stall: {timeout: 20m}}";
    let indexed = format!("{none}, launcher: {{kind: mpirun, runsIn: firstWorker}}");
    for (fields, scenario) in
        [(none, Scenario::LauncherNode), (none, Scenario::Hang), (&indexed, Scenario::LauncherNode)]
    {
        let ends = timeline(fields, scenario);
        assert_eq!(ends.phases.last().map(|phase| phase.title.as_str()), Some("Failed, code 42"), "{fields}");
        assert!(ends.headline.contains("`lifecycle.retries` is 0"), "{}", ends.headline);
    }
    let without = timeline("workers: {replicas: 4}", Scenario::Crash);
    assert!(!without.phases.iter().any(|phase| phase.text.contains("checks the GPUs")), "jobs without GPUs are not");
}

#[test]
fn a_bound_names_its_condition_if_another_pod_starts() {
    let headline = |fields, scenario| timeline(fields, scenario).headline;
    for (fields, scenario, has_condition) in [
        (SET, Scenario::WorkerNode, true),
        (SET, Scenario::LauncherNode, true),
        (JOB, Scenario::WorkerNode, true),
        (JOB, Scenario::LauncherNode, true),
        (SPARE, Scenario::WorkerNode, false),
        (SET, Scenario::Crash, false),
    ] {
        let found = headline(fields, scenario);
        assert_eq!(found.ends_with(", if a node is free and has the image."), has_condition, "{found}");
    }
}

#[test]
fn a_crash_names_the_limits_of_restarts() {
    let notes = |fields: &str| {
        timeline(&format!("workers: {{replicas: 4, gpus: 8}}, {fields}"), Scenario::Crash).notes.join(" ")
    };
    // Also if the rank is on another pod than that with index 0.
    for launcher in ["mpirun", "torchrun"] {
        let counted = notes(&format!("launcher: {launcher}"));
        assert!(counted.contains("This costs one of 3 retries"), "{counted}");
        assert!(counted.contains("1 h (`lifecycle.retriesResetAfter`) sets the count back"), "{counted}");
        assert!(counted.contains("again and again, without a limit: set `lifecycle.deadline`"), "{counted}");
        let limited = notes(&format!("launcher: {launcher}, lifecycle: {{deadline: 2h}}"));
        assert!(limited.contains("again and again, until the deadline of 2 h"), "{limited}");
    }
}

#[test]
fn agents_of_torchrun_and_jax_need_no_launcher() {
    for kind in ["torchrun", "jax"] {
        let fields = format!("workers: {{replicas: 4, gpus: 8}}, launcher: {kind}");
        for scenario in Scenario::ALL {
            let found = timeline(&fields, scenario);
            assert!(!found.lanes.iter().any(|lane| lane.name.contains("launcher")), "{kind}: {:?}", found.lanes);
            assert!(!log(&found).contains("released the workers"), "{kind}: {}", log(&found));
        }
        let node = timeline(&fields, Scenario::WorkerNode);
        assert!(log(&node).contains("lost worker mnist-"), "{}", log(&node));
        // 15 s until the agents notice, 35 s and 30 s until Kubernetes replaces the pod, the back-off, and the start.
        let lengths: Vec<_> = node.phases[4..9].iter().map(|phase| phase.seconds.unwrap()).collect();
        assert_eq!(lengths, [15, 35, 30, 10, 10], "{kind}");
        let head = timeline(&fields, Scenario::LauncherNode);
        assert!(log(&head).contains("this agent joins again"), "{}", log(&head));
    }
}

#[test]
fn an_elastic_job_continues_with_fewer_workers() {
    let elastic = |least: u32| {
        let fields = format!(
            "workers: {{replicas: 4, gpus: 8, elastic: {{minReplicas: {least}, maxReplicas: 8, timeout: 10m}}}}, launcher: horovodrun"
        );
        timeline(&fields, Scenario::WorkerNode)
    };
    let fewer = elastic(2);
    assert_eq!(fewer.phases[fewer.again.unwrap()].text, "Training continues with 3 workers.");
    assert!(fewer.headline.contains("here after"), "khorovod sets no bound: {}", fewer.headline);
    assert!(fewer.notes.iter().any(|note| note.contains("since the last commit")), "{:?}", fewer.notes);
    let too_few = elastic(4);
    assert_eq!((too_few.again, too_few.phases.last().unwrap().title.as_str()), (None, "Failed, code 42"));
    assert!(log(&too_few).contains("3 of at least 4 workers answer; training waits"), "{}", log(&too_few));
}

#[test]
fn without_permissions_nothing_replaces_a_pod_on_a_dead_node() {
    let fields = "workers: {replicas: 4, gpus: 8}, security: {apiAccess: false}";
    let worker = timeline(fields, Scenario::WorkerNode);
    assert_eq!((worker.again, worker.phases.last().unwrap().title.as_str()), (None, "Failed, code 42"));
    let head = timeline(fields, Scenario::LauncherNode);
    let last = head.phases.last().unwrap();
    assert_eq!((last.seconds, last.dead), (None, 8));
    let kept = timeline("workers: {replicas: 4, gpus: 8}, lifecycle: {keepWorkers: true}", Scenario::Nothing);
    assert_eq!(kept.phases.last().map(|phase| phase.held), Some(32));
}

#[test]
fn tolerations_of_the_spec_delay_the_next_launcher() {
    let with = |seconds: &str| {
        let fields = format!(
            "workers: {{replicas: 4, gpus: 8}}, placement: {{tolerations: [{{key: node.kubernetes.io/unreachable, \
             operator: Exists, effect: NoExecute{seconds}}}]}}"
        );
        timeline(&fields, Scenario::LauncherNode)
    };
    let endless = with("");
    assert_eq!((endless.again, endless.phases.last().map(|phase| phase.held)), (None, Some(0)));
    assert!(log(&endless).contains("no launcher has run for 900 s: this worker releases"), "{}", log(&endless));
    assert_eq!(again(&with(", tolerationSeconds: 120")), 50 + 120 + 10 + 10);
}

/// All examples, all scenarios: what holds for each timeline.
#[test]
fn every_timeline_is_complete() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder().join("examples")).unwrap() {
        let Ok(text) = std::fs::read_to_string(entry.unwrap().path().join("job.yaml")) else { continue };
        let spec = Text { name: "job.yaml".to_owned(), text };
        for facts in khorovod::timeline_facts(&spec, &Inputs { keys: Keys::Masked, ..Inputs::default() }).unwrap() {
            for scenario in Scenario::of(&facts) {
                let timeline = Timeline::new(&facts, scenario);
                let what = format!("{} {scenario:?}", facts.job);
                if std::env::var_os("SHOW").is_some() {
                    show(&what, &timeline);
                }
                assert!(!timeline.headline.is_empty(), "{what}");
                let (last, before) = timeline.phases.split_last().unwrap();
                assert!(
                    before.iter().all(|phase| phase.seconds.is_some()),
                    "{what}: only the last phase may have no end"
                );
                assert!(last.kind == Kind::End || last.kind == Kind::Train || last.seconds.is_none(), "{what}");
                let mut clock = 0;
                for phase in &timeline.phases {
                    assert_eq!((phase.start, phase.pods.len()), (Some(clock), timeline.lanes.len()), "{what}");
                    assert!(!phase.text.is_empty() && !phase.reason.is_empty(), "{what}: {}", phase.title);
                    let trains = phase.pods.iter().any(|pod| pod.state == State::Training);
                    assert!(trains || phase.kind != Kind::Train, "{what}: no ranks train in {}", phase.title);
                    clock += phase.seconds.unwrap_or_default();
                }
                // Every run that ends releases what it holds, except what you keep.
                if last.kind == Kind::End && !facts.keeps_workers {
                    assert_eq!(last.held, 0, "{what}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 200, "{count} timelines");
}

/// Prints a timeline, for people who read the texts: `SHOW=1 cargo test --test timeline every -- --nocapture`.
fn show(what: &str, timeline: &Timeline) {
    println!("\n=== {what}: {}\n  {}", timeline.headline, timeline.notes.join("\n  "));
    for phase in &timeline.phases {
        let pods: Vec<_> =
            timeline.lanes.iter().zip(&phase.pods).map(|(lane, pod)| format!("{}: {}", lane.name, pod.does)).collect();
        println!(
            "- {} {:?} {:?} {}+{}\n    {}\n    {}\n    {}",
            phase.title,
            phase.seconds,
            phase.source,
            phase.held,
            phase.dead,
            phase.text,
            phase.reason,
            pods.join(" | ")
        );
        for line in &phase.log {
            println!("    > {line}");
        }
    }
}
