//! What a pod mounts: scripts, keys, places to write, the user's storage and code.

use serde::Serialize;

use super::{Part, security};
use crate::job::quantity::Quantity;
use crate::job::valid::{CodeSource, LauncherKind, Volume as UserVolume, VolumeSource};
use crate::kubernetes::meta::{Named, Text};
use crate::kubernetes::{File, claim, config_map, secret};
use crate::plan::{GENERATED, Plan};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume<'a> {
    name: Text<'a>,
    #[serde(flatten)]
    source: Source<'a>,
}

/// Each in a struct of its own, which is written as it is; fields of a variant would be gathered first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Source<'a> {
    ConfigMap(ConfigMap<'a>),
    Secret(Secret<'a>),
    Projected(Projected<'a>),
    EmptyDir(EmptyDir<'a>),
    PersistentVolumeClaim(Claim<'a>),
    Ephemeral(Ephemeral<'a>),
    Nfs(Nfs<'a>),
    HostPath(HostPath<'a>),
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
    sources: Vec<Projection<'a>>,
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
#[serde(rename_all = "camelCase")]
struct Claim<'a> {
    claim_name: Text<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ephemeral<'a> {
    volume_claim_template: claim::Ephemeral<'a>,
}

#[derive(Debug, Serialize)]
struct Nfs<'a> {
    server: &'a str,
    path: &'a str,
}

#[derive(Debug, Serialize)]
struct HostPath<'a> {
    path: &'a str,
}

#[derive(Debug, Serialize)]
struct Item {
    key: &'static str,
    path: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Projection<'a> {
    config_map: Named<'a>,
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

/// Read and run by everyone; the mode of scripts and code.
const PROGRAMS: u16 = 0o555;
/// Read by the pod's own group alone, which `fsGroup` sets.
const SECRETS: u16 = 0o440;

/// A pod's volumes and mounts while they are gathered.
struct Shelf<'a> {
    plan: &'a Plan,
    volumes: Vec<Volume<'a>>,
    mounts: Vec<Mount<'a>>,
}

impl<'a> Shelf<'a> {
    fn add(&mut self, name: impl Into<Text<'a>>, path: impl Into<Text<'a>>, source: Source<'a>) -> &mut Mount<'a> {
        let name = name.into();
        let read_only = matches!(source, Source::ConfigMap(_) | Source::Secret(_) | Source::Projected(_));
        self.volumes.push(Volume { name: name.clone(), source });
        self.mount(name, path, read_only)
    }

    fn mount(&mut self, name: impl Into<Text<'a>>, path: impl Into<Text<'a>>, read_only: bool) -> &mut Mount<'a> {
        let mount = Mount { name: name.into(), path: path.into(), sub_path: None, read_only };
        self.mounts.push(mount);
        self.mounts.last_mut().expect("one was just added")
    }

    /// A place of ours to write to, unless the user puts something of their own there.
    fn scratch(&mut self, name: &'static str, path: &'static str, medium: Option<&'static str>, size: Option<&'a str>) {
        if self.plan.spec.storage.iter().all(|volume| volume.mount_path.trim_end_matches('/') != path) {
            self.add(name, path, Source::EmptyDir(EmptyDir { medium, size_limit: size }));
        }
    }
}

/// The pod's volumes and its container's mounts.
pub fn build<'a>(plan: &'a Plan, part: Part<'a>, files: &[File]) -> (Vec<Volume<'a>>, Vec<Mount<'a>>) {
    let spec = &plan.spec;
    let mut shelf = Shelf { plan, volumes: Vec::with_capacity(8), mounts: Vec::with_capacity(8) };
    let scripts = Source::ConfigMap(ConfigMap { name: plan.stem().into(), default_mode: PROGRAMS });
    shelf.add("khorovod-scripts", "/etc/khorovod/scripts", scripts);
    if files.iter().any(|file| file.name == "passwd") {
        shelf.mount("khorovod-scripts", "/etc/passwd", true).sub_path = Some("passwd");
    }
    if let Some(secret) = secret::name(plan) {
        let source =
            Source::Secret(Secret { secret_name: secret.into(), default_mode: SECRETS, items: keys(plan, part) });
        shelf.add("khorovod-keys", "/etc/khorovod/keys", source);
    }
    if part.launches() {
        let current = Source::ConfigMap(ConfigMap { name: config_map::current_name(plan).into(), default_mode: 0o444 });
        shelf.add("khorovod-current", "/etc/khorovod/current", current);
    }
    shelf.scratch("khorovod-generated", GENERATED, Some("Memory"), Some("64Mi"));
    if part.launches() && plan.spec.launcher.kind == LauncherKind::Shell {
        // Commands written for Kubeflow's openmpi component look for the hostfile there.
        shelf.mount("khorovod-generated", "/kubeflow/openmpi/assets", true);
    }
    if makes_passwd(files) {
        shelf.mount("khorovod-generated", "/etc/passwd", true).sub_path = Some("passwd");
    }
    if let Some(group) = part.ranks(plan) {
        shelf.scratch("khorovod-shm", "/dev/shm", Some("Memory"), Some(group.shm.as_str()));
    }
    shelf.scratch("khorovod-tmp", "/tmp", None, None);
    if security::root(&spec.security) && spec.security.read_only_root_filesystem {
        // Root's sshd wants a folder of its own there.
        shelf.scratch("khorovod-run", "/run", None, None);
    }
    code(&mut shelf);
    for (index, volume) in spec.storage.iter().enumerate() {
        storage(&mut shelf, part, index, volume);
    }
    (shelf.volumes, shelf.mounts)
}

/// Whether the pods make their passwd file themselves, since only they know their user id.
pub fn makes_passwd(files: &[File]) -> bool {
    files.iter().any(|file| file.name == "passwd.sh")
}

/// The mounts of the container that makes it.
pub fn for_passwd<'a>() -> Vec<Mount<'a>> {
    let mount = |name: &'static str, path: &'static str, read_only| Mount {
        name: name.into(),
        path: path.into(),
        sub_path: None,
        read_only,
    };
    vec![mount("khorovod-scripts", "/etc/khorovod/scripts", true), mount("khorovod-generated", GENERATED, false)]
}

/// The keys a part needs, and no other.
fn keys(plan: &Plan, part: Part) -> Vec<Item> {
    let launcher = part.launches().then_some(["id_ed25519", "known_hosts"]);
    let worker = part.serves(plan).then_some(["host_key", "authorized_keys"]);
    launcher.into_iter().chain(worker).flatten().map(|key| Item { key, path: key }).collect()
}

fn code(shelf: &mut Shelf) {
    let plan = shelf.plan;
    let Some(code) = &plan.spec.code else { return };
    let source = match &code.source {
        CodeSource::ConfigMap(name) => Source::ConfigMap(ConfigMap { name: name.into(), default_mode: PROGRAMS }),
        CodeSource::Files(_) => Source::Projected(Projected {
            default_mode: PROGRAMS,
            sources: (0..plan.code.len())
                .map(|index| Projection { config_map: Named { name: config_map::code_name(plan, index).into() } })
                .collect(),
        }),
    };
    shelf.add("khorovod-code", &code.mount_path, source);
}

fn storage<'a>(shelf: &mut Shelf<'a>, part: Part<'a>, index: usize, volume: &'a UserVolume) {
    let plan = shelf.plan;
    let claim = |name: Text<'a>| Source::PersistentVolumeClaim(Claim { claim_name: name });
    let source = match &volume.source {
        VolumeSource::Claim(_) | VolumeSource::PersistentVolume { .. } => claim(plan.spec.claim_of(volume).into()),
        VolumeSource::ExistingClaim(name) => claim(name.into()),
        VolumeSource::PerWorker(size) => match part {
            // The StatefulSet adds the volume of the same name.
            Part::Worker(_) => {
                let mount = shelf.mount(&volume.name, &volume.mount_path, volume.read_only);
                mount.sub_path = volume.sub_path.as_deref();
                return;
            }
            Part::Launcher if part.ranks(plan).is_none() => return,
            Part::Launcher => claim(claim::launcher_name(plan, volume).into()),
            Part::Index(_) => Source::Ephemeral(Ephemeral {
                volume_claim_template: claim::ephemeral(size, super::pod_labels(plan, part.name(), None)),
            }),
        },
        VolumeSource::Nfs { server, path } => Source::Nfs(Nfs { server, path }),
        VolumeSource::HostPath(path) => Source::HostPath(HostPath { path }),
        VolumeSource::EmptyDir { size } => {
            Source::EmptyDir(EmptyDir { medium: None, size_limit: size.as_ref().map(Quantity::as_str) })
        }
        VolumeSource::S3(s3) => {
            // Copied to and from where ranks run.
            if part.ranks(plan).is_none() {
                return;
            }
            if let Some(secret) = &s3.secret {
                let source =
                    Source::Secret(Secret { secret_name: secret.into(), default_mode: SECRETS, items: Vec::new() });
                shelf.add(format!("khorovod-s3-{index}"), format!("/etc/khorovod/s3/{}", volume.name), source);
            }
            Source::EmptyDir(EmptyDir { medium: None, size_limit: s3.size.as_ref().map(Quantity::as_str) })
        }
    };
    let mount = shelf.add(&volume.name, &volume.mount_path, source);
    mount.read_only = volume.read_only;
    mount.sub_path = volume.sub_path.as_deref();
}
