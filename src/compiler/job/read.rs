//! Reads the fields of a document. Each field becomes a value with its place in the text. If a value cannot be read,
//! `mismatch` reports a problem.
//!
//! `shape!` and `choice!` in `declare` turn declarations into [`Field`]s.

pub mod durations;
pub mod edits;
mod mismatch;
mod other_names;
pub mod suggestions;
mod unknown;

use std::ops::Deref;

use serde_json::{Map, Value as Json};

use crate::problem::{Code, Problem, Span, codes};
use crate::yaml::{self, Entry, Kind, Node, Scalar};

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

/// The `$defs` of a JSON Schema: the name and the schema of each shape that the schema refers to. A shape is a map with
/// declared fields.
pub type Defs = Map<String, Json>;

/// The type of value that a field takes. If a value has another type, the message names this type.
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
    /// A text of this form.
    Text(&'static TextForm),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any scalar that all readers of YAML read as the same value.
    Scalar,
    /// A list of items of this type.
    List(Item),
    /// A map with declared fields.
    Fields,
    /// A map whose keys are names.
    Names,
}

/// The form of a text, such as a path or the name of an image. It is data, because functions that are generated per form make the
/// WebAssembly modules larger.
#[derive(Debug)]
pub struct TextForm {
    /// The name of the type of such texts.
    pub type_name: &'static str,
    /// The form in words.
    pub expected: &'static str,
    /// The maximum length, in characters.
    pub max: usize,
    /// Whether a text has the form. The length is not checked.
    pub fits: fn(&str) -> bool,
}

impl TextForm {
    /// Whether a text has more characters than the form allows.
    pub fn is_too_long(&self, text: &str) -> bool {
        text.len() > self.max && text.chars().count() > self.max
    }

    /// Whether a text has the form, and is not too long.
    pub fn accepts(&self, text: &str) -> bool {
        !self.is_too_long(text) && (self.fits)(text)
    }
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
    /// 0 for a field of the document itself, and 1 more for each map between the document and the field.
    pub depth: usize,
    /// The path of the map that contains the field.
    pub parent: &'a str,
    pub key: &'static str,
    /// Whether a value in the place of the map sets this field, as `launcher: torchrun` sets `launcher.kind`.
    pub is_short: bool,
}

