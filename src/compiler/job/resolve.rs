//! Converts the declared fields to a [`Spec`]: fills in defaults, resolves units, and merges the fields of groups with
//! those of all workers.
//!
//! This step never fails. If a required field is missing, the reader has already reported a problem, and the resolved spec is not
//! used.

/// The text of an optional field.
macro_rules! text {
    ($field:expr) => {
        $field.as_ref().map(|at| at.value.0.clone())
    };
}

/// The number, word or flag of an optional field.
macro_rules! plain {
    ($field:expr) => {
        $field.as_ref().map(|at| at.value.0)
    };
}

mod cluster;
mod storage;
mod workers;

use std::borrow::Cow;

use self::cluster::{lifecycle, observability, patch, placement, scheduling, security, slurm};
use self::storage::storage;
use self::workers::{groups, health_check, launcher};
use super::declare;
use super::declare::OrDefault;
use super::declare::scalars::{Int, Table};
use super::read::At;
use super::types::KubeVersion;
use super::types::spec::*;
use super::types::target::Facts;

/// The defaults that were taken, with the paths of their fields.
#[derive(Default)]
struct Defaults(Vec<(Cow<'static, str>, String)>);

impl Defaults {
    /// Returns the value of a field. If it is the declared default, the default is recorded.
    fn take<V>(&mut self, path: &'static str, field: OrDefault<V>) -> V {
        self.0.extend(field.default.map(|default| (path.into(), default)));
        field.value
    }

    /// Returns the value `given`, or a default that depends on other fields. The default is recorded as the text
    /// `shown`.
    fn computed<V>(&mut self, path: &'static str, given: Option<V>, default: V, shown: &dyn ToString) -> V {
        given.unwrap_or_else(|| {
            self.0.push((path.into(), shown.to_string()));
            default
        })
    }

    /// Inserts `groups[index]` into the paths of the defaults of workers. The first `before` defaults were recorded earlier and
    /// do not change.
    fn name_group(&mut self, before: usize, index: usize) {
        for (path, _) in &mut self.0[before..] {
            if let Some(field) = path.strip_prefix("workers.") {
                *path = format!("workers.groups[{index}].{field}").into();
            }
        }
    }

    /// The defaults that have an effect with this target.
    fn of(self, target: &'static Facts) -> Vec<(Cow<'static, str>, String)> {
        const PODS: &[&str] = &[
            "security.",
            "ssh.",
            "placement.",
            "lifecycle.keepWorkers",
            "lifecycle.checkpoint",
            "lifecycle.stall",
            "workers.shm",
            "workers.groups",
            "launcher.runsIn",
            "workers.healthCheck",
            "workers.gpuResource",
            "lifecycle.startTimeout",
            "lifecycle.retriesResetAfter",
            "lifecycle.retriesWithoutProgress",
            "launcher.cpu",
            "launcher.memory",
        ];
        let about_pods = |path: &str| PODS.iter().any(|pods| path.starts_with(pods));
        self.0.into_iter().filter(|(path, _)| target.has_pods || !about_pods(path)).collect()
    }
}

/// Converts a document that was read to a spec.
pub fn resolve(job: &declare::TrainingJob, target: &'static Facts, kube_version: KubeVersion) -> Spec {
    let mut defaults = Defaults::default();
    let (body, metadata) = (&**section(job.spec.as_ref()), section(job.metadata.as_ref()));

    let scheduling = scheduling(body, kube_version);
    let launcher = launcher(body, target, &scheduling, &mut defaults);
    let runs_in = launcher.runs_in;
    if runs_in == LauncherPod::FirstWorker || launcher.runs_ranks {
        // The pod of the launcher has the resources of a worker, so these defaults have no effect.
        defaults.0.retain(|(path, _)| !["launcher.cpu", "launcher.memory"].contains(&&**path));
    }
    let keeps = body.lifecycle.as_ref().is_some_and(|at| at.keep_workers().value);
    let has_access = body.security.as_ref().is_none_or(|at| at.value.api_access().value);
    let calls_api = has_access && target.own_workloads && !keeps;
    if !calls_api {
        // No worker watches the launcher in this case, so the default has no effect.
        defaults.0.retain(|(path, _)| path != "launcher.lostTimeout");
    }
    let groups = groups(body, &mut defaults);
    let health_check = health_check(body, &groups, &mut defaults);
    let working_dir = text!(body.working_dir).or_else(|| body.code.as_ref().map(|code| code.mount_path().value.0));
    Spec {
        target,
        name: text!(metadata.name).unwrap_or_default(),
        namespace: text!(metadata.namespace),
        labels: pairs(metadata.labels.as_ref(), |key, value| (key.0.clone(), value.0.clone())),
        annotations: pairs(metadata.annotations.as_ref(), |key, value| (key.0.clone(), value.0.clone())),
        image: image(body),
        run_tag: text!(body.run_tag),
        command: command(body),
        working_dir,
        env: pairs(body.env.as_ref(), |name, value| EnvVar { name: name.0.clone(), value: env_value(value) }),
        env_from: items(body.env_from.as_ref()).map(env_from).collect(),
        code: body.code.as_ref().map(|at| code(at)),
        groups,
        health_check,
        compute_domain: body.workers.as_ref().and_then(|at| plain!(at.compute_domain)),
        launcher,
        elastic: elastic_workers(body).map(|at| elastic(at, &mut defaults)),
        ssh: ssh(body, &mut defaults),
        collective: body.collective.as_ref().map(|at| collective(at)).unwrap_or_default(),
        storage: storage(body),
        placement: placement(body, &mut defaults),
        scheduling,
        lifecycle: lifecycle(body, runs_in, &mut defaults),
        security: security(body, target, &mut defaults),
        observability: observability(body, calls_api, &mut defaults),
        slurm: slurm(body),
        patches: items(body.patches.as_ref()).filter_map(patch).collect(),
        defaults: defaults.of(target),
    }
}

/// A section of the spec or, if the spec does not have it, a section without fields.
fn section<T: Clone + Default>(field: Option<&At<T>>) -> Cow<'_, T> {
    field.map_or_else(Cow::default, |at| Cow::Borrowed(&at.value))
}

/// The items of a list.
fn items<T>(field: Option<&At<Vec<At<T>>>>) -> impl Iterator<Item = &T> {
    field.into_iter().flat_map(|at| &at.value).map(|at| &at.value)
}

/// The entries of a map.
fn pairs<K, V, T>(table: Option<&At<Table<K, V>>>, pair: impl Fn(&K, &V) -> T) -> Vec<T> {
    table.into_iter().flat_map(|at| &at.value.0).map(|(key, value)| pair(key, value)).collect()
}

fn image(body: &declare::Body) -> Image {
    match body.image.as_ref().map(|at| &at.value) {
        Some(declare::Image::Full(parts)) => Image {
            reference: match (text!(parts.name), text!(parts.digest)) {
                (Some(name), Some(digest)) => format!("{}@{digest}", name.split('@').next().unwrap_or_default()),
                (name, _) => name.unwrap_or_default(),
            },
            pull_policy: plain!(parts.pull_policy),
            pull_secrets: items(parts.pull_secrets.as_ref()).map(|name| name.0.clone()).collect(),
        },
        Some(declare::Image::Name(name)) => {
            Image { reference: name.0.clone(), pull_policy: None, pull_secrets: Vec::new() }
        }
        None => Image { reference: String::new(), pull_policy: None, pull_secrets: Vec::new() },
    }
}

/// The words of a command. A text runs under `bash -c`.
fn words(command: Option<&At<declare::CommandLine>>) -> Vec<String> {
    match command.map(|at| &at.value) {
        Some(declare::CommandLine::Words(words)) => words.clone(),
        Some(declare::CommandLine::Script(script)) => vec!["bash".to_owned(), "-c".to_owned(), script.clone()],
        None => Vec::new(),
    }
}

/// The command of every rank. If it is a script, the words of `args` are its parameters `$1`, `$2` and so on.
fn command(body: &declare::Body) -> Vec<String> {
    let mut words = words(body.command.as_ref());
    if let Some(declare::CommandLine::Script(_)) = body.command.as_ref().map(|at| &at.value) {
        words.extend(body.args.as_ref().filter(|args| !args.is_empty()).map(|_| "bash".to_owned()));
    }
    words.extend(items(body.args.as_ref()).map(|word| word.0.clone()));
    words
}

fn env_value(value: &declare::EnvValue) -> EnvValue {
    match value {
        declare::EnvValue::Literal(text) => EnvValue::Text(text.clone()),
        declare::EnvValue::From(from) => {
            let parts = |at: &At<declare::KeyRef>| {
                (
                    text!(at.name).unwrap_or_default(),
                    at.value.key.as_ref().map(|key| key.value.0.clone()).unwrap_or_default(),
                )
            };
            if let Some((name, key)) = from.secret_key_ref.as_ref().map(parts) {
                return EnvValue::Secret { name, key };
            }
            if let Some((name, key)) = from.config_map_key_ref.as_ref().map(parts) {
                return EnvValue::ConfigMap { name, key };
            }
            EnvValue::Field(from.field_ref.as_ref().and_then(|at| text!(at.field_path)).unwrap_or_default())
        }
    }
}

fn env_from(from: &declare::EnvFrom) -> EnvFrom {
    let secret = from.secret_ref.as_ref();
    let reference = section(secret.or(from.config_map_ref.as_ref()));
    let name = text!(reference.name).unwrap_or_default();
    EnvFrom {
        prefix: text!(from.prefix),
        source: if secret.is_some() { EnvFromSource::Secret(name) } else { EnvFromSource::ConfigMap(name) },
        optional: reference.optional().value,
    }
}

fn code(code: &declare::Code) -> Code {
    let source = match text!(code.config_map_name) {
        Some(name) => CodeSource::ConfigMap(name),
        None => CodeSource::Files(pairs(code.files.as_ref(), |name, text| (name.0.clone(), text.0.clone()))),
    };
    Code { mount_path: code.mount_path().value.0, source }
}

/// The field `workers.elastic`, if the spec has it.
pub fn elastic_workers(body: &declare::Body) -> Option<&At<declare::Elastic>> {
    body.workers.as_ref()?.value.elastic.as_ref()
}

fn elastic(given: &declare::Elastic, defaults: &mut Defaults) -> Elastic {
    let cooldown = given.cooldown.as_ref();
    Elastic {
        min_replicas: plain!(given.min_replicas).unwrap_or(1),
        max_replicas: plain!(given.max_replicas).unwrap_or(1),
        cooldown: cooldown.and_then(|at| Some((plain!(at.min)?, plain!(at.max)?))),
        timeout: defaults.take("workers.elastic.timeout", given.timeout()).0,
        reset_limit: plain!(given.reset_limit),
    }
}

fn ssh(body: &declare::Body, defaults: &mut Defaults) -> Ssh {
    let (given, none) = (section(body.ssh.as_ref()), declare::Ssh::default());
    let kind = body.launcher.as_ref().map(|launcher| launcher.kind().value.0);
    if kind.is_some_and(LauncherKind::has_agents) {
        // The pods that pass on downloads use a key of the Secret.
        let secret = text!(given.secret_name);
        return Ssh { port: port(none.port().value), secret, user: none.user().value.0 };
    }
    Ssh {
        port: port(defaults.take("ssh.port", given.port())),
        secret: text!(given.secret_name),
        user: given.user().value.0,
    }
}

fn port(number: Int<1, 65_535>) -> u16 {
    u16::try_from(number.0).unwrap_or(u16::MAX)
}

fn collective(given: &declare::Collective) -> Collective {
    Collective {
        debug: plain!(given.nccl_debug),
        interface: text!(given.interface),
        infiniband: given.infiniband.as_ref().map(|at| at.value),
        fusion_threshold: given.fusion_threshold.as_ref().map(|at| at.value.clone()),
        cycle_time: plain!(given.cycle_time),
        autotune: given.autotune.as_ref().map(|at| at.value),
        hierarchical_allreduce: given.hierarchical_allreduce.as_ref().map(|at| at.value),
        timeline: text!(given.timeline),
    }
}
