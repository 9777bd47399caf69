//! The options of the native `khorovod` that need no file.

use khorovod::show::Style;
use khorovod::{Inputs, KubeVersion, Target};

use crate::{Failure, keys};

/// The parsed command line.
#[derive(Default)]
pub struct Arguments {
    pub inputs: Inputs,
    pub style: Style,
    pub no_keys: bool,
    pub format: Option<String>,
    pub codes: bool,
    /// Whether `plan` also prints objects and defaults.
    pub all: bool,
    /// Arguments that are not options.
    pub words: Vec<String>,
}

impl Arguments {
    /// Parses the arguments of a command that accepts the options in `allowed`.
    pub fn read(args: &[String], allowed: &[&str]) -> Result<Self, Failure> {
        let mut read = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, given) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (arg.as_str(), None),
            };
            let name = match name {
                "-n" => "--namespace",
                "-q" => "--quiet",
                "-f" => "--file",
                "-o" => "--output",
                name => name,
            };
            if matches!(name, "--file" | "--overlay" | "--ssh-seed" | "--against" | "--errors") {
                return Err(no_file(arg));
            }
            if name == "-" || !name.starts_with('-') {
                read.words.push(arg.clone());
                continue;
            }
            if !allowed.contains(&name) {
                return Err(Failure::usage(format!("unexpected argument '{arg}'; `helm khorovod --help` lists them")));
            }
            if matches!((name, given), ("--strict" | "--no-keys" | "--quiet" | "--codes" | "--all", Some(_))) {
                return Err(Failure::usage(format!("{name} takes no value")));
            }
            let mut value = || {
                let value = given.or_else(|| args.next().map(String::as_str));
                value.map(str::to_owned).ok_or_else(|| Failure::usage(format!("{name} needs a value")))
            };
            match name {
                "--set" => read.inputs.sets.push(value()?),
                "--namespace" => read.inputs.namespace = Some(value()?),
                "--kube-version" => {
                    let version = value()?.parse::<KubeVersion>();
                    read.inputs.kube_version = version.map_err(|why| Failure::usage(format!("{name}: {why}")))?;
                }
                "--target" => {
                    let target = value()?.parse::<&dyn Target>();
                    read.inputs.target = target.map_err(|why| Failure::usage(format!("{name}: {why}")))?;
                }
                "--strict" => read.inputs.strict = true,
                "--no-keys" => read.no_keys = true,
                "--quiet" => read.style.quiet = true,
                "--codes" => read.codes = true,
                "--all" => read.all = true,
                "--color" => read.style.colour = value()? == "always",
                _ => {
                    let format = value()?;
                    if format.contains(['.', '/']) {
                        return Err(no_file(&format));
                    }
                    read.format = Some(format);
                }
            }
        }
        read.inputs.default_namespace = helm_namespace();
        // A given seed must be valid, even if no key is derived from it.
        read.inputs.keys = keys::find(read.no_keys)?;
        Ok(read)
    }
}

/// The namespace that Helm passes to its plugins: that of its option `-n`, or else of the current context. Helm also passes
/// `default` if there is neither.
fn helm_namespace() -> Option<String> {
    std::env::var("HELM_NAMESPACE").ok().filter(|name| !matches!(name.as_str(), "" | "default"))
}

/// The error for an argument that names a file.
pub fn no_file(arg: &str) -> Failure {
    Failure::usage(format!(
        "'{arg}' names a file, but this plugin cannot open files: pass the spec on standard input and the seed in \
         KHOROVOD_SSH_SEED, or use `khorovod`"
    ))
}
