//! Expectations: limits that a job must meet, in a file beside the spec or in the policy of an organisation. [`read`] reads the
//! file, and [`check`] compares a job with it.

use crate::job::declare::scalars::{Duration, Int, Word};
use crate::job::declare::{ApiVersion, PodSecurityLevel};
use crate::job::read::suggestions::{FieldIndex, nearest};
use crate::job::read::{At, Field, Reader};
use crate::job::types::spec::Spec;
use crate::job::types::{format_duration, matches_pattern};
use crate::job::{Texts, declare};
use crate::problem::{Problem, Span, codes};
use crate::yaml::{Kind, Node};
use declare::shapes::{choice, shape};

codes! {
    /// A job that does not meet an expectation
    ///
    /// The file that you give with `--expect` limits jobs, for example their number of GPUs. Change the job, or ask the owner
    /// of the file.
    Error UNEXPECTED = "expectation-not-met";

    /// An expectation that checks nothing, or that contradicts itself
    ///
    /// A number has either `exactly`, or `min`, `max` or both, with `min` at most as large as `max`. A list has at least one entry.
    Error BAD_EXPECTATION = "bad-expectation";

    /// A field of `requiredFields` or `forbiddenFields` that does not exist
    ///
    /// Write the path of a field below `spec`, such as `storage.hostPath`. `khorovod explain` lists the fields.
    Error EXPECTED_FIELD = "unknown-expected-field";
}

choice! {
    /// The kind of the document.
    ExpectationsKind -> () {
        "Expectations" => (), "Limits that jobs must meet.";
    }
}

shape! {
    /// Limits that every job must meet, for `khorovod validate --expect FILE`.
    Expectations {
        /// The version of the document.
        "apiVersion" (required) api_version: ApiVersion, example "khorovod.dev/v1alpha1";
        /// The kind of the document.
        "kind" (required) kind: ExpectationsKind, example "Expectations";
        /// The expectations.
        "expect" (required) expect: Expected, example serde_json::json!({"gpus": {"max": 64}});
    }
}

shape! {
    /// The expectations. Each is optional.
    Expected {
        /// The number of workers that run ranks. For an elastic job, every number from `minReplicas` to `maxReplicas` must meet the limits.
        "workers" workers: Bounds, example serde_json::json!({"max": 16});
        /// The number of ranks.
        "ranks" ranks: Bounds, example 32;
        /// The number of GPUs of all pods of the job, with the spares. For an elastic job, the number with `maxReplicas` workers.
        /// A number alone is the exact number. GPUs in `workers.gpus` and `workers.resources` count. GPUs that `patches` add, and
        /// devices of `workers.resourceClaims` without `gpuClaim`, do not count: to prevent them, add `patches` and
        /// `workers.resourceClaims` to `forbiddenFields`.
        "gpus" gpus: Bounds, example serde_json::json!({"max": 64});
        /// The most that a run may cost: its GPUs with the spares, multiplied by `lifecycle.deadline` in hours. A job with GPUs
        /// must have a deadline.
        "maxGpuHours" max_gpu_hours: Int<1, 100_000_000>, example 2000;
        /// The longest `lifecycle.deadline`. A job must have one.
        "maxDeadline" max_deadline: Duration, example "48h";
        /// The least strict `security.podSecurityLevel`, from strict to less strict: `restricted`, `openshift`, `baseline`,
        /// `privileged`. Changes by `patches` are not checked: to prevent them, add `patches` to `forbiddenFields`.
        "podSecurityLevel" pod_security_level: PodSecurityLevel, example "restricted";
        /// The images that `image` and `launcher.image` may name, as patterns for the whole text in the spec, with registry and tag. `*` stands
        /// for any characters: `ghcr.io/acme/*` allows `ghcr.io/acme/mnist:1.4` and `ghcr.io/acme/vision/a:1`, but not
        /// `ghcr.io/acme-evil/a:1`. Write the `/` before `*`: `ghcr.io/acme*` allows all three. No registry is added:
        /// `docker.io/*` does not allow `python:3.12`. Images that `patches` add are not checked: to prevent them, add `patches` to
        /// `forbiddenFields`.
        "images" images: Vec<At<Word>>, example serde_json::json!(["ghcr.io/acme/*"]);
        /// The namespaces that a job may be in. `*` stands for any characters.
        "namespaces" namespaces: Vec<At<Word>>, example serde_json::json!(["ml-*"]);
        /// Fields that a job must set, as paths below `spec` without the indexes of lists, such as `storage.hostPath`. A short form
        /// counts: `launcher: torchrun` sets `launcher.kind`, and an image with `@sha256:` sets `image.digest`. A default does not count.
        "requiredFields" required_fields: Vec<At<Word>>, example serde_json::json!(["lifecycle.deadline", "workers.memory"]);
        /// Fields that a job must not set, as paths below `spec` without the indexes of lists. A path may continue below `env` and
        /// `storage.persistentVolume.source`. To forbid paths of the host, forbid `storage.hostPath`, `storage.persistentVolume.source.hostPath`,
        /// `storage.persistentVolume.source.local` and `patches`: the level `restricted` does not refuse a PersistentVolume of them.
        "forbiddenFields" forbidden_fields: Vec<At<Word>>, example serde_json::json!(["storage.hostPath", "storage.persistentVolume.source.hostPath", "storage.persistentVolume.source.local", "patches"]);
    }
}

