//! The options render, plan, validate and post-render share, and reading what they name.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use khorovod::{Inputs, Target, Text};

use super::Failure;
use super::output::reason;

/// What is read, and what is merged over it.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// Specs to read; `-` is standard input. Without one: standard input when it is no terminal,
    /// else job.yaml
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub settings: Settings,
}

/// What is merged over every spec, and what it is rendered for.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Settings {
    /// Merge FILE over every spec (repeatable)
    #[arg(short = 'f', long = "overlay", value_name = "FILE")]
    pub overlays: Vec<PathBuf>,
    /// Set one field, as in workers.gpus=4 (repeatable; wins over overlays)
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Put the job into this namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// The Kubernetes version the objects are for
    #[arg(long, value_name = "VERSION", default_value = "1.34", value_parser = khorovod::kube_version)]
    pub kube_version: (u32, u32),
    /// What to render to: plain objects, or what an operator or another scheduler takes
    #[arg(long, value_name = "TARGET", default_value = "plain", value_parser = targets())]
    pub target: Target,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// Derive ssh keys from the 32 bytes in FILE (raw, hex or base64)
    #[arg(long, value_name = "FILE", conflicts_with = "no_keys")]
    pub ssh_seed: Option<PathBuf>,
    /// Leave the ssh Secret out; bring it yourself with `khorovod keygen`
    #[arg(long)]
    pub no_keys: bool,
}

/// Names of targets, for the help and completions too.
fn targets() -> impl TypedValueParser<Value = Target> {
    PossibleValuesParser::new(Target::ALL.map(Target::name)).try_map(|name| khorovod::target(&name))
}

impl Args {
    /// The specs, read.
    pub fn texts(&self) -> Result<Vec<Text>, Failure> {
        let overlays = &self.settings.overlays;
        let named = self.files.iter().chain(overlays);
        if named.filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(Failure::Usage("standard input (`-`) can be read only once".to_owned()));
        }
        if !self.files.is_empty() {
            return self.files.iter().map(|path| read(path)).collect();
        }
        if !io::stdin().is_terminal() && !overlays.iter().any(|path| path.as_os_str() == "-") {
            return Ok(vec![read(Path::new("-"))?]);
        }
        let default = Path::new("job.yaml");
        if !default.exists() {
            return Err(Failure::Usage(
                "no FILE given and there is no job.yaml here; name one, or write one with `khorovod init`".to_owned(),
            ));
        }
        Ok(vec![read(default)?])
    }
}

impl Settings {
    /// Everything beside the specs but the keys.
    pub fn inputs(&self) -> Result<Inputs, Failure> {
        Ok(Inputs {
            overlays: self.overlays.iter().map(|path| read(path)).collect::<Result<_, _>>()?,
            sets: self.sets.clone(),
            namespace: self.namespace.clone(),
            kube_version: self.kube_version,
            target: self.target,
            strict: self.strict,
            ..Inputs::default()
        })
    }
}

/// A file, or standard input for `-`, as text.
pub fn read(path: &Path) -> Result<Text, Failure> {
    let (name, bytes) = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes);
        ("<stdin>".to_owned(), read)
    } else {
        (path.display().to_string(), fs::read(path))
    };
    let bytes = bytes.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::IsADirectory => "; name the files in it, as in khorovod render DIR/*.yaml",
            io::ErrorKind::NotFound => "; `khorovod init` writes a first one",
            io::ErrorKind::PermissionDenied => "; its owner can allow it: chmod u+r",
            _ => "",
        };
        Failure::File(format!("cannot read {name}: {}{hint}", reason(&error)))
    })?;
    Text::from_bytes(name, bytes).map_err(Failure::File)
}
