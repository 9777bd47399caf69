//! Rules past the shape of single fields: what fits together, what Kubernetes and MPI would
//! refuse, what would fail in silence.
//!
//! Each rule stands beside the problem code it finds.

mod cluster;
mod command;
mod conflicts;
mod elastic;
mod environment;
mod lifecycle;
mod names;
mod network;
mod size;
mod storage;
mod variables;
mod words;
mod workers;

use super::declare::{Body, TrainingJob};
use super::read::At;
use super::read::edits::Texts;
use super::types::KubeVersion;
use super::types::spec::Spec;
use crate::problem::{Code, Problem, Span};
use crate::yaml::Node;

pub use environment::owns_variable;
pub use storage::reserved;

/// What a rule looks at: what was written, where, and what it means.
pub struct Case<'a> {
    pub document: &'a Node,
    pub texts: &'a dyn Texts,
    /// What could not be read.
    pub misshapen: &'a [Span],
    pub job: &'a TrainingJob,
    pub body: &'a Body,
    pub spec: &'a Spec,
    pub kube_version: KubeVersion,
    /// Where the document names itself: for what stands nowhere.
    pub top: Span,
}

impl Case<'_> {
    /// Whether all these parts of the spec could be read. Where not, a default stands in the part's
    /// place, and a rule that judged it would only confuse.
    pub fn could_read(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| {
            let mut node = self.document.get("spec");
            let broken = |node: &Node, whole: bool| {
                self.misshapen.iter().any(|span| *span == node.span || whole && span.within(node.span))
            };
            for key in path.split('.') {
                match node {
                    Some(parent) if broken(parent, false) => return false,
                    Some(parent) => node = parent.get(key),
                    None => return true,
                }
            }
            node.is_none_or(|node| !broken(node, true))
        })
    }
}

/// Where an optional field stands, by its key.
pub fn key<T>(field: Option<&At<T>>) -> Option<Span> {
    field.map(|at| at.key)
}

type Rule = fn(&Case<'_>, &mut Vec<Problem>);

const RULES: &[Rule] = &[
    names::check,
    workers::check,
    command::check,
    conflicts::check,
    words::check,
    elastic::check,
    environment::check,
    storage::check,
    network::check,
    cluster::check,
    lifecycle::check,
    size::check,
];

/// Applies every rule.
pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    for rule in RULES {
        rule(case, problems);
    }
}

/// Every code of every rule.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    [
        names::CODES,
        workers::CODES,
        command::CODES,
        conflicts::CODES,
        words::CODES,
        elastic::CODES,
        environment::CODES,
        storage::CODES,
        network::CODES,
        cluster::CODES,
        lifecycle::CODES,
        size::CODES,
    ]
    .into_iter()
    .flatten()
    .copied()
}
