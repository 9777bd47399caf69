//! The options render, plan, validate and post-render share, and reading what they name.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use khorovod::{Inputs, KubeVersion, Target, Text, targets};

use super::Failure;
use super::output::reason;
use super::show::Screen;

/// What is read, and what is merged over it.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// Specs to read; `-` is standard input. Without one: what is piped in, else job.yaml
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
    #[arg(long, value_name = "VERSION", default_value_t)]
    pub kube_version: KubeVersion,
    /// What to render to: plain objects, or what an operator or another scheduler takes
    #[arg(long, value_name = "TARGET", default_value = "plain", value_parser = target())]
    pub target: &'static dyn Target,
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
fn target() -> impl TypedValueParser<Value = &'static dyn Target> {
    PossibleValuesParser::new(targets::ALL.iter().map(|target| target.name())).try_map(|name| name.parse())
}

impl Args {
    /// The specs, read.
    pub fn texts(&self, screen: &Screen) -> Result<Vec<Text>, Failure> {
        let overlays = &self.settings.overlays;
        let named = self.files.iter().chain(overlays);
        if named.filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(Failure::Usage("standard input (`-`) can be read only once".to_owned()));
        }
        if !self.files.is_empty() {
            return self.files.iter().map(|path| read(path, screen)).collect();
        }
        if piped() && !overlays.iter().any(|path| path.as_os_str() == "-") {
            return Ok(vec![read(Path::new("-"), screen)?]);
        }
        let default = Path::new(DEFAULT);
        if !default.exists() {
            let way_out = match overlays.first() {
                Some(path) => format!(", over which `-f` lays {}", path.display()),
                None => ", or write one with `khorovod init`".to_owned(),
            };
            return Err(Failure::Usage(format!("no FILE given and there is no {DEFAULT} here; name one{way_out}")));
        }
        if let Some(path) = overlays.first() {
            screen.notice(&format!("no FILE given: {} is laid over {DEFAULT}", path.display()));
        }
        Ok(vec![read(default, screen)?])
    }

    /// Refuses to write over what is read.
    pub fn keep_from(&self, output: Option<&Path>) -> Result<(), Failure> {
        let default = (self.files.is_empty() && !piped()).then(|| PathBuf::from(DEFAULT));
        keep(self.files.iter().chain(&self.settings.overlays).chain(&default), output)
    }
}

/// Whether standard input is handed over: a pipe or a file, and neither a terminal nor `/dev/null`, which programs have
/// that nobody gives anything to.
fn piped() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::FileTypeExt;
        let file = io::stdin().as_fd().try_clone_to_owned().map(fs::File::from);
        file.and_then(|file| file.metadata()).is_ok_and(|meta| !meta.file_type().is_char_device())
    }
    #[cfg(not(unix))]
    !io::stdin().is_terminal()
}

/// The spec where none is named.
const DEFAULT: &str = "job.yaml";

/// Refuses an output that is one of the inputs.
pub fn keep<'a>(inputs: impl IntoIterator<Item = &'a PathBuf>, output: Option<&Path>) -> Result<(), Failure> {
    let same = |path: &Path| fs::canonicalize(path).ok().filter(|path| path.is_file());
    match output.and_then(same) {
        Some(output) if inputs.into_iter().any(|path| same(path).as_ref() == Some(&output)) => Err(Failure::Usage(
            format!("{} is read here, so it is not written over; name another file", output.display()),
        )),
        _ => Ok(()),
    }
}

impl Settings {
    /// Everything beside the specs but the keys.
    pub fn inputs(&self, screen: &Screen) -> Result<Inputs, Failure> {
        Ok(Inputs {
            overlays: self.overlays.iter().map(|path| read(path, screen)).collect::<Result<_, _>>()?,
            sets: self.sets.clone(),
            namespace: self.namespace.clone(),
            kube_version: self.kube_version,
            target: self.target,
            strict: self.strict,
            ..Inputs::default()
        })
    }
}

/// The same; of a folder, all YAML files in it as one stream.
pub fn read_all(path: &Path, screen: &Screen) -> Result<Text, Failure> {
    if !path.is_dir() {
        return read(path, screen);
    }
    let mut texts = Vec::new();
    for file in yaml_files(path)? {
        texts.push(read(&file, screen)?.text);
    }
    Ok(Text { name: path.display().to_string(), text: texts.join("\n---\n") })
}

/// YAML files in a folder and those below it, in order.
fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: io::Error| Failure::File(format!("cannot read {}: {}", folder.display(), reason(&error)));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            files.extend(yaml_files(&path)?);
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A file, or standard input for `-`, as text.
pub fn read(path: &Path, screen: &Screen) -> Result<Text, Failure> {
    let (name, bytes) = if path.as_os_str() == "-" {
        if io::stdin().is_terminal() {
            screen.notice("reading what you type; Ctrl-D on a line of its own ends it");
        }
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes);
        ("<stdin>".to_owned(), read)
    } else {
        (path.display().to_string(), fs::read(path))
    };
    let bytes = bytes.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::IsADirectory => format!("; name the files in it: {}/*.yaml", name.trim_end_matches('/')),
            io::ErrorKind::NotFound if name == DEFAULT => "; `khorovod init` writes a first one".to_owned(),
            io::ErrorKind::PermissionDenied => "; its owner can allow it: chmod u+r".to_owned(),
            _ => String::new(),
        };
        Failure::File(format!("cannot read {name}: {}{hint}", reason(&error)))
    })?;
    Text::from_bytes(name, bytes).map_err(Failure::File)
}
