//! `khorovod run --local`: runs a job on this machine, without Kubernetes.
//!
//! The pods of the rendered objects ([`pods`]) become processes in Linux namespaces. `host.sh` starts them, and
//! `pod.sh` builds the root file system of each pod from the files of this machine. The pods run the same scripts as in
//! a cluster, so messages, checks and exit codes are the same. All pods use the network of this machine. Each pod has
//! its own address on the loopback interface.

mod follow;
mod machine;
mod pods;
mod run_folder;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use khorovod::report::Report;
use khorovod::show;
use khorovod::{Inputs, Keys, Text, targets};
use serde_json::Value;

use self::follow::follow;
use self::pods::{Job, Surroundings, Volume};
use self::run_folder::RunFolder;
use super::agent::AGENT;
use super::seed::fresh;
use super::show::Screen;
use super::{Failure, Outcome, input, output, render};

/// How many random networks are tried. Another run on this machine may already use the first one.
const TRIES: usize = 8;

// How a job runs on this machine.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct Options {
    /// Run the job on this machine instead of a cluster, with the programs of this machine
    #[arg(long, help_heading = "Local options", conflicts_with_all = ["detach", "context", "kubeconfig"])]
    pub local: bool,
    /// With --local: start at most N workers. Default: those of the spec
    #[arg(long, value_name = "N", requires = "local", help_heading = "Local options", value_parser = clap::value_parser!(u32).range(1..))]
    workers: Option<u32>,
    /// With --local: use FOLDER as the volume NAME of storage (repeatable). Default: a folder of the run, for
    /// volumes that need no cluster
    #[arg(long = "volume", value_name = "NAME=FOLDER", requires = "local", help_heading = "Local options", value_parser = volume)]
    volumes: Vec<(String, PathBuf)>,
}

/// Reads `NAME=FOLDER`.
fn volume(word: &str) -> Result<(String, PathBuf), String> {
    let (name, folder) = word.split_once('=').ok_or("write the name of a volume, `=`, and a folder")?;
    let path = fs::canonicalize(folder).map_err(|error| format!("{folder}: {}", output::reason(&error)))?;
    if path.is_dir() { Ok((name.to_owned(), path)) } else { Err(format!("{folder} is not a folder")) }
}

/// Runs a job. If `is_dry` is true, only prints what would start.
pub fn run(options: &Options, input: &input::Args, is_dry: bool, screen: &Screen) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Err(Failure::Usage("--local needs Linux: pods run in namespaces of its kernel".to_owned()));
    }
    let settings = &input.settings;
    if settings.target().name() != targets::PLAIN.name() {
        return Err(Failure::Usage("--local runs the plain objects; leave out --target".to_owned()));
    }
    let texts = input.texts(screen)?;
    let mut inputs = settings.inputs(screen)?;
    inputs.keys = Keys::Seed(fresh()?);
    // All pods are on this machine, so the ranks connect over the loopback interface.
    inputs.sets.push("collective.interface=lo".to_owned());
    let report = options.limited(&texts, &mut inputs, screen)?;
    let rendered = render::all(&texts, &inputs, screen)?;
    screen.problems(rendered.iter().map(|one| &one.warnings));
    let objects = Text { name: "the output".to_owned(), text: render::joined(rendered) };
    let objects = khorovod::documents(&objects).map_err(|problems| {
        screen.problems([&problems]);
        Failure::Problems
    })?;
    let folder = tempfile::Builder::new().prefix("khorovod-").tempdir();
    let folder = folder.map_err(|error| output::cannot_write(&env::temp_dir(), &error))?;
    let mut job = options.read(&objects, &report, folder.path())?;
    check(&job, &objects, &report)?;
    assign_gpus(&mut job, &report)?;
    for note in &job.notes {
        screen.notice(note);
    }
    let ranks = usize::try_from(report.ranks).unwrap_or(usize::MAX);
    let processors = machine::processors();
    if ranks > processors {
        screen.notice(&format!("{ranks} ranks share {processors} processors, so they are slow"));
    }
    if is_dry {
        return output::stdout(&description(&job, &report)?);
    }
    RunFolder { path: folder.path(), job: &job, is_busy: ranks > processors, screen }.write()?;
    follow(&job, &report, folder.path(), screen)
}

