//! `khorovod fmt`: puts the fields of specs into the canonical order.

use std::path::Path;

use khorovod::Text;
use khorovod::problem::count;

use super::destination::{Destination, Json};
use super::input::{self, Files};
use super::show::Screen;
use super::{Failure, Outcome, edit, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod fmt jobs/*.yaml\n  \
    khorovod fmt --check jobs/*.yaml   # exit code 1 if one would change\n  \
    khorovod fmt -o json job.yaml | jq .jobs[0].spec.image\n\n\
    The order is that of `khorovod explain spec`. Comments move with the field below\n\
    them or in the same line. Values, maps in braces and other documents stay\n\
    unchanged.\n\
    With standard input, the formatted text is printed.")]
pub struct Args {
    #[command(flatten)]
    files: Files,
    /// Change no file, and fail if one is not in the canonical order
    #[arg(long)]
    check: bool,
    /// Print a unified diff, and change no file
    #[arg(long)]
    diff: bool,
    /// Print the specs as json, or write them to a file that ends in .json, and change no other file
    #[arg(short, long, value_name = "json|FILE", conflicts_with_all = ["check", "diff"], value_parser = Destination::<Json>::parser())]
    output: Option<Destination<Json>>,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    if let Some(Destination { path, .. }) = &args.output {
        return json(args, path.as_deref(), screen);
    }
    let mut changed = Vec::new();
    for path in args.files.or_default()? {
        let text = input::read(&path, screen)?;
        let new = khorovod::format(&text).map_err(|problems| {
            screen.problems([&problems]);
            Failure::Problems
        })?;
        if !args.check || args.diff {
            edit::write(&path, &text, &new, args.diff)?;
        }
        if new != text.text {
            changed.push(text.name);
        }
    }
    if args.check && !changed.is_empty() {
        let files = changed.join(", ");
        screen.error(&format!("not in the canonical order: {files}; run `khorovod fmt {}`", changed.join(" ")));
        return Err(Failure::Problems);
    }
    if !args.check && !args.diff {
        screen.notice(&format!("{} changed", count(changed.len() as u64, "file")));
    }
    Ok(())
}

/// Prints the TrainingJobs of all files as JSON, with their fields in the canonical order.
fn json(args: &Args, path: Option<&Path>, screen: &Screen) -> Outcome {
    let (mut jobs, mut problems) = (Vec::new(), Vec::new());
    for path in args.files.or_default()? {
        let text = input::read(&path, screen)?;
        let formatted = khorovod::format(&text).map(|new| Text { text: new, ..text });
        match formatted.and_then(|text| khorovod::jobs(&text)) {
            Ok(found) => jobs.extend(found),
            Err(found) => problems.push(found),
        }
    }
    if problems.is_empty() {
        return output::text(&format!("{:#}\n", serde_json::json!({ "jobs": jobs })), path);
    }
    screen.problems(&problems);
    Err(Failure::Problems)
}
