//! Rules about sizes that Kubernetes and Linux limit.

use super::Case;
use crate::job::types::limits::{MAX_CONFIG_MAP, json_size};
use crate::job::types::quantity::Quantity;
use crate::problem::{Problem, codes};
use crate::yaml::flow::quoted;
use crate::yaml::{Kind, Node};

codes! {
    /// A file too large for a ConfigMap
    ///
    /// `kubectl apply` keeps a copy of every object in an annotation of at most 256 KiB, so a file
    /// in `code.files` may have 200 KiB as JSON. Several files may have more together, because they are stored in several
    /// ConfigMaps. Put larger files into the image, a claim or a bucket.
    Error CODE_TOO_LARGE = "code-too-large";

    /// The spec is too large
    ///
    /// Pod templates contain the command, the environment, labels and the rest. `kubectl apply` copies them into an
    /// annotation of at most 256 KiB. Without `code.files` a spec may have 96 KiB.
    Error SPEC_TOO_LARGE = "spec-too-large";

    /// A size of a few bytes
    ///
    /// A size without a unit is in bytes: `64` is 64 bytes. As everywhere in Kubernetes, `m` is a thousandth of a byte. The
    /// minimum is `1Mi`.
    Error FEW_BYTES = "few-bytes";

    /// No processor or no memory
    ///
    /// Kubernetes reads a limit of 0 as no limit, and a request of 0 as no request: the pod would be the first that a node
    /// with little memory kills. Leave the field out to request nothing on purpose.
    Error ZERO_RESOURCE = "zero-resource";

    /// A few thousandths of a processor
    ///
    /// `cpu: 32m` is 32 thousandths of a processor, and `cpu: 32` is 32 processors. A process on so small a share would take minutes to
    /// start, and keep the GPUs of its worker waiting.
    Warning FEW_CPUS = "few-cpus";

    /// More processors than a node has
    ///
    /// `cpu` counts processors. `64G` is 64 thousand million processors, and `64000` is not `64000m`, which is 64
    /// processors. No node has more than a few thousand, so the pod would stay Pending.
    Error MANY_CPUS = "many-cpus";

    /// More memory than a node has
    ///
    /// No node has more than a few tebibytes of memory, so the pod would stay Pending. `T` and `Ti` are a thousand times `G` and `Gi`.
    Error MANY_BYTES = "many-bytes";
}

/// The maximum size of a spec without its code, as JSON. It also keeps every argument and every variable of a program below the
/// limit of Linux, 128 KiB.
pub const MAX_SPEC: usize = 96 << 10;

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    for part in ["workers", "launcher", "storage", "collective"] {
        case.document.get("spec").and_then(|body| body.get(part)).iter().for_each(|part| few_bytes(part, problems));
    }
    few_cpus(case, problems);
    let code = case.document.get("spec").and_then(|body| body.get("code")).map_or(0, size);
    let rest = size(case.document).saturating_sub(code);
    if rest > MAX_SPEC {
        let message = format!("the spec has {rest} bytes as JSON, more than {MAX_SPEC}");
        problems.push(
            Problem::new(&SPEC_TOO_LARGE, case.top, message)
                .hint("move long strings into `code.files`, a ConfigMap or the image"),
        );
    }
    for (name, text) in case.body.code.iter().filter_map(|at| at.files.as_ref()).flat_map(|at| &at.0) {
        let size = json_size(&text.0) + name.0.len();
        if size > MAX_CONFIG_MAP {
            let message = format!("the file `{}` has {size} bytes as JSON, more than {MAX_CONFIG_MAP}", name.0);
            problems.push(
                Problem::new(&CODE_TOO_LARGE, name.span, message).hint("put it into the image, a claim or a bucket"),
            );
        }
    }
}

