//! Reads the jobs of a stream: merges overlays and `--set` into each TrainingJob, and reads it into a valid spec. The main type is
//! [`Stream`], which also collects the problems of all phases.

mod overlays;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use self::overlays::Overlays;
use super::recognise::{self, Expected, Found};
use super::{document, no_job, patches};
use crate::api::{Inputs, Keys, Text};
use crate::job::target::SshKeys;
use crate::job::valid::{Volume, VolumeSource};
use crate::job::{self, Spec, Texts, expectations};
use crate::job::{Case, Purpose};
use crate::plan::Document;
use crate::problem::{Explained, Fix, Problem, Problems, Severity, SourceId, Span, codes};
use crate::yaml::{self, Node};

codes! {
    /// Two jobs with the same name in the same namespace
    ///
    /// Their objects would overwrite each other. Rename one of the jobs.
    Error DUPLICATE_JOB = "duplicate-job";

    /// Volumes of two jobs would have the same claim
    ///
    /// The claim of a volume has the name `JOB-VOLUME`. So volume `b-c` of job `a` and volume `c` of job `a-b` would have the
    /// same claim, and both jobs would write to it. Rename a job or a volume. To share a claim intentionally, set
    /// `existingClaim` to its name.
    Error SAME_CLAIM = "same-claim";

    /// A batch script must be the only output
    ///
    /// `--target slurm` renders a script, which must start on the first line of the output. Render one TrainingJob at a time,
    /// without other documents.
    Error SLURM_ALONE = "slurm-alone";

    /// There is no seed for the ssh keys
    ///
    /// Launcher and workers authenticate each other with ssh keys. The keys are not random, because each render would then
    /// change the Secret: they derive from a seed. `render` and `run` create one in your home folder at the first use, unless the
    /// variable `CI` is set; the other commands do not. Choose one:
    /// - Set a seed of 32 bytes with `--ssh-seed FILE` or `KHOROVOD_SSH_SEED`. To create a seed file, run
    ///   `head -c 32 /dev/urandom > seed && chmod 600 seed`.
    /// - Create a Secret once with `khorovod keygen NAME | kubectl apply -f -`, and set `spec.ssh.secretName` to its name.
    Error NO_KEYS = "no-ssh-keys";

    /// The ssh Secret of the run is left out
    ///
    /// With `--no-keys`, the objects contain no Secret, but the pods mount one and wait until it exists. Without
    /// `spec.ssh.secretName` its name contains the name of the run, which changes with the spec. Create a Secret once with
    /// `khorovod keygen NAME | kubectl apply -f -`, and set `spec.ssh.secretName` to its name.
    Note LEFT_OUT_KEYS = "left-out-keys";

    /// The Helm release will contain private ssh keys
    ///
    /// Helm stores all objects that it installs in a Secret of the release, one per revision. With a seed, and without
    /// `spec.ssh.secretName`, one of these objects is the Secret with the private keys of the job, so a user who may read
    /// releases can read the keys. Create a Secret once with `khorovod keygen NAME | kubectl apply -f -`, and set
    /// `spec.ssh.secretName` to its name.
    Note KEYS_IN_RELEASE = "keys-in-release";
}

/// The hint for a job whose keys should come from a Secret.
const NAME_A_SECRET: &str = "set `spec.ssh.secretName` to the name of a Secret that `khorovod keygen` has created";

/// Whether the objects of a job contain a Secret with keys that derive from the seed.
fn needs_our_keys(spec: &Spec) -> bool {
    let has_other_keys = spec.target.ssh_keys != SshKeys::Ours || spec.ssh.secret.is_some();
    !has_other_keys && (!spec.launcher.kind.has_agents() || spec.has_downloads())
}

/// A job of the stream.
#[derive(Debug)]
pub struct Job {
    /// The part of the stream that its objects replace.
    pub piece: Range<usize>,
    /// The span of its name.
    pub name: Span,
    /// Its patches as nodes, with spans.
    pub patches: Vec<Node>,
    /// The comment with the template from which Helm 3 rendered the job, or empty. It is repeated before each object, because
    /// `helm template --show-only` selects documents by it.
    pub source_comment: String,
    /// The document after overlays and settings; set only by [`Stream::with_documents`].
    pub document: Option<Node>,
    /// The document as the rendered objects keep it.
    pub kept: Document,
    pub spec: Spec,
}