impl Options {
    /// The report of the only job in the specs, which gets at most as many workers as `--workers` allows.
    fn limited(&self, texts: &[Text], inputs: &mut Inputs, screen: &Screen) -> Result<Report, Failure> {
        let mut report = only(texts, inputs, screen)?;
        let Some(most) = self.workers else { return Ok(report) };
        if let [workers] = report.workers.as_slice() {
            let others = report.head.ranks.min(1);
            if workers.replicas + others > most {
                screen.notice(&format!("{most} of {} workers, because of --workers", workers.replicas + others));
                inputs.sets.push(format!("workers.replicas={}", most.saturating_sub(others).max(1)));
                report = only(texts, inputs, screen)?;
            }
            return Ok(report);
        }
        Err(Failure::Usage(
            "--workers is for jobs without worker groups; use for example --set workers.groups.0.replicas=1".to_owned(),
        ))
    }

    /// The pods of the job.
    fn read(&self, objects: &[Value], report: &Report, folder: &Path) -> Result<Job, Failure> {
        let folders: BTreeMap<String, PathBuf> = self.volumes.iter().cloned().collect();
        let id = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        for _ in 0..TRIES {
            let network = 16 + fresh()?[0] % 200;
            let around = Surroundings { folders: &folders, variable: &|name| env::var(name).ok(), network, id: &id };
            let job = pods::read(objects, &around).map_err(|problems| unable(report, &problems))?;
            if let Some(name) = folders.keys().find(|name| job.pods.iter().all(|pod| !pod.volumes.contains_key(*name)))
            {
                let own = job.pods.iter().flat_map(|pod| pod.volumes.keys());
                let names: Vec<&str> = own.map(String::as_str).filter(|name| !name.starts_with("khorovod-")).collect();
                let known = names
                    .first()
                    .map_or_else(|| "it has no volumes".to_owned(), |_| format!("it has {}", names.join(", ")));
                return Err(Failure::Usage(format!("the job has no volume {name}; {known}")));
            }
            if machine::used_port(&job, ssh_port(objects)).is_none() {
                return Ok(job);
            }
        }
        let fix = match ssh_port(objects) {
            Some(port) => format!(
                "another program uses port {port} of this machine: use another one with --set ssh.port={}",
                port.saturating_add(1)
            ),
            None => "another program uses port 29400 or 29401 of this machine, at which the agents listen; `ss -ltnp` names it"
                .to_owned(),
        };
        Err(unable(report, &[fix]))
    }
}

/// The output of `--dry-run`: the pods, the folders that they use, and the command that starts the ranks.
fn description(job: &Job, report: &Report) -> Result<String, Failure> {
    let mut text = match job.pods.len() {
        1 => format!("{} would start 1 pod on this machine:\n", report.job),
        count => format!("{} would start {count} pods on this machine:\n", report.job),
    };
    let mut folders = BTreeMap::new();
    for pod in &job.pods {
        let container = pod.containers.last();
        let script =
            container.and_then(|one| one.command.last()).map_or("", |path| path.rsplit('/').next().unwrap_or(path));
        let variable = Some(pod).filter(|pod| pod.gpus > 0).and_then(|pod| machine::gpus(&pod.gpu_resource));
        let gpus = container.zip(variable).and_then(|(one, (_, variable))| one.environment.get(variable));
        let gpus = gpus.map_or_else(String::new, |gpus| format!(", with the GPUs {gpus}"));
        let _ = writeln!(text, "  {}: {script}{gpus}", pod.name);
        for mount in pod.containers.iter().flat_map(|one| &one.mounts) {
            let folder = match pod.volumes.get(&mount.volume) {
                Some(Volume::Folder(path)) => path.clone(),
                Some(Volume::Kept(folder)) => run_folder::kept(&mount.volume, folder)?,
                _ => continue,
            };
            folders.insert(&mount.path, folder);
        }
    }
    for (path, folder) in folders {
        let _ = writeln!(text, "{path} would be the folder {}", folder.display());
    }
    let words: Vec<String> = report.launch.iter().map(|word| show::shell_word(word)).collect();
    let _ = writeln!(text, "the training would start with: {}", words.join(" "));
    Ok(text)
}

/// The report of the job in the specs. It is an error if they have several jobs.
fn only(texts: &[Text], inputs: &Inputs, screen: &Screen) -> Result<Report, Failure> {
    let mut jobs = Vec::new();
    for text in texts {
        let reports = khorovod::reports(text, inputs).map_err(|found| {
            screen.problems([&khorovod::import::with_import_hint(found, text)]);
            Failure::Problems
        })?;
        jobs.extend(reports.jobs);
    }
    match jobs.len() {
        1 => Ok(jobs.remove(0)),
        0 => Err(Failure::Usage("the spec contains no TrainingJob".to_owned())),
        many => Err(Failure::Usage(format!("--local runs one job, and there are {many}; name a spec with one"))),
    }
}

