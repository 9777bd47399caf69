//! The options of sbatch and srun: their names, whether a value follows, and their meaning in a spec.

use super::requested::Resources;
use crate::field::{self, set};
use crate::option_table::{Row, names, row};

/// The meaning of an option in a spec.
#[derive(Debug, Clone, Copy)]
pub enum Meaning {
    Nodes,
    /// A number (`Count`) or an amount of memory (`Memory`). The values are: a function that returns the field of
    /// [`Resources`], the path of the field in the spec, and the note for an amount that the spec expresses in another
    /// way.
    Count(fn(&mut Resources) -> &mut Option<u32>, &'static str, &'static str),
    Memory(fn(&mut Resources) -> &mut Option<u64>, &'static str, &'static str),
    Gres,
    Gpus,
    GpusPerNode,
    GpusPerTask,
    Time,
    Name,
    Folder,
    Export,
    Requeue(bool),
    Hold,
    /// `--signal`, which asks for a checkpoint.
    Signal,
    /// The command of the job: `--wrap`.
    Wrap,
    /// `srun --mpi`.
    Mpi,
    /// An image for a container runtime.
    Image,
    /// A job array, which is several jobs.
    Array,
    /// A field of `spec.slurm` with this name.
    Field(field::Field<String>),
    /// It remains an option of sbatch or srun. The text is the note about Kubernetes.
    Stays(&'static str),
    /// It is not needed. The text is the reason.
    Needless(&'static str),
    /// It cannot be imported. The text is the reason, and what to do.
    Lost(&'static str),
    /// An interactive terminal.
    Interactive,
    /// It selects the GPUs that a task sees.
    Binds,
}

use Meaning::{
    Array, Binds, Count, Export, Field, Folder, Gpus, GpusPerNode, GpusPerTask, Gres, Hold, Image, Interactive, Lost,
    Memory, Mpi, Name, Needless, Nodes, Requeue, Signal, Stays, Time, Wrap,
};

/// The long names and the short name, whether a value follows, and the meaning.
type OptionRow = Row<Value, Meaning>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Alone,
    Needed,
    /// A value may follow, but only after `=`.
    Inline,
}

use Value::{Alone, Inline, Needed};

const LOGS: &str = "under Slurm only; on Kubernetes, use `khorovod logs`";
const MAIL: &str = "under Slurm only: Kubernetes sends no mail";
const BINDING: &str = "under Slurm only: on Kubernetes, ranks are not bound to cores";
const WORDS: Meaning = Needless("it changes only what sbatch prints");
const SHARED: Meaning = Stays("under Slurm only: on Kubernetes, nodes are shared by the requests of pods");
const BY_HAND: Meaning = Lost("the spec has no field for it: pass it to sbatch on the command line");
const STEP: &str = "the spec has no field for a part of the allocation: the ranks use all of it";

const OPTIONS: &[OptionRow] = &[
    ("nodes N", Needed, Nodes),
    ("ntasks n", Needed, Count(|all| &mut all.tasks, field::WORKERS_SLOTS_PER_WORKER, "")),
    (
        "ntasks-per-node tasks-per-node",
        Needed,
        Count(|all| &mut all.tasks_per_node, field::WORKERS_SLOTS_PER_WORKER, ""),
    ),
    ("ntasks-per-gpu", Needed, Count(|all| &mut all.tasks_per_gpu, field::WORKERS_SLOTS_PER_WORKER, "")),
    (
        "cpus-per-task c",
        Needed,
        Count(|all| &mut all.cpus_per_task, field::WORKERS_CPU, "the sum for all ranks of a worker"),
    ),
    (
        "cpus-per-gpu",
        Needed,
        Count(|all| &mut all.cpus_per_gpu, field::WORKERS_CPU, "the sum for all GPUs of a worker"),
    ),
    ("mem", Needed, Memory(|all| &mut all.mem, field::WORKERS_MEMORY, "")),
    (
        "mem-per-cpu",
        Needed,
        Memory(|all| &mut all.mem_per_cpu, field::WORKERS_MEMORY, "the sum for all CPUs of a worker"),
    ),
    (
        "mem-per-gpu",
        Needed,
        Memory(|all| &mut all.mem_per_gpu, field::WORKERS_MEMORY, "the sum for all GPUs of a worker"),
    ),
    ("tmp", Needed, Memory(|all| &mut all.tmp, field::WORKERS_EPHEMERAL_STORAGE, "")),
    ("gres", Needed, Gres),
    ("gpus G", Needed, Gpus),
    ("gpus-per-node", Needed, GpusPerNode),
    ("gpus-per-task", Needed, GpusPerTask),
    ("time t", Needed, Time),
    ("job-name job J", Needed, Name),
    ("chdir workdir D", Needed, Folder),
    ("export", Needed, Export),
    ("requeue", Alone, Requeue(true)),
    ("no-requeue", Alone, Requeue(false)),
    ("hold H", Alone, Hold),
    ("wrap", Needed, Wrap),
    ("mpi", Needed, Mpi),
    ("container-image", Needed, Image),
    ("image", Needed, Image),
    ("partition p", Needed, Field(set::SLURM_PARTITION)),
    ("account A", Needed, Field(set::SLURM_ACCOUNT)),
    ("qos q", Needed, Field(set::SLURM_QOS)),
    ("constraint C", Needed, Field(set::SLURM_CONSTRAINT)),
    ("nodelist w", Needed, Field(set::SLURM_NODELIST)),
    ("exclude x", Needed, Field(set::SLURM_EXCLUDE)),
    ("reservation", Needed, Field(set::SLURM_RESERVATION)),
    ("output o", Needed, Stays(LOGS)),
    ("error e", Needed, Stays(LOGS)),
    ("open-mode", Needed, Stays(LOGS)),
    ("mail-type mail-user", Needed, Stays(MAIL)),
    ("exclusive", Inline, Stays("under Slurm only; on Kubernetes, request all GPUs or CPUs of a node")),
    ("oversubscribe s", Alone, SHARED),
    ("overcommit O", Alone, SHARED),
    ("contiguous", Alone, SHARED),
    ("licenses L", Needed, Stays("")),
    ("clusters M", Needed, Stays("")),
    ("comment wckey deadline priority", Needed, Stays("")),
    ("begin b", Needed, Stays("")),
    ("nodefile F", Needed, Stays("")),
    ("signal", Needed, Signal),
    ("switches network prefer burst-buffer bb bbf thread-spec cluster-constraint", Needed, Stays("")),
    ("core-spec S", Needed, Stays("")),
    ("distribution m", Needed, Stays(BINDING)),
    (
        "hint threads-per-core sockets-per-node cores-per-socket ntasks-per-socket ntasks-per-core",
        Needed,
        Stays(BINDING),
    ),
    ("gpu-bind", Needed, Binds),
    ("gpu-freq cpu-freq gres-flags", Needed, Stays("under Slurm only")),
    ("mem-bind", Needed, Stays(BINDING)),
    ("extra-node-info B", Needed, Stays(BINDING)),
    ("cpu-bind accel-bind", Needed, Stays(BINDING)),
    ("nice propagate get-user-env acctg-freq profile", Inline, Stays("")),
    ("wait-all-nodes", Needed, Stays("under Slurm only: on Kubernetes, the launcher waits for all workers")),
    ("reboot use-min-nodes spread-job kill-on-invalid-dep", Inline, Stays("")),
    ("no-kill k", Inline, Stays("")),
    ("immediate I", Inline, Stays("")),
    ("container", Needed, Stays("under Slurm only; on Kubernetes, spec.image is the container")),
    (
        "container-mounts container-name container-env",
        Needed,
        Stays("under Slurm only; on Kubernetes, mount data with spec.storage"),
    ),
    ("container-mount-home no-container-mount-home container-writable container-remap-root", Alone, Stays("")),
    ("container-workdir", Needed, Stays("under Slurm only; on Kubernetes, set spec.workingDir")),
    ("label l", Alone, Needless("every line of a rank begins with its number")),
    ("kill-on-bad-exit K", Inline, Needless("a rank that fails ends the attempt")),
    ("unbuffered u", Alone, Needless("lines are printed at once")),
    ("wait W", Needed, Needless("a rank that fails ends the attempt")),
    ("verbose v Q", Inline, WORDS),
    ("parsable quiet ignore-pbs", Inline, WORDS),
    ("input i", Needed, Needless("the ranks have no input")),
    ("jobid", Needed, Needless("the ranks run in this job")),
    ("preserve-env E", Alone, Needless("ranks get the environment of the script")),
    ("disable-status X", Alone, WORDS),
    ("threads T", Needed, WORDS),
    ("pty", Inline, Interactive),
    ("array a", Needed, Array),
    (
        "dependency d",
        Needed,
        Lost(
            "it names a job that has to exist. Under Slurm, pass it when you submit the rendered script: `sbatch --dependency=…`; on \
             Kubernetes, use a workflow tool",
        ),
    ),
    ("gpus-per-socket", Needed, Lost("write the number of GPUs per node: `--gpus-per-node`")),
    ("uid gid export-file het-group", Needed, BY_HAND),
    ("mincpus", Needed, Lost(STEP)),
    ("relative r", Needed, Lost(STEP)),
    ("test-only", Inline, BY_HAND),
    ("exact overlap whole", Inline, Lost(STEP)),
];

/// An option of a command.
#[derive(Debug, Clone)]
pub struct ParsedOption {
    /// Its long name.
    pub name: String,
    pub value: Option<String>,
    pub meaning: Meaning,
    /// The option as it is written: `-N 2`.
    pub as_written: String,
}

impl ParsedOption {
    /// Whether a script starts the same ranks with the option and without it.
    pub fn leaves_ranks_unchanged(&self) -> bool {
        matches!(self.meaning, Stays(_) | Binds | Image | Needless(_) | Lost(_) | Folder | Field(_))
    }
}

/// Whether an option is known.
pub fn is_known_option(word: &str) -> bool {
    word.strip_prefix("--").is_none_or(|long| find(long.split('=').next().unwrap_or(long)).is_some())
}

/// Reads one option. Returns it and the number of its words, or a message.
pub fn read(words: &[String]) -> Result<(Vec<ParsedOption>, usize), String> {
    let word = words[0].as_str();
    let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
        return Err(format!("`{word}` is not an option"));
    };
    if let Some(long) = rest.strip_prefix('-') {
        let (name, inline) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let Some(known @ (_, takes, meaning)) = find(name) else {
            // The next word is the value, unless it is an option.
            let takes = if words.get(1).is_some_and(|next| !next.starts_with('-')) { Needed } else { Alone };
            return value(name, inline, takes, Stays("unknown option, passed on unchanged"), words);
        };
        let exact = names(known).find(|known| *known == name);
        let name = exact.or_else(|| names(known).find(|known| known.starts_with(name))).unwrap_or(name);
        return value(name, inline, *takes, *meaning, words);
    }
    // `-N2`, `-N 2`, or several options without values: `-lK`.
    let mut given = Vec::new();
    for (at, c) in rest.char_indices() {
        let Some(known @ (_, takes, meaning)) = row(OPTIONS, &c.to_string()) else {
            return Err(format!("the option `-{c}` is unknown, so it is unknown whether a value follows"));
        };
        let name = names(known).next().unwrap_or_default();
        let inline = Some(&rest[at + c.len_utf8()..]).filter(|rest| !rest.is_empty());
        if *takes == Needed {
            let (mut more, count) = value(name, inline, *takes, *meaning, words)?;
            given.append(&mut more);
            return Ok((given, count));
        }
        given.push(ParsedOption { name: name.to_owned(), value: None, meaning: *meaning, as_written: format!("-{c}") });
    }
    Ok((given, 1))
}

/// Finds an option by its name, or by a prefix of it that is unique.
fn find(name: &str) -> Option<&'static OptionRow> {
    let exact = row(OPTIONS, name).filter(|_| name.len() > 1);
    exact.or_else(|| {
        let begins = |known: &&OptionRow| name.len() > 2 && names(known).any(|known| known.starts_with(name));
        let mut near = OPTIONS.iter().filter(begins);
        near.next().filter(|_| near.next().is_none())
    })
}

