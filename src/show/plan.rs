//! A plan as a page for a terminal or a review.

use std::fmt::Write as _;

use khorovod_compiler::pods::word;
use khorovod_compiler::targets::SCRIPT;

use crate::problem::count;
use crate::report::{Amount, Change, Default, Difference, Effect, Object, Report, Workers};

use super::clean::clean_line;
use super::table::{WIDTH, folded};

/// The maximum length of a value. Longer values are shortened.
const VALUE: usize = 60;
/// The width of the left column.
const LABEL: usize = 14;
/// The width of the right column.
const REST: usize = WIDTH - 2 - LABEL;

/// Formats all jobs. `render` is the command that renders them; `all` adds the objects, the hosts and the defaults.
pub fn page(jobs: &[Report], render: &str, all: bool) -> String {
    jobs.iter().map(|report| job(report, render, all)).collect::<Vec<_>>().join("\n")
}

/// Formats the changes of jobs.
pub fn changes_page(changes: &[Change]) -> String {
    if changes.iter().all(|change| change.effect == Effect::Nothing && change.notes.is_empty()) {
        return "No changes. If a run has ended, change spec.runTag to start it again.\n".to_owned();
    }
    changes.iter().map(change).collect::<Vec<_>>().join("\n")
}

/// A table with a label and a value in each row.
struct Table(String);

impl Table {
    /// Adds one row per value; the label is in the first row.
    fn rows(&mut self, label: &str, values: impl IntoIterator<Item = String>) {
        let mut label = label;
        for value in values {
            let _ = writeln!(self.0, "  {label:<LABEL$}{}", clean_line(&value));
            label = "";
        }
    }

    /// Adds one row.
    fn row(&mut self, label: &str, value: impl Into<String>) {
        self.rows(label, [value.into()]);
    }

    /// Adds one row per value, and wraps long values.
    fn words(&mut self, label: &str, values: impl IntoIterator<Item = String>) {
        self.rows(label, values.into_iter().flat_map(|value| folded(&value, REST, "  ")));
    }
}

fn job(report: &Report, render: &str, all: bool) -> String {
    let namespace = report.namespace.as_ref().map_or(String::new(), |name| format!(" in {name}"));
    let mut table = Table(format!("{}{namespace}, run {}\n", report.job, report.run));
    table.row("image", &report.image);
    let script = report.objects.iter().find(|object| object.kind == SCRIPT);
    table.rows("resources", resources(report, if script.is_some() { "nodes" } else { "pods" }));
    if all {
        table.words("hosts", report.workers.iter().map(hosts));
    }
    table.words("spares", report.workers.iter().filter(|group| group.spares > 0).map(spares));
    if let Some(hours) = report.cost.most_hours {
        let hours = count(hours, "GPU hour");
        let bound = format!("at most {hours} until the deadline, without those of nodes that do not answer");
        table.words("costs", [bound]);
    } else if report.cost.bounds.1 > 0 {
        table.row("costs", "no limit: the job has no deadline");
    }
    if let Some((least, most)) = report.elastic {
        table.row("elastic", format!("{least} to {most} workers"));
    }
    table.row("rendered as", report.shape);
    table.row("launched by", &report.launcher);
    if !report.launch.is_empty() {
        table.rows("command", wrapped(&report.launch));
    }
    let name = report.storage.iter().map(|volume| volume.mount_path.len()).max().unwrap_or_default();
    table.rows(
        "storage",
        report.storage.iter().map(|volume| {
            let stays = if volume.outlives_job { "" } else { " (deleted with its pod)" };
            format!("{:<name$}  {}{stays}", volume.mount_path, volume.source)
        }),
    );
    table.words("released", [report.release.clone()]);
    if script.is_none() {
        table.row("Pod Security", report.pod_security.level);
        table.words("", report.pod_security.reasons.iter().map(|reason| format!("- {reason}")));
    }
    table.words("notes", report.notes.iter().cloned());
    if all {
        let longest =
            |of: fn(&Object) -> &String| report.objects.iter().map(of).map(String::len).max().unwrap_or_default();
        let (kind, name) = (longest(|object| &object.kind), longest(|object| &object.name));
        let object = |object: &Object| format!("{:<kind$}  {:<name$}  {}", object.kind, object.name, object.fact);
        table.rows("objects", report.objects.iter().map(|one| object(one).trim_end().to_owned()));
        let path = report.defaults.iter().map(|default| default.path.len()).max().unwrap_or_default();
        let default = |default: &Default| format!("{:<path$}  {}", default.path, default.value);
        table.rows("defaults", report.defaults.iter().map(default));
    } else {
        let (objects, defaults) = (report.objects.len() as u64, report.defaults.len() as u64);
        table.row("with --all", format!("{}, {}", count(objects, "object"), count(defaults, "default")));
    }
    let apply = match script {
        Some(script) => format!("{render} > {0}.sh && sbatch {0}.sh", script.name),
        None => format!("{render} | kubectl apply -f -"),
    };
    for (label, command) in
        [("apply", &apply), ("follow", &report.commands.follow), ("delete", &report.commands.delete)]
    {
        table.row(label, command);
    }
    table.0
}

