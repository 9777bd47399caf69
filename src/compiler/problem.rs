//! What is wrong with an input: a code, the places concerned, and the way out.
//!
//! Problems are pushed, never thrown: all of them show in one run. A place is a byte range in
//! one of the [`Sources`]; line and column are computed only when something is reported.

mod places;

pub use places::{Position, Source, SourceId, Sources, Span};

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing, and nothing to mend.
    Note,
    /// Worth knowing; an error under `--strict`.
    Warning,
    /// Nothing is rendered.
    Error,
}

impl Severity {
    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// `1 rank`, `2 ranks`.
pub fn count(number: impl Into<u64>, what: &str) -> String {
    let number = number.into();
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A kind of problem: declared once, beside the rule that finds it.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Kebab-case, stable.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it means and what to do, in Markdown; its first line is a title.
    pub explanation: &'static str,
}

impl Code {
    /// The first line of the explanation.
    pub fn title(&self) -> &'static str {
        self.explanation.lines().next().unwrap_or_default().trim()
    }

    /// Everything after the title.
    pub fn details(&self) -> &'static str {
        self.explanation.split_once('\n').map_or("", |(_, rest)| rest).trim()
    }
}

/// Declares problem codes next to the rules that find them, and lists them as `CODES`.
#[macro_export]
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $severity:ident $ident:ident = $name:literal;)+) => {
        $(
            $(#[doc = $doc])+
            pub static $ident: $crate::problem::Code = $crate::problem::Code {
                name: $name,
                severity: $crate::problem::Severity::$severity,
                explanation: concat!($($doc, "\n"),+),
            };
        )+
        /// Every code declared in this file.
        pub static CODES: &[&$crate::problem::Code] = &[$(&$ident),+];
    };
}
pub use crate::codes;

/// A place concerned and what it has to do with the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there; may be empty for the first label.
    pub text: String,
}

/// A replacement that mends the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What to replace; empty to insert.
    pub span: Span,
    /// What to put there.
    pub text: String,
}

/// One thing wrong with the input.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Its kind.
    pub code: &'static Code,
    /// The code's severity, raised by `--strict`.
    pub severity: Severity,
    /// One sentence that names the field by its path.
    pub message: String,
    /// The places concerned, the main one first. Empty where there is none.
    pub labels: Vec<Label>,
    /// The way out; what can be pasted stands in backquotes.
    pub hint: Option<String>,
    /// The hint as an edit, where it is one.
    pub fix: Option<Fix>,
}

impl Problem {
    /// A problem of `code` at `span`.
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity,
            message: message.into(),
            labels: vec![Label { span, text: String::new() }],
            hint: None,
            fix: None,
        }
    }

    /// Says what the main place is.
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

    /// Adds the way out.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hint = Some(text.into());
        self
    }

    /// Adds the way out as an edit.
    #[must_use]
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.fix = Some(Fix { span, text: text.into() });
        self
    }
}

/// Everything found wrong, with the texts it was found in.
#[derive(Debug, Default)]
pub struct Problems {
    /// What was read.
    pub sources: Sources,
    /// In the order of the input.
    pub list: Vec<Problem>,
}

impl Problems {
    /// Whether anything stops the render.
    pub fn any_error(&self) -> bool {
        self.list.iter().any(|problem| problem.severity == Severity::Error)
    }
}
