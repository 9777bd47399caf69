//! Reads one field at a time into a value and its place. A value that cannot be read is a problem, which `mismatch` words.
//!
//! `shape!` and `choice!` in `declare` turn declarations into [`Field`]s.

pub mod edits;
mod mismatch;
mod other_names;
pub mod suggestions;
mod unknown;

use std::ops::Deref;

use serde_json::{Map, Value as Json};

use crate::problem::{Code, Problem, Span, codes};
use crate::yaml::{Entry, Kind, Node, Scalar};

use edits::Texts;
use suggestions::FieldIndex;

pub use mismatch::{WayOut, invalid, refuse_ambiguous};

codes! {
    /// A field that the spec does not have
    ///
    /// Every field is checked, so that a misspelt field is never ignored. The hint names the nearest field;
    /// `khorovod explain spec.workers` lists the fields of a map.
    Error UNKNOWN_FIELD = "unknown-field";

    /// A required field is missing
    ///
    /// Add the field. The hint shows an example.
    Error MISSING_FIELD = "missing-field";

    /// A value of the wrong type
    ///
    /// For example a text instead of a number, a number without quotes instead of a text, or a map instead of a list. The
    /// message names the type that the field takes.
    Error WRONG_TYPE = "wrong-type";

    /// A key without a value
    ///
    /// `gpus:` without a value is null. Add a value. If the field has a default, you can remove the key instead.
    Error EMPTY_VALUE = "empty-value";

    /// A word that the field does not accept
    ///
    /// The field accepts one of a few words. The hint names the nearest one, or all of them.
    Error UNKNOWN_VALUE = "unknown-value";

    /// A value outside the limits of the field
    ///
    /// The message names the limits.
    Error OUT_OF_RANGE = "out-of-range";

    /// A text in the wrong format
    ///
    /// Kubernetes and the tools in the pods prescribe the formats of names, paths, quantities, durations, images and
    /// labels. The message describes the format.
    Error INVALID_VALUE = "invalid-value";

    /// Exactly one of several fields must be given
    ///
    /// For example, a storage entry has one of `claim`, `nfs`, `s3` and others, which names the source of the volume.
    Error CHOOSE_ONE = "choose-one";

    /// A value that readers of YAML read differently
    ///
    /// `yes`, `on` and `n` are booleans in YAML 1.1 and texts in YAML 1.2. `0777`, `1:30` and `1_000` are different numbers,
    /// or texts, to different readers. khorovod does not guess: write `"on"` for the text, `true` for the boolean, and
    /// decimal digits for a number.
    Error AMBIGUOUS = "yaml-ambiguous";
}

/// A value with its place and the place of its key.
#[derive(Debug, Clone)]
pub struct At<T> {
    pub value: T,
    pub span: Span,
    pub key: Span,
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// The shapes a schema refers to, by name.
pub type Defs = Map<String, Json>;

/// The type of value that a field takes, for the report of a value of another type.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    /// `true` or `false`.
    Boolean,
    /// A whole number within these limits.
    Integer { min: u32, max: u32 },
    /// A Kubernetes quantity: a text or a number.
    Quantity,
    /// A duration with its units.
    Duration,
    /// A text for which `fits` is true; `form` describes such texts.
    Text { form: &'static str, fits: fn(&str) -> bool },
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any scalar that all readers of YAML read as the same value.
    Scalar,
    /// A list of such items.
    List(Item),
    /// A map with fields of its own.
    Fields,
    /// A map whose keys are names.
    Names,
}

/// The type of the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Text,
    Number,
    Map,
}

/// A field that a document can have.
#[derive(Debug)]
pub struct Place<'a> {
    /// How many maps it is below the document.
    pub depth: usize,
    /// The path of the map that has it.
    pub parent: &'a str,
    pub key: &'static str,
}

