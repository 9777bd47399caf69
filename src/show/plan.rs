//! A report as a page for a terminal, or to paste into a review.

use std::fmt::Write as _;

use khorovod_compiler::targets::SCRIPT;

use crate::problem::count;
use crate::report::{Amount, Change, Difference, Effect, Report, Workers};

use super::clean::clean_line;
use super::table::{WIDTH, folded};

/// Values longer than this are cut.
const VALUE: usize = 60;
/// The width of the left column.
const LABEL: usize = 14;
/// What is left of a line.
const REST: usize = WIDTH - 2 - LABEL;

/// All jobs, or what a change does to them.
pub fn page(jobs: &[Report], changes: Option<&[Change]>) -> String {
    if let Some(changes) = changes {
        return changes.iter().map(change).collect::<Vec<_>>().join("\n");
    }
    jobs.iter().map(job).collect::<Vec<_>>().join("\n")
}

/// Lines of a label and what it stands for.
struct Table(String);

impl Table {
    /// One row a value; the label stands before the first.
    fn rows(&mut self, label: &str, values: impl IntoIterator<Item = String>) {
        let mut label = label;
        for value in values {
            let _ = writeln!(self.0, "  {label:<LABEL$}{}", clean_line(&value));
            label = "";
        }
    }

    fn row(&mut self, label: &str, value: impl Into<String>) {
        self.rows(label, [value.into()]);
    }

    /// Rows of words, which go on below where they are long.
    fn words(&mut self, label: &str, values: impl IntoIterator<Item = String>) {
        self.rows(label, values.into_iter().flat_map(|value| folded(&value, REST, "  ")));
    }
}

fn job(report: &Report) -> String {
    let namespace = report.namespace.as_ref().map_or(String::new(), |name| format!(" in {name}"));
    let mut table = Table(format!("{}{namespace}, run {}\n", report.job, report.run));
    table.row("image", &report.image);
    table.words("workers", report.workers.iter().map(workers));
    table.words("hosts", report.workers.iter().map(hosts));
    if let Some((least, most)) = report.elastic {
        table.row("elastic", format!("{least} to {most} workers"));
    }
    table.row("ranks", report.ranks.to_string());
    let batch = report.objects.iter().any(|object| object.kind == SCRIPT);
    let place = if batch { "node" } else { "pod" };
    let all = count(report.pods, place);
    table.words(
        "in all",
        [if report.requests.is_empty() { all } else { format!("{all}: {}", amounts(&report.requests)) }],
    );
    table.row("shape", report.shape);
    table.row("launched by", &report.launcher);
    if !report.launch.is_empty() {
        table.rows("command", wrapped(&report.launch));
    }
    let name = report.storage.iter().map(|volume| volume.mount_path.len()).max().unwrap_or_default();
    table.rows(
        "storage",
        report.storage.iter().map(|volume| {
            let stays = if volume.outlives_job { "" } else { " (gone with its pod)" };
            format!("{:<name$}  {}{stays}", volume.mount_path, volume.source)
        }),
    );
    table.words("freed", [report.release.clone()]);
    if !batch {
        table.row("Pod Security", report.pod_security.level);
        table.words("", report.pod_security.reasons.iter().map(|reason| format!("- {reason}")));
    }
    table.words("notes", report.notes.iter().cloned());
    let kind = report.objects.iter().map(|object| object.kind.len()).max().unwrap_or_default();
    table.rows("objects", report.objects.iter().map(|object| format!("{:<kind$}  {}", object.kind, object.name)));
    let path = report.defaults.iter().map(|default| default.path.len()).max().unwrap_or_default();
    table.rows("defaults", report.defaults.iter().map(|default| format!("{:<path$}  {}", default.path, default.value)));
    table.0
}

fn workers(group: &Workers) -> String {
    let name = group.group.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let asked = if group.requests.is_empty() { "nothing asked for".to_owned() } else { amounts(&group.requests) };
    format!("{name}{} × {} ({asked}; /dev/shm {})", group.replicas, count(group.slots, "rank"), group.shm)
}

