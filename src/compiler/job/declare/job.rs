//! Fields of the document itself, of the image, and of what every rank runs.

use serde_json::{Value as Json, json};

use super::{
    Collective, Launcher, Lifecycle, Observability, Patch, Placement, Scheduling, Security, Slurm, Ssh, Storage,
    Workers,
};
use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{choice, shape};
use crate::job::read::{AMBIGUOUS, At, Defs, Field, Item, Place, Reader, WRONG_TYPE, WayOut};
use crate::job::variables::{Library, number_of_word};
use crate::problem::Problem;
use crate::yaml::flow::quoted;
use crate::yaml::{Entry, Kind, Node, Scalar};

choice! {
    /// The version of this spec.
    ApiVersion -> () {
        "khorovod.dev/v1alpha1" => (), "The only version.";
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
        /// The name of the job, its namespace, and the labels and annotations of its objects.
        "metadata" (required) metadata: Metadata, example json!({"name": "mnist"});
        /// The training: its image, command, workers and everything else.
        "spec" (required) spec: Box<Body>, example json!({"image": "ghcr.io/acme/mnist:1.4", "command": ["python", "train.py"], "workers": {"replicas": 4, "gpus": 8}});
    }
}

shape! {
    /// The name of the job, its namespace, and the labels and annotations of its objects.
    Metadata {
        /// The name of the job. The name of every object starts with it. A job has one run at a time: a changed spec with the same name ends the earlier run. Keep the name short, at most about 36 characters: names of pods add the name of the run and the worker, and have at most 63 characters.
        "name" (required) name: Label, example "mnist";
        /// The namespace of every object. `-n` overrides it. Set one of them, unless you apply the objects to `default`: without a namespace, the permissions of the launcher are for `default`, so in another namespace it may not scale the workers. Default: none, and kubectl uses that of its context. A chart uses the namespace of the release.
        "namespace" namespace: Namespace, example "team-a";
        /// Labels of every object except pods, so that a changed label does not restart a run. For labels of pods, use `patches` with `target: {kind: Pod}`.
        "labels" labels: Table<LabelKey, LabelValue>, example json!({"team": "vision"});
        /// Annotations of every object except pods. For those of pods, use `patches` with `target: {kind: Pod}`.
        "annotations" annotations: Table<LabelKey, Text>, example json!({"acme.com/owner": "kim"});
    }
}

shape! {
    /// The training: its image, command, workers and everything else.
    Body {
        /// The image of every pod: a name, or a map with digest, pull policy and pull secrets. Required, but not used with `--target slurm`, whose ranks run directly on the nodes. The image needs bash, coreutils, findutils, sed, and curl or Python 3. The launchers mpirun, horovodrun, deepspeed and shell also need the client and the server of OpenSSH, and an MPI; horovodrun, deepspeed and torchrun need Horovod, DeepSpeed or PyTorch. The page images.md of the documentation has the list, and `image/check-image` reports what is missing.
        "image" (required) image: Image, example "ghcr.io/acme/mnist:1.4";
        /// Change this text to run an unchanged spec again. It is part of the hash that names the run. It is needed only while the Job of the earlier run exists: after `khorovod stop`, or after `lifecycle.ttlAfterFinished`, apply the spec or call `khorovod run` again. The Job of the earlier run stays until you delete it.
        "runTag" run_tag: Text, example "2";
        /// The command of every rank, without a launcher such as `mpirun` or `srun`. A list is the program and its arguments, without a shell; a text runs under `bash -c`. Default: an error, unless `launcher.interactive` is set.
        "command" command: CommandLine, example json!(["python", "train.py"]), example "python train.py --lr $LR";
        /// Arguments that are appended to a command that is a list. A command that is a text gets them as `"$@"`.
        "args" args: Vec<At<Text>>, example json!(["--epochs", "10"]);
        /// The working directory of the ranks. Default: `code.mountPath` if `code` is set, else that of the image.
        "workingDir" working_dir: Path, example "/workspace";
        /// Environment variables of every rank: a text, or a reference to the value. They override those that khorovod sets. Variables that the launcher needs, such as `RANK` or the host file of MPI, are an error. khorovod does not set `OMP_NUM_THREADS`: a library then starts as many threads per rank as it finds CPUs, and torchrun sets it to 1 if a worker has several ranks. Under Slurm, `slurm.setup` runs after these variables are set, and may change them.
        "env" env: Table<EnvName, EnvValue>, example json!({"LR": "0.1", "TOKEN": {"secretKeyRef": {"name": "hf", "key": "token"}}});
        /// Secrets and ConfigMaps of which each key becomes an environment variable.
        "envFrom" env_from: Vec<At<EnvFrom>>, example json!([{"secretRef": {"name": "wandb"}}]);
        /// Small scripts that khorovod puts into the pods, so that they need not be in the image.
        "code" code: Code, example json!({"files": {"train.py": "print('hello')"}});
        /// The pods that run ranks.
        "workers" (required) workers: Workers, example json!({"replicas": 4, "gpus": 8});
        /// The program that starts the ranks: its name, or a map with its options and the pod it runs in. Default: `mpirun`. If your program uses torch.distributed without MPI, write `torchrun`.
        "launcher" launcher: Launcher, example "torchrun", example json!({"kind": "mpirun", "mpi": "mpich"});
        /// Settings of ssh between the pods. Not with torchrun, jax and tensorflow.
        "ssh" ssh: Ssh, example json!({"secretName": "my-keys"});
        /// Settings of NCCL, Horovod and MPI. Variables in `env` override them, and other variables of these libraries belong there.
        "collective" collective: Collective, example json!({"interface": "eth0"});
        /// Volumes for data and results. Each is mounted in every worker and, unless it is `perWorker`, `s3` or `download`, also in the launcher pod.
        "storage" storage: Vec<At<Storage>>, example json!([{"name": "data", "mountPath": "/data", "existingClaim": "imagenet"}]);
        /// The nodes that the pods run on.
        "placement" placement: Placement, example json!({"nodeSelector": {"pool": "a100"}});
        /// Queues, gangs and schedulers.
        "scheduling" scheduling: Scheduling, example json!({"localQueue": "team-a"});
        /// How long the job may take, how often it is retried, and what happens after it.
        "lifecycle" lifecycle: Lifecycle, example json!({"deadline": "24h"});
        /// The permissions of the pods.
        "security" security: Security, example json!({"podSecurityLevel": "restricted"});
        /// Metrics, TensorBoard and logs.
        "observability" observability: Observability, example json!({"metrics": {"port": 9400}});
        /// Settings for Slurm clusters. Only the target `slurm` uses them.
        "slurm" slurm: Slurm, example json!({"partition": "ml", "time": "8h"});
        /// Strategic merge patches for the rendered objects. Use them for fields of Kubernetes that the spec does not have. The `target` of a patch is not the one of `--target`.
        "patches" patches: Vec<At<Patch>>, example json!([{"target": {"kind": "Job"}, "patch": {"metadata": {"annotations": {"a": "b"}}}}]);
    }
}

