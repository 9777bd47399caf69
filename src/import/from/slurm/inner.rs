//! Takes apart the script of a line such as `srun bash -c "source env.sh; torchrun train.py"`.

use super::Script;
use super::classify::{self, Kind};
use super::{launch_pieces, preparation};
use crate::launch::program;
use crate::shell_text;
use khorovod_compiler::problem::Span;
use khorovod_compiler::shell::{self, Joint, words};

/// Variables that differ between the nodes or the ranks of a job.
const OF_A_NODE: &[&str] = &["SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURMD_NODENAME", "HOSTNAME", "RANDOM"];

/// Splits a script into its last command and the commands before it. The last command must start a launcher, and all others
/// must prepare the same environment on every node. Otherwise the result is None.
fn split(script: &str) -> Option<(Vec<&str>, &str)> {
    let statements = shell::parse(script).statements;
    let mut commands = Vec::new();
    for statement in &statements {
        if statement.is_background || statement.joints.iter().any(|joint| *joint != Joint::And) {
            return None;
        }
        commands.extend(&statement.commands);
    }
    let last = commands.pop()?;
    let before: Vec<&str> = commands.iter().map(|command| &script[command.span.clone()]).collect();
    let launch = &script[last.span.clone()];
    (classify::launches_plainly(launch) && before.iter().all(|line| is_same_everywhere(line)))
        .then_some((before, launch))
}

/// Whether a command prepares an environment that is the same on every node, so that srun can pass it on.
fn is_same_everywhere(line: &str) -> bool {
    let prepares = match classify::kind(line) {
        Kind::Assign(_) => line.starts_with("export "),
        Kind::Export(_) | Kind::Module(_) | Kind::Folder(_) | Kind::Flags | Kind::Shows => true,
        _ => preparation::prepares(line) && !line.starts_with("trap"),
    };
    prepares
        && !line.contains(['`', '<', '>'])
        && !line.contains("$(")
        && !shell_text::named(line).iter().any(|name| OF_A_NODE.contains(&name.as_str()))
}

/// Whether a command of a script starts a launcher.
fn starts_launcher(script: &str) -> bool {
    let statements = shell::parse(script).statements;
    shell::simple_commands(&statements).iter().any(|command| classify::launches_plainly(&script[command.span.clone()]))
}

impl Script<'_, '_, '_> {
    /// Returns the script of a line that is `bash -c SCRIPT` and nothing else.
    pub fn inner(&self, line: &str) -> Option<String> {
        let hidden = shell_text::Hidden::of(line);
        let line = &hidden.text;
        let words = words(line)?;
        let (script, before) = words.split_last()?;
        let shell = before.first().is_some_and(|word| program::is_shell(&word.text));
        if !shell || before.last()?.text != "-c" || before[1..].iter().any(|word| !word.text.starts_with('-')) {
            return None;
        }
        let inner = launch_pieces::lines(&shell::within_quotes(&hidden.shown(&line[script.place.clone()]))?);
        Some(launch_pieces::spliced(&inner, &self.texts).trim().to_owned())
    }

    /// Returns the launch in a script of several commands, and imports the commands before it. None if the script has
    /// no launcher, or if the whole batch script has to be the command of the job.
    pub fn launch_of_inner(&mut self, script: &str, span: Span) -> Option<String> {
        if !starts_launcher(script) {
            return None;
        }
        let Some((before, launch)) = split(script) else {
            self.require_verbatim("the shell that srun starts does more than prepare the launcher");
            return None;
        };
        for line in before {
            self.command(line, span, false);
        }
        Some(launch.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preparation_is_separated_from_the_launch() {
        let launch = "torchrun --nnodes 2 train.py";
        for before in
            ["source ~/env/bin/activate; ", "cd /work && export A=1 && ", "module load a\nconda activate b\n", ""]
        {
            assert_eq!(split(&format!("{before}{launch}")).map(|(_, launch)| launch), Some(launch), "{before}");
        }
        for before in
            ["export NODE_RANK=$SLURM_NODEID; ", "A=1; ", "python a.py; ", "source a || ", "export A=$(hostname); "]
        {
            assert_eq!(split(&format!("{before}{launch}")), None, "{before}");
        }
        assert!(starts_launcher("torchrun a.py; echo done") && !starts_launcher("source a; python b.py"));
    }
}
