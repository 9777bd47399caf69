//! Describes the jobs of a stream ([`reports`]), the facts for the timelines of their runs ([`timeline_facts`]), and
//! the effect of a changed spec on running jobs ([`changes`]).

use super::{plans, render};
use crate::api::{Inputs, Reports, Text};
use crate::plan::Plan;
use crate::problem::Problems;
use crate::report::{self, Report};
use crate::targets::{self, Target};
use crate::timeline::Facts;

/// Describes each job of a stream for people.
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
    let jobs = plans.into_iter().map(|(plan, objects)| Report::new(&plan, &inputs.target.describe(&plan), objects));
    Ok(Reports { jobs: jobs.collect(), warnings })
}

/// The facts that the timeline of each job of a stream depends on. Jobs are left out if the controller of another
/// project runs them, because their timelines depend on this controller.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// # use khorovod::{Inputs, Keys, Text, timeline::{Scenario, Timeline}, timeline_facts};
/// # let text = "apiVersion: khorovod.dev/v1alpha1
/// # kind: TrainingJob
/// # metadata: {name: mnist}
/// # spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}
/// # ".to_owned();
/// let spec = Text { name: "job.yaml".into(), text };
/// let facts = timeline_facts(&spec, &Inputs { keys: Keys::LeftOut, ..Inputs::default() }).unwrap();
/// let timeline = Timeline::new(&facts[0], Scenario::WorkerNode);
/// let headline = "A node fails: the ranks run again within 55 s, if a node is free and has the image.";
/// assert_eq!(timeline.headline, headline);
/// ```
pub fn timeline_facts(text: &Text, inputs: &Inputs) -> Result<Vec<Facts>, Problems> {
    Ok(plans_of(text, inputs)?.iter().filter_map(Facts::of).collect())
}

/// The effect on running jobs if `new` replaces `old`. `old` is an earlier spec, or the objects that were rendered from
/// an earlier spec.
///
/// Overlays and `--set` apply only to `new`, because `old` is compared as it was applied. The namespace of `inputs`
/// also applies to jobs of `old` that set no namespace.
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
    let earlier = report::job_objects(&old.text);
    if earlier.is_empty() {
        return spec_changes(old, new, inputs);
    }
    let rendered = render(new, inputs)?;
    let mut changes = report::against_rendered(&earlier, &report::job_objects(&rendered.text));
    let specs = Text { name: old.name.clone(), text: report::stored_specs(&earlier) };
    // If this version refuses the old spec, the differences of the objects are the reasons.
    if changes.iter().any(|change| change.effect == report::Effect::Restarts)
        && let Ok(old) = plans_of(&specs, &as_applied(inputs))
    {
        report::explain_by_fields(&mut changes, &earlier, &old, &plans_of(new, inputs)?);
    }
    Ok(changes)
}

/// Like [`changes`], if `old` is a spec or empty, never rendered objects.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// # use khorovod::{Inputs, Keys, Text, report::Effect, spec_changes};
/// # let text = "apiVersion: khorovod.dev/v1alpha1
/// # kind: TrainingJob
/// # metadata: {name: mnist}
/// # spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}
/// # ".to_owned();
/// let spec = Text { name: "job.yaml".into(), text };
/// let inputs = Inputs { keys: Keys::LeftOut, ..Inputs::default() };
/// let changes = spec_changes(&spec, &spec, &inputs).unwrap();
/// assert_eq!(changes[0].effect, Effect::Nothing);
/// ```
pub fn spec_changes(old: &Text, new: &Text, inputs: &Inputs) -> Result<Vec<report::Change>, Problems> {
    if old.text.trim().is_empty() {
        return Ok(report::between(&[], &plans_of(new, inputs)?));
    }
    let unchanged = as_applied(inputs);
    let moved = Inputs { namespace: inputs.namespace.clone(), ..unchanged.clone() };
    let old = plans(old, &unchanged)?.0.into_iter().zip(plans(old, &moved)?.0);
    let old = old.map(|(named, moved)| if named.0.spec.namespace.is_some() { named } else { moved });
    let (old, objects): (Vec<_>, Vec<_>) = old.unzip();
    let mut changes = report::between(&old, &plans_of(new, inputs)?);
    for change in changes.iter_mut().filter(|change| change.effect == report::Effect::Gone) {
        let is_of = |plan: &&Plan| plan.spec.name == change.job && plan.spec.namespace == change.namespace;
        let mut gone = old.iter().zip(&objects);
        change.delete = gone
            .find(|(plan, _)| is_of(plan))
            .map(|(plan, objects)| report::delete_job(plan, &inputs.target.describe(plan), objects));
    }
    Ok(changes)
}

/// The inputs for an earlier text, which is compared as it was applied.
fn as_applied(inputs: &Inputs) -> Inputs {
    Inputs { overlays: Vec::new(), sets: Vec::new(), namespace: None, ..inputs.clone() }
}

/// Whether a text consists of rendered objects instead of a spec. [`changes`] accepts both as the earlier version.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// let text = khorovod::Text { name: "job.yaml".to_owned(), text: "kind: TrainingJob\n".to_owned() };
/// assert!(!khorovod::is_rendered(&text));
/// ```
pub fn is_rendered(text: &Text) -> bool {
    !report::job_objects(&text.text).is_empty()
}

/// The target that objects were rendered for, recognised by the API groups of the objects. None if the text has no
/// objects of a job.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// # use khorovod::{Inputs, Keys, Text, render, rendered_target, targets};
/// # let text = "apiVersion: khorovod.dev/v1alpha1
/// # kind: TrainingJob
/// # metadata: {name: mnist}
/// # spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}
/// # ".to_owned();
/// let spec = Text { name: "job.yaml".into(), text };
/// let inputs = Inputs { keys: Keys::LeftOut, target: targets::JOB_SET, ..Inputs::default() };
/// let objects = Text { name: "objects.yaml".into(), text: render(&spec, &inputs).unwrap().text };
/// assert_eq!(rendered_target(&objects).map(|target| target.name()), Some("jobset"));
/// assert!(rendered_target(&spec).is_none());
/// ```
pub fn rendered_target(text: &Text) -> Option<&'static dyn Target> {
    let objects = report::job_objects(&text.text);
    let is_of = |target: &&'static dyn Target| {
        let group = target.facts().api_group;
        !group.is_empty() && report::api_groups(&objects).any(|found| found == group)
    };
    let found = targets::ALL.iter().copied().find(is_of);
    found.or_else(|| (!objects.is_empty()).then_some(targets::PLAIN))
}

/// The plans of the jobs of a stream.
fn plans_of(text: &Text, inputs: &Inputs) -> Result<Vec<Plan>, Problems> {
    Ok(plans(text, inputs)?.0.into_iter().map(|(plan, _)| plan).collect())
}
