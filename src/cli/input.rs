//! The options that render, plan, validate, post-render and krm share, and reading the files that they name.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use khorovod::{Inputs, KubeVersion, Target, Text, show, targets};

use super::output::reason;
use super::show::Screen;
use super::{Failure, environment};

// The comments of flattened structs are not doc comments, because clap would print them as the description of the command.

// The specs to read, and the options that apply to them.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    pub settings: Settings,
}

// The specs to read.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Files {
    /// Specs to read, as in `jobs/*.yaml`; `-` is standard input. Default: standard input if it is a pipe or a file, else
    /// job.yaml
    #[arg(value_name = "FILE")]
    words: Vec<PathBuf>,
    /// Read FILE, as if it were named without -f (repeatable)
    #[arg(short, long = "file", value_name = "FILE", conflicts_with = "words")]
    files: Vec<PathBuf>,
}

impl Files {
    /// The paths that the command line names.
    fn named(&self) -> &[PathBuf] {
        if self.words.is_empty() { &self.files } else { &self.words }
    }

    /// The paths that the command line names. Without any, standard input if it is a pipe or a file, or else job.yaml.
    pub fn or_default(&self) -> Result<Vec<PathBuf>, Failure> {
        match self.named() {
            [] if piped() => Ok(vec![PathBuf::from("-")]),
            [] if Path::new(DEFAULT).exists() => Ok(vec![PathBuf::from(DEFAULT)]),
            [] => Err(Failure::Usage(format!("no FILE given and there is no {DEFAULT} here; name one"))),
            named => Ok(named.to_vec()),
        }
    }
}

// The options that change every spec, and the options for the target and the cluster.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Settings {
    /// Merge FILE over every spec: maps are merged, lists are replaced, null removes a field (repeatable;
    /// later files override earlier ones)
    #[arg(long = "overlay", value_name = "FILE")]
    pub overlays: Vec<PathBuf>,
    /// Set one field, by its path below spec or from metadata, for example workers.gpus=4. The value is YAML: null
    /// removes the field. storage[0] is an item of a list, and `\.` a dot in a name (repeatable; overrides overlays)
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// The namespace of the jobs. Default: metadata.namespace of each job
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// The Kubernetes version of the cluster, such as 1.34. An object that needs a newer one is an error: jobs need 1.26, and those with `runsIn: firstWorker` 1.31
    #[arg(long, value_name = "VERSION", default_value_t)]
    pub kube_version: KubeVersion,
    /// The target: plain objects, or the input of an operator or another scheduler. Default: plain
    #[arg(long = "target", value_name = "TARGET", value_parser = target())]
    pub given_target: Option<&'static dyn Target>,
    /// Require what FILE expects of each job by itself, for example at most 64 GPUs (repeatable)
    #[arg(long, value_name = "FILE")]
    pub expect: Vec<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// Derive ssh keys from the 32 bytes in FILE (raw, hex or base64). Default: KHOROVOD_SSH_SEED, else your
    /// seed in ~/.local/state/khorovod
    #[arg(long, value_name = "FILE", conflicts_with = "no_keys")]
    pub ssh_seed: Option<PathBuf>,
    /// Leave out the ssh Secret, which you create with `khorovod keygen`. Set ssh.secretName to its name,
    /// because the default name changes with each run
    #[arg(long)]
    pub no_keys: bool,
}

/// A parser for the name of a target. It lists all names for the help and for completions.
pub fn target() -> impl TypedValueParser<Value = &'static dyn Target> {
    PossibleValuesParser::new(targets::ALL.iter().map(|target| target.name())).try_map(|name| name.parse())
}

impl Args {
    /// The paths of the specs that the command line names.
    pub fn files(&self) -> &[PathBuf] {
        self.files.named()
    }

