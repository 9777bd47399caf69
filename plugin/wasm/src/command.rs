//! `helm khorovod render`, `validate`, `plan` and `explain`, which work like the native commands on standard input.

use std::io::{self, IsTerminal, Read, Write};

use khorovod::import::with_import_hint;
use khorovod::problem::Problems;
use khorovod::show::Style;
use khorovod::{Keys, Text, show, targets};

use crate::Failure;
use crate::arguments::{Arguments, no_file};

/// The largest input in bytes. Its output must fit into the memory limit in plugin.yaml.
const LARGEST: usize = 2 << 20;

/// The options of the commands that read a spec.
const SPEC: &[&str] = &[
    "--set",
    "--namespace",
    "--kube-version",
    "--target",
    "--strict",
    "--no-keys",
    "--quiet",
    "--color",
    "--output",
    "--all",
];

/// The help, with `TARGETS` in the place of their names.
const HELP: &str = "\
Compile a short training spec into plain Kubernetes objects

Usage: helm khorovod COMMAND [OPTIONS] < job.yaml

  render            turn a spec into Kubernetes objects
  validate          report all problems of a spec; -o text, json, github or sarif
  plan              show what a spec would run; -o text or json; --all adds objects and defaults
  explain TOPIC     explain a problem code or a field; --codes lists the codes

Options of the first three:
  --set PATH=VALUE        set one field, as in workers.gpus=4 (repeatable)
  -n, --namespace NAME    the namespace of jobs that have no metadata.namespace
  --kube-version VERSION  the Kubernetes version the objects are for [default: 1.34]
  --target TARGET         TARGETS [default: plain]
  --strict                treat warnings as errors
  --no-keys               leave the ssh Secret out
  --color WHEN            always, or never
  -q, --quiet             print only errors

This plugin cannot open files: it reads the spec from standard input and the ssh seed from KHOROVOD_SSH_SEED. Helm
consumes `--namespace` and passes its own namespace, which is that of the current context if you do not give one.
";

/// Returns the help. It names the targets whose output is Kubernetes objects.
fn help() -> String {
    let names: Vec<_> =
        targets::ALL.iter().filter(|target| target.facts().has_pods).map(|target| target.name()).collect();
    let (last, others) = names.split_last().expect("there are targets");
    HELP.replace("TARGETS", &format!("{} or {last}", others.join(", ")))
}

pub fn run(args: &[String]) -> Result<(), Failure> {
    let Some((command, args)) = args.split_first() else { return print(help().as_bytes()) };
    if matches!(command.as_str(), "help" | "-h" | "--help") || args.iter().any(|arg| arg == "-h" || arg == "--help") {
        return print(help().as_bytes());
    }
    match command.as_str() {
        "render" => render(&Arguments::read(args, &SPEC[..SPEC.len() - 2])?),
        "validate" => validate(Arguments::read(args, SPEC)?),
        "plan" => plan(Arguments::read(args, SPEC)?),
        "explain" => explain(&Arguments::read(args, &["--codes", "--quiet", "--color"])?),
        "version" | "--version" | "-V" => print(concat!("khorovod ", env!("CARGO_PKG_VERSION"), "\n").as_bytes()),
        other => Err(Failure::usage(format!(
            "there is no command '{other}' in this plugin; it has render, validate, plan and explain"
        ))),
    }
}

fn render(args: &Arguments) -> Result<(), Failure> {
    let text = spec(args)?;
    let mut outcome = Ok(());
    let found = khorovod::render_to(&text, &args.inputs, &mut |part| {
        if outcome.is_ok() {
            outcome = print(part);
        }
    });
    match found {
        Ok(warnings) => {
            print_problems(args.style, &warnings);
            outcome
        }
        Err(problems) => Err(refuse(args.style, &with_seed_hint(with_import_hint(problems, &text)))),
    }
}

