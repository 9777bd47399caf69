//! `ConfigMaps`: which run is current and what may change while it runs; the run's scripts and
//! configuration; the user's own code.

use serde::Serialize;

use super::meta::{Map, Metadata};
use super::{Body, File, Object};
use crate::plan::Plan;
use crate::runtime;

#[derive(Debug, Serialize)]
pub struct ConfigMap<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    immutable: bool,
    data: Map<'a>,
}

pub fn current_name(plan: &Plan) -> String {
    format!("{}-current", plan.spec.name)
}

/// Read by launchers as long as they live, so a limit that changes here reaches a run that
/// already trains.
pub fn current(plan: &Plan) -> Object<'_> {
    let data = runtime::current(plan).into_iter().collect();
    Object {
        api_version: "v1",
        kind: "ConfigMap",
        metadata: Metadata::of_job(plan, current_name(plan)),
        body: Body::ConfigMap(ConfigMap { immutable: false, data }),
    }
}

pub fn scripts<'a>(plan: &'a Plan, files: &'a [File<'a>]) -> Object<'a> {
    let data = files.iter().copied().collect();
    Object {
        api_version: "v1",
        kind: "ConfigMap",
        metadata: Metadata::of_run(plan, plan.stem()),
        body: Body::ConfigMap(ConfigMap { immutable: true, data }),
    }
}

pub fn code_name(plan: &Plan, index: usize) -> String {
    format!("{}-{}-code-{index}", plan.spec.name, plan.run)
}

pub fn code(plan: &Plan) -> impl Iterator<Item = Object<'_>> {
    plan.code.iter().enumerate().map(move |(index, files)| Object {
        api_version: "v1",
        kind: "ConfigMap",
        metadata: Metadata::of_run(plan, code_name(plan, index)),
        body: Body::ConfigMap(ConfigMap {
            immutable: true,
            data: files.iter().map(|(name, text)| (name, text)).collect(),
        }),
    })
}
