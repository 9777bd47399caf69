//! Makes the files that pods run from a [`Plan`]: hostfile, scripts, configuration of ssh and sshd, and keys.
//!
//! Scripts are static text, one file per task; scripts/README.md lists them. Settings that differ between jobs are in
//! `job.sh`, in which [`words::word`] has quoted every value. The phase `kubernetes` puts all files into the run's
//! ConfigMap, which pods mount at `/etc/khorovod/scripts`.

pub mod keys;
pub mod seed;
mod settings;
pub mod words;

use std::borrow::Cow;

use serde_json::json;

use crate::job::target::SshKeys;
use crate::job::valid::{HealthPolicy, LauncherKind, Mpi, Progress, S3, Stall, VolumeSource};
use crate::plan::{Plan, Shape};

pub use settings::launch;
pub use words::word;

/// One key of the run's ConfigMap.
#[derive(Debug, Clone)]
pub struct File {
    /// Its name in `/etc/khorovod/scripts`.
    pub name: &'static str,
    /// Its whole content.
    pub text: Cow<'static, str>,
}

/// The revision of what pods run, which is part of every run's name.
///
/// Add 1 if pods get something else than before for the same spec: if a static script changes in more than comments, or if
/// `job.sh` or a workload is written differently. With the new revision, every job that is rendered again starts a new run.
/// Without it, `kubectl apply` would fail for jobs that an earlier version rendered, because Kubernetes does not change these
/// objects in place. `make test` fails until the number is raised, and `make bless` records it in `pods/revision.txt`.
pub const REVISION: u32 = 1;

/// A script or configuration file [without comments](without_comments). The comments are removed while khorovod itself is
/// compiled, so rendering a job does not spend time on it.
macro_rules! code {
    ($text:expr) => {{
        const SOURCE: &[u8] = $text.as_bytes();
        const LENGTH: usize = code_length(SOURCE);
        const CODE: [u8; LENGTH] = code(SOURCE);
        const TEXT: &str = match std::str::from_utf8(&CODE) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        };
        Cow::Borrowed(TEXT)
    }};
}

/// Static files by the name they are mounted under, without comments.
macro_rules! scripts {
    ($($name:literal),+ $(,)?) => {
        [$(File { name: $name, text: code!(include_str!(concat!("pods/scripts/", $name))) }),+]
    };
}

/// The index after the end of the line that starts at `at`.
const fn line_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        at += 1;
        if text[at - 1] == b'\n' {
            break;
        }
    }
    at
}

/// Whether the line `start..end` is neither blank nor a comment. The first line may be `#!`.
const fn is_code(text: &[u8], start: usize, end: usize) -> bool {
    let mut at = start;
    while at < end && matches!(text[at], b' ' | b'\t') {
        at += 1;
    }
    if at == end || text[at] == b'\n' {
        return false;
    }
    text[at] != b'#' || start == 0 && at + 1 < end && text[at + 1] == b'!'
}

/// The length of a text without comments.
const fn code_length(text: &[u8]) -> usize {
    let (mut at, mut length) = (0, 0);
    while at < text.len() {
        let end = line_end(text, at);
        if is_code(text, at, end) {
            length += end - at;
        }
        at = end;
    }
    length
}

/// A text without comments; `LENGTH` is its [`code_length`].
const fn code<const LENGTH: usize>(text: &[u8]) -> [u8; LENGTH] {
    let mut code = [0; LENGTH];
    let (mut at, mut length) = (0, 0);
    while at < text.len() {
        let end = line_end(text, at);
        if is_code(text, at, end) {
            while at < end {
                code[length] = text[at];
                length += 1;
                at += 1;
            }
        }
        at = end;
    }
    code
}

/// Removes blank lines and comments from a script or configuration file. Pods get the files without comments, so that an edit of
/// a comment does not change the rendered objects.
///
/// The scripts follow two rules that make this safe, and tests check them: every comment has its own line, and no line of a
/// quoted string starts with `#`.
pub fn without_comments(text: &str) -> String {
    let mut end = 0;
    let is_code = |line: &&str| {
        let start = end;
        end += line.len();
        is_code(text.as_bytes(), start, end)
    };
    text.split_inclusive('\n').filter(is_code).collect()
}

