//! Ranks that srun numbers and no MPI brings together: they meet at `MASTER_ADDR`, as torch's do.
//!
//! torchrun numbers them in pods as well as under Slurm, so it starts them in both.

use serde_json::Value as Json;

use super::{Script, Setup, lines, started, text};
use crate::ledger::Verdict;

/// Variables by which torch's processes meet; torchrun sets them.
pub const MEETING: &[&str] = &["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK"];

/// What srun says to each rank, in torchrun's words for it: a program may read either.
pub const NUMBERS: &[(&str, &str)] = &[
    ("SLURM_PROCID", "RANK"),
    ("SLURM_LOCALID", "LOCAL_RANK"),
    ("SLURM_NODEID", "GROUP_RANK"),
    ("SLURM_NTASKS", "WORLD_SIZE"),
];

/// Options of srun that bind single tasks to cores and GPUs.
const BINDING: &[&str] = &["--gpu-bind", "--accel-bind", "--cpu-bind", "--mem-bind", "--distribution"];

impl Script<'_, '_, '_> {
    /// Whether the script says where the ranks of a line meet, and none of MPI's ways.
    pub fn meets(&self, line: &str) -> bool {
        let asked = self.mpi.as_deref().is_some_and(|mpi| mpi != "none");
        let prepared = self.setup.iter().map(|line| line.text.as_str());
        let mut said = self.modules.iter().map(String::as_str).chain(prepared).chain([line]);
        let by_mpi = asked || said.any(started::speaks_of_mpi);
        let here = self.env.iter().any(|(name, ..)| name == "MASTER_ADDR")
            || self.setup.iter().any(|line| line.sets("MASTER_ADDR"));
        here && !by_mpi
    }

    /// A program whose ranks torchrun starts.
    pub fn agents(&mut self, program: Json, row: usize) {
        let program = match program {
            Json::String(text) => text,
            words => {
                let words = words.as_array().into_iter().flatten().filter_map(Json::as_str);
                format!("exec {}", words.map(lines::quoted).collect::<Vec<_>>().join(" "))
            }
        };
        let numbers: Vec<String> = NUMBERS.iter().map(|(theirs, ours)| format!("{theirs}=${ours}")).collect();
        let world = self.own_world_size();
        self.drop_meeting(&program);
        self.desk.draft.put("spec.launcher.kind", "torchrun", "ranks meet at MASTER_ADDR; it numbers them as srun did");
        // torchrun's own agents meet at its port; ranks meet as they did, where the program says or by these.
        let port = self.env.iter().find(|(name, ..)| name == "MASTER_PORT").map(|(_, port, _)| port.as_str());
        let port = port.filter(|port| port.parse::<u16>().is_ok()).unwrap_or("$((MASTER_PORT + 1))");
        let world = world.map_or(String::new(), |world| format!(" WORLD_SIZE={world}"));
        let command = format!(
            "export {} MASTER_PORT={port}{world}\nunset TORCHELASTIC_USE_AGENT_STORE\n{program}",
            numbers.join(" ")
        );
        self.desk.draft.put("spec.command", command, "what each rank ran, with its numbers by Slurm's names");
        self.unbind();
        let how = "srun numbered the ranks; torchrun does so in pods as well as under Slurm";
        self.settle(row, Verdict::Changed, "spec.command spec.launcher.kind", how);
    }

    /// The number that the script gives to WORLD_SIZE, where that is not the number of tasks: its programs start more
    /// processes themselves.
    fn own_world_size(&mut self) -> Option<u64> {
        let at = self.env.iter().rposition(|(name, ..)| name == "WORLD_SIZE")?;
        let world: u64 = self.env[at].1.parse().ok()?;
        if world == u64::from(self.asked.ranks()) {
            return None;
        }
        let (.., row) = self.env.remove(at);
        self.env.retain(|(name, ..)| name != "WORLD_SIZE");
        let how = format!("{world} as in the script, which is not the number of tasks: the program starts more itself");
        self.settle(row, Verdict::Changed, "spec.command", &how);
        Some(world)
    }

    /// Whether the script makes WORLD_SIZE of something that is not known here, and starts one task on each node that
    /// has several GPUs: then it need not be the number of tasks.
    pub fn counts_processes(&self) -> bool {
        let made = self.setup.iter().any(|line| line.value.is_none() && line.sets("WORLD_SIZE"));
        made && self.asked.one_a_node() && self.asked.world().gpus > 1
    }

    /// torchrun says where ranks meet; `uses` is what is left of the launch.
    pub fn drop_meeting(&mut self, uses: &str) {
        let (dropped, kept): (Vec<Setup>, Vec<Setup>) = std::mem::take(&mut self.setup).into_iter().partition(|line| {
            let names = text::assigned(&line.text);
            !names.is_empty() && names.iter().all(|name| MEETING.contains(&name.as_str()))
        });
        self.setup = kept;
        for line in dropped {
            self.settle(line.row, Verdict::Kept, "", "khorovod sets up the rendezvous");
        }
        self.drop_unused(uses);
    }

    /// An agent starts all ranks of a node: what binds tasks would bind all of them to one's share.
    fn unbind(&mut self) {
        let bound = |option: &str| BINDING.iter().any(|name| option.starts_with(name));
        let (bound, free) = std::mem::take(&mut self.steps).into_iter().partition(|(option, _)| bound(option));
        self.steps = free;
        for (_, row) in bound {
            self.settle(row, Verdict::Lost, "", "it bound each task; here one task a node starts the ranks");
        }
    }
}