/// Replaces the hint for missing ssh keys, because this plugin has no `--ssh-seed`.
fn with_seed_hint(mut problems: Problems) -> Problems {
    for problem in problems.list.iter_mut().filter(|problem| problem.code.name == "no-ssh-keys") {
        problem.hint = Some(
            "set `KHOROVOD_SSH_SEED`, or set `spec.ssh.secretName` to the name of a Secret; `khorovod explain no-ssh-keys` \
             shows how"
                .to_owned(),
        );
    }
    problems
}

fn validate(mut args: Arguments) -> Result<(), Failure> {
    args.inputs.keys = no_keys(&args);
    let report = match args.format.as_deref() {
        None | Some("text") => None,
        Some("json") => Some(show::json as fn(&[Problems]) -> String),
        Some("github") => Some(show::github as _),
        Some("sarif") => Some(show::sarif as _),
        Some(other) => return Err(Failure::usage(format!("there is no format '{other}'; text, json, github, sarif"))),
    };
    let spec = spec(&args)?;
    let all = [with_import_hint(khorovod::check(&spec, &args.inputs), &spec)];
    match report {
        Some(report) => print(report(&all).as_bytes())?,
        None if all[0].list.is_empty() => args.style.success("<stdin> is valid").iter().for_each(|text| line(text)),
        None => print_problems(args.style, &all[0]),
    }
    if all[0].any_error() { Err(Failure::problems(WRONG)) } else { Ok(()) }
}

fn plan(mut args: Arguments) -> Result<(), Failure> {
    args.inputs.keys = no_keys(&args);
    let json = match args.format.as_deref() {
        None | Some("text") => false,
        Some("json") => true,
        Some(other) => return Err(Failure::usage(format!("there is no format '{other}'; text, json"))),
    };
    let spec = spec(&args)?;
    match khorovod::reports(&spec, &args.inputs) {
        Ok(reports) => {
            print_problems(args.style, &reports.warnings);
            let text = match json {
                true => format!("{:#}\n", serde_json::json!({ "jobs": reports.jobs })),
                false => show::plan(&reports.jobs, "helm khorovod render < job.yaml", args.all),
            };
            print(text.as_bytes())
        }
        Err(problems) => Err(refuse(args.style, &with_import_hint(problems, &spec))),
    }
}

fn explain(args: &Arguments) -> Result<(), Failure> {
    match args.words.as_slice() {
        [] if args.codes => print(show::codes().as_bytes()),
        [topic] => print(show::explain(topic).map_err(Failure::usage)?.as_bytes()),
        _ => Err(Failure::usage("name one problem code or field, as in `helm khorovod explain workers.gpus`")),
    }
}

/// The keys for commands that do not print keys.
fn no_keys(args: &Arguments) -> Keys {
    if args.no_keys { Keys::LeftOut } else { Keys::Masked }
}

/// Reads the spec from standard input.
fn spec(args: &Arguments) -> Result<Text, Failure> {
    if let Some(file) = args.words.iter().find(|word| *word != "-") {
        return Err(no_file(file));
    }
    if io::stdin().is_terminal() {
        return Err(Failure::usage("the spec comes on standard input, as in `helm khorovod render < job.yaml`"));
    }
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(LARGEST as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::stream(format!("cannot read <stdin>: {error}")))?;
    if bytes.len() > LARGEST {
        return Err(Failure::stream(format!(
            "cannot read <stdin>: it is larger than {} MiB, the limit of this plugin; `khorovod render` accepts larger \
             input",
            LARGEST >> 20
        )));
    }
    Text::from_bytes("<stdin>", bytes).map_err(|error| Failure::stream(error.to_string()))
}

/// The message that Helm prints after the problems.
const WRONG: &str = "the spec has problems";

fn refuse(style: Style, problems: &Problems) -> Failure {
    print_problems(style, problems);
    Failure::problems(WRONG)
}

/// Prints problems to stderr. The commands in hints are those of this plugin.
fn print_problems(style: Style, problems: &Problems) {
    for text in style.problems([problems]) {
        line(&text.replace("`khorovod explain ", "`helm khorovod explain "));
    }
}

/// Prints a line to stderr. Ignores errors, because there is no other place to report them.
fn line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes to stdout. A closed pipe is not an error.
fn print(part: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(part).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::stream(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
