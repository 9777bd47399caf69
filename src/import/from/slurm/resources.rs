//! The resources that a script requests, as workers of the new spec.

use super::amounts::{count, mebibytes, of_one, quantity, seconds};
use super::options::{Meaning, ParsedOption};
use super::requested::Resources;
use crate::context::Context;
use crate::field::{self, set};
use crate::field_outcomes::Verdict;
use crate::launch::World;
use khorovod_compiler::job::types::format_duration;

/// The outcome of an option: the verdict, the field and a note.
type OptionOutcome = (Verdict, &'static str, &'static str);

impl Resources {
    /// Takes the value of an option.
    pub fn take(&mut self, option: &ParsedOption) -> Result<OptionOutcome, String> {
        let value = option.value.as_deref().unwrap_or_default();
        let (replicas, gpus) = (field::WORKERS_REPLICAS, field::WORKERS_GPUS);
        let kept = |field| Ok((Verdict::Kept, field, ""));
        let verdict = |how: &str| if how.is_empty() { Verdict::Kept } else { Verdict::Changed };
        match option.meaning {
            Meaning::Nodes => {
                let (low, high) = value.split_once('-').unwrap_or((value, value));
                self.nodes = Some(count(high)?.max(count(low)?));
                if low == high {
                    kept(replicas)
                } else {
                    Ok((Verdict::Changed, replicas, "the maximum: a job has a fixed number of workers"))
                }
            }
            Meaning::Count(kept, to, how) => {
                *kept(self) = Some(count(value)?);
                Ok((verdict(how), to, how))
            }
            Meaning::Memory(..) if option.name == "mem" && value == "0" => {
                Ok((Verdict::Lost, "", "it means all memory of a node: write the amount into spec.workers.memory"))
            }
            Meaning::Memory(kept, to, how) => {
                *kept(self) = Some(mebibytes(value)?);
                Ok((verdict(how), to, how))
            }
            Meaning::Gres => self.take_gres(value),
            Meaning::Gpus => {
                self.gpus = Some(self.typed(value)?);
                Ok((Verdict::Changed, gpus, "the number per worker; the option counts all nodes"))
            }
            Meaning::GpusPerNode => {
                self.gpus_per_node = Some(of_one(self.typed(value)?)?);
                kept(gpus)
            }
            Meaning::GpusPerTask => {
                self.gpus_per_task = Some(self.typed(value)?);
                Ok((Verdict::Changed, gpus, "the sum for all ranks of a worker"))
            }
            Meaning::Time => {
                self.time = seconds(value)?;
                match self.time {
                    Some(_) => Ok((
                        Verdict::Changed,
                        field::TIME_AND_DEADLINE,
                        "on Kubernetes, it also counts the wait for the pods, but not the time in a queue of Kueue; under Slurm, the time in \
                         the queue does not count",
                    )),
                    None => Ok((Verdict::Kept, "", "no limit is the default")),
                }
            }
            _ => Err("it has no valid value".to_owned()),
        }
    }

    /// Reads `--gres`: `gpu:a100:4,other:1`.
    fn take_gres(&mut self, value: &str) -> Result<OptionOutcome, String> {
        let mut others = false;
        for part in value.split(',') {
            let part = part.strip_prefix("gres/").or_else(|| part.strip_prefix("gres:")).unwrap_or(part);
            match part.split_once([':', '=']) {
                Some(("gpu", rest)) => self.gpus_per_node = Some(of_one(self.typed(rest)?)?),
                None if part == "gpu" => self.gpus_per_node = Some(1),
                _ => others = true,
            }
        }
        if others {
            return Ok((Verdict::Lost, "", "only GPUs are imported: pass the rest to sbatch on the command line"));
        }
        Ok((Verdict::Kept, field::WORKERS_GPUS, ""))
    }

    /// Reads a number of GPUs: `4`, `a100:4` or `a100`.
    fn typed(&mut self, value: &str) -> Result<u32, String> {
        let (kind, number) = value.rsplit_once([':', '=']).unwrap_or(("", value));
        let (kind, number) = if number.parse::<u32>().is_err() { (value, "1") } else { (kind, number) };
        if !kind.is_empty() {
            let fits = kind.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            if !fits {
                return Err(format!("`{kind}` is not a kind of GPU"));
            }
            self.gres = Some(format!("gpu:{kind}"));
        }
        let number = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
        Ok(number)
    }

