//! The whole way, for a stream: finds our documents, lays overlays and settings over them, reads,
//! plans, builds, and puts the objects where the documents stood.
//!
//! Only this file knows every phase.

use std::borrow::Cow;
use std::ops::Range;

use base64ct::{Base64, Encoding};
use memchr::memmem;

use crate::emit::to_yaml;
use crate::objects::{self, Object};
use crate::plan::{Plan, STAND_IN};
use crate::problem::{Problem, Problems, Severity, SourceId, Span, codes};
use crate::source::{self, Kind, Node};
use crate::spec::valid::LauncherKind;
use crate::spec::{self, Spec};
use crate::{Document, Inputs, Keys, Rendered, Text, runtime};

codes! {
    /// There is no TrainingJob in the input
    ///
    /// khorovod looks for documents with `apiVersion: khorovod.dev/v1alpha1` and
    /// `kind: TrainingJob`. `khorovod init` writes one to start from.
    Error NO_JOB = "no-training-job";

    /// Two jobs of one name in one namespace
    ///
    /// Their objects would overwrite each other. Rename one.
    Error DUPLICATE_JOB = "duplicate-job";

    /// There is nothing to make ssh keys from
    ///
    /// Workers and launcher trust each other by keys, and khorovod never invents them in silence: a
    /// new key in every render would be a new Secret in every `kubectl apply`. Give a seed
    /// (`--ssh-seed FILE` or `KHOROVOD_SSH_SEED`, 32 bytes: `head -c 32 /dev/urandom > seed && chmod 600 seed`),
    /// or make a Secret once with `khorovod keygen NAME | kubectl apply -f -` and name it in
    /// `spec.ssh.secret`.
    Error NO_KEYS = "no-ssh-keys";

    /// A setting of `--set` that cannot be placed
    ///
    /// `--set PATH=VALUE` takes a path such as `workers.gpus` or `storage[0].mountPath` and a value
    /// in YAML.
    Error BAD_SET = "bad-set";

    /// An overlay that is not one map
    ///
    /// An overlay holds the part of a TrainingJob that differs: maps merge, lists and values replace,
    /// `null` removes.
    Error BAD_OVERLAY = "bad-overlay";

    /// A patch that no object takes
    ///
    /// Its target names a kind or a name that this job does not render. `khorovod plan` lists the
    /// objects.
    Error UNUSED_PATCH = "unused-patch";
}

/// A job of the stream.
struct Job {
    /// The piece of the stream it takes the place of.
    piece: Range<usize>,
    /// Where its name stands.
    name: Span,
    /// Where its patches' targets stand.
    targets: Vec<Span>,
    spec: Spec,
}

/// A stream as it is being compiled. The texts are borrowed until a problem needs them.
struct Stream<'a> {
    text: &'a Text,
    inputs: &'a Inputs,
    texts: Vec<(String, &'a str)>,
    problems: Vec<Problem>,
}

impl<'a> Stream<'a> {
    fn new(text: &'a Text, inputs: &'a Inputs) -> Self {
        Self { text, inputs, texts: vec![(text.name.clone(), &text.text)], problems: Vec::new() }
    }

    fn add(&mut self, name: String, text: &'a str) -> SourceId {
        self.texts.push((name, text));
        SourceId::try_from(self.texts.len() - 1).unwrap_or(SourceId::MAX)
    }

    /// Every job that holds; what does not is a problem.
    fn jobs(&mut self) -> Vec<Job> {
        let overlays = self.overlays();
        let settings = self.settings();
        let mut jobs = Vec::new();
        let mut seen = 0;
        for piece in source::pieces(&self.text.text) {
            let Some(mut document) = self.document(piece.body.clone(), &mut seen) else { continue };
            for overlay in &overlays {
                source::merge(&mut document, overlay.clone());
            }
            for (path, span, value) in &settings {
                if let Err(wrong) = source::set(&mut document, path, *span, value.clone()) {
                    let problem = Problem::new(&BAD_SET, *span, format!("`--set {path}`: {wrong}"));
                    self.problems.push(problem.hint("a path is such as `workers.gpus` or `storage[0].mountPath`"));
                }
            }
            if let Some(spec) = spec::read(&document, self.inputs.kube_version, &mut self.problems) {
                jobs.push(Job { piece: piece.body, name: name(&document), targets: targets(&document), spec });
            }
        }
        if seen == 0 {
            self.no_job();
        }
        self.duplicates(&jobs);
        jobs
    }

