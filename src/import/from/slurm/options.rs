//! The options of sbatch and srun: their names, whether a value follows, and their meaning in a spec.

/// The meaning of an option in a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Nodes,
    Tasks,
    TasksPerNode,
    TasksPerGpu,
    CpusPerTask,
    CpusPerGpu,
    Mem,
    MemPerCpu,
    MemPerGpu,
    Tmp,
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
    /// The command of the job: `--wrap`.
    Wrap,
    /// `srun --mpi`.
    Mpi,
    /// An image for a container runtime.
    Image,
    /// A job array, which is several jobs.
    Array,
    /// A field of `spec.slurm` with this name.
    Field(&'static str),
    /// It stays an option of sbatch or srun. The text is the note about Kubernetes.
    Stays(&'static str),
    /// It is not needed. The text is the reason.
    Needless(&'static str),
    /// It cannot be imported. The text is the reason, and what to do.
    Lost(&'static str),
    /// An interactive terminal.
    Interactive,
}

use Meaning::{
    Array, CpusPerGpu, CpusPerTask, Export, Field, Folder, Gpus, GpusPerNode, GpusPerTask, Gres, Hold, Image,
    Interactive, Lost, Mem, MemPerCpu, MemPerGpu, Mpi, Name, Needless, Nodes, Requeue, Stays, Tasks, TasksPerGpu,
    TasksPerNode, Time, Tmp, Wrap,
};

/// The long names, the short name, whether a value follows, and the meaning.
type Known = (&'static [&'static str], Option<char>, Value, Meaning);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    None,
    Needed,
    /// A value may follow, but only after `=`.
    Inline,
}

const LOGS: &str = "on Kubernetes `kubectl logs` has it";
const MAIL: &str = "nothing mails on Kubernetes";
const BINDING: &str = "on Kubernetes nothing binds ranks to cores";
const STEP: &str = "a step of its own has no place in the spec: the ranks take all of the job";

const OPTIONS: &[Known] = &[
    (&["nodes"], Some('N'), Value::Needed, Nodes),
    (&["ntasks"], Some('n'), Value::Needed, Tasks),
    (&["ntasks-per-node", "tasks-per-node"], None, Value::Needed, TasksPerNode),
    (&["ntasks-per-gpu"], None, Value::Needed, TasksPerGpu),
    (&["cpus-per-task"], Some('c'), Value::Needed, CpusPerTask),
    (&["cpus-per-gpu"], None, Value::Needed, CpusPerGpu),
    (&["mem"], None, Value::Needed, Mem),
    (&["mem-per-cpu"], None, Value::Needed, MemPerCpu),
    (&["mem-per-gpu"], None, Value::Needed, MemPerGpu),
    (&["tmp"], None, Value::Needed, Tmp),
    (&["gres"], None, Value::Needed, Gres),
    (&["gpus"], Some('G'), Value::Needed, Gpus),
    (&["gpus-per-node"], None, Value::Needed, GpusPerNode),
    (&["gpus-per-task"], None, Value::Needed, GpusPerTask),
    (&["time"], Some('t'), Value::Needed, Time),
    (&["job-name"], Some('J'), Value::Needed, Name),
    (&["chdir", "workdir"], Some('D'), Value::Needed, Folder),
    (&["export"], None, Value::Needed, Export),
    (&["requeue"], None, Value::None, Requeue(true)),
    (&["no-requeue"], None, Value::None, Requeue(false)),
    (&["hold"], Some('H'), Value::None, Hold),
    (&["wrap"], None, Value::Needed, Wrap),
    (&["mpi"], None, Value::Needed, Mpi),
    (&["container-image"], None, Value::Needed, Image),
    (&["image"], None, Value::Needed, Image),
    (&["partition"], Some('p'), Value::Needed, Field("partition")),
    (&["account"], Some('A'), Value::Needed, Field("account")),
    (&["qos"], Some('q'), Value::Needed, Field("qos")),
    (&["constraint"], Some('C'), Value::Needed, Field("constraint")),
    (&["nodelist"], Some('w'), Value::Needed, Field("nodelist")),
    (&["exclude"], Some('x'), Value::Needed, Field("exclude")),
    (&["reservation"], None, Value::Needed, Field("reservation")),
    (&["output"], Some('o'), Value::Needed, Stays(LOGS)),
    (&["error"], Some('e'), Value::Needed, Stays(LOGS)),
    (&["open-mode"], None, Value::Needed, Stays(LOGS)),
    (&["mail-type", "mail-user"], None, Value::Needed, Stays(MAIL)),
    (&["exclusive"], None, Value::Inline, Stays("on Kubernetes ask for all of a node's GPUs or CPUs")),
    (
        &["oversubscribe", "overcommit", "contiguous"],
        None,
        Value::None,
        Stays("Kubernetes shares nodes by what pods ask for"),
    ),
    (&["comment", "wckey", "licenses", "begin", "deadline", "clusters", "priority"], None, Value::Needed, Stays("")),
    (
        &["signal"],
        None,
        Value::Needed,
        Lost("before the time limit ranks get SIGTERM; they would not outlive another signal"),
    ),
    (
        &[
            "switches",
            "network",
            "prefer",
            "burst-buffer",
            "bb",
            "bbf",
            "core-spec",
            "thread-spec",
            "cluster-constraint",
        ],
        None,
        Value::Needed,
        Stays(""),
    ),
    (
        &[
            "hint",
            "threads-per-core",
            "sockets-per-node",
            "cores-per-socket",
            "ntasks-per-socket",
            "ntasks-per-core",
            "distribution",
        ],
        None,
        Value::Needed,
        Stays(BINDING),
    ),
    (
        &["gpu-bind", "gpu-freq", "cpu-freq", "mem-bind", "gres-flags", "extra-node-info"],
        None,
        Value::Needed,
        Stays(BINDING),
    ),
    (&["cpu-bind", "accel-bind"], None, Value::Needed, Stays(BINDING)),
    (&["nice", "propagate", "get-user-env", "acctg-freq", "profile"], None, Value::Inline, Stays("")),
    (&["reboot", "use-min-nodes", "spread-job", "no-kill", "kill-on-invalid-dep"], None, Value::Inline, Stays("")),
    (
        &["container-mounts", "container-name", "container-env", "container"],
        None,
        Value::Needed,
        Stays("on Kubernetes data comes by spec.storage"),
    ),
    (
        &["container-mount-home", "no-container-mount-home", "container-writable", "container-remap-root"],
        None,
        Value::None,
        Stays(""),
    ),
    (&["container-workdir"], None, Value::Needed, Stays("on Kubernetes say `workdir`")),
    (&["label"], Some('l'), Value::None, Needless("every line of a rank begins with its number")),
    (&["kill-on-bad-exit"], Some('K'), Value::Inline, Needless("a rank that fails ends the attempt")),
    (&["unbuffered"], Some('u'), Value::None, Needless("lines come as they are written")),
    (&["wait"], Some('W'), Value::Needed, Needless("a rank that fails ends the attempt")),
    (&["parsable", "quiet", "verbose", "ignore-pbs"], None, Value::Inline, Needless("it is about sbatch's own words")),
    (&["input"], Some('i'), Value::Needed, Needless("ranks read nothing")),
    (&["jobid"], None, Value::Needed, Needless("it is the job's own")),
    (&["pty"], None, Value::Inline, Interactive),
    (&["array"], Some('a'), Value::Needed, Array),
    (
        &["dependency"],
        Some('d'),
        Value::Needed,
        Lost("say it when you submit: `sbatch --dependency=…`; on Kubernetes a workflow tool orders jobs"),
    ),
    (&["gpus-per-socket"], None, Value::Needed, Lost("say how many a node has: `--gpus-per-node`")),
    (
        &["uid", "gid", "export-file", "het-group"],
        None,
        Value::Needed,
        Lost("it has no place in a job's description; give it to sbatch by hand"),
    ),
    (&["mincpus", "relative"], None, Value::Needed, Lost(STEP)),
    (&["test-only"], None, Value::Inline, Lost("it has no place in a job's description; give it to sbatch by hand")),
    (&["exact", "overlap", "whole"], None, Value::Inline, Lost(STEP)),
];

/// An option of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Its long name.
    pub name: String,
    pub value: Option<String>,
    pub meaning: Meaning,
    /// The option in the form in which it is written: `-N 2`.
    pub said: String,
}

