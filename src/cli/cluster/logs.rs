//! `khorovod logs`: the output of a job's launcher and ranks.

pub mod streams;

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use self::streams::{Log, Streams};
use super::connection::{Job, Which, borrowed};
use super::diagnosis::{Phase, State};
use super::objects::{Objects, Pod};
use super::pods::{Output, has_failed, most_ranks, pod_of_rank, rank_of_line, short_name};
use crate::cli::show::Screen;
use crate::cli::{Failure, Outcome, output};

/// How many pods are read at the same time. Each of them needs a process of kubectl.
const MOST: usize = 64;
/// How often to check whether there are new pods, and whether the run has ended.
const LOOK: Duration = Duration::from_secs(3);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod logs mnist -f              # the launcher, which prints all ranks\n  \
    khorovod logs mnist --rank 0 --rank 5\n  \
    khorovod logs mnist --worker 3      # a worker's own log\n  \
    khorovod logs mnist --failed        # pods that have failed, and why\n  \
    khorovod logs mnist --all --since 10m\n\n\
    With torchrun, jax and tensorflow, each pod prints the output of its own\n\
    ranks, and all pods are printed. If several pods are printed, each line\n\
    begins with the pod. --rank needs observability.logs.rankPrefix, unless each pod\n\
    prints its own ranks.\n\n\
    In the lines of --dry-run, POD is a pod that the first line lists.")]
#[allow(clippy::struct_excessive_bools)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Print the lines of this rank (repeatable). With torchrun, jax or tensorflow, the pod that runs it
    #[arg(long = "rank", value_name = "N")]
    ranks: Vec<u32>,
    /// Print the log of this worker: its number, or the end of the name of its pod (repeatable)
    #[arg(long = "worker", value_name = "N|NAME")]
    workers: Vec<String>,
    /// Print the pods that have failed
    #[arg(long, conflicts_with_all = ["ranks", "workers", "all"])]
    failed: bool,
    /// Print the launcher and all workers
    #[arg(long, conflicts_with_all = ["ranks", "workers"])]
    all: bool,
    /// Print earlier launchers of the run too, and what a pod printed before its container started again
    #[arg(long, conflicts_with = "follow")]
    previous: bool,
    /// Continue until the run has ended, also with pods that start later
    #[arg(short, long)]
    follow: bool,
    /// Print only the last N lines of each pod. Default: all lines
    #[arg(long, value_name = "N")]
    tail: Option<u64>,
    /// Print only lines that are not older than TIME, such as 10m. Default: all lines
    #[arg(long, value_name = "TIME", value_parser = super::wait::duration)]
    since: Option<Duration>,
    /// Print the time of each line
    #[arg(long)]
    timestamps: bool,
    /// The run whose logs to print. Default: the current one
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    let job = args.which.job(screen)?;
    if args.which.dry_run {
        let mut call = args.options();
        call.insert(1, "POD".to_owned());
        let calls = [job.get(), call];
        return output::stdout(&job.kubectl.lines(&calls.each_ref().map(|call| borrowed(call))));
    }
    let objects = job.objects(screen)?;
    let (mut pods, is_per_pod) = args.pods(&job, &objects)?;
    let mut state = job.describe(objects, args.run.as_deref(), screen)?;
    if state.phase == Phase::Absent {
        return Err(job.absent(&state));
    }
    if pods.is_empty() && !args.follow {
        return Err(Failure::File(args.no_pods(&job, &state)));
    }
    // If the launcher prints the output of all ranks, `--rank` selects lines of the launcher's log.
    let ranks: BTreeSet<u32> = args.ranks.iter().copied().collect();
    let has_times = args.timestamps;
    let keeps = move |line: &str| {
        let line = if has_times { line.split_once(' ').map_or(line, |(_, line)| line) } else { line };
        is_per_pod || ranks.is_empty() || rank_of_line(line).is_some_and(|rank| ranks.contains(&rank))
    };
    let mut streams = Streams::new(&job.kubectl, args.options(), MOST);
    // Lines get the name of their pod even while only one pod has started, because other pods may start later.
    streams.names_all = is_per_pod && args.ranks.is_empty() && args.workers.is_empty() && state.workers.wanted > 1;
    if !args.follow {
        let lost = streams.print_each(&pods, &keeps)?;
        for why in &lost {
            screen.notice(why);
        }
        return if lost.len() == pods.len() { Err(Failure::Problems) } else { Ok(()) };
    }
    if pods.is_empty() {
        screen.notice(&format!("{}: {}; its output follows", job.name, state.message));
    }
    let filter = |line: &str| keeps(line);
    let (mut looked, mut is_reported) = (Instant::now(), false);
    loop {
        if pods.len() > MOST && !is_reported {
            screen.notice(&format!(
                "follows {MOST} of {} pods; select some with --rank, --worker or --failed",
                pods.len()
            ));
            is_reported = true;
        }
        streams.follow(&pods)?;
        if !streams.print(&filter)? {
            return Ok(());
        }
        let has_ended = state.phase.has_ended();
        if has_ended && streams.are_done() {
            return streams.print(&filter).map(drop);
        }
        if looked.elapsed() >= LOOK && !has_ended {
            looked = Instant::now();
            // A failure is ignored, because the API server may be unreachable for a while.
            if let Ok(objects) = job.objects(screen) {
                pods = args.pods(&job, &objects)?.0;
                state = job.describe(objects, args.run.as_deref(), screen).unwrap_or(state);
            }
        }
        sleep(Duration::from_millis(50));
    }
}

