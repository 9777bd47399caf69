//! Rules about storage: mounts that collide, claims that cannot be shared, buckets that cannot be written.

use serde_json::json;

use super::Case;
use crate::job::declare::{Body, Claim, CommandLine, Launcher, Storage};
use crate::job::read::At;
use crate::job::read::edits;
use crate::job::types::spec::{LauncherPod, Spec, VolumeSource};
use crate::problem::{Fix, Problem, Span, codes};
use crate::shell;
use crate::yaml::Kind;

codes! {
    /// Two mounts at one path
    ///
    /// One mount would hide the other. Use different paths.
    Error DUPLICATE_MOUNT = "duplicate-mount";

    /// A mount over a path that khorovod or the system needs
    ///
    /// `/horovod/generated`, `/etc/khorovod`, `/dev/shm`, `/tmp` itself, `/etc`, `/proc`, `/usr` and
    /// similar directories contain scripts, keys and programs. Mount below `/data`, `/mnt` or `/workspace`.
    Error RESERVED_MOUNT = "reserved-mount";

    /// Several workers share a claim that only one node can mount
    ///
    /// Only one node can mount a `ReadWriteOnce` volume. Workers on other nodes would stay Pending. Use `ReadWriteMany` with
    /// a StorageClass that supports it, or `perWorker` for one volume per worker.
    Error SHARED_READ_WRITE_ONCE = "shared-read-write-once";

    /// An upload to S3 that cannot work
    ///
    /// `direction: out` and `both` write to the bucket: they need `secretName`, a Secret that
    /// `kubectl create secret generic s3-keys --from-literal=AWS_ACCESS_KEY_ID=… --from-literal=AWS_SECRET_ACCESS_KEY=…`
    /// creates, or `security.serviceAccountName`, a ServiceAccount with a role of AWS. The entry must not be `readOnly`.
    /// `uploadInterval` needs one of these directions.
    Error S3_UPLOAD = "s3-upload";

    /// Objects cannot be copied into a read-only mount
    ///
    /// `s3` copies objects into a volume of each pod before the training, which a `readOnly` mount prevents. Remove
    /// `readOnly`: the training can change only its copy, and not the bucket.
    Error S3_READ_ONLY = "s3-read-only";

    /// A download that cannot work
    ///
    /// `huggingFace` needs `revision`, a commit, because a branch may change between two attempts of a run. `files` and
    /// `revision` belong to `huggingFace`, and `sha256` and `unpacks` to `url`. A token is sent only over https. The entry must
    /// not be `readOnly`, because the files are written into a volume of each pod.
    Error DOWNLOAD_FIELDS = "download-fields";

    /// A download whose content is not pinned
    ///
    /// Without `sha256`, a run may train on another file than the run before it, and only the size of the download is
    /// verified. Set `sha256` to the digest that `sha256sum` prints for the file.
    Warning DOWNLOAD_UNPINNED = "download-unpinned";

    /// The launcher pod and the worker share a claim that only one node can mount
    ///
    /// The launcher mounts the volumes of the worker, and only one node can mount a `ReadWriteOnce` volume. If the two pods
    /// are on different nodes, the second pod never starts. With `launcher.runsIn: firstWorker`, one pod is both.
    Warning LAUNCHER_SHARES_CLAIM = "launcher-shares-claim";

    /// A volume of size 0
    ///
    /// Such a volume cannot contain data, and most storage systems refuse to create it.
    Error EMPTY_VOLUME = "empty-volume";

    /// Access modes that Kubernetes refuses
    ///
    /// A claim has at least one access mode, and `ReadWriteOncePod` cannot be combined with another one.
    Error ACCESS_MODES = "access-modes";

    /// A path that is read-only
    ///
    /// The files of the image are read-only in the pods. Output needs storage: a claim, a bucket, or `/tmp`, which is
    /// deleted with the pod.
    Warning NOWHERE_TO_WRITE = "nowhere-to-write";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    mounts(case, problems);
    nowhere_to_write(case, problems);
    same_bucket(case, problems);
    for entry in case.storage() {
        shared_claim(case, entry, problems);
        s3(case, entry, problems);
        download(case, entry, problems);
        if case.could_read(&["storage"]) {
            access_modes(entry, problems);
        }
        let claims = [entry.claim.as_ref(), entry.per_worker.as_ref()];
        let sizes = claims
            .into_iter()
            .flatten()
            .filter_map(|claim| claim.size.as_ref())
            .chain(entry.persistent_volume.as_ref().and_then(|at| at.size.as_ref()));
        for size in sizes.filter(|size| size.milli() == 0) {
            problems.push(
                Problem::new(&EMPTY_VOLUME, size.span, "a volume of size 0 holds nothing").hint("write `size: 100Gi`"),
            );
        }
    }
}

