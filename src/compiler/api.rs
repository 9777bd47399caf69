//! The types of the public interface: what a caller passes to the functions of [`crate::pipeline`], and what they return.

use std::fmt;

use crate::job::KubeVersion;
use crate::pods::{Scripts, keys};
use crate::problem::Problems;
use crate::report;
use crate::targets::{self, Target};

/// The source of ssh keys.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Keys {
    /// No source: a job that needs a key pair is reported as a problem.
    #[default]
    Missing,
    /// Derive the keys from these bytes, the namespace and the name of the job.
    Seed([u8; 32]),
    /// The Secret is left out of the output; the user creates it.
    LeftOut,
    /// The Secret contains the word `masked` instead of key material.
    Masked,
}

/// Derives the entries of the ssh Secret of a job from a seed, the namespace (empty if none is set) and the name of the job: the
/// private key and the `authorized_keys` of the user, the host key, and the `known_hosts`.
pub type DeriveKeys = fn(&[u8; 32], &str, &str) -> [String; 4];

/// A text and its name in messages.
#[derive(Debug, Clone)]
pub struct Text {
    /// The name of a file, or `<stdin>`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// The error for bytes that are not UTF-8 text. Its message names the first wrong byte and the line of that byte.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotUtf8 {
    /// The name of the text.
    pub name: String,
    /// The first byte that is not valid UTF-8.
    pub byte: u8,
    /// The line of that byte, from 1.
    pub line: usize,
    /// Whether the bytes begin like a file in UTF-16.
    pub is_utf16: bool,
}

impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, byte, line, is_utf16 } = self;
        let hint = if *is_utf16 { "it looks like UTF-16: save it as UTF-8" } else { "save it as UTF-8" };
        write!(f, "cannot read {name}: byte 0x{byte:02x} in line {line} is not UTF-8 text; {hint}")
    }
}

impl std::error::Error for NotUtf8 {}

impl Text {
    /// Converts the bytes of a file to a text.
    ///
    /// ```
    /// # use khorovod_compiler as khorovod;
    /// use khorovod::Text;
    ///
    /// assert!(Text::from_bytes("job.yaml", b"kind: TrainingJob".to_vec()).is_ok());
    /// let error = Text::from_bytes("job.yaml", b"kind:\n\xff".to_vec()).unwrap_err();
    /// assert_eq!((error.byte, error.line), (0xff, 2));
    /// ```
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, NotUtf8> {
        let name = name.into();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { name, text }),
            Err(error) => {
                let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
                let line = bytes[..at].split(|byte| *byte == b'\n').count();
                let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
                Err(NotUtf8 { name, byte: bytes[at], line, is_utf16 })
            }
        }
    }
}

/// Everything that the output depends on, except the spec. Construct it with `..Inputs::default()`, because later
/// versions may add fields.
///
/// The fields `overlays`, `sets`, `namespace`, `expectations` and `default_namespace` need the Cargo feature `overlays`; without it,
/// functions panic if one of them is set.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// Overlays, which are merged over each TrainingJob in this order.
    pub overlays: Vec<Text>,
    /// Settings of the form `PATH=VALUE`, which are merged after the overlays. `workers.gpus=8` and `spec.workers.gpus=8` are
    /// equal.
    pub sets: Vec<String>,
    /// The namespace, which overrides `metadata.namespace`.
    pub namespace: Option<String>,
    /// Documents of kind `Expectations`, which each TrainingJob must meet.
    pub expectations: Vec<Text>,
    /// The namespace of jobs that have no `metadata.namespace`.
    pub default_namespace: Option<String>,
    /// The Kubernetes version of the cluster.
    pub kube_version: KubeVersion,
    /// The target that jobs are rendered for.
    pub target: &'static dyn Target,
    /// Whether warnings count as errors.
    pub strict: bool,
    /// The source of ssh keys.
    pub keys: Keys,
    /// Derives the ssh keys from a seed. The default is [`ssh_keys`](crate::ssh_keys). If a program always sets another
    /// function, the linker leaves out the code of `ssh_keys`.
    pub derive_keys: DeriveKeys,
    /// The texts of the scripts that pods run.
    pub scripts: Scripts,
    /// The size in bytes of the largest stream that [`expand`](crate::expand) accepts.
    pub limit: usize,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            overlays: Vec::new(),
            sets: Vec::new(),
            namespace: None,
            expectations: Vec::new(),
            default_namespace: None,
            kube_version: KubeVersion::default(),
            target: targets::PLAIN,
            strict: false,
            keys: Keys::Missing,
            derive_keys: keys::ssh_keys,
            scripts: Scripts::default(),
            limit: 512 << 20,
        }
    }
}

