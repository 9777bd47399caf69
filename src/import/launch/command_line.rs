//! Takes a launch line such as `mpirun -np 8 python train.py` apart: the launcher, the number of ranks, their
//! environment, and the program.

use crate::field::{self, Field, set};
use serde_json::{Value as Json, json};

use crate::field_outcomes::Verdict;
use crate::launch::options::{self, Meaning};
use crate::launch::program::program_of;
use crate::secrets::masked;
use khorovod_compiler::job;
use khorovod_compiler::shell::{Plain as Word, words};

/// The result of reading a line.
#[derive(Debug)]
pub enum Line {
    /// One launcher that starts one program.
    Launch(Box<Launch>),
    /// Any other line, which runs unchanged. The text is the reason, for the report.
    Script(String),
}

/// A launch line.
#[derive(Debug, Default)]
pub struct Launch {
    /// The value for `launcher.kind`.
    pub kind: &'static str,
    /// The number of ranks, and the bounds of an elastic launch.
    pub np: Option<u32>,
    pub min_np: Option<u32>,
    pub max_np: Option<u32>,
    /// The number of ranks per host.
    pub per_host: Option<u32>,
    /// The minimum and maximum of hosts, if the line sets them.
    pub hosts: Option<(u32, u32)>,
    /// The number of slots on the host of the launcher, if the line names no other host.
    pub local: Option<u32>,
    /// Fields of the spec that options set.
    pub fields: Vec<(Field<Json>, Json)>,
    /// Environment variables of the ranks.
    pub env: Vec<(String, String)>,
    /// Whether a script discovers the hosts.
    pub discovers_hosts: bool,
    /// Whether the program is a Python module, and whether it is started without Python.
    pub is_module: bool,
    pub without_python: bool,
    /// Options that stay options of the launcher.
    pub args: Vec<String>,
    /// The program of the ranks: words, or text for `bash -c`.
    pub program: Json,
    /// The outcome of every option.
    pub notes: Vec<Note>,
}

/// The outcome of an option.
#[derive(Debug, Clone)]
pub struct Note {
    /// The option as it is written: `-np 4`.
    pub option: String,
    pub verdict: Verdict,
    pub to: &'static str,
    pub why: &'static str,
}

/// Parses a launch line.
pub fn read(line: &str) -> Line {
    let Some(words) = words(line) else {
        return Line::Script("only a shell can run it".to_owned());
    };
    let (before, rest) = words.split_at(options::words_before_program(&words));
    let Some((kind, skip)) = options::launcher(rest) else {
        let later = |at: usize| options::launcher(&rest[at..]).is_some();
        let within = || rest.iter().any(|word| word.text.contains("mpirun ") || word.text.contains("horovodrun "));
        let why = match (1..rest.len()).any(later) || within() {
            true => "the launch is a part of a longer command",
            false => "no launcher starts it: it ran once",
        };
        return Line::Script(why.to_owned());
    };
    let mut launch = Launch { kind, ..Launch::default() };
    for word in before {
        let Some((name, value)) = word.assignment() else {
            if word.text.starts_with('-') {
                return Line::Script(format!("`{}` before the launcher needs a shell", word.text));
            }
            launch.note(&word.text, Verdict::Kept, "", "it changes only how a shell runs the line");
            continue;
        };
        if word.expands {
            return Line::Script(format!("`{}` needs a shell", word.text));
        }
        launch.note(&word.text, Verdict::Kept, field::ENV, "");
        launch.env.push((name.to_owned(), value.to_owned()));
    }
    if ["mpirun.mpich", "mpiexec.mpich"].iter().any(|name| rest[0].text.ends_with(name)) {
        launch.fields.push((set::LAUNCHER_MPI.untyped(), json!("mpich")));
    }
    let gives_rank = rest[..skip].iter().any(|word| word.text.ends_with("torch.distributed.launch"));
    let taken = launch.take(line, &rest[skip..]);
    let by_env = launch.notes.iter().any(|note| note.option.replace('-', "_") == "__use_env");
    if gives_rank && !by_env {
        let why = "torch.distributed.launch passed `--local-rank`; if your program needs it, add `--local-rank $LOCAL_RANK` to spec.command";
        launch.note("torch.distributed.launch", Verdict::Changed, field::COMMAND, why);
    }
    if kind == "accelerate" {
        launch.kind = "torchrun";
    }
    if let Some(slots) = launch.local {
        launch.hosts = Some((1, 1));
        launch.per_host = launch.per_host.or(launch.np).or(Some(slots));
    }
    match taken {
        Ok(()) => Line::Launch(Box::new(launch)),
        Err(why) => Line::Script(why),
    }
}

