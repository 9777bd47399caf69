//! Whether a text is a script of Slurm, and all of it there: asked before anything is read.

use super::script::{self, Part};
use super::{lines, text};
use crate::import::desk::Desk;
use crate::import::{BAD_VALUE, NOTHING, OTHER_SYSTEM, TEMPLATE};
use crate::problem::{Problem, Span};

/// How many options and commands a script may have.
const MOST: usize = 5_000;

/// Says what is in the way of reading it; whether nothing is.
pub fn check(text: &str, whole: Span, parts: &[Part], desk: &mut Desk<'_>) -> bool {
    if let Some(part) = parts.get(MOST) {
        let span = Span { start: part.place.start, end: part.place.end, ..whole };
        let message = format!("the script has {} lines of options and commands, and {MOST} are read", parts.len());
        let hint = "put what is no launch into a script of its own, and call that";
        desk.problems.push(Problem::new(&BAD_VALUE, span, message).hint(hint));
        return false;
    }
    let at = |place: std::ops::Range<usize>| Span { start: place.start, end: place.end, ..whole };
    let first = at(parts.first().map_or(0..0, |part| part.place.clone()));
    for part in parts {
        let line = &text[part.place.clone()];
        // A directive is no comment.
        let skip = if matches!(part.kind, script::Kind::Directive(_)) { "#SBATCH".len() } else { 0 };
        if let Some(place) = text::placeholder(&line[skip..]) {
            let start = part.place.start + skip;
            let place = start + place.start..start + place.end;
            let name = text[place.clone()].to_owned();
            let problem = Problem::new(&TEMPLATE, at(place), format!("`{name}` is a place to be filled in"));
            desk.problems.push(problem.hint("write what belongs there into the script"));
            return false;
        }
        if let Some(place) = text::secret(line) {
            let place = part.place.start + place.start..part.place.start + place.end;
            let problem = Problem::new(&BAD_VALUE, at(place), "this looks like a secret, and would stand in the spec");
            desk.problems.push(
                problem.hint("write `export TOKEN=…` above it and `$TOKEN` here: of the variable a Secret is made"),
            );
            return false;
        }
        if part.kind == script::Kind::Directive(None) {
            let problem = Problem::new(&BAD_VALUE, at(part.place.clone()), "a quote in this line does not end");
            desk.problems.push(problem.hint("sbatch would refuse it, too: close the quote"));
            return false;
        }
    }
    let odd = [("\u{feff}", "a byte order mark"), ("\r\n", "line ends of Windows")];
    if let Some((mark, what)) = odd.iter().find(|(mark, _)| text.contains(mark)) {
        let at_mark = text.find(mark).unwrap_or_default();
        let problem = Problem::new(&BAD_VALUE, at(at_mark..at_mark + mark.len()), format!("the script has {what}"));
        desk.problems.push(problem.hint("sbatch would not run it, either: `dos2unix` mends it"));
        return false;
    }
    let foreign = text.lines().find(|line| ["#PBS ", "#BSUB ", "#$ "].iter().any(|mark| line.starts_with(mark)));
    let ours = parts.iter().any(|part| match &part.kind {
        script::Kind::Directive(_) => true,
        _ => lines::of_slurm(&text[part.place.clone()]),
    });
    let (code, message, hint) = match (ours, foreign) {
        (true, _) => return true,
        (false, Some(line)) => {
            let mark = line.split(' ').next().unwrap_or_default();
            (
                &OTHER_SYSTEM,
                format!("this is a script for another batch system: its options stand behind `{mark}`"),
                "write them as `#SBATCH` first",
            )
        }
        (false, None) => (
            &NOTHING,
            "there is no `#SBATCH` line in it and no `srun`".to_owned(),
            "give the script that goes to sbatch, or the srun line that was typed",
        ),
    };
    desk.problems.push(Problem::new(code, first, message).hint(hint));
    false
}
