//! `khorovod import`: converts a file of another system to a TrainingJob, and reports what became of each field.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use khorovod::import::{self, Imported, Options, System};
use khorovod::problem::count;
use khorovod::{Text, show};

use super::destination::{Destination, Yaml};
use super::show::Screen;
use super::{Failure, Outcome, environment, input, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    helm get values mnist | khorovod import stable-horovod --name mnist > job.yaml\n  \
    khorovod import stable-horovod --set worker.number=8 values.yaml\n  \
    khorovod import elastic-horovod --command \"horovodrun -np 4 …\" values.yaml\n  \
    khorovod import ffdl manifest.yml code/ > job.yaml\n  \
    khorovod import slurm --image ghcr.io/acme/mnist:1.4 job.sh > job.yaml\n  \
    kubectl get mpijob mnist -o yaml | khorovod import mpijob > job.yaml\n  \
    kubectl get trainjob/llama trainingruntime/llama -o yaml > old.yaml\n  \
    khorovod import trainjob old.yaml > job.yaml\n  \
    khorovod import ffdl --report json manifest.yml 2> report.json > job.yaml\n\n\
    The job goes to standard output. A report of what became of each field goes to\n\
    standard error: kept, changed (the spec expresses it in another way), dropped\n\
    (not needed), or lost (see the note). A note that begins with \"check\" is about a\n\
    value that may be wrong in pods. With --strict, the exit code is 1 if a field is\n\
    lost, and no job is printed. Secrets that the old file contains become separate\n\
    documents after the job, or go into the file of --secrets.")]
pub struct Args {
    /// The system that the files are for
    #[arg(value_name = "SYSTEM", value_parser = systems())]
    system: System,
    /// The file to import; `-` is standard input. Values of a chart may have several files, and later files
    /// override earlier ones. Default: standard input
    #[arg(value_name = "FILE")]
    words: Vec<PathBuf>,
    /// Read FILE, as if it were named without -f (repeatable)
    #[arg(short, long = "file", value_name = "FILE", conflicts_with = "words")]
    files: Vec<PathBuf>,
    /// The job's name. Default: the name in the file; without one, a script has the name of its file, and
    /// any other job the name of the system
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The job's namespace. Default: that of the file, if it names one
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// The image, if the file contains no image or you want another one. Default: that of the file, else a
    /// placeholder that you must replace
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// The launch command, if you typed it by hand in a pod or a login shell. Default: that of the file
    #[arg(long, value_name = "LINE")]
    command: Option<String>,
    /// Set a value of the old file, as `helm --set` does; it is not a field of the spec (repeatable)
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// The format of the report on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    report: Report,
    /// Print the job as yaml (the default), or write it to FILE
    #[arg(short, long, value_name = "yaml|FILE", value_parser = Destination::<Yaml>::parser())]
    output: Option<Destination<Yaml>>,
    /// Write Secrets to FILE, which only you can read. Default: they follow the job
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// Exit with 1 and print no job if a field is lost. Kept, changed and dropped fields do not count, and
    /// neither do warnings. Default: the exit code is 0, whatever the outcomes are
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Report {
    /// One line per field
    Text,
    /// One JSON document
    Json,
}

/// A parser for the name of a system. It lists all names for the help and for completions.
fn systems() -> impl TypedValueParser<Value = System> {
    let values = System::ALL.iter().map(|system| PossibleValue::new(system.name()).help(system.about()));
    PossibleValuesParser::new(values).try_map(|name| {
        System::ALL.iter().copied().find(|system| system.name() == name).ok_or("there is no such system")
    })
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    let output = args.output.clone().and_then(|output| output.path);
    input::refuse_overwrite(args.words.iter().chain(&args.files), output.as_deref())?;
    let (texts, code) = texts(&args, screen)?;
    let options = Options {
        code,
        name: args.name,
        namespace: args.namespace,
        default_namespace: environment::helm_namespace(),
        image: args.image,
        command: args.command,
        sets: args.sets,
    };
    let imported = import::import(args.system, &texts, &options).map_err(|problems| {
        screen.problems([&problems]);
        Failure::Problems
    })?;
    match args.report {
        Report::Text => {
            screen.problems([&imported.warnings]);
            screen.report(&show::import(&imported));
        }
        Report::Json => screen.plain(&show::import_json(&imported)),
    }
    let lost = show::import_count(&imported, "lost");
    if args.strict && lost > 0 {
        screen.error(&format!("{} lost, so --strict prints no job", count(lost as u64, "field")));
        return Err(Failure::Problems);
    }
    write(&imported, output.as_deref(), args.secrets.as_deref())?;
    if let Some(path) = output {
        screen.notice(&format!("wrote {0}; next: `khorovod plan {0}`", path.display()));
    }
    Ok(())
}

/// The names and contents of files.
type Code = Vec<(String, String)>;

/// Reads the files that the command line names, and the files of a code folder.
fn texts(args: &Args, screen: &Screen) -> Result<(Vec<Text>, Code), Failure> {
    let files = if args.words.is_empty() { &args.files } else { &args.words };
    if files.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input (`-`) can be read only once".to_owned()));
    }
    let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(|path| path.is_dir());
    let code = match folders.as_slice() {
        [] => Vec::new(),
        [folder] if args.system == System::Ffdl => code(folder, &files, screen)?,
        [folder, ..] => return Err(Failure::Usage(format!("{} is a folder; name the files in it", folder.display()))),
    };
    if !files.is_empty() {
        let texts: Result<Vec<Text>, Failure> = files.iter().map(|path| input::read(path, screen)).collect();
        return Ok((texts?, code));
    }
    if io::stdin().is_terminal() {
        return Err(Failure::Usage(format!("no FILE given; name one with {}", args.system.about())));
    }
    Ok((vec![input::read(Path::new("-"), screen)?], code))
}

