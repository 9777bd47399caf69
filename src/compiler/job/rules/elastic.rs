//! Rules about the bounds of elastic training.

use super::Case;
use crate::job::declare::Elastic as Given;
use crate::job::types::spec::Elastic;
use crate::problem::{Problem, codes};

codes! {
    /// The number of workers is outside the elastic bounds
    ///
    /// `minWorkers` ≤ `workers.replicas` ≤ `maxWorkers`: the job starts with `replicas` workers and
    /// continues with any number between the bounds.
    Error ELASTIC_BOUNDS = "elastic-bounds";

    /// A cooldown that is not a range
    ///
    /// `cooldown` takes the minimum and the maximum time in seconds: `[60, 600]`.
    Error ELASTIC_COOLDOWN = "elastic-cooldown";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["launcher.kind"]) {
        return;
    }
    let Some(given) = &case.body.elastic else { return };
    let Some(elastic) = &case.spec.elastic else { return };
    bounds(case, given, elastic, problems);
    if let Some(at) = &given.cooldown
        && case.could_read(&["elastic.cooldown"])
        && (at.len() != 2 || elastic.cooldown.is_some_and(|(low, high)| low > high))
    {
        let problem =
            Problem::new(&ELASTIC_COOLDOWN, at.span, "`elastic.cooldown` takes the minimum and the maximum time");
        problems.push(problem.hint("write `cooldown: [60, 600]`"));
    }
}

fn bounds(case: &Case<'_>, given: &Given, elastic: &Elastic, problems: &mut Vec<Problem>) {
    let (Some(min), Some(max)) = (&given.min_workers, &given.max_workers) else { return };
    if elastic.min_workers > elastic.max_workers {
        let message = format!("`minWorkers` ({}) is above `maxWorkers` ({})", min.0, max.0);
        let problem = Problem::new(&ELASTIC_BOUNDS, min.span, message).here("minimum");
        return problems.push(problem.and(max.span, "maximum").hint("swap the two"));
    }
    let Some(replicas) = field!(case.workers.replicas) else { return };
    let (bound, word, side) = match replicas.0 {
        count if count < min.0 => (min, "minWorkers", "below"),
        count if count > max.0 => (max, "maxWorkers", "above"),
        _ => return,
    };
    let message = format!("`workers.replicas` ({}) is {side} `elastic.{word}` ({})", replicas.0, bound.0);
    let problem = Problem::new(&ELASTIC_BOUNDS, replicas.span, message).here("the job starts with this number");
    let hint = format!("write `replicas: {}`, or change `{word}`", bound.0);
    problems.push(problem.and(bound.span, "the bound").hint(hint));
}
