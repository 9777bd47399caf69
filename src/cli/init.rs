//! `khorovod init`: writes a commented spec to start from, which is one of the examples in `examples/`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, FromArgMatches};
use handlebars::Handlebars;

use super::destination::{Destination, Yaml};
use super::show::Screen;
use super::{Failure, Outcome, input, output};

/// A flag, its help text, and the example that it selects.
type Lesson = (&'static str, &'static str, &'static str);

macro_rules! lesson {
    ($flag:literal, $folder:literal, $help:literal) => {
        ($flag, $help, include_str!(concat!("../../examples/", $folder, "/job.yaml")))
    };
}

/// The first one is the default.
const LESSONS: &[Lesson] = &[
    lesson!("smallest", "smallest", "The smallest job (the default)"),
    lesson!("gpu", "horovod-gpu", "Horovod on GPUs with a shared data set"),
    lesson!("cpu", "cpu", "Without GPUs, for example on a laptop's cluster"),
    lesson!("elastic", "elastic", "Elastic Horovod"),
    lesson!("torchrun", "torchrun", "PyTorch's launcher torchrun, which needs no ssh"),
    lesson!("jax", "jax", "JAX on GPUs, without MPI and without ssh"),
    lesson!("tensorflow", "tensorflow", "TensorFlow with MultiWorkerMirroredStrategy"),
    lesson!("deepspeed", "deepspeed", "DeepSpeed"),
    lesson!("intelmpi", "intel-mpi", "Intel MPI"),
    lesson!("mpich", "mpich", "MPICH"),
    lesson!("shell", "shell", "Your own launcher script"),
    lesson!("interactive", "interactive", "A launcher pod to work in by hand"),
    lesson!("code", "code", "Scripts inside the spec, without an image build"),
    lesson!("s3", "s3", "Data from S3 and results to S3"),
    lesson!("kueue", "kueue", "Wait for quota with Kueue"),
];

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod init mnist --gpu\n  \
    khorovod init hello --cpu -o yaml | khorovod render | kubectl apply -f -")]
pub struct Args {
    /// The job's name. Default: that of the example
    #[arg(value_parser = job_name)]
    name: Option<String>,
    #[command(flatten)]
    choice: Choice,
    /// Print yaml, or write to FILE [default: job.yaml]
    #[arg(short, long, value_name = "yaml|FILE", value_parser = Destination::<Yaml>::parser())]
    output: Option<Destination<Yaml>>,
    /// Replace FILE if it exists
    #[arg(long)]
    force: bool,
}

/// The example that the command line selects. Each example has a flag.
#[derive(Debug)]
struct Choice(&'static Lesson);

impl FromArgMatches for Choice {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(LESSONS.iter().find(|(flag, ..)| matches.get_flag(flag)).unwrap_or(&LESSONS[0])))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Choice {
    fn augment_args(command: clap::Command) -> clap::Command {
        let flags = LESSONS.iter().map(|(flag, help, _)| {
            Arg::new(*flag).long(*flag).help(*help).action(ArgAction::SetTrue).help_heading("Lessons")
        });
        let group = ArgGroup::new("lesson").args(LESSONS.iter().map(|(flag, ..)| *flag)).multiple(false);
        command.args(flags).group(group)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    let text = spec(args.choice.0, args.name.as_deref());
    let file = match &args.output {
        Some(output) => output.path.as_deref(),
        None => Some(Path::new(input::DEFAULT)),
    };
    let Some(file) = file else { return output::stdout(&text) };
    let path = file.display();
    if file.exists() && !args.force {
        return Err(Failure::File(format!(
            "{path} exists; use --force to replace it, -o FILE for another file, or -o yaml to print the spec"
        )));
    }
    output::file(file, &text, false)?;
    let file = if file == Path::new(input::DEFAULT) { String::new() } else { format!(" {path}") };
    screen.notice(&format!(
        "wrote {path}; next: replace {} by yours, then run `khorovod plan{file}`",
        placeholders(&text)
    ));
    Ok(())
}

/// The fields of an example that you must replace by your own: `image, command and namespace`.
fn placeholders(text: &str) -> String {
    let written = |field: &&str| text.contains(&format!("\n  {field}:"));
    let fields: Vec<&str> = ["image", "command", "namespace"].into_iter().filter(written).collect();
    match fields.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => fields.concat(),
    }
}

/// Accepts a name if it is short enough for the names of pods, and if every YAML parser reads it as a string.
fn job_name(text: &str) -> Result<String, String> {
    let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&text);
    if text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(inside)
        && !text.ends_with('-')
        && text.len() <= 38
        && !word
    {
        Ok(text.to_owned())
    } else {
        Err("use a name like `mnist-2`: at most 38 lower-case letters, digits and `-`, a letter first, not `yes` or `no`"
            .to_owned())
    }
}

/// The text of a new spec: a line for editors, the example, and comments about further fields.
fn spec((_, _, lesson): &Lesson, name: Option<&str>) -> String {
    let mut templates = Handlebars::new();
    templates.set_strict_mode(true);
    templates.register_escape_fn(handlebars::no_escape);
    templates
        .render_template(include_str!("init.yaml.hbs"), &BTreeMap::from([("lesson", named(lesson, name))]))
        .expect("the template uses only `lesson`")
}

/// An example with the user's name for the job.
fn named(lesson: &str, name: Option<&str>) -> String {
    let mut text = String::new();
    let mut in_metadata = false;
    for line in lesson.lines() {
        in_metadata = line == "metadata:" || (in_metadata && line.starts_with(' '));
        match name.filter(|_| in_metadata && line.starts_with("  name:")) {
            Some(name) => text.extend(["  name: ", name]),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_names_need_no_quotes() {
        for name in ["mnist", "mnist-2", "a"] {
            assert_eq!(job_name(name), Ok(name.to_owned()));
        }
        for name in ["", "2mnist", "-a", "a-", "A", "a.b", "no", "true", &"a".repeat(39)] {
            assert!(job_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_name_replaces_the_name_of_the_example() {
        for lesson in LESSONS {
            let text = spec(lesson, Some("mine"));
            assert_eq!(text.matches("\n  name: mine\n").count(), 1, "{}", lesson.0);
            let parsed: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
            assert_eq!(parsed["metadata"]["name"], "mine", "{}", lesson.0);
            assert_eq!(parsed["kind"], "TrainingJob", "{}", lesson.0);
            assert!(placeholders(&text).starts_with("image"), "{}", lesson.0);
        }
    }
}
