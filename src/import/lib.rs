//! Imports jobs of other systems: a file of such a system becomes a TrainingJob, and every field of the file gets an
//! outcome.
//!
//! The importers are a second compiler, whose output is the input of the main compiler. [`from`] has one module per
//! source system. The module reads the file, records an outcome for each field in the [`context`], and adds fields to
//! the new spec. The result is the text of the new spec. [`launch`] takes launch lines apart, and [`pod`] reads pod
//! templates.

// The comments of the modules are for readers of the source.
#![allow(rustdoc::private_intra_doc_links)]

mod api;
mod blame;
mod checks;
mod codes;
mod context;
mod detect;
mod field;
mod field_outcomes;
mod from;
mod launch;
mod manifest;
mod new_job;
mod option_table;
mod pipeline;
mod placeholders;
mod pod;
mod rendered;
mod secrets;
mod shell_text;
mod spec_builder;
mod values;

pub use api::{Field, Imported, Options, System};
pub use codes::codes;
pub use detect::system as guess;
pub use detect::with_import_hint;
pub use field_outcomes::Verdict;
pub use pipeline::import;