fn hosts(group: &Workers) -> String {
    let (first, last) = &group.hosts;
    if first == last { first.clone() } else { format!("{first} … {last}") }
}

fn amounts(amounts: &[Amount]) -> String {
    amounts.iter().map(|amount| format!("{} {}", amount.resource, amount.quantity)).collect::<Vec<_>>().join(", ")
}

/// A command as a shell would take it, broken before options once it is long.
fn wrapped(words: &[String]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        let word = quoted(word);
        // A script keeps its lines.
        let mut parts = word.split('\n');
        let word = parts.next().unwrap_or_default();
        let line = lines.last_mut().expect("there is always one line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() + 2 > REST {
            line.push_str(" \\");
            lines.push(format!("  {word}"));
        } else {
            line.push(' ');
            line.push_str(word);
        }
        lines.extend(parts.map(str::to_owned));
    }
    lines
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+=./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn change(change: &Change) -> String {
    let verdict = match change.effect {
        Effect::New => "new: it starts",
        Effect::Gone => "gone: its objects stay until they are deleted; docs/runtime.md shows how",
        Effect::Restarts => "restarts the run",
        Effect::InPlace if change.in_place.is_empty() => "refused; the run goes on as it is",
        Effect::InPlace => "in place: the run goes on",
        Effect::Nothing => "nothing; where this run has ended it does not start again (change spec.rerun for that)",
    };
    let namespace = change.namespace.as_ref().map_or(String::new(), |name| format!(" in {name}"));
    let mut text = format!("{}: {verdict}\n", clean_line(&format!("{}{namespace}", change.job)));
    if !change.because.is_empty() {
        text.push_str("  because\n");
        change.because.iter().for_each(|found| line(&mut text, found));
    }
    if !change.in_place.is_empty() {
        text.push_str(if change.effect == Effect::Restarts { "  and in place\n" } else { "" });
        change.in_place.iter().for_each(|found| line(&mut text, found));
    }
    for (heading, lines) in [("Kubernetes refuses", &change.refused), ("note", &change.notes)] {
        if !lines.is_empty() {
            let _ = writeln!(text, "  {heading}");
        }
        for line in lines {
            let _ = writeln!(text, "    {}", clean_line(line));
        }
    }
    text
}

fn line(text: &mut String, difference: &Difference) {
    let what = match (&difference.old, &difference.new) {
        (Some(old), Some(new)) => {
            let same = shared(old, new);
            format!("{} → {}", short(&old[same..], same), short(&new[same..], same))
        }
        (None, Some(new)) => format!("set to {}", short(new, 0)),
        (Some(old), None) => format!("was {}, now left out", short(old, 0)),
        (None, None) => "changed".to_owned(),
    };
    let _ = writeln!(text, "    {}: {what}", clean_line(&difference.path));
}

/// How much of two long values need not be shown, as both begin so.
fn shared(old: &str, new: &str) -> usize {
    let long = [old, new].iter().any(|value| value.chars().count() > VALUE);
    let same = old.char_indices().zip(new.chars()).take_while(|((_, one), other)| one == other).last();
    // Some of it says where one is.
    let before = |at: usize| old[..at].char_indices().rev().nth(9).map_or(0, |(at, _)| at);
    same.filter(|_| long).map_or(0, |((at, _), _)| before(at))
}