impl Given {
    /// Whether a launch starts the same ranks without it.
    pub fn goes_beside(&self) -> bool {
        matches!(self.meaning, Stays(_) | Image | Needless(_) | Lost(_) | Folder | Field(_))
    }
}

/// Whether an option is known.
pub fn known(word: &str) -> bool {
    word.strip_prefix("--").is_none_or(|long| find(long.split('=').next().unwrap_or(long)).is_some())
}

/// Reads one option. Returns it and the number of its words, or a message.
pub fn read(words: &[String]) -> Result<(Vec<Given>, usize), String> {
    let word = words[0].as_str();
    let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
        return Err(format!("`{word}` is not an option"));
    };
    if let Some(long) = rest.strip_prefix('-') {
        let (name, inline) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let Some((names, _, takes, meaning)) = find(name) else {
            // The next word is the value, unless it is an option.
            let takes =
                if words.get(1).is_some_and(|next| !next.starts_with('-')) { Value::Needed } else { Value::None };
            return value(name, inline, takes, Stays("khorovod has no such option"), words);
        };
        let name = names.iter().find(|known| **known == name || known.starts_with(name)).unwrap_or(&names[0]);
        return value(name, inline, *takes, *meaning, words);
    }
    // `-N2`, `-N 2`, or several options without values: `-lK`.
    let mut given = Vec::new();
    for (at, c) in rest.char_indices() {
        let known = OPTIONS.iter().find(|(_, short, ..)| *short == Some(c));
        let Some((names, _, takes, meaning)) = known else {
            return match c {
                'v' | 'Q' => Ok((
                    vec![Given {
                        name: "verbose".to_owned(),
                        value: None,
                        meaning: Needless("it is about sbatch's own words"),
                        said: word.to_owned(),
                    }],
                    1,
                )),
                's' => Ok((
                    vec![Given {
                        name: "oversubscribe".to_owned(),
                        value: None,
                        meaning: Stays("Kubernetes shares nodes by what pods ask for"),
                        said: word.to_owned(),
                    }],
                    1,
                )),
                'L' | 'M' | 'm' => {
                    let name = match c {
                        'L' => "licenses",
                        'M' => "clusters",
                        _ => "distribution",
                    };
                    let inline = Some(&rest[at + 1..]).filter(|rest| !rest.is_empty());
                    value(name, inline, Value::Needed, Stays(""), words)
                }
                _ => Err(format!("`-{c}` is not known here, so neither is whether a value follows")),
            };
        };
        let inline = Some(&rest[at + c.len_utf8()..]).filter(|rest| !rest.is_empty());
        if *takes == Value::Needed {
            let (mut more, count) = value(names[0], inline, *takes, *meaning, words)?;
            given.append(&mut more);
            return Ok((given, count));
        }
        given.push(Given { name: names[0].to_owned(), value: None, meaning: *meaning, said: format!("-{c}") });
    }
    Ok((given, 1))
}

