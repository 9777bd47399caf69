//! Finds the words of a command that are paths of files.

/// Directories that container images have.
const OF_IMAGES: &[&str] =
    &["/bin", "/dev", "/etc", "/horovod", "/lib", "/lib64", "/opt", "/proc", "/sbin", "/sys", "/tmp", "/usr", "/var"];

/// The endings of programs and of the configuration files that are usually beside them.
const ENDINGS: &[&str] = &[".py", ".sh", ".json", ".yaml", ".yml", ".toml"];

/// Whether a word is an absolute path outside the directories of images. Such a path is usually on the nodes.
pub fn is_on_nodes(word: &str) -> bool {
    let is_below =
        |folder: &&str| word.strip_prefix(*folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_named = word.strip_prefix('/').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()));
    is_named && !OF_IMAGES.iter().any(is_below)
}

/// Whether a word is the relative path of a file.
pub fn is_relative(word: &str) -> bool {
    let has_ending = ENDINGS.iter().any(|end| word.strip_suffix(end).is_some_and(|name| !name.is_empty()));
    !word.starts_with(['/', '-', '$']) && (has_ending || word.starts_with("./") || word.starts_with("../"))
}

/// Returns the words of shell text that may be paths, without quotes. Lines that are comments are skipped.
pub fn words(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let plain = with_joined_paths(&text).replace(['"', '\''], "");
    let words = plain.split(|c: char| c.is_whitespace() || "`=,:;(<>|&".contains(c));
    // In `$(pwd)/a`, the path does not begin at the slash.
    let end = |word: &str| match word.contains("${") {
        // `${ROOT}/a`: the closing bracket belongs to the word.
        true => word.to_owned(),
        // `:-/data}` is the end of `${DATA:-/data}`: the bracket does not belong to the path.
        false => word.trim_end_matches([')', '}']).trim_start_matches('-').to_owned(),
    };
    let path =
        |word: &str| if word.starts_with("-/") || word.ends_with([')', '}']) { end(word) } else { word.to_owned() };
    words.map(|word| path(word).replace(BLANK, " ")).collect()
}

/// The character for a blank within a path.
const BLANK: char = '\u{1}';

/// Replaces the blanks of paths in quotes, such as `"/data/my set"`.
fn with_joined_paths(text: &str) -> String {
    let (mut made, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at + 1);
        made.push_str(before);
        let end = if quoted.starts_with('/') { quoted.find(&before[at..]) } else { None }.unwrap_or(0);
        let path = &quoted[..end];
        let is_path = !path.contains(" /") && !path.contains(" -") && !path.contains('\n');
        made.push_str(&if is_path { path.replace(' ', &BLANK.to_string()) } else { path.to_owned() });
        rest = &quoted[end..];
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_distinguished_from_other_words() {
        let text = "python3 train.py --data /scratch/me/imagenet --ckpt=/home/me/ckpt --url https://a.b/c.py\n# /not/this\n\
                    ./run.sh -c 'conf/a.yaml' /usr/bin/env /dev/shm/x /opt/x /tmp/$USER --ext=.py s3://bucket/x \
                    $(dirname $0)/.. $(pwd)/b.txt \"$ROOT\"/c.txt (cd /work/x) /optional";
        let found: Vec<String> =
            words(text).into_iter().filter(|word| is_on_nodes(word) || is_relative(word)).collect();
        assert_eq!(words("x \"/data/my set\" a='/b c'")[1..4], ["/data/my set", "a", "/b c"]);
        // Defaults of variables.
        let defaults = words(": \"${APPS:=/fsx/apps}\" ${DATA:-/data} ${ROOT}/a.py");
        let of_defaults: Vec<_> = defaults.iter().filter(|word| is_on_nodes(word)).collect();
        assert_eq!(of_defaults, ["/fsx/apps", "/data"]);
        let expected =
            ["train.py", "/scratch/me/imagenet", "/home/me/ckpt", "./run.sh", "conf/a.yaml", "/work/x", "/optional"];
        assert_eq!(found, expected);
    }
}
