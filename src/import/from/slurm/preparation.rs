//! Recognises lines that prepare the environment: modules, sourced files, installations, and lines that only print
//! something.

use crate::shell_text::is_assignment;

/// Commands that only print something, or end the script.
pub const SHOWS: &[&str] = &[
    "echo",
    "printf",
    "date",
    "hostname",
    "nvidia-smi",
    "dcgmi",
    "rocm-smi",
    "env",
    "printenv",
    "which",
    "pwd",
    "squeue",
    "sinfo",
    "scontrol",
    "whoami",
    "uname",
    "lscpu",
    "free",
    "wait",
    "exit",
    "set",
    "true",
    "ls",
    "id",
    "type",
    "clear",
];
/// Commands that build or install something.
pub const INSTALLS: &[&str] =
    &["pip", "pip3", "virtualenv", "git", "wget", "curl", "make", "cmake", "apt", "apt-get", "yum", "dnf"];

/// Whether a line may set variables that are not named in it.
pub fn may_set(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let (first, file) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let known = ["activate", "/conda.sh", "/mamba.sh", "/modules.sh"].iter().any(|end| file.ends_with(end));
    matches!(first, "source" | ".") && !known || first == "eval" && !line.contains("conda")
}

/// Whether a line only loads software that an image contains.
pub fn loads(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    ["module", "ml", "conda", "mamba", "micromamba", "spack", "source", "."].contains(&first) && !line.contains('$')
}

/// Whether a line only prepares the environment.
pub fn prepares(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "source",
        ".",
        "conda",
        "mamba",
        "micromamba",
        "spack",
        "module",
        "ml",
        "export",
        "unset",
        "eval",
        "ulimit",
        "umask",
        "cd",
        "mkdir",
        "mapfile",
        "readarray",
        "read",
        "alias",
        "shopt",
        "declare",
        "set",
        "trap",
    ];
    WORDS.contains(&line.split_whitespace().next().unwrap_or_default()) || is_assignment(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prepares_is_told_from_programs() {
        assert!(prepares("source a.sh") && prepares("A=1") && !prepares("/opt/app/run --all"));
        assert!(may_set("source env.sh") && may_set("eval \"$(x)\"") && !may_set("source venv/bin/activate"));
    }
}