    /// One of our documents, or none where it is somebody else's.
    fn document(&mut self, body: Range<usize>, seen: &mut usize) -> Option<Node> {
        let text = &self.text.text[body.clone()];
        if memmem::find(text.as_bytes(), b"khorovod.dev/").is_none()
            && memmem::find(text.as_bytes(), b"TrainingJob").is_none()
        {
            return None;
        }
        let mut found = Vec::new();
        let span = Span { source: 0, start: body.start, end: body.end };
        let Ok(document) = source::parse(text, span, &mut found) else {
            let ours = claims_ours(text);
            *seen += usize::from(ours);
            self.problems.extend(found.into_iter().filter(|_| ours));
            return None;
        };
        let document = document.filter(is_ours)?;
        *seen += 1;
        self.problems.extend(found);
        Some(document)
    }

    fn no_job(&mut self) {
        let text = &self.text.text;
        let span = first_line(text, Span { source: 0, start: 0, end: text.len() });
        let message = match text.trim().is_empty() {
            true => "the input is empty",
            false => "there is no TrainingJob in the input",
        };
        let hint = if text.is_empty() && self.text.name == "<stdin>" {
            "name a file, as in `khorovod plan job.yaml`; without one, standard input is read unless it is a terminal"
        } else {
            "start a document with `apiVersion: khorovod.dev/v1alpha1` and `kind: TrainingJob`, or let `khorovod init` write one"
        };
        self.problems.push(Problem::new(&NO_JOB, span, message).hint(hint));
    }

    fn duplicates(&mut self, jobs: &[Job]) {
        let mut seen = std::collections::HashMap::new();
        for job in jobs {
            let key = (job.spec.namespace.as_deref(), job.spec.name.as_str());
            if let Some(first) = seen.insert(key, job) {
                let message = format!("two jobs are called `{}`", job.spec.name);
                let problem = Problem::new(&DUPLICATE_JOB, job.name, message).here("again here");
                self.problems.push(problem.and(first.name, "first here").hint("rename one of them"));
            }
        }
    }

    fn check_keys(&mut self, job: &Job) {
        let needs = job.spec.launcher.kind != LauncherKind::Torchrun && job.spec.ssh.secret.is_none();
        if needs && matches!(self.inputs.keys, Keys::Missing) {
            let problem = Problem::new(&NO_KEYS, job.name, "there is nothing to make this job's ssh keys from");
            self.problems.push(problem.hint(
                "give `--ssh-seed FILE`, set `KHOROVOD_SSH_SEED`, or name a Secret in `spec.ssh.secret`; `khorovod explain no-ssh-keys` shows how",
            ));
        }
    }

    fn check_patches(&mut self, job: &Job) {
        if job.spec.patches.is_empty() {
            return;
        }
        let (plan, files) = plan(job.spec.clone());
        let keys = keys(&plan, &self.inputs.keys);
        let objects = objects::build(&plan, &files, &keys);
        for (patch, target) in plan.spec.patches.iter().zip(&job.targets) {
            if !objects.iter().any(|object| objects::concerns(patch, object.kind, &object.metadata.name)) {
                let problem = Problem::new(&UNUSED_PATCH, *target, "no object of this job takes the patch");
                self.problems
                    .push(problem.hint("names carry the run's, for which a pattern writes `*`: `mnist-*-worker`; `khorovod plan` lists the objects"));
            }
        }
    }

