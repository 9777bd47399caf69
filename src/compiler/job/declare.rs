//! What a person may write, field by field: the declarations everything else is derived from.
//!
//! A new field is declared here, gets its value in `resolve`, its rule in `rules`.

mod cluster;
mod data;
mod formats;
mod job;
mod launcher;
pub mod scalars;
mod shapes;
mod workers;

pub use cluster::*;
pub use data::*;
pub use job::*;
pub use launcher::*;
pub use shapes::OrDefault;
pub use workers::*;
