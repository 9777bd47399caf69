//! Finds the jobs of a stream: cuts it, tells our documents from others, lays overlays and settings
//! over them, and reads each into a valid spec. Problems gather here.

use std::ops::Range;

use memchr::memmem;

use super::{keys, plan};
use crate::objects;
use crate::problem::{Problem, Problems, Severity, SourceId, Span, codes};
use crate::source::{self, Kind, Node};
use crate::spec::valid::LauncherKind;
use crate::spec::{self, Spec};
use crate::{Inputs, Keys, Text};

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
pub struct Job {
    /// The piece of the stream it takes the place of.
    pub piece: Range<usize>,
    /// Where its name stands.
    pub name: Span,
    /// Where its patches' targets stand.
    pub targets: Vec<Span>,
    pub spec: Spec,
}

/// A stream as it is being compiled. The texts are borrowed until a problem needs them.
pub struct Stream<'a> {
    text: &'a Text,
    inputs: &'a Inputs,
    texts: Vec<(String, &'a str)>,
    problems: Vec<Problem>,
}

impl<'a> Stream<'a> {
    pub fn new(text: &'a Text, inputs: &'a Inputs) -> Self {
        Self { text, inputs, texts: vec![(text.name.clone(), &text.text)], problems: Vec::new() }
    }

    fn add(&mut self, name: String, text: &'a str) -> SourceId {
        self.texts.push((name, text));
        SourceId::try_from(self.texts.len() - 1).unwrap_or(SourceId::MAX)
    }

    /// Every job that holds; what does not is a problem.
    pub fn jobs(&mut self) -> Vec<Job> {
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

    pub fn check_keys(&mut self, job: &Job) {
        let needs = job.spec.launcher.kind != LauncherKind::Torchrun && job.spec.ssh.secret.is_none();
        if needs && matches!(self.inputs.keys, Keys::Missing) {
            let problem = Problem::new(&NO_KEYS, job.name, "there is nothing to make this job's ssh keys from");
            self.problems.push(problem.hint(
                "give `--ssh-seed FILE`, set `KHOROVOD_SSH_SEED`, or name a Secret in `spec.ssh.secret`; `khorovod explain no-ssh-keys` shows how",
            ));
        }
    }

    pub fn check_patches(&mut self, job: &Job) {
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
    pub fn finish(mut self) -> Problems {
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

    pub fn fails(&self) -> bool {
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