    fn overlays(&mut self) -> Vec<Node> {
        let mut overlays = Vec::new();
        for overlay in &self.inputs.overlays {
            let source = self.add(overlay.name.clone(), &overlay.text);
            let mut bodies = source::pieces(&overlay.text)
                .into_iter()
                .filter(|piece| !overlay.text[piece.body.clone()].trim().is_empty());
            let (Some(piece), None) = (bodies.next(), bodies.next()) else {
                let whole = Span { source, start: 0, end: overlay.text.len() };
                let message = format!("the overlay {} does not hold one document", overlay.name);
                let problem = Problem::new(&BAD_OVERLAY, first_line(&overlay.text, whole), message);
                self.problems.push(problem.hint("put each document into a file of its own: `-f one.yaml -f two.yaml`"));
                continue;
            };
            let span = Span { source, start: piece.body.start, end: piece.body.end };
            match source::parse(&overlay.text[piece.body], span, &mut self.problems) {
                Ok(Some(node)) if matches!(node.kind, Kind::Map(_)) => overlays.push(node),
                Ok(_) => {
                    let place = first_line(&overlay.text, span);
                    let message = format!("the overlay {} is not a map", overlay.name);
                    let problem = Problem::new(&BAD_OVERLAY, place, message);
                    self.problems
                        .push(problem.hint("write the part that differs, such as `spec: {workers: {replicas: 8}}`"));
                }
                Err(()) => {}
            }
        }
        overlays
    }

    /// Path, place and value of every `--set`, and of `--namespace` behind them.
    fn settings(&mut self) -> Vec<(String, Span, Node)> {
        let mut settings = Vec::new();
        for set in &self.inputs.sets {
            let source = self.add("--set".to_owned(), set);
            let whole = Span { source, start: 0, end: set.len() };
            let Some((path, value)) = set.split_once('=') else {
                let problem = Problem::new(&BAD_SET, whole, format!("`--set {set}` has no `=`"));
                self.problems.push(problem.hint("write `--set PATH=VALUE`, such as `--set workers.gpus=8`"));
                continue;
            };
            let span = Span { start: path.len() + 1, ..whole };
            match source::parse(value, span, &mut self.problems) {
                Ok(Some(node)) => settings.push((rooted(path), Span { end: path.len(), ..whole }, node)),
                Ok(None) => {
                    let problem = Problem::new(&BAD_SET, whole, format!("`--set {set}` has no value"));
                    let hint = format!("`{path}=null` takes the field away, `{path}=\"\"` is an empty text");
                    self.problems.push(problem.hint(hint));
                }
                Err(()) => {}
            }
        }
        if let Some(namespace) = &self.inputs.namespace {
            let source = self.add("--namespace".to_owned(), namespace);
            let span = Span { source, start: 0, end: namespace.len() };
            let kind = Kind::Scalar { text: namespace.clone(), plain: false };
            settings.push(("metadata.namespace".to_owned(), span, Node { span, kind }));
        }
        settings
    }

    /// Everything found, with the texts it was found in; `--strict` makes warnings errors.
    fn finish(mut self) -> Problems {
        if self.problems.is_empty() {
            return Problems::default();
        }
        if self.inputs.strict {
            self.problems.iter_mut().for_each(|problem| problem.severity = Severity::Error);
        }
        self.problems.sort_by_key(|problem| problem.labels.first().map(|label| label.span));
        let mut problems = Problems { list: self.problems, ..Problems::default() };
        for (name, text) in self.texts {
            problems.sources.add(name, text.to_owned());
        }
        problems
    }

    fn fails(&self) -> bool {
        let fatal = |problem: &Problem| self.inputs.strict || problem.severity == Severity::Error;
        self.problems.iter().any(fatal)
    }
}

/// Whether a broken document says that it is ours.
fn claims_ours(text: &str) -> bool {
    let flow = text.trim_start().starts_with('{');
    // In flow style the keys stand anywhere; else at the beginning of a line, or it is another's text.
    let divides = |c: char| c == '\n' || flow && c == ',';
    text.split(divides).any(|entry| {
        let Some((key, value)) = entry.split_once(':') else { return false };
        let key = if flow { key.trim_start_matches(['{', ' ', '\t', '\r']) } else { key };
        let value = value.trim().trim_matches(['"', '\'', '}']);
        match key.trim_end().trim_matches(['"', '\'']) {
            "apiVersion" => value.starts_with("khorovod.dev/"),
            "kind" => value == spec::KIND,
            _ => false,
        }
    })
}

