//! `docs/commands.md`: the help text of every command, exit codes and environment variables. Also checks that the docs have
//! the same exit codes and variables as the code.
//!
//! `make bless` writes the page.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn help(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_khorovod")).env_clear().args(args).arg("--help").output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The names under `Commands:` in a help page.
fn commands(page: &str) -> Vec<String> {
    let list = page.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
}

#[test]
fn the_page_has_every_command() {
    let top = help(&[]);
    let mut page = String::from(
        "# Commands\n\n<!-- Generated from the code by `make bless`. -->\n\n\
         This page contains the help text of each command, as `--help` prints it. [The overview](index.md#the-commands) lists\n\
         all commands in a table, and [the reference](reference.md) exit codes, JSON and environment variables.\n",
    );
    let _ = write!(page, "\n## khorovod\n\n```text\n{top}\n```\n");
    for name in commands(&top) {
        let below = help(&[&name]);
        let _ = write!(page, "\n## khorovod {name}\n\n```text\n{below}\n```\n");
        for inner in commands(&below) {
            let _ = write!(page, "\n### khorovod {name} {inner}\n\n```text\n{}\n```\n", help(&[&name, &inner]));
        }
    }
    let path = root().join("docs/commands.md");
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(path, page).unwrap();
    } else {
        assert!(fs::read_to_string(path).is_ok_and(|old| old == page), "docs/commands.md is stale: `make bless`");
    }
}

/// The numbers that begin the rows of the table under a heading.
fn table(page: &str, heading: &str) -> BTreeSet<u8> {
    let section = read(page);
    let section = section.split_once(heading).unwrap_or_else(|| panic!("{page} has no {heading:?}")).1;
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    rows.filter_map(|line| line.trim_start_matches("| ").split(' ').next()?.parse().ok()).collect()
}

/// The exit codes in scripts, after the word `verb`.
fn ends(folder: &str, verb: &str) -> BTreeSet<u8> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "sh") {
            let text = fs::read_to_string(path).unwrap();
            let codes = text.split(verb).skip(1).filter_map(|rest| rest.split(' ').next()?.parse::<u8>().ok());
            found.extend(codes);
        }
    }
    found
}

#[test]
fn exit_codes_are_those_of_the_docs() {
    // 143 is that of a signal, and 1 that of a launcher that failed unexpectedly: "any other" in the docs.
    let launcher: BTreeSet<u8> =
        ends("src/compiler/pods/scripts", "finish ").into_iter().filter(|code| ![1, 143].contains(code)).collect();
    assert_eq!(table("docs/runtime.md", "## Exit codes of the launcher"), launcher);
    for code in &launcher {
        let output =
            Command::new(env!("CARGO_BIN_EXE_khorovod")).env_clear().args(["explain", &code.to_string()]).output();
        assert!(output.unwrap().stdout.starts_with(b"exit code "), "explain does not know the exit code {code}");
    }
    assert_eq!(launcher, BTreeSet::from([0, 42, 43, 44]));
    let slurm: BTreeSet<u8> = ends("src/compiler/targets/slurm/scripts", "fail ").into_iter().chain([0, 143]).collect();
    assert_eq!(table("docs/targets.md", "| Code of the job | Meaning |"), slurm);
    // The exit codes in `cli.rs`; tests/cli/ has a test for each.
    assert_eq!(table("docs/reference.md", "## Exit codes"), BTreeSet::from([0, 1, 2, 3]));
    assert!(help(&[]).contains("Exit codes: 0 success, 1 problems in the input, a failed check or training,"));
}

/// The longest constant part of a script's message, between its variables.
fn fixed(message: &str) -> String {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    let mut rest = message.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '$' if matches!(rest.peek(), Some('(' | '{')) => {
                depth += 1;
                rest.next();
                parts.push(String::new());
            }
            '$' => {
                while rest.next_if(|c| c.is_alphanumeric() || *c == '_').is_some() {}
                parts.push(String::new());
            }
            '(' | '{' if depth > 0 => depth += 1,
            ')' | '}' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            c => parts.last_mut().unwrap().push(c),
        }
    }
    let longest = parts.iter().max_by_key(|part| part.len()).unwrap();
    longest.trim_matches([' ', ';', ':', '(']).to_owned()
}

#[test]
fn the_debugging_page_lists_every_termination_message() {
    let guide = read("docs/debugging.md");
    let mut messages = BTreeSet::new();
    for entry in fs::read_dir(root().join("src/compiler/pods/scripts")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "sh") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let words = line.split_once("finish ").map(|(_, rest)| rest.split_once(' ').map_or("", |(_, rest)| rest));
            let Some(message) = words.or_else(|| Some(line.split_once("terminate_message ")?.1)) else { continue };
            let Some(message) = message.strip_prefix('"') else { continue };
            let end = message.rfind('"').unwrap();
            messages.insert(fixed(&message[..end]));
        }
    }
    messages.retain(|words| !words.is_empty());
    let unknown: Vec<&String> = messages.iter().filter(|words| !guide.contains(words.as_str())).collect();
    assert!(messages.len() > 15 && unknown.is_empty(), "docs/debugging.md does not tell of {unknown:#?}");
}

#[test]
fn no_variable_is_read_that_help_does_not_name() {
    let page = help(&[]);
    let declared = read("src/cli/environment.rs");
    let mut names = 0;
    for line in declared.lines().filter_map(|line| line.strip_prefix("pub const ")) {
        let name = line.split('"').nth(1).unwrap();
        assert!(page.split([' ', ',', '\n']).any(|word| word == name), "{name} is not in the help");
        names += 1;
    }
    assert!(names > 3);
    // The reference page has the variables of the help, and no other.
    let section = page.split("Environment:").nth(1).unwrap().split("\n\n").next().unwrap();
    let is_name = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let helped: BTreeSet<&str> = section.split([' ', ',', '\n']).filter(is_name).collect();
    let page = read("docs/reference.md");
    let rows = page.split("## Environment variables").nth(1).unwrap().lines();
    let listed: BTreeSet<&str> = rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(listed, helped);
    let mut paths = vec![root().join("src/cli")];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        for call in text.split("env::var").skip(1).filter(|rest| !rest.starts_with("::VarError")) {
            let argument = call.split(['(', ')']).nth(1).unwrap_or_default();
            let is_declared = path.ends_with("environment.rs") && declared.contains(&format!("const {argument}: &str"));
            let known =
                argument.starts_with("environment::") || ["SSH_SEED", "name"].contains(&argument) || is_declared;
            assert!(known, "{}: reads {argument}, which is not declared in environment.rs", path.display());
        }
    }
}