/// A type of value that a field can have.
pub trait Field: Sized {
    /// How [`Expected::List`] describes an item of this type.
    const ITEM: Item;
    /// Reads the value, or pushes a problem and returns nothing.
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self>;
    /// The JSON Schema of the type.
    fn schema(defs: &mut Defs) -> Json;
    /// Calls `each` with every field below `path`, beginning with the fields of the map at `path` itself.
    fn fields(_path: &str, _depth: usize, _each: &mut dyn FnMut(&Place<'_>)) {}
}

/// [`Field::fields`] of the type of a field.
pub type FieldsBelow = fn(&str, usize, &mut dyn FnMut(&Place<'_>));

/// Calls `each` with every field of a map, and then with the fields below these fields. `short` is the field that a value in the
/// place of the map sets.
pub fn walk_fields(
    fields: &[(&'static str, FieldsBelow)],
    short: Option<&str>,
    path: &str,
    depth: usize,
    each: &mut dyn FnMut(&Place<'_>),
) {
    for (key, _) in fields {
        each(&Place { depth, parent: path, key, is_short: short == Some(*key) });
    }
    if depth < DEEPEST {
        for (key, below) in fields {
            let path = if path.is_empty() { (*key).to_owned() } else { format!("{path}.{key}") };
            below(&path, depth + 1, each);
        }
    }
}

/// The largest `depth` of the fields that [`Field::fields`] lists.
pub const DEEPEST: usize = 3;

/// The state of reading a document: the current path, and the problems so far.
pub struct Reader<'n, 'p> {
    document: &'n Node,
    texts: &'p dyn Texts,
    /// Every field of a document, to suggest a field for an unknown name.
    index: &'p FieldIndex,
    problems: &'p mut Vec<Problem>,
    /// The maximum length of `problems`, which may contain problems of other documents.
    most: usize,
    path: Vec<Step<'n>>,
    /// The fields that were probably meant by misspelt keys. These fields are not reported as missing.
    guessed: Vec<String>,
}

/// The maximum number of problems that are reported for one document.
const MAX_PROBLEMS: usize = 1_000;

enum Step<'n> {
    /// An entry, its shape, and the name of the field, from which a misspelt key differs.
    Key(&'n Entry, &'static Shape, &'n str),
    Index(usize),
}

/// The facts about the fields of a map. They are data, because functions that are generated per map make the WebAssembly modules
/// larger.
#[derive(Debug)]
pub struct Shape {
    /// The keys of the fields, in the order in which specs usually have them.
    pub keys: &'static [&'static str],
    /// The required keys, and the keys of which exactly one is required.
    pub needed: &'static [&'static str],
    /// The examples of all fields as one text. For each field, the text has the key and its examples. Before each example
    /// there is a [`START_OF_EXAMPLE`], and before each further field an [`END_OF_FIELD`]. An example is the Rust expression
    /// in the declaration.
    pub examples: &'static str,
}

/// Separates the fields in [`Shape::examples`].
pub const END_OF_FIELD: char = '\u{1}';
/// Separates the examples of a field in [`Shape::examples`].
pub const START_OF_EXAMPLE: char = '\u{2}';

/// The shape of a map whose keys are names.
const NAMES: &Shape = &Shape { keys: &[], needed: &[], examples: "" };

impl Shape {
    /// The examples of a field.
    pub fn examples(&self, key: &str) -> impl Iterator<Item = Json> {
        let of_field = |field: &'static str| field.strip_prefix(key)?.strip_prefix(START_OF_EXAMPLE);
        let examples = self.examples.split(END_OF_FIELD).find_map(of_field);
        examples.into_iter().flat_map(|all| all.split(START_OF_EXAMPLE)).filter_map(literal)
    }

    /// The first example of a field.
    pub fn example(&self, key: &str) -> Option<Json> {
        self.examples(key).next()
    }
}

/// The value of an expression in a declaration: a literal, or a call of `json!`. The compiler of Rust may put spaces between its tokens.
fn literal(expression: &str) -> Option<Json> {
    let call = expression.strip_prefix("json").and_then(|rest| rest.trim_start().strip_prefix('!'));
    let argument = call.and_then(|rest| rest.trim().strip_prefix('(')?.strip_suffix(')'));
    let text = argument.unwrap_or(expression);
    let is_literal =
        text.starts_with(|c: char| c.is_ascii_digit() || "\"{[-".contains(c)) || matches!(text, "true" | "false");
    // Such JSON is also YAML. A parser of JSON would make the WebAssembly modules larger.
    let span = Span { source: 0, start: 0, end: text.len() };
    let node = is_literal.then(|| yaml::parse(text, span, &mut Vec::new()).ok().flatten())?;
    node.map(|node| node.to_json())
}

impl<'n, 'p> Reader<'n, 'p> {
    /// A reader at the top of a document.
    pub fn new(
        document: &'n Node,
        texts: &'p dyn Texts,
        index: &'p FieldIndex,
        problems: &'p mut Vec<Problem>,
    ) -> Self {
        let most = problems.len() + MAX_PROBLEMS;
        Self { document, texts, index, problems, most, path: Vec::new(), guessed: Vec::new() }
    }

    /// Pushes a problem, unless the document already has [`MAX_PROBLEMS`].
    pub fn push(&mut self, problem: Problem) {
        if self.problems.len() < self.most {
            self.problems.push(problem);
        }
    }

    /// The path of the current field or item: `spec.storage[0].mountPath`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Key(.., name) if path.is_empty() => path.push_str(name),
                Step::Key(.., name) => {
                    path.push('.');
                    path.push_str(name);
                }
                Step::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        if path.is_empty() { "the document".to_owned() } else { path }
    }

    /// Reads the value of an entry whose key is a name, not a declared field.
    pub fn entry<T: Field>(&mut self, entry: &'n Entry) -> Option<At<T>> {
        self.field(entry, &entry.key, NAMES)
    }

    /// Reads the value of a shape's field with this name. If the key is misspelt, reports the problems in the value, but returns
    /// nothing.
    pub fn field<T: Field>(&mut self, entry: &'n Entry, name: &'n str, shape: &'static Shape) -> Option<At<T>> {
        self.path.push(Step::Key(entry, shape, name));
        let value = T::read(&entry.value, self);
        self.path.pop();
        Some(At { value: value?, span: entry.value.span, key: entry.key_span }).filter(|_| entry.key == name)
    }

    /// Reads a text that is written instead of a map, such as `launcher: torchrun`. The text is the value of the main field of
    /// the map, here `kind`.
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

    /// The text of a scalar that every reader of YAML reads as a string.
    pub fn text(&mut self, node: &'n Node, expected: Expected) -> Option<&'n str> {
        match node.scalar() {
            Some(Scalar::Text(text)) => Some(text),
            _ => self.wrong_type(node, expected),
        }
    }
}
