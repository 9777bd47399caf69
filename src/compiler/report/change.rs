//! What a changed spec would do to a job that runs: the plans are compared field by field, and
//! the runs' names say what Kubernetes would not change in place.

use serde::Serialize;

use crate::job::valid::{Volume, VolumeSource};
use crate::plan::Plan;
use crate::plan::fields::{Field, Reach, fields};

/// What a change does to one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The job's name.
    pub job: String,
    /// Its namespace, where one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// What happens.
    pub effect: Effect,
    /// Why the run starts again; empty unless it does.
    pub because: Vec<Difference>,
    /// What changes without disturbing the run.
    pub in_place: Vec<Difference>,
    /// What Kubernetes refuses to change.
    pub refused: Vec<String>,
    /// What else a reviewer should know.
    pub notes: Vec<String>,
}

/// What happens to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// It was not there before.
    New,
    /// It is not there any more.
    Gone,
    /// A new run takes the place of the old one.
    Restarts,
    /// Objects change, the run goes on.
    InPlace,
    /// Nothing at all.
    Nothing,
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Its path below `spec`, or in a rendered object.
    pub path: String,
    /// What it was; none where it was absent or is not shown.
    pub old: Option<String>,
    /// What it is now; none where it is gone or is not shown.
    pub new: Option<String>,
}

/// What happens to each job when the new plans take the place of the old.
pub(crate) fn between(old: &[Plan], new: &[Plan]) -> Vec<Change> {
    let same = |a: &Plan, b: &Plan| a.spec.name == b.spec.name && a.spec.namespace == b.spec.namespace;
    let kept = new.iter().map(|plan| match old.iter().find(|other| same(other, plan)) {
        Some(before) => change(before, plan),
        None => bare(plan, Effect::New),
    });
    let gone = old.iter().filter(|plan| !new.iter().any(|other| same(other, plan)));
    kept.chain(gone.map(|plan| bare(plan, Effect::Gone))).collect()
}

fn bare(plan: &Plan, effect: Effect) -> Change {
    Change::bare(&plan.spec.name, plan.spec.namespace.as_deref(), effect)
}

impl Change {
    pub(super) fn bare(job: &str, namespace: Option<&str>, effect: Effect) -> Self {
        Self {
            job: job.to_owned(),
            namespace: namespace.map(str::to_owned),
            effect,
            because: Vec::new(),
            in_place: Vec::new(),
            refused: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn sort(&mut self, of_run: bool, found: Difference) {
        if of_run { self.because.push(found) } else { self.in_place.push(found) }
    }

    /// A run's name follows from the order of fields too, so it may change although no value does.
    pub(super) fn say_something(&mut self) {
        if self.because.is_empty() {
            self.because.push(Difference {
                path: "the order of fields, or the way a value is written".to_owned(),
                old: None,
                new: None,
            });
        }
    }
}

fn change(old: &Plan, new: &Plan) -> Change {
    let (before, after) = (fields(&old.spec), fields(&new.spec));
    let mut change = bare(new, Effect::Nothing);
    let restarts = old.run != new.run;
    for (reach, difference) in differences(&before, &after) {
        match reach {
            Reach::Claim => change.refused.push(refusal(&difference, CLAIM_KEEPS)),
            Reach::Run if restarts => change.because.push(difference),
            _ => change.in_place.push(difference),
        }
    }
    if restarts {
        change.effect = Effect::Restarts;
        change.notes = old.spec.storage.iter().filter_map(left_behind).collect();
        if change.because.is_empty() {
            // Only what we take for harmless differs, and yet the run's name does: say all of it.
            change.because = std::mem::take(&mut change.in_place);
        }
        change.say_something();
    } else if !change.in_place.is_empty() || !change.refused.is_empty() {
        change.effect = Effect::InPlace;
    }
    change
}

/// Claims of the old run's workers, which the new run's do not take over.
fn left_behind(volume: &Volume) -> Option<String> {
    matches!(volume.source, VolumeSource::PerWorker(_)).then(|| {
        format!("storage.{}: the new run's workers get new, empty claims; those of the old run stay", volume.name)
    })
}

const CLAIM_KEEPS: &str = "a claim keeps what it was made with (use another volume name, or delete the claim)";

pub(super) fn refusal(difference: &Difference, why: &str) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    format!("{}: {} cannot become {}; {why}", difference.path, value(&difference.old), value(&difference.new))
}

/// The fields that differ, those of the old order first.
fn differences(before: &[Field], after: &[Field]) -> Vec<(Reach, Difference)> {
    let find = |list: &[Field], path: &str| list.iter().position(|field| field.path == path);
    let mut found = Vec::new();
    for field in before {
        match find(after, &field.path).map(|at| &after[at]) {
            Some(other) if other.value == field.value => {}
            other => {
                // A claim that the spec no longer asks for stays as it is.
                let reach = match (field.reach, other.map(|other| other.reach)) {
                    (Reach::Claim, None) => Reach::InPlace,
                    // Another field decides whether pods see this one.
                    (_, Some(Reach::Run)) => Reach::Run,
                    (reach, _) => reach,
                };
                let reach = if grows(field, other) { Reach::InPlace } else { reach };
                found.push((reach, difference(&field.path, Some(field), other)));
            }
        }
    }
    for field in after.iter().filter(|field| find(before, &field.path).is_none()) {
        let reach = if field.reach == Reach::Claim { Reach::InPlace } else { field.reach };
        found.push((reach, difference(&field.path, None, Some(field))));
    }
    found
}

/// A claim may grow where its class allows it, and never shrinks.
fn grows(old: &Field, new: Option<&Field>) -> bool {
    let amount = |field: &Field| field.amount.unwrap_or_default();
    old.amount.is_some() && new.is_some_and(|new| amount(new) > amount(old))
}

fn difference(path: &str, old: Option<&Field>, new: Option<&Field>) -> Difference {
    let shown = |field: Option<&Field>| field.filter(|field| !field.hidden).map(|field| field.value.clone());
    Difference { path: path.to_owned(), old: shown(old), new: shown(new) }
}
