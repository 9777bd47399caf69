//! Imports a command that every pod of the old job ran: an agent of torchrun, or a program that is a rank itself. In the new
//! job, `spec.command` is the command of a rank. khorovod itself starts the agents of torchrun.

use std::ops::Range;

use super::{Size, workers};
use crate::codes::BAD_VALUE;
use crate::context::Context;
use crate::field::{self, set};
use crate::field_outcomes::Verdict;
use crate::launch::command_line::{self, Launch, Line};
use crate::launch::options::names_launcher;
use crate::launch::{self, Place, World, program};
use crate::shell_text;
use khorovod_compiler::problem::Problem;
use khorovod_compiler::shell::{self, simple_commands, words};

/// If a row is about a program that no launcher starts, the path of the row ends with this text.
pub const PLAIN: &str = ": no launcher";

/// How the pods of the old job started their processes.
#[derive(Debug)]
pub struct Start<'a> {
    /// The value of `launcher.kind` for a program that no launcher starts, and the reason.
    pub plain: (&'static str, &'a str),
    /// Variables of the pods, with their values.
    pub variables: Vec<(String, String)>,
}

/// Imports the command, as shell text.
pub fn line(context: &mut Context<'_>, text: &str, place: &Place, world: &World, start: &Start<'_>) {
    let text = text.trim();
    if program::waits(program::without_flags(text)) {
        return launch::line(context, text, place, world);
    }
    match find(text, &start.variables) {
        Ok(Some((range, mut launch))) if launch.kind == "torchrun" => {
            let is_whole = range == (0..text.len());
            if !is_whole {
                let program = launch::program_of(&launch);
                launch.program = format!("{}{program}{}", &text[..range.start], &text[range.end..]).into();
            }
            launch::launched(context, &text[range], launch, place, world);
            if !is_whole {
                let how =
                    "each rank runs it, not once per pod: if it installs or downloads something, do that in the image";
                let path = format!("{}: the rest of the script", place.path);
                context.report(path, place.span, Verdict::Changed, field::COMMAND, how);
            }
        }
        Ok(Some((range, _))) => launch::line(context, &text[range], place, world),
        Ok(None) => plain(context, text, place, world, start),
        Err(why) => {
            let message =
                format!("the command of `{}` starts a launcher in a way that cannot be imported: {why}", place.path);
            let hint = "pass the line that starts the ranks: `--command \"torchrun --nproc-per-node=8 train.py\"`";
            context.problems.push(Problem::new(&BAD_VALUE, place.span, message).hint(hint));
        }
    }
}

/// Imports a program that no launcher starts. Each pod ran it once, so each worker has one rank.
fn plain(context: &mut Context<'_>, text: &str, place: &Place, world: &World, start: &Start<'_>) {
    launch::refuse_secret(context, text, place);
    workers(context, &Size { replicas: world.pods, slots: Some(1), how: String::new() }, world);
    if context.spec.get(field::WORKERS_GPUS).is_none_or(|gpus| *gpus == 1) {
        context.spec.take(set::WORKERS_SLOTS_PER_WORKER);
    }
    let (kind, why) = start.plain;
    context.spec.put(set::LAUNCHER_KIND, kind, why);
    context.spec.put(set::COMMAND, program::program(text), &place.path);
    let how = format!("one rank per worker runs it, as each pod did; {why}");
    let path = format!("{}{PLAIN}", place.path);
    context.report(path, place.span, Verdict::Changed, field::LAUNCHER, &how);
}

/// Finds the line that starts a launcher. The line may be a part of a script. Returns the place of the line, or None if
/// there is no launcher. It is an error if there are several launchers, or if the line cannot be replaced by its program.
fn find(text: &str, variables: &[(String, String)]) -> Result<Option<(Range<usize>, Launch)>, String> {
    let script = shell::parse(text);
    let places = |range: &Range<usize>| command_line::starts_launcher(&text[range.clone()]);
    let all = simple_commands(&script.statements);
    let launches: Vec<Range<usize>> = all.iter().filter_map(|command| command.words_span()).filter(places).collect();
    let (range, more) = match launches.as_slice() {
        [] if names_launcher(text) || text.starts_with("tune run ") => return Err("only a shell can run it".to_owned()),
        [] => return Ok(None),
        [one, more @ ..] => (one.clone(), more),
    };
    let is_here = |command: &shell::Command| command.words_span() == Some(range.clone());
    let statement = script.statements.iter().find(|statement| statement.commands.iter().any(is_here));
    let Some(statement) = statement.filter(|_| more.is_empty()) else {
        return Err(
            if more.is_empty() { "it is in a loop, a condition or a function" } else { "it starts several" }.to_owned()
        );
    };
    if statement.is_background {
        return Err("it runs in the background".to_owned());
    }
    let mut known = variables.to_vec();
    known.extend(assigned(text, &script, range.start));
    let line = &text[range.clone()];
    match filled(line, &known) {
        Line::Launch(launch) => Ok(Some((range, *launch))),
        Line::Script(why) => Err(why),
    }
}

