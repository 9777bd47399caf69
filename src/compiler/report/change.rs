//! The effect of a changed spec on a running job: [`Change`]. [`between`] compares the fields of two plans. If the names of
//! the runs differ, the change starts a new run; otherwise Kubernetes changes the objects in place.

use serde::Serialize;

use crate::job::valid::{Volume, VolumeSource};
use crate::plan::Plan;
use crate::plan::fields::{Field, Reach, fields};

/// The effect of a change on one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Change {
    /// The job's name.
    pub job: String,
    /// Its namespace, if it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The effect as a whole.
    pub effect: Effect,
    /// The differences that start a new run. Empty unless the effect is `restarts`.
    pub because: Vec<Difference>,
    /// The differences that do not affect the run.
    pub in_place: Vec<Difference>,
    /// The changes that Kubernetes rejects, one sentence each. They may also accompany `restarts`.
    pub refused: Vec<String>,
    /// Other facts that matter for a review, one sentence each.
    pub notes: Vec<String>,
    /// The command that deletes the objects of a job that is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<String>,
}

/// The effect of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Effect {
    /// The job is new.
    New,
    /// The job is no longer rendered. Its objects remain until they are deleted.
    Gone,
    /// A new run replaces the current one.
    Restarts,
    /// Objects change and the run continues.
    InPlace,
    /// Kubernetes rejects a part of the change, and the run continues.
    Refused,
    /// No object changes.
    Nothing,
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Difference {
    /// The path of the field below `spec`, or the object and the path in it.
    pub path: String,
    /// The old value. It is absent if the field was not set or its value is secret.
    pub old: Option<String>,
    /// The new value. It is absent if the field is not set any more or its value is secret.
    pub new: Option<String>,
}

/// The change of each job between two lists of plans. Jobs are matched by name and namespace.
pub(crate) fn between(old: &[Plan], new: &[Plan]) -> Vec<Change> {
    let same = |a: &Plan, b: &Plan| a.spec.name == b.spec.name && a.spec.namespace == b.spec.namespace;
    let kept = new.iter().map(|plan| match old.iter().find(|other| same(other, plan)) {
        Some(before) => between_plans(before, plan),
        None => without_differences(plan, Effect::New),
    });
    let gone = old.iter().filter(|plan| !new.iter().any(|other| same(other, plan)));
    kept.chain(gone.map(|plan| without_differences(plan, Effect::Gone))).collect()
}

/// A change of the job of a plan, without differences.
fn without_differences(plan: &Plan, effect: Effect) -> Change {
    Change::without_differences(&plan.spec.name, plan.spec.namespace.as_deref(), effect)
}

impl Change {
    /// The effect in words.
    pub fn summary(&self) -> &'static str {
        match self.effect {
            Effect::New => "new: a run starts",
            Effect::Gone => "removed: its objects stay until you delete them",
            Effect::Restarts => "restarts the run",
            Effect::Refused if self.in_place.is_empty() => "refused: the run continues unchanged",
            Effect::Refused => "refused in part; the rest changes in place, and the run continues",
            Effect::InPlace if self.is_suspended() => "in place: the run is suspended, and its pods end",
            Effect::InPlace => "in place: the run continues",
            Effect::Nothing => "no changes; if the run has ended, change spec.runTag to start it again",
        }
    }

    /// A change that has an effect but no differences yet.
    pub(super) fn without_differences(job: &str, namespace: Option<&str>, effect: Effect) -> Self {
        Self {
            job: job.to_owned(),
            namespace: namespace.map(str::to_owned),
            effect,
            because: Vec::new(),
            in_place: Vec::new(),
            refused: Vec::new(),
            notes: Vec::new(),
            delete: None,
        }
    }

    /// Whether the change suspends the job. Kubernetes then deletes the pods.
    fn is_suspended(&self) -> bool {
        self.in_place.iter().any(|found| {
            (found.path == "scheduling.suspend" || found.path.ends_with("spec.suspend"))
                && found.new.as_deref() == Some("true")
        })
    }

    /// The effect of a change that starts no run.
    pub(super) fn set_effect(&mut self) {
        if !self.refused.is_empty() {
            self.effect = Effect::Refused;
        } else if !self.in_place.is_empty() {
            self.effect = Effect::InPlace;
        }
    }

    /// Adds a difference to `because` if it starts a new run, or else to `in_place`.
    pub(super) fn add(&mut self, starts_run: bool, found: Difference) {
        if starts_run { self.because.push(found) } else { self.in_place.push(found) }
    }

    /// Adds a general reason if no field explains the new run. The name of a run also depends on the order of fields,
    /// so it may change although no value changes.
    pub(super) fn ensure_reason(&mut self) {
        if self.because.is_empty() {
            self.because.push(Difference {
                path: "the order of fields, or the notation of a value".to_owned(),
                old: None,
                new: None,
            });
        }
    }
}

