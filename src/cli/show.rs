//! Problems, notices and errors for people: on standard error, in colour if the terminal supports it.

use std::cell::RefCell;
use std::io::{self, Write};

use anstream::AutoStream;
use anstream::adapter::strip_str;
use clap::ColorChoice;
use khorovod::problem::Problems;
use khorovod::show::Style;

/// Standard error, with the style of its messages.
pub struct Screen {
    colour: anstream::ColorChoice,
    style: Style,
    /// All messages so far, with colours.
    messages: RefCell<String>,
}

impl Screen {
    /// A screen with these colours; `auto` depends on `NO_COLOR`, `CLICOLOR` and the terminal.
    pub fn new(colour: ColorChoice, quiet: bool) -> Self {
        let colour = match colour {
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
            ColorChoice::Auto => AutoStream::choice(&io::stderr()),
        };
        let style = Style { colour: colour != anstream::ColorChoice::Never, quiet };
        Self { colour, style, messages: RefCell::default() }
    }

    /// All messages so far, without colours.
    pub fn messages(&self) -> String {
        strip_str(&self.messages.borrow()).to_string()
    }

    /// Prints an error that stops a command.
    pub fn error(&self, message: &str) {
        self.write(&self.style.error(message));
    }

    /// Prints a notice, unless the command line has `--quiet`.
    pub fn notice(&self, message: &str) {
        if let Some(text) = self.style.notice(message) {
            self.write(&text);
        }
    }

    /// Prints that a check succeeded, unless the command line has `--quiet`.
    pub fn success(&self, message: &str) {
        if let Some(text) = self.style.success(message) {
            self.write(&text);
        }
    }

    /// Prints every problem of every file, and a last line that counts them.
    pub fn problems<'a>(&self, all: impl IntoIterator<Item = &'a Problems>) {
        for text in self.style.problems(all) {
            self.write(&text);
        }
    }

    /// Prints a page for people, unless the command line has `--quiet`.
    pub fn report(&self, page: &str) {
        if !self.style.quiet {
            self.plain(page);
        }
    }

    /// Prints a text unchanged.
    pub fn plain(&self, text: &str) {
        self.write(text.trim_end());
    }

    /// Errors are ignored: if standard error is closed or full, nothing can be printed.
    fn write(&self, text: &str) {
        let mut stderr = AutoStream::new(io::stderr(), self.colour).lock();
        let _ = writeln!(stderr, "{text}");
        self.messages.borrow_mut().extend([text, "\n"]);
    }
}