/// Reads the files of a folder of code, without the manifest. A subfolder is an error, because a spec cannot contain it.
fn code(folder: &Path, manifests: &[&PathBuf], screen: &Screen) -> Result<Code, Failure> {
    let failed =
        |error: &io::Error| Failure::File(format!("cannot read {}: {}", folder.display(), output::reason(error)));
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(|error| failed(&error))?.collect();
    let mut paths: Vec<PathBuf> = entries.map_err(|error| failed(&error))?.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    let same = |one: &Path, other: &Path| fs::canonicalize(one).ok() == fs::canonicalize(other).ok();
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    paths.retain(|path| !manifests.iter().any(|manifest| same(manifest, path)));
    paths.retain(|path| {
        !name(path).starts_with('.') && !name(path).starts_with("manifest") && name(path) != "__pycache__"
    });
    let mut code = Vec::new();
    for path in paths {
        if path.is_dir() {
            let message =
                "a spec can contain files but no folders: copy the code into the image and leave out this argument";
            return Err(Failure::Usage(format!("{} is a folder in the code; {message}", path.display())));
        }
        code.push((name(&path), input::read(&path, screen)?.text));
    }
    Ok(code)
}

/// Writes the job and its Secrets. The Secrets come first, because pods wait for a Secret that does not exist.
fn write(imported: &Imported, to: Option<&Path>, secrets: Option<&Path>) -> Outcome {
    let apart = secrets.filter(|_| !imported.secrets.is_empty());
    let job = match apart {
        Some(_) => imported.job.clone(),
        None => format!("{}{}", imported.job, imported.secrets),
    };
    if let Some(path) = apart {
        let text = imported.secrets.strip_prefix("---\n").unwrap_or(&imported.secrets);
        output::file(path, text, true)?;
    }
    let private = apart.is_none() && !imported.secrets.is_empty();
    match to {
        Some(path) => output::file(path, &job, private),
        None => output::stdout(&job),
    }
}
