//! Resolves volumes and their sources.

use super::{elastic_workers, items};
use crate::job::declare;
use crate::job::read::At;
use crate::job::types::quantity::Quantity;
use crate::job::types::spec::{Claim, Download, DownloadSource, S3, Volume, VolumeSource};

pub fn storage(body: &declare::Body) -> Vec<Volume> {
    let several = |workers: &declare::Workers| {
        workers.groups.is_some()
            || plain!(workers.replicas).is_some_and(|replicas| replicas > 1)
            || plain!(workers.spares).is_some_and(|spares| spares > 0)
    };
    let grows = |elastic: &declare::Elastic| plain!(elastic.max_replicas).is_some_and(|most| most > 1);
    let runs_ranks = |launcher: &declare::Launcher| launcher.runs_ranks().value;
    let shared = body.workers.as_ref().is_some_and(|at| several(at))
        || elastic_workers(body).is_some_and(|at| grows(at))
        || body.launcher.as_ref().is_some_and(|at| runs_ranks(at));
    let default_modes = if shared { "ReadWriteMany" } else { "ReadWriteOnce" };
    items(body.storage.as_ref()).filter_map(|given| volume(given, default_modes)).collect()
}

fn volume(given: &declare::Storage, default_mode: &'static str) -> Option<Volume> {
    Some(Volume {
        name: text!(given.name).unwrap_or_default(),
        mount_path: text!(given.mount_path).unwrap_or_default(),
        read_only: given.read_only().value,
        sub_path: text!(given.sub_path),
        source: volume_source(given, default_mode)?,
    })
}

fn volume_source(given: &declare::Storage, default_mode: &'static str) -> Option<VolumeSource> {
    if let Some(at) = &given.claim {
        return Some(VolumeSource::Claim(claim(at, default_mode)));
    }
    if let Some(name) = text!(given.existing_claim) {
        return Some(VolumeSource::ExistingClaim(name));
    }
    if let Some(at) = &given.per_worker {
        return Some(VolumeSource::PerWorker(claim(at, "ReadWriteOnce")));
    }
    if let Some(at) = &given.nfs {
        return Some(VolumeSource::Nfs { server: text!(at.server)?, path: text!(at.path)? });
    }
    if let Some(at) = &given.persistent_volume {
        let claim = Claim {
            size: at.size.as_ref()?.value.clone(),
            storage_class: None,
            access_modes: modes(at.access_modes.as_ref(), "ReadWriteMany"),
        };
        return Some(VolumeSource::PersistentVolume { source: at.source.as_ref()?.value.0.clone(), claim });
    }
    if let Some(at) = &given.s3 {
        return Some(VolumeSource::S3(s3(at)?));
    }
    if let Some(at) = &given.download {
        return Some(VolumeSource::Download(download(at)?));
    }
    if let Some(path) = given.host_path.as_ref().and_then(|at| text!(at.path)) {
        return Some(VolumeSource::HostPath(path));
    }
    let empty = given.empty_dir.as_ref()?;
    Some(VolumeSource::EmptyDir { size: empty.size_limit.as_ref().map(|at| at.value.clone()) })
}

fn claim(given: &declare::Claim, default_mode: &'static str) -> Claim {
    Claim {
        size: given.size.as_ref().map_or(Quantity::units(0), |at| at.value.clone()),
        storage_class: text!(given.storage_class_name),
        access_modes: modes(given.access_modes.as_ref(), default_mode),
    }
}

fn modes(given: Option<&At<Vec<At<declare::AccessMode>>>>, default_mode: &'static str) -> Vec<&'static str> {
    match given {
        Some(at) if !at.is_empty() => at.iter().map(|mode| mode.0).collect(),
        _ => vec![default_mode],
    }
}

fn s3(given: &declare::S3) -> Option<S3> {
    let (download, upload) = given.direction().value.0;
    let mut prefix = given.prefix().value.0;
    if !prefix.is_empty() && !prefix.ends_with('/') {
        prefix.push('/');
    }
    Some(S3 {
        endpoint: text!(given.endpoint),
        bucket: text!(given.bucket)?,
        prefix,
        region: given.region().value.0,
        secret: text!(given.secret_name),
        download,
        upload,
        upload_interval: given.upload_interval().value.0,
        size: given.size_limit.as_ref().map(|at| at.value.clone()),
    })
}

fn download(given: &declare::Download) -> Option<Download> {
    let source = match text!(given.hugging_face) {
        Some(repository) => DownloadSource::HuggingFace {
            repository,
            // A rule reports a missing commit.
            revision: text!(given.revision).unwrap_or_default(),
            files: items(given.files.as_ref()).map(|pattern| pattern.0.clone()).collect(),
        },
        None => {
            DownloadSource::Url { url: text!(given.url)?, sha256: text!(given.sha256), unpacks: given.unpacks().value }
        }
    };
    Some(Download {
        source,
        secret: text!(given.secret_name),
        size: given.size_limit.as_ref().map(|at| at.value.clone()),
    })
}