shape! {
    /// The limits of a number.
    Bounds {
        /// The smallest number.
        "min" min: Int<0, 100_000_000>, example 8;
        /// The largest number.
        "max" max: Int<0, 100_000_000>, example 64;
        /// The only number. You can also write this number instead of the map.
        "exactly" exactly: Int<0, 100_000_000>, example 32;
    }
    or a text for "exactly" as exactly: Int<0, 100_000_000>;
}

static INDEX: FieldIndex = FieldIndex::new(|each| Expectations::fields("", 0, each));

/// Reads a document with expectations, and pushes every problem with it.
pub fn read(document: &Node, texts: &dyn Texts, problems: &mut Vec<Problem>) -> Option<Expected> {
    let before = problems.len();
    let read = Expectations::read(document, &mut Reader::new(document, texts, &INDEX, problems))?;
    let expected = read.expect?.value;
    for at in [&expected.required_fields, &expected.forbidden_fields].into_iter().flatten().flat_map(|at| &at.value) {
        check_path(at, problems);
    }
    for (name, bounds) in [("workers", &expected.workers), ("ranks", &expected.ranks), ("gpus", &expected.gpus)] {
        problems.extend(bounds.as_ref().and_then(|bounds| check_bounds(name, bounds)));
    }
    let lists = [
        ("images", &expected.images),
        ("namespaces", &expected.namespaces),
        ("requiredFields", &expected.required_fields),
        ("forbiddenFields", &expected.forbidden_fields),
    ];
    for (name, list) in lists {
        if let Some(at) = list.as_ref().filter(|at| at.is_empty()) {
            let problem = Problem::new(&BAD_EXPECTATION, at.span, format!("the list `expect.{name}` is empty"));
            problems.push(problem.hint(format!("add an entry, or remove `{name}`")));
        }
    }
    if document.get("expect").is_some_and(|expect| expect.entries().is_empty()) {
        let span = document.get("expect").map_or(document.span, |expect| expect.span);
        let problem = Problem::new(&BAD_EXPECTATION, span, "`expect` has no expectation, so every job meets it");
        problems.push(problem.hint("add one, such as `gpus: {max: 64}`"));
    }
    (problems.len() == before).then_some(expected)
}

/// Maps whose keys are not declared, such as names of variables. A path may continue below them.
const FREE: &[&str] = &["env", "storage.persistentVolume.source"];

/// Reports limits that contradict each other, and limits without a number.
fn check_bounds(name: &str, bounds: &At<Bounds>) -> Option<Problem> {
    let problem = |span, message: String| Problem::new(&BAD_EXPECTATION, span, message);
    match (&bounds.exactly, &bounds.min, &bounds.max) {
        (Some(exactly), min, max) => {
            let (other, key) = min.as_ref().map(|min| (min, "min")).or(max.as_ref().map(|max| (max, "max")))?;
            let message = format!("`expect.{name}` has `{key}` beside `exactly`, which allows one number only");
            let hint = "keep `exactly`, or remove it and keep `min` and `max`";
            Some(problem(other.key, message).and(exactly.key, "`exactly` is here").hint(hint))
        }
        (None, None, None) => {
            let message = format!("`expect.{name}` has no limit, so every job meets it");
            Some(problem(bounds.span, message).hint(format!("write `{name}: {{max: 64}}`, or remove `{name}`")))
        }
        (None, Some(min), Some(max)) if min.0 > max.0 => {
            let message =
                format!("`min` ({}) of `expect.{name}` is above `max` ({}), so no job meets it", min.0, max.0);
            Some(problem(min.span, message).and(max.span, "the largest number").hint("swap the two"))
        }
        _ => None,
    }
}

