//! The types of the public interface.

use khorovod_compiler::problem::Problems;

/// A system whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum System {
    /// The chart stable/horovod, and its successor, the chart `docker/helm` in Horovod's repository.
    StableHorovod,
    /// The chart of the elastic Horovod tutorial, which is derived from the chart stable/horovod.
    ElasticHorovod,
    /// Kubeflow's openmpi component for ksonnet.
    KubeflowOpenmpi,
    /// FfDL, the Fabric for Deep Learning.
    Ffdl,
    /// Kubeflow's MPI Operator, v1 and v2beta1, and objects that khorovod rendered.
    MpiJob,
    /// A PyTorchJob of Kubeflow's Training Operator, v1.
    PyTorchJob,
    /// A TFJob of Kubeflow's Training Operator, v1.
    TfJob,
    /// A TrainJob of Kubeflow Trainer, with or without its runtime.
    TrainJob,
    /// A JobSet.
    JobSet,
    /// Slurm: a batch script, or srun lines.
    Slurm,
}

impl System {
    /// Every system.
    pub const ALL: &[Self] = &[
        Self::StableHorovod,
        Self::ElasticHorovod,
        Self::KubeflowOpenmpi,
        Self::Ffdl,
        Self::MpiJob,
        Self::PyTorchJob,
        Self::TfJob,
        Self::TrainJob,
        Self::JobSet,
        Self::Slurm,
    ];

    /// The kind of its objects, if it is an operator of Kubernetes.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::MpiJob => Some("MPIJob"),
            Self::PyTorchJob => Some("PyTorchJob"),
            Self::TfJob => Some("TFJob"),
            Self::TrainJob => Some("TrainJob"),
            Self::JobSet => Some("JobSet"),
            _ => None,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::StableHorovod => "stable-horovod",
            Self::ElasticHorovod => "elastic-horovod",
            Self::KubeflowOpenmpi => "kubeflow-openmpi",
            Self::Ffdl => "ffdl",
            Self::MpiJob => "mpijob",
            Self::PyTorchJob => "pytorchjob",
            Self::TfJob => "tfjob",
            Self::TrainJob => "trainjob",
            Self::JobSet => "jobset",
            Self::Slurm => "slurm",
        }
    }

    /// A description of its files, for messages.
    pub fn about(self) -> &'static str {
        match self {
            Self::StableHorovod => "values of the chart stable/horovod, or of docker/helm in Horovod's repository",
            Self::ElasticHorovod => "values of the elastic Horovod chart",
            Self::KubeflowOpenmpi => "parameters of Kubeflow's openmpi component, or the `ks` lines that set them",
            Self::Ffdl => "an FfDL manifest",
            Self::MpiJob => "an MPIJob of Kubeflow's MPI Operator",
            Self::PyTorchJob => "a PyTorchJob of Kubeflow's Training Operator",
            Self::TfJob => "a TFJob of Kubeflow's Training Operator",
            Self::TrainJob => "a TrainJob of Kubeflow Trainer",
            Self::JobSet => "a JobSet",
            Self::Slurm => "a batch script for Slurm, or srun lines",
        }
    }
}

/// Values that the old file does not have, or that replace values of the old file. Construct it with
/// `..Options::default()`, because later versions may add fields.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The job's name. Default: the name in the file, or else the name of the script's file, or else the name of the
    /// system.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its namespace if the old file does not contain one.
    pub default_namespace: Option<String>,
    /// The image, if the old system does not name one or you want another.
    pub image: Option<String>,
    /// The launch line, if users typed it by hand in the old launcher's pod.
    pub command: Option<String>,
    /// The files of the code folder that belongs to the old file: name and content.
    pub code: Vec<(String, String)>,
    /// `PATH=VALUE` settings that override values of the file, in the syntax of `helm --set`.
    pub sets: Vec<String>,
}

/// A field of the old file and its outcome.
#[derive(Debug, Clone, serde::Serialize)]
#[non_exhaustive]
pub struct Field {
    /// Its path, such as `worker.image.tag`.
    pub path: String,
    /// The file that contains it, or the option: `--set worker.number=8`.
    pub file: String,
    /// Its line in that file; the first line is 1.
    pub line: usize,
    /// Its outcome: `kept`, `changed`, `dropped` or `lost`.
    pub verdict: &'static str,
    /// The fields of the new spec that hold its value.
    pub to: Vec<String>,
    /// How the value changed, why khorovod does not need it, or why it is lost and what to do.
    pub note: String,
}

/// The result of an import.
#[derive(Debug)]
#[non_exhaustive]
pub struct Imported {
    /// The TrainingJob, with comments.
    pub job: String,
    /// Secrets that the old file contained, as YAML documents. Empty if it contained none.
    pub secrets: String,
    /// Every field of the old file, in the order of the file.
    pub fields: Vec<Field>,
    /// Warnings about the new job. A job with errors is never returned.
    pub warnings: Problems,
}
