//! Parses text of a POSIX shell or of bash. All importers read shell text with this module, and the rules for
//! `command` find programs with it.
//!
//! [`parse`] returns the tokens and the statements of a [`Script`], all of them with the range of bytes they take. The
//! parser never fails and never drops text. A line that it does not understand becomes a statement of the kind
//! [`CommandKind::Unknown`]. An importer keeps such a line unchanged and reports it.
//!
//! Three functions work on shell text for the importers: [`words()`] splits a simple command into words, [`effects()`]
//! returns the variables that statements set, and [`rewrite()`] replaces expansions and keeps every other byte. The rules
//! for `command` use only the lexer, through [`commands()`]. If they used the parser, the preview page would have to load it
//! at each visit.

mod effects;
mod lexer;
mod parser;
mod program;
mod rewrite;
mod sums;
mod token;
mod words;

pub use effects::{Effects, effects};
pub use lexer::{is_name, name_length, unquoted};
pub use parser::{assignment, parse, tokenize};
pub use program::{base, commands, launcher, words_before_program, written_files};
pub use rewrite::{Change, Context, reference, rewrite, with_default, within_quotes, without_quotes};
pub use sums::calculate;
pub use token::{
    Assignment, Command, CommandKind, Joint, Keyword, Part, PartKind, Statement, Token, TokenKind, simple_commands,
};
pub use words::{Plain, words};

/// How deep commands may be nested in one another. The parser is recursive, and must fit into a stack of 1 MiB.
pub const DEEPEST: usize = 40;

/// Why a text cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// A quote, a substitution or a compound command does not end.
    Unfinished,
    /// Commands are nested more than [`DEEPEST`] times.
    TooDeep,
    /// A token is in a place in which the grammar does not allow it.
    Unexpected,
}

/// A text that was parsed.
#[derive(Debug, Default)]
pub struct Script {
    /// All tokens; their spans cover the text.
    pub tokens: Vec<Token>,
    pub statements: Vec<Statement>,
    /// The first reason for a statement that is not understood.
    pub failure: Option<Failure>,
}

#[cfg(test)]
mod tests;
