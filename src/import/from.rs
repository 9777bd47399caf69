//! One module per source system. Each module reads the values of the old file, records an outcome for every value, and
//! puts fields into the new spec.

pub mod chart;
mod each_pod;
pub mod ffdl;
pub mod job_set;
pub mod mpi_job;
pub mod openmpi;
pub mod pytorch_job;
pub mod slurm;
pub mod tf_job;
pub mod train_job;
pub mod training_operator;
