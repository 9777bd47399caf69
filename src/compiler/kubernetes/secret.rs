//! The Secret with the ssh keys of a run.
//!
//! The Secret is immutable, so that all pods of a run have the same keys. Each pod copies the keys when it starts, and
//! a pod that replaces another pod must get the same keys. If a run is rendered with other keys, Kubernetes refuses the
//! Secret. The name of the run does not depend on the keys, because `khorovod plan` and the preview page compute the
//! name without a seed.

use serde::Serialize;

use super::meta::{Map, Metadata};
use super::{Body, Object};
use crate::plan::Plan;

/// The entries are in `data`. The API server does not store `stringData`, so an object with it would show a change at
/// every apply.
#[derive(Debug, Serialize)]
pub struct Secret<'a> {
    immutable: bool,
    r#type: &'static str,
    data: Map<'a>,
}

/// The name of the Secret that the pods mount; `None` if they mount none.
pub fn name(plan: &Plan) -> Option<String> {
    match &plan.spec.ssh.secret {
        _ if !plan.brings_keys() => None,
        Some(name) => Some(name.clone()),
        None => Some([&plan.stem(), "-ssh"].concat()),
    }
}

/// The generated Secret; `None` if the spec sets `ssh.secret` or there are no keys.
pub fn build<'a>(plan: &'a Plan, keys: &'a [(&'static str, String)]) -> Option<Object<'a>> {
    if keys.is_empty() || plan.spec.ssh.secret.is_some() {
        return None;
    }
    Some(Object::new(
        "spec.ssh",
        Metadata::of_run(plan, name(plan)?),
        Body::Secret(Secret {
            immutable: true,
            r#type: "Opaque",
            data: keys.iter().map(|(key, value)| (*key, value)).collect(),
        }),
    ))
}
