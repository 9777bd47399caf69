//! The name of a run: see [`run_name`]. The name is a hash of two kinds of fields: those that pods observe, and those
//! that Kubernetes does not change in place in the workloads of a job.
//!
//! The name is derived from the resolved spec before anything is built. [`fields`] lists every field with its
//! [`Reach`], and the fields with [`Reach::Run`] are hashed. So each new name can be explained by a changed field.
//! Scripts and the code that builds objects are not hashed. Instead, the number `pods::REVISION` is hashed.

use super::fields::{Reach, fields};
use super::fingerprint::{self, Fingerprint};
use crate::job::valid::Spec;

/// The name of the run of a spec: six characters. `revision` is the revision of the scripts and objects.
pub fn run_name(spec: &Spec, revision: u32) -> String {
    let mut fingerprint = Fingerprint::new();
    fingerprint.add_word(revision.into());
    // The target is part of the hash, because each target gives pods and workloads different names.
    fingerprint.add(spec.target.name);
    for field in fields(spec).iter().filter(|field| field.reach == Reach::Run) {
        fingerprint.add(&field.path);
        fingerprint.add(&field.value);
    }
    fingerprint.letters()
}

/// Finds the first name in a text that begins with the name of the job and the name of a run. For the job `mnist`, this
/// may be `mnist-f4k2wz-ssh`.
pub fn find_run_name<'t>(text: &'t str, job: &str) -> Option<&'t str> {
    let in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let mut starts = text.match_indices(job).map(|(at, _)| at).filter(|&at| !text[..at].ends_with(in_name));
    starts.find_map(|at| {
        let name = text[at..].split(|letter| !in_name(letter)).next()?;
        let run = name.strip_prefix(job)?.strip_prefix('-')?.split('-').next()?;
        fingerprint::is_name(run).then_some(name)
    })
}
