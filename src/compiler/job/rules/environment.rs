//! Rules about environment variables: those that khorovod sets, misspelt ones, and secrets.

use super::Case;
use super::workers::IDLE_GPUS;
use crate::job::declare::EnvValue;
use crate::job::read::suggestions::nearest;
use crate::job::secrets;
use crate::job::types::spec::{LauncherKind, LauncherPod};
use crate::job::variables::{HOROVOD, Library, NCCL, NCCL_FORMER, NCCL_OF_PYTORCH, number_of_word};
use crate::problem::{Problem, Span, codes};

codes! {
    /// A variable that khorovod or the launcher sets
    ///
    /// The hostfile, the ssh agent, the rendezvous of torchrun, the coordinator of JAX and `TF_CONFIG` follow from the spec. With another value, ranks would
    /// start on the wrong hosts, or not at all. Remove the variable.
    Error RESERVED_VARIABLE = "reserved-variable";

    /// A variable that NCCL or Horovod does not read
    ///
    /// Both ignore unknown variables, so a misspelt variable has no effect and no error. The hint names the nearest one.
    Warning UNKNOWN_VARIABLE = "unknown-variable";

    /// A value that NCCL or Horovod ignores or misreads
    ///
    /// Both read numbers. NCCL ignores a word such as `true`, and Horovod takes it for 0. Horovod reads `64MB` as 64 bytes. Write `1` or `0`,
    /// and sizes in bytes, or use the fields of `collective`.
    Warning IGNORED_VALUE = "ignored-value";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    for (name, value) in case.env() {
        reserved(case, &name.0, name.span, problems);
        unknown(&name.0, name.span, problems);
        if let EnvValue::Literal(text) = &value.value {
            problems.extend(hidden_gpus(case, &name.0, text, value.span));
            problems.extend(ignored_value(&name.0, text, value.span));
            problems.extend(report_local_address(case, &name.0, text, value.span));
            problems.extend(secrets::find_secret(&name.0, text, value.span));
        }
    }
}

/// Variables that khorovod sets for one of the MPI implementations.
const OWN: &[&str] = &[
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_plm_rsh_agent",
    "PRTE_MCA_plm_ssh_agent",
    "I_MPI_HYDRA_HOST_FILE",
    "I_MPI_HYDRA_BOOTSTRAP",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
    "HYDRA_HOST_FILE",
    "HYDRA_LAUNCHER",
    "HYDRA_LAUNCHER_EXEC",
];

/// Whether khorovod sets a variable with at least one launcher or MPI implementation.
pub fn owns_variable(name: &str) -> bool {
    name.starts_with("KHOROVOD_") || OWN.contains(&name)
}

/// Variables that are different for each rank.
const RANKS_OWN: &[&str] = &[
    "RANK",
    "LOCAL_RANK",
    "HOROVOD_RANK",
    "HOROVOD_LOCAL_RANK",
    "HOROVOD_CROSS_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMIX_RANK",
    "PMI_RANK",
];

fn reserved(case: &Case<'_>, name: &str, span: Span, problems: &mut Vec<Problem>) {
    const TORCHRUN: &[&str] = &[
        "PET_NNODES",
        "PET_NPROC_PER_NODE",
        "PET_NODE_RANK",
        "PET_MASTER_ADDR",
        "PET_MASTER_PORT",
        "PET_RDZV_BACKEND",
        "PET_RDZV_ENDPOINT",
        "PET_RDZV_ID",
        "PET_MAX_RESTARTS",
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
    ];
    const JAX: &[&str] = &["JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_LOCAL_DEVICE_IDS"];
    const TENSORFLOW: &[&str] = &["TF_CONFIG"];
    let kind = case.spec.launcher.kind;
    let torchrun = kind == LauncherKind::Torchrun;
    let of_launcher = match kind {
        LauncherKind::Torchrun => TORCHRUN,
        LauncherKind::Jax => JAX,
        LauncherKind::Tensorflow => TENSORFLOW,
        _ => &[],
    };
    let ranks: u64 = case.spec.groups.iter().map(|group| u64::from(group.replicas) * u64::from(group.slots)).sum();
    if RANKS_OWN.contains(&name) && ranks > 1 && !torchrun && kind != LauncherKind::Shell {
        let message = format!("`{name}` would be the same for all {ranks} ranks");
        let hint = match matches!(name, "RANK" | "LOCAL_RANK") {
            true => "remove it; with `launcher: torchrun` each rank gets its own",
            false => "remove it: the launcher gives each rank its own",
        };
        problems.push(Problem::new(&RESERVED_VARIABLE, span, message).hint(hint));
        return;
    }
    // The launcher is the pod with index 0. If this variable had the same value in every pod, either all pods or no pod
    // would act as the launcher.
    let index = name == "JOB_COMPLETION_INDEX" && case.spec.launcher.runs_in == LauncherPod::FirstWorker;
    let index = index && case.spec.target.has_pods;
    if index || owns_variable(name) || of_launcher.contains(&name) {
        let problem = Problem::new(&RESERVED_VARIABLE, span, format!("khorovod or the launcher sets `{name}`"));
        problems.push(problem.hint(match name {
            "PET_MAX_RESTARTS" => "remove it, and set `lifecycle.retries`",
            _ => "remove it; it follows from other fields of the spec",
        }));
    }
}

