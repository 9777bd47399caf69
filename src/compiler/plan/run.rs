//! The run's name: a hash of what Kubernetes does not change in place in the workloads of a job, and of what its pods
//! see.
//!
//! The name is derived from the resolved spec before anything is built. [`fields`] lists every field with its
//! [`Reach`], and the fields whose reach is [`Reach::Run`] make the name: so a new name always has a field that
//! explains it. Scripts and the code that builds objects are not hashed; `pods::REVISION` stands for them.

use super::fields::{Reach, fields};
use super::fingerprint::Fingerprint;
use crate::job::valid::Spec;

/// The name of a spec's run: six characters. `revision` is that of the scripts and objects.
pub fn run_name(spec: &Spec, revision: u32) -> String {
    let mut fingerprint = Fingerprint::new();
    fingerprint.add_word(revision.into());
    // Pods and workloads have other names under each target.
    fingerprint.add(spec.target.name);
    for field in fields(spec).iter().filter(|field| field.reach == Reach::Run) {
        fingerprint.add(&field.path);
        fingerprint.add(&field.value);
    }
    fingerprint.letters()
}