impl Args {
    /// The command `logs` of kubectl and its options, without the name of the pod.
    fn options(&self) -> Vec<String> {
        let mut words = vec!["logs".to_owned()];
        words.extend(self.tail.map(|lines| format!("--tail={lines}")));
        words.extend(self.since.map(|time| format!("--since={}s", time.as_secs())));
        words.extend(self.timestamps.then(|| "--timestamps".to_owned()));
        words.extend(self.follow.then(|| "--follow".to_owned()));
        words
    }

    /// Returns the logs of those started pods that the options select, and whether each pod prints the output of its own
    /// ranks.
    fn pods(&self, job: &Job, objects: &Objects) -> Result<(Vec<Log>, bool), Failure> {
        let subject = super::diagnosis::Subject { job: &job.name, namespace: None, run: self.run.as_deref() };
        let Some(run) = super::diagnosis::run_of(objects, subject) else { return Ok((Vec::new(), false)) };
        let output = Output::find(objects, &run);
        let last_launcher = output.launchers().pop();
        let launchers: Vec<&str> = output.launchers().iter().map(|pod| pod.metadata.name.as_str()).collect();
        let is_old = |pod: &&Pod| {
            launchers.contains(&pod.metadata.name.as_str())
                && last_launcher.is_some_and(|last| last.metadata.name != pod.metadata.name)
        };
        let mut chosen: Vec<&Pod> = Vec::new();
        if self.failed {
            chosen.extend(output.pods.iter().copied().filter(|pod| has_failed(pod)));
        } else if self.all || (output.is_per_pod && self.ranks.is_empty() && self.workers.is_empty()) {
            chosen.extend(output.pods.iter().copied().filter(|pod| self.previous || !is_old(pod)));
        } else {
            let most = most_ranks(objects, &job.name);
            if let Some((rank, most)) =
                self.ranks.iter().find_map(|rank| Some((rank, most.filter(|most| rank >= most)?)))
            {
                return Err(Failure::Usage(format!(
                    "{} has no rank {rank}: it has the ranks 0 to {}",
                    job.name,
                    most - 1
                )));
            }
            for word in &self.workers {
                let found = output.worker(word);
                if found.is_empty() && !self.follow {
                    let names: Vec<_> = output.pods.iter().map(|pod| short_name(pod)).take(12).collect();
                    return Err(Failure::Usage(format!(
                        "run {run} has no worker {word}; its pods are {}",
                        names.join(", ")
                    )));
                }
                chosen.extend(found);
            }
            for rank in self.ranks.iter().filter(|_| output.is_per_pod) {
                let Some(number) = pod_of_rank(objects, &job.name, *rank) else {
                    return Err(Failure::Usage(format!("which pod runs rank {rank} is unknown; use --worker instead")));
                };
                chosen.extend(output.worker(&number.to_string()));
            }
            if self.workers.is_empty() && (self.ranks.is_empty() || !output.is_per_pod) {
                let launchers = output.launchers();
                let from = if self.previous { 0 } else { launchers.len().saturating_sub(1) };
                chosen.extend(&launchers[from..]);
            }
        }
        let mut wanted: Vec<Log> = Vec::new();
        for pod in chosen.into_iter().filter(|pod| pod.has_started()) {
            let log = Log {
                pod: pod.metadata.name.clone(),
                name: short_name(pod),
                is_previous: false,
                has_ended: pod.has_ended(),
            };
            let has_earlier = pod.container().is_some_and(|status| status.restart_count > 0);
            if wanted.contains(&log) {
                continue;
            }
            if (self.previous || self.failed) && has_earlier && !self.follow {
                let name = format!("{} (before)", log.name);
                wanted.push(Log { name, is_previous: true, ..log.clone() });
            }
            wanted.push(log);
        }
        Ok((wanted, output.is_per_pod))
    }

    /// Why there is nothing to print.
    fn no_pods(&self, job: &Job, state: &State) -> String {
        match self.failed {
            true => format!("no pod of {} has failed: {}", job.name, state.message),
            false => format!("{} has no output yet: {}", job.name, state.message),
        }
    }
}
