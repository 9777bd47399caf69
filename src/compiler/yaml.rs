//! Text → documents: a stream cut into documents, and a document read into [`Node`]s that know
//! where they stand.
//!
//! Nothing here knows what a training job is; it knows YAML, and what readers of YAML disagree on.

pub mod flow;
mod layout;
mod merge;
mod node;
pub mod path;
mod reader;
mod scalar;
mod stream;
pub mod writer;

pub use merge::{merge, set};
pub use node::{Entry, Kind, Node};
pub use reader::{CODES, Unreadable, parse};
pub use scalar::{Scalar, Trap};
pub use stream::{document_at, ends_line, pieces};
