//! Imports the options of sbatch and srun, one by one.

use super::options::{self, Meaning, ParsedOption};
use super::{Script, amounts};
use crate::codes::BAD_VALUE;
use crate::field::{self, set};
use khorovod_compiler::job::types::format_duration;
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::shell::is_name;

/// The note for ranks that saw only their own GPUs.
pub const SEES_ALL: &str = "each rank sees all GPUs of its worker: let the program use the GPU `local rank % number of visible \
                            GPUs`";

/// The longest `gracePeriod`, in seconds.
const LONGEST_GRACE: u32 = 3_600;

impl Script<'_, '_, '_> {
    /// Imports options in their order. `from` is the command that they belong to, for the report.
    pub fn apply_options(&mut self, words: &[String], from: &str, span: Span) {
        let mut rest = words;
        while !rest.is_empty() {
            // This branch is for sbatch. srun's options `-W` and `--wait` have another meaning, and take a value.
            if !from.starts_with("srun") && ["-W", "--wait"].contains(&rest[0].as_str()) {
                let row = self.row(&format!("{from}{}", rest[0]), span);
                self.lost(
                    row,
                    "sbatch returns when the job ends: pass it on the command line; on Kubernetes, use `khorovod wait`",
                );
                rest = &rest[1..];
                continue;
            }
            match options::read(rest) {
                Ok((given, count)) => {
                    for option in given {
                        let row = self.row(&format!("{from}{}", option.as_written), span);
                        self.option(&option, row, from, span);
                    }
                    rest = &rest[count..];
                }
                Err(why) => {
                    let problem = match ["hetjob", "packjob"].contains(&rest[0].as_str()) {
                        true => Problem::new(&BAD_VALUE, span, "a heterogeneous job is several jobs").hint(
                            "import each as a script of its own: its `#SBATCH` lines and its part of srun's; one training on \
                             unlike workers is `spec.workers.groups`",
                        ),
                        false => Problem::new(&BAD_VALUE, span, why).hint("correct it: sbatch would refuse it, too"),
                    };
                    self.context.problems.push(problem);
                    return;
                }
            }
        }
    }

    fn option(&mut self, option: &ParsedOption, row: usize, from: &str, span: Span) {
        let value = option.value.clone().unwrap_or_default();
        let step = from.starts_with("srun");
        self.replace_earlier(option, from, row);
        match option.meaning {
            Meaning::Name | Meaning::Field(_) if value.is_empty() => self.dropped(row, "it has no value"),
            Meaning::Name => {
                let (verdict, how) = self.context.rename(&value, &option.as_written);
                self.settle(row, verdict, field::METADATA_NAME, how);
            }
            Meaning::Folder => self.folder(&value, row),
            Meaning::Export => self.export_option(&value, row),
            Meaning::Requeue(again) => {
                self.resources.requeue = Some(again);
                self.kept(
                    row,
                    field::LIFECYCLE_RETRIES,
                    if again { "training that fails is started again, too" } else { "" },
                );
            }
            Meaning::Hold => {
                self.context.spec.put(set::SCHEDULING_SUSPEND, true, &option.as_written);
                self.kept(row, field::SCHEDULING_SUSPEND, "");
            }
            Meaning::Signal => self.signal(&value, option, row),
            Meaning::Wrap => {
                self.kept(row, field::COMMAND, "");
                self.command(&value, span, true);
                self.wrap = Some((value, row));
            }
            Meaning::Mpi => {
                self.mpi = Some(value);
                self.kept(row, field::SLURM_SRUN_MPI, "on Kubernetes mpirun starts the ranks");
            }
            Meaning::Image => self.container(option, step, row),
            Meaning::Array => {
                let (first, second) = amounts::first_of_array(&value);
                self.array = Some((first, second, row));
                self.array_limit = value.split_once('%').map(|(_, limit)| limit.to_owned());
            }
            Meaning::Field(to) => {
                if to.path == field::SLURM_NODELIST {
                    self.resources.hosts = amounts::hosts(&value);
                }
                self.context.spec.put(to, value, &option.as_written);
                self.kept(row, to.path, "");
            }
            Meaning::Stays(how) => {
                let to = self.stays(option, step, row);
                self.kept(row, to, how);
            }
            Meaning::Binds => {
                let to = self.stays(option, step, row);
                self.changed(row, to, &format!("under Slurm only; on Kubernetes, {SEES_ALL}"));
            }
            Meaning::Needless(why) => self.dropped(row, why),
            Meaning::Lost(why) => self.lost(row, why),
            Meaning::Interactive => {
                self.changed(row, field::COMMAND, "the job is not interactive: the lines below are its command");
            }
            Meaning::GpusPerTask => {
                self.bound.push((option.as_written.clone(), span, row));
                self.amount(option, row, span);
            }
            _ => self.amount(option, row, span),
        }
    }

    /// Imports an option that is a number or an amount.
    fn amount(&mut self, option: &ParsedOption, row: usize, span: Span) {
        match self.resources.take(option) {
            Ok((_, field::WORKERS_SLOTS_PER_WORKER, _)) => self.tasks.push(row),
            Ok((verdict, to, how)) => {
                self.nodes.extend((to == field::WORKERS_REPLICAS).then_some(row));
                self.settle(row, verdict, to, how);
            }
            Err(why) => {
                self.context.refuse_at(
                    span,
                    format!("`{}`: {why}", option.as_written),
                    "see `man sbatch` for its values",
                );
            }
        }
    }

    /// Records that an option replaces an earlier one with another value.
    fn replace_earlier(&mut self, option: &ParsedOption, from: &str, row: usize) {
        let name = match option.meaning {
            Meaning::Gres | Meaning::GpusPerNode => "gpus-per-node",
            Meaning::Stays(_) | Meaning::Needless(_) | Meaning::Lost(_) | Meaning::Export | Meaning::Wrap => return,
            _ => &option.name,
        };
        let earlier = self.single.iter().rfind(|(other, ..)| other == name).cloned();
        if let Some((_, value, earlier)) = earlier
            && value != option.value
        {
            self.nodes.retain(|row| *row != earlier);
            self.tasks.retain(|row| *row != earlier);
            self.dropped(earlier, &format!("`{from}{}` replaces it", option.as_written));
        }
        self.single.push((name.to_owned(), option.value.clone(), row));
    }

    /// Imports `--signal`: `USR1@120` or `B:USR1@120`.
    fn signal(&mut self, value: &str, option: &ParsedOption, row: usize) {
        let Some((signal, seconds)) = amounts::signal(value) else {
            return self
                .lost(row, "spec.lifecycle.checkpoint.signal can only be SIGTERM, SIGINT, SIGHUP, SIGUSR1 or SIGUSR2");
        };
        let period = format_duration(seconds.clamp(1, LONGEST_GRACE).into());
        self.context.spec.put(set::LIFECYCLE_CHECKPOINT_SIGNAL, signal, &option.as_written);
        self.context.spec.put(set::LIFECYCLE_CHECKPOINT_GRACE_PERIOD, period, &option.as_written);
        let how = match value.split_once(':') {
            Some((flags, _)) if flags.contains(['B', 'b']) => {
                "every rank gets the signal, and the script does not. A program without a handler for the signal ends. In pods, the \
                 ranks get it before every end of the run, such as an eviction"
            }
            _ => {
                "in pods, the ranks get the signal before every end of the run, such as an eviction, and not only before the \
                 time limit"
            }
        };
        let limit = match seconds > LONGEST_GRACE {
            true => format!(
                ". spec.lifecycle.checkpoint.gracePeriod is at most 1h, so the signal comes 1h and not {seconds} s before the end"
            ),
            false => String::new(),
        };
        self.changed(row, field::LIFECYCLE_CHECKPOINT, &format!("{how}{limit}"));
    }

    /// Passes an option to srun or sbatch unchanged. Returns the field that holds it.
    fn stays(&mut self, option: &ParsedOption, step: bool, row: usize) -> &'static str {
        let value = option.value.as_ref().map_or(String::new(), |value| format!("={value}"));
        let written = format!("--{}{value}", option.name);
        match step {
            true => {
                self.steps.push((written, row));
                field::SLURM_SRUN_ARGS
            }
            false => {
                self.args.push((written, row));
                field::SLURM_ARGS
            }
        }
    }

    /// Imports an image for Pyxis or Shifter: one in a registry, or a file on the nodes.
    fn container(&mut self, option: &ParsedOption, step: bool, row: usize) {
        let value = option.value.as_deref().unwrap_or_default();
        let to = self.stays(option, step, row);
        let file = value.starts_with(['/', '.', '~']) || [".sqsh", ".sif"].iter().any(|end| value.ends_with(end));
        if file {
            let how = "a file on the nodes, not in a registry: for Kubernetes, name an image with `--image NAME`";
            return self.changed(row, to, how);
        }
        let scheme = ["docker://", "dockerd://", "docker:"].iter().find_map(|scheme| value.strip_prefix(scheme));
        self.image = Some(scheme.unwrap_or(value).replacen('#', "/", 1));
        self.kept(row, &format!("{} {to}", field::IMAGE), "");
    }

    /// Imports `--export`: `ALL,A=b` or `NONE`.
    fn export_option(&mut self, value: &str, row: usize) {
        self.exported.push(row);
        for part in value.split(',') {
            match part.split_once('=') {
                Some((name, value)) if is_name(name) => self.env.push((name.to_owned(), value.to_owned(), row)),
                _ if part.eq_ignore_ascii_case("all") => {}
                _ => return self.lost(row, "ranks get the environment in which sbatch is called; to prevent that, pass `--export` to sbatch on the command line"),
            }
        }
        let to = if value.contains('=') { field::ENV } else { "" };
        self.kept(row, to, "ranks get the environment in which sbatch is called");
    }
}
