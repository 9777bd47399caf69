//! Fields about storage.

use serde_json::{Value as Json, json};

use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{choice, shape};
use crate::job::read::{At, Defs, Expected, Field, Item, Reader, WayOut};
use crate::job::types::quantity::Quantity;
use crate::yaml::Node;

shape! {
    /// A volume that is mounted in every worker and, unless it is `perWorker`, `s3` or `download`, also in the launcher pod. Exactly one field names its source.
    Storage {
        /// The name of the entry. Names of volumes and claims contain it.
        "name" (required) name: Label, example "data";
        /// Where it is mounted.
        "mountPath" (required) mount_path: Path, example "/data";
        /// Whether the pods may only read it. Not with `s3` and `download`, which fill a directory of the pod.
        "readOnly" read_only: bool, default false;
        /// The directory of the volume to mount. Default: its root.
        "subPath" sub_path: SubPath, example "imagenet/train";
        /// A PersistentVolumeClaim that khorovod renders. It stays when the job is deleted.
        "claim" claim: Claim, example json!({"size": "1Ti", "accessModes": ["ReadWriteMany"]});
        /// The name of an existing PersistentVolumeClaim. The user `security.runAsUser` must be able to write to its files.
        "existingClaim" existing_claim: ObjectName, example "team-nfs";
        /// One PersistentVolumeClaim per worker. It stays when the job is deleted. Only with `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow.
        "perWorker" per_worker: Claim, example json!({"size": "100Gi"});
        /// A directory on an NFS server. The user `security.runAsUser` must be able to write to it. Needs the Pod Security level `baseline`; under `restricted`, write `persistentVolume: {size: 1Ti, source: {nfs: {…}}}` instead.
        "nfs" nfs: Nfs, example json!({"server": "10.0.0.1", "path": "/exports/data"});
        /// A PersistentVolume that khorovod renders, with its claim.
        "persistentVolume" persistent_volume: PersistentVolume, example json!({"size": "1Ti", "source": {"nfs": {"server": "10.0.0.1", "path": "/data"}}});
        /// Objects in an S3 bucket, which are copied into every worker before the training, or out while it runs and after it. Only the files of the first worker are copied out, not the shards of other workers. If a copy stops, the next start of the container continues it: complete files, and complete ranges of 16 MiB, are not copied again.
        "s3" s3: S3, example json!({"bucket": "imagenet", "secretName": "s3-keys", "direction": "in"});
        /// A model or data set, which is downloaded once before the training and passed on from worker to worker. Each worker has its own copy on the disk of its node, which is deleted with its pod; a pod that takes its place gets the files from other workers. The workers authenticate each other with a key of ssh, so the job needs a seed or `ssh.secretName`, with every launcher.
        "download" download: Download, example json!({"huggingFace": "Qwen/Qwen3-8B", "revision": "b968826d9c46dd6066d109eabc6255188de91218"});
        /// A directory of the node. It must exist on every node, and the user `security.runAsUser` must be able to write to it. Needs the Pod Security level `privileged`.
        "hostPath" host_path: HostPath, example json!({"path": "/mnt/nvme"});
        /// A directory that is deleted with the pod.
        "emptyDir" empty_dir: EmptyDir, example json!({"sizeLimit": "50Gi"});
    }
    exactly one of ["claim", "existingClaim", "perWorker", "nfs", "persistentVolume", "s3", "download", "hostPath", "emptyDir"];
}

shape! {
    /// A PersistentVolumeClaim.
    Claim {
        /// The requested size.
        "size" (required) size: Quantity, example "1Ti";
        /// The StorageClass. Default: that of the cluster.
        "storageClassName" storage_class_name: ObjectName, example "fast";
        /// How it may be mounted. Default: `ReadWriteMany`, or `ReadWriteOnce` with `perWorker` or in a job of one worker.
        "accessModes" access_modes: Vec<At<AccessMode>>, example json!(["ReadWriteMany"]);
    }
}

choice! {
    /// How a claim may be mounted.
    AccessMode -> &'static str {
        "ReadWriteOnce" => "ReadWriteOnce", "By the pods of one node.";
        "ReadOnlyMany" => "ReadOnlyMany", "By many nodes, to read.";
        "ReadWriteMany" => "ReadWriteMany", "By many nodes.";
        "ReadWriteOncePod" => "ReadWriteOncePod", "By one pod.";
    }
}

shape! {
    /// A directory on an NFS server.
    Nfs {
        /// The name or address of the server.
        "server" (required) server: Host, example "10.0.0.1";
        /// The exported directory.
        "path" (required) path: Path, example "/exports/data";
    }
}

