//! Reports variables that the command of the ranks uses and that only Slurm or the configuration of a Slurm cluster
//! sets, because pods do not have them.

use crate::field::{self, set};
use serde_json::{Value as Json, json};

use super::rendezvous::{MEETING, NUMBERS};
use super::{Script, Setup, preparation, srun_program};
use crate::launch::{FIRST_WORKER, program};
use crate::shell_text;
use khorovod_compiler::problem::Span;

/// Variables of Slurm, and the variables of Open MPI with the same meaning.
const BY_MPI: &[(&str, &str)] = &[
    ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK"),
    ("SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"),
];
/// The variable with the index of a job in its array.
const ARRAY_INDEX: &str = "SLURM_ARRAY_TASK_ID";
/// The variable with the number of the array.
const ARRAY_JOB: &str = "SLURM_ARRAY_JOB_ID";
/// Programs of Slurm, and of environment modules.
const PROGRAMS: &[&str] = &[
    "srun", "sbatch", "salloc", "scontrol", "scancel", "sbcast", "sattach", "squeue", "sinfo", "sacct", "module", "ml",
];

/// Whether a line sets a variable to the name of the first node, as `MASTER_ADDR=$(scontrol show hostnames … | head -n
/// 1)` does.
fn of_first_node(line: &str, name: &str) -> bool {
    let value = line.trim().strip_prefix("export ").unwrap_or(line.trim());
    let value = value.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).unwrap_or_default();
    let first = ["head -n 1)", "head -n1)", "head -1)"].iter().any(|end| value.trim_end_matches('"').ends_with(end));
    let value = value.trim_start_matches('"');
    first && value.starts_with("$(scontrol show hostname") && value.matches('|').count() == 1
}

/// Returns the expansions of a line that have another result each time: commands, process numbers, random numbers and
/// clocks.
fn changing_expansions(line: &str) -> Vec<String> {
    const NAMES: &[&str] =
        &["RANDOM", "SRANDOM", "PPID", "BASHPID", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "HOSTNAME"];
    let line = shell_text::without_quoted(line);
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
    let mut names = shell_text::names(&line);
    names.retain(|name| NAMES.contains(&name.as_str()));
    names.sort();
    names.dedup();
    found.extend(names.into_iter().map(|name| format!("${name}")));
    found
}

