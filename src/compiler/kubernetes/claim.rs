//! The PersistentVolumes and PersistentVolumeClaims of a job. When the job is deleted, these objects remain:
//! annotations make Helm, Argo CD and Flux keep them.

use serde::Serialize;
use serde_json::json;

use super::meta::{Entry, Map, Metadata, Text};
use super::{Body, Object, strategic};
use crate::job::valid::{Claim, Volume, VolumeSource};
use crate::plan::{Plan, Shape};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSpec<'a> {
    access_modes: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_class_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_name: Option<Text<'a>>,
    resources: Entry<Entry<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_mode: Option<&'static str>,
}

/// An entry of `volumeClaimTemplates` of a StatefulSet. The entry contains the defaults that the API server adds:
/// `kubectl apply` and Argo CD compare this list as a whole, and would always show a change without the defaults.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Template<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: TemplateMetadata<'a>,
    spec: ClaimSpec<'a>,
    status: Entry<&'static str>,
}

/// The claim template of a generic ephemeral volume, which is deleted with its pod.
#[derive(Debug, Serialize)]
pub struct Ephemeral<'a> {
    metadata: TemplateMetadata<'a>,
    spec: ClaimSpec<'a>,
}

#[derive(Debug, Serialize)]
struct TemplateMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    labels: Map<'a>,
}

/// The claim template of the workers of a StatefulSet.
pub fn template<'a>(volume: &'a Volume, claim: &'a Claim, labels: Map<'a>) -> Template<'a> {
    let metadata = TemplateMetadata { name: Some(&volume.name), labels };
    Template {
        api_version: "v1",
        kind: "PersistentVolumeClaim",
        metadata,
        spec: ClaimSpec { volume_mode: Some("Filesystem"), ..spec(claim) },
        status: Entry("phase", "Pending"),
    }
}

/// The claim template of an ephemeral volume.
pub fn ephemeral<'a>(claim: &'a Claim, labels: Map<'a>) -> Ephemeral<'a> {
    Ephemeral { metadata: TemplateMetadata { name: None, labels }, spec: spec(claim) }
}

fn spec(claim: &Claim) -> ClaimSpec<'_> {
    ClaimSpec {
        access_modes: &claim.access_modes,
        storage_class_name: claim.storage_class.as_deref(),
        volume_name: None,
        resources: Entry("requests", Entry("storage", claim.size.as_str())),
        volume_mode: None,
    }
}

/// The name of the claim for a `perWorker` volume of a launcher that runs ranks. The workers need no such name, because the
/// StatefulSet creates their claims.
pub fn launcher_name(plan: &Plan, volume: &Volume) -> String {
    format!("{}-launcher", plan.spec.claim_of(volume))
}

/// The name of a PersistentVolume. It contains the namespace of the job, because PersistentVolumes have no namespace.
fn volume_name(plan: &Plan, volume: &Volume) -> String {
    match &plan.spec.namespace {
        Some(namespace) => format!("{namespace}-{}", plan.spec.claim_of(volume)),
        None => plan.spec.claim_of(volume),
    }
}

fn origin(index: usize) -> Text<'static> {
    format!("spec.storage[{index}]").into()
}

/// The metadata of an object that remains when the job is deleted.
fn retained_metadata(plan: &Plan, name: String) -> Metadata<'_> {
    Metadata::of_job(plan, name)
        .annotate("helm.sh/resource-policy", "keep")
        .annotate("argocd.argoproj.io/sync-options", "Prune=false,Delete=false")
        .annotate("kustomize.toolkit.fluxcd.io/prune", "disabled")
}

/// The PersistentVolumes of the job.
pub fn volumes(plan: &Plan) -> impl Iterator<Item = Object<'_>> {
    plan.spec.storage.iter().enumerate().filter_map(move |(index, volume)| {
        let VolumeSource::PersistentVolume { source, claim } = &volume.source else { return None };
        let mut spec = json!({
            "capacity": {"storage": claim.size},
            "accessModes": claim.access_modes,
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": claim.storage_class.as_deref().unwrap_or_default(),
        });
        if let Some(namespace) = &plan.spec.namespace {
            // Only the claim of this job may bind to the volume.
            spec["claimRef"] = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace,
                "name": plan.spec.claim_of(volume)});
        }
        strategic::merge(&mut spec, source, strategic::Type::Any);
        let mut metadata = retained_metadata(plan, volume_name(plan, volume));
        metadata.namespace = None;
        Some(Object::new(origin(index), metadata, Body::PersistentVolume { spec }))
    })
}

/// The PersistentVolumeClaims of the job.
pub fn claims(plan: &Plan) -> impl Iterator<Item = Object<'_>> {
    plan.spec.storage.iter().enumerate().filter_map(move |(index, volume)| {
        let (name, spec) = match &volume.source {
            VolumeSource::Claim(claim) => (plan.spec.claim_of(volume), spec(claim)),
            VolumeSource::PersistentVolume { claim, .. } => {
                let mut spec = spec(claim);
                // An empty class disables dynamic provisioning. Without the field, the cluster sets its default class.
                spec.storage_class_name.get_or_insert("");
                spec.volume_name = Some(volume_name(plan, volume).into());
                (plan.spec.claim_of(volume), spec)
            }
            VolumeSource::PerWorker(claim) if plan.shape == Shape::StatefulSet && plan.spec.launcher.runs_ranks => {
                (launcher_name(plan, volume), spec(claim))
            }
            _ => return None,
        };
        Some(Object::new(origin(index), retained_metadata(plan, name), Body::PersistentVolumeClaim { spec }))
    })
}