/// Reads a line, with the values of variables in the options of the launcher. Variables in the program stay.
fn filled(line: &str, known: &[(String, String)]) -> Line {
    let mut read = command_line::read(line);
    let mut used = Vec::new();
    // Replace the variables one by one, in their order, until the options can be read. The options are before the program,
    // so variables in the program stay.
    for name in shell_text::names(line) {
        if matches!(read, Line::Launch(_)) {
            break;
        }
        used.extend(known.iter().find(|(other, _)| *other == name).cloned());
        read = command_line::read(&shell_text::fill(line, &used, false));
    }
    read
}

/// Variables that a script sets to plain values before a place, in commands that always run.
fn assigned(text: &str, script: &shell::Script, before: usize) -> Vec<(String, String)> {
    let commands = script.statements.iter().filter_map(shell::Statement::only);
    let spans = commands.filter_map(shell::Command::words_span).filter(|span| span.end <= before);
    let mut found = Vec::new();
    for span in spans {
        let words = words(&text[span]).unwrap_or_default();
        let words = words.strip_prefix(&words[..usize::from(words.first().is_some_and(|word| word.text == "export"))]);
        let words = words.unwrap_or_default();
        if words.iter().all(|word| word.assignment().is_some() && !word.expands) {
            let pairs = words.iter().filter_map(shell::Plain::assignment);
            found.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<Option<(String, Option<u32>)>, String> {
        let variables = [("PET_NPROC_PER_NODE".to_owned(), "4".to_owned())];
        Ok(find(text, &variables)?.map(|(range, launch)| (text[range].to_owned(), launch.per_host)))
    }

    #[test]
    fn the_launch_of_a_script_is_found() {
        for (text, line, per_host) in [
            ("torchrun a.py", "torchrun a.py", None),
            (
                "set -e\ncd /w\nexec torchrun --nproc-per-node 8 a.py\n",
                "exec torchrun --nproc-per-node 8 a.py",
                Some(8),
            ),
            (
                "pip install x && torchrun --nproc_per_node=$PET_NPROC_PER_NODE a.py | tee l",
                "torchrun --nproc_per_node=$PET_NPROC_PER_NODE a.py",
                Some(4),
            ),
            (
                "export N=2\nN=3\ntorchrun --nproc-per-node \"$N\" a.py --lr $LR",
                "torchrun --nproc-per-node \"$N\" a.py --lr $LR",
                Some(3),
            ),
        ] {
            assert_eq!(found(text), Ok(Some((line.to_owned(), per_host))), "{text}");
        }
        assert_eq!(found("python a.py --torchrun no"), Ok(None));
    }

    #[test]
    fn variables_of_the_program_stay() {
        let known = ["N", "LR"].map(|name| (name.to_owned(), "2".to_owned()));
        let Line::Launch(launch) = filled("torchrun --nproc-per-node $N --node-rank $RANK a.py --lr $LR", &known)
        else {
            panic!("no launch")
        };
        assert_eq!((launch.per_host, launch.program.as_str()), (Some(2), Some("python -u a.py --lr $LR")));
    }

    #[test]
    fn a_launch_that_cannot_be_replaced_is_refused() {
        for (text, why) in [
            ("for i in 1 2; do torchrun a.py; done", "loop"),
            ("torchrun a.py; torchrun b.py", "several"),
            ("torchrun a.py &\nwait", "background"),
            ("torchrun --nproc-per-node $N a.py", "needs a shell"),
            ("torchrun --node-rank $(cat r) a.py", "only a shell"),
            ("tune run full_finetune_distributed", "only a shell"),
        ] {
            let refused = found(text).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
