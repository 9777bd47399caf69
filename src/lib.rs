//! khorovod compiles a training spec into plain Kubernetes objects.
//!
//! # What to call
//!
//! | To | Call |
//! |---|---|
//! | render specs into objects | [`render`], or [`render_to`] if the output is large |
//! | render the specs in a stream that also contains other manifests | [`expand`]; [`krm`] for a KRM function |
//! | find every mistake | [`check`]: each problem with its [code](problem::Code), spans and hint |
//! | apply the automatic fixes of mistakes | [`fix`] |
//! | put the fields of specs into the canonical order | [`format()`] |
//! | describe what would run | [`reports`] |
//! | draw what would run | [`picture::svg`] |
//! | find out what happens to a run if something fails | [`timeline_facts`], then [`timeline::Timeline::new`] |
//! | find out what a change does to running jobs | [`changes`] |
//! | show a job while it is being written | [`preview`] |
//! | find the values of a text that look like secrets | [`find_secrets`] |
//! | convert YAML to JSON, for a program that cannot read YAML | [`documents`], [`jobs`] |
//! | convert a job of another system | [`import::import`] |
//! | offer completion in an editor, or write a reference | [`schema`], [`codes`] |
//!
//! # Features
//!
//! `cli`, the default, has the dependencies of the command. With `default-features = false`, the crate has few
//! dependencies and also compiles for `wasm32-unknown-unknown`. `show` adds the reports that people read.
//!
//! # Compatibility
//!
//! Versions follow SemVer; before 1.0 a minor version may change the public interface, and the changelog lists it. The
//! names of problem codes and the fields of the spec are stable. The wording of messages and the bytes of rendered
//! objects are not: a release that improves the objects starts a new run of a job when you apply it again. The oldest
//! supported Rust is `rust-version` in `Cargo.toml`; a minor version may raise it.

pub mod picture;
#[cfg(feature = "show")]
pub mod show;

pub use khorovod_compiler::{
    DeriveKeys, Document, Fixed, FoundSecret, Inputs, Keys, KubeVersion, NotAKubeVersion, NotUtf8, Origin, Preview,
    Rendered, Reports, Scripts, Target, Text, UnknownTarget, changes, check, documents, expand, expectations_schema,
    files, find_secrets, fix, format, is_rendered, jobs, krm, parse_duration, preview, problem, render, render_to,
    rendered_target, report, reports, schema, secret, seed, spec_changes, ssh_keys, targets, timeline, timeline_facts,
};
pub use khorovod_import as import;

/// Every problem code of the compiler and the importers.
///
/// ```
/// let code = khorovod::codes().find(|code| code.name == "unknown-field").unwrap();
/// println!("{}: {}", code.title(), code.details());
/// ```
pub fn codes() -> impl Iterator<Item = &'static problem::Explained> {
    khorovod_compiler::pipeline::codes().chain(import::codes())
}
