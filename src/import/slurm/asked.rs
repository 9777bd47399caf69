//! What a script asks Slurm for → workers of the new spec.

use super::options::{Given, Meaning};
use crate::import::desk::Desk;
use crate::import::launch::World;
use crate::import::ledger::Verdict;

/// What options say; later ones win.
#[derive(Debug, Default)]
pub struct Asked {
    nodes: Option<u32>,
    tasks: Option<u32>,
    tasks_per_node: Option<u32>,
    cpus_per_task: Option<u32>,
    cpus_per_gpu: Option<u32>,
    /// Mebibytes.
    mem: Option<u64>,
    mem_per_cpu: Option<u64>,
    mem_per_gpu: Option<u64>,
    tmp: Option<u64>,
    gpus: Option<u32>,
    gpus_per_node: Option<u32>,
    gpus_per_task: Option<u32>,
    /// `gpu:a100`.
    gres: Option<String>,
    /// How many hosts the nodelist has.
    pub hosts: Option<u32>,
    /// Seconds.
    time: Option<u64>,
    pub requeue: Option<bool>,
}

/// What became of an option: verdict, field, how.
type Became = (Verdict, &'static str, &'static str);

const MOST: u32 = 100_000;

impl Asked {
    /// Takes an option that counts something.
    pub fn take(&mut self, option: &Given) -> Result<Became, String> {
        let value = option.value.as_deref().unwrap_or_default();
        let (replicas, slots, gpus, memory) =
            ("spec.workers.replicas", "spec.workers.slots", "spec.workers.gpus", "spec.workers.memory");
        let kept = |field| Ok((Verdict::Kept, field, ""));
        match option.meaning {
            Meaning::Nodes => {
                let (low, high) = value.split_once('-').unwrap_or((value, value));
                self.nodes = Some(count(high)?.max(count(low)?));
                if low == high {
                    kept(replicas)
                } else {
                    Ok((Verdict::Changed, replicas, "the most of them: a job here has so many, no more and no fewer"))
                }
            }
            Meaning::Tasks => {
                self.tasks = Some(count(value)?);
                kept(slots)
            }
            Meaning::TasksPerNode => {
                self.tasks_per_node = Some(count(value)?);
                kept(slots)
            }
            Meaning::CpusPerTask => {
                self.cpus_per_task = Some(count(value)?);
                Ok((Verdict::Changed, "spec.workers.cpu", "of all ranks of a worker"))
            }
            Meaning::CpusPerGpu => {
                self.cpus_per_gpu = Some(count(value)?);
                Ok((Verdict::Changed, "spec.workers.cpu", "of all GPUs of a worker"))
            }
            Meaning::Mem if value == "0" => {
                Ok((Verdict::Lost, "", "all memory of a node: say how much in spec.workers.memory"))
            }
            Meaning::Mem => {
                self.mem = Some(mebibytes(value)?);
                kept(memory)
            }
            Meaning::MemPerCpu => {
                self.mem_per_cpu = Some(mebibytes(value)?);
                Ok((Verdict::Changed, memory, "of all CPUs of a worker"))
            }
            Meaning::MemPerGpu => {
                self.mem_per_gpu = Some(mebibytes(value)?);
                Ok((Verdict::Changed, memory, "of all GPUs of a worker"))
            }
            Meaning::Tmp => {
                self.tmp = Some(mebibytes(value)?);
                kept("spec.workers.ephemeralStorage")
            }
            Meaning::Gres => self.take_gres(value),
            Meaning::Gpus => {
                self.gpus = Some(self.typed(value)?);
                Ok((Verdict::Changed, gpus, "of each worker, where this was for all"))
            }
            Meaning::GpusPerNode => {
                self.gpus_per_node = Some(of_one(self.typed(value)?)?);
                kept(gpus)
            }
            Meaning::GpusPerTask => {
                self.gpus_per_task = Some(self.typed(value)?);
                Ok((Verdict::Changed, gpus, "of all ranks of a worker"))
            }
            Meaning::Time => {
                self.time = seconds(value)?;
                match self.time {
                    Some(_) => Ok((Verdict::Kept, "spec.slurm.time spec.lifecycle.deadline", "")),
                    None => Ok((Verdict::Kept, "", "without a limit")),
                }
            }
            _ => Err("it is not understood".to_owned()),
        }
    }