/// One document of the output: an object, a [script](Self::is_script), or a [document of the input](Self::is_foreign) that is
/// not a TrainingJob.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Document {
    /// The kind of the object, for example `StatefulSet`; empty for a foreign document.
    pub kind: &'static str,
    /// The value of `metadata.name`. Empty for a document that was not rendered.
    pub name: String,
    /// `metadata.namespace`, if it has one.
    pub namespace: Option<String>,
    /// Its byte range in [`Rendered::text`], without the separators `---`.
    pub range: std::ops::Range<usize>,
}

impl Document {
    /// Whether it is a script for a batch system instead of a Kubernetes object.
    pub fn is_script(&self) -> bool {
        self.kind == targets::SCRIPT
    }

    /// Whether it is a document of the input that is not a TrainingJob and was passed through unchanged.
    pub fn is_foreign(&self) -> bool {
        self.kind.is_empty()
    }

    /// The name of its file in a folder of numbered files.
    fn file_name(&self, number: usize, width: usize) -> String {
        let folder = if self.kind.starts_with("PersistentVolume") { "claims/" } else { "" };
        let kind = if self.is_foreign() { "other".to_owned() } else { self.kind.to_ascii_lowercase() };
        let name = if self.name.is_empty() { String::new() } else { format!("-{}", self.name) };
        let extension = if self.is_script() { "sh" } else { "yaml" };
        format!("{folder}{number:0width$}-{kind}{name}.{extension}")
    }
}

/// The output of [`render`](crate::render).
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Rendered {
    /// The stream: each TrainingJob replaced by its objects, all other documents unchanged.
    pub text: String,
    /// The documents of the stream, in order.
    pub documents: Vec<Document>,
    /// The warnings and notes. It contains no errors.
    pub warnings: Problems,
}

/// Returns the documents that are not empty, each with a file name and its text. File names are numbered in install order:
/// `03-configmap-mnist.yaml`. Claims and volumes are in the subfolder `claims/`, which `kubectl delete -f DIR` ignores.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Inputs, Keys, Text, files, render};
///
/// let text = Text {
///     name: "job.yaml".to_owned(),
///     text: "
/// apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// metadata: {name: mnist}
/// spec: {image: ghcr.io/acme/mnist:1.4, command: [python, train.py], workers: {replicas: 2}}
/// "
///     .to_owned(),
/// };
/// let rendered = render(&text, &Inputs { keys: Keys::LeftOut, ..Inputs::default() }).unwrap();
/// let rendered = [rendered];
/// let files = files(&rendered);
/// assert!(files.iter().any(|(path, document, _)| path.ends_with("-service-mnist.yaml") && document.kind == "Service"));
/// ```
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
#[non_exhaustive]
pub struct Reports {
    /// One report per job, in the order of the stream.
    pub jobs: Vec<report::Report>,
    /// The warnings and notes. It contains no errors.
    pub warnings: Problems,
}

/// Everything that an editor shows of a stream while you write it.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Preview {
    /// The rendered objects.
    pub rendered: Rendered,
    /// For each document of `rendered`: its job, and the fields of the spec that cause it. None for a foreign document.
    pub origins: Vec<Option<Origin>>,
    /// One report per job, in the order of the stream.
    pub jobs: Vec<report::Report>,
    /// For each job, the path of each field of its document, such as `spec.storage[0]`, and the byte range of the
    /// field.
    pub places: Vec<Vec<(String, std::ops::Range<usize>)>>,
    /// How many valid jobs are not shown, because there are more than the caller asked for.
    pub left_out: usize,
}

/// The job and the fields that cause an object.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Origin {
    /// The index of the job in the stream.
    pub job: usize,
    /// Fields of the job's spec, including those that have their default values; patches come last.
    pub fields: Vec<String>,
}

/// A value of a text that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundSecret {
    /// The name of its variable in backquotes, or `an access token` or `a private key`.
    pub what: String,
    /// The byte range of the value.
    pub range: std::ops::Range<usize>,
}
