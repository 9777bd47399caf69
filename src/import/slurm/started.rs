//! What a program is that srun starts: in a container, a launcher of its own, or one that asks Slurm where it is.

use crate::import::words::words;

/// The container runtime that a line begins with.
pub fn container(line: &str) -> Option<&str> {
    let first = line.split_whitespace().next()?;
    ["apptainer", "singularity", "shifter", "podman-hpc", "charliecloud", "ch-run"].contains(&first).then_some(first)
}

/// Whether a program starts processes of its own on every node.
pub fn launches_more(line: &str) -> bool {
    line.split_whitespace().take(4).any(|word| word == "accelerate" || word.starts_with("accelerate.commands"))
}

/// Whether a program may find its place by what srun says rather than by MPI.
pub fn may_ask_slurm(line: &str) -> bool {
    line.contains("python") && !["horovod", "hvd", "mpi4py"].iter().any(|name| line.contains(name))
}

/// A container's words before a program, and the image they name.
type Wrap = (Vec<String>, Option<String>);

/// A line without the container's words before its program.
pub fn unwrapped(line: &str) -> (Option<Wrap>, &str) {
    const VALUED: &[&str] = &[
        "-B",
        "--bind",
        "--env",
        "--env-file",
        "-H",
        "--home",
        "--pwd",
        "--overlay",
        "--mount",
        "-W",
        "--workdir",
        "-S",
        "--scratch",
        "--security",
    ];
    let Some(words) = words(line) else { return (None, line) };
    let text = |at: usize| words.get(at).map(|word| word.text.as_str());
    if !matches!((text(0), text(1)), (Some("apptainer" | "singularity"), Some("exec"))) {
        return (None, line);
    }
    let mut at = 2;
    while let Some(word) = text(at).filter(|word| word.starts_with('-')) {
        at += if VALUED.contains(&word) { 2 } else { 1 };
    }
    let Some(program) = words.get(at + 1).filter(|_| !words[..=at].iter().any(|word| word.expands)) else {
        return (None, line);
    };
    let wrap = words[..=at].iter().map(|word| word.text.clone()).collect();
    let image = words[at].text.strip_prefix("docker://").map(str::to_owned);
    (Some((wrap, image)), &line[program.place.start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_containers_words_come_off() {
        let (wrap, program) = unwrapped("apptainer exec --nv -B /a:/b docker://acme/x:1 python t.py --out \"$USER\"");
        assert_eq!(wrap.unwrap().1.as_deref(), Some("acme/x:1"));
        assert_eq!(program, "python t.py --out \"$USER\"");
        assert_eq!(unwrapped("apptainer exec x.sif"), (None, "apptainer exec x.sif"));
    }
}