/// Reports every size in a YAML node, at any depth, that is so small that the unit is probably missing.
fn few_bytes(node: &Node, problems: &mut Vec<Problem>) {
    match &node.kind {
        Kind::Scalar { .. } => {}
        Kind::List(items) => items.iter().for_each(|item| few_bytes(item, problems)),
        Kind::Map(entries) => {
            for entry in entries {
                // The user may write a request of 0 on purpose, so `requests` is not searched.
                if entry.key != "requests" {
                    few_bytes(&entry.value, problems);
                }
                problems.extend(many_bytes(&entry.key, &entry.value));
                problems.extend(zero(&entry.key, &entry.value));
                problems.extend(many_cpus(&entry.key, &entry.value));
                let (name, Kind::Scalar { text, .. }) = (entry.key.as_str(), &entry.value.kind) else { continue };
                if !matches!(name, "memory" | "shm" | "ephemeralStorage" | "size" | "fusionThreshold") {
                    continue;
                }
                let Some(size) = Quantity::parse(text).filter(|size| size.milli() > 0) else { continue };
                // `fusionThreshold` may be small, but not smaller than a page of memory.
                let least = if name == "fusionThreshold" { 1 << 12 } else { 1 << 20 };
                if size.value() < least {
                    let bytes = if size.value() == 1 { "byte" } else { "bytes" };
                    let message = format!("`{name}: {text}` is {} {bytes}", size.value());
                    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                    // A large number such as `64000` is probably in MiB, as in Slurm.
                    let is_large = number == text && size.value() < 1_000 && name != "fusionThreshold";
                    let unit = if is_large { "Gi" } else { "Mi" };
                    let problem = Problem::new(&FEW_BYTES, entry.value.span, message);
                    let meant = format!("{number}{unit}");
                    let problem = problem.hint(format!("add a unit, as in `{meant}`"));
                    let is_enough = Quantity::parse(&meant).is_some_and(|size| size.value() >= least);
                    let problem = if is_enough { problem.fix(entry.value.span, meant).by_choice() } else { problem };
                    problems.push(problem);
                }
            }
        }
    }
}

fn zero(name: &str, value: &Node) -> Option<Problem> {
    let is_amount = matches!(name, "cpu" | "memory" | "shm" | "ephemeralStorage" | "ephemeral-storage");
    value.written().filter(|_| is_amount).and_then(Quantity::parse).filter(|amount| amount.milli() == 0)?;
    let problem =
        Problem::new(&ZERO_RESOURCE, value.span, format!("`{name}` is 0, which Kubernetes reads as no limit"));
    let example = if name == "cpu" { "4" } else { "64Gi" };
    Some(problem.hint(format!("write `{name}: {example}`, or remove `{name}`")))
}

/// The CPUs below which a worker with GPUs cannot work, in thousandths.
const LEAST_CPUS: i128 = 100;

/// Reports workers with GPUs and almost no CPU.
fn few_cpus(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(workers) = case.body.workers.as_ref().filter(|_| case.could_read(&["workers"])) else { return };
    let beside = workers.cpu.as_ref();
    let own = case.groups().filter_map(|group| group.cpu.as_ref());
    for at in beside.into_iter().chain(own).filter(|at| (1..LEAST_CPUS).contains(&at.milli())) {
        if case.spec.groups.iter().any(|group| group.gpus > 0) {
            let message = format!("`cpu` is {} thousandths of a processor, for a worker with GPUs", at.milli());
            let number = at.milli();
            let hint = format!("for {number} processors write `cpu: \"{number}\"`");
            problems.push(Problem::new(&FEW_CPUS, at.span, message).hint(hint));
        }
    }
}

/// The maximum number of CPUs that a field may request. No node has more.
const MOST_CPUS: i128 = 10_000;

fn many_cpus(name: &str, value: &Node) -> Option<Problem> {
    let Kind::Scalar { text, .. } = &value.kind else { return None };
    let count = Quantity::parse(text).filter(|count| name == "cpu" && count.value() > MOST_CPUS)?;
    // The hints below do not fit a number with an exponent, such as `1e6`.
    if text.contains(['e', 'E']) {
        return None;
    }
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let hint = match number == text {
        true => format!("for thousandths of a processor write `{number}m`"),
        false => format!("write only the number: `cpu: {}`", quoted(number)),
    };
    Some(Problem::new(&MANY_CPUS, value.span, format!("`cpu: {text}` is {} processors", count.value())).hint(hint))
}

/// The maximum memory that a field may request, in bytes: 100 TiB. No node has more.
const MOST_BYTES: i128 = 100 << 40;

fn many_bytes(name: &str, value: &Node) -> Option<Problem> {
    let text = value.written().filter(|_| matches!(name, "memory" | "shm"))?;
    Quantity::parse(text).filter(|size| size.value() > MOST_BYTES)?;
    let message = format!("`{name}: {text}` is more than any node has");
    Some(Problem::new(&MANY_BYTES, value.span, message).hint(format!("check the unit, as in `{name}: 64Gi`")))
}

/// The approximate number of bytes of a value as JSON.
fn size(node: &Node) -> usize {
    match &node.kind {
        Kind::Scalar { text, .. } => json_size(text),
        Kind::List(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Kind::Map(entries) => {
            entries.iter().map(|entry| json_size(&entry.key) + size(&entry.value) + 2).sum::<usize>() + 2
        }
    }
}
