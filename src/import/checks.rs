//! Corrects the outcomes of values that the new spec contains, but that have an effect only under Slurm, or only on nodes like the
//! old ones. An example is the name of a network interface. The main function is [`correct`].

use serde_json::Value as Json;

use crate::field;
use crate::field_outcomes::{Row, Verdict};
use crate::spec_builder::SpecBuilder;

/// The beginning of a note about a value that the user has to check.
pub const CHECK: &str = "check: ";

/// Variables that name network interfaces.
const INTERFACES: &[&str] = &[
    "GLOO_SOCKET_IFNAME",
    "HOROVOD_GLOO_IFACE",
    "NCCL_SOCKET_IFNAME",
    "OMPI_MCA_btl_tcp_if_include",
    "OMPI_MCA_oob_tcp_if_include",
    "TP_SOCKET_IFNAME",
];
/// Variables that name RDMA devices.
const DEVICES: &[&str] = &["NCCL_IB_HCA", "NVSHMEM_HCA_LIST", "UCX_NET_DEVICES"];
/// Options of launchers that name network interfaces.
const OPTIONS: &[&str] = &["btl_tcp_if_include", "oob_tcp_if_include", "--network-interface", "-iface"];

const INTERFACE: &str = "check: pods usually have only the interfaces `eth0` and `lo`, unless spec.placement.hostNetwork is true. If \
                         no interface has this name, the ranks do not connect";
const DEVICE: &str =
    "check: pods have RDMA devices only with spec.workers.rdma, and the nodes may name them differently";

/// The beginnings of variables that set options of commands of Slurm.
const COMMANDS: &[&str] = &["SRUN_", "SBATCH_", "SALLOC_"];
/// Variables that set other options of srun.
const READ_BY_SLURM: &[&str] = &[
    "SLURM_CPU_BIND",
    "SLURM_DISTRIBUTION",
    "SLURM_EXACT",
    "SLURM_GPU_BIND",
    "SLURM_HINT",
    "SLURM_KILL_BAD_EXIT",
    "SLURM_MEM_BIND",
    "SLURM_MPI_TYPE",
    "SLURM_OVERLAP",
    "SLURM_UNBUFFEREDIO",
    "SLURM_WHOLE",
];
/// Fields that choose nodes for the target `slurm`.
const CHOOSES_NODES: &[&str] =
    &[field::SLURM_PARTITION, field::SLURM_CONSTRAINT, field::SLURM_NODELIST, field::SLURM_EXCLUDE];
const NODES: &str = "under Slurm only; pods choose nodes by spec.placement.nodeSelector";
const FOR_SRUN: &str = "under Slurm only: it sets an option of srun or sbatch, which pods do not call";

/// Adds a note to the row of a value that is kept or changed. A value that has no effect in pods is not kept, but changed.
pub fn correct(row: &mut Row, spec: &SpecBuilder) {
    let is_kept = row.verdict == Some(Verdict::Kept);
    let has_value = is_kept || row.verdict == Some(Verdict::Changed);
    let note = match (gpu_type(row, spec).filter(|_| has_value), check(row, spec)) {
        (Some(kind), _) => {
            row.verdict = Some(Verdict::Changed);
            row.to.push(field::SLURM_GRES.to_owned());
            format!(
                "{CHECK}pods request only the number; the type `{kind}` is for Slurm only. For pods, select such nodes by their label, in \
                 spec.placement.nodeSelector"
            )
        }
        (None, Some(note)) => note.to_owned(),
        (None, None) if is_kept && is_for_srun(row) => {
            row.verdict = Some(Verdict::Changed);
            FOR_SRUN.to_owned()
        }
        (None, None) if is_kept && is_for_slurm_only(row) => {
            row.verdict = Some(Verdict::Changed);
            if row.note.contains("Slurm") {
                return;
            }
            if row.to.iter().any(|to| CHOOSES_NODES.contains(&to.as_str())) { NODES } else { "under Slurm only" }
                .to_owned()
        }
        (None, None) => return,
    };
    row.note = if row.note.is_empty() { note } else { format!("{note}; {}", row.note) };
}

/// Whether only the target `slurm` uses the fields that have the value.
fn is_for_slurm_only(row: &Row) -> bool {
    !row.to.is_empty() && row.to.iter().all(|to| to.starts_with("spec.slurm."))
}

/// Whether a row exports a variable that only the commands of Slurm read.
fn is_for_srun(row: &Row) -> bool {
    let line = row.path.strip_prefix("export ").unwrap_or(&row.path);
    let name = line.split('=').next().unwrap_or_default();
    row.to == [field::ENV] && (READ_BY_SLURM.contains(&name) || COMMANDS.iter().any(|start| name.starts_with(start)))
}

/// The type of the GPUs that a row counts, as in `--gres=gpu:a100:4`.
fn gpu_type(row: &Row, spec: &SpecBuilder) -> Option<String> {
    let kind = spec.get(field::SLURM_GRES)?.as_str()?.strip_prefix("gpu:")?;
    let counts = row.to.iter().any(|to| to == field::WORKERS_GPUS);
    (counts && (row.path.contains(&format!("{kind}:")) || row.path.ends_with(kind))).then(|| kind.to_owned())
}

/// The note for a value that names a network interface or an RDMA device.
fn check(row: &Row, spec: &SpecBuilder) -> Option<&'static str> {
    // An entry of a list of variables has two rows. The row of its name needs no note.
    if row.path.ends_with("].name") {
        return None;
    }
    let is_in_env = |name: &str| {
        row.to.iter().any(|to| to.strip_prefix(field::ENV).is_some_and(|rest| rest.strip_prefix('.') == Some(name)))
            || row.to.iter().any(|to| to == field::ENV) && row.path.contains(&format!("{name}="))
    };
    let value_of = |name: &&&str| {
        let value = spec.get(field::ENV)?.get(**name)?.as_str()?;
        is_in_env(name).then(|| value.to_owned())
    };
    let on_host = spec.get(field::PLACEMENT_HOST_NETWORK) == Some(&Json::Bool(true));
    let is_of_host = |value: &str| !value.starts_with('^') && !value.trim_start_matches('=').starts_with("eth0");
    let is_option = row.to.iter().any(|to| to == field::LAUNCHER_ARGS)
        && OPTIONS.iter().any(|option| row.path.contains(option))
        && !row.path.contains("eth0");
    if !on_host && (is_option || INTERFACES.iter().find_map(|name| value_of(&name)).is_some_and(|v| is_of_host(&v))) {
        return Some(INTERFACE);
    }
    let has_rdma = spec.get(field::WORKERS_RDMA).is_some() || spec.get(field::WORKERS_RESOURCE_CLAIMS).is_some();
    (!has_rdma && DEVICES.iter().find_map(|name| value_of(&name)).is_some_and(|value| !value.starts_with('^')))
        .then_some(DEVICE)
}
