//! The document itself, and what every rank runs.

use serde_json::{Value as Json, json};

use super::{
    Collective, Elastic, Launcher, Lifecycle, Observability, Patch, Placement, Scheduling, Security, Slurm, Ssh,
    Storage, Workers,
};
use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{choice, shape};
use crate::job::read::{AMBIGUOUS, At, Defs, Field, Item, Place, Reader, Shape, WRONG_TYPE, WayOut};
use crate::yaml::{Kind, Node, Scalar};

choice! {
    /// The version of this spec.
    ApiVersion -> () {
        "khorovod.dev/v1alpha1" => (), "The one version there is.";
    }
}

choice! {
    /// The kind of this document.
    DocumentKind -> () {
        "TrainingJob" => (), "One training job.";
    }
}

shape! {
    /// One training job. khorovod replaces it with plain Kubernetes objects; it is never sent to a cluster itself.
    TrainingJob {
        /// The version of the spec.
        "apiVersion" (required) api_version: ApiVersion, example "khorovod.dev/v1alpha1";
        /// The kind of the document.
        "kind" (required) kind: DocumentKind, example "TrainingJob";
        /// The job's name, where it lives, and what is written on its objects.
        "metadata" (required) metadata: Metadata, example json!({"name": "mnist"});
        /// What to run, on what, and how.
        "spec" (required) spec: Body, example json!({"image": "ghcr.io/acme/mnist:1.4", "command": ["python", "train.py"], "workers": {"replicas": 4, "gpus": 8}});
    }
}

shape! {
    /// The job's name, where it lives, and what is written on its objects.
    Metadata {
        /// The job's name. Every object's name starts with it; a short one leaves room for the names of pods.
        "name" (required) name: Label, example "mnist";
        /// The namespace written into every object. Else that of `-n`, else `default`; a chart's is its release's.
        "namespace" namespace: Namespace, example "team-a";
        /// Labels on every object. Not on pods: a changed label does not restart a run.
        "labels" labels: Table<LabelKey, LabelValue>, example json!({"team": "vision"}), in place;
        /// Annotations on every object. Not on pods.
        "annotations" annotations: Table<LabelKey, Text>, example json!({"acme.com/owner": "kim"}), in place;
    }
}

shape! {
    /// What to run, on what, and how.
    Body {
        /// The image of every pod. A name, or a map with digest, pull policy and pull secrets.
        "image" (required) image: Image, example "ghcr.io/acme/mnist:1.4";
        /// Change it to run the same text again. It has no other meaning.
        "rerun" rerun: Text, example "1";
        /// What every rank runs. A list is taken word by word; a text runs under `bash -c`.
        "command" command: CommandLine, example json!(["python", "train.py"]), example "python train.py --lr $LR";
        /// Words put behind the command.
        "args" args: Vec<At<Text>>, example json!(["--epochs", "10"]);
        /// The directory the ranks start in. Default: the image's own.
        "workdir" workdir: Path, example "/workspace";
        /// Environment variables of every rank: a text, or a place to take the value from. They win over what khorovod sets.
        "env" env: Table<EnvName, EnvValue>, example json!({"LR": "0.1", "TOKEN": {"secret": "hf", "key": "token"}});
        /// Secrets and ConfigMaps whose every key becomes an environment variable.
        "envFrom" env_from: Vec<At<EnvFrom>>, example json!([{"secret": "wandb"}]);
        /// Small scripts without an image build.
        "code" code: Code, example json!({"files": {"train.py": "print('hello')"}});
        /// The pods that run ranks.
        "workers" (required) workers: Workers, example json!({"replicas": 4, "gpus": 8});
        /// The program that starts the ranks, and the pod it runs in.
        "launcher" launcher: Launcher, example json!({"kind": "horovodrun"});
        /// Training that goes on while workers come and go. For `horovodrun` and `torchrun`.
        "elastic" elastic: Elastic, example json!({"minWorkers": 2, "maxWorkers": 8});
        /// How the pods reach each other by ssh.
        "ssh" ssh: Ssh, example json!({"secret": "my-keys"});
        /// NCCL, Horovod and MPI settings by their meaning. What stands in `env` wins.
        "collective" collective: Collective, example json!({"interface": "eth0"});
        /// Data in and results out: each entry is mounted in every worker.
        "storage" storage: Vec<At<Storage>>, example json!([{"name": "data", "mountPath": "/data", "existingClaim": "imagenet"}]);
        /// Which nodes the pods go to.
        "placement" placement: Placement, example json!({"nodeSelector": {"pool": "a100"}});
        /// Queues, gangs and schedulers.
        "scheduling" scheduling: Scheduling, example json!({"kueue": "team-a"});
        /// How long the job may take, and what becomes of it afterwards.
        "lifecycle" lifecycle: Lifecycle, example json!({"deadline": "24h"});
        /// What the pods may do.
        "security" security: Security, example json!({"profile": "restricted"});
        /// Metrics, TensorBoard and logs.
        "observability" observability: Observability, example json!({"metrics": {"port": 9400}});
        /// What only a Slurm cluster needs to know. Read by the slurm target alone.
        "slurm" slurm: Slurm, example json!({"partition": "ml", "time": "8h"});
        /// Merge patches laid over the rendered objects: the last resort that makes every Kubernetes field reachable.
        "patches" patches: Vec<At<Patch>>, example json!([{"target": {"kind": "Job"}, "patch": {"metadata": {"annotations": {"a": "b"}}}}]);
    }
}

