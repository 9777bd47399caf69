//! Runs all phases for a stream of documents: finds the TrainingJobs, applies overlays and settings, validates, plans,
//! builds, and replaces each TrainingJob by its objects. [`render`], [`expand()`], [`check`], [`reports()`] and
//! [`preview()`] are functions of the public interface.
//!
//! This is the only module that depends on all others.

mod document;
mod expand;
mod fix;
mod format;
mod json;
mod krm;
mod no_job;
mod output;
mod parallel;
mod patches;
mod preview;
mod recognise;
mod reports;
mod secrets;
mod stream;

use std::ops::Range;

use base64ct::{Base64, Encoding};

use crate::api::{Inputs, Keys, Rendered, Text};
use crate::job::Spec;
use crate::plan::{Document, Plan, run_name};
use crate::pods::Scripts;
use crate::problem::{Explained, Problems};
use crate::yaml::writer::to_yaml;
use crate::{job, pods, report, targets, yaml};
use output::{Built, Output};
use stream::{Job, Stream};

pub use expand::expand;
pub use fix::{Fixed, fix};
pub use format::format;
pub use json::{documents, jobs};
pub use krm::krm;
pub use no_job::{NO_JOB, RENDERED, kinds};
pub use preview::preview;
pub use reports::{changes, is_rendered, rendered_target, reports, spec_changes, timeline_facts};
pub use secrets::find_secrets;

/// Every problem code of the compiler.
pub fn codes() -> impl Iterator<Item = &'static Explained> {
    yaml::CODES.iter().chain(job::codes()).chain(targets::codes()).chain(own_codes())
}

/// The problem codes that this module and its parts declare.
fn own_codes() -> impl Iterator<Item = &'static Explained> {
    stream::codes()
        .chain([no_job::CODES, recognise::CODES, patches::CODES, expand::CODES, krm::CODES].into_iter().flatten())
}

/// The plan of a valid spec that was read from `document`, and the files of its pods.
fn plan(spec: Spec, document: Document, scripts: Scripts) -> (Plan, Vec<pods::File>) {
    let run = run_name(&spec, pods::REVISION);
    let mut plan = Plan::new(spec, run);
    plan.document = document;
    let files = pods::files(&plan, scripts);
    (plan, files)
}

/// The entries of the ssh Secret of a job. Empty if the job needs no keys or uses another Secret.
fn keys(plan: &Plan, inputs: &Inputs) -> Vec<(&'static str, String)> {
    let has_secret = plan.brings_keys() && plan.spec.ssh.secret.is_none();
    let namespace = plan.spec.namespace.as_deref().unwrap_or_default();
    match &inputs.keys {
        Keys::Seed(seed) if has_secret => {
            let texts = (inputs.derive_keys)(seed, namespace, &plan.spec.name);
            pods::keys::ENTRIES.into_iter().zip(texts.map(|text| Base64::encode_string(text.as_bytes()))).collect()
        }
        Keys::Masked if has_secret => pods::keys::ENTRIES.map(|name| (name, Base64::encode_string(b"masked"))).into(),
        _ => Vec::new(),
    }
}

/// Replaces every `TrainingJob` in a stream of YAML documents by its Kubernetes objects.
///
/// ```
/// # use khorovod_compiler as khorovod;
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
/// If the spec is not valid, all problems are returned, each with its code, spans and hint:
///
/// ```
/// # use khorovod_compiler as khorovod;
/// # use khorovod::{Inputs, Text, render};
/// let spec = Text { name: "job.yaml".into(), text: "kind: TrainingJob\nspec: {workers: {gpu: 8}}\n".into() };
/// let problems = render(&spec, &Inputs::default()).expect_err("much is missing");
/// let unknown = problems.list.iter().find(|problem| problem.code.name == "unknown-field").unwrap();
/// assert_eq!(unknown.hint.as_deref(), Some("did you mean `gpus`?"));
/// assert_eq!(problems.sources.position(unknown.labels[0].span).line, 2);
/// ```
pub fn render(text: &Text, inputs: &Inputs) -> Result<Rendered, Problems> {
    let mut stream = Stream::new(inputs);
    let mut jobs = stream.jobs(text);
    let text = text_around_jobs(&text.text, inputs, &mut jobs);
    let mut out = Output::new(text);
    let warnings = build(stream, jobs, inputs, |piece, built| out.replace(piece, built))?;
    out.copy(text.len());
    Ok(Rendered { text: out.text, documents: out.documents, warnings })
}

/// Like [`render`], but passes the output to `write` in parts, so that it is not kept in memory. `write` is called only after
/// everything has been checked. Returns the warnings.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Inputs, Keys, Text, render_to};
///
/// let spec = "
/// apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// metadata: {name: mnist}
/// spec: {image: 'a:1', command: [python, train.py], workers: {replicas: 2}}
/// ";
/// let text = Text { name: "job.yaml".to_owned(), text: spec.to_owned() };
/// let mut bytes = 0;
/// let warnings = render_to(&text, &Inputs { keys: Keys::LeftOut, ..Inputs::default() }, &mut |part: &[u8]| bytes += part.len());
/// assert!(!warnings.unwrap().any_error() && bytes > 10_000);
/// ```
pub fn render_to(text: &Text, inputs: &Inputs, write: &mut dyn FnMut(&[u8])) -> Result<Problems, Problems> {
    let mut stream = Stream::new(inputs);
    let mut jobs = stream.jobs(text);
    let text = text_around_jobs(&text.text, inputs, &mut jobs);
    build_into(text.as_bytes(), stream, jobs, inputs, write)
}