/// A table of the resources of each pod, and their sum: a column per group of workers, one for the launcher, one for the total.
fn resources(report: &Report, pods: &str) -> Vec<String> {
    let launcher = &report.head;
    let column =
        |group: &Workers| group.group.as_ref().map_or_else(|| "each worker".to_owned(), |name| format!("each {name}"));
    let quantity = |amounts: &[Amount], resource: &str| {
        amounts
            .iter()
            .find(|amount| amount.resource == resource)
            .map_or_else(|| "-".to_owned(), |one| one.quantity.clone())
    };
    let row = |label: &str, worker: &dyn Fn(&Workers) -> String, own: String, total: String| {
        let own = launcher.own_pod.then_some(own);
        [label.to_owned()].into_iter().chain(report.workers.iter().map(worker)).chain(own).chain([total]).collect()
    };
    let ranks = if launcher.ranks == 0 { "-".to_owned() } else { launcher.ranks.to_string() };
    let mut rows: Vec<Vec<String>> = vec![
        row("", &column, "launcher".to_owned(), "total".to_owned()),
        row(pods, &|group| (group.replicas + group.spares).to_string(), "1".to_owned(), report.pods.to_string()),
        row("ranks", &|group| group.slots.to_string(), ranks, report.ranks.to_string()),
    ];
    rows.extend(report.requests.iter().map(|Amount { resource, quantity: total, .. }| {
        let worker = |group: &Workers| quantity(&group.requests, resource);
        row(resource, &worker, quantity(&launcher.requests, resource), total.clone())
    }));
    rows.push(row("/dev/shm", &|group| group.shm.clone(), "-".to_owned(), String::new()));
    aligned(&rows)
}

