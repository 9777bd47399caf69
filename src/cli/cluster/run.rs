//! `khorovod run`: renders specs, shows what will change, applies the objects, and follows the job.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use khorovod::show;
use khorovod::{Rendered, Text};

use super::connection::{Job, borrowed, default_namespace, named_in, now};
use super::diagnosis::{Phase, State};
use super::kubectl::{Connection, Kubectl, explain};
use super::logs::streams::{Log, Streams};
use super::{diff, page};
use crate::cli::seed::Seed;
use crate::cli::show::Screen;
use crate::cli::{Failure, Outcome, input, local, output, render};

/// How often the state is read.
const LOOK: Duration = Duration::from_secs(2);
/// How long the API server may be unreachable before `run` stops following.
const AWAY: Duration = Duration::from_secs(600);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod run job.yaml\n  \
    khorovod run job.yaml --overlay prod.yaml --set workers.replicas=8 -n team-a\n  \
    khorovod run --detach job.yaml && khorovod status job.yaml\n  \
    khorovod run --dry-run job.yaml   # prints the kubectl lines\n  \
    khorovod run --local --workers 2  # on this machine, without a cluster\n\n\
    It applies the objects of `khorovod render`, with your kubectl, after the API\n\
    server has accepted all of them in a dry run. Then it prints the state of the\n\
    job and the launcher's log until the job has ended. The exit code is 0 if the\n\
    job trained. Ctrl-C stops following; the job continues. Jobs of other targets\n\
    than plain are applied, and not followed.\n\n\
    With --local, the pods are processes of this machine, which use its programs\n\
    instead of those of the image. The exit code is that of the launcher, and\n\
    Ctrl-C ends the job.")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,
    #[command(flatten)]
    connection: Connection,
    /// Return after the objects are applied
    #[arg(short, long)]
    detach: bool,
    /// Print the calls of kubectl, or with --local the pods, and run nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    local: local::Options,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    if args.local.local {
        return local::run(&args.local, &args.input, args.dry_run, screen);
    }
    let settings = &args.input.settings;
    let texts = args.input.texts(screen)?;
    let base = Kubectl::new(&args.connection);
    let mut inputs = settings.inputs(screen)?;
    if !args.dry_run {
        // A job without a namespace belongs to the namespace that kubectl uses.
        inputs.default_namespace = inputs.default_namespace.or(default_namespace(&base, screen)?);
    }
    let seed = Seed::of(settings, screen)?;
    let rendered = render::with_seed(&texts, inputs.clone(), &seed, screen)?;
    refuse_scripts(&rendered)?;
    let mut jobs = Vec::new();
    for text in &texts {
        inputs.keys = khorovod::Keys::Masked;
        jobs.extend(named_in(text, &inputs, &text.name, &base, screen)?.into_iter().map(|job| (job, text)));
    }
    let kubectl = base.in_namespace(settings.namespace.as_deref());
    if args.dry_run {
        return output::stdout(&args.lines(&kubectl, &jobs));
    }
    screen.problems(rendered.iter().map(|one| &one.warnings));
    let objects = render::joined(rendered);
    let mut plan = String::new();
    for (job, text) in &jobs {
        plan.push_str(&diff::changes(job, text, &inputs, settings, screen)?);
    }
    let planned = kubectl.call(&["apply", "--dry-run=server", "-f", "-"], Some(&objects), screen)?;
    if !planned.is_success {
        return Err(refused(&planned.stderr));
    }
    if objects.contains("schedulingGroup:") {
        let stored = kubectl.call(&["apply", "--dry-run=server", "-o", "json", "-f", "-"], Some(&objects), screen)?;
        if let Some(group) = group_without_pods(&stored.stdout) {
            return Err(Failure::File(format!(
                "the API server drops `schedulingGroup`, so no pod would belong to the PodGroup {group}, and the pods would start one by one; \
                 nothing was applied. Enable the feature gate GenericWorkload in the API server and the scheduler, or use another `scheduling.gang`"
            )));
        }
    }
    let _ = writeln!(plan, "{}", summary(&planned.stdout));
    // Only plain jobs are followed. The controllers that run the other targets have states of their own, which khorovod
    // does not read.
    let is_plain = settings.target().name() == khorovod::targets::PLAIN.name();
    let detaches = args.detach || jobs.is_empty() || !is_plain;
    if !detaches {
        screen.report(&plan);
    }
    let applied = kubectl.call(&["apply", "-f", "-"], Some(&objects), screen)?;
    if !applied.is_success {
        screen.report(&applied.stdout);
        let Failure::File(message) = explain(&applied.stderr) else { return Err(Failure::Problems) };
        return Err(Failure::File(format!("{message}; the objects above were applied")));
    }
    applied
        .stderr
        .lines()
        .filter(|line| line.starts_with("Warning:"))
        .for_each(|line| screen.plain(&show::clean(line)));
    if detaches {
        for (job, _) in &jobs {
            let words = job.words();
            let _ = writeln!(
                plan,
                "applied {}; to follow it: khorovod status {words} --watch, khorovod logs {words} -f",
                job.name
            );
        }
        return output::stdout(&plan);
    }
    let jobs: Vec<Job> = jobs.into_iter().map(|(job, _)| job).collect();
    let is_new = applied.stdout.lines().any(|line| line.ends_with(" created"));
    follow(&jobs, is_new, screen)
}