/// Returns the text from which everything except the jobs is copied to the output. It is the stream, or an empty text if the
/// output is a script.
fn text_around_jobs<'t>(text: &'t str, inputs: &Inputs, jobs: &mut [Job]) -> &'t str {
    if inputs.target.facts().has_pods {
        return text;
    }
    for job in jobs.iter_mut() {
        job.piece = 0..0;
    }
    ""
}

/// Writes a stream part by part. In place of each job, writes the objects of the job.
fn build_into(
    bytes: &[u8],
    stream: Stream<'_>,
    jobs: Vec<Job>,
    inputs: &Inputs,
    write: &mut dyn FnMut(&[u8]),
) -> Result<Problems, Problems> {
    let mut done = 0;
    let warnings = build(stream, jobs, inputs, |piece, built| {
        let before = &bytes[done..piece.start];
        write(before);
        write(output::line_end(before).as_bytes());
        write(built.text.as_bytes());
        done = piece.end;
    })?;
    write(&bytes[done..]);
    Ok(warnings)
}

/// Builds every job. Calls `each` with the objects of the job, and with the range of the stream that these objects
/// replace. All checks run before the first job is built.
fn build(
    mut stream: Stream<'_>,
    jobs: Vec<Job>,
    inputs: &Inputs,
    mut each: impl FnMut(Range<usize>, Built),
) -> Result<Problems, Problems> {
    stream.check_buildable(&jobs);
    if stream.fails() {
        return Err(stream.finish());
    }
    let build = |Job { piece, spec, source_comment, kept, .. }: Job| {
        let (plan, files) = plan(spec, kept, inputs.scripts);
        let keys = keys(&plan, inputs);
        (piece, Built::new(&inputs.target.build(&plan, &files, &keys), &source_comment))
    };
    parallel::in_order(jobs, build, |(piece, built)| each(piece, built));
    Ok(stream.finish())
}

/// Checks a stream, and returns all errors, warnings and notes.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Inputs, Text, check};
///
/// let text = "apiVersion: khorovod.dev/v1alpha1
/// kind: TrainingJob
/// metadata: {name: mnist}
/// spec: {image: ghcr.io/acme/mnist, command: [python], workers: {replicas: 4, gpus: 4, slotsPerWorker: 8}}
/// ";
/// let problems = check(&Text { name: "job.yaml".into(), text: text.into() }, &Inputs::default());
/// let names: Vec<&str> = problems.list.iter().map(|problem| problem.code.name).collect();
/// assert_eq!(names, ["image-unpinned", "slots-above-gpus"]);
/// assert!(problems.any_error());
/// ```
pub fn check(text: &Text, inputs: &Inputs) -> Problems {
    let mut stream = Stream::new(inputs);
    for job in stream.jobs(text) {
        if matches!(inputs.keys, Keys::LeftOut) {
            stream.check_keys(&job);
        }
        stream.check_patches(&job);
    }
    stream.finish()
}

/// A plan, and the kinds and names of its objects.
pub type Planned = (Plan, Vec<report::Object>);

/// The plans of the jobs of a stream with the kinds and names of their objects, and the warnings.
pub fn plans(text: &Text, inputs: &Inputs) -> Result<(Vec<Planned>, Problems), Problems> {
    let mut stream = Stream::new(inputs);
    let jobs = stream.jobs(text);
    let mut plans = Vec::with_capacity(jobs.len());
    for job in jobs {
        stream.check_patches(&job);
        let (plan, files) = plan(job.spec, job.kept, inputs.scripts);
        let objects = {
            let keys = keys(&plan, inputs);
            inputs.target.build(&plan, &files, &keys).names()
        };
        plans.push((plan, objects));
    }
    let has_errors = stream.fails();
    let found = stream.finish();
    if has_errors { Err(found) } else { Ok((plans, found)) }
}

/// Returns an ssh Secret for `ssh.secretName` as YAML. The keys derive from the seed. The Secret is immutable, so that
/// the keys of an active run cannot be replaced.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// let text = khorovod::secret("team-keys", Some("team-a"), &[7; 32]);
/// assert!(text.contains("kind: Secret") && text.contains("name: team-keys"));
/// ```
pub fn secret(name: &str, namespace: Option<&str>, seed: &[u8; 32]) -> String {
    let data = pods::keys::secret_data(seed, namespace.unwrap_or_default(), name);
    let mut metadata = serde_json::json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    let data: serde_json::Map<_, _> =
        data.into_iter().map(|(key, text)| (key.to_owned(), Base64::encode_string(text.as_bytes()).into())).collect();
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "immutable": true, "type": "Opaque", "data": data,
    });
    let mut text = String::new();
    to_yaml(&secret, &mut text);
    text
}
