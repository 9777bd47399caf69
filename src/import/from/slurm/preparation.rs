//! Recognises lines that prepare the environment: modules, sourced files, installations, and lines that only print
//! something.

use super::classify::{self, Kind};
use super::known_programs::COPIES;
use crate::option_table::has_word;
use crate::shell_text::{first_word, first_words, is_assignment};
use khorovod_compiler::shell::{self, Command, Joint};

/// Whether a line may set variables that it does not name.
pub fn may_set(text: &str) -> bool {
    let script = shell::parse(text);
    shell::simple_commands(&script.statements).iter().any(|command| sources(&text[command.span.clone()]))
}

fn sources(line: &str) -> bool {
    let words = first_words(line);
    let is_known =
        |file: &String| ["activate", "/conda.sh", "/mamba.sh", "/modules.sh"].iter().any(|end| file.ends_with(end));
    match words.first().map_or("", String::as_str) {
        "source" | "." => !words.get(1).is_some_and(is_known),
        first => first == "eval" && !line.contains("conda"),
    }
}

/// Whether a line only sets flags of the shell, as `set -e` does.
pub fn is_flags(line: &str) -> bool {
    matches!(classify::kind(line), classify::Kind::Flags)
}

/// Whether a line fails only if the environment is not ready. A line such as `[ -n "$DEBUG" ] && export LOG=1` is
/// different: it also fails in scripts that work.
pub fn fails_only_if_unready(line: &str) -> bool {
    const WORDS: &[&str] =
        &["source", ".", "conda", "mamba", "micromamba", "spack", "module", "ml", "cd", "export", "set", "trap"];
    let is_one = shell::parse(line).statements.iter().all(|statement| statement.only().is_some());
    is_one && (WORDS.contains(&first_word(line).as_str()) || is_assignment(line))
}

/// Returns the signals of a `trap`.
fn trapped(line: &str) -> Vec<String> {
    let words = shell::words(line).unwrap_or_default();
    if words.first().is_none_or(|word| word.text != "trap") {
        return Vec::new();
    }
    let signals = words[1..].iter().filter(|word| word.text != "--").skip(1);
    signals.map(|word| word.text.clone()).collect()
}

/// Whether an argument of `trap` is an event of bash, such as EXIT, and not a signal.
fn is_event(signal: &str) -> bool {
    ["EXIT", "0", "ERR", "DEBUG", "RETURN"].contains(&signal)
}

/// Whether a `trap` is only for signals. Such a trap would never run in the new job, because its signals go to the
/// ranks: SIGTERM ends them, and the signal of `--signal` becomes `lifecycle.checkpoint.signal`.
pub fn traps_signals(line: &str) -> bool {
    let signals = trapped(line);
    !signals.is_empty() && !signals.iter().any(|signal| is_event(signal))
}

/// Whether a `trap` is for the end of the script and for signals.
pub fn traps_exit_and_signals(line: &str) -> bool {
    let signals = trapped(line);
    signals.iter().any(|signal| is_event(signal)) && !signals.iter().all(|signal| is_event(signal))
}

/// Whether a line only loads software that an image contains.
pub fn loads(line: &str) -> bool {
    let first = first_word(line);
    ["module", "ml", "conda", "mamba", "micromamba", "spack", "source", "."].contains(&first.as_str())
        && !line.contains('$')
}

/// Returns the commands of a line such as `cd /work && python train.py`: some that prepare, and a program or a launch.
pub fn before_program(line: &str) -> Option<Vec<&str>> {
    let script = shell::parse(line);
    let [statement] = script.statements.as_slice() else { return None };
    let (last, before) = statement.commands.split_last()?;
    let plain = |command: &Command| {
        let line = &line[command.span.clone()];
        let copies = has_word(COPIES, &first_word(line));
        command.redirections.is_empty() && (prepares(line) || copies || matches!(classify::kind(line), Kind::Shows))
    };
    let starts = matches!(classify::kind(&line[last.span.clone()]), Kind::Launch(_) | Kind::Program);
    let joined = statement.joints.iter().all(|joint| *joint == Joint::And);
    let fits = starts && joined && !statement.is_background && !before.is_empty() && before.iter().all(plain);
    fits.then(|| statement.commands.iter().map(|command| &line[command.span.clone()]).collect())
}

/// Whether a line only prepares the environment.
pub fn prepares(line: &str) -> bool {
    const WORDS: &str = "source . conda mamba micromamba spack module ml export unset eval ulimit umask cd mkdir mapfile readarray \
         read alias shopt declare set trap";
    has_word(WORDS, &first_word(line)) || is_assignment(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preparation_is_distinguished_from_programs() {
        let split = |line| before_program(line).map(|lines| lines.len());
        assert_eq!(split("cd /work && mkdir -p a && python t.py --x 1"), Some(3));
        for line in ["cd /work || python t.py", "python a.py && python b.py", "cd a && cd b", "cd a && python t.py; ls"]
        {
            assert_eq!(split(line), None, "{line}");
        }
        assert!(prepares("source a.sh") && prepares("A=1") && !prepares("/opt/app/run --all"));
        assert!(
            fails_only_if_unready("source a.sh")
                && fails_only_if_unready("A=$(b)")
                && !fails_only_if_unready("[ -n \"$D\" ] && export A=1")
        );
        assert!(!fails_only_if_unready("cp a b") && !fails_only_if_unready("export A=1 || true"));
        assert!(
            traps_signals("trap 'save; x' USR1 TERM")
                && !traps_signals("trap cleanup EXIT INT")
                && !traps_signals("trap")
                && traps_exit_and_signals("trap cleanup EXIT INT")
                && !traps_exit_and_signals("trap cleanup EXIT")
        );
        assert!(
            may_set("source env.sh")
                && may_set("if [ -f a ]; then . a; fi")
                && may_set("[ -f .env ] && source .env")
                && may_set("eval \"$(x)\"")
                && !may_set("source venv/bin/activate")
        );
    }
}
