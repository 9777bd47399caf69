//! Problems in an input. A [`Problem`] has a [`Code`], a message, the places concerned, and a hint.
//!
//! Problems are collected in [`Problems`], so that one run reports all of them. A place is a byte range in one of the
//! [`Sources`]; line and column are computed only when a problem is printed.

mod sources;

use std::fmt;
use std::ops::Deref;

pub use sources::{Position, Source, SourceId, Sources, Span, line_start};

/// How severe a problem is. The three levels are fixed, so you can match on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information; there is nothing to fix.
    Note,
    /// Probably a mistake; an error with `--strict`.
    Warning,
    /// A mistake. Nothing is rendered.
    Error,
}

impl Severity {
    /// Its name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A number with its noun: `1 rank`, `2 ranks`.
pub fn count(number: impl Into<u64>, what: &str) -> String {
    let number = number.into();
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A kind of problem. Each code is declared once, next to the rule that reports it.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Code {
    /// The name in kebab case, which is stable.
    pub name: &'static str,
    /// The severity of its problems without `--strict`.
    pub severity: Severity,
}

impl Code {
    /// Makes a code. The macro `codes!` calls it.
    pub const fn new(name: &'static str, severity: Severity) -> Self {
        Self { name, severity }
    }
}

/// A [`Code`] with its explanation. The two are separate, so that a program that explains no code does not contain the texts.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// The code.
    pub code: &'static Code,
    /// The meaning and the fix, in Markdown. The first line is a title.
    pub explanation: &'static str,
}

impl Deref for Explained {
    type Target = Code;

    fn deref(&self) -> &Code {
        self.code
    }
}

impl Explained {
    /// Makes an explained code. The macro `codes!` calls it.
    pub const fn new(code: &'static Code, explanation: &'static str) -> Self {
        Self { code, explanation }
    }

    /// The title: the first line of the explanation.
    pub fn title(&self) -> &'static str {
        self.explanation.lines().next().unwrap_or_default().trim()
    }

    /// The explanation without its title.
    pub fn details(&self) -> &'static str {
        self.explanation.split_once('\n').map_or("", |(_, rest)| rest).trim()
    }
}

/// Declares the problem codes of a file and a list `CODES` of them. The doc comment of a code is its explanation.
#[macro_export]
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $severity:ident $ident:ident = $name:literal;)+) => {
        $(
            $(#[doc = $doc])+
            pub static $ident: $crate::problem::Code =
                $crate::problem::Code::new($name, $crate::problem::Severity::$severity);
        )+
        /// The problem codes that this file declares.
        pub static CODES: &[$crate::problem::Explained] =
            &[$($crate::problem::Explained::new(&$ident, concat!($($doc, "\n"),+))),+];
    };
}
pub use crate::codes;

/// A place that a problem concerns, with a description.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Label {
    /// The place.
    pub span: Span,
    /// A description of the place. It may be empty for the first label.
    pub text: String,
}

/// An edit that fixes a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fix {
    /// The text to replace; an empty span inserts.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// One mistake in the input.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Problem {
    /// The kind of problem.
    pub code: &'static Code,
    /// The severity of the code, or `Error` if `--strict` raised it.
    pub severity: Severity,
    /// One sentence that describes the mistake and contains the path of the field.
    pub message: String,
    /// The places concerned, the main one first. Empty if there is none.
    pub labels: Vec<Label>,
    /// The fix, as a sentence. Text that you can paste is in backquotes.
    pub hint: Option<String>,
    /// The edit that does what the hint describes, if there is one.
    pub fix: Option<Fix>,
    /// Another edit that fixes the problem, if a person must choose between two.
    pub other_fix: Option<Fix>,
    /// Whether the edit changes what the job does, or inserts an example value. Then a person must choose it: [`crate::fix()`]
    /// does not apply it.
    pub fix_is_choice: bool,
}

impl Problem {
    /// Makes a problem of this kind at this place.
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity,
            message: message.into(),
            labels: vec![Label { span, text: String::new() }],
            hint: None,
            fix: None,
            other_fix: None,
            fix_is_choice: false,
        }
    }

    /// Sets the label of the main place.
    #[must_use]
    pub fn here(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn and(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hint = Some(text.into());
        self
    }

    /// Marks the edit as one that a person must choose.
    #[must_use]
    pub fn by_choice(mut self) -> Self {
        self.fix_is_choice = true;
        self
    }

    /// Sets the edit that fixes the problem.
    #[must_use]
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.fix = Some(Fix { span, text: text.into() });
        self
    }
}

/// All problems of an input, with the texts that they are in.
///
/// As an error it displays the number of problems and the first of them:
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Inputs, Text, render};
///
/// let text = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec: {imagee: a:1}\n";
/// let text = Text { name: "job.yaml".to_owned(), text: text.to_owned() };
/// let error: Box<dyn std::error::Error> = render(&text, &Inputs::default()).unwrap_err().into();
/// assert!(error.to_string().contains("job.yaml:4:8: "), "{error}");
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Problems {
    /// The texts that were read.
    pub sources: Sources,
    /// The problems, in the order of the input.
    pub list: Vec<Problem>,
}

impl Problems {
    /// Whether one of them is an error.
    pub fn any_error(&self) -> bool {
        self.list.iter().any(|problem| problem.severity == Severity::Error)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.list.iter().find(|problem| problem.severity == Severity::Error);
        let Some(first) = error.or(self.list.first()) else { return f.write_str("no problems") };
        match self.list.len() {
            1 => f.write_str("1 problem: ")?,
            number => write!(f, "{number} problems; the first: ")?,
        }
        let span = first.labels.first().map(|label| label.span);
        if let Some((span, source)) = span.and_then(|span| Some((span, self.sources.get(span.source)?))) {
            let Position { line, column } = self.sources.position(span);
            write!(f, "{}:{line}:{column}: ", source.name)?;
        }
        write!(f, "{} ({})", first.message, first.code.name)
    }
}

impl std::error::Error for Problems {}
