//! `khorovod keygen`: an ssh Secret to apply once.

use std::path::PathBuf;

use super::{Outcome, output, seed};

/// Print an ssh Secret for spec.ssh.secret, with fresh keys
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    khorovod keygen team-keys -n team-a | kubectl apply -f -\n\n\
    and in a spec:\n  \
    ssh: {secret: team-keys}\n\n\
    Every call makes other keys, unless a seed is given.")]
pub struct Args {
    /// The Secret's name
    #[arg(value_parser = name)]
    name: String,
    /// Its namespace
    #[arg(short, long, value_name = "NAME", value_parser = name)]
    namespace: Option<String>,
    /// Derive the keys from the 32 bytes in FILE (raw, hex or base64)
    #[arg(long, value_name = "FILE")]
    ssh_seed: Option<PathBuf>,
    /// Write to FILE, readable by its owner alone
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let seed = match seed::given(args.ssh_seed.as_deref())? {
        Some(seed) => seed,
        None => seed::fresh()?,
    };
    let text = khorovod::secret(&args.name, args.namespace.as_deref(), &seed);
    match args.output.as_deref().filter(|path| path.as_os_str() != "-") {
        Some(path) => output::file(path, &text, true),
        None => output::stdout(&text),
    }
}

/// A name Kubernetes takes.
pub fn name(text: &str) -> Result<String, String> {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=63).contains(&text.len()) && text.chars().all(inside) && !text.starts_with('-') && !text.ends_with('-') {
        Ok(text.to_owned())
    } else {
        Err("lower-case letters, digits and `-`, at most 63, no `-` at either end".to_owned())
    }
}
