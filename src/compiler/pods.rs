//! Makes the files that pods run from a [`Plan`]: hostfile, scripts, configuration of ssh and sshd, and keys.
//!
//! [`Scripts`] are static text, one file per task; scripts/README.md lists them. Settings that differ between jobs are in
//! `job.sh`, in which [`words::word`] has quoted every value. The phase `kubernetes` puts all files into the run's
//! ConfigMap, which pods mount at `/etc/khorovod/scripts`.

pub mod keys;
pub mod scripts;
pub mod seed;
mod settings;
pub mod words;

use std::borrow::Cow;

use serde_json::json;

use crate::job::target::SshKeys;
use crate::job::valid::{
    DownloadSource, Gang, HealthPolicy, LauncherKind, Mpi, Progress, RankOrder, S3, Stall, Volume, VolumeSource,
};
use crate::plan::{Plan, Shape};
use crate::yaml::writer::Literal;
use scripts::scripts;

pub use scripts::{Scripts, without_comments};
pub use settings::launch;
pub use words::word;

/// One key of the run's ConfigMap.
#[derive(Debug, Clone)]
pub struct File {
    /// Its name in `/etc/khorovod/scripts`.
    pub name: &'static str,
    /// Its whole content.
    pub content: Content,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The same text for every job.
    Static(Literal),
    /// A text that depends on the job.
    Generated(String),
}

impl File {
    /// Its whole content as text.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.content {
            Content::Static(literal) => literal.text().into(),
            Content::Generated(text) => text.into(),
        }
    }
}

/// The revision of what pods run, which is part of every run's name.
///
/// Add 1 if pods get something else than before for the same spec: if a static script changes in more than comments, or if
/// `job.sh` or a workload is written differently. With the new revision, every job that is rendered again starts a new run.
/// Without it, `kubectl apply` would fail for jobs that an earlier version rendered, because Kubernetes does not change these
/// objects in place. `make test` fails until the number is raised, and `make bless` records it in `pods/revision.txt`.
pub const REVISION: u32 = 1;

/// All files of the run's pods. Files that the job's shape does not use are left out.
pub fn files(plan: &Plan, scripts: Scripts) -> Vec<File> {
    let mut files = Vec::with_capacity(24);
    files.push(generated("job.sh", settings::job(plan)));
    files.extend(scripts![scripts, "common.sh", "attempt.sh", "alive.sh", "ranks.sh", "signal.sh"]);
    if plan.spec.target.ssh_keys == SshKeys::Operator {
        // With the MPI Operator, `common.sh` also copies the keys of the operator.
        let [common, keys] = scripts![scripts, "common.sh", "operator-keys.sh"];
        files[1] = generated("common.sh", [common.text(), keys.text()].concat());
    }
    if plan.spec.security.run_as_user.is_none() {
        files.extend(scripts![scripts, "passwd.sh"]);
    }
    if let Some(transfers) = transfers(plan) {
        files.push(generated("s3.json", transfers));
        files.extend(scripts![scripts, "s3.sh"]);
    }
    if let Some(downloads) = downloads(plan) {
        files.push(generated("download.json", downloads));
        files.extend(scripts![scripts, "download.sh", "download.py"]);
    }
    // download.py imports it for an S3 volume.
    if plan.spec.storage.iter().any(|volume| matches!(volume.source, VolumeSource::S3(_))) {
        files.extend(scripts![scripts, "s3.py"]);
    }
    if let Some(passwd) = settings::passwd(plan) {
        files.push(generated("passwd", passwd));
    }
    let has_access = plan.own_job().is_some();
    if has_access {
        files.extend(scripts![scripts, "api.sh", "call.py"]);
    }
    let observability = &plan.spec.observability;
    if has_access || observability.launcher_metrics.is_some() {
        files.extend(scripts![scripts, "status.sh"]);
    }
    if observability.launcher_metrics.is_some() {
        files.extend(scripts![scripts, "metrics.py"]);
    }
    if has_access && observability.events {
        files.extend(scripts![scripts, "events.sh"]);
    }
    if observability.progress.is_some() {
        files.extend(scripts![scripts, "relay.py", "advance.sh"]);
    }
    if plan.spec.health_check.policy != HealthPolicy::Never {
        files.extend(scripts![scripts, "check.sh"]);
    }
    let watches_progress = plan.spec.lifecycle.stall.is_some();
    if watches_progress {
        files.extend(scripts![scripts, "stall.sh", "progress.sh", "evidence.sh"]);
    }
    if watches_progress || !gives_terminals(plan) {
        files.extend(scripts![scripts, "sitecustomize.py"]);
    }
    let is_output = |stall: &Stall| stall.file.is_none() && stall.metric.is_none();
    if plan.spec.lifecycle.stall.as_ref().is_some_and(is_output)
        || matches!(observability.progress, Some(Progress::Auto | Progress::Pattern(_)))
    {
        files.extend(scripts![scripts, "relay.sh"]);
    }
    if plan.shape == Shape::Agents {
        files.extend(scripts![scripts, "agent.sh", "agents.py"]);
        if plan.spec.launcher.kind.starts_processes() {
            files.extend(scripts![scripts, "processes.sh", "khorovod_frameworks.py"]);
        }
        if watches_progress {
            files.extend(scripts![scripts, "collect.py"]);
        }
        return files;
    }

    if let Some(hostfile) = &plan.hostfile {
        files.push(generated("hostfile", hostfile.clone()));
    }
    files.extend(scripts![scripts, "sshd_config", "ssh_config"]);
    files.extend(scripts![scripts, "worker.sh", "sshd.sh", "session.sh", "daemons.sh", "sweep.sh"]);
    files.extend(scripts![scripts, "launcher.sh", "ssh", "hosts.sh", "probe.sh", "wait.sh"]);
    match plan.spec.launcher.kind {
        LauncherKind::Mpirun => {
            files.extend(scripts![scripts, "mpi.sh", "rank.sh", "world.sh"]);
        }
        LauncherKind::Horovodrun if plan.spec.elastic.is_none() => files.extend(scripts![scripts, "rank.sh"]),
        LauncherKind::Deepspeed => files.extend(scripts![scripts, "rank.sh"]),
        // With the shell launcher, the user may call horovodrun with elastic options.
        LauncherKind::Shell => files.extend(scripts![scripts, "horovodrun", "discover.sh"]),
        _ => {}
    }
    if uses_tree(plan) {
        files.extend(scripts![scripts, "tree.sh", "srun", "order.sh"]);
    }
    if plan.spec.health_check.policy != HealthPolicy::Never {
        files.extend(scripts![scripts, "health.sh"]);
    }
    if has_access {
        files.extend(scripts![scripts, "guard.sh"]);
    }
    let rank_order = plan.spec.placement.topology.as_ref().and_then(|topology| topology.rank_order.as_ref());
    if let Some(order) = rank_order {
        files.extend(scripts![scripts, "topology.sh"]);
        if matches!(order, RankOrder::Measured) {
            files.extend(scripts![scripts, "distances.sh", "measure.sh"]);
        }
    }
    if plan.shape == Shape::IndexedJob {
        files.extend(scripts![scripts, "indexed.sh"]);
    } else if plan.scales() {
        files.extend(scripts![scripts, "scale.sh"]);
    }
    if has_access && plan.spec.scheduling.gang == Some(Gang::Native) {
        files.extend(scripts![scripts, "gang.sh"]);
    }
    if plan.spec.elastic.is_some() {
        files.extend(scripts![scripts, "discover.sh", "elastic.sh", "resume.py"]);
    }
    if plan.launch.is_empty() {
        files.extend(scripts![scripts, "idle.sh"]);
    }
    files
}