impl Args {
    /// The calls as lines for a shell.
    fn lines(&self, kubectl: &Kubectl, jobs: &[(Job, &Text)]) -> String {
        let mut text = String::new();
        for (job, _) in jobs {
            let _ = writeln!(text, "{}", job.kubectl.line(&borrowed(&job.get())));
        }
        let render = self.input.render_command();
        let _ = writeln!(text, "{render} | {}", kubectl.line(&["apply", "--dry-run=server", "-f", "-"]));
        let _ = writeln!(text, "{render} | {}", kubectl.line(&["apply", "-f", "-"]));
        for (job, _) in jobs.iter().filter(|_| !self.detach) {
            let _ = writeln!(text, "{}", job.kubectl.line(&borrowed(&job.get())));
            let _ = writeln!(text, "{}", job.kubectl.line(&["logs", "POD", "--follow"]));
        }
        text
    }
}

/// Refuses batch scripts, because Kubernetes cannot run them.
fn refuse_scripts(rendered: &[Rendered]) -> Outcome {
    let is_script = rendered.iter().flat_map(|one| &one.documents).any(khorovod::Document::is_script);
    match is_script {
        true => Err(Failure::Usage(
            "`run` applies objects to Kubernetes, and the target slurm is a batch script; use: khorovod render --target slurm … | sbatch"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

/// The failure if the API server refuses an object in the dry run.
fn refused(stderr: &str) -> Failure {
    let Failure::File(message) = explain(stderr) else { return Failure::Problems };
    let lines: Vec<_> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let all = match lines.as_slice() {
        [] | [_] => String::new(),
        many => format!("\n  {}", show::clean(&many.join("\n  "))),
    };
    Failure::File(format!("{message}; nothing was applied{all}"))
}

/// The name of a PodGroup of Kubernetes to which no pod template belongs, in the objects as the API server would store them. An API
/// server without the feature gate accepts the PodGroup, and drops the reference without an error.
fn group_without_pods(stored: &str) -> Option<String> {
    let list: Value = serde_json::from_str(stored).ok()?;
    let items = || list["items"].as_array().into_iter().flatten();
    let is_group = |item: &&Value| {
        item["kind"] == "PodGroup"
            && item["apiVersion"].as_str().is_some_and(|version| version.starts_with("scheduling.k8s.io/"))
    };
    let has_pods =
        |name: &Value| items().any(|item| item["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"] == *name);
    let groups = items().filter(is_group).map(|item| &item["metadata"]["name"]);
    groups.filter(|name| !has_pods(name)).find_map(|name| name.as_str().map(str::to_owned))
}

/// `creates 10 objects, changes 1 (configmap/mnist-current), leaves 3 unchanged`, from the output of `kubectl apply`.
fn summary(applied: &str) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in applied.lines() {
        let line = line.trim_end_matches(" (server dry run)");
        if let Some((object, word)) = line.rsplit_once(' ') {
            groups.entry(word).or_default().push(object);
        }
    }
    let objects = |number: usize| format!("{number} object{}", if number == 1 { "" } else { "s" });
    let mut parts = Vec::new();
    if let Some(created) = groups.get("created") {
        parts.push(format!("creates {}", objects(created.len())));
    }
    if let Some(changed) = groups.get("configured") {
        parts.push(format!("changes {}", changed.join(", ")));
    }
    if let Some(same) = groups.get("unchanged") {
        parts.push(format!("leaves {} unchanged", objects(same.len())));
    }
    if parts.is_empty() { "nothing to apply".to_owned() } else { parts.join("; ") }
}

/// Prints the states of jobs until all have ended. For a single job, also prints the launcher's log. `is_new` is false if
/// `kubectl apply` created no object. In that case, the runs may already have ended, and the user gets a notice.
fn follow(jobs: &[Job], is_new: bool, screen: &Screen) -> Outcome {
    let words: Vec<String> = jobs.iter().map(Job::words).collect();
    let back = words.iter().fold(String::new(), |text, words| {
        format!("{text}\nnote: it continues; to come back: khorovod status {words} --watch, khorovod logs {words} -f; to end it: khorovod stop {words}")
    });
    // Ctrl-C also reaches the kubectl processes, which exit too.
    let handler = move || {
        eprintln!("{back}");
        std::process::exit(130);
    };
    if ctrlc::set_handler(handler).is_err() {
        screen.notice("Ctrl-C ends this command, and the job continues");
    }
    let mut printed: Vec<String> = vec![String::new(); jobs.len()];
    let mut streams = Streams::new(&jobs[0].kubectl, vec!["logs".to_owned(), "--follow".to_owned()], 8);
    let (mut looked, mut away): (Option<Instant>, Option<Instant>) = (None, None);
    let mut states: Vec<State> = Vec::new();
    loop {
        if looked.is_none_or(|time| time.elapsed() >= LOOK) {
            looked = Some(Instant::now());
            match jobs.iter().map(|job| job.state(None, screen)).collect::<Result<Vec<_>, _>>() {
                Ok(found) => (states, away) = (found, None),
                Err(failure) => {
                    let Failure::File(message) = &failure else { return Err(failure) };
                    let since = *away.get_or_insert_with(|| {
                        screen.notice(&format!("{message}; tries again"));
                        Instant::now()
                    });
                    if since.elapsed() >= AWAY {
                        return Err(failure);
                    }
                }
            }
            for (state, printed) in states.iter().zip(&mut printed) {
                let gist = state.message.split("; no progress for").next().unwrap_or_default();
                if gist != printed {
                    screen.notice(&page::sentence(state, now()));
                    gist.clone_into(printed);
                }
            }
        }
        let all_ended = !states.is_empty() && states.iter().all(|state| state.phase.has_ended() && state.is_released);
        if all_ended && !is_new && !streams.have_started() {
            screen.notice("the spec has not changed since this run, so nothing starts; to run it again: khorovod run --set runTag=2");
            break;
        }
        if let ([_], [state]) = (jobs, states.as_slice()) {
            let pod = state.log_pod.clone().filter(|_| state.has_log);
            let has_ended = state.phase.has_ended();
            let logs = pod.map(|pod| Log { pod, name: String::new(), is_previous: false, has_ended });
            streams.follow(logs.as_slice())?;
        }
        if !streams.print(&|_| true)? {
            return Ok(());
        }
        if all_ended && streams.are_done() && streams.print(&|_| true)? {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    let trained = states.iter().all(|state| state.phase == Phase::Trained);
    if trained { Ok(()) } else { Err(Failure::Problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_scheduling_group_is_found() {
        let stored = |version: &str, pod: &str| {
            format!(
                r#"{{"kind": "List", "items": [
                    {{"apiVersion": "{version}", "kind": "PodGroup", "metadata": {{"name": "a-1"}}}},
                    {{"apiVersion": "batch/v1", "kind": "Job", "spec": {{"template": {{"spec": {pod}}}}}}}]}}"#
            )
        };
        let named = r#"{"schedulingGroup": {"podGroupName": "a-1"}}"#;
        let other = r#"{"schedulingGroup": {"podGroupName": "b-1"}}"#;
        assert_eq!(group_without_pods(&stored("scheduling.k8s.io/v1beta1", named)), None);
        for dropped in ["{}", other] {
            assert_eq!(group_without_pods(&stored("scheduling.k8s.io/v1beta1", dropped)).as_deref(), Some("a-1"));
        }
        // Pods refer to the PodGroup of another scheduler by a label or an annotation.
        assert_eq!(group_without_pods(&stored("scheduling.volcano.sh/v1beta1", "{}")), None);
        assert_eq!(group_without_pods("not JSON"), None);
    }

    #[test]
    fn a_dry_run_is_summarised() {
        let text = "configmap/a-current configured (server dry run)\nservice/a unchanged (server dry run)\n\
                    job.batch/a-b-launcher created (server dry run)\nstatefulset.apps/a-b-worker created (server dry run)\n";
        assert_eq!(summary(text), "creates 2 objects; changes configmap/a-current; leaves 1 object unchanged");
        assert_eq!(summary("service/a unchanged (server dry run)\n"), "leaves 1 object unchanged");
        assert_eq!(summary(""), "nothing to apply");
    }
}
