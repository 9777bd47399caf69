//! One module per source system. Each module reads the values of the old file, records an outcome for every value, and
//! puts fields into the new spec.

pub mod chart;
pub mod ffdl;
pub mod mpi_job;
pub mod openmpi;
pub mod slurm;