    pub fn nodes(&self) -> u32 {
        let by_tasks = match (self.tasks, self.tasks_per_node) {
            (Some(tasks), Some(each)) => tasks.div_ceil(each),
            _ => 1,
        };
        self.nodes.unwrap_or(by_tasks.max(self.hosts.unwrap_or(1)))
    }

    /// If a script requests several tasks but does not set the number of nodes, Slurm chooses this number. Returns the
    /// option that requests the tasks in this case, and None in all other cases.
    pub fn unknown_nodes(&self) -> Option<String> {
        let tasks = self.tasks.filter(|tasks| *tasks > 1)?;
        let is_set = self.nodes.is_some() || self.tasks_per_node.is_some() || self.hosts.is_some();
        (!is_set).then(|| format!("`--ntasks={tasks}`"))
    }

    /// Returns the number of tasks per node.
    pub fn tasks(&self) -> u32 {
        // With `--ntasks`, `--ntasks-per-node` is only a limit.
        let shared = self.tasks.map(|tasks| tasks.div_ceil(self.nodes()).max(1));
        let by_gpus = self.tasks_per_gpu.map(|each| each.saturating_mul(self.requested_gpus()).max(1));
        [self.tasks_per_node, shared].into_iter().flatten().min().or(by_gpus).unwrap_or(1)
    }

    /// Returns the GPUs per node, without those that are requested per task.
    fn requested_gpus(&self) -> u32 {
        self.gpus_per_node.or(self.gpus.map(|gpus| gpus.div_ceil(self.nodes()))).unwrap_or(0)
    }

    fn gpus_of_node(&self) -> u32 {
        let shared = self.gpus.map(|gpus| gpus.div_ceil(self.nodes()));
        let by_tasks = self.gpus_per_task.map(|gpus| gpus.saturating_mul(self.tasks()));
        let of_tasks = self.tasks_per_gpu.filter(|_| self.tasks.or(self.tasks_per_node).is_some());
        let of_tasks = of_tasks.map(|each| self.tasks().div_ceil(each));
        self.gpus_per_node.or(by_tasks).or(shared).or(of_tasks).unwrap_or(0)
    }

    /// Checks that the resources per node are plausible.
    pub fn fits(&self) -> Result<(), String> {
        match (self.gpus_of_node(), self.tasks()) {
            (gpus @ 65.., _) => Err(format!("the script asks for {gpus} GPUs on one node")),
            (_, tasks @ 1_025..) => Err(format!("the script asks for {tasks} tasks on one node")),
            _ => Ok(()),
        }
    }

    /// Compares the number of ranks with the number of tasks that Slurm would start.
    pub fn how_many(&self) -> (Verdict, String) {
        let ranks = self.nodes().saturating_mul(self.tasks());
        match self.tasks {
            Some(tasks) if tasks != ranks => {
                (Verdict::Changed, format!("{ranks} ranks: all workers have the same number"))
            }
            Some(2..) if self.nodes.is_none() && self.tasks_per_node.is_none() => {
                (Verdict::Changed, "all ranks are on one worker; without --nodes, Slurm chose the nodes".to_owned())
            }
            _ => (Verdict::Kept, String::new()),
        }
    }

    /// Returns the number of tasks on all nodes.
    pub fn ranks(&self) -> u32 {
        self.nodes().saturating_mul(self.tasks())
    }

    /// Whether each node has one task.
    pub fn one_a_node(&self) -> bool {
        self.tasks() == 1
    }

    /// Whether there is one task in total.
    pub fn one_rank(&self) -> bool {
        self.nodes() == 1 && self.tasks() == 1
    }

