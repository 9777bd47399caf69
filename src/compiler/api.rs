//! The types of the public interface: what a caller passes in, and what the verbs of [`crate::pipeline`] return.

use crate::job::KubeVersion;
use crate::problem::Problems;
use crate::report;
use crate::targets::{self, Target};

/// The source of ssh keys.
#[derive(Debug, Clone, Default)]
pub enum Keys {
    /// No source: a job that needs keys is a problem.
    #[default]
    Missing,
    /// Derive the keys from these bytes, the namespace and the name of the job.
    Seed([u8; 32]),
    /// Leave the Secret out of the output. The user creates it.
    LeftOut,
    /// Write `masked` in place of the key material.
    Masked,
}

/// A text and its name in messages.
#[derive(Debug, Clone)]
pub struct Text {
    /// The name of the file, or `<stdin>`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Text {
    /// Converts the bytes of a file to a text. The error names the first byte that is not valid UTF-8.
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

/// The inputs of a render in addition to the spec.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// Overlays, which are merged into each TrainingJob in order.
    pub overlays: Vec<Text>,
    /// `PATH=VALUE` settings, which are applied after the overlays. `workers.gpus=8` and `spec.workers.gpus=8` mean the same.
    pub sets: Vec<String>,
    /// The namespace, which overrides `metadata.namespace`.
    pub namespace: Option<String>,
    /// The Kubernetes version that the objects are for.
    pub kube_version: KubeVersion,
    /// The target that jobs are rendered for.
    pub target: &'static dyn Target,
    /// Whether warnings are errors.
    pub strict: bool,
    /// The source of ssh keys.
    pub keys: Keys,
    /// The maximum size of a stream for [`expand`](crate::expand()), in bytes.
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
    /// The kind, such as `StatefulSet`. It is `sbatch` for a batch script, and empty for a document that was not rendered.
    pub kind: &'static str,
    /// The value of `metadata.name`. Empty for a document that was not rendered.
    pub name: String,
    /// The value of `metadata.namespace`, if it is set.
    pub namespace: Option<String>,
    /// Its range in [`Rendered::text`], without separators.
    pub range: std::ops::Range<usize>,
}

impl Document {
    /// Whether it is a script for a batch system, and not a Kubernetes object.
    pub fn is_script(&self) -> bool {
        self.kind == targets::SCRIPT
    }

    /// Its file name among all documents. `number` is its position, and `width` the number of digits.
    fn file_name(&self, number: usize, width: usize) -> String {
        let folder = if self.kind.starts_with("PersistentVolume") { "claims/" } else { "" };
        let kind = if self.kind.is_empty() { "other".to_owned() } else { self.kind.to_lowercase() };
        let name = if self.name.is_empty() { String::new() } else { format!("-{}", self.name) };
        let extension = if self.is_script() { "sh" } else { "yaml" };
        format!("{folder}{number:0width$}-{kind}{name}.{extension}")
    }
}

/// The result of a render.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The stream, with the TrainingJobs replaced by objects. Other documents are unchanged.
    pub text: String,
    /// The documents of the stream, in order.
    pub documents: Vec<Document>,
    /// The warnings and notes. It contains no errors.
    pub warnings: Problems,
}

/// The documents that are not empty, each with a file name and its text, for writing one file per document. The names are
/// numbered in install order: `03-configmap-mnist.yaml`. Claims and volumes are in a subfolder, because `kubectl delete -f DIR`
/// does not read subfolders.
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

/// The descriptions of the jobs of a stream.
#[derive(Debug, Default)]
pub struct Reports {
    /// One report per job, in the order of the stream.
    pub jobs: Vec<report::Report>,
    /// The warnings and notes. It contains no errors.
    pub warnings: Problems,
}

/// The result of a [`preview`](crate::pipeline::preview()): a render with additional information for an editor.
#[derive(Debug, Default)]
pub struct Preview {
    /// The rendered objects.
    pub rendered: Rendered,
    /// For each document of `rendered`: its job, and the fields of the spec that it comes from. `None` for a document that was
    /// not rendered.
    pub origins: Vec<Option<Origin>>,
    /// One report per job, in the order of the stream.
    pub jobs: Vec<report::Report>,
    /// For each job: the paths of its fields, such as `spec.storage[0]`, and their ranges in the text.
    pub places: Vec<Vec<(String, std::ops::Range<usize>)>>,
    /// The number of valid jobs that were not rendered, because the stream has more than the requested number of jobs.
    pub left_out: usize,
}

/// The origin of an object.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The index of the job in the stream.
    pub job: usize,
    /// The paths of the fields of the spec that the object comes from, followed by the patches that change it. A field may have
    /// its default value.
    pub fields: Vec<String>,
}
