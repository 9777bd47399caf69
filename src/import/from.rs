//! One module per source system. Each reads the old file's values, gives every one of them its outcome, and puts fields
//! into the new spec.

pub mod chart;
pub mod ffdl;
pub mod mpi_job;
pub mod openmpi;
pub mod slurm;
