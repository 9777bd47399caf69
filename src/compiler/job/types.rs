//! The values that the rest of the compiler works with: the resolved [`Spec`](spec::Spec) and the types of its fields.

mod duration;
mod kube_version;
pub mod limits;
mod pattern;
pub mod quantity;
pub mod spec;
pub mod target;
mod topology;

pub use duration::{DURATION_PATTERN, format_duration, parse_duration};
pub use kube_version::{KubeVersion, NotAKubeVersion};
pub use pattern::matches_pattern;
