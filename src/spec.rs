//! Document → [`RawSpec`](raw) (what a person may write) → [`Spec`] (what holds), or every
//! problem at once.

pub mod quantity;
pub mod valid;

pub use valid::Spec;
