//! `khorovod wait`: waits until a job is trained, runs, or has released its resources.

use std::thread::sleep;
use std::time::{Duration, Instant};

use khorovod::parse_duration;

use super::connection::{Which, borrowed, now};
use super::diagnosis::{Phase, State};
use super::page;
use crate::cli::show::Screen;
use crate::cli::{Failure, Outcome, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod wait mnist --timeout 2h && ./evaluate.sh\n  \
    khorovod wait mnist --for running --timeout 10m\n  \
    khorovod wait mnist --for released\n\n\
    The exit code is 1 if the job ends otherwise, or if the time is over.")]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Wait until the job is `trained` (ended successfully, with its resources released), until its
    /// ranks are `running` (any phase from training on), or until its resources are `released`, however it ended. If the job ends in another way, the exit code is 1
    #[arg(long = "for", value_name = "STATE", default_value = "trained")]
    goal: Goal,
    /// The longest time to wait, such as 30s, 10m or 2h. Default: no limit
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Goal {
    Trained,
    Running,
    Released,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    let job = args.which.job(screen)?;
    if args.which.dry_run {
        return output::stdout(&job.kubectl.lines(&[borrowed(&job.get())]));
    }
    let (began, mut printed) = (Instant::now(), String::new());
    let mut state = job.existing(None, screen)?;
    loop {
        let (sentence, reached) = (page::sentence(&state, now()), reached(&state, args.goal));
        if reached == Some(false) {
            screen.error(&sentence);
            return Err(Failure::Problems);
        }
        if reached == Some(true) {
            return output::stdout(&format!("{sentence}\n"));
        }
        if state.message != printed {
            screen.notice(&sentence);
            printed.clone_from(&state.message);
        }
        if args.timeout.is_some_and(|limit| began.elapsed() >= limit) {
            screen.error(&format!("the time is over: {sentence}"));
            return Err(Failure::Problems);
        }
        sleep(Duration::from_secs(2));
        state = job.state(None, screen)?;
    }
}

/// Whether a job has reached the goal: Some(true) if it has, None if it may still reach it, and Some(false) if it
/// cannot reach it any more.
fn reached(state: &State, goal: Goal) -> Option<bool> {
    let has_ended = state.phase.has_ended() || state.phase == Phase::Absent;
    match goal {
        Goal::Running if state.phase.is_running() || state.phase == Phase::Trained => Some(true),
        Goal::Trained if state.phase == Phase::Trained => state.is_released.then_some(true),
        Goal::Released if has_ended => state.is_released.then_some(true),
        Goal::Running | Goal::Trained if has_ended => Some(false),
        _ => None,
    }
}

/// Parses a duration as in a spec: `90s`, `10m`, `1h30m`, `1d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = parse_duration(text);
    seconds.map(Duration::from_secs).ok_or_else(|| "write numbers with units, such as 30s, 10m, 1h30m or 1d".to_owned())
}