/// The rows of a table: the first column to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let width = |index: usize| rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count()).max();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            let width = width(index).unwrap_or_default();
            let _ = if index == 0 { write!(line, "{cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The spares of a group, and the number of GPUs that they hold without using them.
fn spares(group: &Workers) -> String {
    let name = group.group.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let idle = match group.spares.saturating_mul(group.gpus) {
        0 => String::new(),
        gpus => {
            format!("; until then, {} idle", if gpus == 1 { "1 GPU is".to_owned() } else { format!("{gpus} GPUs are") })
        }
    };
    format!("{name}{} without ranks, to replace lost workers{idle}", count(group.spares, "worker"))
}

fn hosts(group: &Workers) -> String {
    let (first, last) = &group.hosts;
    if first == last { first.clone() } else { format!("{first} … {last}") }
}

/// A command in shell syntax, wrapped if it is long.
fn wrapped(words: &[String]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        let word = quoted(word);
        // A script keeps its line ends.
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

/// A word in shell syntax. A comma gets no quotes, so that people can read the command more easily. Only shellcheck asks for
/// these quotes.
pub fn quoted(text: &str) -> String {
    let without_commas = text.replace(',', "-");
    if word(&without_commas) == without_commas { text.to_owned() } else { word(text) }
}

fn change(change: &Change) -> String {
    let verdict = change.summary();
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
    if let Some(delete) = &change.delete {
        let _ = writeln!(text, "  to delete them\n    {}", clean_line(delete));
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
        (Some(old), None) => format!("was {}, now not set", short(old, 0)),
        (None, None) => "changed".to_owned(),
    };
    let _ = writeln!(text, "    {}: {what}", clean_line(&difference.path));
}

/// The length of the common beginning of two long values. The caller does not print this beginning.
fn shared(old: &str, new: &str) -> usize {
    let long = [old, new].iter().any(|value| value.chars().count() > VALUE);
    let same = old.char_indices().zip(new.chars()).take_while(|((_, one), other)| one == other).last();
    // Its last few characters are printed as context.
    let before = |at: usize| old[..at].char_indices().rev().nth(9).map_or(0, |(at, _)| at);
    same.filter(|_| long).map_or(0, |((at, _), _)| before(at))
}

/// A value on one line, shortened. It begins with `…` if the caller has cut its first `left_out` bytes.
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
    use crate::{Inputs, Keys, Text};

    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        assert_eq!(["job,pod", "a, b", ""].map(quoted), ["job,pod", "'a, b'", "''"]);
        let words: Vec<String> = (0..40).map(|n| format!("--option-{n}")).collect();
        let lines = wrapped(&words);
        assert!(lines.len() > 3 && lines.iter().all(|line| line.len() <= 82), "{lines:#?}");
        assert_eq!(wrapped(&["bash", "-c", "a\nb", "c"].map(str::to_owned)), ["bash -c 'a", "b' c"]);
        assert_eq!(lines.join(" ").replace(" \\", "").split_whitespace().count(), 40);
    }

    fn spec(text: &str) -> Text {
        Text {
            name: "job.yaml".to_owned(),
            text: format!("apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\n{text}"),
        }
    }

    #[test]
    fn a_job_fits_a_screen() {
        let text = spec(
            "metadata: {name: mnist, namespace: team-a}
spec:
  image: ghcr.io/acme/mnist:1.4
  command: [bash, -c, echo it's]
  workers: {replicas: 4, gpus: 8, cpu: 32, memory: 256Gi}
  security: {podSecurityLevel: baseline}
  storage:
  - {name: data, mountPath: /data, emptyDir: {sizeLimit: 5Gi}}
  - {name: x, mountPath: /home/x, nfs: {server: a, path: /}}
",
        );
        let reports = crate::reports(&text, &Inputs { keys: Keys::LeftOut, ..Inputs::default() }).unwrap();
        // The snapshot has a fixed name of the run, because the real name changes with the content of the pods.
        let report = &reports.jobs[0];
        let short = page(&reports.jobs, "khorovod render", false).replace(&report.run, "bcdfgh");
        insta::assert_snapshot!(short);
        let all = page(&reports.jobs, "khorovod render", true);
        assert!(!short.contains("lifecycle.retries") && all.contains("lifecycle.retries"), "{all}");
        assert!(all.contains("StatefulSet     mnist-") && short.contains("with --all"), "{all}");
    }

    #[test]
    fn a_restart_has_reasons() {
        let text = |image: &str, label: &str, class: &str| {
            spec(&format!(
                "metadata: {{name: mnist, labels: {{team: \"{label}\"}}}}
spec:
  image: {image}
  command: [python, train.py]
  workers: {{replicas: 2}}
  storage: [{{name: data, mountPath: /data, claim: {{size: 5Gi, storageClassName: {class}}}}}]
"
            ))
        };
        let found = crate::changes(&text("a:1", "a", "slow"), &text("a:2", "b", "fast"), &Inputs::default()).unwrap();
        insta::assert_snapshot!(change(&found[0]), @r"
        mnist: restarts the run
          because
            image: a:1 → a:2
          and in place
            metadata.labels.team: a → b
          Kubernetes refuses
            storage.data.claim.storageClassName: slow cannot become fast; a PersistentVolumeClaim cannot be changed, except to a larger size (use another volume name, or delete the claim)
          note
            if this spec has run before and the Job of that run still exists, kubectl apply starts nothing: then change spec.runTag
        ");
    }

    #[test]
    fn escape_sequences_in_a_change_are_made_visible() {
        let text = |command: &str| {
            spec(&format!(
                "metadata: {{name: mnist}}\nspec: {{image: a:1, command: [python, \"{command}\"], workers: {{replicas: 2}}}}\n"
            ))
        };
        let found = crate::changes(&text("a"), &text("b\\e[0m"), &Inputs::default()).unwrap();
        let shown = change(&found[0]);
        assert!(shown.contains("b␛[0m") && !shown.contains('\u{1b}'), "{shown}");
    }
}