fn access_modes(entry: &Storage, problems: &mut Vec<Problem>) {
    let claims = [entry.claim.as_ref(), entry.per_worker.as_ref()].into_iter().flatten();
    let claims = claims.filter_map(|at| at.access_modes.as_ref());
    for at in claims.chain(entry.persistent_volume.as_ref().and_then(|at| at.access_modes.as_ref())) {
        if at.is_empty() {
            let problem = Problem::new(&ACCESS_MODES, at.span, "the list of access modes is empty");
            problems.push(problem.hint("write `[ReadWriteMany]`, or remove `accessModes` for the default"));
        } else if at.iter().any(|mode| mode.0 == "ReadWriteOncePod")
            && at.iter().any(|mode| mode.0 != "ReadWriteOncePod")
        {
            let problem = Problem::new(&ACCESS_MODES, at.span, "`ReadWriteOncePod` excludes every other access mode");
            problems.push(problem.hint("write `[ReadWriteOncePod]`, or remove it"));
        }
    }
}

/// Directories that must not be a mount path. The flag is true if the directories in them must not be mount paths either.
const RESERVED: &[(&str, bool)] = &[
    ("/", false),
    ("/tmp", false),
    ("/horovod", false),
    ("/horovod/generated", true),
    ("/kubeflow/openmpi/assets", true),
    ("/etc", true),
    ("/dev", true),
    ("/proc", true),
    ("/sys", true),
    ("/bin", true),
    ("/sbin", true),
    ("/lib", true),
    ("/lib64", true),
    ("/usr", false),
    ("/usr/bin", true),
    ("/usr/sbin", true),
    ("/usr/lib", true),
    ("/run", false),
    ("/var", false),
    ("/var/run", true),
    ("/boot", true),
];

/// The reserved directory that a path equals or is inside of.
pub fn reserved(path: &str) -> Option<&'static str> {
    let within = |reserved: &str| path.strip_prefix(reserved).is_some_and(|rest| rest.starts_with('/'));
    let found = RESERVED.iter().find(|(reserved, below)| path == *reserved || *below && within(reserved));
    found.map(|(reserved, _)| *reserved)
}

fn mounts(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let storage = case.storage().filter_map(|at| at.mount_path.as_ref());
    let mut seen: Vec<(String, Span)> = Vec::new();
    let code = case
        .body
        .code
        .as_ref()
        .map(|at| (at.mount_path().value.0, at.mount_path.as_ref().map_or(at.key, |path| path.span)));
    let paths = storage.map(|at| (at.0.clone(), at.span));
    for (path, span) in code.into_iter().chain(paths) {
        let path = if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path };
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == path) {
            let problem =
                Problem::new(&DUPLICATE_MOUNT, span, format!("two volumes are mounted at `{path}`")).here("again here");
            problems.push(problem.and(*first, "first here").hint("use different paths"));
        }
        if let Some(reserved) = reserved(&path) {
            let message = format!("`{path}` cannot be a mount path: the pods need `{reserved}`");
            problems.push(
                Problem::new(&RESERVED_MOUNT, span, message).hint("mount it below `/data`, `/mnt` or `/workspace`"),
            );
        }
        seen.push((path, span));
    }
}