shape! {
    /// Objects in a bucket.
    S3 {
        /// The URL of the server, if it is not AWS: with `http` or `https`, a name or an address, and a port. Requests have the bucket in the path. The image must trust the certificate of the server. Default: that of AWS in `region`.
        "endpoint" endpoint: Endpoint, example "https://minio.example.org:9000";
        /// The bucket.
        "bucket" (required) bucket: Bucket, example "imagenet";
        /// Only objects below this folder of the bucket, with or without a `/` at its end. An empty prefix means the whole bucket.
        "prefix" prefix: Prefix, default "", example "train/";
        /// The region.
        "region" region: Region, default "us-east-1";
        /// A Secret with `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, as `kubectl create secret generic s3-keys --from-literal=AWS_ACCESS_KEY_ID=… --from-literal=AWS_SECRET_ACCESS_KEY=…` creates it. Default: the role that AWS gives to the ServiceAccount of `security.serviceAccountName`; without a role, a public bucket.
        "secretName" secret_name: ObjectName, example "s3-keys";
        /// Whether objects are copied in, out, or both.
        "direction" direction: Direction, default "in";
        /// How often files are copied out while the training runs. If a file changes while it is copied, the bucket keeps its earlier version, and the file is copied at the next interval.
        "uploadInterval" upload_interval: Period, default "10m", example "30m";
        /// The maximum size of the volume for the copies. Default: no limit.
        "sizeLimit" size_limit: Quantity, example "500Gi";
    }
}

choice! {
    /// Whether objects are copied in before the training, and out while it runs and after it.
    Direction -> (bool, bool) {
        "in" => (true, false), "Into every worker before the training. One worker downloads the objects, and the others get them from it. A retry on the same pods copies nothing again; a new pod gets all objects. Nothing is copied back.";
        "out" => (false, true), "Out of the first worker, while the training runs and after it. Before a retry, new workers get the files that this run has copied out, such as the newest checkpoint. A new run starts with an empty directory. No object is deleted.";
        "both" => (true, true), "Both: in before the training, and out as with `out`. A new run gets the files of earlier runs too, because they are in the bucket.";
    }
}

shape! {
    /// A model or data set on the Hugging Face Hub, or a file on a web server.
    Download {
        /// A repository of the Hugging Face Hub: a model, or a data set as `datasets/ORG/NAME`. For another server with the same API, set `HF_ENDPOINT` in `env`.
        "huggingFace" hugging_face: Repository, example "Qwen/Qwen3-8B";
        /// The commit of the repository, as 40 hexadecimal digits, not a branch. `git ls-remote https://huggingface.co/ORG/NAME` prints that of each branch. Only with `huggingFace`, which needs it.
        "revision" revision: Commit, example "b968826d9c46dd6066d109eabc6255188de91218";
        /// Only files of the repository that match one of these patterns, in which `*` stands for any characters. Only with `huggingFace`. Default: all files.
        "files" files: Vec<At<FilePattern>>, example json!(["*.safetensors", "*.json"]);
        /// The URL of a file. Its last part is the name of the file in the volume.
        "url" url: FileUrl, example "https://example.org/coco-2017.tar.gz";
        /// The SHA-256 digest of the file, as `sha256sum` prints it. The job fails if the file has another one. Only with `url`. Default: only the size is verified.
        "sha256" sha256: Sha256, example "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        /// Whether the file is an archive of tar or zip, which each worker unpacks into the volume and then removes. Only with `url`.
        "unpacks" unpacks: bool, default false;
        /// A Secret with the token that the server requires, as `kubectl create secret generic hf-token --from-literal=HF_TOKEN=…` creates it. With `url`, its key is `TOKEN`.
        "secretName" secret_name: ObjectName, example "hf-token";
        /// The maximum size of the volume. Default: no limit.
        "sizeLimit" size_limit: Quantity, example "50Gi";
    }
    exactly one of ["huggingFace", "url"];
}

shape! {
    /// A PersistentVolume and its claim.
    PersistentVolume {
        /// A Kubernetes volume source, such as `{nfs: {...}}` or `{csi: {...}}`.
        "source" (required) source: VolumeSource, example json!({"nfs": {"server": "10.0.0.1", "path": "/data"}});
        /// The capacity of the volume.
        "size" (required) size: Quantity, example "1Ti";
        /// How it may be mounted. Default: `ReadWriteMany`.
        "accessModes" access_modes: Vec<At<AccessMode>>, example json!(["ReadWriteMany"]);
    }
}

shape! {
    /// A directory of the node.
    HostPath {
        /// The directory.
        "path" (required) path: Path, example "/mnt/nvme";
    }
}

shape! {
    /// A directory that is deleted with the pod.
    EmptyDir {
        /// The maximum size. Default: no limit.
        "sizeLimit" size_limit: Quantity, example "50Gi";
    }
}

/// The volume sources of a PersistentVolume.
const SOURCES: &[&str] = &[
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// The source of a PersistentVolume: a map with one key, which is the type of the source. Its value is a map.
#[derive(Debug, Clone)]
pub struct VolumeSource(pub Json);

impl Field for VolumeSource {
    const ITEM: Item = Item::Map;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let entries = reader.map(node, Expected::Names)?;
        let unknown: Vec<_> = entries.iter().filter(|entry| !SOURCES.contains(&entry.key.as_str())).collect();
        for entry in &unknown {
            reader.unknown(entry, SOURCES);
        }
        let sources: Vec<_> = entries.iter().filter_map(|entry| reader.entry::<Fragment>(entry)).collect();
        if entries.len() != 1 && unknown.is_empty() {
            let hint = Some(WayOut::Advice("give one, such as `nfs: {server: 10.0.0.1, path: /data}`".to_owned()));
            return reader.invalid(node, "one volume source", hint);
        }
        (unknown.is_empty() && sources.len() == 1).then(|| Self(node.to_json()))
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "propertyNames": {"enum": SOURCES},
            "additionalProperties": Fragment::schema(defs),
        })
    }
}
