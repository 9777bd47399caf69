//! Removes equal problems. There are equal problems for two reasons. A mistake in an overlay or in `--set` is reported
//! for every job of the input, and a user may give the same `--set` twice.

use std::collections::HashSet;

use crate::problem::{Problem, Problems};

/// The problems that every format prints. If several problems have the same code, message, hint and places, only the
/// first is printed.
pub fn distinct<'a>(all: impl IntoIterator<Item = &'a Problems>) -> impl Iterator<Item = (&'a Problems, &'a Problem)> {
    let mut is_new = is_new();
    all.into_iter()
        .flat_map(|problems| problems.list.iter().map(move |problem| (problems, problem)))
        .filter(move |(problems, problem)| is_new(problems, problem))
}

/// Returns a function that takes a problem and returns whether it is new. A problem is not new if the function was
/// called before with one that has the same code, message, hint and places.
pub fn is_new<'a>() -> impl FnMut(&'a Problems, &'a Problem) -> bool {
    let mut seen = HashSet::new();
    move |problems, problem| {
        let places = problem.labels.iter().map(|label| {
            let source = problems.sources.get(label.span.source);
            (source.map(|source| (source.name.as_str(), source.first_line)), label.span.start, label.span.end)
        });
        let places: Vec<_> = places.collect();
        seen.insert((problem.code.name, problem.message.as_str(), problem.hint.as_deref(), places))
    }
}