fn value(
    name: &str,
    inline: Option<&str>,
    takes: Value,
    meaning: Meaning,
    words: &[String],
) -> Result<(Vec<ParsedOption>, usize), String> {
    let given = |value: Option<&str>, as_written: String| ParsedOption {
        name: name.to_owned(),
        value: value.map(str::to_owned),
        meaning,
        as_written,
    };
    match (inline, takes) {
        (Some(_), _) | (None, Alone | Inline) => Ok((vec![given(inline, words[0].clone())], 1)),
        (None, Needed) => match words.get(1) {
            Some(next) => Ok((vec![given(Some(next), format!("{} {next}", words[0]))], 2)),
            None => Err(format!("`{}` has no value", words[0])),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> (String, Option<String>, usize) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (given, count) = read(&words).unwrap();
        (given[0].name.clone(), given[0].value.clone(), count)
    }

    #[test]
    fn options_in_each_way_of_writing() {
        let some = |text: &str| Some(text.to_owned());
        for line in ["-N 2", "--nodes 2"] {
            assert_eq!(one(line), ("nodes".to_owned(), some("2"), 2), "{line}");
        }
        for line in ["-N2", "--nodes=2"] {
            assert_eq!(one(line), ("nodes".to_owned(), some("2"), 1), "{line}");
        }
        assert_eq!(one("--parti=ml"), ("partition".to_owned(), some("ml"), 1));
        assert_eq!(one("--container=/b"), ("container".to_owned(), some("/b"), 1));
        assert_eq!(one("--exclusive x"), ("exclusive".to_owned(), None, 1));
        assert_eq!(one("--pty bash"), ("pty".to_owned(), None, 1));
        assert_eq!(one("--brand-new=1"), ("brand-new".to_owned(), some("1"), 1));
        assert_eq!(one("--brand-new 1"), ("brand-new".to_owned(), some("1"), 2));
        assert_eq!(one("--brand-new --pty"), ("brand-new".to_owned(), None, 1));
        assert!(read(&["-y".to_owned()]).is_err());
        assert!(read(&["-N".to_owned()]).is_err());
    }
}