/// Whether a text begins with a launcher.
pub fn starts_launcher(text: &str) -> bool {
    words(text).is_some_and(|words| options::launcher(&words[options::words_before_program(&words)..]).is_some())
}

impl Launch {
    /// Whether the launcher starts ranks on other hosts, by itself or because of its options.
    pub fn finds_hosts(&self) -> bool {
        let is_list_of_hosts = |note: &Note| {
            let name = note.option.split(' ').next().unwrap_or_default().trim_start_matches('-');
            ["H", "host", "hosts", "hostfile"].contains(&name)
        };
        match self.kind {
            _ if self.local.is_some() => false,
            "mpirun" => true,
            "torchrun" => false,
            _ => self.discovers_hosts || self.notes.iter().any(is_list_of_hosts),
        }
    }

    fn note(&mut self, option: &str, verdict: Verdict, to: &'static str, why: &'static str) {
        self.notes.push(Note { option: masked(option), verdict, to, why });
    }

    /// Reads the options before the program, and the program.
    fn take(&mut self, line: &str, mut words: &[Word]) -> Result<(), String> {
        while let Some((word, rest)) = words.split_first() {
            if !word.text.starts_with('-') || word.text == "--" {
                // This word is the program, with one exception: if the word is a variable and a Python program follows,
                // the variable may contain options. Only a shell can expand such a variable.
                if word.expands && rest.iter().any(|word| word.text.contains(".py") || word.text == "-m") {
                    return Err(format!("`{}` needs a shell", word.text));
                }
                break;
            }
            words = self.option(word, rest)?;
        }
        if words.first().is_some_and(|word| word.text == "--") {
            words = &words[1..];
        }
        if words.is_empty() {
            return Err("there is no program after the launcher's options".to_owned());
        }
        if words.iter().any(|word| word.text == ":") {
            return Err("it starts several programs at once".to_owned());
        }
        self.program = self.python(program_of(line, words));
        Ok(())
    }

    /// Adds `python -u` to the program. torchrun, deepspeed and accelerate add it themselves, but `spec.command` must
    /// contain the interpreter.
    fn python(&self, program: Json) -> Json {
        if self.without_python || !matches!(self.kind, "torchrun" | "deepspeed" | "accelerate") {
            return program;
        }
        let before: &[&str] = if self.is_module { &["python", "-u", "-m"] } else { &["python", "-u"] };
        match program {
            Json::Array(words) => before.iter().map(|word| Json::from(*word)).chain(words).collect(),
            Json::String(text) => Json::from(format!("{} {text}", before.join(" "))),
            other => other,
        }
    }