    /// `gpu:a100:4,other:1`.
    fn take_gres(&mut self, value: &str) -> Result<Became, String> {
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
            return Ok((Verdict::Lost, "", "only GPUs are counted: add the rest to the script by hand"));
        }
        Ok((Verdict::Kept, "spec.workers.gpus", ""))
    }

    /// `4`, `a100:4` or `a100`.
    fn typed(&mut self, value: &str) -> Result<u32, String> {
        let (kind, number) = value.rsplit_once([':', '=']).unwrap_or(("", value));
        let (kind, number) = if number.parse::<u32>().is_err() { (value, "1") } else { (kind, number) };
        if !kind.is_empty() {
            let fits = kind.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
                && kind.contains(|c: char| c.is_ascii_alphabetic());
            if !fits {
                return Err(format!("`{kind}` is no kind of GPU"));
            }
            self.gres = Some(format!("gpu:{kind}"));
        }
        let number = number.parse().map_err(|_| format!("`{number}` is no number"))?;
        Ok(number)
    }

    pub fn nodes(&self) -> u32 {
        let by_tasks = match (self.tasks, self.tasks_per_node) {
            (Some(tasks), Some(each)) => tasks.div_ceil(each),
            _ => 1,
        };
        self.nodes.unwrap_or(by_tasks.max(self.hosts.unwrap_or(1)))
    }

    /// Tasks of a node.
    pub fn tasks(&self) -> u32 {
        // Beside `--ntasks`, the other says only how many there may be.
        let shared = self.tasks.map(|tasks| tasks.div_ceil(self.nodes()).max(1));
        [self.tasks_per_node, shared].into_iter().flatten().min().unwrap_or(1)
    }

    fn gpus_of_node(&self) -> u32 {
        let shared = self.gpus.map(|gpus| gpus.div_ceil(self.nodes()));
        let by_tasks = self.gpus_per_task.map(|gpus| gpus.saturating_mul(self.tasks()));
        self.gpus_per_node.or(by_tasks).or(shared).unwrap_or(0)
    }

    /// Whether a node may have what is asked of each.
    pub fn fits(&self) -> Result<(), String> {
        match (self.gpus_of_node(), self.tasks()) {
            (gpus @ 65.., _) => Err(format!("the script asks for {gpus} GPUs on one node")),
            (_, tasks @ 1_025..) => Err(format!("the script asks for {tasks} tasks on one node")),
            _ => Ok(()),
        }
    }

    /// Whether the ranks are as many as Slurm starts, and where.
    pub fn how_many(&self) -> (Verdict, String) {
        let ranks = self.nodes().saturating_mul(self.tasks());
        match self.tasks {
            Some(tasks) if tasks != ranks => {
                (Verdict::Changed, format!("{ranks} ranks: each worker has as many as the others"))
            }
            Some(2..) if self.nodes.is_none() && self.tasks_per_node.is_none() => {
                (Verdict::Changed, "on one worker; without --nodes Slurm chose where".to_owned())
            }
            _ => (Verdict::Kept, String::new()),
        }
    }

    /// Whether each node has one task.
    pub fn one_a_node(&self) -> bool {
        self.tasks() == 1
    }

    /// Whether Slurm would start one task in all.
    pub fn one_rank(&self) -> bool {
        self.nodes() == 1 && self.tasks() == 1
    }

    /// Slurm's variables whose values are known.
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

    /// The nodes as launch lines see them.
    pub fn world(&self) -> World {
        World { pods: self.nodes(), from: "nodes".to_owned(), without_launcher: None, gpus: self.gpus_of_node() }
    }

    /// Puts what each worker has; `tasks` of a node, where that is not what the options say.
    pub fn put(&self, desk: &mut Desk<'_>, tasks: u32) {
        let tasks = if tasks == 0 { self.tasks() } else { tasks };
        let gpus = self.gpus_of_node();
        let by_task = self.cpus_per_task.map(|cpus| cpus.saturating_mul(tasks));
        let cpus = by_task.or(self.cpus_per_gpu.map(|cpus| cpus.saturating_mul(gpus.max(1))));
        let by_cpu = self.mem_per_cpu.map(|mem| mem * u64::from(cpus.unwrap_or(tasks)));
        let by_gpus = self.mem_per_gpu.map(|mem| mem * u64::from(gpus.max(1)));
        if gpus > 0 {
            desk.draft.put("spec.workers.gpus", gpus, "GPUs of a node");
        }
        if let Some(cpus) = cpus {
            desk.draft.put(
                "spec.workers.cpu",
                cpus.to_string(),
                if by_task.is_some() { "cpus-per-task of all tasks of a node" } else { "cpus-per-gpu of all GPUs" },
            );
        }
        if let Some(memory) = self.mem.or(by_cpu).or(by_gpus) {
            desk.draft.put("spec.workers.memory", quantity(memory), "memory of a node");
        }
        if let Some(tmp) = self.tmp {
            desk.draft.put("spec.workers.ephemeralStorage", quantity(tmp), "--tmp");
        }
        if let Some(gres) = &self.gres {
            desk.draft.put("spec.slurm.gres", gres.as_str(), "");
        }
        if let Some(time) = self.time {
            desk.draft.put("spec.slurm.time", duration(time), "");
            desk.draft.put("spec.lifecycle.deadline", duration(time), "on Kubernetes; it counts the wait, too");
        }
    }

    /// Puts as many workers and ranks as Slurm starts tasks.
    pub fn put_workers(&self, desk: &mut Desk<'_>) {
        desk.draft.put("spec.workers.replicas", self.nodes(), "nodes");
        self.put_slots(desk);
    }

    pub fn put_slots(&self, desk: &mut Desk<'_>) {
        if self.tasks() != self.gpus_of_node().max(1) && !self.shares() {
            desk.draft.put("spec.workers.slots", self.tasks(), "tasks of a node");
        }
    }

    /// Whether tasks of a node share its GPUs.
    pub fn shares(&self) -> bool {
        (1..self.tasks()).contains(&self.gpus_of_node())
    }
}

