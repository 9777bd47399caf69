//! Splits the text of a shell script into tokens. The parser drives the lexer, because the meaning of a few characters
//! depends on their place.

use std::ops::Range;
use std::rc::Rc;

use super::token::{Part, PartKind, Statement, Token, TokenKind, Word};
use super::{DEEPEST, Failure};

/// Reads tokens from a text, from `at` on.
pub struct Lexer<'t> {
    pub text: &'t str,
    pub at: usize,
    /// How many command substitutions and compound commands enclose `at`.
    pub depth: usize,
    /// Here-documents whose bodies begin after the next line end.
    pub documents: Vec<Document>,
    sums: Sums,
    substitution: Substitution,
}

/// A function that parses the statements of a command substitution. It takes the text, the byte offset of the first
/// statement, the depth and the places of arithmetic. It returns the statements, and the byte offset after the
/// substitution. The parser passes this function to the lexer, so that the lexer does not depend on the parser.
pub type Substitution = fn(&str, usize, usize, &Sums) -> Result<(Vec<Statement>, usize), Failure>;

/// For each byte offset: whether a `((` begins there that a `))` closes. Such a `((` begins arithmetic. Any other `((`
/// begins a subshell within a subshell.
pub type Sums = Rc<[bool]>;

/// Finds the arithmetic of a text in one pass, even if many parentheses are never closed.
pub fn sums(text: &str) -> Sums {
    let (mut open, mut sums, mut closed) = (Vec::new(), vec![false; text.len()], None);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open.push(at),
            b')' => {
                let start = open.pop();
                // The inner pair of parentheses ended one byte before the outer pair.
                if let (Some(start), Some((inner, end))) = (start, closed)
                    && inner == start + 1
                    && end + 1 == at
                {
                    sums[start] = true;
                }
                closed = start.map(|start| (start, at));
            }
            _ => {}
        }
    }
    sums.into()
}

/// A here-document that was announced by `<<WORD`.
#[derive(Debug, Clone)]
pub struct Document {
    /// The line that ends the here-document.
    end: String,
    /// Whether tabs before that line are ignored: `<<-`.
    tabs: bool,
}

