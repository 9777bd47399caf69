//! Variables that Slurm or a site sets and pods lack: each that the ranks' command still names is told.

use serde_json::{Value as Json, json};

use super::meeting::{MEETING, NUMBERS};
use super::{Script, text};
use crate::launch::FIRST_WORKER;
use crate::ledger::Verdict;
use khorovod_compiler::problem::Span;

/// Which variables of Open MPI say what srun's do.
const BY_MPI: &[(&str, &str)] = &[
    ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK"),
    ("SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"),
];
/// Slurm's programs, as a script names them.
const PROGRAMS: &[&str] = &["srun", "scontrol", "sbcast", "squeue", "module"];

/// Whether a line asks Slurm for its first node's name and nothing more, as `MASTER_ADDR=$(scontrol show hostnames … |
/// head -n 1)` does.
fn of_first_node(line: &str, name: &str) -> bool {
    let asked = line.trim().strip_prefix("export ").unwrap_or(line.trim());
    let asked = asked.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).unwrap_or_default();
    let first = ["head -n 1)", "head -n1)", "head -1)"].iter().any(|end| asked.trim_end_matches('"').ends_with(end));
    let asked = asked.trim_start_matches('"');
    first && asked.starts_with("$(scontrol show hostname") && asked.matches('|').count() == 1
}

/// What a shell makes anew each time in a line: commands, numbers of processes and of chance, clocks.
fn moments(line: &str) -> Vec<String> {
    const NAMES: &[&str] =
        &["RANDOM", "SRANDOM", "PPID", "BASHPID", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "HOSTNAME"];
    let line = text::without_quoted(line);
    let mut found: Vec<String> = Vec::new();
    if line.replace("$((", "").contains("$(") {
        found.push("$(…)".to_owned());
    }
    if line.contains('`') {
        found.push("`…`".to_owned());
    }
    if line.contains("$$") {
        found.push("$$".to_owned());
    }
    let mut names = text::names(&line);
    names.retain(|name| NAMES.contains(&name.as_str()));
    names.sort();
    names.dedup();
    found.extend(names.into_iter().map(|name| format!("${name}")));
    found
}