/// The paths of all fields below `spec`, and whether a short form sets the field.
fn paths() -> Vec<(String, bool)> {
    let mut paths = Vec::new();
    declare::TrainingJob::fields("", 0, &mut |field| {
        let parent = field.parent.strip_prefix("spec").map(|below| below.trim_start_matches('.'));
        let path = parent.map(|parent| match parent {
            "" => field.key.to_owned(),
            parent => format!("{parent}.{}", field.key),
        });
        paths.extend(path.map(|path| (path, field.is_short)));
    });
    paths
}

/// Reports a path if the spec has no such field.
fn check_path(at: &At<Word>, problems: &mut Vec<Problem>) {
    let paths = paths();
    let mut paths = paths.iter().map(|(path, _)| path.as_str());
    let is_free =
        |path: &str| FREE.iter().any(|free| path.strip_prefix(free).is_some_and(|rest| rest.starts_with('.')));
    if !is_free(below_spec(&at.0)) && !paths.clone().any(|path| path == below_spec(&at.0)) {
        let hint = match nearest(below_spec(&at.0), &mut paths) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write a path such as `storage.hostPath`; `khorovod explain spec` lists the fields".to_owned(),
        };
        problems.push(Problem::new(&EXPECTED_FIELD, at.span, format!("`spec` has no field `{}`", at.0)).hint(hint));
    }
}

/// Compares a job with expectations, and pushes a problem for each that it does not meet.
pub fn check(expected: &Expected, document: &Node, spec: &Spec, problems: &mut Vec<Problem>) {
    let short = paths().into_iter().filter_map(|(path, is_short)| is_short.then_some(path)).collect();
    let check = Check { document, spec, short };
    let found = [
        check.number("workers", expected.workers.as_ref(), check.workers()),
        check.number("ranks", expected.ranks.as_ref(), check.ranks()),
        check.number("gpus", expected.gpus.as_ref(), check.gpus()),
        check.gpu_hours(expected),
        check.deadline(expected),
        check.level(expected),
        check.namespace(expected),
    ];
    problems.extend(found.into_iter().flatten());
    problems.extend(check.images(expected));
    problems.extend(check.required(expected));
    problems.extend(check.forbidden(expected));
}

/// The smallest and the largest value that a number can have during a job. The two differ only in an elastic job.
type Range = (u64, u64);

struct Check<'a> {
    document: &'a Node,
    spec: &'a Spec,
    /// The paths below `spec` of the fields that a short form sets.
    short: Vec<String>,
}

