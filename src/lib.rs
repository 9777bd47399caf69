//! khorovod is a small compiler: one validated training spec goes in, plain Kubernetes objects
//! come out.
//!
//! # Steps
//! Text flows one way:
//! 1. `source`: text → documents with a place for everything in them.
//! 2. `spec`: document → what a person may write → what holds, or every [problem] at once.
//! 3. `plan`: names, hosts, slots, np, the launch command, the environment.
//! 4. `runtime`: hostfile, scripts, ssh configuration and keys.
//! 5. `objects`: typed Kubernetes objects; `targets`: what else a job may become.
//! 6. `emit`: YAML.
//!
//! One verb does it all: [`render`]. Nothing here reads a file, the environment or a clock;
//! key material is an [input](Inputs::keys).
//!
//! # What to call
//! | To | Call |
//! |---|---|
//! | make objects of specs | [`render`], or [`render_to`] where the output is large |
//! | do so amid other people's documents | [`expand`]; [`krm`] for a KRM function |
//! | know what is wrong | [`check`]: each problem with its [code](problem::Code), places and hint |
//! | know what would run | [`reports`] |
//! | know what a change does to running jobs | [`changes`] |
//! | show a job while it is written | [`preview`] |
//! | make a spec of another system's file | [`import::import`] |
//! | offer completion, or a reference | [`schema`], [`codes`] |
//!
//! # Features
//! `cli`, the default, is for the command. With `default-features = false` few dependencies stay, and the crate compiles
//! for `wasm32-unknown-unknown` too; `show` adds the pages of text that a person reads.
//!
//! # What stays
//! Versions follow SemVer; before 1.0 a minor version may change what is public, and the changelog says so. Problem
//! codes' names and the spec's fields stay. Not promised are the wording of messages and the bytes of what is rendered:
//! better objects are no breaking change, though they begin a new run of a job that is applied again. The oldest Rust
//! that will do is `rust-version` in `Cargo.toml`; a minor version may raise it.

mod compile;
mod emit;
pub mod import;
mod objects;
mod plan;
pub mod problem;
pub mod report;
mod runtime;
#[cfg(feature = "show")]
pub mod show;
mod source;
mod spec;
mod targets;

use problem::Problems;

pub use runtime::seed;
pub use spec::Target;

/// Where ssh keys come from.
#[derive(Debug, Clone, Default)]
pub enum Keys {
    /// Nowhere: a job that needs a key pair is a problem.
    #[default]
    Missing,
    /// Every key derives from these bytes, the namespace and the job's name.
    Seed([u8; 32]),
    /// The Secret is left out of the output; the user brings it.
    LeftOut,
    /// The Secret shows `masked` where key material would stand.
    Masked,
}

/// A text and the name a person knows it by.
#[derive(Debug, Clone)]
pub struct Text {
    /// A file's name or `<stdin>`.
    pub name: String,
    /// All of it.
    pub text: String,
}

impl Text {
    /// A text as it was read; an error says which byte makes it none.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, String> {
        let name = name.into();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
                let line = bytes[..at].split(|byte| *byte == b'\n').count();
                let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
                let hint = if utf16 { "it looks like UTF-16: save it as UTF-8" } else { "save it as UTF-8" };
                let byte = bytes[at];
                Err(format!("cannot read {name}: byte 0x{byte:02x} in line {line} is not UTF-8 text; {hint}"))
            }
        }
    }
}

/// Everything beside the spec that decides what is rendered.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// Merged over each of our documents, in order.
    pub overlays: Vec<Text>,
    /// `PATH=VALUE` settings, merged last. `workers.gpus=8` and `spec.workers.gpus=8` are the same.
    pub sets: Vec<String>,
    /// Overrides `metadata.namespace`.
    pub namespace: Option<String>,
    /// The Kubernetes minor version the objects are for: `(1, 34)`.
    pub kube_version: (u32, u32),
    /// What jobs are rendered to.
    pub target: Target,
    /// Warnings are errors.
    pub strict: bool,
    /// Where ssh keys come from.
    pub keys: Keys,
    /// The largest stream, in bytes, that [`expand`] takes.
    pub limit: usize,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            overlays: Vec::new(),
            sets: Vec::new(),
            namespace: None,
            kube_version: (1, 34),
            target: Target::Plain,
            strict: false,
            keys: Keys::Missing,
            limit: 512 << 20,
        }
    }
}

/// One document of the output.
#[derive(Debug, Clone)]
pub struct Document {
    /// `StatefulSet`; empty for a foreign document.
    pub kind: &'static str,
    /// `metadata.name`; empty for a foreign document.
    pub name: String,
    /// `metadata.namespace`, where it has one.
    pub namespace: Option<String>,
    /// Where it stands in [`Rendered::text`], separators not included.
    pub range: std::ops::Range<usize>,
}

