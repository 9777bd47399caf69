//! `khorovod status`: what a job is doing, since when, and what it waits for.

use std::io::{self, IsTerminal};
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use super::connection::{Job, Which, borrowed, now};
use super::diagnosis::{Phase, State};
use super::live::View;
use super::page;
use super::wait::duration;
use crate::cli::destination::{Destination, TextOrJson};
use crate::cli::show::Screen;
use crate::cli::{Failure, Outcome, output};

/// How many lines of the log the live view reads: more than a terminal has rows.
const LIVE_LINES: u32 = 100;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod status                # the job of job.yaml\n  \
    khorovod status mnist -n team-a\n  \
    khorovod status mnist --watch  # until it ends; Ctrl-C stops watching\n  \
    khorovod status mnist -o json | jq '.jobs[0].phase'\n\n\
    It calls your kubectl at most three times: for the objects of the job, for\n\
    events if pods wait, and for the end of the log. docs/reference.md lists the\n\
    fields of the JSON.")]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// The run to describe. Default: the current one
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// How many lines of the log to print
    #[arg(long, value_name = "N", default_value_t = 8)]
    lines: u32,
    /// Print the state again and again until the job has ended
    #[arg(short, long)]
    watch: bool,
    /// With --watch, the time between two looks, at least 1s
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration)]
    interval: Duration,
    /// Print text (the default) or json, or write to a file that ends in .txt or .json
    #[arg(short, long, value_name = "FORMAT|FILE", value_parser = Destination::<TextOrJson>::parser())]
    output: Option<Destination<TextOrJson>>,
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    let Destination { format, path } = args.output.unwrap_or_else(Destination::stdout);
    let jobs = args.which.jobs(screen)?;
    if args.which.dry_run {
        let lines = jobs.iter().map(|job| job.calls(args.lines)).collect::<String>();
        return output::stdout(&lines);
    }
    if args.watch && path.is_some() {
        return Err(Failure::Usage("--watch prints to the terminal; leave out the file".to_owned()));
    }
    if args.watch {
        return watch(
            &jobs,
            args.run.as_deref(),
            format,
            args.lines,
            args.interval.max(Duration::from_secs(1)),
            screen,
        );
    }
    let mut states = Vec::new();
    for job in &jobs {
        states.push(job.existing(args.run.as_deref(), screen)?);
    }
    output::text(&shown(&jobs, &states, format, args.lines, screen), path.as_deref())
}

/// The states of jobs in a format.
fn shown(jobs: &[Job], states: &[State], format: TextOrJson, lines: u32, screen: &Screen) -> String {
    match format {
        TextOrJson::Json => format!("{:#}\n", json!({ "jobs": states })),
        TextOrJson::Text => {
            let pages = jobs.iter().zip(states).map(|(job, state)| one(job, state, lines, screen));
            pages.collect::<Vec<_>>().join("\n")
        }
    }
}

fn one(job: &Job, state: &State, lines: u32, screen: &Screen) -> String {
    page::page(state, &job.log_end(state, lines, screen), Some(&hint(job, state)), now())
}

/// The next command for a job in this state.
fn hint(job: &Job, state: &State) -> String {
    let words = job.words();
    // `run_of_spec` is computed for plain objects. If another controller runs the job, the run always has another name,
    // which does not mean that the spec has changed.
    let is_changed = state.other_controller.is_none()
        && job.run_of_spec.as_ref().zip(state.run.as_ref()).is_some_and(|(spec, run)| spec != run);
    match state.phase {
        _ if is_changed => format!("the spec has changed since this run: khorovod diff {words}"),
        Phase::Failed => format!("khorovod logs {words} --failed"),
        Phase::Stopped => format!("khorovod run {}", job.word),
        Phase::Trained | Phase::Superseded | Phase::PastDeadline | Phase::Absent => format!("khorovod logs {words}"),
        Phase::Queued => "kubectl get workloads".to_owned(),
        _ => format!("khorovod logs {words} -f"),
    }
}

/// Prints the states until all jobs have ended. A terminal shows them in place; otherwise only changes are printed.
fn watch(
    jobs: &[Job],
    run: Option<&str>,
    format: TextOrJson,
    lines: u32,
    interval: Duration,
    screen: &Screen,
) -> Outcome {
    let look = || jobs.iter().map(|job| job.existing(run, screen)).collect::<Result<Vec<State>, _>>();
    let has_ended = |states: &[State]| states.iter().all(|state| state.phase.has_ended() && state.is_released);
    let mut states = look()?;
    if io::stdout().is_terminal() && matches!(format, TextOrJson::Text) {
        let view = View::open();
        while !has_ended(&states) {
            let logs =
                jobs.iter().zip(&states).map(|(job, state)| job.log_end(state, LIVE_LINES, screen)).collect::<Vec<_>>();
            let drawn = view.draw(&states.into_iter().zip(logs).collect::<Vec<_>>(), now());
            drawn.map_err(|error| {
                Failure::File(format!("cannot write to standard output: {}", output::reason(&error)))
            })?;
            sleep(interval);
            states = look()?;
        }
        drop(view);
        return output::stdout(&shown(jobs, &states, format, lines, screen));
    }
    let mut last = String::new();
    loop {
        let text: String = match format {
            TextOrJson::Json => format!("{}\n", json!({ "jobs": states })),
            TextOrJson::Text => one_per_line(&states, |state| page::sentence(state, now())),
        };
        let current = one_per_line(&states, |state| format!("{:?}{}", state.phase, state.message));
        if current != last {
            output::stdout(&text)?;
            last = current;
        }
        if has_ended(&states) {
            return Ok(());
        }
        sleep(interval);
        states = look()?;
    }
}

/// A line for each state.
fn one_per_line(states: &[State], line: impl Fn(&State) -> String) -> String {
    let lines: Vec<String> = states.iter().map(line).collect();
    lines.join("\n") + "\n"
}

impl Job {
    /// The last lines of the log that explains a state. Empty if the pod has no log yet, or if the log cannot be read.
    pub fn log_end(&self, state: &State, lines: u32, screen: &Screen) -> Vec<String> {
        let Some(pod) = state.log_pod.as_ref().filter(|_| state.has_log && lines > 0) else { return Vec::new() };
        let answer = self.kubectl.call(&["logs", pod, &format!("--tail={lines}")], None, screen);
        match answer {
            Ok(answer) if answer.is_success => {
                let all: Vec<&str> = answer.stdout.lines().collect();
                let first = all.len().saturating_sub(usize::try_from(lines).unwrap_or(usize::MAX));
                all[first..].iter().map(|line| (*line).to_owned()).collect()
            }
            Ok(answer) if answer.stderr.contains("(Forbidden)") => {
                vec!["you may not read its log: ask your cluster administrator for get on pods/log".to_owned()]
            }
            _ => Vec::new(),
        }
    }

    /// The calls of `status`.
    fn calls(&self, lines: u32) -> String {
        let get = self.get();
        let tail = format!("--tail={lines}");
        self.kubectl.lines(&[borrowed(&get), Self::EVENTS.to_vec(), vec!["logs", "POD", &tail]])
    }
}
