//! Imports ranks that srun starts and that do not find each other by MPI but by `MASTER_ADDR`, as PyTorch does.
//!
//! In the new job, torchrun starts such ranks, because it numbers them in the same way in pods and under Slurm.

use crate::field::{self, set};
use serde_json::Value as Json;

use super::options_apply::SEES_ALL;
use super::{Script, Setup, srun_program};
use crate::launch::program;
use crate::shell_text;

/// Variables of PyTorch's rendezvous, which torchrun sets.
pub const MEETING: &[&str] = &["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK"];

/// Variables that srun sets for each rank, and the variables of torchrun with the same meaning.
pub const NUMBERS: &[(&str, &str)] = &[
    ("SLURM_PROCID", "RANK"),
    ("SLURM_LOCALID", "LOCAL_RANK"),
    ("SLURM_NODEID", "GROUP_RANK"),
    ("SLURM_NTASKS", "WORLD_SIZE"),
];

/// Options of srun that bind single tasks to cores or GPUs.
const BINDING: &[&str] = &["--gpu-bind", "--accel-bind", "--cpu-bind", "--mem-bind", "--distribution"];

impl Script<'_, '_, '_> {
    /// Whether the ranks of a line find each other by `MASTER_ADDR`: the script sets this variable and does not use
    /// MPI.
    pub fn uses_master_addr(&self, line: &str) -> bool {
        let is_requested = self.mpi.as_deref().is_some_and(|mpi| mpi != "none");
        let prepared = self.setup.iter().map(|line| line.text.as_str());
        let mut texts = self.modules.iter().map(String::as_str).chain(prepared).chain([line]);
        let by_mpi = is_requested || texts.any(srun_program::names_mpi_library);
        let here = self.env.iter().any(|(name, ..)| name == "MASTER_ADDR")
            || self.setup.iter().any(|line| line.sets("MASTER_ADDR"));
        here && !by_mpi
    }

    /// Imports a program whose ranks torchrun starts.
    pub fn agents(&mut self, program: &Json, row: usize) {
        let text = program::as_text(program).unwrap_or_default();
        let program = if program.is_string() { text } else { format!("exec {text}") };
        let numbers = NUMBERS.iter().map(|(theirs, ours)| format!("{theirs}=${ours}"));
        let of_tasks = self.resources.variables_of_tasks().map(|(name, value)| format!("{name}={value}"));
        let numbers: Vec<String> = numbers.chain(of_tasks).collect();
        let world = self.own_world_size();
        self.by_agents = true;
        self.drop_meeting(&program);
        self.context.spec.put(
            set::LAUNCHER_KIND,
            "torchrun",
            "the ranks find each other by MASTER_ADDR; torchrun numbers them as srun did",
        );
        // The agents of torchrun use MASTER_PORT, so the ranks need another port: the one in the script, or else
        // MASTER_PORT + 1.
        let port = self.env.iter().find(|(name, ..)| name == "MASTER_PORT").map(|(_, port, _)| port.as_str());
        let port = port.filter(|port| port.parse::<u16>().is_ok()).unwrap_or("$((MASTER_PORT + 1))");
        let world = world.map_or(String::new(), |world| format!(" WORLD_SIZE={world}"));
        let command = format!(
            "export {} MASTER_PORT={port}{world}\nunset TORCHELASTIC_USE_AGENT_STORE\n{program}",
            numbers.join(" ")
        );
        self.context.spec.put(
            set::COMMAND,
            command,
            "what each rank runs, with the numbers of torchrun under Slurm's names",
        );
        self.unbind();
        let how = "srun numbered the ranks; torchrun does so in pods as well as under Slurm";
        self.changed(row, field::COMMAND_AND_KIND, how);
    }

    /// Returns the WORLD_SIZE that the script sets, if it differs from the number of tasks. Then the program of each
    /// task starts further processes itself.
    fn own_world_size(&mut self) -> Option<u64> {
        let at = self.env.iter().rposition(|(name, ..)| name == "WORLD_SIZE")?;
        let world: u64 = self.env[at].1.parse().ok()?;
        if world == u64::from(self.resources.ranks()) {
            return None;
        }
        let (.., row) = self.env.remove(at);
        self.env.retain(|(name, ..)| name != "WORLD_SIZE");
        let how = format!(
            "{world} as in the script, which is not the number of tasks: the program starts more processes itself"
        );
        self.changed(row, field::COMMAND, &how);
        Some(world)
    }

    /// Whether the script computes WORLD_SIZE from something unknown and starts one task per node with several GPUs.
    /// Then the value may differ from the number of tasks.
    pub fn counts_processes(&self) -> bool {
        let made = self.setup.iter().any(|line| line.value.is_none() && line.sets("WORLD_SIZE"));
        made && self.resources.one_a_node() && self.resources.world().gpus > 1
    }

    /// Drops the variables of the rendezvous, which torchrun sets. `uses` is the text of the launch without the options
    /// that were imported.
    pub fn drop_meeting(&mut self, uses: &str) {
        let (dropped, kept): (Vec<Setup>, Vec<Setup>) = std::mem::take(&mut self.setup).into_iter().partition(|line| {
            let names = shell_text::assigned(&line.text);
            !names.is_empty() && names.iter().all(|name| MEETING.contains(&name.as_str()))
        });
        self.setup = kept;
        for line in dropped {
            for name in shell_text::assigned(&line.text) {
                self.meeting(&name, false, line.row);
            }
        }
        self.drop_unused(uses);
    }

    /// Records the outcome of a variable of the rendezvous. `is_plain` is true if its value is plain text.
    pub fn meeting(&mut self, name: &str, is_plain: bool, row: usize) {
        match name {
            "MASTER_ADDR" if self.by_agents => {
                self.changed(row, field::LAUNCHER_KIND, "torchrun sets it for its ranks");
            }
            "MASTER_PORT" if self.by_agents && is_plain => {
                self.changed(row, field::COMMAND, "for the ranks; torchrun's agents use another port");
            }
            _ => self.dropped(row, "khorovod sets up the rendezvous"),
        }
    }

    /// Reports lines of the setup that use the number of tasks. In the new job, this number is different, because torchrun
    /// is the only task of each node.
    pub fn report_uses_of_task_number(&mut self) {
        const NUMBERS: &[&str] =
            &["SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK"];
        if !self.by_agents || self.resources.one_a_node() {
            return;
        }
        for name in NUMBERS {
            if self.setup.iter().any(|line| shell_text::named(&shell_text::of_script(&line.text)).contains(*name)) {
                let row = self.named(name);
                let how = "in spec.slurm.setup it has another value, because torchrun is now the only task of a node: write the value \
                           in its place";
                self.lost(row, how);
            }
        }
    }

    /// Drops options that bind tasks to cores or GPUs. In the new job, one task per node starts all ranks of the node,
    /// so all of them would be bound to the cores or GPUs of one task.
    fn unbind(&mut self) {
        let mut lost: Vec<(String, usize)> = Vec::new();
        let bound = |option: &str| BINDING.iter().any(|name| option.starts_with(name));
        for options in [&mut self.steps, &mut self.args] {
            let (bound, free) = std::mem::take(options).into_iter().partition(|(option, _)| bound(option));
            *options = free;
            lost.extend::<Vec<(String, usize)>>(bound);
        }
        for (option, row) in lost {
            let how = "it binds single tasks, but one task per node starts all ranks of the node";
            match option.starts_with("--gpu-bind") {
                true => self.lost(row, &format!("{how}; {SEES_ALL}")),
                false => self.lost(row, how),
            }
        }
    }
}
