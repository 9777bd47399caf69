//! The declarations of all fields. The reader, the schema, `explain`, the docs and the resolver derive from these
//! declarations.
//!
//! To add a field, declare it here with its default, resolve it in `resolve`, and check it in `rules`.

mod cluster;
mod data;
mod formats;
mod job;
mod launcher;
pub mod scalars;
pub(crate) mod shapes;
mod workers;

pub use cluster::*;
pub use data::*;
pub use job::*;
pub use launcher::*;
pub use shapes::OrDefault;
pub use workers::*;