/// `command`: a text for `bash -c`, or words.
#[derive(Debug, Clone)]
pub enum CommandLine {
    /// Runs under `bash -c`.
    Script(String),
    /// Runs as it stands.
    Words(Vec<String>),
}

impl Field for CommandLine {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match &node.kind {
            Kind::List(items) if items.is_empty() => reader.invalid(
                node,
                "a command: it has no words",
                Some(WayOut::Say("name the program: `[python, train.py]`".to_owned())),
            ),
            Kind::List(_) => {
                let words = Vec::<At<Text>>::read(node, reader)?;
                Some(Self::Words(words.into_iter().map(|word| word.value.0).collect()))
            }
            _ => Word::read(node, reader).map(|word| Self::Script(word.0)),
        }
    }

    fn schema(defs: &mut Defs) -> Json {
        let mut words = Vec::<At<Text>>::schema(defs);
        words["minItems"] = json!(1);
        json!({"anyOf": [Word::schema(defs), words]})
    }
}

/// `image`: a name, or a map.
#[derive(Debug, Clone)]
pub enum Image {
    /// The name alone.
    Name(ImageName),
    /// Name, digest, pull policy and secrets.
    Full(Box<ImageParts>),
}

shape! {
    /// An image with its digest, pull policy and pull secrets.
    ImageParts {
        /// The image's name, with its tag.
        "name" (required) name: ImageName, example "ghcr.io/acme/mnist:1.4";
        /// The digest to run, whatever the tag says by then.
        "digest" digest: Digest;
        /// When nodes pull the image. Default: Kubernetes' own rule.
        "pullPolicy" pull_policy: PullPolicy, example "IfNotPresent";
        /// Secrets of type `kubernetes.io/dockerconfigjson` for a private registry.
        "pullSecrets" pull_secrets: Vec<At<ObjectName>>, example json!(["regcred"]);
    }
}

choice! {
    /// When nodes pull the image.
    PullPolicy -> &'static str {
        "Always" => "Always", "Ask the registry at every start.";
        "IfNotPresent" => "IfNotPresent", "Use what the node has.";
        "Never" => "Never", "The image must be on the node.";
    }
}

