//! Problems, notices and errors for a person: on stderr, in colour where that helps.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Write};

use anstream::AutoStream;
use anstream::adapter::strip_str;
use clap::ColorChoice;
use khorovod::problem::Problems;
use khorovod::show::Style;

/// The terminal, or whatever stderr is.
pub struct Screen {
    colour: anstream::ColorChoice,
    style: Style,
    /// All that was said, without colours.
    said: RefCell<String>,
}

impl Screen {
    /// A screen with the colours asked for; `auto` heeds `NO_COLOR`, `CLICOLOR` and the terminal.
    pub fn new(colour: ColorChoice, quiet: bool) -> Self {
        let colour = match colour {
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
            ColorChoice::Auto => AutoStream::choice(&io::stderr()),
        };
        let style = Style { colour: colour != anstream::ColorChoice::Never, quiet };
        Self { colour, style, said: RefCell::default() }
    }

    /// All that was said so far, without colours.
    pub fn said(&self) -> String {
        self.said.borrow().clone()
    }

    /// What stops a command.
    pub fn error(&self, message: &str) {
        self.write(&self.style.error(message));
    }

    /// What a person should know, unless they asked for silence.
    pub fn notice(&self, message: &str) {
        if let Some(text) = self.style.notice(message) {
            self.write(&text);
        }
    }

    /// Every problem of every file, and a last line that counts them.
    pub fn problems<'a>(&self, all: impl IntoIterator<Item = &'a Problems>) {
        for text in self.style.problems(all) {
            self.write(&text);
        }
    }

    /// A page for a person, unless they asked for silence.
    pub fn report(&self, page: &str) {
        if !self.style.quiet {
            self.plain(page);
        }
    }

    /// A text as it is.
    pub fn plain(&self, text: &str) {
        self.write(text.trim_end());
    }

    /// A stderr that is closed or full leaves nothing to say it with.
    fn write(&self, text: &str) {
        let mut stderr = AutoStream::new(io::stderr(), self.colour).lock();
        let _ = writeln!(stderr, "{text}");
        let _ = writeln!(self.said.borrow_mut(), "{}", strip_str(text));
    }
}
