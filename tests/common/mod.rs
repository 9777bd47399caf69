//! Shared by tests that run the command as a process.

use std::path::Path;
use std::process::{Command, Stdio};

pub const SEED: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

pub const JOB: &str = "apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata:
  name: mnist
spec:
  image: ghcr.io/acme/mnist:1.4
  command: [python, train.py]
  workers: {replicas: 4, gpus: 8}
";

pub fn place() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The command with an empty environment: no seed, no state folder, no colour.
pub fn khorovod(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_khorovod"));
    command.env_clear().env("HOME", folder).current_dir(folder).stdin(Stdio::null());
    command
}
