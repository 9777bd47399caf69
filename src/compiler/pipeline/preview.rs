//! A render that remembers: beside the objects what each job would run, and which field of the spec everything comes
//! from. One pass for somebody who looks at the result while they type.

use super::output::{Built, Output};
use super::stream::{Job, Stream};
use super::{keys, plan};
use crate::api::{Inputs, Origin, Preview, Rendered, Text};
use crate::kubernetes::{self, Object};
use crate::plan::Plan;
use crate::problem::Problems;
use crate::report::{self, Report};
use crate::yaml::path;

/// How deep the places of fields go: `spec.storage[0].claim`.
const DEPTH: usize = 4;

/// Renders a stream and describes its jobs in one go, with where everything comes from. All of it is checked; behind
/// `most` jobs it ends.
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
pub fn preview(text: &Text, inputs: &Inputs, most: usize) -> Result<Preview, Problems> {
    let mut stream = Stream::with_documents(inputs);
    let jobs = stream.jobs(text);
    stream.check_buildable(&jobs);
    if stream.fails() {
        return Err(stream.finish());
    }
    let mut out = Output::new(&text.text);
    let mut preview = Preview { left_out: jobs.len().saturating_sub(most), ..Preview::default() };
    let mut end = text.text.len();
    for (index, Job { piece, head, document, spec, .. }) in jobs.into_iter().enumerate() {
        if index == most {
            end = piece.start;
            break;
        }
        let (plan, files) = plan(spec);
        let keys = keys(&plan, &inputs.keys);
        let made = inputs.target.build(&plan, &files, &keys);
        out.copy(piece.start);
        // Other documents stand before it.
        preview.origins.resize_with(out.documents.len(), || None);
        out.replace(piece.clone(), Built::new(&made, &head));
        preview.origins.extend(made.objects().iter().map(|object| Some(origin(index, &plan, object))));
        preview.origins.resize_with(out.documents.len(), || None);
        let names = made.names().into_iter().map(|(kind, name)| report::Object { kind: kind.to_owned(), name });
        preview.jobs.push(Report::new(&plan, &inputs.target.describe(&plan), names.collect()));
        let mut places = Vec::new();
        if let Some(document) = document {
            // Only what stands in the text itself, and not in what was laid over it.
            path::walk(&document, "", DEPTH, &mut |path, start, value| {
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

fn origin(job: usize, plan: &Plan, object: &Object<'_>) -> Origin {
    let mut fields = vec![object.origin.to_string()];
    for (index, patch) in plan.spec.patches.iter().enumerate() {
        if kubernetes::concerns(patch, object) {
            fields.push(format!("spec.patches[{index}]"));
        }
    }
    Origin { job, fields }
}
