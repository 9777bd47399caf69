//! The types of the JSON that the WebAssembly modules return to the preview page.
//!
//! The test `typescript` writes them as TypeScript into `web/src/wire/types.ts`, with a check of each for the page. They
//! borrow from what the compiler returns: each exists during one call.

use khorovod_compiler::report::{Change, Report};
use khorovod_compiler::timeline::{Scenario, Timeline};
use serde::{Serialize, Serializer};

/// The result of `preview`. The rendered objects follow the JSON as text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Preview<'a> {
    /// The problems found: errors first, then warnings, then notes; only as many as the page can show.
    pub problems: Vec<Problem<'a>>,
    /// How many further problems were found.
    pub more: usize,
    /// The compiled spec; absent if there is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiled: Option<Compiled<'a>>,
}

/// The result of compiling a spec without errors.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Compiled<'a> {
    /// One plan per job, in the order of the spec's documents.
    pub jobs: &'a [Report],
    /// One entry per job: the range of each field of its document in the spec, as `[from, to]` in UTF-16 code units
    /// by path: `spec.storage[0]` → `[120, 164]`.
    pub places: Vec<Map<'a, [usize; 2]>>,
    /// The picture of the jobs; absent if the page shows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
    /// The rendered objects.
    pub documents: Vec<RenderedDocument<'a>>,
    /// How many further jobs were checked but are not in `jobs`.
    pub left_out: usize,
}

/// The picture of the jobs, one below the other. Lengths are in CSS pixels.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Picture {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
    /// A description for screen readers.
    pub description: String,
    /// The parts. Later parts cover earlier ones.
    pub items: Vec<PictureItem>,
}

/// A part of a picture.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PictureItem {
    /// The index in `jobs` of the job it belongs to.
    pub job: usize,
    /// Identifies the part in all pictures of a job.
    pub key: String,
    /// The distance from the left edge of the picture.
    pub x: u32,
    /// The distance from the upper edge of the picture.
    pub y: u32,
    /// SVG elements, with texts escaped.
    pub svg: String,
    /// The tooltip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<String>,
    /// The path of the field of the spec that the part shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Set for a part that shows many workers as a grid of squares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
}

/// The squares of a grid of workers, row by row from the left upper corner of the part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Grid {
    /// The number of squares in a row.
    pub columns: u32,
    /// The distance between two squares.
    pub pitch: u32,
    /// The number of workers per square.
    pub workers_each: u32,
    /// The number of workers in all squares.
    pub workers: u32,
}

/// A rendered object.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RenderedDocument<'a> {
    /// Its kind, such as `StatefulSet`; empty for a document that is not a Kubernetes object.
    pub kind: &'a str,
    /// Its `metadata.name`.
    pub name: &'a str,
    /// Its `metadata.namespace`.
    pub namespace: Option<&'a str>,
    /// Its start in the rendered text, in bytes.
    pub from: usize,
    /// Its end in the rendered text, in bytes.
    pub to: usize,
    /// The index in `jobs` of the job it belongs to; null for a document that passes through unchanged.
    pub job: Option<usize>,
    /// Paths of the spec's fields that it is rendered from, patches last.
    pub fields: &'a [String],
}

/// A problem in the spec.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Problem<'a> {
    /// Its kind: a key of the map that `codes` returns.
    pub code: &'a str,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence that names the field. Code is in backquotes.
    pub message: &'a str,
    /// The way to fix it. Code is in backquotes.
    pub hint: Option<&'a str>,
    /// The places concerned, the main one first; empty for a problem without a location.
    pub labels: Vec<PlacedText<'a>>,
    /// The hint as an edit of the spec.
    pub fix: Option<PlacedText<'a>>,
    /// Another edit that fixes the problem, if the user must choose between two.
    pub other_fix: Option<PlacedText<'a>>,
    /// Whether the edit changes what the job does, or inserts an example value, so that the user must choose it.
    pub fix_is_choice: bool,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Severity {
    /// Nothing is rendered.
    Error,
    /// Rendered, but probably not what is meant.
    Warning,
    /// Rendered; for information.
    Note,
}

/// A range of the spec with a text about it, or with the text that replaces it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PlacedText<'a> {
    /// The start of the range, in UTF-16 code units.
    pub from: usize,
    /// The end of the range, in UTF-16 code units.
    pub to: usize,
    /// The text.
    pub text: &'a str,
}