/// A value, or the end of one of which so much is left out, in a line.
fn short(value: &str, left_out: usize) -> String {
    let value = clean_line(value);
    let begin = if left_out > 0 { "…" } else { "" };
    match value.char_indices().nth(VALUE) {
        Some((at, _)) => format!("{begin}{}…", &value[..at]),
        None if value.is_empty() => "\"\"".to_owned(),
        None => format!("{begin}{value}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{Cost, Default, Head, Object, PodSecurity, Storage};

    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        for (word, shown) in
            [("-np", "-np"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''"), ("$HOME", "'$HOME'")]
        {
            assert_eq!(quoted(word), shown);
        }
        let words: Vec<String> = (0..40).map(|n| format!("--option-{n}")).collect();
        let lines = wrapped(&words);
        assert!(lines.len() > 3 && lines.iter().all(|line| line.len() <= 82), "{lines:#?}");
        assert_eq!(wrapped(&["bash", "-c", "a\nb", "c"].map(str::to_owned)), ["bash -c 'a", "b' c"]);
        assert_eq!(lines.join(" ").replace(" \\", "").split_whitespace().count(), 40);
    }

    #[test]
    fn a_job_fits_a_screen() {
        let amount =
            |resource: &str, quantity: &str| Amount { resource: resource.to_owned(), quantity: quantity.to_owned() };
        let text = job(&Report {
            job: "mnist".to_owned(),
            namespace: Some("team-a".to_owned()),
            run: "bcdfgh".to_owned(),
            image: "ghcr.io/acme/mnist:1.4".to_owned(),
            shape: "a StatefulSet of workers and a launcher Job",
            launcher: "mpirun (Open MPI)".to_owned(),
            launch: ["mpirun", "-np", "32", "bash", "-c", "echo it's"].map(str::to_owned).to_vec(),
            workers: vec![Workers {
                group: None,
                origin: "spec.workers".to_owned(),
                workload: "mnist-bcdfgh-worker".to_owned(),
                first_rank: Some(0),
                replicas: 4,
                slots: 8,
                gpus: 8,
                hosts: ("mnist-bcdfgh-worker-0.mnist".to_owned(), "mnist-bcdfgh-worker-3.mnist".to_owned()),
                requests: vec![amount("cpu", "32"), amount("memory", "256Gi"), amount("nvidia.com/gpu", "8")],
                shm: "64Gi".to_owned(),
            }],
            ranks: 32,
            pods: 5,
            requests: vec![amount("cpu", "129"), amount("memory", "1026Gi"), amount("nvidia.com/gpu", "32")],
            cost: Cost { gpus: 32, bounds: (32, 32), most_hours: None },
            head: Head { host: "mnist-bcdfgh-launcher.mnist".to_owned(), own_pod: true, ranks: 0 },
            links: vec![],
            guarded: true,
            nodes: String::new(),
            apart: true,
            elastic: None,
            storage: vec![Storage {
                name: "data".to_owned(),
                mount_path: "/data".to_owned(),
                source: "scratch, up to 5Gi".to_owned(),
                outlives_job: false,
            }],
            objects: vec![
                Object { kind: "Service".to_owned(), name: "mnist".to_owned() },
                Object { kind: "StatefulSet".to_owned(), name: "mnist-bcdfgh-worker".to_owned() },
            ],
            pod_security: PodSecurity {
                level: "baseline",
                reasons: vec!["storage x is an inline NFS volume".to_owned()],
            },
            release: "every pod ends with index 0; the GPUs are free then".to_owned(),
            notes: vec!["ssh keys: the Secret mnist-ssh, made with the job".to_owned()],
            defaults: vec![Default { path: "ssh.port", value: "2222".to_owned() }],
        });
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_restart_says_why() {
        let found = |path: &str, old: &str, new: &str| Difference {
            path: path.to_owned(),
            old: Some(old.to_owned()),
            new: Some(new.to_owned()),
        };
        let text = change(&Change {
            job: "mnist".to_owned(),
            namespace: None,
            effect: Effect::Restarts,
            because: vec![
                found("image", "a:1", "a:2"),
                Difference { path: "env.TOKEN".to_owned(), old: None, new: None },
            ],
            in_place: vec![found("metadata.labels.team", "a", "b\u{1b}[0m")],
            refused: vec!["storage.data.claim.storageClass: fast cannot become slow".to_owned()],
            notes: Vec::new(),
        });
        insta::assert_snapshot!(text, @r"
        mnist: restarts the run
          because
            image: a:1 → a:2
            env.TOKEN: changed
          and in place
            metadata.labels.team: a → b␛[0m
          Kubernetes refuses
            storage.data.claim.storageClass: fast cannot become slow
        ");
    }
}