impl Script<'_, '_, '_> {
    /// Checks the command, once it is in the new spec.
    pub fn check_imported_command(&mut self) {
        self.report_uses_of_task_number();
        // A program may read the index, although no line of the script uses it.
        self.one_of_array();
        self.report_variables_of_nsys();
        let Some(command) = self.context.spec.get(field::COMMAND).and_then(Json::as_str).map(str::to_owned) else {
            return;
        };
        let mut names = shell_text::unset(&command, self.context.spec.get(field::ENV));
        names.retain(|name| {
            !name.starts_with("SLURM_ARRAY_") || name == ARRAY_JOB || name == ARRAY_INDEX && self.array.is_none()
        });
        self.report_arguments(&command);
        match self.context.spec.get(field::LAUNCHER_KIND).and_then(Json::as_str) {
            Some("shell") => return self.report_uses_of_slurm(&command, &names),
            _ if self.is_verbatim => {
                self.report_uses_of_slurm(&command, &[]);
                self.number_by_mpi(&command, &mut names);
            }
            Some("torchrun") => {
                names.retain(|name| {
                    name != "LOCAL_WORLD_SIZE"
                        && !MEETING.contains(&name.as_str())
                        && !NUMBERS.iter().any(|(_, ours)| name == ours)
                });
            }
            _ => self.number_by_mpi(&command, &mut names),
        }
        for name in names.iter().filter(|name| !shell_text::by_launcher(name)) {
            let made = self.setup.iter().any(|line| line.sets(name));
            let why = match (made, name.starts_with("SLURM_")) {
                (true, _) if self.retries() => {
                    "only spec.slurm.setup sets it, once and not again for an attempt of spec.lifecycle.retries"
                }
                (true, _) => "only spec.slurm.setup sets it",
                (false, true) => "only Slurm sets it",
                (false, false) => "the script does not set it",
            };
            let row = self.named(name);
            if shell_text::has_default(&command, name) {
                let how = format!("{why}: in pods the command uses its default, unless `spec.env.{name}` sets it");
                self.changed(row, field::COMMAND, &how);
            } else {
                let how = format!("{why}: in pods it is empty, unless the image sets it. Set `spec.env.{name}`");
                self.lost(row, &how);
            }
        }
    }

    /// Reports the variables in which srun numbered the ranks, if mpirun starts the ranks in pods. The program may read
    /// variables that no line of the script names.
    pub fn report_numbers_of_srun(&mut self) {
        let spec = &self.context.spec;
        let is_mpirun = spec.get(field::LAUNCHER_KIND).and_then(Json::as_str).unwrap_or("mpirun") == "mpirun";
        let command = spec.get(field::COMMAND).and_then(program::as_text).unwrap_or_default();
        let finds_ranks = srun_program::names_mpi_library(&command) || srun_program::launches_more(&command);
        if self.is_verbatim || !is_mpirun || finds_ranks || spec.get(field::SLURM_SRUN).is_none() {
            return;
        }
        // A command that names a variable gets it from a line of its own: see `number_by_mpi`.
        let named = shell_text::named(&command);
        let numbers: Vec<_> = BY_MPI.iter().filter(|(theirs, _)| !named.contains(*theirs)).collect();
        let theirs: Vec<&str> = numbers.iter().map(|(theirs, _)| *theirs).chain(["SLURM_JOB_NODELIST"]).collect();
        let ours: Vec<String> = numbers.iter().map(|(theirs, ours)| format!("{ours} for {theirs}")).collect();
        let instead = match ours.is_empty() {
            true => String::new(),
            false => format!("let it read the variables of Open MPI: {}; ", ours.join(", ")),
        };
        let row = self.context.outcomes.add(format!("variables of srun: {}", theirs.join(", ")), self.place("srun"));
        let how =
            format!("pods do not have them. If the program reads them, {instead}no variable has the list of nodes");
        self.changed(row, field::LAUNCHER, &how);
    }

    /// Reports variables of Slurm that nsys reads itself, for the name of its output: `nsys profile -o report-%q{SLURM_PROCID}`.
    fn report_variables_of_nsys(&mut self) {
        let Some(command) = self.context.spec.get(field::COMMAND).map(Json::to_string) else { return };
        let is_torchrun = self.context.spec.get(field::LAUNCHER_KIND).is_some_and(|kind| kind == "torchrun");
        let ours = if is_torchrun { NUMBERS } else { BY_MPI };
        let mut seen: Vec<&str> = Vec::new();
        for name in command.split("%q{").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)) {
            if !name.starts_with("SLURM_") || seen.contains(&name) {
                continue;
            }
            seen.push(name);
            let instead = ours.iter().find(|(theirs, _)| *theirs == name);
            let instead = instead.map_or(String::new(), |(_, ours)| format!("; for pods, write `%q{{{ours}}}`"));
            let place = format!("%q{{{name}}}");
            let start = self.text.find(&place).unwrap_or_default();
            let span = Span { start: self.span.start + start, end: self.span.start + start + place.len(), ..self.span };
            let row = self.context.outcomes.add(place, span);
            self.lost(
                row,
                &format!("only Slurm sets the variable, and all ranks of a pod would write one file{instead}"),
            );
        }
    }

    /// Reports expansions that the batch shell runs once for all ranks, and that the shell of each rank now runs again.
    /// `line` is the line of the script.
    pub fn report_repeated_expansions(&mut self, line: &str, span: Span) {
        let spec = &self.context.spec;
        let Some(command) = spec.get(field::COMMAND).and_then(Json::as_str) else { return };
        let number = |path: &str| spec.get(path).and_then(Json::as_u64);
        let slots = number(field::WORKERS_SLOTS_PER_WORKER).or(number(field::WORKERS_GPUS)).unwrap_or(1);
        let ranks = number(field::WORKERS_REPLICAS).unwrap_or(1) * slots;
        // With the launcher `shell` or with a single rank, the expansions still run only once.
        if ranks < 2 || spec.get(field::LAUNCHER_KIND).is_some_and(|kind| kind == "shell") {
            return;
        }
        let here = self::changing_expansions(command);
        let mut expansions = changing_expansions(line);
        expansions.retain(|moment| here.contains(moment));
        if expansions.is_empty() {
            return;
        }
        let row = self.context.outcomes.add(format!("{} in the launch", expansions.join(", ")), span);
        let how = "the batch script computed it once for all ranks; here each rank computes its own, and they may differ. Write a value \
                   in its place, or compute it in the program";
        self.changed(row, field::COMMAND, how);
    }

    /// Reports uses of the arguments that are given to the script.
    fn report_arguments(&mut self, command: &str) {
        let setup = self.context.spec.get(field::SLURM_SETUP).and_then(Json::as_str).unwrap_or_default();
        let texts = [command, setup].map(|text| shell_text::of_script(text).replace("\\$", ""));
        let places = ["$1", "${1", "$2", "${2", "$3", "${3", "$4", "${4", "$5", "$6", "$@", "${@", "$*"];
        for place in places.into_iter().filter(|place| texts.iter().any(|text| text.contains(place))) {
            let row = self
                .context
                .outcomes
                .add(place.to_owned() + if place.contains('{') { "}" } else { "" }, self.place(place));
            let how = "a TrainingJob has no arguments of a script: write the value in its place";
            self.lost(row, how);
        }
    }

    /// Sets the variable with the id of the job array to a value, and reports other variables of an array.
    pub fn array_job(&mut self, command: &str) {
        let mut used = shell_text::named(command);
        self.setup.iter().for_each(|line| used.extend(shell_text::named(&line.text)));
        if used.remove(ARRAY_JOB) {
            let row = self.named(ARRAY_JOB);
            let at = self.setup.iter().take_while(|line| preparation::is_flags(&line.text)).count();
            let text = format!("export {ARRAY_JOB}=${{{ARRAY_JOB}:-$SLURM_JOB_ID}}");
            self.setup.insert(at, Setup::new(text, row));
            self.changed(row, field::SLURM_SETUP, "the number of the job, unless you submit it with `sbatch --array`");
        }
        for name in used.iter().filter(|name| name.starts_with("SLURM_ARRAY_") && *name != ARRAY_INDEX) {
            let row = self.named(name);
            self.lost(
                row,
                "it has no value, unless you submit the job with `sbatch --array`, and after `set -u` the job ends: write the value in its place",
            );
        }
    }

    /// Sets the index of the job array: the job becomes the first of the array.
    fn one_of_array(&mut self) {
        let Some((first, ..)) = self.array.clone() else { return };
        let comment = match self.other_of_array() {
            Some(options) => format!("the first value of --array; the others: {options}"),
            None => "the only value of --array".to_owned(),
        };
        self.context.spec.put_key(set::ENV, ARRAY_INDEX, first, &comment);
        if shell_text::first_use(self.text, ARRAY_INDEX).is_some() {
            let row = self.named(ARRAY_INDEX);
            self.changed(row, field::ENV, "the first value of --array");
        }
    }

    /// Returns the options of `khorovod render` for the second job of an array.
    fn other_of_array(&self) -> Option<String> {
        let second = self.array.as_ref()?.1.as_ref()?;
        Some(format!("--set metadata.name={}-{second} --set 'env.{ARRAY_INDEX}=\"{second}\"'", self.context.job()))
    }

    /// Reports that only one job of an array is imported, and how to render the others.
    pub fn report_array(&mut self) {
        let Some((first, _, row)) = self.array.clone() else { return };
        let others = self.other_of_array().map_or(String::new(), |options| {
            format!(". On Kubernetes, render each of the others as a job with its own name: `khorovod render {options} FILE`")
        });
        let limit = self.array_limit.as_ref().map_or(String::new(), |limit| {
            format!(". There nothing limits how many run at a time (`%{limit}`): submit so many, or use a queue")
        });
        let how = format!(
            "a TrainingJob is one training; this is the one with the value {first}, in spec.env.{ARRAY_INDEX}. Under Slurm, submit the \
             rendered script with the same `sbatch --array=…`, or add the option to spec.slurm.args: the index of Slurm takes \
             precedence{others}{limit}"
        );
        self.lost(row, &how);
    }

    /// Whether a failed attempt is repeated on the same nodes, within the same Slurm job.
    fn retries(&self) -> bool {
        self.context.spec.get(field::LIFECYCLE_RETRIES).and_then(Json::as_u64) != Some(0)
    }

    /// In pods, replaces Slurm's variables by the variables that MPI sets.
    fn number_by_mpi(&mut self, command: &str, names: &mut Vec<String>) {
        let alone =
            self.context.spec.get(field::WORKERS_SLOTS_PER_WORKER) == Some(&json!(1)) || self.resources.one_a_node();
        let by_mpi = |name: &str| match name {
            "SLURM_NODEID" if alone => Some("OMPI_COMM_WORLD_RANK"),
            _ => BY_MPI.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours),
        };
        let mut lines = Vec::new();
        for (name, ours) in names.iter().filter_map(|name| Some((name, by_mpi(name)?))) {
            lines.push(format!("{name}=${{{name}:-${ours}}}"));
            let row = self.named(name);
            self.changed(row, field::COMMAND, "in pods, the number that MPI gives to the rank");
        }
        names.retain(|name| by_mpi(name).is_none());
        let first = |name: &String| self.setup.iter().any(|line| of_first_node(&line.text, name));
        let (firsts, others): (Vec<String>, Vec<String>) = std::mem::take(names).into_iter().partition(first);
        *names = others;
        for name in firsts {
            lines.push(format!("{name}=${{{name}:-{FIRST_WORKER}}}"));
            let row = self.named(&name);
            self.changed(row, field::COMMAND, "in pods, the first worker's name");
        }
        if !lines.is_empty() {
            self.context.spec.put(set::COMMAND, format!("export {}\n{command}", lines.join(" ")), "");
        }
    }

    /// Adds one row to the report with the programs and variables of Slurm that a whole script uses.
    fn report_uses_of_slurm(&mut self, command: &str, names: &[String]) {
        let mut own: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with("SLURM_")).collect();
        let words = || command.split(|c: char| c.is_whitespace() || "();|&`\"'".contains(c));
        own.extend(PROGRAMS.iter().filter(|program| words().any(|word| word == **program)));
        if own.is_empty() {
            return;
        }
        let row = self.context.outcomes.add(format!("the script: {}", own.join(", ")), self.span);
        let how = "exists only under Slurm, so the command does not work in pods. Import only the launch, with `--command LINE`, \
                   or replace it in spec.command";
        self.lost(row, how);
    }

    /// Adds a row for a variable, at its first use in the script.
    pub fn named(&mut self, name: &str) -> usize {
        let place = shell_text::first_use(self.text, name).unwrap_or(0..0);
        let span = Span { start: self.span.start + place.start, end: self.span.start + place.end, ..self.span };
        self.context.outcomes.add(format!("${name}"), span)
    }
}

#[cfg(test)]
mod tests {
    use super::{changing_expansions, of_first_node};

    #[test]
    fn changing_expansions_are_found() {
        let line = "python t.py --seed $RANDOM --out o_$(date +%s) --id `id -u` --run $$ --t ${SECONDS}";
        assert_eq!(changing_expansions(line), ["$(…)", "`…`", "$$", "$RANDOM", "$SECONDS"]);
        for line in ["python t.py --lr $LR --n $((2 * 3)) '$(date)' '$RANDOM'", "bash -c 'x $(date) $RANDOM'"] {
            assert!(changing_expansions(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn lines_that_only_name_the_first_node() {
        let names_first_node = |line: &str| of_first_node(line, "MASTER_ADDR");
        assert!(names_first_node("export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)"));
        assert!(names_first_node("MASTER_ADDR=\"$(scontrol show hostname $SLURM_NODELIST | head -1)\""));
        for line in [
            "export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 2)",
            "export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | tail -n 1 | head -n 1)",
            "export MASTER_ADDR=$(hostname)",
            "export MAIN=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)",
        ] {
            assert!(!names_first_node(line), "{line}");
        }
    }
}
