//! Finds the simple commands of a script, the program of a command, and the launcher that this program starts.

use std::ops::Range;

use super::Failure;
use super::lexer::{self, Lexer, Sums, is_name, unquoted};
use super::token::{Part, PartKind, Statement, TokenKind};

/// Words after which a command may begin.
const RESERVED: &[&str] = &["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "{", "}", "!"];

/// Returns the simple commands of a script, each as a list of words without quotes. Includes the commands in compound
/// commands, functions and substitutions. Stops at a quote that does not end.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let (mut found, mut words): (Vec<Vec<String>>, Vec<String>) = (Vec::new(), Vec::new());
    let mut lexer = Lexer::new(text, 0, 0, lexer::sums(text), end_of_substitution);
    // If the next word is the target of a redirection, `redirection` is the operator. `is_pattern` is true if patterns of
    // `case` follow.
    let (mut redirection, mut is_pattern) = (None, false);
    while let Ok(Some(token)) = lexer.next() {
        let written = &text[token.span];
        match &token.kind {
            TokenKind::Word(word) => {
                add_substitutions(text, &word.parts, &mut found);
                let first = words.first().map(String::as_str);
                match (redirection.take(), first, written) {
                    (Some(sign @ ("<<" | "<<-")), ..) => lexer.announce(sign, word),
                    (Some(_), ..) => {}
                    _ if is_pattern => is_pattern = written != "esac",
                    (_, None, word) if RESERVED.contains(&word) => {}
                    (_, Some("function"), "{") => words.clear(),
                    (_, Some("case"), "in") if words.len() == 2 => {
                        words.clear();
                        is_pattern = true;
                    }
                    _ => words.push(unquoted(text, &word.parts)),
                }
                continue;
            }
            TokenKind::Operator if written.contains(['<', '>']) => {
                redirection = Some(written.trim_start_matches(|c: char| c.is_ascii_digit()));
                continue;
            }
            TokenKind::Operator if written == ")" => is_pattern = false,
            TokenKind::Operator => is_pattern |= matches!(written, ";;" | ";&" | ";;&"),
            TokenKind::Newline => drop(lexer.document()),
            _ => continue,
        }
        found.extend(Some(std::mem::take(&mut words)).filter(|words| !words.is_empty()));
    }
    found.extend(Some(words).filter(|words| !words.is_empty()));
    found
}

/// Returns the files to which the redirections of a script write, without quotes. It does not search substitutions.
pub fn written_files(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lexer = Lexer::new(text, 0, 0, lexer::sums(text), end_of_substitution);
    let mut redirection = None;
    while let Ok(Some(token)) = lexer.next() {
        let written = &text[token.span];
        match &token.kind {
            TokenKind::Word(word) => match redirection.take() {
                Some(sign @ ("<<" | "<<-")) => lexer.announce(sign, word),
                Some(sign) if sign.contains('>') => found.push(unquoted(text, &word.parts)),
                _ => {}
            },
            TokenKind::Operator if written.contains(['<', '>']) => {
                redirection = Some(written.trim_start_matches(|c: char| c.is_ascii_digit()));
            }
            TokenKind::Newline => drop(lexer.document()),
            _ => {}
        }
    }
    found
}

/// Adds the commands of the substitutions in a word.
fn add_substitutions(text: &str, parts: &[Part], found: &mut Vec<Vec<String>>) {
    for part in parts {
        match &part.kind {
            PartKind::Command(_) | PartKind::Process(_) => {
                found.append(&mut commands(&text[part.span.start + 2..part.span.end - 1]));
            }
            PartKind::Double(parts) | PartKind::Braced(parts) | PartKind::Arithmetic(parts) => {
                add_substitutions(text, parts, found);
            }
            _ => {}
        }
    }
}

/// Finds the parenthesis that closes a substitution. See [`lexer::Substitution`].
fn end_of_substitution(text: &str, at: usize, depth: usize, sums: &Sums) -> Result<(Vec<Statement>, usize), Failure> {
    let mut lexer = Lexer::new(text, at, depth, sums.clone(), end_of_substitution);
    let mut open = 0_usize;
    while let Some(token) = lexer.next()? {
        match &text[token.span.clone()] {
            "(" => open += 1,
            ")" if open == 0 => return Ok((Vec::new(), token.span.end)),
            ")" => open -= 1,
            _ => {}
        }
    }
    Err(Failure::Unfinished)
}

/// Returns how many words are before the program of a simple command: assignments of variables, and `exec`, `env`, `time`,
/// `nohup` and `command` with their options.
pub fn words_before_program(words: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let valued = match base(word) {
            "exec" => "-a",
            "env" => "-u",
            "time" | "nohup" => "",
            // `command -v mpirun` only prints a path.
            "command" if !matches!(words.get(at + 1), Some(&("-v" | "-V"))) => "",
            _ if word.split_once('=').is_some_and(|(name, _)| is_name(name)) => "",
            _ => break,
        };
        at += 1;
        while let Some(option) = words.get(at).filter(|option| option.starts_with('-')) {
            at += if *option == valued { 2 } else { 1 };
        }
    }
    at.min(words.len())
}

/// Returns the launcher that a command begins with: its `launcher.kind`, and the words that name it.
pub fn launcher(words: &[&str]) -> Option<(&'static str, Range<usize>)> {
    let name = |at: usize| words.get(at).map(|word| base(word));
    let kind = |name: &str| match name {
        "mpirun" | "mpiexec" | "mpiexec.hydra" | "mpirun.hydra" | "orterun" | "prterun"
        // `ibrun` is the launcher of the TACC clusters. Debian adds the name of the MPI implementation to the name of
        // each launcher.
        | "ibrun" | "mpirun.openmpi" | "mpiexec.openmpi" | "mpirun.mpich" | "mpiexec.mpich" => Some("mpirun"),
        "horovodrun" => Some("horovodrun"),
        "torchrun" | "torch.distributed.run" | "torch.distributed.launch" => Some("torchrun"),
        "deepspeed" => Some("deepspeed"),
        "accelerate.commands.launch" | "accelerate-launch" => Some("accelerate"),
        _ => None,
    };
    let first = name(0)?;
    if (first, name(1)) == ("accelerate", Some("launch")) {
        return Some(("accelerate", 0..2));
    }
    if let Some(kind) = kind(first) {
        return Some((kind, 0..1));
    }
    if !first.starts_with("python") {
        return None;
    }
    // A launcher may be a Python module, as in `python -u -m torch.distributed.run`.
    let flag = (1..words.len().min(4)).find(|at| words[*at] == "-m")?;
    let between = words[1..flag].iter().all(|word| word.starts_with('-'));
    kind(name(flag + 1)?).filter(|_| between).map(|kind| (kind, flag + 1..flag + 2))
}

/// Returns the name of a program without its folder.
pub fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