/// All files of the run's pods. Files that the job's shape does not use are left out.
pub fn files(plan: &Plan) -> Vec<File> {
    let mut files = Vec::with_capacity(24);
    files.push(generated("job.sh", settings::job(plan)));
    files.extend(scripts!["common.sh", "attempt.sh", "alive.sh", "ranks.sh", "signal.sh"]);
    if plan.spec.target.ssh_keys == SshKeys::Operator {
        // With the MPI Operator, `common.sh` also copies the keys of the operator.
        files[1].text =
            code!(concat!(include_str!("pods/scripts/common.sh"), include_str!("pods/scripts/operator-keys.sh")));
    }
    if plan.spec.security.run_as_user.is_none() {
        files.extend(scripts!["passwd.sh"]);
    }
    if let Some(transfers) = transfers(plan) {
        files.push(generated("s3.json", transfers));
        files.extend(scripts!["s3.sh", "s3.py"]);
    }
    if let Some(passwd) = settings::passwd(plan) {
        files.push(generated("passwd", passwd));
    }
    let has_access = plan.own_job().is_some();
    if has_access {
        files.extend(scripts!["api.sh", "call.py"]);
    }
    let observability = &plan.spec.observability;
    if has_access || observability.launcher_metrics.is_some() {
        files.extend(scripts!["status.sh"]);
    }
    if observability.launcher_metrics.is_some() {
        files.extend(scripts!["metrics.py"]);
    }
    if observability.progress.is_some() {
        files.extend(scripts!["relay.py"]);
    }
    if plan.spec.health_check.policy != HealthPolicy::Never {
        files.extend(scripts!["check.sh"]);
    }
    let watches_progress = plan.spec.lifecycle.stall.is_some();
    if watches_progress {
        files.extend(scripts!["stall.sh", "progress.sh", "evidence.sh", "sitecustomize.py"]);
    }
    let is_output = |stall: &Stall| stall.file.is_none() && stall.metric.is_none();
    if plan.spec.lifecycle.stall.as_ref().is_some_and(is_output)
        || matches!(observability.progress, Some(Progress::Auto | Progress::Pattern(_)))
    {
        files.extend(scripts!["relay.sh"]);
    }
    if plan.shape == Shape::Agents {
        files.extend(scripts!["agent.sh"]);
        if plan.spec.launcher.kind.starts_processes() {
            files.extend(scripts!["processes.sh", "khorovod_frameworks.py"]);
            if !watches_progress {
                files.extend(scripts!["sitecustomize.py"]);
            }
        }
        if plan.spec.elastic.is_none() {
            files.extend(scripts!["agents.py"]);
        }
        if watches_progress {
            files.extend(scripts!["collect.py"]);
        }
        return files;
    }

    if let Some(hostfile) = &plan.hostfile {
        files.push(generated("hostfile", hostfile.clone()));
    }
    files.extend(scripts!["sshd_config", "ssh_config"]);
    files.extend(scripts!["worker.sh", "sshd.sh", "session.sh", "sweep.sh"]);
    files.extend(scripts!["launcher.sh", "ssh", "hosts.sh", "probe.sh", "wait.sh"]);
    match plan.spec.launcher.kind {
        LauncherKind::Mpirun => {
            files.extend(scripts!["mpi.sh", "rank.sh", "world.sh"]);
            if launches_as_tree(plan) {
                files.extend(scripts!["tree.sh", "srun", "order.sh"]);
            }
        }
        LauncherKind::Horovodrun if plan.spec.elastic.is_none() => files.extend(scripts!["rank.sh"]),
        LauncherKind::Deepspeed => files.extend(scripts!["rank.sh"]),
        // With the shell launcher, the user may call horovodrun with elastic options.
        LauncherKind::Shell => files.extend(scripts!["horovodrun", "discover.sh"]),
        _ => {}
    }
    if plan.spec.health_check.policy != HealthPolicy::Never {
        files.extend(scripts!["health.sh"]);
    }
    if has_access {
        files.extend(scripts!["guard.sh"]);
    }
    if plan.spec.placement.topology.as_ref().is_some_and(|topology| !topology.rank_order.is_empty()) {
        files.extend(scripts!["topology.sh"]);
    }
    if plan.shape == Shape::IndexedJob {
        files.extend(scripts!["indexed.sh"]);
    } else if plan.scales() {
        files.extend(scripts!["scale.sh"]);
    }
    if plan.spec.elastic.is_some() {
        files.extend(scripts!["discover.sh", "elastic.sh"]);
    }
    if plan.launch.is_empty() {
        files.extend(scripts!["idle.sh"]);
    }
    files
}

