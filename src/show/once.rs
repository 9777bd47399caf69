//! A mistake is shown once: that of an overlay or of `--set` is found again for every job it lies over.

use std::collections::HashSet;

use crate::problem::{Problem, Problems};

/// Whether a problem is new: not word for word and place for place one that was asked about before.
pub fn once<'a>() -> impl FnMut(&'a Problems, &'a Problem) -> bool {
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