impl Check<'_> {
    /// The places of the keys at a path below `spec`, or of the value that is a short form of the field.
    fn places(&self, path: &str) -> Vec<Span> {
        let is_short = self.short.iter().any(|short| short == path);
        self.document.get("spec").map(|spec| places(spec, path, is_short)).unwrap_or_default()
    }

    /// The sum of a number over all workers. It is a range, because the number of workers of an elastic job varies. An elastic
    /// job has one group.
    fn sum(&self, of_worker: impl Fn(&crate::job::valid::Group) -> u64, with_spares: bool) -> Range {
        let spares = |group: &crate::job::valid::Group| if with_spares { u64::from(group.spares) } else { 0 };
        let leader = self.spec.groups.first().filter(|_| self.spec.launcher.runs_ranks);
        let beside = leader.map_or(0, &of_worker);
        let sum = self
            .spec
            .groups
            .iter()
            .map(|group| (u64::from(group.replicas) + spares(group)) * of_worker(group))
            .sum::<u64>();
        match (&self.spec.elastic, self.spec.groups.first()) {
            (Some(elastic), Some(group)) => {
                (u64::from(elastic.min_replicas) * of_worker(group), u64::from(elastic.max_replicas) * of_worker(group))
            }
            _ => (sum + beside, sum + beside),
        }
    }

    fn workers(&self) -> Range {
        self.sum(|_| 1, false)
    }

    fn ranks(&self) -> Range {
        self.sum(|group| group.slots.into(), false)
    }

    fn gpus(&self) -> Range {
        self.sum(|group| group.requested_gpus().into(), true)
    }

    /// The place of the first of these fields that the job sets. If it sets none of them, the place of the job's name.
    fn place(&self, paths: &[&str]) -> Span {
        let name = self.document.get("metadata").and_then(|metadata| metadata.get("name"));
        let set = paths.iter().find_map(|path| self.places(path).into_iter().next());
        set.unwrap_or_else(|| name.map_or(self.document.span, |name| name.span))
    }

    fn problem(&self, paths: &[&str], expected: Span, message: String, hint: impl Into<String>) -> Problem {
        Problem::new(&UNEXPECTED, self.place(paths), message).and(expected, "the expectation").hint(hint)
    }

    fn number(&self, name: &str, bounds: Option<&At<Bounds>>, (least, most): Range) -> Option<Problem> {
        let bounds = bounds?;
        let (min, max) = match &bounds.exactly {
            Some(exactly) => (Some(exactly), Some(exactly)),
            None => (bounds.min.as_ref(), bounds.max.as_ref()),
        };
        let (number, limit, side) = match (min, max) {
            (_, Some(max)) if most > u64::from(max.0) => (most, max, "at most"),
            (Some(min), _) if least < u64::from(min.0) => (least, min, "at least"),
            _ => return None,
        };
        let side = if bounds.exactly.is_some() { "exactly" } else { side };
        let what = if name == "gpus" { "GPUs" } else { name };
        let up_to = match (&self.spec.elastic, side) {
            (Some(elastic), "at most") => format!(" with {} workers", elastic.max_replicas),
            _ => String::new(),
        };
        let message = format!("the job has {number} {what}{up_to}, and {side} {} are expected", limit.0);
        let paths: &[&str] = match name {
            "gpus" if !up_to.is_empty() => &["workers.elastic.maxReplicas"],
            "gpus" => &["workers.gpus", "workers.resources", "workers.groups", "workers"],
            _ => &["workers.elastic", "workers.replicas", "workers.groups", "workers"],
        };
        Some(self.problem(paths, limit.span, message, format!("change the workers so that `{name}` fits")))
    }

    fn gpu_hours(&self, expected: &Expected) -> Option<Problem> {
        let limit = expected.max_gpu_hours.as_ref()?;
        let (_, gpus) = self.gpus();
        let Some(deadline) = self.spec.lifecycle.deadline else {
            let message = format!("the job has no deadline, and at most {} GPU hours are expected", limit.0);
            let hours = u64::from(limit.0).checked_div(gpus).unwrap_or_default();
            let hint = match hours {
                0 => "add `lifecycle: {deadline: …}`, and lower the number of GPUs".to_owned(),
                _ => format!("add `lifecycle: {{deadline: {}}}` or less", format_duration(hours * 3_600)),
            };
            return (gpus > 0).then(|| self.problem(&["lifecycle"], limit.span, message, hint));
        };
        let hours = (gpus * deadline).div_ceil(3_600);
        let message = format!(
            "the job may use {hours} GPU hours ({gpus} GPUs for {}), and at most {} are expected",
            format_duration(deadline),
            limit.0
        );
        (hours > u64::from(limit.0)).then(|| {
            self.problem(&["lifecycle.deadline"], limit.span, message, "lower the deadline or the number of GPUs")
        })
    }

    fn deadline(&self, expected: &Expected) -> Option<Problem> {
        let limit = expected.max_deadline.as_ref()?;
        let most = format_duration(limit.0);
        let message = match self.spec.lifecycle.deadline {
            Some(deadline) if deadline <= limit.0 => return None,
            Some(deadline) => format!("the deadline is {}, and at most {most} is expected", format_duration(deadline)),
            None => format!("the job has no deadline, and at most {most} is expected"),
        };
        let hint = format!("write `deadline: {most}` or less in `lifecycle`");
        Some(self.problem(&["lifecycle.deadline", "lifecycle"], limit.span, message, hint))
    }

    fn level(&self, expected: &Expected) -> Option<Problem> {
        let limit = expected.pod_security_level.as_ref()?;
        let word = |level| format!("{level:?}").to_ascii_lowercase();
        let given = self.spec.security.pod_security_level;
        let message = format!("the Pod Security level is `{}`, and `{}` is expected", word(given), word(limit.0));
        let hint = "remove `podSecurityLevel`, and the fields that need it";
        (given > limit.0).then(|| self.problem(&["security.podSecurityLevel"], limit.span, message, hint))
    }

    fn namespace(&self, expected: &Expected) -> Option<Problem> {
        let allowed = expected.namespaces.as_ref()?;
        let message = match &self.spec.namespace {
            Some(namespace) if matches_any(namespace, allowed) => return None,
            Some(namespace) => format!("the namespace is `{namespace}`, and {} is expected", list(allowed)),
            None => format!("the job names no namespace, and {} is expected", list(allowed)),
        };
        Some(self.problem(&[], allowed.span, message, "set `metadata.namespace`, or give `--namespace`"))
    }

    fn images(&self, expected: &Expected) -> Vec<Problem> {
        let Some(allowed) = &expected.images else { return Vec::new() };
        let images =
            [("image", Some(&self.spec.image.reference)), ("launcher.image", self.spec.launcher.image.as_ref())];
        let wrong = images.into_iter().filter_map(|(path, image)| Some((path, image?)));
        let wrong = wrong.filter(|(_, image)| !matches_any(image, allowed));
        let problem = |(path, image): (&str, &String)| {
            let message = format!("the image is `{image}`, and {} is expected", list(allowed));
            let is_below =
                |folder: &str| image.strip_prefix(folder).is_some_and(|rest| rest.starts_with(['/', ':', '@']));
            let hint = match allowed.iter().find(|pattern| is_below(pattern.0.trim_end_matches('/'))) {
                Some(folder) => format!(
                    "use an image that the expectation allows; a pattern is the whole name, so `{0}/*` allows every image below \
                     `{0}`",
                    folder.0.trim_end_matches('/')
                ),
                None => "use an image that the expectation allows".to_owned(),
            };
            self.problem(&[path], allowed.span, message, hint)
        };
        wrong.map(problem).collect()
    }

    fn required(&self, expected: &Expected) -> Vec<Problem> {
        let fields = expected.required_fields.iter().flat_map(|at| &at.value);
        let has_digest = |path: &str| path == "image.digest" && self.spec.image.reference.contains('@');
        let missing = fields.filter(|at| {
            let path = below_spec(&at.0);
            !has_digest(path) && self.places(path).is_empty()
        });
        let problem = |path: &At<Word>| {
            let parent = path.0.rsplit_once('.').map_or("spec", |(parent, _)| parent);
            self.problem(
                &[parent],
                path.span,
                format!("`{}` is expected, and the job does not set it", path.0),
                format!("set `{}`", path.0),
            )
        };
        missing.map(problem).collect()
    }

    fn forbidden(&self, expected: &Expected) -> Vec<Problem> {
        let fields = expected.forbidden_fields.iter().flat_map(|at| &at.value);
        let mut found = Vec::new();
        for path in fields {
            let field = path.0.rsplit('.').next().unwrap_or_default();
            for place in self.places(below_spec(&path.0)) {
                let message = format!("the job sets `{}`, which is not expected", path.0);
                let problem = Problem::new(&UNEXPECTED, place, message).and(path.span, "the expectation");
                found.push(problem.hint(format!("remove `{field}`")));
            }
        }
        found
    }
}

/// Removes `spec.`, which is optional, from the start of a path.
fn below_spec(path: &str) -> &str {
    path.strip_prefix("spec.").unwrap_or(path)
}

/// The places of the keys at a path below a node. If a node on the path is a list, the path continues in each of its
/// items. With `is_short`, a value in the place of the last map sets the field.
fn places(node: &Node, path: &str, is_short: bool) -> Vec<Span> {
    if !node.items().is_empty() {
        return node.items().iter().flat_map(|item| places(item, path, is_short)).collect();
    }
    match path.split_once('.') {
        Some((first, rest)) => node.get(first).map(|below| places(below, rest, is_short)).unwrap_or_default(),
        None if is_short && matches!(node.kind, Kind::Scalar { .. }) => vec![node.span],
        None => node.entry(path).map(|entry| entry.key_span).into_iter().collect(),
    }
}

fn matches_any(text: &str, patterns: &[At<Word>]) -> bool {
    patterns.iter().any(|pattern| matches_pattern(&pattern.0, text))
}

/// The patterns as alternatives in a sentence: `a` or `b`.
fn list(patterns: &[At<Word>]) -> String {
    crate::job::alternatives(&patterns.iter().map(|pattern| pattern.0.as_str()).collect::<Vec<_>>())
}
