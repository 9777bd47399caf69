//! `Plan` → [`Facts`]: the facts that the timeline of a job depends on.

use std::fmt::Write;

use crate::job::valid::{Gang, HealthPolicy, LauncherKind, Mpi, VolumeSource};
use crate::plan::{Plan, Shape};

/// Declares the struct of the facts, and converts it to a line of text and back. In the preview page, one module compiles
/// specs, and another one draws timelines. The first module passes such lines to the second one, so the second one need not
/// contain the compiler. JSON would need more code.
macro_rules! facts {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// The facts that the timeline of a job depends on. Times are in seconds.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Facts {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Facts {
            /// The facts as a line of text.
            pub fn to_line(&self) -> String {
                let mut line = String::new();
                $(
                    self.$field.write(&mut line);
                    line.push('\t');
                )*
                line
            }

            /// Reads a line that [`to_line`](Self::to_line) has written.
            pub fn from_line(line: &str) -> Option<Self> {
                let mut cells = line.split('\t');
                Some(Self { $($field: Cell::read(cells.next()?)?,)* })
            }
        }
    };
}

facts! {
    job: String,
    run: String,
    pods: Pods,
    /// The first word of the launch command.
    program: String,
    /// The name of the MPI implementation, if the launcher is mpirun.
    mpi: Option<String>,
    /// The names of the first group's pods, without their index.
    workload: String,
    service: String,
    workers: u32,
    spares: u32,
    ranks: u32,
    /// The GPUs of one worker of the first group.
    gpus_each: u32,
    /// The GPUs of all workers, without spares.
    gpus_workers: u32,
    gpus_spares: u32,
    gpus_launcher: u32,
    launcher_trains: bool,
    /// The minimum number of workers of an elastic job.
    min_workers: Option<u32>,
    /// How long an elastic training waits for `min_workers` workers.
    elastic_timeout: u64,
    /// Whether the pods may scale the workers, and end their Job.
    has_access: bool,
    /// Whether the workers release the GPUs if no launcher runs.
    has_guard: bool,
    keeps_workers: bool,
    interactive: bool,
    /// The reason why the job waits before its pods start, as a sentence.
    queue: Option<String>,
    checks_first: bool,
    checks_again: bool,
    retries: u32,
    /// An attempt that ran for so long sets the count of retries back.
    reset_after: Option<u64>,
    start_timeout: u64,
    lost_timeout: u64,
    deadline: Option<u64>,
    grace: u64,
    signal: String,
    stall: Option<u64>,
    /// Whether khorovod ends an attempt that has stalled.
    stall_retries: bool,
    /// For how long a pod stays on a node that does not answer, if the spec has tolerations for such a node.
    /// [`FOREVER`] if they have no time limit.
    tolerated: Option<u64>,
    /// Whether the pods can write to a volume that outlives them.
    has_volume: bool,
    /// Whether the spec shows that the program saves checkpoints: it sets a field of `lifecycle.checkpoint`.
    has_checkpoints: bool,
}

/// The time of a toleration without a time limit.
pub const FOREVER: u64 = u64::MAX;

/// The shape of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pods {
    /// A launcher, and workers of a StatefulSet.
    Launcher,
    /// An Indexed Job, in which pod 0 starts the ranks over ssh.
    Indexed,
    /// An Indexed Job of agents.
    Agents,
}

/// A value as text without tabs and line ends.
trait Cell: Sized {
    fn write(&self, line: &mut String);
    fn read(cell: &str) -> Option<Self>;
}

impl Cell for String {
    fn write(&self, line: &mut String) {
        line.extend(self.chars().map(|c| if c.is_control() { ' ' } else { c }));
    }

    fn read(cell: &str) -> Option<Self> {
        Some(cell.to_owned())
    }
}

impl Cell for u64 {
    fn write(&self, line: &mut String) {
        let _ = write!(line, "{self}");
    }

    fn read(cell: &str) -> Option<Self> {
        cell.parse().ok()
    }
}

impl Cell for u32 {
    fn write(&self, line: &mut String) {
        u64::from(*self).write(line);
    }

    fn read(cell: &str) -> Option<Self> {
        cell.parse().ok()
    }
}

impl Cell for bool {
    fn write(&self, line: &mut String) {
        u64::from(*self).write(line);
    }

    fn read(cell: &str) -> Option<Self> {
        Some(cell == "1")
    }
}

impl Cell for Pods {
    fn write(&self, line: &mut String) {
        (*self as u64).write(line);
    }

    fn read(cell: &str) -> Option<Self> {
        [Self::Launcher, Self::Indexed, Self::Agents].into_iter().nth(cell.parse().ok()?)
    }
}

impl<T: Cell> Cell for Option<T> {
    fn write(&self, line: &mut String) {
        if let Some(value) = self {
            line.push('=');
            value.write(line);
        }
    }

    fn read(cell: &str) -> Option<Self> {
        match cell.strip_prefix('=') {
            Some(rest) => T::read(rest).map(Some),
            None => Some(None),
        }
    }
}