/// `command`: a text for `bash -c`, or words.
#[derive(Debug, Clone)]
pub enum CommandLine {
    /// Runs under `bash -c`.
    Script(String),
    /// The program and its arguments.
    Words(Vec<String>),
}

impl Field for CommandLine {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match &node.kind {
            Kind::List(items) if items.is_empty() => reader.invalid(
                node,
                "a command: the list is empty",
                Some(WayOut::Advice("name the program: `[python, train.py]`".to_owned())),
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
        /// The digest of the image. It takes precedence over the tag. Default: the tag of `name` decides, whose content may change.
        "digest" digest: Digest;
        /// When nodes pull the image. Default: that of Kubernetes, which is `Always` for the tag `latest` or without a tag, else `IfNotPresent`.
        "pullPolicy" pull_policy: PullPolicy, example "IfNotPresent";
        /// Secrets of type `kubernetes.io/dockerconfigjson` for a private registry.
        "pullSecrets" pull_secrets: Vec<At<ObjectName>>, example json!(["regcred"]);
    }
}

choice! {
    /// When nodes pull the image.
    PullPolicy -> &'static str {
        "Always" => "Always", "Ask the registry at every start.";
        "IfNotPresent" => "IfNotPresent", "Pull the image only if the node does not have it.";
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
        ImageParts::fields(path, depth, &mut |field| {
            each(&Place { is_short: field.parent == path && field.key == "name", ..*field });
        });
    }
}

/// Whether a key names the source of a value.
fn is_source(key: &str) -> bool {
    matches!(key, "valueFrom" | "secret" | "configMap" | "field") || key.ends_with("Ref")
}

fn lacks_quotes(node: &Node) -> bool {
    matches!(node.scalar(), Some(Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_) | Scalar::Trap(_)))
}

/// Reports a boolean without quotes for a variable that NCCL or Horovod reads as a number. Quotes alone would not correct it.
fn boolean_word(node: &Node, path: &str) -> Option<Problem> {
    let code = match node.scalar()? {
        Scalar::Bool(_) => &WRONG_TYPE,
        Scalar::Trap(_) => &AMBIGUOUS,
        _ => return None,
    };
    let word = node.written()?;
    let (library, number) = number_of_word(path.rsplit('.').next()?, word)?;
    let library = match library {
        Library::Nccl => "NCCL",
        Library::Horovod => "Horovod",
    };
    let message = format!("`{path}`: {library} reads a number, and `{word}` without quotes is a boolean");
    Some(
        Problem::new(code, node.span, message)
            .hint(format!("write `\"{number}\"`"))
            .fix(node.span, format!("\"{number}\"")),
    )
}

