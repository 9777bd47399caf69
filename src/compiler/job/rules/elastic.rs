//! Rules about the bounds of elastic training.

use super::Case;
use crate::job::declare::Elastic as Given;
use crate::job::types::spec::Elastic;
use crate::problem::{Problem, codes};

codes! {
    /// The number of workers is outside the elastic bounds
    ///
    /// `minReplicas` ≤ `workers.replicas` ≤ `maxReplicas`: the job starts with `replicas` workers and
    /// continues with any number between the bounds.
    Error ELASTIC_BOUNDS = "elastic-bounds";

    /// `workers.elastic.cooldown.min` is above `max`
    ///
    /// The time before a failed host is used again grows from `min` to `max`.
    Error ELASTIC_COOLDOWN = "elastic-cooldown";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["launcher.kind"]) {
        return;
    }
    let Some(given) = field!(case.workers.elastic) else { return };
    let Some(elastic) = &case.spec.elastic else { return };
    bounds(case, given, elastic, problems);
    if let Some(at) = &given.cooldown
        && case.could_read(&["workers.elastic.cooldown"])
        && elastic.cooldown.is_some_and(|(min, max)| min > max)
    {
        let problem = Problem::new(&ELASTIC_COOLDOWN, at.span, "`min` of `workers.elastic.cooldown` is above `max`");
        problems.push(problem.hint("swap the two"));
    }
}

fn bounds(case: &Case<'_>, given: &Given, elastic: &Elastic, problems: &mut Vec<Problem>) {
    let (Some(min), Some(max)) = (&given.min_replicas, &given.max_replicas) else { return };
    if elastic.min_replicas > elastic.max_replicas {
        let message = format!("`minReplicas` ({}) is above `maxReplicas` ({})", min.0, max.0);
        let problem = Problem::new(&ELASTIC_BOUNDS, min.span, message).here("minimum");
        return problems.push(problem.and(max.span, "maximum").hint("swap the two"));
    }
    let Some(replicas) = field!(case.workers.replicas) else { return };
    let (bound, word, side) = match replicas.0 {
        count if count < min.0 => (min, "minReplicas", "below"),
        count if count > max.0 => (max, "maxReplicas", "above"),
        _ => return,
    };
    let message = format!("`workers.replicas` ({}) is {side} `workers.elastic.{word}` ({})", replicas.0, bound.0);
    let problem = Problem::new(&ELASTIC_BOUNDS, replicas.span, message).here("the job starts with this number");
    let hint = format!("write `replicas: {}`, or change `{word}`", bound.0);
    problems.push(problem.and(bound.span, "the bound").hint(hint));
}