impl Field for Image {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match &node.kind {
            Kind::Map(_) => ImageParts::read(node, reader).map(|parts| Self::Full(Box::new(parts))),
            _ => ImageName::read(node, reader).map(Self::Name),
        }
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({"anyOf": [ImageName::schema(defs), ImageParts::schema(defs)]})
    }

    fn fields(path: &str, depth: usize, each: &mut dyn FnMut(&Place<'_>)) {
        ImageParts::fields(path, depth, each);
    }
}

/// Whether a key says where a value comes from, here or in Kubernetes.
fn is_source(key: &str) -> bool {
    EnvSource::KEYS.contains(&key) || key == "valueFrom" || key.ends_with("Ref")
}

fn lacks_quotes(node: &Node) -> bool {
    matches!(node.scalar(), Some(Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_) | Scalar::Trap(_)))
}

/// A variable's value: a text, or a place to take it from.
#[derive(Debug, Clone)]
pub enum EnvValue {
    /// The value itself.
    Literal(String),
    /// Where it comes from.
    From(Box<EnvSource>),
}

shape! {
    /// Where the value of a variable comes from.
    EnvSource {
        /// A Secret's name; `key` says which of its keys.
        "secret" secret: ObjectName, example "hf";
        /// A ConfigMap's name; `key` says which of its keys.
        "configMap" config_map: ObjectName, example "settings";
        /// A field of the pod.
        "field" field: FieldPath, example "spec.nodeName";
        /// The key in the Secret or ConfigMap.
        "key" key: DataKey, example "token";
    }
    exactly one of ["secret", "configMap", "field"];
    "secret" needs "key";
    "configMap" needs "key";
}

impl Field for EnvValue {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match &node.kind {
            // No source, but something to be kept as a text.
            Kind::Map(entries) if entries.iter().all(|entry| !is_source(&entry.key)) && !entries.is_empty() => {
                let message = format!("`{}` takes a text, not a map", reader.path());
                let hint = format!("write it as a text: `'{}'`", node.to_json());
                reader.refuse(&WRONG_TYPE, node, message, Some(hint))
            }
            Kind::Map(_) => EnvSource::read(node, reader).map(|from| Self::From(Box::new(from))),
            Kind::List(_) => {
                let message = format!("`{}` takes a text, not a list", reader.path());
                let hint = format!("write it as a text, such as `'{}'`", node.to_json());
                reader.refuse(&WRONG_TYPE, node, message, Some(hint))
            }
            _ if lacks_quotes(node) && reader.secret(node) => {
                let message = format!("`{}` takes a text, and without quotes this is none", reader.path());
                let hint = "take it from a Secret, or put it in quotes".to_owned();
                let trap = matches!(node.scalar(), Some(Scalar::Trap(_)));
                reader.refuse(if trap { &AMBIGUOUS } else { &WRONG_TYPE }, node, message, Some(hint))
            }
            Kind::Scalar { .. } => Text::read(node, reader).map(|text| Self::Literal(text.0)),
        }
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({"anyOf": [Text::schema(defs), EnvSource::schema(defs)]})
    }
}

shape! {
    /// A Secret or ConfigMap whose every key becomes a variable.
    EnvFrom {
        /// A Secret's name.
        "secret" secret: ObjectName, example "wandb";
        /// A ConfigMap's name.
        "configMap" config_map: ObjectName, example "settings";
        /// Put before every variable's name.
        "prefix" prefix: EnvName, example "APP_";
        /// Whether the pods start without it.
        "optional" optional: bool, default false;
    }
    exactly one of ["secret", "configMap"];
}

shape! {
    /// Small scripts without an image build.
    Code {
        /// A ConfigMap that exists; each key is a file.
        "configMap" config_map: ObjectName, example "my-scripts";
        /// Files by name. Each may have up to 200 KiB.
        "files" files: Table<FileName, Text>, example json!({"train.py": "print('hello')"});
        /// Where the files appear; the ranks start there unless `workdir` says otherwise.
        "mountPath" mount_path: Path, default "/workspace";
    }
    exactly one of ["configMap", "files"];
}
