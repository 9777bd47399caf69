//! `-o FORMAT|PATH`: the format of a command's output, and the file that it is written to.
//!
//! A single word is always a format, so `-o yaml` never writes a file named `yaml`; `-o ./yaml` does.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};

/// A format that a command can print.
pub trait Format: Copy + Send + Sync + 'static {
    /// Every format of the command with its word for `-o`. The first one is the default.
    const ALL: &'static [(&'static str, Self)];
}

/// The format of a command that prints only YAML.
#[derive(Debug, Clone, Copy)]
pub struct Yaml;

impl Format for Yaml {
    const ALL: &'static [(&'static str, Self)] = &[("yaml", Self)];
}

/// The formats of a command whose `-o` accepts only `json`.
#[derive(Debug, Clone, Copy)]
pub struct Json;

impl Format for Json {
    const ALL: &'static [(&'static str, Self)] = &[("json", Self)];
}

/// The format of a command that prints YAML, or the same content as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlOrJson {
    Yaml,
    Json,
}

impl Format for YamlOrJson {
    const ALL: &'static [(&'static str, Self)] = &[("yaml", Self::Yaml), ("json", Self::Json)];
}

/// The format of a command that prints text for people, or JSON.
#[derive(Debug, Clone, Copy)]
pub enum TextOrJson {
    Text,
    Json,
}

impl Format for TextOrJson {
    const ALL: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

/// A format, and the file to write. Without a file, the output goes to standard output.
#[derive(Debug, Clone)]
pub struct Destination<F> {
    pub format: F,
    pub path: Option<PathBuf>,
}

/// The endings of file names that select a format, each with the word of this format for `-o`.
const ENDINGS: &[(&str, &str)] = &[
    ("json", "json"),
    ("sarif", "sarif"),
    ("svg", "svg"),
    ("text", "text"),
    ("txt", "text"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
];

impl<F: Format> Destination<F> {
    /// The default format on standard output.
    pub fn stdout() -> Self {
        Self { format: F::ALL[0].1, path: None }
    }

    /// A parser for the value of `-o`.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        OsStringValueParser::new().try_map(|text| Self::parse(&text))
    }

    fn parse(text: &OsStr) -> Result<Self, String> {
        if text == "-" {
            return Ok(Self::stdout());
        }
        if let Some(word) = text.to_str().filter(|word| is_word(word)) {
            if let Some(format) = format(word) {
                return Ok(Self { format, path: None });
            }
            if !Path::new(word).is_dir() {
                return Err(format!("{}; for a file of this name, write ./{word}", choices::<F>()));
            }
        }
        let path = PathBuf::from(OsString::from(text));
        let format = match ending(&path) {
            Some(word) => {
                format(word).ok_or_else(|| format!("this command does not print {word}: {}", choices::<F>()))?
            }
            None => F::ALL[0].1,
        };
        Ok(Self { format, path: Some(path) })
    }
}

/// Whether the text has no part of a path: no folder and no ending.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

fn format<F: Format>(word: &str) -> Option<F> {
    F::ALL.iter().find(|(known, _)| *known == word).map(|(_, format)| *format)
}

/// The format that the ending of a path selects, as its word for `-o`. None if it selects no format.
fn ending(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, word)| *word)
}

/// `the formats are text, json and svg`.
fn choices<F: Format>() -> String {
    let words: Vec<&str> = F::ALL.iter().map(|(word, _)| *word).collect();
    match words.as_slice() {
        [one] => format!("the only format is {one}"),
        [others @ .., last] => format!("the formats are {} and {last}", others.join(", ")),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Picture {
        Text,
        Svg,
    }

    impl Format for Picture {
        const ALL: &'static [(&'static str, Self)] = &[("text", Self::Text), ("svg", Self::Svg)];
    }

    fn parse(text: &str) -> Result<(Picture, Option<PathBuf>), String> {
        Destination::<Picture>::parse(OsStr::new(text)).map(|found| (found.format, found.path))
    }

    #[test]
    fn a_word_is_a_format_and_never_a_file() {
        assert_eq!(parse("svg"), Ok((Picture::Svg, None)));
        assert_eq!(parse("-"), Ok((Picture::Text, None)));
        for word in ["yaml", "json", "wide", "out", "TEXT"] {
            let refused = parse(word).unwrap_err();
            assert_eq!(refused, format!("the formats are text and svg; for a file of this name, write ./{word}"));
        }
    }

    #[test]
    fn the_ending_of_a_path_selects_the_format() {
        let file = |format, path: &str| Ok((format, Some(PathBuf::from(path))));
        assert_eq!(parse("a.svg"), file(Picture::Svg, "a.svg"));
        assert_eq!(parse("a/b.SVG"), file(Picture::Svg, "a/b.SVG"));
        assert_eq!(parse("a.txt"), file(Picture::Text, "a.txt"));
        // These paths have no ending that selects a format.
        assert_eq!(parse("/tmp/tmp.Xa81"), file(Picture::Text, "/tmp/tmp.Xa81"));
        assert_eq!(parse("./svg"), file(Picture::Text, "./svg"));
        assert_eq!(parse("a.json"), Err("this command does not print json: the formats are text and svg".to_owned()));
    }
}