/// A value of a text that looks like a secret.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FoundSecret {
    /// The name of its variable in backquotes, or `an access token` or `a private key`.
    pub what: String,
    /// The start of the value, in UTF-16 code units.
    pub from: usize,
    /// The end of the value, in UTF-16 code units.
    pub to: usize,
}

/// The rendered objects as files. The rendered text follows the JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Files {
    /// One file per object.
    pub files: Vec<RenderedFile>,
}

/// One file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RenderedFile {
    /// Its path.
    pub path: String,
    /// Its start in the rendered text, in bytes.
    pub from: usize,
    /// Its end in the rendered text, in bytes.
    pub to: usize,
}

/// The meaning of a problem code.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Code {
    /// One line.
    pub title: &'static str,
    /// Paragraphs of Markdown.
    pub details: String,
}

/// A system whose files can be imported.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct System {
    /// Its name, as `khorovod import` takes it.
    pub name: &'static str,
    /// A description of its files.
    pub about: &'static str,
}

/// The result of `import_file`: a job, or the problems that prevent one.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Import<'a> {
    /// The job; absent if there are errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported<'a>>,
    /// The errors.
    pub problems: Vec<ImportProblem<'a>>,
}

/// The job that a file of another system becomes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Imported<'a> {
    /// The spec.
    pub job: &'a str,
    /// Secrets that were written in the file, as YAML documents; empty if there were no secrets.
    pub secrets: &'a str,
    /// Every field of the file, in its order.
    pub fields: Vec<FieldOutcome<'a>>,
}

/// The outcome of an import for a field.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FieldOutcome<'a> {
    /// Its path in the file.
    pub path: &'a str,
    /// Its line in the file.
    pub line: usize,
    /// Whether it is in the spec as it was, in another way, or not at all: because it is not needed, or because it is lost.
    #[cfg_attr(feature = "schemars", schemars(extend("enum" = ["kept", "changed", "dropped", "lost"])))]
    pub verdict: &'a str,
    /// Paths of the spec's fields that it became.
    pub to: &'a [String],
    /// How it changed, why it is not needed, or why it is lost and what to do.
    pub note: &'a str,
}

/// An error of an import.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ImportProblem<'a> {
    /// Its line in the file; null for an error of the whole file.
    pub line: Option<usize>,
    /// One sentence. Code is in backquotes.
    pub message: &'a str,
    /// The way to fix it.
    pub hint: Option<&'a str>,
}

/// The result of `changes`: what happens to each job if one spec replaces another.
pub type Changes = Vec<Change>;

/// The result of `timeline`: what happens to a run, and how it is drawn.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DrawnTimeline {
    /// The names of all jobs that have a timeline.
    pub jobs: Vec<String>,
    /// The scenarios, in the order of their buttons.
    pub choices: Vec<ScenarioChoice>,
    /// The phases and their texts.
    pub timeline: Timeline,
    /// The width of the picture.
    pub width: u32,
    /// The height of the picture.
    pub height: u32,
    /// SVG elements, with texts escaped.
    pub svg: String,
    /// A description of the picture for screen readers.
    pub description: String,
    /// For each phase, its distance from the left edge of the picture and its width.
    pub spans: Vec<[u32; 2]>,
    /// The length of each phase as text; empty if the phase does not end by itself.
    pub lengths: Vec<String>,
}

/// A scenario and the label of its button.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ScenarioChoice {
    /// The scenario.
    pub scenario: Scenario,
    /// The label.
    pub label: &'static str,
}

/// The result of `codes`: the meaning of each problem code.
pub type Codes = Map<'static, Code>;

/// A JSON object whose keys are data, in the order given. A map of the standard library would sort them, and makes the
/// module larger.
#[derive(Debug)]
pub struct Map<'a, V>(pub Vec<(&'a str, V)>);

impl<V: Serialize> Serialize for Map<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(feature = "schemars")]
impl<V: schemars::JsonSchema> schemars::JsonSchema for Map<'_, V> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::collections::BTreeMap::<String, V>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        std::collections::BTreeMap::<String, V>::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}

/// The JSON of a value, as one line, and the text that it is about after the line.
pub fn packed(value: &impl Serialize, text: &str) -> Vec<u8> {
    let mut bytes = json(value).into_bytes();
    bytes.reserve_exact(text.len() + 1);
    bytes.push(b'\n');
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// The JSON of a value.
pub fn json(value: &impl Serialize) -> String {
    // `expect` would format the error, with 2 KB of code that each module would contain.
    let Ok(json) = serde_json::to_string(value) else {
        unreachable!("the types above have string keys and cannot fail to serialize")
    };
    json
}