    /// Reads the specs.
    pub fn texts(&self, screen: &Screen) -> Result<Vec<Text>, Failure> {
        let overlays = &self.settings.overlays;
        let named = self.files().iter().chain(overlays);
        if named.filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(Failure::Usage("standard input (`-`) can be read only once".to_owned()));
        }
        if !self.files().is_empty() {
            return self.files().iter().map(|path| read(path, screen)).collect();
        }
        if piped() && !overlays.iter().any(|path| path.as_os_str() == "-") {
            return Ok(vec![read(Path::new("-"), screen)?]);
        }
        let default = Path::new(DEFAULT);
        if !default.exists() {
            let way_out = match overlays.first() {
                Some(path) => format!("; {} is only an overlay", path.display()),
                None => ", or write one with `khorovod init`".to_owned(),
            };
            return Err(Failure::Usage(format!("no FILE given and there is no {DEFAULT} here; name one{way_out}")));
        }
        if let Some(path) = overlays.first() {
            screen.notice(&format!("no FILE given: {} is merged over {DEFAULT}", path.display()));
        }
        Ok(vec![read(default, screen)?])
    }

    /// The command that renders these specs with these options.
    pub fn render_command(&self) -> String {
        let Settings { overlays, sets, namespace, kube_version, given_target: _, strict, ssh_seed, no_keys, expect } =
            &self.settings;
        let target = self.settings.target();
        let mut words = vec!["khorovod".to_owned(), "render".to_owned()];
        let mut option = |name: &str, value: &str| words.extend([name.to_owned(), show::shell_word(value)]);
        for path in overlays {
            option("--overlay", &path.to_string_lossy());
        }
        for path in expect {
            option("--expect", &path.to_string_lossy());
        }
        for set in sets {
            option("--set", set);
        }
        if let Some(name) = namespace {
            option("--namespace", name);
        }
        if *kube_version != KubeVersion::default() {
            option("--kube-version", &kube_version.to_string());
        }
        if target.name() != targets::PLAIN.name() {
            option("--target", target.name());
        }
        if let Some(path) = ssh_seed {
            option("--ssh-seed", &path.to_string_lossy());
        }
        let flags = [("--strict", *strict), ("--no-keys", *no_keys)];
        words.extend(flags.iter().filter(|(_, set)| *set).map(|(name, _)| (*name).to_owned()));
        words.extend(self.files().iter().map(|path| show::shell_word(&path.to_string_lossy())));
        words.join(" ")
    }

    /// Refuses an output file that is one of the inputs.
    pub fn refuse_overwrite(&self, output: Option<&Path>) -> Result<(), Failure> {
        let default = (self.files().is_empty() && !piped()).then(|| PathBuf::from(DEFAULT));
        refuse_overwrite(self.files().iter().chain(&self.settings.overlays).chain(&default), output)
    }
}

/// Whether standard input is a pipe or a file. Returns false for a terminal, and also for `/dev/null`, which many programs
/// pass to their children.
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

/// The spec that is read if none is named.
pub const DEFAULT: &str = "job.yaml";

/// Refuses an output file that is one of the inputs.
pub fn refuse_overwrite<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let same = |path: &Path| fs::canonicalize(path).ok().filter(|path| path.is_file());
    match output.and_then(same) {
        Some(output) if inputs.into_iter().any(|path| same(path).as_ref() == Some(&output)) => Err(Failure::Usage(
            format!("{} is an input, so it is not overwritten; name another file", output.display()),
        )),
        _ => Ok(()),
    }
}

impl Settings {
    /// The target, which is plain unless the command line names another one.
    pub fn target(&self) -> &'static dyn Target {
        self.given_target.unwrap_or(targets::PLAIN)
    }

    /// The inputs of the library, without the keys.
    pub fn inputs(&self, screen: &Screen) -> Result<Inputs, Failure> {
        Ok(Inputs {
            overlays: self.overlays.iter().map(|path| read(path, screen)).collect::<Result<_, _>>()?,
            sets: self.sets.clone(),
            namespace: self.namespace.clone(),
            default_namespace: environment::helm_namespace(),
            kube_version: self.kube_version,
            target: self.target(),
            expectations: self.expect.iter().map(|path| read(path, screen)).collect::<Result<_, _>>()?,
            strict: self.strict,
            ..Inputs::default()
        })
    }
}

/// Like [`read`]; for a folder, all YAML files in it as one stream.
pub fn read_all(path: &Path, screen: &Screen) -> Result<Text, Failure> {
    if !path.is_dir() {
        return read(path, screen);
    }
    let texts = yaml_files(path)?.iter().map(|file| read(file, screen)).collect::<Result<Vec<_>, _>>()?;
    Ok(Text { name: path.display().to_string(), text: joined(&texts).text })
}

/// Several files as one stream, with the names of all.
pub fn joined(texts: &[Text]) -> Text {
    let join = |part: fn(&Text) -> &str, by: &str| texts.iter().map(part).collect::<Vec<_>>().join(by);
    Text { name: join(|text| &text.name, ", "), text: join(|text| &text.text, "\n---\n") }
}

/// The YAML files in a folder and its subfolders, sorted by path.
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

/// Reads a file, or standard input for `-`, as text.
pub fn read(path: &Path, screen: &Screen) -> Result<Text, Failure> {
    let (name, bytes) = if path.as_os_str() == "-" {
        if io::stdin().is_terminal() {
            screen.notice("reading from the terminal; press Ctrl-D on an empty line to finish");
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
            io::ErrorKind::NotFound if name == DEFAULT => "; `khorovod init` writes one".to_owned(),
            io::ErrorKind::PermissionDenied => format!("; if you own it: chmod u+r {name}"),
            _ => String::new(),
        };
        Failure::File(format!("cannot read {name}: {}{hint}", reason(&error)))
    })?;
    Text::from_bytes(name, bytes).map_err(|error| Failure::File(error.to_string()))
}
