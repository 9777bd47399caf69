//! Rules beyond the type of a single field: combinations of fields, values that Kubernetes or MPI refuses, and settings
//! that would fail without a message.
//!
//! Each file declares the problem codes that its rules report.

/// The field at a path of the spec, as it was read: `field!(case.launcher.image)`.
macro_rules! field {
    ($case:ident.$first:ident $(.$next:ident)*) => {
        $case.body.$first.as_ref()$(.and_then(|at| at.$next.as_ref()))*
    };
}
pub(crate) use field;

mod claims;
mod cluster;
mod command;
mod conflicts;
mod egress;
mod elastic;
mod environment;
mod lifecycle;
mod literal_words;
mod names;
mod network;
mod progress;
mod scripts;
mod size;
mod storage;
mod topology;
mod workers;

use super::declare::scalars::EnvName;
use super::declare::{Body, EnvValue, Group, Storage, TrainingJob};
use super::read::At;
use super::read::edits::Texts;
use super::types::KubeVersion;
use super::types::spec::Spec;
use crate::problem::{Explained, Problem, Span};
use crate::yaml::Node;

pub use conflicts::spares;
pub use environment::owns_variable;
pub use network::POD_SECURITY_LEVEL;
pub use storage::reserved;

/// The input of a rule: the document, the fields that were read, and the resolved spec.
pub struct Case<'a> {
    pub document: &'a Node,
    pub texts: &'a dyn Texts,
    /// The places of values that could not be read.
    pub misshapen: &'a [Span],
    pub job: &'a TrainingJob,
    pub body: &'a Body,
    pub spec: &'a Spec,
    pub kube_version: KubeVersion,
    /// The place of `kind`, for problems without a place of their own.
    pub top: Span,
}

impl<'a> Case<'a> {
    /// The entries of `storage`.
    pub fn storage(&self) -> impl Iterator<Item = &'a At<Storage>> + use<'a> {
        self.body.storage.iter().flat_map(|at| &at.value)
    }

    /// The variables of `env`.
    pub fn env(&self) -> impl Iterator<Item = &'a (At<EnvName>, At<EnvValue>)> + use<'a> {
        self.body.env.iter().flat_map(|at| &at.0)
    }

    /// The entries of `workers.groups`.
    pub fn groups(&self) -> impl Iterator<Item = &'a At<Group>> + use<'a> {
        self.body.workers.iter().filter_map(|at| at.groups.as_ref()).flat_map(|at| &at.value)
    }

    /// Whether all these parts of the spec could be read. If a part could not be read, the resolved spec has a default in its
    /// place, and a rule that checks this default would report a misleading problem.
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

/// The place of the key of an optional field.
pub fn key<T>(field: Option<&At<T>>) -> Option<Span> {
    field.map(|at| at.key)
}

type Rule = fn(&Case<'_>, &mut Vec<Problem>);

const RULES: &[Rule] = &[
    names::check,
    workers::check,
    command::check,
    conflicts::check,
    literal_words::check,
    elastic::check,
    environment::check,
    storage::check,
    network::check,
    egress::check,
    cluster::check,
    topology::check,
    claims::check,
    lifecycle::check,
    progress::check,
    scripts::check,
    size::check,
];

/// Applies every rule.
pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    for rule in RULES {
        rule(case, problems);
    }
}

/// Every code of every rule.
pub fn codes() -> impl Iterator<Item = &'static Explained> {
    [
        names::CODES,
        workers::CODES,
        command::CODES,
        conflicts::CODES,
        literal_words::CODES,
        elastic::CODES,
        environment::CODES,
        storage::CODES,
        network::CODES,
        egress::CODES,
        cluster::CODES,
        topology::CODES,
        claims::CODES,
        lifecycle::CODES,
        progress::CODES,
        scripts::CODES,
        size::CODES,
    ]
    .into_iter()
    .flatten()
}
