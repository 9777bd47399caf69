//! Imports objects that khorovod rendered. One of these objects, the ConfigMap `JOB-current`, contains the TrainingJob
//! in an annotation.
//!
//! The TrainingJob is rendered again and compared with the objects. Changes that were made to the objects by hand are
//! reported, but the imported job does not contain them.

use serde_json::Value as Json;

use super::codes::BAD_VALUE;
use super::context::text;
use super::new_job;
use super::{Field, Imported, Options, Verdict};
use khorovod_compiler::kubernetes::meta::{RUN, SPEC, SPEC_OMITTED};
use khorovod_compiler::problem::{Problem, Problems, Span};
use khorovod_compiler::report::Difference;
use khorovod_compiler::yaml::{self, Node, writer::to_yaml};
use khorovod_compiler::{Inputs, Keys, Target, Text, pipeline, targets};

/// Whether khorovod rendered the launcher of an MPIJob.
pub fn is(launcher: &Node) -> bool {
    let words = launcher.get("command").map_or(&[][..], Node::items);
    words.iter().any(|word| text(word).as_deref() == Some("/etc/khorovod/scripts/launcher.sh"))
}

/// A Kubernetes object in the old files.
struct Object {
    kind: String,
    name: String,
    run: String,
    /// The API group. Empty for the core group.
    api_group: String,
    spec: Option<String>,
    omitted: Option<String>,
    span: Span,
}

impl Object {
    fn of(node: &Node) -> Option<Self> {
        let metadata = node.get("metadata")?;
        let in_map = |map: &str, key: &str| metadata.get(map).and_then(|map| map.get(key)).and_then(text);
        Some(Self {
            kind: text(node.get("kind")?)?,
            name: text(metadata.get("name")?)?,
            run: in_map("labels", RUN).unwrap_or_default(),
            api_group: text(node.get("apiVersion")?)?.rsplit_once('/').map_or("", |(group, _)| group).to_owned(),
            spec: in_map("annotations", SPEC),
            omitted: in_map("annotations", SPEC_OMITTED),
            span: node.span,
        })
    }
}

/// Returns the TrainingJob of rendered objects; None if no object contains one.
pub fn import(texts: &[Text], options: &Options) -> Option<Result<Imported, Problems>> {
    if !texts.iter().any(|text| text.text.contains(SPEC)) {
        return None;
    }
    let mut found = Problems::default();
    let mut objects = Vec::new();
    for text in texts {
        let source = found.sources.add(&text.name, text.text.clone());
        for piece in yaml::pieces(&text.text) {
            let span = Span { source, start: piece.body.start, end: piece.body.end };
            let Ok(Some(node)) = yaml::parse(&text.text[piece.body], span, &mut found.list) else { continue };
            match node.get("items") {
                Some(list) => objects.extend(list.items().iter().filter_map(Object::of)),
                None => objects.extend(Object::of(&node)),
            }
        }
    }
    let refuse = |mut found: Problems, span, message: String, hint: &str| {
        found.list.push(Problem::new(&BAD_VALUE, span, message).hint(hint));
        Some(Err(found))
    };
    if let Some((object, why)) = objects.iter().find_map(|object| Some((object, object.omitted.as_ref()?))) {
        let message = format!("the objects do not carry their spec: {why}");
        return refuse(found, object.span, message, "use the TrainingJob that was rendered");
    }
    let mut specs = objects.iter().filter_map(|object| Some((object, object.spec.as_deref()?)));
    let (object, spec) = specs.next()?;
    if let Some((second, _)) = specs.next() {
        let message = format!("{} and {} are two jobs", object.name, second.name);
        return refuse(found, second.span, message, "import them one at a time");
    }
    if options.command.is_some() || !options.sets.is_empty() {
        let message = "`--set` and `--command` do not apply to objects that khorovod rendered".to_owned();
        return refuse(found, object.span, message, "edit the job that is imported");
    }
    let Ok(mut document) = serde_json::from_str::<Json>(spec) else {
        let message = format!("the annotation {SPEC} is not JSON");
        return refuse(found, object.span, message, "use the TrainingJob that was rendered");
    };
    let mut rows = rows(texts, &objects, &written(&document));
    for row in &mut rows {
        place(row, &objects, &found);
    }
    for (value, path) in [(&options.name, "name"), (&options.namespace, "namespace")] {
        if let Some(value) = value {
            document["metadata"][path] = value.clone().into();
        }
    }
    if let Some(namespace) = options.default_namespace.as_ref().filter(|_| document["metadata"]["namespace"].is_null())
    {
        document["metadata"]["namespace"] = namespace.clone().into();
    }
    if let Some(image) = &options.image {
        document["spec"]["image"] = image.clone().into();
    }
    let job = format!("# From objects that khorovod rendered, by khorovod import.\n{}", written(&document));
    Some(new_job::check(&new_job::name(texts), &job).map(|warnings| Imported {
        job,
        secrets: String::new(),
        fields: rows,
        warnings,
    }))
}