/// A text of the input: a document, an overlay or a setting.
pub struct Part<'a> {
    /// Its name in messages.
    pub name: String,
    pub text: Cow<'a, str>,
    /// The line number of its first line.
    pub first_line: usize,
}

impl Texts for Vec<Part<'_>> {
    fn around(&self, place: Span) -> &str {
        self.get(place.source as usize).map_or("", |part| &part.text)
    }
}

/// The problem codes of this module.
pub fn codes() -> impl Iterator<Item = &'static Explained> {
    CODES.iter().chain(overlays::CODES)
}

/// The state of one compilation: the texts and the problems so far. Texts are borrowed, and copied only if there is a problem.
pub struct Stream<'a> {
    inputs: &'a Inputs,
    /// Whether jobs keep their documents.
    keeps_documents: bool,
    /// Whether it only finds out if a text is valid.
    is_trial: bool,
    parts: Vec<Part<'a>>,
    problems: Vec<Problem>,
}

/// The largest document whose lines are indented otherwise on trial.
const LARGEST_TRIAL: usize = 16 << 10;

impl<'a> Stream<'a> {
    /// A stream without texts.
    pub fn new(inputs: &'a Inputs) -> Self {
        Self { inputs, keeps_documents: false, is_trial: false, parts: Vec::new(), problems: Vec::new() }
    }

    /// A stream whose jobs keep their documents.
    pub fn with_documents(inputs: &'a Inputs) -> Self {
        Self { keeps_documents: true, ..Self::new(inputs) }
    }

    /// Adds a text, and returns the id for spans in it.
    pub fn add(&mut self, part: Part<'a>) -> SourceId {
        let source = self.next_source();
        self.parts.push(part);
        source
    }

    /// The id that the next added text will get.
    pub fn next_source(&self) -> SourceId {
        SourceId::try_from(self.parts.len()).unwrap_or(SourceId::MAX)
    }

    fn add_text(&mut self, name: &str, text: &'a str) -> SourceId {
        self.add(Part { name: name.to_owned(), text: Cow::Borrowed(text), first_line: 1 })
    }

    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Adds problems.
    pub fn append(&mut self, mut problems: Vec<Problem>) {
        self.problems.append(&mut problems);
    }

    /// The jobs of a text that should contain TrainingJobs. If the text contains none, a problem is reported.
    pub fn jobs(&mut self, text: &'a Text) -> Vec<Job> {
        let source = self.add_text(&text.name, &text.text);
        let overlays = self.read_overlays();
        let (mut jobs, mut seen) = (Vec::new(), 0);
        for piece in yaml::pieces(&text.text) {
            let body = &text.text[piece.body.clone()];
            let span = Span { source, start: piece.body.start, end: piece.body.end };
            let problems_before = self.problems.len();
            if let Found::Job(document) = recognise::find(body, span, Expected::Jobs, &mut self.problems, &mut seen) {
                jobs.extend(self.job(document, body, piece.body, &overlays));
            }
            self.fix_indentation(problems_before, body, span);
        }
        if seen == 0 {
            self.report_no_job(text, source);
        }
        self.refuse_duplicates(&jobs);
        if !self.inputs.target.facts().has_pods {
            self.refuse_second_document(text, source);
        }
        jobs
    }

