//! The options of the launchers: how many words follow each option, and its meaning in a spec.

use crate::field::{self, set};
use serde_json::{Value as Json, json};

use crate::option_table::{Row, row};
use khorovod_compiler::shell::{self, Plain as Word};

/// The meaning of an option in a spec.
#[derive(Debug, Clone, Copy)]
pub enum Meaning {
    /// The number of ranks, and the minimum and maximum.
    Ranks,
    MinRanks,
    MaxRanks,
    /// The number of ranks per host.
    PerHost,
    /// The number of hosts, or the minimum and maximum: `2`, `1:4`.
    Hosts,
    /// The names of hosts: `a:2,b:2`.
    HostNames,
    /// An environment variable with this name.
    Env(&'static str),
    /// A field of the spec.
    Field(field::Field<Json>, fn(&[&str]) -> Option<Json>),
    /// A script that discovers hosts: the launch is elastic.
    Discovery,
    /// `Export` is `-x NAME[=value]`, and `Pair` is `-genv NAME value`.
    Export,
    Pair,
    /// `--mca NAME value`.
    Mca,
    /// `--map-by`, which may set the number of ranks per host.
    MapBy,
    /// Options of mpirun, in an option of horovodrun.
    MpiArgs,
    /// It is not needed, because khorovod does the same by default. The text is the reason.
    Ours(&'static str),
    /// It cannot be imported. The text is the reason, and what to do.
    Gone(&'static str),
    /// The program is a Python module.
    Module,
    Whole,
    /// It remains an option of the launcher.
    Stays,
}

use Meaning::{
    Discovery, Env, Export, Field, Gone, HostNames, Hosts, MapBy, MaxRanks, Mca, MinRanks, Module, MpiArgs, Ours, Pair,
    PerHost, Ranks, Stays, Whole,
};

impl Meaning {
    /// Whether the import ignores the value of the option, because khorovod sets the option itself or cannot import it.
    pub fn is_own(self) -> bool {
        matches!(self, Ours(_) | Gone(_) | HostNames)
    }
}

/// An option: its names, the number of words that follow it (none after `--option=value`), and its meaning.
type OptionRow = Row<usize, Meaning>;

pub const BY_WORKERS: &str = "khorovod writes the hostfile from spec.workers";
const HOSTFILE: Meaning = Ours(BY_WORKERS);
const NO_ROOT: Meaning =
    Ours("only root needs it, and ranks run as the user in spec.security.runAsUser, by default 65532");
const OWN_SSH: Meaning = Gone("khorovod configures ssh itself and verifies host keys; its port is spec.ssh.port");

/// Options of mpirun and mpiexec of Open MPI, MPICH and Intel MPI, which accept one dash or two.
const MPIRUN: &[OptionRow] = &[
    ("np n c", 1, Ranks),
    ("N npernode ppn perhost ranks-per-proc", 1, PerHost),
    ("hostfile machinefile default-hostfile f", 1, HOSTFILE),
    ("H host hosts", 1, HostNames),
    ("allow-run-as-root", 0, NO_ROOT),
    ("x", 1, Export),
    ("genvlist envlist", 1, Ours("every rank has the environment of its pod")),
    ("genv env", 2, Pair),
    ("genvall envall", 0, Ours("every rank has the environment of its pod")),
    ("mca gmca", 2, Mca),
    ("launcher bootstrap launcher-exec bootstrap-exec rsh", 1, OWN_SSH),
    ("wdir wd", 1, Field(set::WORKING_DIR.untyped(), text)),
    ("prefix", 1, Gone("mpirun is found by the PATH of the image; if it is elsewhere, set PATH in spec.env")),
    ("tag-output timestamp-output display-map display-allocation report-bindings", 0, Stays),
    ("prepend-rank l v verbose q oversubscribe nooversubscribe use-hwthread-cpus", 0, Stays),
    ("bind-to-core bind-to-socket bind-to-none bycore bynode byslot bysocket", 0, Stays),
    ("nolocal merge-stderr-to-stdout quiet", 0, Stays),
    ("cpus-per-proc cpus-per-rank stdin", 1, Stays),
    ("map-by", 1, MapBy),
    ("bind-to rank-by output-filename output display iface report-uri tune am timeout pmixmca prtemca", 1, Stays),
];

const HOROVODRUN: &[OptionRow] = &[
    ("-np -n --num-proc", 1, Ranks),
    ("--min-np --min-num-proc", 1, MinRanks),
    ("--max-np --max-num-proc", 1, MaxRanks),
    ("--slots-per-host --slots", 1, PerHost),
    ("-hostfile --hostfile", 1, HOSTFILE),
    ("-H --hosts", 1, HostNames),
    ("--host-discovery-script", 1, Discovery),
    ("-p --ssh-port -i --ssh-identity-file", 1, OWN_SSH),
    ("--mpi-args", 1, MpiArgs),
    ("--elastic-timeout", 1, Field(set::ELASTIC_TIMEOUT.untyped(), seconds)),
    ("--reset-limit", 1, Field(set::ELASTIC_RESET_LIMIT.untyped(), number)),
    ("--blacklist-cooldown-range", 2, Field(set::ELASTIC_COOLDOWN, range)),
    ("--verbose --gloo --mpi --jsrun --disable-cache --hierarchical-allreduce", 0, Stays),
    ("--autotune --no-stall-check --timeline-mark-cycles --log-with-timestamp", 0, Stays),
    ("--log-hide-timestamp --prefix-output-with-timestamp --tcp --no-hierarchical-allreduce", 0, Stays),
    ("--mpi-threads-disable --no-mpi-threads-disable --log-without-timestamp --no-log-hide-timestamp", 0, Stays),
    ("-prefix-timestamp --no-timeline-mark-cycles -v", 0, Stays),
    ("--num-nccl-streams --gloo-timeout-seconds --autotune-steps-per-sample", 1, Stays),
    ("--autotune-bayes-opt-max-samples --autotune-gaussian-process-noise", 1, Stays),
    ("--hierarchical-allgather --no-autotune --stall-check", 0, Stays),
    ("--start-timeout --network-interfaces --network-interface --config-file --output-filename", 1, Stays),
    ("--fusion-threshold-mb --cycle-time-ms --cache-capacity --timeline-filename --log-level", 1, Stays),
    ("--autotune-log-file --autotune-warmup-samples --binding-args --thread-affinity", 1, Stays),
    ("--stall-check-warning-time-seconds --stall-check-shutdown-time-seconds", 1, Stays),
];

const TORCHRUN: &[OptionRow] = &[
    ("--nnodes --nnode", 1, Hosts),
    ("--nproc-per-node", 1, PerHost),
    ("--max-restarts", 1, Field(set::LIFECYCLE_RETRIES.untyped(), number)),
    ("--node-rank --master-addr --master-port --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf", 1, RENDEZVOUS),
    ("--standalone --use-env", 0, RENDEZVOUS),
    ("-m --module", 0, Module),
    ("--no-python", 0, Whole),
    ("--monitor-interval --start-method --log-dir -r --redirects -t --tee --local-addr", 1, Stays),
    ("--role", 1, ROLE),
    ("--numa-binding", 1, Stays),
];
const RENDEZVOUS: Meaning = Ours("khorovod sets up the rendezvous");

/// Options of accelerate, which starts torchrun and passes settings to the program by environment variables.
const ACCELERATE: &[OptionRow] = &[
    ("--num-processes", 1, Ranks),
    ("--num-machines", 1, Hosts),
    ("--machine-rank --main-process-ip --main-process-port --rdzv-backend --rdzv-conf", 1, RENDEZVOUS),
    ("--same-network", 0, RENDEZVOUS),
    ("--multi-gpu", 0, Ours("one rank per GPU, as in spec.workers")),
    ("--mixed-precision", 1, Env("ACCELERATE_MIXED_PRECISION")),
    ("--num-cpu-threads-per-process", 1, Env("OMP_NUM_THREADS")),
    ("--max-restarts", 1, Field(set::LIFECYCLE_RETRIES.untyped(), number)),
    ("--role", 1, ROLE),
    ("--monitor-interval --tee --log-dir", 1, Stays),
    ("-m --module", 0, Module),
    ("--no-python", 0, Whole),
];
const ROLE: Meaning = Ours("it is used only in torchrun's own log lines");

const DEEPSPEED: &[OptionRow] = &[
    ("-H --hostfile", 1, HOSTFILE),
    ("--num-nodes", 1, Hosts),
    ("--num-gpus", 1, PerHost),
    ("-i --include -e --exclude", 1, Gone("all workers run ranks: set their number in spec.workers")),
    ("--master-port --master-addr", 1, RENDEZVOUS),
    ("--launcher", 1, Ours("khorovod chooses it by spec.launcher.mpi")),
    ("--force-multi", 0, Ours("khorovod sets it itself")),
    ("--module", 0, Module),
    ("--no-python", 0, Whole),
    ("--launcher-args --ssh-port --log-level --autotuning", 1, Stays),
    ("--no-local-rank --no-ssh-check --save-pid --bind-cores-to-rank", 0, Stays),
];

/// Returns the launcher that a command line begins with: its `launcher.kind`, and the number of words that name it.
pub fn launcher(words: &[Word]) -> Option<(&'static str, usize)> {
    let texts: Vec<&str> = words.iter().map(|word| if word.expands { "" } else { word.text.as_str() }).collect();
    shell::launcher(&texts).map(|(kind, place)| (kind, place.end))
}

/// Returns how many words are before the program of a command line.
pub fn words_before_program(words: &[Word]) -> usize {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    shell::words_before_program(&texts)
}

/// Whether a line that cannot be parsed as a launch names a launcher.
pub fn names_launcher(text: &str) -> bool {
    let word = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        matches!(name, "srun" | "mpirun" | "mpiexec" | "ibrun" | "horovodrun" | "torchrun" | "deepspeed")
    };
    text.split(|c: char| c.is_whitespace() || ";&|()`\"'".contains(c)).any(word)
}

/// Returns the number of words after an option of a launcher, and its meaning.
pub fn find(kind: &str, name: &str) -> Option<(usize, Meaning)> {
    // torchrun, accelerate and deepspeed accept `_` instead of `-` in the names of options.
    let (table, name) = match kind {
        "mpirun" => (MPIRUN, name.trim_start_matches('-').to_owned()),
        "horovodrun" => (HOROVODRUN, name.to_owned()),
        "torchrun" => (TORCHRUN, name.replace('_', "-")),
        "accelerate" => (ACCELERATE, name.replace('_', "-")),
        _ => (DEEPSPEED, name.replace('_', "-")),
    };
    row(table, &name).map(|(_, count, meaning)| (*count, *meaning))
}

fn text(values: &[&str]) -> Option<Json> {
    Some(json!(values.first()?))
}

fn number(values: &[&str]) -> Option<Json> {
    Some(json!(values.first()?.parse::<u32>().ok()?))
}

fn range(values: &[&str]) -> Option<Json> {
    let [min, max] = values else { return None };
    Some(json!({"min": seconds(&[min])?, "max": seconds(&[max])?}))
}

fn seconds(values: &[&str]) -> Option<Json> {
    let seconds: u32 = values.first()?.parse().ok()?;
    Some(json!(format!("{seconds}s")))
}

#[cfg(test)]
mod tests {
    use khorovod_compiler::{Inputs, Keys, Text, pipeline};

    use super::*;
    use crate::option_table::names;

    /// Whether `launcher.args` may not contain an option.
    fn is_refused(launcher: &str, option: &str) -> bool {
        let text = format!(
            "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{name: a}}\nspec:\n  image: a:1\n  command: [x]\n  \
             workers: {{replicas: 2}}\n  launcher: {{{launcher}, args: [\"{option}\", \"1\"]}}\n"
        );
        let text = Text { name: "job.yaml".to_owned(), text };
        let found = pipeline::check(&text, &Inputs { keys: Keys::Masked, ..Inputs::default() });
        found.list.iter().any(|problem| ["ranks-in-args", "launcher-option"].contains(&problem.code.name))
    }

    #[test]
    fn specs_may_not_contain_the_options_for_ranks_and_hosts() {
        let mut missing = Vec::new();
        for (kind, table) in
            [("mpirun", MPIRUN), ("horovodrun", HOROVODRUN), ("torchrun", TORCHRUN), ("deepspeed", DEEPSPEED)]
        {
            let is_own = |meaning: &Meaning| match meaning {
                Ranks | MinRanks | MaxRanks | PerHost | Hosts | HostNames | Discovery => true,
                Ours(reason) => *reason == BY_WORKERS,
                _ => false,
            };
            for name in table.iter().filter(|(.., meaning)| is_own(meaning)).flat_map(names) {
                let (launchers, spellings) = match kind {
                    "mpirun" => (
                        ["openmpi", "intelmpi", "mpich"].map(|mpi| format!("kind: mpirun, mpi: {mpi}")).to_vec(),
                        vec![format!("-{name}"), format!("--{name}")],
                    ),
                    _ => (vec![format!("kind: {kind}")], vec![name.to_owned(), name.replace("m-", "m_")]),
                };
                let mut all = launchers.iter().flat_map(|one| spellings.iter().map(move |option| (one, option)));
                if !all.any(|(launcher, option)| is_refused(launcher, option)) {
                    missing.push(format!("{kind} {name}"));
                }
            }
        }
        assert!(missing.is_empty(), "these options have no rule: {missing:?}");
    }
}