fn unknown(name: &str, span: Span, problems: &mut Vec<Problem>) {
    let known = if name.starts_with("NCCL_") {
        NCCL
    } else if name.starts_with("HOROVOD_") {
        HOROVOD
    } else {
        misspelt_prefix(name)
    };
    if known.is_empty() || known.contains(&name) || NCCL_OF_PYTORCH.contains(&name) {
        return;
    }
    if let Some((_, instead)) = NCCL_FORMER.iter().find(|(former, _)| *former == name) {
        let message = format!("current versions of NCCL do not read `{name}`");
        let hint = format!("remove it, or set `{instead}`, which replaced it");
        problems.push(Problem::new(&UNKNOWN_VARIABLE, span, message).hint(hint));
        return;
    }
    let library = if known == NCCL { "NCCL" } else { "Horovod" };
    let near = nearest(name, known.iter().copied());
    // A name with only a similar prefix may be a variable of another program, so it is reported only if a known name is near.
    if near.is_none() && !name.starts_with("NCCL_") && !name.starts_with("HOROVOD_") {
        return;
    }
    let problem =
        Problem::new(&UNKNOWN_VARIABLE, span, format!("{library} has no variable `{name}`: it would be ignored"));
    problems.push(match near {
        Some(near) => problem.hint(format!("did you mean `{near}`?")).fix(span, near),
        None => problem.hint("look the name up, or remove it"),
    });
}

/// Reports a word where NCCL or Horovod reads a number, and a size with a unit, such as `64MB`.
fn ignored_value(name: &str, value: &str, span: Span) -> Option<Problem> {
    if let Some((library, number)) = number_of_word(name, value) {
        let what = match library {
            Library::Nccl => "NCCL ignores it",
            Library::Horovod => "Horovod takes it for 0",
        };
        let message = format!("`{name}` is a number, and {what}: `{value}`");
        return Some(
            Problem::new(&IGNORED_VALUE, span, message)
                .hint(format!("write `\"{number}\"`"))
                .fix(span, format!("\"{number}\"")),
        );
    }
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let is_size = name == "HOROVOD_FUSION_THRESHOLD" && digits > 0 && digits < value.len();
    let message = format!("Horovod reads `{value}` as {} bytes", &value[..digits]);
    is_size.then(|| {
        Problem::new(&IGNORED_VALUE, span, message)
            .hint("write a number of bytes, or use `collective: {fusionThreshold: 64Mi}`")
    })
}

/// The known variables with the prefix that was probably meant, for names such as `NCLL_DEBUG` and `HOROVD_CYCLE_TIME`.
/// Empty if the prefix of `name` is not similar to a known one.
fn misspelt_prefix(name: &str) -> &'static [&'static str] {
    let Some((prefix, _)) = name.split_once('_') else { return &[] };
    let close = |word: &str| prefix != word && prefix != "KHOROVOD" && strsim::damerau_levenshtein(prefix, word) == 1;
    if close("NCCL") {
        NCCL
    } else if close("HOROVOD") {
        HOROVOD
    } else {
        &[]
    }
}

/// Reports a `MASTER_ADDR` with the address of the local host in a job with several workers: the ranks of each worker
/// would look for the first rank on their own host.
fn report_local_address(case: &Case<'_>, name: &str, value: &str, span: Span) -> Option<Problem> {
    let workers: u64 = case.spec.groups.iter().map(|group| u64::from(group.replicas)).sum();
    let home = name == "MASTER_ADDR" && ["localhost", "127.0.0.1", "::1"].contains(&value);
    let shown = matches!(case.spec.launcher.kind, LauncherKind::Torchrun | LauncherKind::Shell);
    let message = format!("`{name}: {value}` is a different host on each of the {workers} workers");
    let hint = "remove it; with `launcher: torchrun` each rank gets the address of the first worker";
    (home && workers > 1 && !shown).then(|| Problem::new(&RESERVED_VARIABLE, span, message).hint(hint))
}

/// Reports a `CUDA_VISIBLE_DEVICES` that hides some GPUs of a worker from all its ranks.
fn hidden_gpus(case: &Case<'_>, name: &str, value: &str, span: Span) -> Option<Problem> {
    let most = case.spec.groups.iter().map(|group| group.gpus).max()?;
    let seen = value.split(',').filter(|device| !device.trim().is_empty()).count();
    let hides = name == "CUDA_VISIBLE_DEVICES" && usize::try_from(most).is_ok_and(|most| seen < most);
    let message = format!("`{name}` shows every rank {seen} of the {most} GPUs of its worker");
    hides.then(|| {
        Problem::new(&IDLE_GPUS, span, message).hint("remove it: each worker sees its own GPUs, and no others")
    })
}
