//! The first and the last phase of the pipeline: text → documents, and objects → text ([`writer`]).
//!
//! [`pieces`] splits a stream into documents. [`parse`] parses one document into a tree of [`Node`]s with spans, and reports
//! constructs that YAML parsers treat differently. [`merge`] and [`set`] apply overlays and `--set` to the tree. This module
//! does not depend on the fields of a training spec.

mod float;
pub mod flow;
mod merge;
mod node;
mod pasted;
pub mod path;
mod reader;
mod removal;
mod scalar;
mod stream;
mod syntax_hints;
pub mod writer;

pub use merge::{merge, set};
pub use node::{Entry, Kind, Node};
pub use pasted::{Sign, find_sign};
pub use reader::{CODES, SYNTAX, Unreadable, parse};
pub use removal::removal;
pub use scalar::{Scalar, Trap};
pub use stream::{Piece, document_at, ends_line, pieces};
pub use syntax_hints::{UNEVEN, reindented};
