//! Reports problems of the new job at the fields of the old file that caused them, because the user has not seen the
//! new job.

use crate::field_outcomes::Row;
use khorovod_compiler::problem::{Problem, Problems, Span};
use khorovod_compiler::yaml;

/// The maximum number of old fields that are named in a problem. If more fields match, the problem names none.
const MOST: usize = 3;

/// Appends the problems of the new job to `old`, each with the places of the old fields that caused it. `old` has the
/// texts of the old files as its sources. `name` and `job` are the name and the text of the new job. The place in the
/// new job comes last, and the fix is left out, because the user can edit only the old file.
pub fn add_problems(refused: Problems, (name, job): (&str, &str), rows: &[Row], mut old: Problems) -> Problems {
    let source = old.sources.add(name, job.to_owned());
    let whole = Span { source, start: 0, end: job.len() };
    let tree = yaml::parse(job, whole, &mut Vec::new()).ok().flatten();
    for mut problem in refused.list {
        problem.labels.iter_mut().for_each(|label| label.span.source = source);
        let path =
            problem.labels.first().zip(tree.as_ref()).map(|(label, tree)| yaml::path::at(tree, label.span.start));
        old.list.push(blamed(problem, &path.unwrap_or_default(), rows));
    }
    old
}

/// Adds to a problem the places in the old file from which the field at `path` was made.
fn blamed(mut problem: Problem, path: &str, rows: &[Row]) -> Problem {
    problem.fix = None;
    problem.other_fix = None;
    let near = |to: &String| {
        let longer =
            |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with(['.', '[']));
        to == path || longer(path, to) || longer(to, path)
    };
    let closest = rows.iter().flat_map(|row| row.to.iter().filter(|to| near(to))).map(String::len).max();
    let theirs: Vec<&Row> =
        rows.iter().filter(|row| row.to.iter().any(|to| near(to) && Some(to.len()) == closest)).collect();
    if theirs.is_empty() || theirs.len() > MOST {
        return problem;
    }
    let new = std::mem::take(&mut problem.labels);
    let mut problem = theirs.iter().fold(problem, |problem, row| problem.and(row.span, format!("`{}`", row.path)));
    for label in new {
        let text = if label.text.is_empty() { "in the imported job".to_owned() } else { label.text };
        problem = problem.and(label.span, text);
    }
    problem
}
