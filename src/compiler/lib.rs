//! The compiler of khorovod: one training spec goes in, Kubernetes objects come out.
//!
//! Use the crate `khorovod`, which re-exports the public interface. The modules below are public because the importers and the
//! command use them. They may change in any release.
//!
//! # The pipeline
//! Text flows one way through these modules:
//! 1. [`yaml`]: text → documents, each value with its span.
//! 2. [`job`]: document → `Spec`, with every default filled in; or every [problem](problem::Problem) at once. Rules for
//!    commands read them with [`shell`].
//! 3. [`plan`]: `Spec` → `Plan`: names, hosts, slots, the number of ranks, the launch command, the environment.
//! 4. [`pods`]: `Plan` → what pods run: hostfile, scripts, ssh configuration, keys.
//! 5. [`targets`]: `Plan` → the objects of one target; [`kubernetes`] builds the objects they share.
//! 6. [`yaml::writer`]: objects → text.
//!
//! [`pipeline`] runs the phases over a stream of documents, [`report`] describes a `Plan`, and [`timeline`] what happens to its run.
//! Nothing in this crate reads a file, the environment or a clock; key material is an [input](api::Inputs::keys).

// The comments of modules may link to private items, because they are for readers of the source.
#![allow(rustdoc::private_intra_doc_links)]

pub mod api;
pub mod pipeline;
pub mod problem;
pub mod report;

// These modules are not part of the public interface, so their fields need no doc comments.
#[allow(missing_docs)]
pub mod job;
#[allow(missing_docs)]
pub mod kubernetes;
#[allow(missing_docs)]
pub mod plan;
#[allow(missing_docs)]
pub mod pods;
#[allow(missing_docs)]
pub mod shell;
#[allow(missing_docs)]
pub mod targets;
#[allow(missing_docs)]
pub mod timeline;
#[allow(missing_docs)]
pub mod yaml;

pub use api::{
    DeriveKeys, Document, FoundSecret, Inputs, Keys, NotUtf8, Origin, Preview, Rendered, Reports, Text, files,
};
pub use job::{KubeVersion, NotAKubeVersion, expectations_schema, parse_duration, schema};
pub use pipeline::{
    Fixed, changes, check, documents, expand, find_secrets, fix, format, is_rendered, jobs, krm, preview, render,
    render_to, rendered_target, reports, secret, spec_changes, timeline_facts,
};
pub use pods::keys::ssh_keys;
pub use pods::{Scripts, seed};
pub use targets::{Target, UnknownTarget};
