//! Checks, before the import, that a text is a complete script for Slurm.

use super::script::{self, Part};
use super::{classify, shebang};
use crate::codes::{NOTHING, OTHER_SYSTEM, TEMPLATE};
use crate::context::Context;
use crate::placeholders::hole;
use crate::secrets;
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::shell;

/// The limit for the number of options and commands of a script.
const MOST: usize = 5_000;

/// Pushes the problems that prevent an import. Returns true if there are no such problems.
pub fn check(text: &str, whole: Span, parts: &[Part], context: &mut Context<'_>) -> bool {
    if let Some(part) = parts.get(MOST) {
        let span = Span { start: part.place.start, end: part.place.end, ..whole };
        let message = format!("the script has {} lines of options and commands; the maximum is {MOST}", parts.len());
        let hint = "move the preparation into another script, and call that";
        context.refuse_at(span, message, hint);
        return false;
    }
    let at = |place: std::ops::Range<usize>| Span { start: place.start, end: place.end, ..whole };
    if script::is_too_deep(text)
        && let Some(part) = parts.iter().find(|part| part.kind == script::Kind::Unknown)
    {
        let span = at(part.place.start..part.place.start + text[part.place.clone()].lines().next().map_or(0, str::len));
        context.refuse_at(
            span,
            format!("commands are nested more than {} deep here", shell::DEEPEST),
            "put the nested commands into another script, and call that",
        );
        return false;
    }
    let first = at(parts.first().map_or(0..0, |part| part.place.clone()));
    if holes(text, whole, parts, context) {
        return false;
    }
    for part in parts {
        let line = &text[part.place.clone()];
        if let Some(place) = secrets::find_secret(line) {
            let place = part.place.start + place.start..part.place.start + place.end;
            context.refuse_at(
                at(place),
                "this looks like a secret, and would be readable in the spec",
                "write `export TOKEN=…` above it and `$TOKEN` here: that variable becomes a Secret",
            );
            return false;
        }
        if part.kind == script::Kind::Directive(None) {
            context.refuse_at(
                at(part.place.clone()),
                "a quote in this line does not end",
                "close the quote: sbatch would refuse it, too",
            );
            return false;
        }
    }
    let odd = [("\u{feff}", "a byte order mark"), ("\r\n", "line ends of Windows")];
    if let Some((mark, what)) = odd.iter().find(|(mark, _)| text.contains(mark)) {
        let at_mark = text.find(mark).unwrap_or_default();
        context.refuse_at(
            at(at_mark..at_mark + mark.len()),
            format!("the script has {what}"),
            "convert it with `dos2unix`: sbatch would not run it, either",
        );
        return false;
    }
    let foreign = text.lines().find(|line| ["#PBS ", "#BSUB ", "#$ "].iter().any(|mark| line.starts_with(mark)));
    let ours = parts.iter().any(|part| match &part.kind {
        script::Kind::Directive(_) => true,
        _ => classify::of_slurm(&text[part.place.clone()]),
    });
    let (place, code, message, hint) = match (ours, foreign) {
        (true, _) => return shebang::check(text, whole, context) && !hands_on(text, whole, parts, context),
        (false, Some(line)) => {
            let mark = line.split(' ').next().unwrap_or_default();
            let start = line.as_ptr() as usize - text.as_ptr() as usize;
            (
                at(start..start + line.len()),
                &OTHER_SYSTEM,
                format!("this script is for another batch system: its options begin with `{mark}`"),
                "first write them as `#SBATCH` options: `--nodes`, `--ntasks-per-node`, `--gpus-per-node`, `--time`, `--partition`",
            )
        }
        (false, None) => (
            first,
            &NOTHING,
            "there is no `#SBATCH` line in it and no `srun`".to_owned(),
            "import the script for sbatch, or the srun line that you typed",
        ),
    };
    context.problems.push(Problem::new(code, place, message).hint(hint));
    false
}

/// Refuses a file that only submits another script with sbatch, because the submitted script is needed instead. Returns
/// whether the file is refused.
fn hands_on(text: &str, whole: Span, parts: &[Part], context: &mut Context<'_>) -> bool {
    let of_sbatch = |part: &&Part| text[part.place.clone()].trim_start_matches("$ ").starts_with("sbatch ");
    let mut lines = parts.iter().filter(of_sbatch);
    let wrapped = |part: &Part| matches!(classify::kind(&text[part.place.clone()]), classify::Kind::Options(_));
    let is_script = parts.iter().any(|part| matches!(part.kind, script::Kind::Directive(_)));
    let (first, second) = (lines.next().filter(|_| !is_script), lines.next());
    let (part, message, hint) = match (first, second) {
        (Some(first), None) if wrapped(first) => return false,
        (Some(_), Some(second)) => {
            (second, "each line of sbatch is a job, and there are several", "import them one at a time")
        }
        (Some(first), None) => (
            first,
            "the job is in the script that this line passes to sbatch",
            "import that script, with the options of this line as `#SBATCH` lines in it",
        ),
        (None, _) => return false,
    };
    let span = Span { start: part.place.start, end: part.place.end, ..whole };
    context.refuse_at(span, message, hint);
    true
}

/// Pushes a problem for each placeholder, at most one per line. Returns whether there are any.
fn holes(text: &str, whole: Span, parts: &[Part], context: &mut Context<'_>) -> bool {
    let before = context.problems.len();
    for part in parts {
        // `hole` skips comments, so pass the text of a directive without `#SBATCH`.
        let skip = if matches!(part.kind, script::Kind::Directive(_)) { "#SBATCH".len() } else { 0 };
        let start = part.place.start + skip;
        if let Some(place) = hole(&text[start..part.place.end]) {
            let (start, end) = (start + place.start, start + place.end);
            let message = format!("`{}` is a placeholder", &text[start..end]);
            let problem = Problem::new(&TEMPLATE, Span { start, end, ..whole }, message);
            context.problems.push(problem.hint("replace it with its value"));
        }
    }
    context.problems.len() > before
}
