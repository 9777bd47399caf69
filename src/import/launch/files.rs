//! Finds the words of a command that are paths of files.

/// Directories that images have.
const OF_IMAGES: &[&str] =
    &["/bin", "/dev", "/etc", "/horovod", "/lib", "/lib64", "/opt", "/proc", "/sbin", "/sys", "/tmp", "/usr", "/var"];

/// The endings of programs and of settings that people keep beside them.
const ENDINGS: &[&str] = &[".py", ".sh", ".json", ".yaml", ".yml", ".toml"];

/// Whether an absolute path is not one that images have.
pub fn is_on_nodes(word: &str) -> bool {
    let is_below = |folder: &&str| word.strip_prefix(*folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    word.len() > 1 && word.starts_with('/') && !word.starts_with("//") && !OF_IMAGES.iter().any(is_below)
}

/// Whether a word is the relative path of a file.
pub fn is_relative(word: &str) -> bool {
    let has_ending = ENDINGS.iter().any(|end| word.strip_suffix(end).is_some_and(|name| !name.is_empty()));
    !word.starts_with(['/', '-', '$']) && (has_ending || word.starts_with("./") || word.starts_with("../"))
}

/// Returns the words of shell text that may be paths, without those of comments.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || "\"'`=,:;()<>|&".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_other_words() {
        let text = "python3 train.py --data /scratch/me/imagenet --ckpt=/home/me/ckpt --url https://a.b/c.py\n# /not/this\n\
                    ./run.sh -c conf/a.yaml /usr/bin/env /dev/shm/x /opt/x /tmp/$USER --ext=.py s3://bucket/x /optional";
        let found: Vec<&str> = words(text).filter(|word| is_on_nodes(word) || is_relative(word)).collect();
        let wanted =
            ["train.py", "/scratch/me/imagenet", "/home/me/ckpt", "./run.sh", "conf/a.yaml", "/optional"];
        assert_eq!(found, wanted);
    }
}