    /// Reads one option. Returns the words after it.
    fn option<'w>(&mut self, word: &Word, rest: &'w [Word]) -> Result<&'w [Word], String> {
        let unknown = || format!("the option `{}` is unknown, so the start of the program is unknown, too", word.text);
        let (name, inline) = match word.text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (word.text.as_str(), None),
        };
        let (count, meaning) = options::find(self.kind, name).ok_or_else(unknown)?;
        let count = if inline.is_some() { 0 } else { count };
        if rest.len() < count {
            return Err(format!("`{}` has no value", word.text));
        }
        let (values, rest) = rest.split_at(count);
        let ours = meaning.is_own();
        let inline_expands = inline.is_some().then_some(word);
        if let Some(value) = values.iter().chain(inline_expands).find(|value| value.expands && !ours) {
            return Err(format!("`{}` needs a shell", value.text));
        }
        let values: Vec<&str> = inline.into_iter().chain(values.iter().map(|value| value.text.as_str())).collect();
        let written = std::iter::once(if inline.is_some() { name } else { &*word.text }).chain(values.iter().copied());
        let written: Vec<&str> = written.collect();
        self.apply(meaning, &values, &written, &word.text)?;
        Ok(rest)
    }

    fn apply(&mut self, meaning: Meaning, values: &[&str], written: &[&str], word: &str) -> Result<(), String> {
        let option = written.join(" ");
        let first = values.first().copied().unwrap_or_default();
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{option}` is not a number"));
        let (verdict, to, why) = match meaning {
            Meaning::Ranks => {
                self.np = Some(number(first)?);
                (Verdict::Kept, field::WORKERS, "")
            }
            Meaning::MinRanks => {
                self.min_np = Some(number(first)?);
                (Verdict::Kept, field::ELASTIC_MIN_REPLICAS, "")
            }
            Meaning::MaxRanks => {
                self.max_np = Some(number(first)?);
                (Verdict::Kept, field::ELASTIC_MAX_REPLICAS, "")
            }
            Meaning::PerHost => {
                self.per_host = Some(number(first)?);
                (Verdict::Kept, field::WORKERS_SLOTS_PER_WORKER, "")
            }
            Meaning::Hosts => {
                let (low, high) = first.split_once(':').unwrap_or((first, first));
                self.hosts = Some((number(low)?, number(high)?));
                (Verdict::Kept, field::WORKERS_REPLICAS, "")
            }
            Meaning::HostNames => self.host_names(first),
            Meaning::Field(field, read) => {
                let value = read(values).ok_or_else(|| format!("`{option}` has no valid value"))?;
                self.fields.push((field, value));
                (Verdict::Kept, field.path, "")
            }
            Meaning::Pair => {
                let value = values.get(1).copied().unwrap_or_default();
                self.env.push((first.to_owned(), value.to_owned()));
                (Verdict::Kept, field::ENV, "")
            }
            Meaning::Env(name) => {
                self.env.push((name.to_owned(), first.to_owned()));
                (Verdict::Kept, field::ENV, "")
            }
            Meaning::Discovery => {
                self.discovers_hosts = true;
                (Verdict::Kept, field::ELASTIC, "khorovod's own script lists the workers, without kubectl")
            }
            Meaning::Module => {
                self.is_module = true;
                (Verdict::Kept, field::COMMAND, "")
            }
            Meaning::Whole => {
                self.without_python = true;
                (Verdict::Kept, field::COMMAND, "")
            }
            Meaning::Export => self.export(first),
            Meaning::MapBy => self.map_by(first, written)?,
            Meaning::Mca => self.mca(values),
            Meaning::MpiArgs => return self.mpi_args(first, &option),
            Meaning::Ours(why) => (Verdict::Kept, "", why),
            Meaning::Gone(why) => (Verdict::Lost, "", why),
            Meaning::Stays => {
                let has_value = word.starts_with("--") && word.contains('=');
                self.args.extend(if has_value { vec![word.to_owned()] } else { owned(written) });
                (Verdict::Kept, field::LAUNCHER_ARGS, "")
            }
        };
        self.note(&option, verdict, to, why);
        Ok(())
    }

    /// Reads the value of `-H`. If all hosts are `localhost`, as in `localhost:2`, all ranks are on one worker. Other
    /// host names are dropped, because khorovod writes the hostfile.
    fn host_names(&mut self, list: &str) -> (Verdict, &'static str, &'static str) {
        let slots = |entry: &str| {
            let (host, slots) = entry.split_once(':').unwrap_or((entry, "1"));
            ["localhost", "127.0.0.1"].contains(&host).then(|| slots.parse::<u32>().ok())?
        };
        self.local = list.split(',').try_fold(0_u32, |sum, entry| sum.checked_add(slots(entry)?));
        match self.local {
            Some(_) => (Verdict::Kept, field::WORKERS_REPLICAS, "all ranks are on one worker"),
            None => (Verdict::Dropped, "", options::BY_WORKERS),
        }
    }

    /// Reads `-x NAME=value`, or `-x NAME` for a variable of the environment.
    fn export(&mut self, values: &str) -> (Verdict, &'static str, &'static str) {
        let Some((name, value)) = values.split_once('=') else {
            return (Verdict::Kept, "", "every rank has the environment of its pod");
        };
        self.env.push((name.to_owned(), value.to_owned()));
        match job::looks_secret(name, value) {
            true => (Verdict::Changed, field::ENV, "moved to a Secret"),
            false => (Verdict::Kept, field::ENV, ""),
        }
    }

    /// Reads `--map-by ppr:4:node`. Other values stay options of mpirun.
    fn map_by(&mut self, value: &str, written: &[&str]) -> Result<(Verdict, &'static str, &'static str), String> {
        let each = value.strip_prefix("ppr:").and_then(|rest| rest.split_once(':'));
        let Some((count, "node")) = each.map(|(count, rest)| (count, rest.split(':').next().unwrap_or_default()))
        else {
            self.args.extend(owned(written));
            return Ok((Verdict::Kept, field::LAUNCHER_ARGS, ""));
        };
        self.per_host = Some(count.parse().map_err(|_| format!("`{value}` has no number of ranks"))?);
        if value.matches(':').count() > 2 {
            self.args.extend(owned(written));
            return Ok((Verdict::Kept, field::SLOTS_AND_ARGS, ""));
        }
        Ok((Verdict::Kept, field::WORKERS_SLOTS_PER_WORKER, ""))
    }

    /// Reads `--mca NAME VALUE`.
    fn mca(&mut self, values: &[&str]) -> (Verdict, &'static str, &'static str) {
        match values.first().copied().unwrap_or_default() {
            "orte_keep_fqdn_hostnames"
            | "plm_rsh_no_tree_spawn"
            | "plm_rsh_num_concurrent"
            | "orte_default_hostfile" => (Verdict::Kept, "", "khorovod sets it itself"),
            "plm_rsh_agent" | "plm_rsh_args" => {
                (Verdict::Lost, "", "khorovod configures ssh itself and verifies host keys; its port is spec.ssh.port")
            }
            _ => {
                self.args.push("--mca".to_owned());
                self.args.extend(owned(values));
                (Verdict::Kept, field::LAUNCHER_ARGS, "")
            }
        }
    }

    /// Reads `--mpi-args "…"` of horovodrun, which contains options of mpirun.
    fn mpi_args(&mut self, text: &str, option: &str) -> Result<(), String> {
        let inner = words(text).ok_or_else(|| format!("`{option}` needs a shell"))?;
        let mut theirs = Launch { kind: "mpirun", ..Launch::default() };
        let mut rest: &[Word] = &inner;
        while let Some((word, more)) = rest.split_first() {
            rest = theirs.option(word, more)?;
        }
        self.env.append(&mut theirs.env);
        for note in &mut theirs.notes {
            note.option.insert_str(0, "--mpi-args ");
        }
        self.notes.append(&mut theirs.notes);
        if !theirs.args.is_empty() {
            self.args.push(format!("--mpi-args={}", theirs.args.join(" ")));
        }
        Ok(())
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(line: &str) -> Launch {
        match read(line) {
            Line::Launch(launch) => *launch,
            Line::Script(why) => panic!("{line}: {why}"),
        }
    }

    #[test]
    fn ranks_on_the_host_of_the_launcher() {
        let size = |line: &str| {
            let launch = launch(line);
            (launch.hosts, launch.per_host, launch.finds_hosts())
        };
        assert_eq!(size("horovodrun -np 2 -H localhost:4 python a.py"), (Some((1, 1)), Some(2), false));
        assert_eq!(size("mpirun -host localhost:3 ./a"), (Some((1, 1)), Some(3), false));
        assert_eq!(size("horovodrun -np 4 -H localhost:2,b:2 python a.py"), (None, None, true));
        assert_eq!(size("horovodrun -np 4 -H $HOSTS python a.py"), (None, None, true));
    }

    #[test]
    fn lines_as_the_old_systems_have_them() {
        let line = "mpiexec -np 32 --hostfile /kubeflow/openmpi/assets/hostfile --allow-run-as-root --display-map \
                    -mca btl_tcp_if_exclude lo,docker0 --mca plm_rsh_no_tree_spawn 1 -bind-to none -map-by slot -mca pml ob1 \
                    sh -c 'NCCL_DEBUG=INFO python3.6 /x.py --use_fp16'";
        let found = launch(line);
        assert_eq!((found.kind, found.np), ("mpirun", Some(32)));
        assert_eq!(found.program, json!("NCCL_DEBUG=INFO python3.6 /x.py --use_fp16"));
        let args = "--display-map --mca btl_tcp_if_exclude lo,docker0 -bind-to none -map-by slot --mca pml ob1";
        assert_eq!(found.args.join(" "), args);
        let found =
            launch("torchrun --nnodes=1:4 --nproc-per-node 8 --max-restarts=3 --rdzv-backend=c10d train.py --lr $LR");
        assert_eq!((found.kind, found.hosts, found.per_host), ("torchrun", Some((1, 4)), Some(8)));
        assert_eq!(found.program, json!("python -u train.py --lr $LR"));
        let found = launch("python -m torch.distributed.run --nproc_per_node=2 -m pkg.train");
        assert_eq!(found.program, json!(["python", "-u", "-m", "pkg.train"]));
        let found = launch("exec env A=1 time mpirun.mpich -n 8 --map-by ppr:4:node -map-by ppr:2:socket:PE=2 ./a.out");
        assert_eq!((found.np, found.per_host), (Some(8), Some(4)));
        assert_eq!(found.args.join(" "), "-map-by ppr:2:socket:PE=2");
        let (to, value) = &found.fields[0];
        assert_eq!((to.path, value), (field::LAUNCHER_MPI, &json!("mpich")));
        let found = launch("A=1 /usr/bin/mpirun -n 2 -x B=2 -x C -genv D 4 -- ./a.out -n 3");
        assert_eq!(found.env, [("A", "1"), ("B", "2"), ("D", "4")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert_eq!(found.program, json!(["./a.out", "-n", "3"]));
    }

    #[test]
    fn launches_within_a_line_are_found() {
        for (line, part) in [
            ("timeout 3600 mpirun -np 2 ./a", true),
            ("bash -lc 'mpirun -np 2 ./a'", true),
            ("python train.py", false),
            ("./mpirun.sh -np 2", false),
        ] {
            let Line::Script(why) = read(line) else { panic!("{line}") };
            assert_eq!(why.starts_with("the launch is a part"), part, "{line}: {why}");
        }
    }

    #[test]
    fn lines_that_are_not_understood_run_unchanged() {
        for line in [
            "python train.py",
            "mpirun --no-such-option 3 python train.py",
            "mpirun -np $N python train.py",
            "mpirun -np 4",
            "mpirun -np",
            "mpirun -np four python x",
            "mpirun -np 2 a : -np 2 b",
            "mpirun -np 4 a && b",
            "",
        ] {
            assert!(matches!(read(line), Line::Script(_)), "{line}");
        }
    }
}
