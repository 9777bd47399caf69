//! Splits off commands before the launcher of a line (`mkdir`, `sleep`, `echo`) that the launcher's pod need not run.

use khorovod_compiler::shell::{self, Joint, words};

/// A command before the launch.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'l> {
    /// Creates folders. The ranks can run it instead of the launcher.
    Makes(&'l str),
    /// Waits until workers have started.
    Waits(&'l str),
    /// Prints something.
    Prints(&'l str),
}

/// Returns the commands before a launch, and the rest of the line.
pub fn split(line: &str) -> (Vec<Step<'_>>, &str) {
    let script = shell::parse(line);
    let mut steps = Vec::new();
    for (index, statement) in script.statements.iter().enumerate() {
        let last = index + 1 == script.statements.len();
        for (at, command) in statement.commands.iter().enumerate() {
            let follows = !last || at + 1 < statement.commands.len();
            let plain = !statement.is_background && statement.joints.iter().all(|joint| *joint == Joint::And);
            let step = if follows && plain { step(&line[command.span.clone()]) } else { None };
            let Some(step) = step else { return (steps, line[command.span.start..].trim()) };
            steps.push(step);
        }
    }
    (steps, "")
}

fn step(command: &str) -> Option<Step<'_>> {
    let words = words(command)?;
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    match words.as_slice() {
        ["mkdir", "-p", _, ..] => Some(Step::Makes(command)),
        ["sleep", time] if time.starts_with(|c: char| c.is_ascii_digit()) => Some(Step::Waits(command)),
        ["echo", ..] => Some(Step::Prints(command)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_before_a_launch_are_split_off() {
        let made = |text: &'static str| Step::Makes(text);
        for (line, steps, rest) in [
            ("mkdir -p /a /b; mpirun ./x", vec![made("mkdir -p /a /b")], "mpirun ./x"),
            (
                "mkdir -p '/a b' && mkdir -p c && mpirun x",
                vec![made("mkdir -p '/a b'"), made("mkdir -p c")],
                "mpirun x",
            ),
            ("# so\nsleep 10\nmpirun \\\n ./x", vec![Step::Waits("sleep 10")], "mpirun \\\n ./x"),
            (
                "echo \"go\"; sleep 5s; mpirun ./x",
                vec![Step::Prints("echo \"go\""), Step::Waits("sleep 5s")],
                "mpirun ./x",
            ),
            ("echo a > b; mpirun ./x", vec![], "echo a > b; mpirun ./x"),
            ("sleep infinity; mpirun ./x", vec![], "sleep infinity; mpirun ./x"),
            ("mkdir -p /a", vec![], "mkdir -p /a"),
            ("mkdir /a; mpirun ./x", vec![], "mkdir /a; mpirun ./x"),
            ("mpirun ./x", vec![], "mpirun ./x"),
            ("# all\n", vec![], ""),
        ] {
            assert_eq!(split(line), (steps, rest));
        }
    }
}
