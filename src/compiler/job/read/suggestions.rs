//! Suggestions for unknown fields: fields that belong in another map, and names that Kubernetes and the operators use. Also
//! suggestions for single values that are written instead of a map.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{Place, other_names};
use crate::job::types::quantity::Quantity;
use crate::yaml::flow::{flow, quoted};
use crate::yaml::{Entry, Node};

/// Words that other systems use, and the word of this spec with the same meaning.
const WORDS: &[(&str, &str)] = &[
    ("accelerate", "torchrun"),
    ("ddp", "torchrun"),
    ("flax", "jax"),
    ("horovod", "horovodrun"),
    ("keras", "tensorflow"),
    ("mpi", "mpirun"),
    ("mpiexec", "mpirun"),
    ("pytorch", "torchrun"),
    ("ROX", "ReadOnlyMany"),
    ("RWO", "ReadWriteOnce"),
    ("RWOP", "ReadWriteOncePod"),
    ("RWX", "ReadWriteMany"),
    ("tf", "tensorflow"),
    ("torch", "torchrun"),
];

/// The known word that is nearest to `word`, which may be misspelt. None if no known word is near.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let plain_word = plain(word);
    let (length, far) = (plain_word.chars().count(), |candidate: &str| 1 + candidate.len().min(word.len()) / 4);
    known
        // The input may contain a very long word. The time and the memory for the edit distance grow with the length of the
        // words.
        .filter(|candidate| plain(candidate).len().abs_diff(length) <= far(candidate))
        .map(|candidate| (strsim::damerau_levenshtein(&plain_word, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= far(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The word among `known` that was probably meant by `word`: a similar word, or the only one that begins with `word`.
pub fn nearest_word<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    nearest(word, known.iter().copied()).or_else(|| {
        let mut begun = known.iter().filter(|known| word.len() > 3 && known.starts_with(word));
        begun.next().filter(|_| begun.next().is_none()).copied()
    })
}

/// Words as alternatives in a sentence: `a`, `b` or `c`.
pub fn alternatives(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., final_one] => format!("{} or {final_one}", others.join(", ")),
    }
}

/// The word among `known` that was probably meant by `word`, which may also be a word of another system.
pub fn word<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let meant = WORDS.iter().find(|(other, _)| other.eq_ignore_ascii_case(word)).map(|(_, ours)| *ours);
    // A signal without `SIG`, such as `USR1`.
    let signal =
        known.iter().find(|known| known.strip_prefix("SIG").is_some_and(|name| name.eq_ignore_ascii_case(word)));
    let meant = known.iter().find(|known| Some(**known) == meant).or(signal);
    meant.copied().or_else(|| nearest_word(word, known))
}

/// Converts a field of Kubernetes to a field of this spec. Returns the name and the whole text of the new field, or `None`
/// if `known` does not contain this name.
pub fn rewritten<'k>(entry: &Entry, known: &[&'k str]) -> Option<(&'k str, String)> {
    let entry = if entry.key == "valueFrom" { entry.value.entries().first()? } else { entry };
    let inner = entry.value.get("claimName").and_then(Node::text).filter(|_| entry.key == "persistentVolumeClaim");
    let (key, value) = match inner {
        Some(name) => ("existingClaim", quoted(name)),
        None => (entry.key.as_str(), flow(&entry.value.to_json())),
    };
    let ours = known.iter().find(|known| **known == key)?;
    Some((ours, format!("{ours}: {value}")))
}

/// The field of `spec`, which has the fields `known`, that a key of the document was meant to be: a key in the first column
/// instead of below `spec`. It may be misspelt.
pub fn field_of_spec<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    const TOP: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
    let exact = || known.iter().copied().find(|known| *known == key);
    let is_top = || nearest(key, TOP.into_iter()).is_some();
    exact().or_else(|| nearest(key, known.iter().copied()).filter(|_| !is_top()))
}

