//! What a person may write, field by field: the declarations everything else is derived from.
//!
//! A new field is declared here, gets its default in `lower`, its rule in `rules`.

mod cluster;
mod data;
mod job;
mod launcher;
mod workers;

pub use cluster::*;
pub use data::*;
pub use job::*;
pub use launcher::*;
pub use workers::*;
