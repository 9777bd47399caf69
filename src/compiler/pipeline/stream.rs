//! Finds the jobs of a stream: lays overlays and settings over our documents and reads each into a valid spec. Problems
//! gather here.

mod changes;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use self::changes::Changes;
use super::ours::{self, Among, Found};
use super::{absent, patches};
use crate::api::{Inputs, Keys, Text};
use crate::job::target::SshKeys;
use crate::job::valid::{LauncherKind, Volume, VolumeSource};
use crate::job::{self, Spec, Texts};
use crate::job::{Case, Purpose};
use crate::problem::{Code, Problem, Problems, Severity, SourceId, Span, codes};
use crate::yaml::{self, Node};

codes! {
    /// Two jobs of one name in one namespace
    ///
    /// Their objects would overwrite each other. Rename one.
    Error DUPLICATE_JOB = "duplicate-job";

    /// Volumes of two jobs would have one claim
    ///
    /// A volume's claim is called `JOB-VOLUME`: that of volume `b-c` of job `a` and that of volume `c` of job `a-b` are one,
    /// in which both would write. Rename a job or a volume; to share one on purpose, name it in `existingClaim`.
    Error SAME_CLAIM = "same-claim";

    /// A batch script is not alone
    ///
    /// `--target slurm` makes one script, which is all of the output: sbatch takes it from the first line on.
    /// Render one TrainingJob at a time, and nothing beside it.
    Error SLURM_ALONE = "slurm-alone";

    /// There is nothing to make ssh keys from
    ///
    /// Workers and launcher trust each other by keys, and khorovod never invents them in silence: a
    /// new key in every render would be a new Secret in every `kubectl apply`. Give a seed
    /// (`--ssh-seed FILE` or `KHOROVOD_SSH_SEED`, 32 bytes: `head -c 32 /dev/urandom > seed && chmod 600 seed`),
    /// or make a Secret once with `khorovod keygen NAME | kubectl apply -f -` and name it in
    /// `spec.ssh.secret`.
    Error NO_KEYS = "no-ssh-keys";
}

/// A job of the stream.
#[derive(Debug)]
pub struct Job {
    /// The piece of the stream it takes the place of.
    pub piece: Range<usize>,
    /// Where its name stands.
    pub name: Span,
    /// Its patches, as they stand.
    pub patches: Vec<Node>,
    /// The comment that says where Helm 3 has it from, for each of its objects: `helm template --show-only` goes by it.
    pub head: String,
    /// As it was read, changes and all; only where the stream keeps documents.
    pub document: Option<Node>,
    pub spec: Spec,
}

/// A part of the input, under the name a person knows it by.
pub struct Part<'a> {
    pub name: String,
    pub text: Cow<'a, str>,
    /// The number of its first line.
    pub first_line: usize,
}

impl Texts for Vec<Part<'_>> {
    fn around(&self, place: Span) -> &str {
        self.get(place.source as usize).map_or("", |part| &part.text)
    }
}

/// Every code of a stream and of what is laid over its documents.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    CODES.iter().chain(changes::CODES).copied()
}

/// A stream as it is being compiled. The texts are borrowed until a problem needs them.
pub struct Stream<'a> {
    inputs: &'a Inputs,
    /// Whether the jobs' documents are still wanted once they are read.
    keeps: bool,
    parts: Vec<Part<'a>>,
    problems: Vec<Problem>,
}

impl<'a> Stream<'a> {
    pub fn new(inputs: &'a Inputs) -> Self {
        Self { inputs, keeps: false, parts: Vec::new(), problems: Vec::new() }
    }

    /// One whose jobs come with their documents.
    pub fn with_documents(inputs: &'a Inputs) -> Self {
        Self { keeps: true, ..Self::new(inputs) }
    }

    pub fn add(&mut self, part: Part<'a>) -> SourceId {
        let source = self.next_source();
        self.parts.push(part);
        source
    }