/// Whether a name has the form of an environment variable, such as `NCCL_DEBUG`.
fn is_variable(name: &str) -> bool {
    name.contains('_') && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The variables of a container or of `docker run -e`, as lines of a map. `None` if one of them has another form.
/// If several entries have the same name, only the last one is returned.
pub fn variables(items: &[Node]) -> Option<Vec<String>> {
    let line = |item: &Node| {
        if let Some(text) = item.text() {
            return assigned(text);
        }
        let name = item.get("name")?.text()?;
        let value = match (item.entry("value"), item.entry("valueFrom")) {
            (Some(value), None) => quoted(value.value.written()?),
            (None, Some(from)) => flow(&from.value.to_json()),
            _ => return None,
        };
        Some(format!("{name}: {value}"))
    };
    let lines = items.iter().map(line).collect::<Option<Vec<String>>>().filter(|lines| !lines.is_empty())?;
    // If two entries have the same name, Kubernetes uses the last one.
    let name = |line: &String| line.split_once(':').map_or("", |(name, _)| name).to_owned();
    let is_last = |at: &usize| lines[at + 1..].iter().all(|later| name(later) != name(&lines[*at]));
    Some((0..lines.len()).filter(is_last).map(|at| lines[at].clone()).collect())
}

/// Converts `A=b` to a line of a map. `None` if the text has another form.
fn assigned(text: &str) -> Option<String> {
    let (name, value) = text.split_once('=')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.is_empty();
    is_name.then(|| format!("{name}: {}", quoted(value)))
}

/// Whether the ranks of a job probably have a GPU each: its image or its launcher is one for GPUs.
pub fn uses_gpus(document: &Node) -> bool {
    let spec = document.get("spec");
    let text = |key: &str, below: &str| {
        let value = spec.and_then(|spec| spec.get(key));
        value.and_then(|value| value.get(below).or(Some(value))?.text()).unwrap_or_default().to_ascii_lowercase()
    };
    let (image, launcher) = (text("image", "name"), text("launcher", "kind"));
    let is_for_gpus = ["torch", "cuda", "gpu", "nvidia", "nvcr.io", "rocm"].iter().any(|word| image.contains(word));
    (is_for_gpus || ["torchrun", "deepspeed"].contains(&launcher.as_str())) && !image.contains("cpu")
}

/// Whether the name of an image shows that it has PyTorch, without MPI or Horovod.
pub fn is_pytorch(image: &str) -> bool {
    let name = image.to_ascii_lowercase();
    name.contains("torch") && !name.contains("horovod") && !name.contains("mpi")
}

/// The hint for code that is not in the spec.
pub const NO_FOLDERS: &str = "khorovod does not read folders or repositories: put the code into the image, or on a volume of `storage` with `workingDir`";

/// Calls a function with every field of a document.
type Fields = fn(&mut dyn FnMut(&Place<'_>));

/// The name of every field, with the maps that contain a field of this name. If such maps have different depths, only
/// those nearest to the top are listed. The index is built when a suggestion first needs it.
#[derive(Debug)]
pub struct FieldIndex {
    fields: Fields,
    homes: OnceLock<HashMap<&'static str, Vec<String>>>,
}

impl FieldIndex {
    /// The index of the fields that `fields` lists.
    pub const fn new(fields: Fields) -> Self {
        Self { fields, homes: OnceLock::new() }
    }

    fn homes(&self) -> &HashMap<&'static str, Vec<String>> {
        self.homes.get_or_init(|| {
            let mut homes: HashMap<&str, (usize, Vec<String>)> = HashMap::new();
            (self.fields)(&mut |field| {
                let Place { depth, parent: path, key, .. } = *field;
                let (level, found) = homes.entry(key).or_insert((depth, Vec::new()));
                if depth < *level {
                    (*level, *found) = (depth, Vec::new());
                }
                if *level == depth && !path.is_empty() && found.last().is_none_or(|last| last != path) {
                    found.push(path.to_owned());
                }
            });
            homes.into_iter().map(|(name, (_, found))| (name, found)).collect()
        })
    }

    /// The fields of the map at `path`, in the order of their declarations.
    pub fn keys(&self, path: &str) -> Vec<&'static str> {
        let mut keys = Vec::new();
        (self.fields)(&mut |field| {
            if field.parent == path {
                keys.push(field.key);
            }
        });
        keys
    }

    /// Whether the spec has a field of this name anywhere.
    pub fn contains(&self, name: &str) -> bool {
        self.homes().contains_key(name)
    }

    /// Whether the map at `home` is the only one nearest to the top that has a field of this name.
    pub fn is_only_in(&self, name: &str, home: &str) -> bool {
        self.homes().get(name).is_some_and(|homes| matches!(homes.as_slice(), [only] if only == home))
    }

    /// Adds the missing space after the colon of a field: `gpus:8` becomes `gpus: 8`. None for any other text.
    pub fn missing_space(&self, text: &str) -> Option<String> {
        let (key, value) = text.split_once([':', '='])?;
        let word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // `s3://bucket` is a URL.
        let one = !value.is_empty() && !value.starts_with("//") && !text.contains(char::is_whitespace);
        (word && one && self.contains(key)).then(|| format!("{key}: {value}"))
    }

    /// The hint for `name`, which the map at `path` does not have.
    pub fn hint(&self, name: &str, path: &str) -> Option<String> {
        if ["mpirun", "horovodrun", "torchrun", "deepspeed", "jax", "tensorflow"].contains(&name) {
            return Some(format!("write `launcher: {name}`"));
        }
        let hint = match name {
            "op" | "path" | "value" | "from" if path.contains("patches[") => {
                "a JSON patch is not supported: write the changed fields as in a manifest, such as `patch: {spec: {backoffLimit: 3}}`"
            }
            "kind" | "name" if path.contains("patches[") => "it belongs in `target`: `{target: {kind: Pod}, patch: …}`",
            "apiVersion" | "kind" | "metadata" | "spec" if path != "the document" => {
                "it belongs at the top of the document: write it in the first column"
            }
            "labels" | "annotations" | "podLabels" | "podAnnotations" if path != "metadata" => {
                "labels and annotations of the job belong in `metadata`; for pods use `patches: [{target: {kind: Pod}, patch: {metadata: {labels: {team: vision}}}}]`"
            }
            "type" if path.ends_with("hostPath") => "remove it: khorovod neither creates nor checks the directory",
            "medium" if path.ends_with("emptyDir") => {
                "remove it; for memory use `/dev/shm`, whose size is `workers.shm`"
            }
            "path" | "dir" | "folder" | "directory" | "git" | "repo" | "repository" | "url" | "source"
                if path.ends_with("spec.code") =>
            {
                NO_FOLDERS
            }
            "path" | "dir" | "directory" if path.ends_with("lifecycle.checkpoint") => {
                "mount `storage` for the checkpoints, and pass the path to your program in `command` or `env`"
            }
            "source" | "mode" | "store" if path.contains("storage[") => {
                "name the source by its kind, such as `s3: {bucket: my-bucket}`, `existingClaim: my-claim` or `nfs: {server: 10.0.0.1, path: /data}`"
            }
            "queue" if path.ends_with("scheduling") => "write `localQueue` for Kueue, or `volcanoQueue` for Volcano",
            "gres" if path != "spec.slurm" => {
                "use `spec.workers.gpus` for the number of GPUs, and `spec.placement.nodeSelector` for their type"
            }
            "time" if path != "spec.slurm" => {
                "use `spec.lifecycle.deadline`; only for `--target slurm`, it belongs in `spec.slurm`"
            }
            "setup" | "modules" if path != "spec.slurm" => {
                "put it into the image, or before the program in a `command` that is a string; only for `--target slurm`, it belongs in `spec.slurm`"
            }
            "partition" | "nodelist" | "constraint" | "exclude" | "reservation" if path != "spec.slurm" => {
                "choose nodes with `spec.placement.nodeSelector`; only for `--target slurm`, it belongs in `spec.slurm`"
            }
            "account" | "qos" if path != "spec.slurm" => {
                "use `spec.scheduling.localQueue` or `spec.placement.priorityClassName`; only for `--target slurm`, it belongs in `spec.slurm`"
            }
            "array" => {
                "render one job per member, each with its own name: `khorovod render --set metadata.name=mnist-1`"
            }
            "output" | "error" | "log" | "logDir" => {
                "the log is that of the launcher pod, as `khorovod plan` shows; write files to a volume of `storage`"
            }
            "spot" | "useSpot" | "use_spot" => {
                "choose nodes with `spec.placement`: the label of your spot nodes in `nodeSelector`, their taint in `tolerations`"
            }
            "deviceClassName" | "deviceClass" | "count" | "selectors" | "requests"
                if path.contains("resourceClaims") =>
            {
                "it belongs in `devices`, as in a ResourceClaim: `devices: {requests: [{name: nic, exactly: {deviceClassName: dranet, count: 8}}]}`"
            }
            "bucket" if path.contains("storage") => "it belongs in `s3`: `s3: {bucket: my-bucket}`",
            "tag" if path.ends_with("image") => "append it to the name of the image, as in `ghcr.io/acme/mnist:1.4`",
            "timeout" if path == "spec" || path == "spec.lifecycle" => {
                "use `spec.lifecycle.deadline` for the whole run, or `spec.lifecycle.startTimeout` for the start of the workers"
            }
            "generateName" => "each run gets its own name: write `name: mnist`",
            _ if is_variable(name) => "a variable belongs in `spec.env`",
            _ => "",
        };
        if !hint.is_empty() {
            return Some(hint.to_owned());
        }
        if other_names::counts_ranks(name) {
            let hint =
                "each of the `replicas` workers has `slotsPerWorker` ranks, by default one per GPU: set these two";
            return Some(hint.to_owned());
        }
        if let Some(ours) = other_names::field(name).filter(|_| !self.contains(name)) {
            return Some(format!("use `{ours}`; `khorovod explain {ours}` describes it"));
        }
        let belongs = |name: &str| {
            let homes: Vec<&str> = self.homes().get(name)?.iter().map(String::as_str).collect();
            // These names are common, and have another meaning in most maps.
            let astray = matches!(name, "name" | "key" | "value" | "path" | "server" | "port")
                && !matches!(path, "the document" | "spec");
            (!homes.is_empty() && !astray).then(|| alternatives(&homes))
        };
        belongs(name).map(|homes| format!("it belongs in {homes}")).or_else(|| {
            let near = self.homes().keys().filter_map(|ours| Some((letters_off(ours, name)?, *ours))).min()?.1;
            Some(format!("did you mean `{near}`? It belongs in {}", belongs(near)?))
        })
    }
}

/// The number of letters, 0 or 1, by which two names differ if case is ignored. None if they differ by more, or if
/// `name` has fewer than three letters.
fn letters_off(ours: &str, name: &str) -> Option<usize> {
    let alike = name.len() > 2 && ours.len().abs_diff(name.len()) < 2;
    let distance =
        alike.then(|| strsim::damerau_levenshtein(&ours.to_ascii_lowercase(), &name.to_ascii_lowercase()))?;
    (distance < 2).then_some(distance)
}

/// The map that was probably meant by a single value. Returns a hint and, if there is only one choice, the field that replaces
/// the value.
pub fn in_full(path: &str, text: &str) -> Option<(String, Option<String>)> {
    let value = if text.parse::<u32>().is_ok() { text.to_owned() } else { quoted(text) };
    let one = |key: &str, below: &str| format!("{key}: {{{below}: {value}}}");
    let field = match path.rsplit('.').next()? {
        "metadata" => one("metadata", "name"),
        "workers" if text.parse::<u32>().is_ok() => one("workers", "replicas"),
        "workers" => return Some((format!("write `{}`", one("workers", "replicas")), None)),
        "egress"
            if ["block", "closed", "deny", "denied", "none", "nothing"]
                .contains(&text.to_ascii_lowercase().as_str()) =>
        {
            let hint =
                "for connections only to the job's own pods, DNS and `egressTo`, write `listed`; for no limit, `open`";
            return Some((hint.to_owned(), None));
        }
        "claim" if Quantity::parse(text).is_some() => one("claim", "size"),
        "claim" => {
            let field = format!("existingClaim: {value}");
            return Some((
                format!("for an existing claim write `{field}`; for a new one write `claim: {{size: 1Ti}}`"),
                Some(field),
            ));
        }
        "emptyDir" if Quantity::parse(text).is_some() => one("emptyDir", "sizeLimit"),
        "emptyDir" => "emptyDir: {}".to_owned(),
        "hostPath" => one("hostPath", "path"),
        "env" => format!("env: {{{}}}", assigned(text)?),
        "progress" if text.starts_with('/') => one("progress", "file"),
        "progress" if text.contains('(') => one("progress", "pattern"),
        "code" => return Some((NO_FOLDERS.to_owned(), None)),
        "s3" => {
            let (bucket, prefix) = text.strip_prefix("s3://")?.split_once('/').unwrap_or_default();
            let prefix = if prefix.is_empty() { String::new() } else { format!(", prefix: {}", quoted(prefix)) };
            format!("s3: {{bucket: {}{prefix}}}", Some(bucket).filter(|bucket| !bucket.is_empty()).map(quoted)?)
        }
        "nfs" => {
            let (server, path) = text.split_once(":/")?;
            format!("nfs: {{server: {server}, path: /{path}}}")
        }
        _ => return None,
    };
    Some((format!("write `{field}`"), Some(field)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::declare::TrainingJob;
    use crate::job::read::{DEEPEST, Field};

    fn index() -> FieldIndex {
        FieldIndex::new(|each| TrainingJob::fields("", 0, each))
    }

    #[test]
    fn every_field_of_the_schema_has_a_section() {
        let (index, schema) = (index(), crate::job::schema());
        let mut next = vec![(0, &schema)];
        while let Some((depth, part)) = next.pop() {
            next.extend(
                part["$ref"]
                    .as_str()
                    .and_then(|path| schema.pointer(path.strip_prefix('#')?))
                    .map(|part| (depth, part)),
            );
            next.extend(part["anyOf"].as_array().into_iter().flatten().map(|part| (depth, part)));
            next.extend(part.get("items").map(|part| (depth, part)));
            for (key, field) in part["properties"].as_object().into_iter().flatten() {
                assert!(index.contains(key), "{key}");
                if depth < DEEPEST {
                    next.push((depth + 1, field));
                }
            }
        }
    }

    #[test]
    fn the_nearest_sections_of_a_name() {
        let index = index();
        let hint = |name| index.hint(name, "spec").unwrap();
        assert_eq!(hint("nodeSelector"), "it belongs in `spec.placement`");
        assert_eq!(hint("image"), "it belongs in `spec`");
        assert_eq!(hint("memory"), "it belongs in `spec.workers` or `spec.launcher`");
        assert_eq!(hint("namespace"), "it belongs in `metadata`");
        assert_eq!(hint("worker"), "did you mean `workers`? It belongs in `spec`");
        assert_eq!(hint("Replicas"), "did you mean `replicas`? It belongs in `spec.workers`");
        assert_eq!(index.hint("qwertz", "spec"), None);
        assert_eq!(index.hint("name", "spec.storage[0].nfs"), None);
    }
}