impl Script<'_, '_, '_> {
    /// Looks at the command once it is put.
    pub fn tell_of_own(&mut self) {
        if self.setup.iter().any(|line| text::named(&line.text).contains("SLURM_ARRAY_TASK_ID")) {
            self.one_of_array(&mut Vec::new());
        }
        let Some(command) = self.desk.draft.get("spec.command").and_then(Json::as_str).map(str::to_owned) else {
            return;
        };
        let mut names = text::names(&text::without_quoted(&command));
        names.sort();
        names.dedup();
        let set = text::set_by(&command);
        names.retain(|name| !text::anywhere(name) && !set.contains(name));
        let env = self.desk.draft.get("spec.env");
        names.retain(|name| env.is_none_or(|env| env.get(name).is_none()));
        if names.iter().any(|name| name == "SLURM_ARRAY_TASK_ID") {
            self.one_of_array(&mut names);
        }
        self.tell_of_arguments(&command);
        match self.desk.draft.get("spec.launcher.kind").and_then(Json::as_str) {
            Some("shell") => return self.tell_of_script(&command, &names),
            Some("torchrun") => {
                names.retain(|name| !MEETING.contains(&name.as_str()) && !NUMBERS.iter().any(|(_, ours)| name == ours));
            }
            _ => self.number_by_mpi(&command, &mut names),
        }
        for name in names.iter().filter(|name| !text::by_launcher(name)) {
            let made = self.setup.iter().any(|line| line.sets(name));
            let why = match (made, name.starts_with("SLURM_")) {
                (true, _) => "only spec.slurm.setup sets it",
                (false, true) => "only Slurm sets it",
                (false, false) => "the script does not set it",
            };
            let how = format!("{why}: in pods it is empty, unless spec.env or the image has it");
            let row = self.named(name);
            self.settle(row, Verdict::Changed, "spec.command", &how);
        }
    }

    /// What the batch shell made once, for all ranks, each rank's own shell makes again: `line` as the script has it.
    pub fn tell_of_moments(&mut self, line: &str, span: Span) {
        let draft = &self.desk.draft;
        let Some(command) = draft.get("spec.command").and_then(Json::as_str) else { return };
        let number = |field: &str| draft.get(&format!("spec.workers.{field}")).and_then(Json::as_u64);
        let ranks = number("replicas").unwrap_or(1) * number("slots").or(number("gpus")).unwrap_or(1);
        // A script runs in one shell, and so does a rank that is alone.
        if ranks < 2 || draft.get("spec.launcher.kind").is_some_and(|kind| kind == "shell") {
            return;
        }
        let here = self::moments(command);
        let mut moments = moments(line);
        moments.retain(|moment| here.contains(moment));
        if moments.is_empty() {
            return;
        }
        let row = self.desk.ledger.add(format!("{} in the launch", moments.join(", ")), span);
        let how = "the batch script made it once, for all ranks; here each rank makes its own, and they may differ. Give a value \
                   in its place, or make it in the program";
        self.settle(row, Verdict::Changed, "spec.command", how);
    }

    /// Words that stood behind the script's name when it was given to sbatch.
    fn tell_of_arguments(&mut self, command: &str) {
        let setup = self.desk.draft.get("spec.slurm.setup").and_then(Json::as_str).unwrap_or_default();
        let texts = [command, setup].map(text::of_script);
        let places = ["$1", "${1", "$2", "${2", "$3", "${3", "$4", "${4", "$5", "$6", "$@", "${@", "$*"];
        for place in places.into_iter().filter(|place| texts.iter().any(|text| text.contains(place))) {
            let row =
                self.desk.ledger.add(place.to_owned() + if place.contains('{') { "}" } else { "" }, self.place(place));
            let how = "a word behind the script's name: nobody gives one to a job. Put the value in its place";
            self.settle(row, Verdict::Lost, "", how);
        }
    }

    /// An array is as many jobs; this one is its first.
    fn one_of_array(&mut self, names: &mut Vec<String>) {
        let Some(first) = self.array.clone() else { return };
        names.retain(|name| name != "SLURM_ARRAY_TASK_ID");
        let comment = "the first of --array; the others by `--set`";
        self.desk.draft.put_key("spec.env", "SLURM_ARRAY_TASK_ID", first, comment);
        let row = self.named("SLURM_ARRAY_TASK_ID");
        self.settle(row, Verdict::Changed, "spec.env", comment);
    }

    /// mpirun numbers ranks, by other names.
    fn number_by_mpi(&mut self, command: &str, names: &mut Vec<String>) {
        let alone = self.desk.draft.get("spec.workers.slots") == Some(&json!(1)) || self.asked.one_a_node();
        let by_mpi = |name: &str| match name {
            "SLURM_NODEID" if alone => Some("OMPI_COMM_WORLD_RANK"),
            _ => BY_MPI.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours),
        };
        let mut lines = Vec::new();
        for (name, ours) in names.iter().filter_map(|name| Some((name, by_mpi(name)?))) {
            lines.push(format!("{name}=${{{name}:-${ours}}}"));
            let row = self.named(name);
            self.settle(row, Verdict::Changed, "spec.command", "in pods, MPI's number of the rank");
        }
        names.retain(|name| by_mpi(name).is_none());
        let first = |name: &String| self.setup.iter().any(|line| of_first_node(&line.text, name));
        let (firsts, others): (Vec<String>, Vec<String>) = std::mem::take(names).into_iter().partition(first);
        *names = others;
        for name in firsts {
            lines.push(format!("{name}=${{{name}:-{FIRST_WORKER}}}"));
            let row = self.named(&name);
            self.settle(row, Verdict::Changed, "spec.command", "in pods, the first worker's name");
        }
        if !lines.is_empty() {
            self.desk.draft.put("spec.command", format!("export {}\n{command}", lines.join(" ")), "");
        }
    }

    /// A script that runs whole: one row for all that it asks of Slurm.
    fn tell_of_script(&mut self, command: &str, names: &[String]) {
        let mut own: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with("SLURM_")).collect();
        let words = || command.split(|c: char| c.is_whitespace() || "();|&`\"'".contains(c));
        own.extend(PROGRAMS.iter().filter(|program| words().any(|word| word == **program)));
        if own.is_empty() {
            return;
        }
        let row = self.desk.ledger.add(format!("the script: {}", own.join(", ")), self.span);
        self.settle(row, Verdict::Changed, "spec.command", "there under Slurm alone; pods lack it");
    }

    /// A row for a variable, where the script first names it.
    pub fn named(&mut self, name: &str) -> usize {
        let places = [format!("${name}"), format!("${{{name}")];
        let place = places.iter().find(|place| self.text.contains(place.as_str())).unwrap_or(&places[0]);
        self.desk.ledger.add(format!("${name}"), self.place(place))
    }
}

#[cfg(test)]
mod tests {
    use super::{moments, of_first_node};

    #[test]
    fn what_a_shell_makes_anew_is_told_from_what_stays() {
        let line = "python t.py --seed $RANDOM --out o_$(date +%s) --id `id -u` --run $$ --t ${SECONDS}";
        assert_eq!(moments(line), ["$(…)", "`…`", "$$", "$RANDOM", "$SECONDS"]);
        for line in ["python t.py --lr $LR --n $((2 * 3)) '$(date)' '$RANDOM'", "bash -c 'x $(date) $RANDOM'"] {
            assert!(moments(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn lines_that_name_the_first_node_and_nothing_more() {
        let said = |line: &str| of_first_node(line, "MASTER_ADDR");
        assert!(said("export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)"));
        assert!(said("MASTER_ADDR=\"$(scontrol show hostname $SLURM_NODELIST | head -1)\""));
        for line in [
            "export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 2)",
            "export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | tail -n 1 | head -n 1)",
            "export MASTER_ADDR=$(hostname)",
            "export MAIN=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)",
        ] {
            assert!(!said(line), "{line}");
        }
    }
}