    /// What the next part will be known as.
    pub fn next_source(&self) -> SourceId {
        SourceId::try_from(self.parts.len()).unwrap_or(SourceId::MAX)
    }

    fn add_text(&mut self, name: &str, text: &'a str) -> SourceId {
        self.add(Part { name: name.to_owned(), text: Cow::Borrowed(text), first_line: 1 })
    }

    pub fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    pub fn append(&mut self, mut problems: Vec<Problem>) {
        self.problems.append(&mut problems);
    }

    /// Every job of a text that is meant for us, where having none is a mistake.
    pub fn jobs(&mut self, text: &'a Text) -> Vec<Job> {
        let source = self.add_text(&text.name, &text.text);
        let changes = self.changes();
        let (mut jobs, mut seen) = (Vec::new(), 0);
        for piece in yaml::pieces(&text.text) {
            let body = &text.text[piece.body.clone()];
            let span = Span { source, start: piece.body.start, end: piece.body.end };
            if let Found::Ours(document) = ours::find(body, span, Among::Ours, &mut self.problems, &mut seen) {
                jobs.extend(self.job(document, body, piece.body, &changes));
            }
        }
        if seen == 0 {
            self.no_job(text, source);
        }
        self.duplicates(&jobs);
        if !self.inputs.target.facts().has_pods {
            self.alone(text, source);
        }
        jobs
    }

    /// A script for Slurm has no room for other documents.
    fn alone(&mut self, text: &Text, source: SourceId) {
        let says = |line: &str| !line.trim().is_empty() && !line.starts_with('#') && line.trim() != "---";
        let pieces = yaml::pieces(&text.text);
        let mut full = pieces.into_iter().filter(|piece| text.text[piece.body.clone()].lines().any(says));
        if let Some(second) = full.nth(1) {
            let span = Span { source, start: second.body.start, end: second.body.end };
            let problem = Problem::new(
                &SLURM_ALONE,
                absent::first_line(&text.text, span),
                "a batch script stands alone, and this is another document",
            );
            self.problems.push(problem.hint("render each job by itself, and leave Kubernetes objects out; Secrets of an import have a file of their own with `--secrets FILE`"));
        }
    }

    /// Said of a stream that our documents are only a part of.
    pub fn refuse_slurm(&mut self, jobs: &[Job]) {
        for job in jobs.iter().filter(|job| !job.spec.target.has_pods) {
            let problem = Problem::new(&SLURM_ALONE, job.name, "a batch script has no place among documents");
            self.problems.push(problem.hint("use `khorovod render --target slurm job.yaml`"));
        }
    }

    /// The job of one of our documents, if it holds.
    pub fn job(&mut self, mut document: Node, body: &str, piece: Range<usize>, changes: &Changes) -> Option<Job> {
        changes.lay(&mut document, &mut self.problems);
        ours::refuse_hook(&document, &mut self.problems);
        let before = self.problems.len();
        let Inputs { kube_version, target, .. } = *self.inputs;
        let refuse = |case: &Case<'_>, problems: &mut Vec<Problem>| target.refuse(case, problems);
        let purpose = Purpose { kube_version, target: target.facts(), refuse: &refuse };
        let spec = job::read(&document, &self.parts, &purpose, &mut self.problems);
        self.quote_for_shells(before, changes);
        let spec = spec?;
        let head = ours::helm_source(body).map(|path| format!("# Source: {path}\n")).unwrap_or_default();
        let (name, patches) = (name(&document), patches::of(&document));
        Some(Job { piece, name, patches, head, document: self.keeps.then_some(document), spec })
    }

    fn no_job(&mut self, Text { name, text }: &Text, source: SourceId) {
        let whole = Span { source, start: 0, end: text.len() };
        let awaited = (text.is_empty() && name == "<stdin>").then_some(!self.inputs.overlays.is_empty());
        self.problems.push(absent::problem(text, whole, awaited));
    }

