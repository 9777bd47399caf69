//! Resolves volumes and their sources.

use crate::job::declare;
use crate::job::read::At;
use crate::job::types::quantity::Quantity;
use crate::job::types::spec::{Claim, S3, Volume, VolumeSource};

pub fn storage(body: &declare::Body) -> Vec<Volume> {
    let several = |workers: &declare::Workers| {
        workers.groups.is_some() || plain!(workers.replicas).is_some_and(|replicas| replicas > 1)
    };
    let grows = |elastic: &declare::Elastic| plain!(elastic.max_workers).is_some_and(|most| most > 1);
    let runs_ranks = |launcher: &declare::Launcher| launcher.runs_ranks().value;
    let shared = body.workers.as_ref().is_some_and(|at| several(at))
        || body.elastic.as_ref().is_some_and(|at| grows(at))
        || body.launcher.as_ref().is_some_and(|at| runs_ranks(at));
    let default_modes = if shared { "ReadWriteMany" } else { "ReadWriteOnce" };
    body.storage.iter().flat_map(|at| &at.value).filter_map(|at| volume(at, default_modes)).collect()
}

fn volume(raw: &declare::Storage, default_mode: &'static str) -> Option<Volume> {
    Some(Volume {
        name: text!(raw.name).unwrap_or_default(),
        mount_path: text!(raw.mount_path).unwrap_or_default(),
        read_only: raw.read_only().value,
        sub_path: text!(raw.sub_path),
        source: volume_source(raw, default_mode)?,
    })
}

fn volume_source(raw: &declare::Storage, default_mode: &'static str) -> Option<VolumeSource> {
    if let Some(at) = &raw.claim {
        return Some(VolumeSource::Claim(claim(at, default_mode)));
    }
    if let Some(name) = text!(raw.existing_claim) {
        return Some(VolumeSource::ExistingClaim(name));
    }
    if let Some(at) = &raw.per_worker {
        return Some(VolumeSource::PerWorker(claim(at, "ReadWriteOnce")));
    }
    if let Some(at) = &raw.nfs {
        return Some(VolumeSource::Nfs { server: text!(at.server)?, path: text!(at.path)? });
    }
    if let Some(at) = &raw.persistent_volume {
        let claim = Claim {
            size: raw.size.as_ref()?.value.clone(),
            storage_class: None,
            access_modes: modes(raw.access_modes.as_ref(), "ReadWriteMany"),
        };
        return Some(VolumeSource::PersistentVolume { source: at.value.0.clone(), claim });
    }
    if let Some(at) = &raw.s3 {
        return Some(VolumeSource::S3(s3(at)?));
    }
    if let Some(path) = text!(raw.host_path) {
        return Some(VolumeSource::HostPath(path));
    }
    let empty = raw.empty_dir.as_ref()?;
    Some(VolumeSource::EmptyDir { size: empty.size.as_ref().map(|at| at.value.clone()) })
}

fn claim(raw: &declare::Claim, default_mode: &'static str) -> Claim {
    Claim {
        size: raw.size.as_ref().map_or(Quantity::units(0), |at| at.value.clone()),
        storage_class: text!(raw.storage_class),
        access_modes: modes(raw.access_modes.as_ref(), default_mode),
    }
}

fn modes(raw: Option<&At<Vec<At<declare::AccessMode>>>>, default_mode: &'static str) -> Vec<&'static str> {
    match raw {
        Some(at) if !at.is_empty() => at.iter().map(|mode| mode.0).collect(),
        _ => vec![default_mode],
    }
}

fn s3(raw: &declare::S3) -> Option<S3> {
    let (download, upload) = raw.direction().value.0;
    let mut prefix = raw.prefix().value.0;
    if !prefix.is_empty() && !prefix.ends_with('/') {
        prefix.push('/');
    }
    Some(S3 {
        endpoint: text!(raw.endpoint),
        bucket: text!(raw.bucket)?,
        prefix,
        region: raw.region().value.0,
        secret: text!(raw.secret),
        download,
        upload,
        size: raw.size.as_ref().map(|at| at.value.clone()),
    })
}