/// Reports directories for output that the spec names, but that the pods can only read.
fn nowhere_to_write(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let spec = case.spec;
    if !case.could_read(&["storage", "security", "code"])
        || !spec.security.read_only_root_filesystem
        || !spec.target.has_pods
        || !spec.patches.is_empty()
    {
        return;
    }
    let timeline = field!(case.collective.timeline);
    let tensorboard = field!(case.observability.tensorboard_logdir);
    let stall = field!(case.lifecycle.stall);
    let paths = [
        ("collective.timeline", timeline),
        ("observability.tensorboardLogdir", tensorboard),
        ("observability.progress.file", field!(case.observability.progress).and_then(|at| at.file.as_ref())),
        ("lifecycle.stall.file", stall.and_then(|at| at.file.as_ref())),
        ("lifecycle.stall.evidence", stall.and_then(|at| at.evidence.as_ref())),
    ];
    let is_writable = |path: &str| {
        let within = |mount: &str| {
            let rest = path.strip_prefix(mount.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let stored = spec.storage.iter().any(|volume| !volume.read_only && within(&volume.mount_path));
        stored || ["/tmp", "/dev", "/proc"].into_iter().any(within)
    };
    if let Some(command) = &case.body.command
        && let CommandLine::Script(script) = &command.value
    {
        let files = shell::written_files(script);
        let is_absolute = |path: &&String| path.starts_with('/') && !path.contains(['$', '`', '*']);
        if let Some(path) = files.iter().filter(is_absolute).find(|path| !is_writable(path)) {
            let message = format!("the command writes to `{path}`, which is read-only: no storage is mounted there");
            let hint = "write to a volume of `storage`, or to `/tmp`; `khorovod logs` prints the output of the ranks in any case";
            problems.push(Problem::new(&NOWHERE_TO_WRITE, command.span, message).hint(hint));
        }
    }
    for (field, at) in paths.into_iter().filter_map(|(field, at)| Some((field, at?))) {
        if !is_writable(&at.0) {
            let message = format!("`{}` is read-only: no storage is mounted there", at.0);
            problems.push(
                Problem::new(&NOWHERE_TO_WRITE, at.span, message)
                    .hint(format!("mount storage there, or set `{field}` to a directory of a volume")),
            );
        }
    }
}

fn shared_claim(case: &Case<'_>, entry: &Storage, problems: &mut Vec<Problem>) {
    if !case.could_read(&["storage", "workers", "launcher", "scheduling"]) || case.spec.groups.is_empty() {
        return;
    }
    let spec = case.spec;
    let given = entry
        .claim
        .as_ref()
        .and_then(|at| at.access_modes.as_ref())
        .or(entry.persistent_volume.as_ref().and_then(|at| at.access_modes.as_ref()));
    let Some(at) =
        given.filter(|modes| !modes.is_empty()).map(|modes| modes.span).or(entry.claim.as_ref().map(|at| at.key))
    else {
        return;
    };
    let modes: Vec<_> = given.iter().flat_map(|modes| &modes.value).map(|mode| mode.0).collect();
    if modes.iter().any(|mode| matches!(*mode, "ReadWriteMany" | "ReadOnlyMany")) {
        return;
    }
    let hosts = hosts(spec);
    let beside = spec.launcher.runs_in == LauncherPod::Own && spec.target.has_pods;
    let one_pod = !modes.is_empty() && modes.iter().all(|mode| *mode == "ReadWriteOncePod");
    if hosts > 1 && !modes.is_empty() {
        let message = format!("{hosts} workers share a claim that only one node can mount");
        let mut problem = Problem::new(&SHARED_READ_WRITE_ONCE, at, message);
        if let Some(replicas) = field!(case.workers.replicas) {
            problem = problem.and(replicas.span, "several workers");
        }
        let problem =
            problem.hint("write `accessModes: [ReadWriteMany]`, or `perWorker` instead of `claim`").by_choice();
        problems.push(Problem { fix: shared_by_many(case, entry), ..problem });
    } else if hosts == 1 && beside {
        // If `whole` is true, the job needs a separate launcher pod, so the hint does not suggest `firstWorker`.
        let groups = case.body.workers.as_ref().is_some_and(|at| at.groups.is_some());
        let per_worker = spec.storage.iter().any(|volume| matches!(volume.source, VolumeSource::PerWorker(_)));
        let elastic = spec.elastic.is_some() || spec.lifecycle.keep_workers;
        let whole = groups || per_worker || elastic || !spec.target.has_job_shape;
        let job = if whole { "" } else { "`runsIn: firstWorker` under `launcher`, or " };
        let hint = format!("write {job}`accessModes: [ReadWriteMany]`");
        let problem = match one_pod {
            true => {
                let message = "the launcher pod and the worker share a claim that only one pod can mount";
                Problem::new(&SHARED_READ_WRITE_ONCE, at, message).hint(hint)
            }
            false => {
                let message = "the launcher pod and the worker share a claim that only one node can mount";
                Problem::new(&LAUNCHER_SHARES_CLAIM, at, message).hint(hint)
            }
        };
        let together = if whole { None } else { launcher_in_worker(case) };
        let (fix, other_fix) = match (together, shared_by_many(case, entry)) {
            (None, shared) => (shared, None),
            both => both,
        };
        problems.push(Problem { fix, other_fix, ..problem.by_choice() });
    }
}

/// The edit that lets pods on several nodes mount the claim of an entry. The entry may also be a volume that exists, whose access
/// modes no edit changes.
fn shared_by_many(case: &Case<'_>, entry: &Storage) -> Option<Fix> {
    const MODES: &str = "[ReadWriteMany]";
    let claim = entry.claim.as_ref()?;
    let text = case.texts.around(claim.span);
    match claim.access_modes.as_ref() {
        Some(modes) => {
            text.get(modes.span.start..)?.starts_with('[').then(|| Fix { span: modes.span, text: MODES.to_owned() })
        }
        None => {
            let Kind::List(items) = &case.document.get("spec")?.get("storage")?.kind else { return None };
            let node = items.iter().filter_map(|item| item.get("claim")).find(|node| node.span == claim.span)?;
            edits::field(case.texts, node, Claim::SHAPE.keys, "accessModes", &json!(["ReadWriteMany"]))
        }
    }
}

/// The edit that lets the launcher run in the first worker.
fn launcher_in_worker(case: &Case<'_>) -> Option<Fix> {
    let body = case.document.get("spec")?;
    let Some(launcher) = body.get("launcher") else {
        let value = json!({"kind": case.spec.launcher.kind.name(), "runsIn": "firstWorker"});
        return edits::field(case.texts, body, Body::SHAPE.keys, "launcher", &value);
    };
    match launcher.written() {
        Some(kind) => Some(Fix { span: launcher.span, text: format!("{{kind: {kind}, runsIn: firstWorker}}") }),
        None if launcher.get("runsIn").is_some() => None,
        None => edits::field(case.texts, launcher, Launcher::SHAPE.keys, "runsIn", &json!("firstWorker")),
    }
}

/// The maximum number of pods that may run ranks. It includes the spares.
fn hosts(spec: &Spec) -> u32 {
    let workers =
        spec.groups.iter().map(|group| group.replicas.saturating_add(group.spares)).fold(0, u32::saturating_add);
    let most = spec.elastic.as_ref().map_or(0, |elastic| elastic.max_replicas);
    workers.max(most).saturating_add(u32::from(spec.launcher.runs_ranks))
}

/// Reports two entries that upload to the same place in a bucket.
fn same_bucket(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let place = |entry: &At<Storage>| {
        let s3 = entry.s3.as_ref()?;
        let prefix = s3.prefix.as_ref().map_or("", |at| at.0.trim_end_matches('/')).to_owned();
        let uploads = s3.direction.as_ref().is_some_and(|at| at.0.1);
        let server = s3.endpoint.as_ref().map(|at| at.0.clone());
        Some(((server, s3.bucket.as_ref()?.0.clone(), prefix), uploads, s3.key))
    };
    let places: Vec<_> = case.storage().filter_map(place).collect();
    for (index, (own, uploads, key)) in places.iter().enumerate() {
        let mut earlier = places[..index].iter();
        if let Some((.., first)) = earlier.find(|(other, others, _)| other == own && *uploads && *others) {
            let message =
                "two entries upload to the same bucket and prefix, so that one overwrites the files of the other";
            let problem = Problem::new(&S3_UPLOAD, *key, message).and(*first, "the other entry");
            problems.push(problem.hint("give each entry its own `prefix`"));
        }
    }
}

fn s3(case: &Case<'_>, entry: &Storage, problems: &mut Vec<Problem>) {
    let Some(s3) = &entry.s3 else { return };
    let uploads = s3.direction.as_ref().is_some_and(|at| at.0.1);
    if let Some(read_only) = entry.read_only.as_ref().filter(|at| at.value && !uploads) {
        let message = "objects cannot be copied into a read-only mount";
        problems.push(Problem::new(&S3_READ_ONLY, read_only.span, message).hint("remove `readOnly`"));
    }
    if let Some(interval) = s3.upload_interval.as_ref().filter(|_| !uploads) {
        let message = "nothing is uploaded from this volume, so `uploadInterval` has no effect";
        problems.push(
            Problem::new(&S3_UPLOAD, interval.key, message)
                .hint("add `direction: out` or `both`, or remove `uploadInterval`"),
        );
    }
    let Some(direction) = s3.direction.as_ref().filter(|at| at.0.1) else { return };
    let security = &case.spec.security;
    let has_account = security.service_account.is_some() || security.worker_account.is_some();
    if s3.secret_name.is_none() && case.could_read(&["security", "workers"]) && !has_account {
        let problem = Problem::new(&S3_UPLOAD, direction.span, "an upload needs credentials");
        problems.push(
            problem.hint("add `secretName: s3-keys`, a Secret with `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` (`khorovod explain s3-upload` shows how to create it); or on AWS, name a ServiceAccount that has a role: `security: {serviceAccountName: trainer}`"),
        );
    }
    if let Some(read_only) = entry.read_only.as_ref().filter(|at| at.value) {
        let problem = Problem::new(
            &S3_UPLOAD,
            read_only.span,
            "the training cannot write to a read-only entry, so there is nothing to upload",
        );
        problems.push(problem.and(direction.span, "uploaded").hint("remove `readOnly`"));
    }
}

/// The keys of entries that need a weaker Pod Security level than `restricted`.
pub fn host_paths(case: &Case<'_>) -> Vec<(Span, &'static str)> {
    let entries = case.storage();
    entries
        .filter_map(|entry| match (&entry.host_path, &entry.nfs) {
            (Some(at), _) => Some((at.key, "hostPath")),
            (None, Some(at)) => Some((at.key, "nfs")),
            _ => None,
        })
        .collect()
}

fn download(case: &Case<'_>, entry: &Storage, problems: &mut Vec<Problem>) {
    let Some(download) = &entry.download else { return };
    let mut wrong = |span, message: String, hint: String| {
        problems.push(Problem::new(&DOWNLOAD_FIELDS, span, message).hint(hint));
    };
    if let Some(read_only) = entry.read_only.as_ref().filter(|at| at.value) {
        wrong(
            read_only.span,
            "files cannot be downloaded into a read-only mount".to_owned(),
            "remove `readOnly`".to_owned(),
        );
    }
    let (own, other) = match (&download.hugging_face, &download.url) {
        (Some(_), None) => ("huggingFace", "url"),
        (None, Some(_)) => ("url", "huggingFace"),
        // `exactly one of` reports it.
        _ => return,
    };
    let foreign = match own {
        "url" => [
            ("revision", download.revision.as_ref().map(|at| at.key)),
            ("files", download.files.as_ref().map(|at| at.key)),
        ],
        _ => [
            ("sha256", download.sha256.as_ref().map(|at| at.key)),
            ("unpacks", download.unpacks.as_ref().map(|at| at.key)),
        ],
    };
    for (name, key) in foreign {
        if let Some(key) = key {
            wrong(
                key,
                format!("`{name}` belongs to `{other}`, and this download has `{own}`"),
                format!("remove `{name}`"),
            );
        }
    }
    let was_read = case.could_read(&["storage"]);
    if let (Some(repository), None) = (&download.hugging_face, &download.revision)
        && was_read
    {
        let hint = format!(
            "add `revision` with a commit: `git ls-remote https://huggingface.co/{}` prints that of each branch",
            repository.0
        );
        wrong(repository.span, "the download names no `revision`, so its files may change".to_owned(), hint);
    }
    if let (Some(url), Some(secret)) = (&download.url, &download.secret_name)
        && url.0.starts_with("http://")
    {
        let message = "the token would be sent without encryption".to_owned();
        wrong(secret.span, message, "write a URL that begins with `https://`, or remove `secretName`".to_owned());
    }
    if let (Some(url), None) = (&download.url, &download.sha256)
        && was_read
    {
        problems.push(
            Problem::new(&DOWNLOAD_UNPINNED, url.span, "the content of this download is not pinned")
                .hint("add `sha256` with the digest that `sha256sum` prints for the file"),
        );
    }
}