fn written(document: &Json) -> String {
    let mut text = String::new();
    to_yaml(document, &mut text);
    text
}

/// The target that objects were rendered for, recognised by the API groups of the objects.
fn target(objects: &[Object]) -> &'static dyn Target {
    let has = |group: &str| !group.is_empty() && objects.iter().any(|object| object.api_group == group);
    targets::ALL.iter().copied().find(|target| has(target.facts().api_group)).unwrap_or(targets::PLAIN)
}

/// Returns one row for each object that khorovod renders again, and one for each difference.
fn rows(texts: &[Text], objects: &[Object], job: &str) -> Vec<Field> {
    let old: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
    let old = Text { name: "the objects".to_owned(), text: old.join("\n---\n") };
    let new = Text { name: "the imported job".to_owned(), text: job.to_owned() };
    let inputs = Inputs { target: target(objects), keys: Keys::LeftOut, ..Inputs::default() };
    let row = |path: String, verdict: Verdict, note: &str| Field {
        path,
        file: String::new(),
        line: 1,
        verdict: verdict.word(),
        to: Vec::new(),
        note: note.to_owned(),
    };
    // If the job has errors, there are no changes; `new_job::check` reports the errors.
    let changes = pipeline::changes(&old, &new, &inputs).unwrap_or_default();
    let mut lost: Vec<String> = Vec::new();
    for change in changes {
        let differences = change.because.into_iter().chain(change.in_place);
        lost.extend(differences.filter(is_change).map(|difference| difference.path));
        lost.extend(change.refused);
    }
    let kept = objects.iter().map(place_of).filter(|place| !lost.iter().any(|path| path.starts_with(place.as_str())));
    let mut rows: Vec<Field> = kept.map(|place| row(place, Verdict::Kept, "khorovod renders it again")).collect();
    rows.extend(lost.into_iter().map(|path| row(path, Verdict::Lost, CHANGED)));
    rows
}

const CHANGED: &str = "khorovod renders it differently from the spec, so it was changed by hand, or by another version of \
                       khorovod; `spec.patches` can set it";

/// Whether a difference is a change of an object in the old files. Missing objects do not count, because the files may
/// contain only a part of the job. Secrets are never compared.
fn is_change(difference: &Difference) -> bool {
    let whole = !difference.path.contains(": ");
    !(whole && (difference.old.is_none() || difference.path.starts_with("Secret ")))
}

/// Returns the kind and the name of an object as in the paths of [`pipeline::changes`].
fn place_of(object: &Object) -> String {
    let name = if object.run.is_empty() { object.name.clone() } else { object.name.replace(&object.run, "<run>") };
    format!("{} {name}", object.kind)
}

/// Sets the file and the line of a row to those of its object.
fn place(row: &mut Field, objects: &[Object], found: &Problems) {
    let Some(object) = objects.iter().find(|object| row.path.starts_with(&place_of(object))) else { return };
    if let Some(source) = found.sources.get(object.span.source) {
        row.file.clone_from(&source.name);
        row.line = found.sources.position(object.span).line;
    }
}
