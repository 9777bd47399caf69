//! The properties of a target that the rules, the plan and the objects depend on, as data.
//!
//! Each target declares its [`Facts`] in its own file in `targets/`, so that these phases need not name single targets.
//! The behaviour of a target is in the trait `targets::Target`.

/// The properties of a target.
#[allow(clippy::struct_excessive_bools)] // Each flag is an independent property.
pub struct Facts {
    /// The name that `--target` takes.
    pub name: &'static str,
    /// Whether ranks run in pods. If not, the output is one batch script, and nothing about pods applies.
    pub has_pods: bool,
    /// Whether khorovod renders the launcher and the workers as separate workloads of Kubernetes' own kinds. If not,
    /// one object describes all of them, and its controller creates, names and ends the pods.
    pub own_workloads: bool,
    /// Whether the pods belong to Jobs, whose failure policies need a minimum version of Kubernetes.
    pub uses_jobs: bool,
    /// Whether a launcher can be index 0 of an Indexed Job.
    pub has_job_shape: bool,
    /// Whether the target itself starts all pods of a run together, and uses `scheduling.volcano_queue`.
    pub is_gang: bool,
    /// Whether the controller creates a headless Service with the name of the run. If not, pods use the Service that
    /// khorovod renders.
    pub brings_service: bool,
    /// The creator of the ssh keys.
    pub ssh_keys: SshKeys,
    /// Whether pod templates name the Service in their `subdomain`.
    pub templates_set_subdomain: bool,
    /// Whether pod templates contain the restart policy.
    pub templates_set_restart_policy: bool,
    /// Whether the first pod that succeeds ends the job.
    pub first_success_ends_job: bool,
    /// The annotation of a pod that contains the index of the pod. Only for controllers that do not set the variable
    /// `JOB_COMPLETION_INDEX`.
    pub pod_index: Option<&'static str>,
    /// The role of a pod that is a worker and also starts the ranks. The role is a part of the pod's name.
    pub index_role: &'static str,
    /// The suffix that the controller appends to the name of a group of pods, before the pod's number.
    pub group_suffix: &'static str,
    /// The suffix that the controller appends to the name of the launcher, for its pod.
    pub launcher_suffix: &'static str,
    /// The suffix that khorovod appends to the run's name for a PodGroup.
    pub pod_group_suffix: &'static str,
    /// Fields of the spec that the target writes into an immutable part of its workloads. With other targets, Kubernetes changes
    /// these fields in place.
    pub immutable_fields: &'static [&'static str],
    /// The API group of its workloads, such as `kubeflow.org`. Empty if the workloads have Kubernetes' own kinds.
    pub api_group: &'static str,
    /// The kinds of its workloads, each with the fields of the object's `spec` that can change in place.
    pub workload_kinds: &'static [(&'static str, &'static [&'static str])],
    /// The fields of the spec that the target refuses, and those that have no effect with it.
    pub exceptions: &'static [Exception],
    /// How many characters the longest derived name has in addition to the job's name.
    pub longest_suffix: fn(&NameParts) -> usize,
}

impl Facts {
    /// The facts that most targets have in common. A target declares its name and what differs.
    pub const COMMON: Self = Self {
        name: "",
        has_pods: true,
        own_workloads: false,
        uses_jobs: false,
        has_job_shape: true,
        is_gang: false,
        brings_service: false,
        ssh_keys: SshKeys::Ours,
        templates_set_subdomain: false,
        templates_set_restart_policy: true,
        first_success_ends_job: false,
        pod_index: None,
        index_role: "worker",
        group_suffix: "",
        launcher_suffix: "",
        pod_group_suffix: "",
        immutable_fields: &[],
        api_group: "",
        workload_kinds: &[],
        exceptions: &[SLURM_SECTION],
        // Kubernetes adds the revision of a StatefulSet to a label of its pods, and a suffix to the names of the pods of a Job.
        longest_suffix: |parts| if parts.is_indexed_job { RUN + JOB_POD } else { parts.worker + REVISION },
    };
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A field of the spec that a target refuses, or that has no effect with it.
#[derive(Debug, Clone, Copy)]
pub struct Exception {
    /// The path of the field below `spec`, or from `metadata`, without the indexes of lists. A field of `workers.groups` has the
    /// path of the field of `workers`.
    pub field: &'static str,
    /// Whether the target refuses the field. If not, the field has no effect.
    pub is_refused: bool,
    /// The values of the field to which the exception applies, as a condition such as `if true`. Empty if it applies to all
    /// values.
    pub condition: &'static str,
}

impl Exception {
    /// A field that the target refuses.
    pub const fn refused(field: &'static str, condition: &'static str) -> Self {
        Self { field, is_refused: true, condition }
    }

    /// A field that has no effect with the target.
    pub const fn ignored(field: &'static str) -> Self {
        Self { field, is_refused: false, condition: "" }
    }
}

/// The settings for Slurm, which have no effect in pods.
pub const SLURM_SECTION: Exception = Exception::ignored("slurm");

/// The fields of the `spec` of a StatefulSet or Job that can change in place.
const CHANGEABLE: &[&str] = &[
    "activeDeadlineSeconds",
    "backoffLimit",
    "minReadySeconds",
    "persistentVolumeClaimRetentionPolicy",
    "replicas",
    "revisionHistoryLimit",
    "suspend",
    "ttlSecondsAfterFinished",
    "updateStrategy",
];

/// Kubernetes' own workloads.
pub const OWN_KINDS: &[(&str, &[&str])] = &[("StatefulSet", CHANGEABLE), ("Job", CHANGEABLE)];

/// The creator of the ssh keys of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SshKeys {
    /// khorovod, in a Secret.
    Ours,
    /// The operator.
    Operator,
    /// No one, because khorovod does not set up ssh for the job.
    None,
}

/// Lengths of parts of names. From these lengths, each target computes the length of its longest name.
pub struct NameParts {
    /// How many characters the name of a group of workers adds to the job's name, such as `-run123-worker-group`.
    pub worker: usize,
    /// How many characters the name of the launcher adds to the job's name: `-run123-launcher`.
    pub launcher: usize,
    /// Digits of the largest worker number.
    pub digits: usize,
    /// Whether the launcher is index 0 of one Indexed Job.
    pub is_indexed_job: bool,
}

/// The length of the suffix in the name of a StatefulSet's revision. This name is the name of the StatefulSet, `-`, and
/// a hash of ten characters. Kubernetes copies the name of the revision into a label of the pods.
const REVISION: usize = 11;
/// The length of the run's part of a name, `-run123`.
pub const RUN: usize = "-run123".len();
/// The length of the suffix that the Job controller appends to the name of a Job for its pods, `-x7x2p`.
pub const JOB_POD: usize = "-x7x2p".len();
