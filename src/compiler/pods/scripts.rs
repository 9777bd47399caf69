//! The static scripts and configuration files of pods: [`Scripts`] holds their texts.
//!
//! Most programs that use this crate contain these texts. The preview page instead downloads the texts after it has
//! drawn the first picture, and passes them as [`Scripts`].

use super::{Content, File};
use crate::yaml::writer::Literal;

/// A text that a function of the compiler writes for a script or configuration file.
macro_rules! compiled {
    ($length:ident, $write:ident, $text:expr) => {{
        const SOURCE: &[u8] = $text.as_bytes();
        const LENGTH: usize = $length(SOURCE);
        const BYTES: [u8; LENGTH] = $write(SOURCE);
        const TEXT: &str = match std::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        };
        TEXT
    }};
}

/// Declares [`NAMES`] and the texts of the files in the folder `scripts/`. A program contains only the table that it uses.
macro_rules! table {
    ($($name:literal),+ $(,)?) => {
        /// The names of all files, in the order of the texts in [`Scripts`].
        pub const NAMES: &[&str] = &[$($name),+];
        /// The texts of all files [without comments](without_comments).
        static TEXTS: &[&str] = &[$(compiled!(code_length, code, include_str!(concat!("scripts/", $name)))),+];
        /// The same texts, formatted.
        static LITERALS: &[Literal] =
            &[$(Literal::from_block(compiled!(block_length, block, include_str!(concat!("scripts/", $name))))),+];
    };
}

table![
    "advance.sh",
    "agent.sh",
    "agents.py",
    "alive.sh",
    "api.sh",
    "attempt.sh",
    "call.py",
    "check.sh",
    "collect.py",
    "common.sh",
    "daemons.sh",
    "discover.sh",
    "distances.sh",
    "download.py",
    "download.sh",
    "elastic.sh",
    "events.sh",
    "evidence.sh",
    "gang.sh",
    "guard.sh",
    "health.sh",
    "horovodrun",
    "hosts.sh",
    "idle.sh",
    "indexed.sh",
    "khorovod_frameworks.py",
    "launcher.sh",
    "measure.sh",
    "metrics.py",
    "mpi.sh",
    "operator-keys.sh",
    "order.sh",
    "passwd.sh",
    "probe.sh",
    "processes.sh",
    "progress.sh",
    "rank.sh",
    "ranks.sh",
    "relay.py",
    "relay.sh",
    "resume.py",
    "s3.py",
    "s3.sh",
    "scale.sh",
    "session.sh",
    "signal.sh",
    "sitecustomize.py",
    "srun",
    "ssh",
    "ssh_config",
    "sshd.sh",
    "sshd_config",
    "stall.sh",
    "status.sh",
    "sweep.sh",
    "topology.sh",
    "tree.sh",
    "wait.sh",
    "worker.sh",
    "world.sh",
];

/// Static files by the name they are mounted under, without comments.
macro_rules! scripts {
    ($scripts:expr, $($name:literal),+ $(,)?) => {
        [$({
            const INDEX: usize = $crate::pods::scripts::position($name);
            $scripts.file(INDEX)
        }),+]
    };
}
pub(super) use scripts;

/// The texts of the static files of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scripts(&'static [Literal]);

/// The texts that are part of the program.
impl Default for Scripts {
    fn default() -> Self {
        Self(LITERALS)
    }
}

impl Scripts {
    /// No texts: all static files are empty. Compared with a render that has the texts, only the content of ConfigMaps
    /// differs.
    pub const LEFT_OUT: Self = Self(&[]);

    /// All texts that are part of the program, separated by NUL bytes. [`split`](Self::split) takes them apart.
    ///
    /// ```
    /// # use khorovod_compiler as khorovod;
    /// use khorovod::Scripts;
    ///
    /// assert_eq!(Scripts::split(&Scripts::joined()), Some(Scripts::default()));
    /// assert_eq!(Scripts::split("of another version"), None);
    /// ```
    pub fn joined() -> String {
        TEXTS.join("\0")
    }