/// The value of a variable: a text, or a reference to the place of the text.
#[derive(Debug, Clone)]
pub enum EnvValue {
    /// The value itself.
    Literal(String),
    /// A reference to the value.
    From(Box<EnvSource>),
}

shape! {
    /// The source of a variable's value, as in a `valueFrom` of Kubernetes.
    EnvSource {
        /// A key of a Secret.
        "secretKeyRef" secret_key_ref: KeyRef, example json!({"name": "hf", "key": "token"});
        /// A key of a ConfigMap.
        "configMapKeyRef" config_map_key_ref: KeyRef, example json!({"name": "settings", "key": "rate"});
        /// A field of the pod.
        "fieldRef" field_ref: FieldRef, example json!({"fieldPath": "spec.nodeName"});
    }
    exactly one of ["secretKeyRef", "configMapKeyRef", "fieldRef"];
}

shape! {
    /// A key of a Secret or ConfigMap.
    KeyRef {
        /// The name of the Secret or ConfigMap.
        "name" (required) name: ObjectName, example "hf";
        /// The key.
        "key" (required) key: DataKey, example "token";
    }
}

shape! {
    /// A field of the pod.
    FieldRef {
        /// The path of the field.
        "fieldPath" (required) field_path: FieldPath, example "spec.nodeName";
    }
}

impl Field for EnvValue {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match &node.kind {
            // A map that names no source of a value was probably meant as a text that the program parses.
            Kind::Map(entries) if entries.iter().all(|entry| !is_source(&entry.key)) && !entries.is_empty() => {
                let message = format!("`{}` takes a string, not a map", reader.path());
                // `{value: 1}`, as in the list of a container.
                if let [Entry { key, value, .. }] = entries.as_slice()
                    && key == "value"
                    && let Some(text) = value.written()
                {
                    let problem = Problem::new(&WRONG_TYPE, node.span, message);
                    reader.push(problem.hint(format!("write `{}`", quoted(text))).fix(node.span, quoted(text)));
                    return None;
                }
                let hint = format!("write it as a string: `'{}'`", node.to_json());
                reader.refuse(&WRONG_TYPE, node, message, Some(hint))
            }
            Kind::Map(_) => EnvSource::read(node, reader).map(|from| Self::From(Box::new(from))),
            Kind::List(_) => {
                let message = format!("`{}` takes a string, not a list", reader.path());
                let hint = format!("write it as a string, such as `'{}'`", node.to_json());
                reader.refuse(&WRONG_TYPE, node, message, Some(hint))
            }
            _ if lacks_quotes(node) && reader.report_secret(node) => {
                let message = format!("`{}` takes a string, and the value lacks quotes", reader.path());
                let hint = "take it from a Secret, or put it in quotes".to_owned();
                let trap = matches!(node.scalar(), Some(Scalar::Trap(_)));
                reader.refuse(if trap { &AMBIGUOUS } else { &WRONG_TYPE }, node, message, Some(hint))
            }
            Kind::Scalar { .. } => match boolean_word(node, &reader.path()) {
                Some(problem) => {
                    reader.push(problem);
                    None
                }
                None => Text::read(node, reader).map(|text| Self::Literal(text.0)),
            },
        }
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({"anyOf": [Text::schema(defs), EnvSource::schema(defs)]})
    }
}

shape! {
    /// A Secret or ConfigMap of which each key becomes a variable.
    EnvFrom {
        /// The Secret.
        "secretRef" secret_ref: ObjectRef, example json!({"name": "wandb"});
        /// The ConfigMap.
        "configMapRef" config_map_ref: ObjectRef, example json!({"name": "settings"});
        /// A prefix for the names of the variables.
        "prefix" prefix: EnvName, example "APP_";
    }
    exactly one of ["secretRef", "configMapRef"];
}

shape! {
    /// A Secret or ConfigMap.
    ObjectRef {
        /// Its name.
        "name" (required) name: ObjectName, example "wandb";
        /// Whether the pods start if it does not exist.
        "optional" optional: bool, default false;
    }
}

shape! {
    /// Small scripts that khorovod puts into the pods, so that they need not be in the image.
    Code {
        /// The name of an existing ConfigMap. Each key is a file.
        "configMapName" config_map_name: ObjectName, example "my-scripts";
        /// Texts of files by name, each up to 200 KiB.
        "files" files: Table<FileName, Text>, example json!({"train.py": "print('hello')"});
        /// The directory of the files. The ranks start there, unless `workingDir` is set. It is read-only: write to a volume of `storage`, or to `/tmp`.
        "mountPath" mount_path: Path, default "/workspace";
    }
    exactly one of ["configMapName", "files"];
}