    /// Adds the fix of a line whose indentation matches no line above, if exactly one other indentation makes the document valid.
    fn fix_indentation(&mut self, problems_before: usize, body: &str, span: Span) {
        let [problem] = &mut self.problems[problems_before..] else { return };
        let is_uneven = problem.code == &yaml::SYNTAX && problem.hint.as_deref() == Some(yaml::UNEVEN);
        if !is_uneven || self.is_trial || body.len() > LARGEST_TRIAL {
            return;
        }
        let inputs = self.inputs;
        let is_valid = |(range, line): &(Range<usize>, String)| {
            let text = [&body[..range.start], line, &body[range.end..]].concat();
            let text = Text { name: String::new(), text };
            let mut trial = Stream { is_trial: true, ..Stream::new(inputs) };
            trial.jobs(&text);
            trial.problems.iter().all(|problem| problem.severity < Severity::Error)
        };
        let at = problem.labels.first().map_or(span, |label| label.span).start - span.start;
        let mut edits = yaml::reindented(body, at).into_iter().filter(is_valid);
        if let (Some((range, line)), None) = (edits.next(), edits.next()) {
            let moved = Span { start: span.start + range.start, end: span.start + range.end, ..span };
            problem.fix = Some(Fix { span: moved, text: line });
        }
    }

    /// Reports a second document in a stream that is rendered to a script.
    fn refuse_second_document(&mut self, text: &Text, source: SourceId) {
        let has_content = |line: &str| !line.trim().is_empty() && !line.starts_with('#') && line.trim() != "---";
        let pieces = yaml::pieces(&text.text);
        let mut full = pieces.into_iter().filter(|piece| text.text[piece.body.clone()].lines().any(has_content));
        if let Some(second) = full.nth(1) {
            let span = Span { source, start: second.body.start, end: second.body.end };
            let problem = Problem::new(
                &SLURM_ALONE,
                no_job::first_line(&text.text, span),
                "a batch script must be the only output, but this is a second document",
            );
            self.problems.push(problem.hint("render each job separately, without Kubernetes objects; `khorovod import --secrets FILE` writes Secrets to a separate file"));
        }
    }

    /// Reports jobs that would become a script in a stream of other documents.
    pub fn refuse_script_in_stream(&mut self, jobs: &[Job]) {
        for job in jobs.iter().filter(|job| !job.spec.target.has_pods) {
            let problem =
                Problem::new(&SLURM_ALONE, job.name, "a batch script cannot be part of a stream of documents");
            self.problems.push(problem.hint("use `khorovod render --target slurm job.yaml`"));
        }
    }

    /// Reads a TrainingJob; `None` if it is not valid. `body` is the text of the document, and `piece` its range in the
    /// stream.
    pub fn job(&mut self, mut document: Node, body: &str, piece: Range<usize>, overlays: &Overlays) -> Option<Job> {
        if overlays::FEATURE {
            overlays.apply(&mut document, &mut self.problems);
        }
        recognise::refuse_hook(&document, &mut self.problems);
        let problems_before = self.problems.len();
        let Inputs { kube_version, target, .. } = *self.inputs;
        let refuse = |case: &Case<'_>, problems: &mut Vec<Problem>| target.refuse(case, problems);
        let purpose = Purpose { kube_version, target: target.facts(), refuse: &refuse };
        let spec = job::read(&document, &self.parts, &purpose, &mut self.problems);
        if overlays::FEATURE {
            self.add_shell_quotes(problems_before, overlays);
        }
        let spec = spec?;
        if overlays::FEATURE {
            for expected in &overlays.expectations {
                expectations::check(expected, &document, &spec, &mut self.problems);
            }
        }
        let source_comment = recognise::helm_source(body).map(|path| format!("# Source: {path}\n")).unwrap_or_default();
        let (name, patches) = (name(&document), patches::patch_nodes(&document));
        let kept = document::stored_document(&document, &spec);
        Some(Job {
            piece,
            name,
            patches,
            source_comment,
            document: self.keeps_documents.then_some(document),
            kept,
            spec,
        })
    }

    /// Reports that a text contains no TrainingJob.
    fn report_no_job(&mut self, Text { name, text }: &Text, source: SourceId) {
        let whole = Span { source, start: 0, end: text.len() };
        let empty_stdin = (text.is_empty() && name == "<stdin>").then_some(!self.inputs.overlays.is_empty());
        self.problems.push(no_job::problem(text, whole, empty_stdin));
    }

