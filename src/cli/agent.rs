//! Recognises the pods that start ranks of their own, without ssh: with torchrun, JAX and TensorFlow.

/// The script that these pods run.
pub const AGENT: &str = "agent.sh";

/// Whether the command of a container runs that script.
pub fn is_agent(command: &[String]) -> bool {
    command.iter().any(|word| word.rsplit('/').next() == Some(AGENT))
}
