//! Recognises the kind of a program that srun starts: whether it runs in a container, starts more processes itself, or
//! finds its rank by Slurm's variables.

use crate::option_table::has_word;
use crate::shell_text::{Hidden, first_words};
use khorovod_compiler::shell::words;

/// Returns the container runtime that a line begins with.
pub fn container(line: &str) -> Option<&str> {
    const RUNTIMES: &str =
        "apptainer singularity apptainer_wrapper singularity_wrapper shifter podman-hpc charliecloud ch-run";
    line.split_whitespace().next().filter(|first| has_word(RUNTIMES, first))
}

/// Whether a program starts further processes on every node.
pub fn launches_more(line: &str) -> bool {
    first_words(line).iter().take(4).any(|word| word == "accelerate" || word.starts_with("accelerate.commands"))
}

/// Whether a program may find its rank by Slurm's variables and not by MPI.
pub fn may_use_slurm_variables(line: &str) -> bool {
    (line.contains("python") || line.contains(".py")) && !names_mpi_library(line) && !launches_more(line)
}

/// Whether a text names a library that uses MPI.
pub fn names_mpi_library(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["horovod", "hvd", "mpi4py"].iter().any(|name| text.contains(name))
}

/// The words of a container runtime before a program, and the image they name. The words are None if a shell has to
/// compute them.
#[derive(Debug, PartialEq)]
pub struct Wrap {
    pub words: Option<Vec<String>>,
    pub image: Option<String>,
}

/// Removes the words of a container runtime from a line.
pub fn unwrapped(line: &str) -> (Option<Wrap>, String) {
    const VALUED: &str =
        "-B --bind --env --env-file -H --home --pwd --overlay --mount -W --workdir -S --scratch --security";
    const SHIFTER: &str = "-V --volume -e --env --env-file -w --workdir";
    let hidden = Hidden::of(line);
    let Some(words) = words(&hidden.text) else { return (None, line.to_owned()) };
    let text = |at: usize| words.get(at).map(|word| word.text.as_str());
    // The wrapper scripts of some Slurm clusters, such as those of CSC, choose the image themselves.
    let (mut at, valued, named) = match (text(0), text(1)) {
        (Some("apptainer" | "singularity"), Some("exec" | "run")) => (2, VALUED, 1),
        (Some("apptainer_wrapper" | "singularity_wrapper"), Some("exec" | "run")) => (2, VALUED, 0),
        (Some("shifter"), Some(_)) => (1, SHIFTER, 0),
        _ => return (None, line.to_owned()),
    };
    let mut image = None;
    while let Some(word) = text(at).filter(|word| word.starts_with('-')) {
        image = image.or(word.strip_prefix("--image=").map(|name| name.trim_start_matches("docker:")));
        at += if has_word(valued, word) { 2 } else { 1 };
    }
    let Some(program) = words.get(at + named) else { return (None, line.to_owned()) };
    image = image.or(if named == 1 { words[at].text.strip_prefix("docker://") } else { None });
    let before = &words[..at + named];
    let plain = !before.iter().any(|word| word.expands);
    let wrap = plain.then(|| before.iter().map(|word| word.text.clone()).collect());
    (Some(Wrap { words: wrap, image: image.map(str::to_owned) }), hidden.shown(&hidden.text[program.place.start..]))
}

/// Removes the words of a container runtime from a line of srun.
pub fn without_container(line: &str) -> String {
    let starts = |at: &usize| container(&line[*at..]).is_some();
    let places = line.match_indices(char::is_whitespace).map(|(at, blank)| at + blank.len());
    match std::iter::once(0).chain(places).find(starts) {
        Some(at) => format!("{}{}", &line[..at], unwrapped(&line[at..]).1),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_container_runtime_is_removed() {
        let (wrap, program) = unwrapped("apptainer exec --nv -B /a:/b docker://acme/x:1 python t.py --out \"$USER\"");
        assert_eq!(wrap.unwrap().image.as_deref(), Some("acme/x:1"));
        assert_eq!(program, "python t.py --out \"$USER\"");
        assert_eq!(unwrapped("apptainer exec x.sif"), (None, "apptainer exec x.sif".to_owned()));
        let (wrap, program) = unwrapped("shifter --image=docker:a/b:1 -V $X:/x bash -c 'python a.py'");
        assert_eq!(wrap, Some(Wrap { words: None, image: Some("a/b:1".to_owned()) }));
        assert_eq!(program, "bash -c 'python a.py'");
        assert_eq!(unwrapped("singularity_wrapper exec python a.py").1, "python a.py");
        assert_eq!(without_container("srun -n 2 singularity run $BOX python $A"), "srun -n 2 python $A");
    }
}
