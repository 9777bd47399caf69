//! The types of the public interface: what a caller passes in, and what the verbs of [`crate::pipeline`] return.

use crate::job::KubeVersion;
use crate::problem::Problems;
use crate::report;
use crate::targets::{self, Target};

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
    /// The Kubernetes version the objects are for.
    pub kube_version: KubeVersion,
    /// What jobs are rendered to.
    pub target: &'static dyn Target,
    /// Warnings are errors.
    pub strict: bool,
    /// Where ssh keys come from.
    pub keys: Keys,
    /// The largest stream, in bytes, that [`expand`](crate::expand) takes.
    pub limit: usize,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            overlays: Vec::new(),
            sets: Vec::new(),
            namespace: None,
            kube_version: KubeVersion::default(),
            target: targets::PLAIN,
            strict: false,
            keys: Keys::Missing,
            limit: 512 << 20,
        }
    }
}

/// One document of the output.
#[derive(Debug, Clone)]
pub struct Document {
    /// `StatefulSet`; `sbatch` for a batch script; empty for a foreign document.
    pub kind: &'static str,
    /// `metadata.name`; empty for a foreign document.
    pub name: String,
    /// `metadata.namespace`, where it has one.
    pub namespace: Option<String>,
    /// Where it stands in [`Rendered::text`], separators not included.
    pub range: std::ops::Range<usize>,
}

impl Document {
    /// Whether it is a script for a batch system, and not a Kubernetes object.
    pub fn is_script(&self) -> bool {
        self.kind == targets::SCRIPT
    }

    /// Its file in a folder of all of them, by its number there.
    fn file_name(&self, number: usize, width: usize) -> String {
        let folder = if self.kind.starts_with("PersistentVolume") { "claims/" } else { "" };
        let kind = if self.kind.is_empty() { "other".to_owned() } else { self.kind.to_lowercase() };
        let name = if self.name.is_empty() { String::new() } else { format!("-{}", self.name) };
        let form = if self.is_script() { "sh" } else { "yaml" };
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

/// What the jobs of a stream would run.
#[derive(Debug, Default)]
pub struct Reports {
    /// One a job, in the stream's order.
    pub jobs: Vec<report::Report>,
    /// Warnings; no errors.
    pub warnings: Problems,
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