/// How many characters a pattern in parentheses may have.
const LONGEST_PATTERN: usize = 4096;
/// Redirection operators, longest first.
const REDIRECTIONS: &[&str] = &["&>>", "<<<", "<<-", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"];
/// Control operators, longest first.
const CONTROL: &[&str] = &[";;&", "&&", "||", "|&", ";;", ";&", "|", "&", ";", "(", ")"];

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str, at: usize, depth: usize, sums: Sums, substitution: Substitution) -> Self {
        Self { text, at, depth, documents: Vec::new(), sums, substitution }
    }

    /// Returns a lexer for the same text that begins at another byte offset, outside of any command or substitution.
    pub fn restart(&self, at: usize) -> Self {
        Self::new(self.text, at, 0, self.sums.clone(), self.substitution)
    }

    fn is_sum(&self, at: usize) -> bool {
        self.sums.get(at) == Some(&true)
    }

    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the length of the line end at a place: `\n` or `\r\n`.
    fn line_end(&self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        if rest.starts_with('\n') {
            return Some(1);
        }
        rest.starts_with("\r\n").then_some(2)
    }

    /// Reads the next token. None at the end of the text.
    pub fn next(&mut self) -> Result<Option<Token>, Failure> {
        let start = self.at;
        let Some(c) = self.peek() else { return Ok(None) };
        let kind = if c == ' ' || c == '\t' {
            self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
            TokenKind::Blank
        } else if let Some(length) = self.line_end(start) {
            self.at += length;
            TokenKind::Newline
        } else if c == '\\' && self.line_end(start + 1).is_some() {
            self.at += 1 + self.line_end(start + 1).unwrap_or_default();
            TokenKind::Continuation
        } else if c == '#' {
            let line = self.rest().lines().next().unwrap_or_default();
            self.at += line.len();
            TokenKind::Comment
        } else if let Some(length) = self.operator() {
            self.at += length;
            TokenKind::Operator
        } else {
            TokenKind::Word(self.word()?)
        };
        Ok(Some(Token { kind, span: start..self.at }))
    }

    /// Returns the length of the operator at `at`.
    fn operator(&self) -> Option<usize> {
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let redirection = |rest: &str| {
            // `<(…)` and `>(…)` are process substitutions, which are words.
            let process = rest.starts_with("<(") || rest.starts_with(">(");
            REDIRECTIONS.iter().find(|name| !process && rest.starts_with(**name)).map(|name| name.len())
        };
        if digits > 0 {
            return redirection(&rest[digits..]).filter(|_| !rest[digits..].starts_with('&')).map(|end| digits + end);
        }
        redirection(rest).or_else(|| CONTROL.iter().find(|name| rest.starts_with(**name)).map(|name| name.len()))
    }

    /// Reads the body of the next here-document.
    pub fn document(&mut self) -> Option<Token> {
        let document = (!self.documents.is_empty()).then(|| self.documents.remove(0))?;
        let start = self.at;
        while self.at < self.text.len() {
            let end = self.rest().find('\n').map_or(self.text.len(), |end| self.at + end);
            let line = self.text[self.at..end].trim_end_matches('\r');
            let line = if document.tabs { line.trim_start_matches('\t') } else { line };
            self.at = end;
            if line == document.end {
                break;
            }
            self.at = (end + 1).min(self.text.len());
        }
        Some(Token { kind: TokenKind::HereDocument, span: start..self.at })
    }

    /// Records a here-document, `<<WORD`, whose body follows the line.
    pub fn announce(&mut self, operator: &str, word: &Word) {
        let end = unquoted(self.text, &word.parts);
        self.documents.push(Document { end, tabs: operator.ends_with('-') });
    }

    /// Reads the word at `at`.
    fn word(&mut self) -> Result<Word, Failure> {
        let start = self.at;
        let mut parts: Vec<Part> = Vec::new();
        while let Some(c) = self.peek() {
            let at = self.at;
            let process = self.rest().starts_with("<(") || self.rest().starts_with(">(");
            let list = c == '(' && is_assigned(&self.text[start..at]);
            let pattern = c == '(' && self.text[start..at].ends_with(['?', '*', '+', '@', '!']) && at > start;
            let kind = match c {
                _ if process => {
                    self.at += 2;
                    PartKind::Process(self.nested()?)
                }
                '(' if list => self.list()?,
                '(' if pattern => {
                    self.parentheses()?;
                    PartKind::Literal
                }
                ' ' | '\t' | '|' | '&' | ';' | '(' | ')' | '<' | '>' => break,
                _ if self.line_end(at).is_some() => break,
                '\'' => self.single(1)?,
                '"' => self.double(1)?,
                _ => self.shared(false)?,
            };
            push(&mut parts, Part { kind, span: at..self.at });
        }
        Ok(Word { span: start..self.at, parts })
    }

    /// Reads one item that may occur in a word and in `"…"`, `${…}` and `$((…))`: a backslash with the character that
    /// it quotes, an expansion, or a plain character.
    fn shared(&mut self, quoted: bool) -> Result<PartKind, Failure> {
        let Some(c) = self.peek() else { return Ok(PartKind::Literal) };
        match c {
            '\\' => {
                if let Some(length) = self.line_end(self.at + 1) {
                    self.at += 1 + length;
                    return Ok(PartKind::Joined);
                }
                self.at += 1;
                let Some(next) = self.peek() else { return Ok(PartKind::Literal) };
                if quoted && !"\"\\$`".contains(next) {
                    return Ok(PartKind::Literal);
                }
                self.at += next.len_utf8();
                Ok(PartKind::Escaped)
            }
            '$' => self.dollar(quoted),
            '`' => self.backquoted(),
            c => {
                self.at += c.len_utf8();
                Ok(PartKind::Literal)
            }
        }
    }

    /// Reads `'…'`, after a prefix of `skip` bytes.
    fn single(&mut self, skip: usize) -> Result<PartKind, Failure> {
        let body = self.at + skip;
        let Some(end) = self.text[body..].find('\'') else { return Err(Failure::Unfinished) };
        self.at = body + end + 1;
        Ok(PartKind::Single)
    }

    /// Reads `$'…'`, in which a backslash quotes an apostrophe.
    fn ansi(&mut self) -> Result<PartKind, Failure> {
        self.at = self.closed(self.at + 2, '\'')?;
        Ok(PartKind::Ansi)
    }

    fn backquoted(&mut self) -> Result<PartKind, Failure> {
        self.at = self.closed(self.at + 1, '`')?;
        Ok(PartKind::Backquoted)
    }

    /// Returns the byte offset after the next `close` that no backslash quotes.
    fn closed(&self, from: usize, close: char) -> Result<usize, Failure> {
        let mut chars = self.text[from..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => drop(chars.next()),
                c if c == close => return Ok(from + at + c.len_utf8()),
                _ => {}
            }
        }
        Err(Failure::Unfinished)
    }

    /// Reads `"…"`, after a prefix of `skip` bytes.
    fn double(&mut self, skip: usize) -> Result<PartKind, Failure> {
        self.at += skip;
        let mut parts = Vec::new();
        loop {
            let at = self.at;
            match self.peek() {
                None => return Err(Failure::Unfinished),
                Some('"') => {
                    self.at += 1;
                    return Ok(PartKind::Double(parts));
                }
                Some(_) => {
                    let kind = self.shared(true)?;
                    push(&mut parts, Part { kind, span: at..self.at });
                }
            }
        }
    }

    /// Reads an expansion that begins with a dollar.
    fn dollar(&mut self, quoted: bool) -> Result<PartKind, Failure> {
        let behind = &self.text[self.at + 1..];
        let name = name_length(behind);
        match behind.chars().next() {
            Some('(') => {
                if self.is_sum(self.at + 1) {
                    return Ok(PartKind::Arithmetic(self.sum(3, "))")?));
                }
                self.at += 2;
                Ok(PartKind::Command(self.nested()?))
            }
            Some('[') => Ok(PartKind::Arithmetic(self.sum(2, "]")?)),
            Some('{') => self.braced(quoted),
            Some('\'') if !quoted => self.ansi(),
            Some('"') if !quoted => self.double(2),
            Some(c) if "@*#?$!-".contains(c) || c.is_ascii_digit() => {
                self.at += 2;
                Ok(PartKind::Variable)
            }
            _ if name > 0 => {
                self.at += 1 + name;
                Ok(PartKind::Variable)
            }
            _ => {
                self.at += 1;
                Ok(PartKind::Literal)
            }
        }
    }

    /// Reads `${…}`.
    fn braced(&mut self, quoted: bool) -> Result<PartKind, Failure> {
        self.deeper()?;
        self.at += 2;
        let mut parts = Vec::new();
        loop {
            let at = self.at;
            let kind = match self.peek() {
                None => return Err(Failure::Unfinished),
                Some('}') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(PartKind::Braced(parts));
                }
                Some('\'') if !quoted => self.single(1)?,
                Some('"') => self.double(1)?,
                Some('\\') if self.line_end(at + 1).is_none() => {
                    self.at += 1 + self.text[at + 1..].chars().next().map_or(0, char::len_utf8);
                    PartKind::Escaped
                }
                Some(_) => self.shared(quoted)?,
            };
            push(&mut parts, Part { kind, span: at..self.at });
        }
    }

    /// Reads an arithmetic expression, after `skip` bytes, up to `close`.
    fn sum(&mut self, skip: usize, close: &str) -> Result<Vec<Part>, Failure> {
        self.deeper()?;
        self.at += skip;
        let (mut parts, mut open) = (Vec::new(), 0_usize);
        loop {
            let at = self.at;
            if open == 0 && self.rest().starts_with(close) {
                self.at += close.len();
                self.depth -= 1;
                return Ok(parts);
            }
            let kind = match self.peek() {
                None => return Err(Failure::Unfinished),
                Some(')') if open == 0 => return Err(Failure::Unexpected),
                Some(c @ ('(' | ')')) => {
                    open = if c == '(' { open + 1 } else { open - 1 };
                    self.at += 1;
                    PartKind::Literal
                }
                Some('"') => self.double(1)?,
                Some(_) => self.shared(false)?,
            };
            push(&mut parts, Part { kind, span: at..self.at });
        }
    }

    /// Reads the command `((…))` after its first parenthesis. Returns the range of its expression. None if it is a
    /// subshell.
    pub fn arithmetic(&mut self) -> Result<Option<Range<usize>>, Failure> {
        if !self.rest().starts_with('(') || !self.at.checked_sub(1).is_some_and(|at| self.is_sum(at)) {
            return Ok(None);
        }
        let start = self.at + 1;
        self.sum(1, "))")?;
        Ok(Some(start..self.at - 2))
    }

    /// Reads the words of an array in parentheses, with comments and line ends between them.
    fn list(&mut self) -> Result<PartKind, Failure> {
        self.deeper()?;
        self.at += 1;
        let mut words = Vec::new();
        loop {
            if self.rest().starts_with(')') {
                self.at += 1;
                self.depth -= 1;
                return Ok(PartKind::List(words));
            }
            match self.next()? {
                None => return Err(Failure::Unfinished),
                Some(Token { kind: TokenKind::Word(word), .. }) => words.push(word),
                Some(Token { kind: TokenKind::Operator, .. }) => return Err(Failure::Unexpected),
                Some(_) => {}
            }
        }
    }

    /// Reads the parentheses of a pattern such as `@(a|b)`.
    fn parentheses(&mut self) -> Result<(), Failure> {
        let mut open = 0_usize;
        for (at, c) in self.rest().char_indices().take(LONGEST_PATTERN) {
            match c {
                '(' => open += 1,
                ')' if open == 1 => {
                    self.at += at + 1;
                    return Ok(());
                }
                ')' => open -= 1,
                _ => {}
            }
        }
        Err(Failure::Unexpected)
    }

    /// Reads the statements of a command substitution, up to the parenthesis that closes it.
    fn nested(&mut self) -> Result<Vec<Statement>, Failure> {
        self.deeper()?;
        let (statements, end) = (self.substitution)(self.text, self.at, self.depth, &self.sums)?;
        self.at = end;
        self.depth -= 1;
        Ok(statements)
    }

    fn deeper(&mut self) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(Failure::TooDeep) } else { Ok(()) }
    }
}

