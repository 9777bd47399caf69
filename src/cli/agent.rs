//! Recognises pods that start their own ranks, without ssh. Jobs with torchrun, JAX or TensorFlow have such pods.

/// The script that these pods run.
pub const AGENT: &str = "agent.sh";

/// Whether the command of a container runs [`AGENT`].
pub fn is_agent(command: &[String]) -> bool {
    command.iter().any(|word| word.rsplit('/').next() == Some(AGENT))
}
