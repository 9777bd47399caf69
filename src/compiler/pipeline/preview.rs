//! Renders and describes a stream in one pass, for an editor that shows the result while you type. [`preview`] returns
//! the objects, a report per job, and the field of the spec from which each object comes.

use super::output::{Built, Output};
use super::stream::{Job, Stream};
use super::{keys, plan};
use crate::api::{Inputs, Origin, Preview, Rendered, Text};
use crate::kubernetes::{self, Object};
use crate::plan::Plan;
use crate::problem::Problems;
use crate::report::Report;
use crate::yaml::path;

/// The maximum depth of the fields whose ranges are listed: `spec.storage[0].claim` has four steps.
const MAX_DEPTH: usize = 4;

/// Renders a stream and describes its jobs. All jobs are checked, but only the first `max_jobs` are rendered.
///
/// ```
/// # use khorovod_compiler as khorovod;
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
pub fn preview(text: &Text, inputs: &Inputs, max_jobs: usize) -> Result<Preview, Problems> {
    let mut stream = Stream::with_documents(inputs);
    let jobs = stream.jobs(text);
    stream.check_buildable(&jobs);
    if stream.fails() {
        return Err(stream.finish());
    }
    let mut out = Output::new(&text.text);
    let mut preview = Preview { left_out: jobs.len().saturating_sub(max_jobs), ..Preview::default() };
    let mut end = text.text.len();
    for (index, Job { piece, source_comment, document, kept, spec, .. }) in jobs.into_iter().enumerate() {
        if index == max_jobs {
            end = piece.start;
            break;
        }
        let (plan, files) = plan(spec, kept, inputs.scripts);
        let keys = keys(&plan, inputs);
        let output = inputs.target.build(&plan, &files, &keys);
        out.copy(piece.start);
        // The documents before this job have no origin.
        preview.origins.resize_with(out.documents.len(), || None);
        out.replace(piece.clone(), Built::new(&output, &source_comment));
        preview.origins.extend(output.objects().iter().map(|object| Some(origin(index, &plan, object))));
        if output.objects().is_empty() {
            preview.origins.push(Some(Origin { job: index, fields: vec!["spec.command".to_owned()] }));
        }
        preview.origins.resize_with(out.documents.len(), || None);
        preview.jobs.push(Report::new(&plan, &inputs.target.describe(&plan), output.names()));
        let mut places = Vec::new();
        if let Some(document) = document {
            // Fields from overlays are left out, because they are not in the text.
            path::walk(&document, "", MAX_DEPTH, &mut |path, start, value| {
                if value.span.source == 0 && start <= value.span.end {
                    places.push((path.to_owned(), start..value.span.end));
                }
            });
        }
        preview.places.push(places);
    }
    out.copy(end);
    preview.origins.resize_with(out.documents.len(), || None);
    preview.rendered = Rendered { text: out.text, documents: out.documents, warnings: stream.finish() };
    Ok(preview)
}

/// The job and the fields that an object comes from.
fn origin(job: usize, plan: &Plan, object: &Object<'_>) -> Origin {
    let mut fields = vec![object.origin.to_string()];
    let mut whole = None;
    for (index, patch) in plan.spec.patches.iter().enumerate() {
        if kubernetes::is_patched_by(patch, object, &mut whole) {
            fields.push(format!("spec.patches[{index}]"));
        }
    }
    Origin { job, fields }
}