    pub fn duplicates(&mut self, jobs: &[Job]) {
        let mut seen = HashMap::new();
        for job in jobs {
            let key = (job.spec.namespace.as_deref(), job.spec.name.as_str());
            if let Some(first) = seen.insert(key, job) {
                let message = format!("two jobs are called `{}`", job.spec.name);
                let problem = Problem::new(&DUPLICATE_JOB, job.name, message).here("again here");
                self.problems.push(problem.and(first.name, "first here").hint("rename one of them"));
            }
        }
        self.same_claims(jobs);
    }

    fn same_claims(&mut self, jobs: &[Job]) {
        let made =
            |volume: &&Volume| matches!(volume.source, VolumeSource::Claim(_) | VolumeSource::PersistentVolume { .. });
        let volumes = jobs.iter().flat_map(|job| job.spec.storage.iter().filter(made).map(move |volume| (job, volume)));
        let mut seen = HashMap::new();
        for (job, volume) in volumes {
            let claim = job.spec.claim_of(volume);
            let Some((first, other)) = seen.insert((job.spec.namespace.as_deref(), claim.clone()), (job, volume))
            else {
                continue;
            };
            // Of jobs of one name it is said already.
            if first.spec.name != job.spec.name {
                let message = format!(
                    "volume `{}` of job `{}` and volume `{}` of job `{}` would have one claim, `{claim}`",
                    other.name, first.spec.name, volume.name, job.spec.name
                );
                let problem = Problem::new(&SAME_CLAIM, job.name, message).here("this job");
                self.problems.push(
                    problem
                        .and(first.name, "and this one")
                        .hint("rename a job or a volume; to share a claim on purpose, name it in `existingClaim`"),
                );
            }
        }
    }

    /// What only a render asks for.
    pub fn check_buildable(&mut self, jobs: &[Job]) {
        for job in jobs {
            self.check_keys(job);
            self.check_patches(job);
        }
    }

    fn check_keys(&mut self, job: &Job) {
        let brought = job.spec.target.ssh_keys != SshKeys::Ours || job.spec.ssh.secret.is_some();
        let needs = job.spec.launcher.kind != LauncherKind::Torchrun && !brought;
        if needs && matches!(self.inputs.keys, Keys::Missing) {
            let problem = Problem::new(&NO_KEYS, job.name, "there is nothing to make this job's ssh keys from");
            self.problems.push(problem.hint(
                "give `--ssh-seed FILE`, set `KHOROVOD_SSH_SEED`, or name a Secret in `spec.ssh.secret`; `khorovod explain no-ssh-keys` shows how",
            ));
        }
    }

    pub fn check_patches(&mut self, job: &Job) {
        patches::check(&job.spec, &job.patches, self.inputs, &mut self.problems);
    }

    /// Everything found, with the texts it was found in; `--strict` makes warnings errors.
    pub fn finish(mut self) -> Problems {
        if self.problems.is_empty() {
            return Problems::default();
        }
        if self.inputs.strict {
            let warnings = self.problems.iter_mut().filter(|problem| problem.severity == Severity::Warning);
            warnings.for_each(|problem| problem.severity = Severity::Error);
        }
        self.problems.sort_by_key(|problem| problem.labels.first().map(|label| label.span));
        let mut problems = Problems { list: self.problems, ..Problems::default() };
        for part in self.parts {
            problems.sources.add_part(part.name, part.text.into_owned(), part.first_line);
        }
        problems
    }

    pub fn fails(&self) -> bool {
        let worst = if self.inputs.strict { Severity::Warning } else { Severity::Error };
        self.problems.iter().any(|problem| problem.severity >= worst)
    }
}

fn name(document: &Node) -> Span {
    let name = document.get("metadata").and_then(|metadata| metadata.get("name"));
    name.map_or(document.span, |name| name.span)
}