/// The smallest number of workers with which a launch uses a tree of ssh sessions. `tree.sh` has the same number.
const TREE_FROM: u32 = 65;

/// Whether the standard output of each rank is a terminal, so that Python writes each line at once. Open MPI opens a
/// terminal for each rank.
fn gives_terminals(plan: &Plan) -> bool {
    let launcher = &plan.spec.launcher;
    matches!(launcher.kind, LauncherKind::Mpirun | LauncherKind::Deepspeed) && launcher.mpi == Mpi::OpenMpi
}

/// Whether the launcher may reach the workers over a tree of ssh sessions. A tree needs a separate host key, which the keys of the
/// MPI Operator do not contain. It is made of the hosts of an attempt, which an elastic job changes while the attempt runs, and which an
/// interactive job does not have.
fn uses_tree(plan: &Plan) -> bool {
    plan.workers >= TREE_FROM
        && plan.spec.target.ssh_keys != SshKeys::Operator
        && plan.spec.elastic.is_none()
        && !plan.launch.is_empty()
}

/// The entries of the ConfigMap `<job>-current`: the current run, and the limits that may change while it runs.
pub fn current(plan: &Plan) -> Vec<(&'static str, String)> {
    let spec = &plan.spec;
    let mut entries = vec![
        ("run", plan.run.clone()),
        ("retries", spec.lifecycle.retries.to_string()),
        // The scripts compare this limit with a number of seconds, so `never` is written as a very large number.
        ("retries-reset-after", spec.lifecycle.retries_reset_after.unwrap_or(u32::MAX.into()).to_string()),
        ("wait-timeout", spec.lifecycle.start_timeout.to_string()),
        ("lost-timeout", spec.launcher.lost_timeout.to_string()),
    ];
    if let Some(retries) = spec.lifecycle.retries_without_progress {
        entries.push(("retries-without-progress", retries.to_string()));
    }
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
    File { name, content: Content::Generated(text) }
}

/// The S3 volumes that are uploaded, for `s3.py`, as JSON. None if there are none.
fn transfers(plan: &Plan) -> Option<String> {
    let volumes: Vec<_> = plan
        .spec
        .storage
        .iter()
        .filter_map(|volume| match &volume.source {
            VolumeSource::S3(s3) if s3.upload => Some(transfer(&volume.name, &volume.mount_path, s3)),
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

/// The volumes that one pod downloads and the others get from it, for `download.py`, as JSON. `None` if there are none.
fn downloads(plan: &Plan) -> Option<String> {
    let volumes: Vec<_> = plan.spec.storage.iter().filter_map(download).collect();
    (!volumes.is_empty()).then(|| serde_json::Value::Array(volumes).to_string())
}

/// One such volume.
fn download(volume: &Volume) -> Option<serde_json::Value> {
    let (name, path) = (&volume.name, &volume.mount_path);
    let download = match &volume.source {
        VolumeSource::Download(download) => download,
        VolumeSource::S3(s3) if !s3.upload => {
            return Some(json!({
                "name": name, "path": path, "s3": transfer(name, path, s3), "unpacks": false, "hasToken": false,
            }));
        }
        _ => return None,
    };
    let has_token = download.secret.is_some();
    Some(match &download.source {
        DownloadSource::HuggingFace { repository, revision, files } => json!({
            "name": name, "path": path, "huggingFace": repository, "revision": revision, "files": files,
            "unpacks": false, "hasToken": has_token,
        }),
        DownloadSource::Url { url, sha256, unpacks } => json!({
            "name": name, "path": path, "url": url, "sha256": sha256, "unpacks": unpacks, "hasToken": has_token,
        }),
    })
}

#[cfg(test)]
mod tests;