impl Document {
    /// Its file in a folder of all of them, by its number there.
    fn file_name(&self, number: usize, width: usize) -> String {
        let folder = if self.kind.starts_with("PersistentVolume") { "claims/" } else { "" };
        let kind = if self.kind.is_empty() { "other".to_owned() } else { self.kind.to_lowercase() };
        let name = if self.name.is_empty() { String::new() } else { format!("-{}", self.name) };
        let form = if kind == "sbatch" { "sh" } else { "yaml" };
        format!("{folder}{number:0width$}-{kind}{name}.{form}")
    }
}

/// What came out.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The stream: our documents replaced by objects, all others byte for byte.
    pub text: String,
    /// Its documents in order.
    pub documents: Vec<Document>,
    /// Warnings; no errors.
    pub warnings: Problems,
}

/// The documents that hold anything, each with its text and its file in a folder of all of them, numbered in install order:
/// `03-configmap-mnist.yaml`. Claims and volumes lie in a folder of their own, which `kubectl delete -f DIR` does not
/// look into.
pub fn files(rendered: &[Rendered]) -> Vec<(String, &Document, &str)> {
    let documents: Vec<_> = rendered
        .iter()
        .flat_map(|one| one.documents.iter().map(move |document| (document, &one.text[document.range.clone()])))
        .filter(|(_, text)| !text.trim().is_empty())
        .collect();
    let width = documents.len().to_string().len().max(2);
    documents
        .into_iter()
        .enumerate()
        .map(|(index, (document, text))| (document.file_name(index + 1, width), document, text))
        .collect()
}

/// Replaces every `TrainingJob` in a stream of YAML documents by its Kubernetes objects.
///
/// ```
/// use khorovod::{Inputs, Keys, Text, render};
///
/// let spec = Text {
///     name: "job.yaml".into(),
///     text: "
/// apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// metadata: {name: mnist}
/// spec:
///   image: ghcr.io/acme/mnist:1.4
///   command: [python, train.py]
///   workers: {replicas: 4, gpus: 8}
/// "
///     .into(),
/// };
/// let inputs = Inputs { keys: Keys::Seed([7; 32]), ..Inputs::default() };
/// let rendered = render(&spec, &inputs).expect("the spec is valid");
/// assert!(rendered.documents.iter().any(|document| document.kind == "StatefulSet"));
/// assert!(rendered.text.contains("mpirun -np 32"));
/// ```
///
/// What is wrong comes back all at once, each with its code, its place and a hint:
///
/// ```
/// # use khorovod::{Inputs, Text, render};
/// let spec = Text { name: "job.yaml".into(), text: "kind: TrainingJob\nspec: {workers: {gpu: 8}}\n".into() };
/// let problems = render(&spec, &Inputs::default()).expect_err("much is missing");
/// let unknown = problems.list.iter().find(|problem| problem.code.name == "unknown-field").unwrap();
/// assert_eq!(unknown.hint.as_deref(), Some("did you mean `gpus`?"));
/// assert_eq!(problems.sources.position(unknown.labels[0].span).line, 2);
/// ```
pub fn render(text: &Text, inputs: &Inputs) -> Result<Rendered, Problems> {
    compile::render(text, inputs).map_err(|problems| import::advised(problems, text))
}

/// As [`render`], but hands the stream over in parts, so that it is never held as a whole. Nothing
/// is handed over before everything has been checked. Answers with the warnings.
pub fn render_to(text: &Text, inputs: &Inputs, write: &mut dyn FnMut(&[u8])) -> Result<Problems, Problems> {
    compile::render_to(text, inputs, write).map_err(|problems| import::advised(problems, text))
}

/// As [`render_to`] for a stream that is mostly other people's, such as all of a Helm chart: whatever is not ours is
/// never read, need not even be text, and is handed over by slices of the stream itself; and having none of ours in it is
/// no mistake. `name` is what a person knows the stream by.
///
/// ```
/// use khorovod::{Inputs, expand};
///
/// let (stream, mut out) = (b"\xff: not even text\r\n---\n# theirs", Vec::new());
/// expand("<stdin>", stream, &Inputs::default(), &mut |part| out.extend_from_slice(part)).unwrap();
/// assert_eq!(out, stream);
/// ```
pub fn expand(name: &str, stream: &[u8], inputs: &Inputs, write: &mut dyn FnMut(&[u8])) -> Result<Problems, Problems> {
    compile::expand(name, stream, inputs, write)
}

