//! Document → [`RawSpec`](raw) (what a person may write) → [`Spec`] (what holds), or every
//! problem at once.

pub mod field;
mod lower;
pub mod quantity;
mod raw;
mod scalars;
mod shapes;
pub mod valid;

pub use valid::Spec;
