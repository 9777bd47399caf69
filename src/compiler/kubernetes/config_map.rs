//! The ConfigMaps of a job. [`current`] contains the name of the current run and the limits that may change during a
//! run, [`scripts`] the scripts and settings of the run, and [`code`] the code of the user.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::meta::{Map, Metadata, SPEC, SPEC_OMITTED, TARGET};
use super::{Body, File, Object};
use crate::plan::{Document, Plan};
use crate::pods::{self, Content};

#[derive(Debug, Serialize)]
pub struct ConfigMap<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    immutable: bool,
    data: Data<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Texts(Map<'a>),
    #[serde(serialize_with = "scripts_data")]
    Scripts(&'a [File]),
}

/// Serializes files as a map.
fn scripts_data<S: Serializer>(files: &&[File], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(files.len()))?;
    for File { name, content } in *files {
        match content {
            Content::Static(text) => map.serialize_entry(name, text)?,
            Content::Generated(text) => map.serialize_entry(name, text)?,
        }
    }
    map.end()
}

/// The name of the ConfigMap with the current run.
pub fn current_name(plan: &Plan) -> String {
    [&plan.spec.name, "-current"].concat()
}

/// The ConfigMap with the current run and its limits. A launcher reads this ConfigMap repeatedly, so a changed limit
/// applies to a run that is already training.
///
/// For `khorovod import`, the ConfigMap also contains the target and the document from which the job was rendered.
/// These are kept here because this object exists for every target and as long as the job, and can change in place.
pub fn current(plan: &Plan) -> Object<'_> {
    let mut metadata = Metadata::of_job(plan, current_name(plan));
    match &plan.document {
        Document::Unknown => {}
        Document::Kept(json) => metadata.annotations.set(SPEC, json),
        Document::Omitted(why) => metadata.annotations.set(SPEC_OMITTED, *why),
    }
    if !plan.spec.target.own_workloads {
        metadata.annotations.set(TARGET, plan.spec.target.name);
    }
    let data = Data::Texts(pods::current(plan).into_iter().collect());
    Object::new("spec.lifecycle", metadata, Body::ConfigMap(ConfigMap { immutable: false, data }))
}

/// The immutable ConfigMap with the scripts and settings of the run.
pub fn scripts<'a>(plan: &'a Plan, files: &'a [File]) -> Object<'a> {
    Object::new(
        "spec.command",
        Metadata::of_run(plan, plan.stem()),
        Body::ConfigMap(ConfigMap { immutable: true, data: Data::Scripts(files) }),
    )
}

/// The name of a ConfigMap with code.
pub fn code_name(plan: &Plan, index: usize) -> String {
    format!("{}-{}-code-{index}", plan.spec.name, plan.run)
}

/// The ConfigMaps with the files of `code.files`.
pub fn code(plan: &Plan) -> impl Iterator<Item = Object<'_>> {
    plan.code.iter().enumerate().map(move |(index, files)| {
        Object::new(
            "spec.code",
            Metadata::of_run(plan, code_name(plan, index)),
            Body::ConfigMap(ConfigMap {
                immutable: true,
                data: Data::Texts(files.iter().map(|(name, text)| (name, text)).collect()),
            }),
        )
    })
}
