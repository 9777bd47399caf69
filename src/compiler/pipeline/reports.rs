//! What the jobs of a stream would run, and what a new text changes for jobs that run already.

use super::{plans, render};
use crate::api::{Inputs, Reports, Text};
use crate::plan::Plan;
use crate::problem::Problems;
use crate::report::{self, Report};

/// Says for a person what every job of a stream would run.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// # use khorovod::{Inputs, Keys, Text, reports};
/// # let text = "apiVersion: khorovod.dev/v1alpha1
/// # kind: TrainingJob
/// # metadata: {name: mnist}
/// # spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}
/// # ".to_owned();
/// let spec = Text { name: "job.yaml".into(), text };
/// let reports = reports(&spec, &Inputs { keys: Keys::LeftOut, ..Inputs::default() }).unwrap();
/// assert_eq!(reports.jobs[0].ranks, 32);
/// ```
pub fn reports(text: &Text, inputs: &Inputs) -> Result<Reports, Problems> {
    let (plans, warnings) = plans(text, inputs)?;
    let object = |(kind, name): (&str, String)| report::Object { kind: kind.to_owned(), name };
    let jobs = plans.into_iter().map(|(plan, names)| {
        Report::new(&plan, &inputs.target.describe(&plan), names.into_iter().map(object).collect())
    });
    Ok(Reports { jobs: jobs.collect(), warnings })
}

/// What would happen to running jobs if `new` took the place of `old`, which is an earlier spec
/// or what was rendered from one. Overlays and settings go over `new` alone: `old` is as it was applied. A namespace goes
/// over `old` too where it names none.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// # use khorovod::{Inputs, Keys, Text, changes};
/// let spec = |gpus: u8| Text {
///     name: "job.yaml".into(),
///     text: format!(
///         "apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// metadata: {{name: mnist}}
/// spec: {{image: 'a:1', command: [python], workers: {{replicas: 4, gpus: {gpus}}}}}
/// "
///     ),
/// };
/// let inputs = Inputs { keys: Keys::LeftOut, ..Inputs::default() };
/// let changes = changes(&spec(4), &spec(8), &inputs).unwrap();
/// assert_eq!(changes[0].job, "mnist");
/// ```
pub fn changes(old: &Text, new: &Text, inputs: &Inputs) -> Result<Vec<report::Change>, Problems> {
    let earlier = report::earlier(&old.text);
    if earlier.is_empty() {
        let as_it_is = Inputs { overlays: Vec::new(), sets: Vec::new(), namespace: None, ..inputs.clone() };
        let moved = Inputs { namespace: inputs.namespace.clone(), ..as_it_is.clone() };
        let old = plans_of(old, &as_it_is)?.into_iter().zip(plans_of(old, &moved)?);
        let old = old.map(|(named, moved)| if named.spec.namespace.is_some() { named } else { moved });
        return Ok(report::between(&old.collect::<Vec<_>>(), &plans_of(new, inputs)?));
    }
    let rendered = render(new, inputs)?;
    Ok(report::against_rendered(&earlier, &report::earlier(&rendered.text)))
}

/// Whether a text is what was rendered from a spec, and no spec: [`changes`] takes either for the earlier one.
pub fn is_rendered(text: &Text) -> bool {
    !report::earlier(&text.text).is_empty()
}

/// The plans of every job of a stream.
fn plans_of(text: &Text, inputs: &Inputs) -> Result<Vec<Plan>, Problems> {
    Ok(plans(text, inputs)?.0.into_iter().map(|(plan, _)| plan).collect())
}