/// Something a field can hold.
pub trait Field: Sized {
    /// The type of the items of a list of these.
    const ITEM: Item;
    /// Reads it, or pushes what is wrong.
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self>;
    /// Its JSON Schema.
    fn schema(defs: &mut Defs) -> Json;
    /// Calls `each` with all fields below `path`, those of `path` itself first.
    fn fields(_path: &str, _depth: usize, _each: &mut dyn FnMut(&Place<'_>)) {}
}

/// No field is looked for deeper than this.
pub const DEEPEST: usize = 3;

/// The state of reading a document: the current path, and the problems so far.
pub struct Reader<'n, 'p> {
    texts: &'p dyn Texts,
    /// Every field of a document, to suggest one for a name that is unknown.
    index: &'p FieldIndex,
    problems: &'p mut Vec<Problem>,
    /// How many problems there may be once this document is read.
    most: usize,
    path: Vec<Step<'n>>,
    /// The fields that misspelt keys were taken for: they are not missing.
    guessed: Vec<String>,
}

/// Past these, a document is garbage.
const MAX_PROBLEMS: usize = 1_000;

enum Step<'n> {
    Key(&'n Entry, Own),
    Index(usize),
}

/// The fields of a shape.
pub trait Shape {
    /// Their keys, in the order people write them.
    const KEYS: &'static [&'static str];
    /// The keys that are required, alone or as one of several.
    const NEEDED: &'static [&'static str];
    /// Values that a field can have.
    fn examples(key: &str) -> Vec<Json>;
    /// One of them.
    fn example(key: &str) -> Option<Json> {
        Self::examples(key).into_iter().next()
    }
}

/// The same of one field; of a map's entry, nothing.
#[derive(Clone, Copy)]
struct Own {
    needed: bool,
    example: fn(&str) -> Option<Json>,
}

const NOTHING: Own = Own { needed: false, example: |_| None };

impl<'n, 'p> Reader<'n, 'p> {
    /// A reader at the top of a document.
    pub fn new(texts: &'p dyn Texts, index: &'p FieldIndex, problems: &'p mut Vec<Problem>) -> Self {
        let most = problems.len() + MAX_PROBLEMS;
        Self { texts, index, problems, most, path: Vec::new(), guessed: Vec::new() }
    }

    /// Pushes a problem, up to as many as anybody will read.
    pub fn push(&mut self, problem: Problem) {
        if self.problems.len() < self.most {
            self.problems.push(problem);
        }
    }

    /// Where we are: `spec.storage[0].mountPath`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Key(entry, _) if path.is_empty() => path.push_str(&entry.key),
                Step::Key(entry, _) => {
                    path.push('.');
                    path.push_str(&entry.key);
                }
                Step::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        if path.is_empty() { "the document".to_owned() } else { path }
    }

    /// Reads the value under a key that is a name.
    pub fn entry<T: Field>(&mut self, entry: &'n Entry) -> Option<At<T>> {
        self.under(entry, NOTHING)
    }

    /// Reads the value of a shape's field.
    pub fn field<S: Shape, T: Field>(&mut self, entry: &'n Entry) -> Option<At<T>> {
        self.under(entry, Own { needed: S::NEEDED.contains(&entry.key.as_str()), example: S::example })
    }

    fn under<T: Field>(&mut self, entry: &'n Entry, own: Own) -> Option<At<T>> {
        self.path.push(Step::Key(entry, own));
        let value = T::read(&entry.value, self);
        self.path.pop();
        Some(At { value: value?, span: entry.value.span, key: entry.key_span })
    }

    /// Reads a text that stands for a whole map: the value of its main field.
    pub fn short<T: Field>(&mut self, node: &'n Node) -> Option<At<T>> {
        Some(At { value: T::read(node, self)?, span: node.span, key: node.span })
    }

    /// Reads an item of a list.
    pub fn item<T: Field>(&mut self, index: usize, node: &'n Node) -> Option<At<T>> {
        self.path.push(Step::Index(index));
        let value = T::read(node, self);
        self.path.pop();
        Some(At { value: value?, span: node.span, key: node.span })
    }

    /// The entries of a map.
    pub fn map(&mut self, node: &'n Node, expected: Expected) -> Option<&'n [Entry]> {
        match &node.kind {
            Kind::Map(entries) => Some(entries),
            _ => self.wrong_type(node, expected),
        }
    }

    /// The items of a list.
    pub fn list(&mut self, node: &'n Node, expected: Expected) -> Option<&'n [Node]> {
        match &node.kind {
            Kind::List(items) => Some(items),
            _ => self.wrong_type(node, expected),
        }
    }

    /// The text of a scalar that is one without doubt.
    pub fn text(&mut self, node: &'n Node, expected: Expected) -> Option<&'n str> {
        match node.scalar() {
            Some(Scalar::Text(text)) => Some(text),
            _ => self.wrong_type(node, expected),
        }
    }
}
