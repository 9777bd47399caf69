//! A line of shell taken apart into words, as far as that can be done without a shell.

use std::ops::Range;

/// One word of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Without its quotes.
    pub text: String,
    /// Where it stands in the line.
    pub place: Range<usize>,
    /// Whether a shell would make something else of it: `$LR`, `*.py`, `~`.
    pub expands: bool,
}

/// The words of one simple command. None where it is more than that: a pipe, a list, a redirection, `$(…)`, a quote
/// that does not end.
pub fn words(line: &str) -> Option<Vec<Word>> {
    let mut reader = Reader { line, chars: line.char_indices().peekable(), words: Vec::new(), word: None };
    reader.read()?;
    Some(reader.words)
}

/// Whether a shell takes a text as the name of a variable.
pub fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

struct Reader<'a> {
    line: &'a str,
    chars: std::iter::Peekable<std::str::CharIndices<'a>>,
    words: Vec<Word>,
    /// The word that is being read.
    word: Option<Word>,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<()> {
        while let Some((at, c)) = self.chars.next() {
            match c {
                // Blank, but only where nothing follows that a shell would run as another command.
                '\n' | '\r' if self.line[at..].trim().is_empty() => self.end(at),
                ' ' | '\t' => self.end(at),
                '\\' => self.escape(at)?,
                '\'' => self.single(at)?,
                '"' => self.double(at)?,
                ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`' | '\n' | '\r' | '\0' => return None,
                '#' if self.word.is_none() => return None,
                '$' => self.dollar(at)?,
                '*' | '?' | '[' | '{' => self.push(at, c, true),
                '~' if self.word.is_none() => self.push(at, c, true),
                _ => self.push(at, c, false),
            }
        }
        self.end(self.line.len());
        Some(())
    }

    fn open(&mut self, at: usize) -> &mut Word {
        self.word.get_or_insert_with(|| Word { text: String::new(), place: at..at, expands: false })
    }

    fn push(&mut self, at: usize, c: char, expands: bool) {
        let word = self.open(at);
        word.text.push(c);
        word.expands |= expands;
    }

    fn end(&mut self, at: usize) {
        if let Some(mut word) = self.word.take() {
            word.place.end = at;
            self.words.push(word);
        }
    }

    /// A backslash takes the next character as it is, and joins lines.
    fn escape(&mut self, at: usize) -> Option<()> {
        match self.chars.next()? {
            (_, '\n') => {}
            (_, '\r') if self.chars.next_if(|(_, c)| *c == '\n').is_some() => {}
            (_, c) => self.push(at, c, false),
        }
        Some(())
    }

    fn single(&mut self, at: usize) -> Option<()> {
        self.open(at);
        loop {
            match self.chars.next()? {
                (_, '\'') => return Some(()),
                (at, c) => self.push(at, c, false),
            }
        }
    }

    fn double(&mut self, at: usize) -> Option<()> {
        self.open(at);
        loop {
            match self.chars.next()? {
                (_, '"') => return Some(()),
                (_, '`') => return None,
                (at, '$') => self.dollar(at)?,
                (at, '\\') => match self.chars.next()? {
                    (_, '\n') => {}
                    (_, c @ ('"' | '\\' | '$' | '`')) => self.push(at, c, false),
                    (_, c) => {
                        self.push(at, '\\', false);
                        self.push(at, c, false);
                    }
                },
                (at, c) => self.push(at, c, false),
            }
        }
    }

    /// A variable makes the word one that expands; `$(` is a command in the command.
    fn dollar(&mut self, at: usize) -> Option<()> {
        let next = self.chars.peek().map(|(_, c)| *c);
        if next == Some('(') {
            return None;
        }
        let variable = next.is_some_and(|c| c.is_ascii_alphanumeric() || "_{@*#?$!-".contains(c));
        self.push(at, '$', variable);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Option<Vec<String>> {
        Some(words(line)?.into_iter().map(|word| word.text).collect())
    }

    #[test]
    fn words_as_a_shell_would_cut_them() {
        let cases: &[(&str, &[&str])] = &[
            ("python train.py --lr 0.1", &["python", "train.py", "--lr", "0.1"]),
            ("sh -c 'python a.py --x \"y z\"'", &["sh", "-c", "python a.py --x \"y z\""]),
            ("a\\ b \"c d\"e 'f'\"g\"", &["a b", "c de", "fg"]),
            ("a \\\n  b\n", &["a", "b"]),
            ("x '' \"\"", &["x", "", ""]),
            ("x#y \"a\\n\\\"b\"", &["x#y", "a\\n\"b"]),
            ("  ", &[]),
        ];
        for (line, wanted) in cases {
            assert_eq!(texts(line).as_deref(), Some(wanted.map_strings().as_slice()), "{line:?}");
        }
    }

    trait MapStrings {
        fn map_strings(&self) -> Vec<String>;
    }
    impl MapStrings for &[&str] {
        fn map_strings(&self) -> Vec<String> {
            self.iter().map(|text| (*text).to_owned()).collect()
        }
    }

    #[test]
    fn what_needs_a_shell_is_left_to_one() {
        for line in
            ["a; b", "a && b", "a | b", "a > b", "$(a)", "`a`", "a \"$(b)\"", "'a", "\"a", "a\nb", "a # b", "a\\"]
        {
            assert_eq!(texts(line), None, "{line:?}");
        }
    }

    #[test]
    fn words_that_expand_are_told() {
        let expands = |line| words(line).unwrap().iter().map(|word| word.expands).collect::<Vec<_>>();
        assert_eq!(
            expands("a $LR '$LR' \"$LR\" *.py ~/x a~ \"*\" ^lo"),
            [false, true, false, true, true, true, false, false, false]
        );
    }
}
