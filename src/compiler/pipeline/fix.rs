//! Applies the automatic fixes of the problems of a text. See [`fix`].

use super::check;
use crate::api::{Inputs, Text};
use crate::problem::{Fix, Problems};

/// The maximum number of times that a text is checked and fixed. A fix can reveal another problem, for example in a map
/// that could not be read before.
const ROUNDS: usize = 20;

/// The result of [`fix`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Fixed {
    /// The text with every fix applied.
    pub text: Text,
    /// The number of fixes.
    pub fixes: usize,
    /// The problems that the fixed text still has.
    pub problems: Problems,
}

/// Applies the automatic fixes of all problems of a text, until no problem has a fix.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Inputs, Keys, Text, fix};
///
/// let spec = "
/// apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// metadata: {name: mnist}
/// spec: {image: 'a:1', command: [python, train.py], workers: {replicaz: 2}}
/// ";
/// let text = Text { name: "job.yaml".to_owned(), text: spec.to_owned() };
/// let fixed = fix(&text, &Inputs { keys: Keys::LeftOut, ..Inputs::default() });
/// assert_eq!((fixed.text.text.contains("replicas: 2"), fixed.fixes), (true, 1));
/// ```
pub fn fix(text: &Text, inputs: &Inputs) -> Fixed {
    let mut text = text.clone();
    let mut fixes = 0;
    for _ in 0..ROUNDS {
        let problems = check(&text, inputs);
        let (next, applied) = apply(&text, &problems);
        if applied == 0 {
            return Fixed { text, fixes, problems };
        }
        fixes += applied;
        text.text = next;
    }
    Fixed { problems: check(&text, inputs), text, fixes }
}

/// Applies the fixes in this text that do not overlap. Returns the new text, and how many were applied.
fn apply(text: &Text, problems: &Problems) -> (String, usize) {
    let in_text = |fix: &&Fix| problems.sources.get(fix.span.source).is_some_and(|source| source.name == text.name);
    let mut fixes: Vec<&Fix> = problems
        .list
        .iter()
        .filter(|problem| !problem.fix_is_choice)
        .filter_map(|problem| problem.fix.as_ref())
        .filter(in_text)
        .collect();
    fixes.sort_by_key(|fix| (fix.span.start, fix.span.end));
    let (mut result, mut end, mut applied) = (String::new(), 0, 0);
    for (index, fix) in fixes.iter().enumerate() {
        // If several fixes are at the same place, apply only the first in this round. The new text may change the edits of
        // the other fixes.
        let is_repeated = index > 0 && fixes[index - 1].span.start == fix.span.start;
        if fix.span.start < end || is_repeated {
            continue;
        }
        result.extend([&text.text[end..fix.span.start], &fix.text]);
        end = fix.span.end;
        applied += 1;
    }
    (result + &text.text[end..], applied)
}
