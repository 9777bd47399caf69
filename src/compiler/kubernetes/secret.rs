//! Secret: the job's ssh keys.

use serde::Serialize;

use super::meta::{Map, Metadata};
use super::{Body, Object};
use crate::plan::Plan;

/// In `data`, since the API server drops `stringData`, and every apply would seem to change it.
#[derive(Debug, Serialize)]
pub struct Secret<'a> {
    r#type: &'static str,
    data: Map<'a>,
}

/// The Secret pods mount; none where nothing speaks ssh.
pub fn name(plan: &Plan) -> Option<String> {
    match &plan.spec.ssh.secret {
        _ if !plan.brings_keys() => None,
        Some(theirs) => Some(theirs.clone()),
        None => Some([&plan.spec.name, "-ssh"].concat()),
    }
}

/// Our own Secret; none where the user brings one or nothing speaks ssh.
pub fn build<'a>(plan: &'a Plan, keys: &'a [(&'static str, String)]) -> Option<Object<'a>> {
    if keys.is_empty() || plan.spec.ssh.secret.is_some() {
        return None;
    }
    Some(Object {
        api_version: "v1",
        kind: "Secret",
        origin: "spec.ssh".into(),
        metadata: Metadata::of_job(plan, name(plan)?),
        body: Body::Secret(Secret { r#type: "Opaque", data: keys.iter().map(|(key, value)| (*key, value)).collect() }),
    })
}
