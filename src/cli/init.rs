//! `khorovod init`: a commented spec to start from, taken from the lessons under `examples/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, FromArgMatches};
use handlebars::Handlebars;

use super::show::Screen;
use super::{Failure, Outcome, output};

/// A flag, what it is for, and the lesson it starts from.
type Lesson = (&'static str, &'static str, &'static str);

macro_rules! lesson {
    ($flag:literal, $folder:literal, $help:literal) => {
        ($flag, $help, include_str!(concat!("../../examples/", $folder, "/job.yaml")))
    };
}

/// The first is the one without a flag.
const LESSONS: &[Lesson] = &[
    lesson!("smallest", "smallest", "The smallest job (the default)"),
    lesson!("gpu", "horovod-gpu", "Horovod on GPUs with a shared data set"),
    lesson!("cpu", "cpu", "No GPU: to try things on a laptop's cluster"),
    lesson!("elastic", "elastic", "Elastic Horovod"),
    lesson!("torchrun", "torchrun", "PyTorch's own launcher, without ssh"),
    lesson!("deepspeed", "deepspeed", "DeepSpeed"),
    lesson!("intelmpi", "intel-mpi", "Intel MPI"),
    lesson!("mpich", "mpich", "MPICH"),
    lesson!("shell", "shell", "A launcher script of your own"),
    lesson!("interactive", "interactive", "A launcher to work in by hand"),
    lesson!("code", "code", "Scripts beside the spec, without an image build"),
    lesson!("s3", "s3", "Data from and to S3"),
    lesson!("kueue", "kueue", "Wait for quota with Kueue"),
];

/// Write a commented spec to start from
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod init mnist --gpu\n  \
    khorovod init hello --cpu -o - | khorovod render - | kubectl apply -f -")]
pub struct Args {
    /// The job's name
    #[arg(value_parser = job_name)]
    name: Option<String>,
    #[command(flatten)]
    choice: Choice,
    /// Write to FILE; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "job.yaml")]
    output: PathBuf,
    /// Replace FILE where it exists
    #[arg(long)]
    force: bool,
}

/// The lesson chosen: one flag a lesson.
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
    if args.output.as_os_str() == "-" {
        return output::stdout(&text);
    }
    let path = args.output.display();
    if args.output.exists() && !args.force {
        return Err(Failure::File(format!("{path} exists; --force replaces it, -o names another file, -o - shows it")));
    }
    output::file(&args.output, &text, false)?;
    let file = if args.output == Path::new("job.yaml") { String::new() } else { format!(" {path}") };
    screen.notice(&format!("wrote {path}; next: make {} yours, then `khorovod plan{file}`", placeholders(&text)));
    Ok(())
}

/// The fields of a lesson that hold for nobody but its author: `image, command and namespace`.
fn placeholders(text: &str) -> String {
    let written = |field: &&str| text.contains(&format!("\n  {field}:"));
    let fields: Vec<&str> = ["image", "command", "namespace"].into_iter().filter(written).collect();
    match fields.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => fields.concat(),
    }
}

/// A name that always leaves room for those of the pods, and is a text to every reader of YAML.
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
        Err("a name like `mnist-2`: lower-case letters, digits and `-`, a letter first, at most 38, no `yes` or `no`"
            .to_owned())
    }
}

/// A lesson as a starting point: an editor's first line, the lesson, and what else there is.
fn spec((_, _, lesson): &Lesson, name: Option<&str>) -> String {
    let mut templates = Handlebars::new();
    templates.set_strict_mode(true);
    templates.register_escape_fn(handlebars::no_escape);
    templates
        .render_template(include_str!("init.yaml.hbs"), &BTreeMap::from([("lesson", named(lesson, name))]))
        .expect("the template asks for nothing else")
}

/// A lesson under a name of the user's.
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
    fn names_that_a_spec_takes_as_they_stand() {
        for name in ["mnist", "mnist-2", "a"] {
            assert_eq!(job_name(name), Ok(name.to_owned()));
        }
        for name in ["", "2mnist", "-a", "a-", "A", "a.b", "no", "true", &"a".repeat(39)] {
            assert!(job_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn every_lesson_takes_a_name_once() {
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