/// The failure if a job cannot run here.
fn unable(report: &Report, reasons: &[String]) -> Failure {
    let job = &report.job;
    Failure::File(match reasons {
        [reason] => format!("{job} cannot run on this machine: {reason}"),
        many => format!("{job} cannot run on this machine:\n  {}", many.join("\n  ")),
    })
}

/// The value of a variable in the script job.sh.
fn setting<'a>(objects: &'a [Value], name: &str) -> Option<&'a str> {
    let script = objects.iter().find_map(|object| object["data"]["job.sh"].as_str())?;
    script.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

/// The port of sshd. None if the job uses no ssh.
fn ssh_port(objects: &[Value]) -> Option<u16> {
    let has_agents = objects.iter().any(|object| object["data"].get(AGENT).is_some());
    if has_agents { None } else { setting(objects, "port")?.parse().ok() }
}

/// Checks that this machine has the programs of the job.
fn check(job: &Job, objects: &[Value], report: &Report) -> Outcome {
    let mut missing = machine::missing_tools();
    if report.launch.is_empty() {
        missing.push(
            "an interactive job waits for `kubectl exec`: add a command, for example --set command=./train.sh"
                .to_owned(),
        );
    }
    if ssh_port(objects).is_some() {
        for (name, package) in [("ssh", "openssh-client"), ("sshd", "openssh-server")] {
            if machine::program(name).is_none() {
                missing.push(machine::not_installed(name, package));
            }
        }
    }
    let launcher = report.launch.first().map_or("", String::as_str);
    let package = match (launcher, setting(objects, "mpi")) {
        ("mpirun", Some("mpich")) => "mpich",
        ("mpirun", Some("openmpi")) => "openmpi-bin",
        ("torchrun", _) => "python3-torch",
        _ => "",
    };
    let is_here = |name: &str| match name.contains('/') {
        // A command may name its program by a path in a volume of the job. Volumes are not searched, so such a program
        // counts as found.
        true => {
            job.pods
                .iter()
                .flat_map(|pod| &pod.containers)
                .flat_map(|one| &one.mounts)
                .any(|mount| name.starts_with(&mount.path))
                || Path::new(name).is_file()
        }
        false => machine::program(name).is_some(),
    };
    for name in [launcher, &command(objects).unwrap_or_default()] {
        if name.is_empty() || is_here(name) {
            continue;
        }
        missing.push(match package {
            _ if name != launcher => format!("the command {name} is not on this machine, whose programs are used instead of the image's: install it, or activate its environment"),
            "" => format!("{name} is not in PATH: install it, or activate its environment"),
            package => format!("{}, or activate its environment", machine::not_installed(name, package)),
        });
    }
    if missing.is_empty() { Ok(()) } else { Err(unable(report, &missing)) }
}

/// The first word of `spec.command`. The objects have the spec in an annotation.
fn command(objects: &[Value]) -> Option<String> {
    let spec = objects.iter().find_map(|object| object["metadata"]["annotations"]["khorovod.dev/spec"].as_str())?;
    let spec: Value = serde_json::from_str(spec).ok()?;
    Some(spec["spec"]["command"].as_array()?.first()?.as_str()?.to_owned())
}

/// Gives each pod GPUs of its own.
fn assign_gpus(job: &mut Job, report: &Report) -> Outcome {
    let needed: usize = job.pods.iter().map(|pod| pod.gpus as usize).sum();
    let Some(first) = job.pods.iter().find(|pod| pod.gpus > 0) else { return Ok(()) };
    let (resource, each) = (first.gpu_resource.clone(), first.gpus);
    let Some((found, variable)) = machine::gpus(&resource) else {
        return Err(unable(
            report,
            &[format!("{resource} cannot be divided between processes; use --set workers.gpus=0")],
        ));
    };
    if needed > found.len() {
        let has = match found.len() {
            0 => "none".to_owned(),
            number => number.to_string(),
        };
        let fix = match found.len() / each as usize {
            0 if found.is_empty() => "use --set workers.gpus=0 if the training can run without GPUs".to_owned(),
            0 => format!("use --workers 1 --set workers.gpus={}", found.len()),
            workers => format!("use --workers {workers}"),
        };
        return Err(unable(
            report,
            &[format!("it needs {needed} GPUs ({resource}), and this machine has {has}: {fix}")],
        ));
    }
    let mut rest = found.into_iter();
    for pod in &mut job.pods {
        let own: Vec<String> = rest.by_ref().take(pod.gpus as usize).collect();
        for container in &mut pod.containers {
            container.environment.insert(variable.to_owned(), own.join(","));
        }
    }
    Ok(())
}