    /// Reports jobs with the same name, and volumes with the same claim.
    pub fn refuse_duplicates(&mut self, jobs: &[Job]) {
        let mut seen = HashMap::new();
        for job in jobs {
            let key = (job.spec.namespace.as_deref(), job.spec.name.as_str());
            if let Some(first) = seen.insert(key, job) {
                let message = format!("two jobs have the name `{}`", job.spec.name);
                let problem = Problem::new(&DUPLICATE_JOB, job.name, message).here("second job");
                self.problems.push(problem.and(first.name, "first job").hint("rename one of the jobs"));
            }
        }
        self.refuse_same_claims(jobs);
    }

    fn refuse_same_claims(&mut self, jobs: &[Job]) {
        let has_claim =
            |volume: &&Volume| matches!(volume.source, VolumeSource::Claim(_) | VolumeSource::PersistentVolume { .. });
        let volumes =
            jobs.iter().flat_map(|job| job.spec.storage.iter().filter(has_claim).map(move |volume| (job, volume)));
        let mut seen = HashMap::new();
        for (job, volume) in volumes {
            let claim = job.spec.claim_of(volume);
            let Some((first, other)) = seen.insert((job.spec.namespace.as_deref(), claim.clone()), (job, volume))
            else {
                continue;
            };
            // Jobs with the same name are already reported.
            if first.spec.name != job.spec.name {
                let message = format!(
                    "volume `{}` of job `{}` and volume `{}` of job `{}` would have the same claim `{claim}`",
                    other.name, first.spec.name, volume.name, job.spec.name
                );
                let problem = Problem::new(&SAME_CLAIM, job.name, message).here("this job");
                self.problems.push(
                    problem
                        .and(first.name, "and this job")
                        .hint("rename a job or a volume; to share a claim, set `existingClaim` to its name"),
                );
            }
        }
    }

    /// Runs the checks that every render needs: of keys and of patches.
    pub fn check_buildable(&mut self, jobs: &[Job]) {
        for job in jobs {
            self.check_keys(job);
            self.check_patches(job);
        }
    }

    /// Reports a job that needs ssh keys if there is no seed, or if its Secret is left out.
    pub fn check_keys(&mut self, job: &Job) {
        if !needs_our_keys(&job.spec) {
            return;
        }
        if matches!(self.inputs.keys, Keys::Missing) {
            let problem = Problem::new(&NO_KEYS, job.name, "there is no seed for the ssh keys of this job");
            self.problems.push(problem.hint(
                "set `--ssh-seed FILE` or `KHOROVOD_SSH_SEED`, or set `spec.ssh.secretName` to the name of a Secret; `khorovod explain no-ssh-keys` shows how",
            ));
        } else if matches!(self.inputs.keys, Keys::LeftOut) {
            let problem = Problem::new(
                &LEFT_OUT_KEYS,
                job.name,
                "the objects of this job contain no ssh Secret, and its pods wait for one",
            );
            self.problems.push(problem.hint(NAME_A_SECRET));
        }
    }

    /// Notes that the objects of a job contain its private keys, for output that is stored where others may read it.
    pub fn note_stored_keys(&mut self, job: &Job) {
        if !matches!(self.inputs.keys, Keys::Seed(_)) || !needs_our_keys(&job.spec) {
            return;
        }
        let problem = Problem::new(
            &KEYS_IN_RELEASE,
            job.name,
            "if Helm installs this job, its release contains the private ssh keys",
        );
        self.problems.push(problem.hint(NAME_A_SECRET));
    }

    /// Reports patches that do not fit the objects of a job.
    pub fn check_patches(&mut self, job: &Job) {
        patches::check(&job.spec, &job.kept, &job.patches, self.inputs, &mut self.problems);
    }

    /// The problems, in the order of the input, with their texts. With `--strict`, warnings become errors.
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

    /// Whether any problem prevents a render.
    pub fn fails(&self) -> bool {
        let worst = if self.inputs.strict { Severity::Warning } else { Severity::Error };
        self.problems.iter().any(|problem| problem.severity >= worst)
    }
}

/// The span of the name of a job.
fn name(document: &Node) -> Span {
    let name = document.get("metadata").and_then(|metadata| metadata.get("name"));
    name.map_or(document.span, |name| name.span)
}