/// The smallest number of workers with which a launch uses a tree of ssh sessions. `tree.sh` has the same number.
const TREE_FROM: u32 = 65;

/// Whether the daemons of MPI may be started over a tree of ssh sessions. A tree needs a separate host key, which the keys of the
/// MPI Operator do not contain.
fn launches_as_tree(plan: &Plan) -> bool {
    plan.workers >= TREE_FROM
        && matches!(plan.spec.launcher.mpi, Mpi::OpenMpi | Mpi::Mpich)
        && plan.spec.target.ssh_keys != SshKeys::Operator
}

/// The entries of the ConfigMap `<job>-current`: the current run, and the limits that may change while it runs.
pub fn current(plan: &Plan) -> Vec<(&'static str, String)> {
    let spec = &plan.spec;
    let mut entries = vec![
        ("run", plan.run.clone()),
        ("retries", spec.lifecycle.retries.to_string()),
        // The scripts compare it as a number of seconds, so `never` is written as a very large number.
        ("retries-reset-after", spec.lifecycle.retries_reset_after.unwrap_or(u32::MAX.into()).to_string()),
        ("wait-timeout", spec.lifecycle.start_timeout.to_string()),
        ("lost-timeout", spec.launcher.lost_timeout.to_string()),
    ];
    if !spec.lifecycle.final_exit_codes.is_empty() {
        let codes: Vec<_> = spec.lifecycle.final_exit_codes.iter().map(u8::to_string).collect();
        entries.push(("final-exit-codes", codes.join(" ")));
    }
    if plan.launch.is_empty() {
        entries.push(("idle-timeout", spec.launcher.idle_timeout.to_string()));
    }
    if let Some(stall) = &spec.lifecycle.stall {
        entries.push(("stall-timeout", stall.timeout.to_string()));
    }
    if let Some(deadline) = spec.lifecycle.deadline {
        entries.push(("deadline", deadline.to_string()));
    }
    entries
}

/// A generated file.
fn generated(name: &'static str, text: String) -> File {
    File { name, text: Cow::Owned(text) }
}

/// The S3 volumes for `s3.py`, as JSON. None if the job has no S3 volume.
fn transfers(plan: &Plan) -> Option<String> {
    let volumes: Vec<_> = plan
        .spec
        .storage
        .iter()
        .filter_map(|volume| match &volume.source {
            VolumeSource::S3(s3) => Some(transfer(&volume.name, &volume.mount_path, s3)),
            _ => None,
        })
        .collect();
    (!volumes.is_empty()).then(|| serde_json::Value::Array(volumes).to_string())
}

/// One S3 volume.
fn transfer(name: &str, path: &str, s3: &S3) -> serde_json::Value {
    let endpoint = s3.endpoint.clone().unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", s3.region));
    json!({
        "name": name,
        "path": path,
        "endpoint": endpoint.trim_end_matches('/'),
        "bucket": s3.bucket,
        "prefix": s3.prefix,
        "region": s3.region,
        "signed": s3.secret.is_some(),
        "download": s3.download,
        "upload": s3.upload,
    })
}

#[cfg(test)]
mod tests;