/// A document of our group, or of our kind with no group, or with one that is nearly ours.
fn is_ours(document: &Node) -> bool {
    let text = |key: &str| document.get(key).and_then(Node::text).unwrap_or_default();
    let version = text("apiVersion");
    version.starts_with("khorovod.dev/") || text("kind") == spec::KIND && (version.is_empty() || nearly_ours(version))
}

fn nearly_ours(version: &str) -> bool {
    let group = version.split('/').next().unwrap_or_default();
    strsim::damerau_levenshtein(group, "khorovod.dev") <= 4 || group.contains("horovod")
}

/// `workers.gpus` → `spec.workers.gpus`; a full path stays.
fn rooted(path: &str) -> String {
    let first = path.split(['.', '[']).next().unwrap_or_default();
    match first {
        "" | "apiVersion" | "kind" | "metadata" | "spec" => path.to_owned(),
        _ => format!("spec.{path}"),
    }
}

/// The first line of a part of a text.
fn first_line(text: &str, part: Span) -> Span {
    let line = text[part.start..part.end].lines().next().map_or(0, str::len);
    Span { end: part.start + line, ..part }
}

fn name(document: &Node) -> Span {
    let name = document.get("metadata").and_then(|metadata| metadata.get("name"));
    name.map_or(document.span, |name| name.span)
}

fn targets(document: &Node) -> Vec<Span> {
    match document.get("spec").and_then(|spec| spec.get("patches")).map(|node| &node.kind) {
        Some(Kind::List(patches)) => {
            patches.iter().map(|patch| patch.get("target").map_or(patch.span, |target| target.span)).collect()
        }
        _ => Vec::new(),
    }
}

/// The plan of a valid spec, its run named.
fn plan(spec: Spec) -> (Plan, Vec<runtime::File>) {
    let mut plan = Plan::new(spec);
    let files = runtime::files(&plan);
    let run = objects::run_name(&plan, &files);
    let files = files.into_iter().map(|file| named(file, &run)).collect();
    plan.name_run(run);
    (plan, files)
}

/// A file with the run's name where the stand-in was.
fn named(file: runtime::File, run: &str) -> runtime::File {
    let text = match file.text {
        Cow::Owned(text) if memmem::find(text.as_bytes(), STAND_IN.as_bytes()).is_some() => {
            Cow::Owned(text.replace(STAND_IN, run))
        }
        text => text,
    };
    runtime::File { text, ..file }
}

/// The entries of the job's own Secret; none where it has none.
fn keys(plan: &Plan, keys: &Keys) -> Vec<(&'static str, String)> {
    let own = plan.uses_ssh() && plan.spec.ssh.secret.is_none();
    let namespace = plan.spec.namespace.as_deref().unwrap_or_default();
    match keys {
        Keys::Seed(seed) if own => {
            let entries = runtime::keys::secret_data(seed, namespace, &plan.spec.name);
            entries.map(|(name, text)| (name, Base64::encode_string(text.as_bytes()))).into()
        }
        Keys::Masked if own => runtime::keys::ENTRIES.map(|name| (name, Base64::encode_string(b"masked"))).into(),
        _ => Vec::new(),
    }
}

/// See [`crate::render`].
pub fn render(text: &Text, inputs: &Inputs) -> Result<Rendered, Problems> {
    let mut out = Output::new(&text.text);
    let warnings = compile(text, inputs, &mut out, |_| {})?;
    out.copy(text.text.len());
    Ok(Rendered { text: out.text, documents: out.documents, warnings })
}

/// See [`crate::render_to`].
pub fn render_to(text: &Text, inputs: &Inputs, write: &mut dyn FnMut(&str)) -> Result<Problems, Problems> {
    const PART: usize = 256 << 10;
    let mut out = Output::new(&text.text);
    let warnings = compile(text, inputs, &mut out, |out| {
        if out.text.len() > PART {
            write(&out.text);
            out.text.clear();
            out.documents.clear();
        }
    })?;
    write(&out.text);
    write(&text.text[out.done..]);
    Ok(warnings)
}