/// How many hosts a list such as `a[0-2,5],b` has; none where it is a file's name.
pub fn hosts(list: &str) -> Option<u32> {
    let (mut count, mut each, mut depth) = (0_u32, 1_u32, 0);
    let mut inner = String::new();
    for c in list.chars() {
        match c {
            '/' => return None,
            '[' => (depth, inner) = (depth + 1, String::new()),
            ']' => {
                depth -= 1;
                let ranges = inner.split(',').map(|range| match range.split_once('-') {
                    Some((low, high)) => {
                        Some(high.parse::<u32>().ok()?.checked_sub(low.parse().ok()?)?.saturating_add(1))
                    }
                    None => Some(1),
                });
                each = each.saturating_mul(ranges.sum::<Option<u32>>()?);
            }
            ',' if depth == 0 => (count, each) = (count.saturating_add(each), 1),
            _ if depth > 0 => inner.push(c),
            _ => {}
        }
    }
    Some(count.saturating_add(each).min(MOST))
}

fn count(value: &str) -> Result<u32, String> {
    match value.trim().parse() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("`{value}` is no number of 1 to {MOST}")),
    }
}

/// `64G`, `500`: mebibytes, as Slurm counts.
fn mebibytes(value: &str) -> Result<u64, String> {
    let wrong = || format!("`{value}` is no amount of memory such as 64G");
    let text = value.trim_end_matches(['B', 'b', 'n', 'c']);
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "M" => 1,
        "K" => return Ok(number.div_ceil(1 << 10).max(1)),
        "G" => 1 << 10,
        "T" => 1 << 20,
        _ => return Err(wrong()),
    };
    match number.checked_mul(factor) {
        Some(amount) if (1..1 << 30).contains(&amount) => Ok(amount),
        _ => Err(wrong()),
    }
}