impl Facts {
    /// The facts of a plan. `None` for a target whose own controller runs the job.
    pub fn of(plan: &Plan) -> Option<Self> {
        let (spec, lifecycle) = (&plan.spec, &plan.spec.lifecycle);
        if !spec.target.own_workloads {
            return None;
        }
        let first = spec.groups.first()?;
        let of_pods = |pods: fn(&crate::job::valid::Group) -> u32| {
            spec.groups.iter().map(|group| pods(group).saturating_mul(group.requested_gpus())).sum()
        };
        let mpi = match spec.launcher.mpi {
            Mpi::OpenMpi => "openmpi",
            Mpi::IntelMpi => "intelmpi",
            Mpi::Mpich => "mpich",
        };
        let policy = spec.health_check.policy;
        let has_gpus = spec.groups.iter().any(|group| group.gpus > 0);
        Some(Self {
            job: spec.name.clone(),
            run: plan.run.clone(),
            pods: match plan.shape {
                Shape::StatefulSet => Pods::Launcher,
                Shape::IndexedJob => Pods::Indexed,
                Shape::Agents => Pods::Agents,
            },
            program: plan.launch.first().cloned().unwrap_or_default(),
            mpi: (spec.launcher.kind == LauncherKind::Mpirun).then(|| mpi.to_owned()),
            workload: plan.teams.first()?.workload.clone(),
            service: plan.service().into_owned(),
            workers: plan.workers,
            spares: plan.spares,
            ranks: plan.np,
            gpus_each: first.requested_gpus(),
            gpus_workers: of_pods(|group| group.replicas),
            gpus_spares: of_pods(|group| group.spares),
            gpus_launcher: if spec.launcher.runs_ranks { first.requested_gpus() } else { 0 },
            launcher_trains: spec.launcher.runs_ranks,
            min_workers: spec.elastic.as_ref().map(|elastic| elastic.min_replicas),
            elastic_timeout: spec.elastic.as_ref().map_or(0, |elastic| elastic.timeout),
            has_access: plan.own_job().is_some(),
            has_guard: spec.security.worker_account.is_none(),
            keeps_workers: lifecycle.keep_workers,
            interactive: spec.launcher.interactive,
            queue: queue(plan),
            checks_first: policy == HealthPolicy::Always,
            checks_again: policy == HealthPolicy::Always || policy == HealthPolicy::OnFailure && has_gpus,
            retries: lifecycle.retries,
            reset_after: lifecycle.retries_reset_after,
            start_timeout: lifecycle.start_timeout,
            lost_timeout: spec.launcher.lost_timeout,
            deadline: lifecycle.deadline,
            grace: lifecycle.checkpoint.grace_period.into(),
            signal: lifecycle.checkpoint.signal.to_owned(),
            stall: lifecycle.stall.as_ref().map(|stall| stall.timeout),
            stall_retries: lifecycle.stall.as_ref().is_some_and(|stall| stall.retries),
            tolerated: tolerated(plan),
            has_volume: spec.storage.iter().any(|volume| match &volume.source {
                VolumeSource::EmptyDir { .. } => false,
                VolumeSource::S3(s3) => s3.upload,
                _ => !volume.read_only,
            }),
            has_checkpoints: ["lifecycle.checkpoint.signal", "lifecycle.checkpoint.gracePeriod"]
                .iter()
                .any(|field| spec.defaults.iter().all(|(default, _)| default != field)),
        })
    }
}

/// The reason why the job waits before its pods start, as a sentence.
fn queue(plan: &Plan) -> Option<String> {
    let scheduling = &plan.spec.scheduling;
    if let Some(queue) = &scheduling.local_queue {
        let size = if plan.spec.admits_part() { format!("{} pods", plan.min_members()) } else { "all pods".to_owned() };
        return Some(format!("Kueue admits the job when its LocalQueue `{queue}` has quota for {size}."));
    }
    if scheduling.suspend {
        return Some("The Job is suspended: no pod starts until `spec.suspend` of the Job is false.".to_owned());
    }
    let members = plan.min_members();
    let room = if members < plan.workers { format!("{members} of them") } else { "all of them".to_owned() };
    let pods = if plan.waits_for_gang() { "the workers" } else { "the pods" };
    let scheduler = match scheduling.gang? {
        Gang::Volcano => "Volcano",
        Gang::Coscheduling => "The coscheduling plugin",
        Gang::Native => "Kubernetes",
    };
    Some(format!("{scheduler} starts {pods} when there is room for {room}."))
}

/// For how long the tolerations of the spec keep a pod on a node that does not answer. `None` if the spec has no such
/// toleration.
fn tolerated(plan: &Plan) -> Option<u64> {
    let key = "node.kubernetes.io/unreachable";
    let tolerates = |one: &&serde_json::Value| {
        (one["key"].is_null() || one["key"] == key) && (one["effect"].is_null() || one["effect"] == "NoExecute")
    };
    let own: Vec<_> = plan.spec.placement.tolerations.iter().filter(tolerates).collect();
    // If there are several, the shortest time counts.
    let times = own.iter().filter_map(|one| one["tolerationSeconds"].as_u64());
    (!own.is_empty()).then(|| times.min().unwrap_or(FOREVER))
}
