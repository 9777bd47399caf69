//! The values that the rest of the compiler works with: the resolved [`Spec`](spec::Spec) and the types of its fields.

mod kube_version;
pub mod limits;
pub mod quantity;
pub mod spec;
pub mod target;

pub use kube_version::{KubeVersion, NotAKubeVersion};
