//! `ConfigMaps`: which run is current and what may change while it runs; the run's scripts and
//! configuration; the user's own code.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::meta::{Map, Metadata};
use super::{Body, File, Object};
use crate::plan::Plan;
use crate::pods;
use crate::yaml::writer::Fixed;

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

/// Most scripts are the same for every job; the emitter lays those out once.
fn scripts_data<S: Serializer>(files: &&[File], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(files.len()))?;
    for File { name, text } in *files {
        match text {
            Cow::Borrowed(text) => map.serialize_entry(name, &Fixed(text))?,
            Cow::Owned(text) => map.serialize_entry(name, text)?,
        }
    }
    map.end()
}

pub fn current_name(plan: &Plan) -> String {
    [&plan.spec.name, "-current"].concat()
}

/// Read by launchers as long as they live, so a limit that changes here reaches a run that
/// already trains.
pub fn current(plan: &Plan) -> Object<'_> {
    let data = Data::Texts(pods::current(plan).into_iter().collect());
    Object {
        api_version: "v1",
        kind: "ConfigMap",
        origin: "spec.lifecycle".into(),
        metadata: Metadata::of_job(plan, current_name(plan)),
        body: Body::ConfigMap(ConfigMap { immutable: false, data }),
    }
}

pub fn scripts<'a>(plan: &'a Plan, files: &'a [File]) -> Object<'a> {
    Object {
        api_version: "v1",
        kind: "ConfigMap",
        origin: "spec.command".into(),
        metadata: Metadata::of_run(plan, plan.stem()),
        body: Body::ConfigMap(ConfigMap { immutable: true, data: Data::Scripts(files) }),
    }
}

pub fn code_name(plan: &Plan, index: usize) -> String {
    format!("{}-{}-code-{index}", plan.spec.name, plan.run)
}

pub fn code(plan: &Plan) -> impl Iterator<Item = Object<'_>> {
    plan.code.iter().enumerate().map(move |(index, files)| Object {
        api_version: "v1",
        kind: "ConfigMap",
        origin: "spec.code".into(),
        metadata: Metadata::of_run(plan, code_name(plan, index)),
        body: Body::ConfigMap(ConfigMap {
            immutable: true,
            data: Data::Texts(files.iter().map(|(name, text)| (name, text)).collect()),
        }),
    })
}