/// Compares the fields of two plans of the same job.
pub(super) fn between_plans(old: &Plan, new: &Plan) -> Change {
    let (before, after) = (fields(&old.spec), fields(&new.spec));
    let mut change = without_differences(new, Effect::Nothing);
    let restarts = old.run != new.run;
    for (reach, difference) in differences(&before, &after) {
        match reach {
            Reach::Claim => change.refused.push(refusal(&difference, CLAIM_IS_IMMUTABLE)),
            Reach::Run if restarts => change.because.push(difference),
            _ => change.in_place.push(difference),
        }
    }
    if restarts {
        change.effect = Effect::Restarts;
        change.notes = old.spec.storage.iter().filter_map(note_on_worker_claims).collect();
        change.notes.push(NOTE_ON_EARLIER_RUN.to_owned());
        if change.because.is_empty() {
            // The name of the run differs, although only fields that should not affect the name have changed. List all
            // of these fields as the reason.
            change.because = std::mem::take(&mut change.in_place);
        }
        change.ensure_reason();
    } else {
        change.set_effect();
    }
    change
}

/// The note for a volume with one claim per worker. The workers of a new run get new claims, and the old claims remain.
fn note_on_worker_claims(volume: &Volume) -> Option<String> {
    matches!(volume.source, VolumeSource::PerWorker(_)).then(|| {
        format!(
            "storage.{}: the workers of the new run get new, empty claims; the claims of the old run remain",
            volume.name
        )
    })
}

/// The note for a new run. If the spec is equal to an earlier one, the run has the name of the earlier run, which may
/// have ended.
pub(super) const NOTE_ON_EARLIER_RUN: &str = "if this spec has run before and the Job of that run still exists, kubectl apply starts nothing: then change spec.runTag";

const CLAIM_IS_IMMUTABLE: &str =
    "a PersistentVolumeClaim cannot be changed, except to a larger size (use another volume name, or delete the claim)";

/// The sentence for a change that Kubernetes rejects.
pub(super) fn refusal(difference: &Difference, reason: &str) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "unset".to_owned());
    format!("{}: {} cannot become {}; {reason}", difference.path, value(&difference.old), value(&difference.new))
}

/// The fields that differ, each with its [`Reach`]: first the old fields in their order, then the added fields.
fn differences(before: &[Field], after: &[Field]) -> Vec<(Reach, Difference)> {
    let find = |list: &[Field], path: &str| list.iter().position(|field| field.path == path);
    let mut found = Vec::new();
    for field in before {
        match find(after, &field.path).map(|at| &after[at]) {
            Some(other) if other.value == field.value => {}
            other => {
                // A claim that the spec no longer has remains unchanged in the cluster.
                let reach = match (field.reach, other.map(|other| other.reach)) {
                    (Reach::Claim, None) => Reach::InPlace,
                    // Another field has changed too, so that pods now observe this field. The change starts a new run.
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

/// Whether a claim gets a larger size. Kubernetes expands a claim if its StorageClass allows it, and never shrinks one.
fn grows(old: &Field, new: Option<&Field>) -> bool {
    let amount = |field: &Field| field.amount.unwrap_or_default();
    old.amount.is_some() && new.is_some_and(|new| amount(new) > amount(old))
}

/// The difference of a field. Secret values are left out.
fn difference(path: &str, old: Option<&Field>, new: Option<&Field>) -> Difference {
    let shown = |field: Option<&Field>| field.filter(|field| !field.is_hidden).map(|field| field.value.clone());
    Difference { path: path.to_owned(), old: shown(old), new: shown(new) }
}
