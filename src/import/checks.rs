//! Adds notes to values that the import keeps, but that have an effect only under Slurm, or only on nodes like the old ones.
//! An example is the name of a network interface. The main function is [`add_note`].

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

/// Adds a note to the row of a value that is kept or changed.
pub fn add_note(row: &mut Row, spec: &SpecBuilder) {
    let is_kept = row.verdict == Some(Verdict::Kept);
    let note = match (gpu_type(row, spec).filter(|_| is_kept), check(row, spec)) {
        (Some(kind), _) => {
            row.to.push(field::SLURM_GRES.to_owned());
            format!(
                "{CHECK}the type `{kind}` is for Slurm only. In pods, select such nodes by their label, in spec.placement.nodeSelector"
            )
        }
        (None, Some(note)) => note.to_owned(),
        (None, None) if is_kept && is_for_slurm_only(row) => "under Slurm only".to_owned(),
        (None, None) => return,
    };
    row.note = if row.note.is_empty() { note } else { format!("{note}; {}", row.note) };
}

/// Whether only the target `slurm` uses the fields that have the value, and the note of the row does not mention this yet.
fn is_for_slurm_only(row: &Row) -> bool {
    !row.to.is_empty() && row.to.iter().all(|to| to.starts_with("spec.slurm.")) && !row.note.contains("Slurm")
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