/// Finds an option by its name, or by a prefix of it that is unique.
fn find(name: &str) -> Option<&'static Known> {
    let exact = OPTIONS.iter().find(|(names, ..)| names.contains(&name));
    exact.or_else(|| {
        let mut near =
            OPTIONS.iter().filter(|(names, ..)| name.len() > 2 && names.iter().any(|known| known.starts_with(name)));
        near.next().filter(|_| near.next().is_none())
    })
}

fn value(
    name: &str,
    inline: Option<&str>,
    takes: Value,
    meaning: Meaning,
    words: &[String],
) -> Result<(Vec<Given>, usize), String> {
    let given = |value: Option<&str>, said: String| Given {
        name: name.to_owned(),
        value: value.map(str::to_owned),
        meaning,
        said,
    };
    match (inline, takes) {
        (Some(_), _) | (None, Value::None | Value::Inline) => Ok((vec![given(inline, words[0].clone())], 1)),
        (None, Value::Needed) => match words.get(1) {
            Some(next) => Ok((vec![given(Some(next), format!("{} {next}", words[0]))], 2)),
            None => Err(format!("`{}` lacks its value", words[0])),
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
        assert_eq!(one("--exclusive x"), ("exclusive".to_owned(), None, 1));
        assert_eq!(one("--pty bash"), ("pty".to_owned(), None, 1));
        assert_eq!(one("--brand-new=1"), ("brand-new".to_owned(), some("1"), 1));
        assert_eq!(one("--brand-new 1"), ("brand-new".to_owned(), some("1"), 2));
        assert_eq!(one("--brand-new --pty"), ("brand-new".to_owned(), None, 1));
        assert!(read(&["-y".to_owned()]).is_err());
        assert!(read(&["-N".to_owned()]).is_err());
    }
}
