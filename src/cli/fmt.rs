//! `khorovod fmt`: puts the fields of specs into the canonical order.

use khorovod::problem::count;

use super::input::{self, Files};
use super::show::Screen;
use super::{Failure, Outcome, edit};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod fmt jobs/*.yaml\n  \
    khorovod fmt --check jobs/*.yaml   # exit code 1 if one would change\n\n\
    The order is that of docs/fields.md. Comments move with the field below them or\n\
    in the same line. Values, maps in braces and other documents stay unchanged.\n\
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
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
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
