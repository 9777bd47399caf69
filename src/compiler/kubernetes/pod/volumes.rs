//! The volumes of a pod and the mounts of its container: scripts, keys, writable directories, and the storage and code of the
//! user. See [`build`].

use serde::Serialize;

use super::{PodKind, security};
use crate::job::quantity::Quantity;
use crate::job::valid::{CodeSource, Download, LauncherKind, S3, Volume as UserVolume, VolumeSource};
use crate::kubernetes::meta::{Entry, Text};
use crate::kubernetes::{File, claim, config_map, secret};
use crate::plan::{GENERATED, Plan};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume<'a> {
    name: Text<'a>,
    #[serde(flatten)]
    source: Source<'a>,
}

/// The source of a volume. Each variant has its own struct, so that serde writes it directly: with a struct variant under
/// `#[serde(flatten)]`, serde would first collect the fields in memory.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Source<'a> {
    ConfigMap(ConfigMap<'a>),
    Secret(Secret<'a>),
    Projected(Projected<'a>),
    EmptyDir(EmptyDir<'a>),
    PersistentVolumeClaim(Entry<Text<'a>>),
    Ephemeral(Entry<claim::Ephemeral<'a>>),
    Nfs(Nfs<'a>),
    HostPath(Entry<&'a str>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMap<'a> {
    name: Text<'a>,
    default_mode: u16,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Secret<'a> {
    secret_name: Text<'a>,
    default_mode: u16,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<Item>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Projected<'a> {
    default_mode: u16,
    sources: Vec<Entry<Entry<Text<'a>>>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EmptyDir<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    medium: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_limit: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Nfs<'a> {
    server: &'a str,
    path: &'a str,
}

#[derive(Debug, Serialize)]
struct Item {
    key: &'static str,
    path: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount<'a> {
    name: Text<'a>,
    #[serde(rename = "mountPath")]
    path: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_path: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    read_only: bool,
}

/// The file mode of scripts and code: everyone may read and execute them.
const EXECUTABLE_MODE: u16 = 0o555;
/// The file mode of secrets: only the owner and the group that `fsGroup` sets may read them.
const SECRET_MODE: u16 = 0o440;

/// Collects the volumes and mounts of a pod.
struct PodVolumes<'a> {
    plan: &'a Plan,
    volumes: Vec<Volume<'a>>,
    mounts: Vec<Mount<'a>>,
}

impl<'a> PodVolumes<'a> {
    /// Adds a volume and its mount.
    fn add(&mut self, name: impl Into<Text<'a>>, path: impl Into<Text<'a>>, source: Source<'a>) -> &mut Mount<'a> {
        let name = name.into();
        let read_only = matches!(source, Source::ConfigMap(_) | Source::Secret(_) | Source::Projected(_));
        self.volumes.push(Volume { name: name.clone(), source });
        self.mount(name, path, read_only)
    }

    /// Adds a mount of a volume.
    fn mount(&mut self, name: impl Into<Text<'a>>, path: impl Into<Text<'a>>, read_only: bool) -> &mut Mount<'a> {
        let mount = Mount { name: name.into(), path: path.into(), sub_path: None, read_only };
        self.mounts.push(mount);
        self.mounts.last_mut().expect("a mount was just added")
    }

    /// Adds a writable directory, unless the user mounts storage at the same path.
    fn empty_dir(
        &mut self,
        name: &'static str,
        path: &'static str,
        medium: Option<&'static str>,
        size: Option<&'a str>,
    ) {
        if self.plan.spec.storage.iter().all(|volume| volume.mount_path.trim_end_matches('/') != path) {
            self.add(name, path, Source::EmptyDir(EmptyDir { medium, size_limit: size }));
        }
    }
}

/// The volumes of a kind of pod, and the mounts of its container.
pub fn build<'a>(plan: &'a Plan, kind: PodKind<'a>, files: &[File]) -> (Vec<Volume<'a>>, Vec<Mount<'a>>) {
    let spec = &plan.spec;
    let mut pod = PodVolumes { plan, volumes: Vec::with_capacity(8), mounts: Vec::with_capacity(8) };
    let scripts = Source::ConfigMap(ConfigMap { name: plan.stem().into(), default_mode: EXECUTABLE_MODE });
    pod.add("khorovod-scripts", "/etc/khorovod/scripts", scripts);
    if files.iter().any(|file| file.name == "passwd") {
        pod.mount("khorovod-scripts", "/etc/passwd", true).sub_path = Some("passwd");
    }
    if let Some(secret) = secret::name(plan) {
        let source =
            Source::Secret(Secret { secret_name: secret.into(), default_mode: SECRET_MODE, items: keys(plan, kind) });
        pod.add("khorovod-keys", "/etc/khorovod/keys", source);
    }
    if kind.launches() || plan.own_job().is_some() {
        let current = Source::ConfigMap(ConfigMap { name: config_map::current_name(plan).into(), default_mode: 0o444 });
        pod.add("khorovod-current", "/etc/khorovod/current", current);
    }
    pod.empty_dir("khorovod-generated", GENERATED, Some("Memory"), Some("64Mi"));
    if kind.launches() && plan.spec.launcher.kind == LauncherKind::Shell {
        // Commands written for Kubeflow's openmpi component look for the hostfile there.
        pod.mount("khorovod-generated", "/kubeflow/openmpi/assets", true);
    }
    if creates_passwd(files) {
        pod.mount("khorovod-generated", "/etc/passwd", true).sub_path = Some("passwd");
    }
    if let Some(group) = kind.rank_group(plan) {
        pod.empty_dir("khorovod-shm", "/dev/shm", Some("Memory"), Some(group.shm.as_str()));
    }
    pod.empty_dir("khorovod-tmp", "/tmp", None, None);
    if security::may_be_root(&spec.security) && spec.security.read_only_root_filesystem {
        // As root, sshd needs a writable directory there.
        pod.empty_dir("khorovod-run", "/run", None, None);
    }
    code(&mut pod);
    for (index, volume) in spec.storage.iter().enumerate() {
        storage(&mut pod, kind, index, volume);
    }
    (pod.volumes, pod.mounts)
}

/// Whether an init container creates `/etc/passwd`, because the user id is known only in the pod.
pub fn creates_passwd(files: &[File]) -> bool {
    files.iter().any(|file| file.name == "passwd.sh")
}

/// The mounts of the init container that creates `/etc/passwd`.
pub fn passwd_mounts<'a>() -> Vec<Mount<'a>> {
    let mount = |name: &'static str, path: &'static str, read_only| Mount {
        name: name.into(),
        path: path.into(),
        sub_path: None,
        read_only,
    };
    vec![mount("khorovod-scripts", "/etc/khorovod/scripts", true), mount("khorovod-generated", GENERATED, false)]
}

/// The entries of the ssh Secret that a kind of pod needs.
fn keys(plan: &Plan, kind: PodKind) -> Vec<Item> {
    let launcher = kind.launches().then_some(["id_ed25519", "known_hosts"]);
    let worker = kind.runs_sshd(plan).then_some(["host_key", "authorized_keys"]);
    if !plan.uses_ssh() {
        // Only the pods that pass on downloads have a use for it.
        return vec![Item { key: "host_key", path: "host_key" }];
    }
    launcher.into_iter().chain(worker).flatten().map(|key| Item { key, path: key }).collect()
}

/// Adds the volume with the code of the user.
fn code(pod: &mut PodVolumes) {
    let plan = pod.plan;
    let Some(code) = &plan.spec.code else { return };
    let source = match &code.source {
        CodeSource::ConfigMap(name) => {
            Source::ConfigMap(ConfigMap { name: name.into(), default_mode: EXECUTABLE_MODE })
        }
        CodeSource::Files(_) => Source::Projected(Projected {
            default_mode: EXECUTABLE_MODE,
            sources: (0..plan.code.len())
                .map(|index| Entry("configMap", Entry("name", config_map::code_name(plan, index).into())))
                .collect(),
        }),
    };
    pod.add("khorovod-code", &code.mount_path, source);
}

/// Adds one volume of `spec.storage`.
fn storage<'a>(pod: &mut PodVolumes<'a>, kind: PodKind<'a>, index: usize, volume: &'a UserVolume) {
    let plan = pod.plan;
    let claim = |name: Text<'a>| Source::PersistentVolumeClaim(Entry("claimName", name));
    let source = match &volume.source {
        VolumeSource::Claim(_) | VolumeSource::PersistentVolume { .. } => claim(plan.spec.claim_of(volume).into()),
        VolumeSource::ExistingClaim(name) => claim(name.into()),
        VolumeSource::PerWorker(size) => match kind {
            // The StatefulSet creates the volume from its claim template with the same name.
            PodKind::Worker(_) => {
                let mount = pod.mount(&volume.name, &volume.mount_path, volume.read_only);
                mount.sub_path = volume.sub_path.as_deref();
                return;
            }
            PodKind::Launcher if kind.rank_group(plan).is_none() => return,
            PodKind::Launcher => claim(claim::launcher_name(plan, volume).into()),
            PodKind::Index(_) => Source::Ephemeral(Entry(
                "volumeClaimTemplate",
                claim::ephemeral(size, super::pod_labels(plan, kind.component(), None)),
            )),
        },
        VolumeSource::Nfs { server, path } => Source::Nfs(Nfs { server, path }),
        VolumeSource::HostPath(path) => Source::HostPath(Entry("path", path)),
        VolumeSource::EmptyDir { size } => {
            Source::EmptyDir(EmptyDir { medium: None, size_limit: size.as_ref().map(Quantity::as_str) })
        }
        VolumeSource::S3(S3 { secret, size, .. }) | VolumeSource::Download(Download { secret, size, .. }) => {
            // Only pods with ranks copy data.
            if kind.rank_group(plan).is_none() {
                return;
            }
            if let Some(secret) = secret {
                let what = if matches!(volume.source, VolumeSource::S3(_)) { "s3" } else { "download" };
                let source =
                    Source::Secret(Secret { secret_name: secret.into(), default_mode: SECRET_MODE, items: Vec::new() });
                let path = format!("/etc/khorovod/{what}/{}", volume.name);
                pod.add(format!("khorovod-{what}-{index}"), path, source);
            }
            Source::EmptyDir(EmptyDir { medium: None, size_limit: size.as_ref().map(Quantity::as_str) })
        }
    };
    let mount = pod.add(&volume.name, &volume.mount_path, source);
    mount.read_only = volume.read_only;
    mount.sub_path = volume.sub_path.as_deref();
}
