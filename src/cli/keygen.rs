//! `khorovod keygen`: prints an ssh Secret to apply once.

use std::path::PathBuf;

use super::destination::{Destination, Yaml};
use super::{Outcome, environment, output, seed};

/// Print an ssh Secret with new keys, for spec.ssh.secretName
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    khorovod keygen team-keys -n team-a | kubectl apply -f -\n\n\
    and in a spec:\n  \
    ssh: {secretName: team-keys}\n\n\
    Each call creates new keys, unless you give a seed.")]
pub struct Args {
    /// The Secret's name
    #[arg(value_parser = name)]
    name: String,
    /// Its namespace. Default: that of the context when you apply it
    #[arg(short, long, value_name = "NAME", value_parser = name)]
    namespace: Option<String>,
    /// Derive the keys from the 32 bytes in FILE (raw, hex or base64). Default: KHOROVOD_SSH_SEED, else new keys
    #[arg(long, value_name = "FILE")]
    ssh_seed: Option<PathBuf>,
    /// Print yaml (the default), or write to FILE, which only its owner can read
    #[arg(short, long, value_name = "yaml|FILE", value_parser = Destination::<Yaml>::parser())]
    output: Option<Destination<Yaml>>,
}

pub fn run(args: &Args) -> Outcome {
    let seed = match seed::read_given_seed(args.ssh_seed.as_deref())? {
        Some(seed) => seed,
        None => seed::fresh()?,
    };
    let namespace = args.namespace.clone().or_else(environment::helm_namespace);
    let text = khorovod::secret(&args.name, namespace.as_deref(), &seed);
    match args.output.as_ref().and_then(|output| output.path.as_deref()) {
        Some(path) => output::file(path, &text, true),
        None => output::stdout(&text),
    }
}

/// Accepts a name that is valid for a Kubernetes object.
pub fn name(text: &str) -> Result<String, String> {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=63).contains(&text.len()) && text.chars().all(inside) && !text.starts_with('-') && !text.ends_with('-') {
        Ok(text.to_owned())
    } else {
        Err("use at most 63 lower-case letters, digits and `-`, without `-` at either end".to_owned())
    }
}