    /// Returns Slurm's variables whose values are known.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let (nodes, tasks) = (self.nodes(), self.tasks());
        let all = [
            ("SLURM_NTASKS", Some(nodes.saturating_mul(tasks))),
            ("SLURM_NPROCS", Some(nodes.saturating_mul(tasks))),
            ("SLURM_NNODES", Some(nodes)),
            ("SLURM_JOB_NUM_NODES", Some(nodes)),
            ("SLURM_NTASKS_PER_NODE", self.tasks_per_node.or(self.tasks).map(|_| tasks)),
            ("SLURM_CPUS_PER_TASK", self.cpus_per_task),
            ("SLURM_GPUS_ON_NODE", Some(self.gpus_of_node()).filter(|gpus| *gpus > 0)),
            ("SLURM_GPUS_PER_NODE", Some(self.gpus_of_node()).filter(|gpus| *gpus > 0)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?.to_string())))
    }

    /// Returns Slurm's variables whose values change if one torchrun is the only task of a node, each with the value
    /// that the ranks had under srun.
    pub fn variables_of_tasks(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.variables().filter(|_| !self.one_a_node()).filter_map(|(name, value)| match name {
            "SLURM_NTASKS_PER_NODE" => Some((name, "$LOCAL_WORLD_SIZE".to_owned())),
            "SLURM_CPUS_PER_TASK" => Some((name, value)),
            _ => None,
        })
    }

    /// Returns the nodes as the hosts of a launch line.
    pub fn world(&self) -> World {
        World { pods: self.nodes(), from: "nodes".to_owned(), without_launcher: None, gpus: self.gpus_of_node() }
    }

    /// Sets the resources per worker. `tasks` is the number of tasks per node. 0 means the number from the options of
    /// the script.
    pub fn put(&self, context: &mut Context<'_>, tasks: u32) {
        let tasks = if tasks == 0 { self.tasks() } else { tasks };
        let gpus = self.gpus_of_node();
        let by_task = self.cpus_per_task.map(|cpus| cpus.saturating_mul(tasks));
        let cpus = by_task.or(self.cpus_per_gpu.map(|cpus| cpus.saturating_mul(gpus.max(1))));
        let by_cpu = self.mem_per_cpu.map(|mem| mem * u64::from(cpus.unwrap_or(tasks)));
        let by_gpus = self.mem_per_gpu.map(|mem| mem * u64::from(gpus.max(1)));
        if gpus > 0 {
            context.spec.put(set::WORKERS_GPUS, gpus, "GPUs per node");
        }
        if let Some(cpus) = cpus {
            context.spec.put(
                set::WORKERS_CPU,
                cpus.to_string(),
                if by_task.is_some() {
                    "--cpus-per-task times the tasks per node"
                } else {
                    "--cpus-per-gpu times the GPUs per node"
                },
            );
        }
        if let Some(memory) = self.mem.or(by_cpu).or(by_gpus) {
            context.spec.put(set::WORKERS_MEMORY, quantity(memory), "memory per node");
        }
        if let Some(tmp) = self.tmp {
            context.spec.put(set::WORKERS_EPHEMERAL_STORAGE, quantity(tmp), "--tmp");
        }
        if let Some(gres) = &self.gres {
            context.spec.put(set::SLURM_GRES, gres.as_str(), "");
        }
        if let Some(time) = self.time {
            context.spec.put(set::SLURM_TIME, format_duration(time), "");
            context.spec.put(
                set::LIFECYCLE_DEADLINE,
                format_duration(time),
                "on Kubernetes; it includes the wait for workers",
            );
        }
    }

    /// Sets the number of workers from the number of nodes, and the ranks per worker from the number of tasks per node.
    pub fn put_workers(&self, context: &mut Context<'_>) {
        context.spec.put(set::WORKERS_REPLICAS, self.nodes(), "nodes");
        self.put_slots(context);
    }

    pub fn put_slots(&self, context: &mut Context<'_>) {
        if self.tasks() != self.gpus_of_node().max(1) && !self.shares() {
            context.spec.put(set::WORKERS_SLOTS_PER_WORKER, self.tasks(), "tasks per node");
        }
    }

    /// Whether tasks of a node share GPUs.
    pub fn shares(&self) -> bool {
        (1..self.tasks()).contains(&self.gpus_of_node())
    }
}