fn quantity(mebibytes: u64) -> String {
    if mebibytes.is_multiple_of(1_024) { format!("{}Gi", mebibytes / 1_024) } else { format!("{mebibytes}Mi") }
}

/// Slurm's forms of a time: `90`, `90:30`, `8:00:00`, `2-12`, `2-12:30`, `2-12:30:00`. None: without a limit.
fn seconds(value: &str) -> Result<Option<u64>, String> {
    if ["UNLIMITED", "INFINITE", "0", "-1"].contains(&value.to_ascii_uppercase().as_str()) {
        return Ok(None);
    }
    let wrong = || format!("`{value}` is no time such as 8:00:00 or 2-12:00");
    let (days, rest) = value.split_once('-').map_or((None, value), |(days, rest)| (Some(days), rest));
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number < 1_000_000).ok_or_else(wrong);
    let parts = rest.split(':').map(number).collect::<Result<Vec<_>, _>>()?;
    let seconds = match (days, parts.as_slice()) {
        (None, [minutes]) => minutes * 60,
        (None, [minutes, seconds]) => minutes * 60 + seconds,
        (None, [hours, minutes, seconds]) => hours * 3_600 + minutes * 60 + seconds,
        (Some(days), [hours, rest @ ..]) if rest.len() < 3 => {
            let small: u64 = rest.iter().zip([60, 1]).map(|(number, unit)| number * unit).sum();
            number(days)? * 86_400 + hours * 3_600 + small
        }
        _ => return Err(wrong()),
    };
    if seconds == 0 { Err(wrong()) } else { Ok(Some(seconds)) }
}

/// Seconds as a spec has them.
fn duration(seconds: u64) -> String {
    let parts = [(seconds / 3_600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let parts = parts.iter().filter(|(number, _)| *number > 0).map(|(number, unit)| format!("{number}{unit}"));
    parts.collect::<Vec<_>>().concat()
}

/// As many GPUs as one node can have.
fn of_one(gpus: u32) -> Result<u32, String> {
    if gpus <= 64 { Ok(gpus) } else { Err(format!("{gpus} GPUs are more than any node has")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_amounts_as_slurm_reads_them() {
        let cases = [
            ("90", 5_400),
            ("90:30", 5_430),
            ("08:00:00", 28_800),
            ("2-12", 216_000),
            ("1-0:30", 88_200),
            ("1-00:00:01", 86_401),
        ];
        for (text, wanted) in cases {
            assert_eq!(seconds(text), Ok(Some(wanted)), "{text}");
        }
        assert_eq!(seconds("UNLIMITED"), Ok(None));
        for text in ["", "a", "1:2:3:4", "1-", "-", "99999999999", "1-1:1:1:1"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        let amounts = [
            ("500", "500Mi"),
            ("64G", "64Gi"),
            ("1536M", "1536Mi"),
            ("2T", "2048Gi"),
            ("1048576K", "1Gi"),
            ("4Gn", "4Gi"),
        ];
        for (text, wanted) in amounts {
            assert_eq!(quantity(mebibytes(text).unwrap()), wanted);
        }
        assert_eq!(duration(28_830), "8h30s");
        let lists = [("mega-[0-1]", Some(2)), ("a[0-2,5],b", Some(5)), ("n1,n2", Some(2)), ("r[1-2]n[0-3]", Some(8))];
        for (list, wanted) in lists.into_iter().chain([("./hosts", None), ("a[x-y]", None)]) {
            assert_eq!(hosts(list), wanted, "{list}");
        }
    }
}