    /// Takes apart the result of [`joined`](Self::joined), and keeps the texts until the process ends. Returns `None` if it has
    /// another number of files than this version.
    pub fn split(joined: &str) -> Option<Self> {
        let texts: Option<Vec<_>> = joined.split('\0').map(Literal::new).collect();
        texts.filter(|texts| texts.len() == NAMES.len()).map(|texts| Self(texts.leak()))
    }

    /// The file with this index in [`NAMES`].
    pub fn file(self, index: usize) -> File {
        let text = self.0.get(index).copied().unwrap_or(Literal::EMPTY);
        File { name: NAMES[index], content: Content::Static(text) }
    }
}

/// The index in [`NAMES`] of a name; does not compile for other names.
pub const fn position(name: &str) -> usize {
    let mut index = 0;
    while !is_equal(NAMES[index].as_bytes(), name.as_bytes()) {
        index += 1;
    }
    index
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The index after the end of the line that starts at `at`.
const fn line_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        at += 1;
        if text[at - 1] == b'\n' {
            break;
        }
    }
    at
}

/// Whether the line `start..end` is neither blank nor a comment. The first line may be `#!`.
const fn is_code(text: &[u8], start: usize, end: usize) -> bool {
    let mut at = start;
    while at < end && matches!(text[at], b' ' | b'\t') {
        at += 1;
    }
    if at == end || text[at] == b'\n' {
        return false;
    }
    text[at] != b'#' || start == 0 && at + 1 < end && text[at + 1] == b'!'
}

/// The length of a text without comments.
const fn code_length(text: &[u8]) -> usize {
    let (mut at, mut length) = (0, 0);
    while at < text.len() {
        let end = line_end(text, at);
        if is_code(text, at, end) {
            length += end - at;
        }
        at = end;
    }
    length
}

/// A text without comments; `LENGTH` is its [`code_length`].
const fn code<const LENGTH: usize>(text: &[u8]) -> [u8; LENGTH] {
    let mut code = [0; LENGTH];
    let (mut at, mut length) = (0, 0);
    while at < text.len() {
        let end = line_end(text, at);
        if is_code(text, at, end) {
            while at < end {
                code[length] = text[at];
                length += 1;
                at += 1;
            }
        }
        at = end;
    }
    code
}

/// The length of the [`block`] of a text.
const fn block_length(text: &[u8]) -> usize {
    let (mut at, mut length) = (0, Literal::HEADER.len());
    while at < text.len() {
        let end = line_end(text, at);
        if is_code(text, at, end) {
            length += Literal::INDENT.len() + end - at;
        }
        at = end;
    }
    length
}

/// A text without comments, in the format of a [`Literal`]; `LENGTH` is its [`block_length`].
const fn block<const LENGTH: usize>(text: &[u8]) -> [u8; LENGTH] {
    // The bytes that are not set below are the indentation.
    let mut block = [b' '; LENGTH];
    let (mut at, mut length) = (0, 0);
    while length < Literal::HEADER.len() {
        block[length] = Literal::HEADER.as_bytes()[length];
        length += 1;
    }
    while at < text.len() {
        let end = line_end(text, at);
        if is_code(text, at, end) {
            length += Literal::INDENT.len();
            while at < end {
                block[length] = text[at];
                length += 1;
                at += 1;
            }
        }
        at = end;
    }
    block
}

/// Removes blank lines and comments from a script or configuration file. Pods get the files without comments, so that an edit of
/// a comment changes no object.
///
/// The scripts follow two rules that make this safe, and tests check them: every comment has its own line, and no line of a
/// quoted string starts with `#`.
pub fn without_comments(text: &str) -> String {
    let mut end = 0;
    let is_code = |line: &&str| {
        let start = end;
        end += line.len();
        is_code(text.as_bytes(), start, end)
    };
    text.split_inclusive('\n').filter(is_code).collect()
}