/// Returns the length of the name that a text begins with, or 0.
pub fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// Whether a text is a valid name of a shell variable.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name_length(name) == name.len()
}

/// If a word begins with `NAME=`, `NAME+=` or `NAME[index]=`, returns the name, whether it has an index, whether `+=`
/// appends, and the length of that beginning.
pub fn assigned(word: &str) -> Option<(&str, bool, bool, usize)> {
    let name = &word[..name_length(word)];
    let behind = &word[name.len()..];
    let index = match behind.strip_prefix('[') {
        Some(inner) => inner.find(']')? + 2,
        None => 0,
    };
    let sign = behind.get(index..)?;
    let length = if sign.starts_with('=') {
        1
    } else if sign.starts_with("+=") {
        2
    } else {
        return None;
    };
    (!name.is_empty()).then_some((name, index > 0, length == 2, name.len() + index + length))
}

/// Whether a text is the beginning of an assignment, such as `NAME=`, after which a list may follow.
fn is_assigned(text: &str) -> bool {
    assigned(text).is_some_and(|(.., length)| length == text.len())
}

/// Adds a part. Literal text is appended to the literal text directly before it.
fn push(parts: &mut Vec<Part>, part: Part) {
    match parts.last_mut() {
        Some(Part { kind: PartKind::Literal, span }) if matches!(part.kind, PartKind::Literal) => {
            span.end = part.span.end;
        }
        _ => parts.push(part),
    }
}

