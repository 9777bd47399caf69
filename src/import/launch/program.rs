//! Reads a line that is a program without a launcher: what it runs, and whether it only waits.

use serde_json::{Value as Json, json};

use crate::launch::options;
use crate::secrets::masked;
use khorovod_compiler::pods::word;
use khorovod_compiler::shell::{self, Plain as Word, simple_commands, words};

/// Returns what a line runs: words, or text for `bash -c`.
pub fn program(line: &str) -> Json {
    match words(line) {
        Some(words) if !words.is_empty() => program_of(line, &words),
        _ => Json::from(line.trim()),
    }
}

/// Returns a program as shell text. A text is returned unchanged, and words are quoted.
pub fn as_text(program: &Json) -> Option<String> {
    match program {
        Json::String(text) => Some(text.clone()),
        Json::Array(words) => Some(words.iter().filter_map(Json::as_str).map(word).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

/// Like [`program()`], for a line that is already split into words.
pub fn program_of(line: &str, words: &[Word]) -> Json {
    if let [shell, dash, script] = words
        && is_shell(&shell.text)
        && takes_script(&dash.text)
        && !script.expands
    {
        return Json::from(script.text.trim());
    }
    if words.iter().any(|word| word.expands) || words[0].assignment().is_some() {
        let (first, last) = (&words[0], &words[words.len() - 1]);
        return Json::from(line[first.place.start..last.place.end].trim());
    }
    json!(words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>())
}

/// Removes blank lines, comments and lines that only set flags from the beginning of a script.
pub fn without_flags(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, behind)) = rest.split_once('\n') {
        let line = line.trim();
        let flags = line
            .strip_prefix("set -")
            .is_some_and(|flags| flags.chars().all(|c| c.is_ascii_alphabetic() || c == ' ' || c == '-'));
        if !(line.is_empty() || line.starts_with('#') || flags) {
            return rest;
        }
        rest = behind;
    }
    rest.trim()
}

/// Whether a program is a shell, which takes a script after `-c`.
pub fn is_shell(program: &str) -> bool {
    ["sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/bash"].contains(&program)
}

/// Whether a script follows an option of a shell: `-c`, or `-c` with flags that only affect the script, such as `-exc`.
pub fn takes_script(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|flags| flags.contains('c') && flags.chars().all(|flag| "ceux".contains(flag)))
}

/// Whether a line only keeps its pod running: `sleep infinity`, `tail -f /dev/null`.
pub fn waits(line: &str) -> bool {
    let Some(words) = words(program(line).as_str().unwrap_or(line)) else { return false };
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    match words.as_slice() {
        // The script of `bash -c` may have lost its quotes, as in `bash -c sleep infinity`.
        ["sleep", time] | ["bash" | "sh", "-c", "sleep", time] => {
            time.starts_with("inf") || time.starts_with(|c: char| c.is_ascii_digit())
        }
        other => *other == ["tail", "-f", "/dev/null"],
    }
}

/// Returns the modules that a script starts with `python -m`. Leaves out modules of packages that images for training
/// usually have.
pub fn modules(script: &str) -> Vec<String> {
    const INSTALLED: &[&str] =
        &["torch", "accelerate", "deepspeed", "horovod", "lightning", "pytorch_lightning", "pip"];
    let mut found = Vec::new();
    for place in simple_commands(&shell::parse(script).statements).iter().filter_map(|command| command.words_span()) {
        let words = words(&script[place]).unwrap_or_default();
        let starts = |word: &Word| word.text.rsplit('/').next().unwrap_or_default().starts_with("python");
        let Some(python) = words.iter().position(starts) else { continue };
        let options = words[python + 1..].iter().take_while(|word| word.text.starts_with('-'));
        let module = options.clone().position(|word| word.text == "-m").and_then(|at| words.get(python + at + 2));
        found.extend(module.map(|word| word.text.clone()).filter(|name| {
            let package = name.split('.').next().unwrap_or_default();
            !INSTALLED.contains(&package) && !package.contains('$')
        }));
    }
    found.into_iter().map(|name| format!("-m {name}")).collect()
}

/// Returns the commands of a script that train without a launcher of several nodes: Python programs, and torchrun,
/// which starts ranks on its own node.
pub fn commands_without_launcher(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    for place in simple_commands(&shell::parse(script).statements).iter().filter_map(|command| command.words_span()) {
        let command = &script[place];
        let Some(words) = words(command) else { continue };
        let words = &words[options::words_before_program(&words)..];
        let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
        let name = text(0).rsplit('/').next().unwrap_or_default();
        let helps = ["-c", "-V", "--version", "setup.py"].contains(&text(1))
            || text(1) == "-m" && ["pip", "venv", "virtualenv"].contains(&text(2));
        let launches = options::launcher(words).is_some();
        if name == "torchrun" || name.starts_with("python") && words.len() > 1 && !helps && !launches {
            let shown = &command[words[0].place.start..];
            let short: String = masked(shown).chars().filter(|c| !c.is_control()).take(60).collect();
            if !found.contains(&short) {
                found.push(short);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_a_shell_that_matter_in_its_script_alone() {
        for (option, expected) in
            [("-c", true), ("-exc", true), ("-uec", true), ("-lc", false), ("-ex", false), ("c", false)]
        {
            assert_eq!(takes_script(option), expected, "{option}");
        }
    }

    #[test]
    fn waiting_commands_are_not_launches() {
        for line in
            ["sleep infinity", "bash -c sleep infinity", "sh -c 'sleep inf'", "tail -f /dev/null", "sleep 1000d"]
        {
            assert!(waits(line), "{line}");
        }
        for line in ["sleep 10 && python a.py", "python sleep.py", "mpirun -np 2 sleep 10", ""] {
            assert!(!waits(line), "{line}");
        }
    }

    #[test]
    fn modules_that_an_image_may_lack() {
        let script =
            "A=1 python3 -u -m pkg.train --x -m y\npython -m torch.distributed.run a.py\npython a.py -m b\nls -m c";
        assert_eq!(modules(script), ["-m pkg.train"]);
    }

    #[test]
    fn programs_without_a_launcher_are_found() {
        let script = "set -e\nA=1 python prep.py | tee x\nmpirun -np 2 bash -c 'cd x; python t.py'\nfor i in 1 2; do python t.py $i; done\n\
                      python -c 'print(1)'\npython -m pip install x\necho \"python x.py\"\ntorchrun --nproc_per_node 2 t.py >l 2>&1\n";
        assert_eq!(
            commands_without_launcher(script),
            ["python prep.py", "python t.py $i", "torchrun --nproc_per_node 2 t.py"]
        );
    }
}