/// As [`expand`] for a KRM function: a ResourceList in, a ResourceList out, in which the TrainingJobs have become their
/// objects. One that is its `functionConfig` adds them to the items. Problems stand in its results too, and where one is
/// an error, the items are what they were; what is no ResourceList becomes no text at all.
///
/// ```
/// use khorovod::{Inputs, Keys, Text, krm};
///
/// let text = "kind: ResourceList
/// items:
/// - {kind: Service, metadata: {name: theirs}}
/// functionConfig:
///   apiVersion: khorovod.dev/v1alpha1
///   kind: TrainingJob
///   metadata: {name: mnist}
///   spec: {image: 'ghcr.io/acme/mnist:1.4', command: [python], workers: {replicas: 2}}
/// ";
/// let list = Text { name: "<stdin>".into(), text: text.into() };
/// let (out, problems) = krm(&list, &Inputs { keys: Keys::Seed([7; 32]), ..Inputs::default() });
/// assert!(!problems.any_error());
/// assert!(out.contains("items:\n- {kind: Service, metadata: {name: theirs}}\n- apiVersion: networking.k8s.io/v1\n"));
/// ```
pub fn krm(list: &Text, inputs: &Inputs) -> (String, Problems) {
    compile::krm(list, inputs)
}

/// Finds everything wrong with a stream, errors and warnings.
///
/// ```
/// use khorovod::{Inputs, Text, check};
///
/// let text = "apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// metadata: {name: mnist}
/// spec: {image: ghcr.io/acme/mnist, command: [python], workers: {replicas: 4, gpus: 4, slots: 8}}
/// ";
/// let problems = check(&Text { name: "job.yaml".into(), text: text.into() }, &Inputs::default());
/// let names: Vec<&str> = problems.list.iter().map(|problem| problem.code.name).collect();
/// assert_eq!(names, ["image-unpinned", "slots-above-gpus"]);
/// assert!(problems.any_error());
/// ```
pub fn check(text: &Text, inputs: &Inputs) -> Problems {
    import::advised(compile::check(text, inputs), text)
}

/// The JSON Schema (2020-12) of the spec.
///
/// ```
/// let schema = khorovod::schema();
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// ```
pub fn schema() -> serde_json::Value {
    spec::schema()
}

/// What the jobs of a stream would run.
#[derive(Debug, Default)]
pub struct Reports {
    /// One a job, in the stream's order.
    pub jobs: Vec<report::Report>,
    /// Warnings; no errors.
    pub warnings: Problems,
}

/// Says for a person what every job of a stream would run.
///
/// ```
/// # use khorovod::{Inputs, Keys, Text, reports};
/// # let text = "apiVersion: khorovod.dev/v1alpha1
/// # kind: TrainingJob
/// # metadata: {name: mnist}
/// # spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}
/// # ".to_owned();
/// let spec = Text { name: "job.yaml".into(), text };
/// let reports = reports(&spec, &Inputs { keys: Keys::LeftOut, ..Inputs::default() }).unwrap();
/// assert_eq!(reports.jobs[0].ranks, 32);
/// ```
pub fn reports(text: &Text, inputs: &Inputs) -> Result<Reports, Problems> {
    let (plans, warnings) = compile::plans(text, inputs).map_err(|problems| import::advised(problems, text))?;
    let object = |(kind, name): (&str, String)| report::Object { kind: kind.to_owned(), name };
    let jobs =
        plans.into_iter().map(|(plan, names)| report::Report::new(&plan, names.into_iter().map(object).collect()));
    Ok(Reports { jobs: jobs.collect(), warnings })
}

/// Everything there is to show of a stream while somebody writes it.
#[derive(Debug, Default)]
pub struct Preview {
    /// The objects.
    pub rendered: Rendered,
    /// Beside each of its documents: which job it is of, and the fields of the spec it is made for. None for a
    /// foreign one.
    pub origins: Vec<Option<Origin>>,
    /// What each job would run, in the stream's order.
    pub jobs: Vec<report::Report>,
    /// Beside each job, where the fields of its document stand in the text: `spec.storage[0]`.
    pub places: Vec<Vec<(String, std::ops::Range<usize>)>>,
    /// How many jobs hold but are not shown, because there are more than was asked for.
    pub left_out: usize,
}

/// What an object is made for.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Which of the stream's jobs.
    pub job: usize,
    /// Fields of its spec, whether it has them or takes their defaults; patches behind.
    pub fields: Vec<String>,
}