/// Removes the quotes from parts. Expansions stay as they are written.
pub fn unquoted(text: &str, parts: &[Part]) -> String {
    let mut made = String::new();
    for part in parts {
        let written = &text[part.span.clone()];
        match &part.kind {
            PartKind::Escaped => made.push_str(&written[1..]),
            PartKind::Joined => {}
            PartKind::Single => made.push_str(&written[1..written.len() - 1]),
            PartKind::Double(parts) => made.push_str(&unquoted(text, parts)),
            PartKind::Ansi => made.push_str(&ansi(&written[2..written.len() - 1])),
            PartKind::Braced(parts) => made.extend(["${", unquoted(text, parts).as_str(), "}"]),
            _ => made.push_str(written),
        }
    }
    made
}

/// Replaces the escapes of one letter in the text of `$'…'`.
fn ansi(inner: &str) -> String {
    let (mut made, mut chars) = (String::new(), inner.chars());
    while let Some(c) = chars.next() {
        let escape = if c == '\\' { chars.next() } else { None };
        match escape {
            None => made.push(c),
            Some('n') => made.push('\n'),
            Some('t') => made.push('\t'),
            Some('r') => made.push('\r'),
            Some(c @ ('\\' | '\'' | '"' | '?')) => made.push(c),
            Some(c) => made.extend(['\\', c]),
        }
    }
    made
}