/// Replaces every job, calling `after` behind each. Whatever can be found wrong is found before
/// the first.
fn compile(
    text: &Text,
    inputs: &Inputs,
    out: &mut Output<'_>,
    mut after: impl FnMut(&mut Output<'_>),
) -> Result<Problems, Problems> {
    let mut stream = Stream::new(text, inputs);
    let jobs = stream.jobs();
    for job in &jobs {
        stream.check_keys(job);
        stream.check_patches(job);
    }
    if stream.fails() {
        return Err(stream.finish());
    }
    for Job { piece, spec, .. } in jobs {
        let (plan, files) = plan(spec);
        let keys = keys(&plan, &inputs.keys);
        out.replace(piece, &objects::build(&plan, &files, &keys));
        after(out);
    }
    Ok(stream.finish())
}

/// The output as it grows.
struct Output<'a> {
    input: &'a str,
    /// How much of the input is in the output already.
    done: usize,
    text: String,
    documents: Vec<Document>,
}

impl<'a> Output<'a> {
    fn new(input: &'a str) -> Self {
        Self { input, done: 0, text: String::new(), documents: Vec::new() }
    }

    /// Copies what stands before `piece`, and puts objects in its place.
    fn replace(&mut self, piece: Range<usize>, objects: &[Object<'_>]) {
        self.copy(piece.start);
        // `--- {a: 1}` has its content on the marker's line.
        if self.text.ends_with("---") {
            self.text.push('\n');
        }
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                self.text.push_str("---\n");
            }
            let start = self.text.len();
            to_yaml(object, &mut self.text);
            let range = start..self.text.len();
            self.documents.push(Document { kind: object.kind, name: object.metadata.name.to_string(), range });
        }
        self.done = piece.end;
    }

    /// Copies the input up to `end` byte for byte.
    fn copy(&mut self, end: usize) {
        for piece in source::pieces(&self.input[self.done..end]) {
            let range = self.text.len() + piece.body.start..self.text.len() + piece.body.end;
            if !self.input[self.done..end][piece.body].trim().is_empty() {
                self.documents.push(Document { kind: "", name: String::new(), range });
            }
        }
        self.text.push_str(&self.input[self.done..end]);
        self.done = end;
    }
}

/// See [`crate::check`].
pub fn check(text: &Text, inputs: &Inputs) -> Problems {
    let mut stream = Stream::new(text, inputs);
    for job in stream.jobs() {
        stream.check_patches(&job);
    }
    stream.finish()
}

/// A plan, and the kinds and names of its objects.
pub type Planned = (Plan, Vec<(&'static str, String)>);

/// The plans of a stream's jobs with their objects' kinds and names, and what was found.
pub fn plans(text: &Text, inputs: &Inputs) -> Result<(Vec<Planned>, Problems), Problems> {
    let mut stream = Stream::new(text, inputs);
    let jobs = stream.jobs();
    let mut plans = Vec::with_capacity(jobs.len());
    for job in jobs {
        stream.check_patches(&job);
        let (plan, files) = plan(job.spec);
        let names = {
            let keys = keys(&plan, &inputs.keys);
            let objects = objects::build(&plan, &files, &keys);
            objects.iter().map(|object| (object.kind, object.metadata.name.to_string())).collect()
        };
        plans.push((plan, names));
    }
    let failed = stream.fails();
    let found = stream.finish();
    if failed { Err(found) } else { Ok((plans, found)) }
}

/// See [`crate::secret`].
pub fn secret(name: &str, namespace: Option<&str>, seed: &[u8; 32]) -> String {
    let data = runtime::keys::secret_data(seed, namespace.unwrap_or_default(), name);
    let mut metadata = serde_json::json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    let data: serde_json::Map<_, _> =
        data.into_iter().map(|(key, text)| (key.to_owned(), Base64::encode_string(text.as_bytes()).into())).collect();
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data,
    });
    let mut text = String::new();
    to_yaml(&secret, &mut text);
    text
}