/// Renders a stream and describes its jobs in one go, with where everything comes from. All of it is checked; behind
/// `most` jobs it ends.
///
/// ```
/// # use khorovod::{Inputs, Keys, Text, preview};
/// # let text = "apiVersion: khorovod.dev/v1alpha1
/// # kind: TrainingJob
/// # metadata: {name: mnist}
/// # spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 4, gpus: 8}}
/// # ".to_owned();
/// let spec = Text { name: "job.yaml".into(), text };
/// let preview = preview(&spec, &Inputs { keys: Keys::Masked, ..Inputs::default() }, 1).unwrap();
/// let (at, _) = preview.rendered.documents.iter().enumerate().find(|(_, one)| one.kind == "StatefulSet").unwrap();
/// assert_eq!(preview.origins[at].as_ref().unwrap().fields, ["spec.workers"]);
/// let (_, place) = preview.places[0].iter().find(|(path, _)| path == "spec.workers").unwrap();
/// assert_eq!(&spec.text[place.clone()], "workers: {replicas: 4, gpus: 8}");
/// ```
pub fn preview(text: &Text, inputs: &Inputs, most: usize) -> Result<Preview, Problems> {
    compile::preview(text, inputs, most)
}

/// What would happen to running jobs if `new` took the place of `old`, which is an earlier spec
/// or what was rendered from one. Overlays and settings go over `new` alone: `old` is as it was applied. A namespace goes
/// over `old` too where it names none.
///
/// ```
/// # use khorovod::{Inputs, Keys, Text, changes};
/// let spec = |gpus: u8| Text {
///     name: "job.yaml".into(),
///     text: format!(
///         "apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// metadata: {{name: mnist}}
/// spec: {{image: 'a:1', command: [python], workers: {{replicas: 4, gpus: {gpus}}}}}
/// "
///     ),
/// };
/// let inputs = Inputs { keys: Keys::LeftOut, ..Inputs::default() };
/// let changes = changes(&spec(4), &spec(8), &inputs).unwrap();
/// assert_eq!(changes[0].job, "mnist");
/// ```
pub fn changes(old: &Text, new: &Text, inputs: &Inputs) -> Result<Vec<report::Change>, Problems> {
    let earlier = report::earlier(&old.text);
    if earlier.is_empty() {
        let as_it_is = Inputs { overlays: Vec::new(), sets: Vec::new(), namespace: None, ..inputs.clone() };
        let moved = Inputs { namespace: inputs.namespace.clone(), ..as_it_is.clone() };
        let old = plans(old, &as_it_is)?.into_iter().zip(plans(old, &moved)?);
        let old = old.map(|(named, moved)| if named.spec.namespace.is_some() { named } else { moved });
        return Ok(report::between(&old.collect::<Vec<_>>(), &plans(new, inputs)?));
    }
    let rendered = render(new, inputs)?;
    Ok(report::against_rendered(&earlier, &report::earlier(&rendered.text)))
}

/// Whether a text is what was rendered from a spec, and no spec: [`changes`] takes either for the earlier one.
pub fn is_rendered(text: &Text) -> bool {
    !report::earlier(&text.text).is_empty()
}

/// The plans of every job of a stream.
fn plans(text: &Text, inputs: &Inputs) -> Result<Vec<plan::Plan>, Problems> {
    Ok(compile::plans(text, inputs)?.0.into_iter().map(|(plan, _)| plan).collect())
}

/// Every problem code there is.
pub fn codes() -> impl Iterator<Item = &'static problem::Code> {
    source::CODES.iter().copied().chain(spec::codes()).chain(compile::codes()).chain(import::codes())
}

/// An ssh Secret for `ssh.secret`, as YAML; its keys derive from the seed.
pub fn secret(name: &str, namespace: Option<&str>, seed: &[u8; 32]) -> String {
    compile::secret(name, namespace, seed)
}

/// A target by its name, as `--target` takes it.
pub fn target(name: &str) -> Result<Target, String> {
    Target::ALL.into_iter().find(|target| target.name() == name).ok_or_else(|| {
        let names: Vec<_> = Target::ALL.iter().map(|target| target.name()).collect();
        format!("there is {}", names.join(", "))
    })
}

/// `1.34`, `v1.34` or `v1.34.3-eks-1`: the two numbers that matter.
pub fn kube_version(text: &str) -> Result<(u32, u32), String> {
    let mut parts = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
    match (parts.next().map(str::parse), parts.next().map(str::parse)) {
        (Some(Ok(1)), Some(Ok(minor))) => Ok((1, minor)),
        _ => Err("write it as 1.34".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::kube_version;

    #[test]
    fn versions_as_people_write_them() {
        for (text, version) in [("1.34", (1, 34)), ("v1.31", (1, 31)), ("v1.33.2-eks-1a", (1, 33))] {
            assert_eq!(kube_version(text), Ok(version));
        }
        for text in ["", "1", "2.0", "1.x", "latest"] {
            assert!(kube_version(text).is_err(), "{text}");
        }
    }
}
