//! Parses tokens into statements: simple commands, pipelines, lists, compound commands and functions.
//!
//! Text that cannot be parsed becomes [`CommandKind::Unknown`]: one line, or the rest of the text if a quote or a
//! compound command does not end.

use super::lexer::{self, Lexer, Sums, assigned};
use super::token::{
    Assignment, Command, CommandKind, Joint, Keyword, Part, PartKind, Redirection, Statement, Token, TokenKind, Word,
};
use super::{DEEPEST, Failure, Script};

/// Words that end a list of statements within a compound command, if they occur where a command may begin.
const CLOSERS: &[&str] = &["then", "do", "done", "fi", "elif", "else", "esac", "}"];

/// Parses a text. It never fails: see [`CommandKind::Unknown`].
pub fn parse(text: &str) -> Script {
    let mut parser = Parser::new(text, 0, 0, lexer::sums(text));
    let mut script = Script::default();
    loop {
        // The byte offset from which to continue if this statement is not understood.
        let at = parser.ahead.as_ref().map_or(parser.lexer.at, |token| token.span.start);
        let (known, documents) = (parser.tokens.len(), parser.lexer.documents.clone());
        let failure = match parser.statement(&mut script.statements) {
            Ok(true) => continue,
            Ok(false) if parser.ahead.is_none() => break,
            Ok(false) => Failure::Unexpected,
            Err(failure) => failure,
        };
        parser.ahead = None;
        parser.tokens.truncate(known);
        parser.lexer = parser.lexer.restart(at);
        parser.lexer.documents = documents;
        parser.unknown(failure, &mut script);
    }
    script.tokens = parser.tokens;
    script
}

/// Returns the tokens of a text, without the grammar of compound commands. The tokens cover the whole text: a quote
/// that is not closed becomes one token of the kind [`TokenKind::Unknown`].
pub fn tokenize(text: &str) -> Vec<Token> {
    let mut lexer = Lexer::new(text, 0, 0, lexer::sums(text), substitution);
    let mut tokens = Vec::new();
    loop {
        let start = lexer.at;
        match lexer.next() {
            Ok(Some(token)) => tokens.push(token),
            Ok(None) => return tokens,
            Err(_) => {
                tokens.push(Token { kind: TokenKind::Unknown, span: start..text.len() });
                return tokens;
            }
        }
    }
}

/// Parses the statements of a command substitution that begins at `at`. Returns the statements, and the byte offset after
/// the closing parenthesis.
pub fn substitution(text: &str, at: usize, depth: usize, sums: &Sums) -> Result<(Vec<Statement>, usize), Failure> {
    let mut parser = Parser::new(text, at, depth, sums.clone());
    let mut statements = Vec::new();
    while parser.statement(&mut statements)? {}
    match parser.take()? {
        Some(token) if &text[token.span.clone()] == ")" => Ok((statements, token.span.end)),
        Some(_) => Err(Failure::Unexpected),
        None => Err(Failure::Unfinished),
    }
}

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    /// All tokens up to `ahead`.
    tokens: Vec<Token>,
    /// A token that was read and not yet taken: never a blank, a continuation or a comment.
    ahead: Option<Token>,
    /// The end of the last token that belongs to a command.
    end: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, at: usize, depth: usize, sums: Sums) -> Self {
        Self { text, lexer: Lexer::new(text, at, depth, sums, substitution), tokens: Vec::new(), ahead: None, end: at }
    }

    /// Marks text as not understood: up to the end of the line, or up to the end of the text if a quote or a compound
    /// command does not end.
    fn unknown(&mut self, failure: Failure, script: &mut Script) {
        // Blanks, comments and line ends before the first word keep their own tokens.
        let mut start = self.lexer.at;
        loop {
            let documents = self.lexer.documents.clone();
            match self.lexer.next() {
                Ok(Some(token)) if !matches!(token.kind, TokenKind::Word(_) | TokenKind::Operator) => {
                    start = token.span.end;
                    self.tokens.push(token);
                }
                _ => {
                    self.lexer = self.lexer.restart(start);
                    self.lexer.documents = documents;
                    break;
                }
            }
        }
        let mut end = self.text.len();
        let one_line = failure == Failure::Unexpected;
        loop {
            match self.lexer.next() {
                _ if !one_line => break,
                Ok(Some(token)) if matches!(token.kind, TokenKind::Word(_) | TokenKind::Operator) => {
                    end = token.span.end;
                }
                Ok(Some(token)) if token.kind == TokenKind::Newline => break,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => {
                    end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
                    break;
                }
            }
        }
        let span = start..end.max(start);
        self.lexer = self.lexer.restart(span.end);
        if span.is_empty() {
            return;
        }
        script.failure = script.failure.or(Some(failure));
        self.tokens.push(Token { kind: TokenKind::Unknown, span: span.clone() });
        let kind = CommandKind::Unknown;
        let command = Command { span: span.clone(), kind, redirections: Vec::new(), prefixed: false };
        script.statements.push(Statement { span, commands: vec![command], joints: Vec::new(), is_background: false });
    }

    /// Looks at the next token.
    fn peek(&mut self) -> Result<Option<&Token>, Failure> {
        while self.ahead.is_none() {
            // Bodies of here-documents follow the line end.
            let behind = self
                .tokens
                .last()
                .is_some_and(|token| token.kind == TokenKind::Newline || token.kind == TokenKind::HereDocument);
            if behind && !self.lexer.documents.is_empty() {
                if self.tokens.last().is_some_and(|token| token.kind == TokenKind::HereDocument) {
                    let Some(token) = self.lexer.next()? else { return Ok(None) };
                    self.tokens.push(token);
                }
                let document = self.lexer.document();
                self.tokens.extend(document.filter(|document| !document.span.is_empty()));
                continue;
            }
            let Some(token) = self.lexer.next()? else { break };
            match token.kind {
                TokenKind::Blank | TokenKind::Continuation | TokenKind::Comment => self.tokens.push(token),
                _ => self.ahead = Some(token),
            }
        }
        Ok(self.ahead.as_ref())
    }

    /// Takes the next token.
    fn take(&mut self) -> Result<Option<Token>, Failure> {
        self.peek()?;
        let Some(token) = self.ahead.take() else { return Ok(None) };
        if token.kind != TokenKind::Newline {
            self.end = token.span.end;
        }
        self.tokens.push(token.clone());
        Ok(Some(token))
    }

    fn written(&self, token: &Token) -> &'t str {
        &self.text[token.span.clone()]
    }

    /// The next token, if it is a word without quotes and expansions, or an operator.
    fn plain(&mut self) -> Result<Option<&'t str>, Failure> {
        let text = self.text;
        Ok(self.peek()?.and_then(|token| match &token.kind {
            TokenKind::Word(word) => word.literal(text),
            TokenKind::Operator => Some(&text[token.span.clone()]),
            _ => None,
        }))
    }

    /// Takes the next token if its text is `expected`. Returns whether it took the token.
    fn taken(&mut self, expected: &str) -> Result<bool, Failure> {
        let is = self.plain()? == Some(expected);
        if is {
            self.take()?;
        }
        Ok(is)
    }

    /// Takes the next token. Fails if its text is not `expected`.
    fn expect(&mut self, expected: &str) -> Result<(), Failure> {
        match self.taken(expected)? {
            true => Ok(()),
            false => Err(self.failure()),
        }
    }

    /// Returns the failure for a next token that is missing or not allowed here.
    fn failure(&mut self) -> Failure {
        match self.peek() {
            Ok(None) => Failure::Unfinished,
            Ok(Some(_)) => Failure::Unexpected,
            Err(failure) => failure,
        }
    }

    fn newlines(&mut self) -> Result<(), Failure> {
        while self.peek()?.is_some_and(|token| token.kind == TokenKind::Newline) {
            self.take()?;
        }
        Ok(())
    }

    /// Reads a statement and the separator after it. Returns false if there is no statement.
    fn statement(&mut self, into: &mut Vec<Statement>) -> Result<bool, Failure> {
        self.newlines()?;
        let Some(token) = self.peek()? else { return Ok(false) };
        let start = token.span.start;
        match self.plain()? {
            Some(")" | ";;" | ";&" | ";;&") => return Ok(false),
            Some(word) if CLOSERS.contains(&word) => return Ok(false),
            _ => {}
        }
        let (mut commands, mut joints) = (vec![self.command()?], Vec::new());
        loop {
            let joint = match self.plain()? {
                Some("|" | "|&") => Joint::Pipe,
                Some("&&") => Joint::And,
                Some("||") => Joint::Or,
                _ => break,
            };
            self.take()?;
            self.newlines()?;
            joints.push(joint);
            commands.push(self.command()?);
        }
        let mut statement = Statement { span: start..self.end, commands, joints, is_background: false };
        let documents = self.lexer.documents.len();
        match self.plain()? {
            Some("&") => {
                self.take()?;
                statement.is_background = true;
                statement.span.end = self.end;
            }
            Some(";") => {
                self.take()?;
            }
            Some(")" | ";;" | ";&" | ";;&") => {}
            // `fi fi`, `done }`: a compound command ends without a separator.
            Some(word) if CLOSERS.contains(&word) && statement.commands.last().is_some_and(Command::is_compound) => {}
            _ => match self.peek()? {
                None => {}
                Some(token) if token.kind == TokenKind::Newline => {
                    self.take()?;
                    // The bodies of its here-documents belong to the statement.
                    self.peek()?;
                    if documents > 0
                        && let Some(body) = self.tokens.iter().rfind(|token| token.kind == TokenKind::HereDocument)
                    {
                        statement.span.end = statement.span.end.max(body.span.end);
                    }
                }
                Some(_) => return Err(Failure::Unexpected),
            },
        }
        into.push(statement);
        Ok(true)
    }

    /// Parses one command of a pipeline.
    fn command(&mut self) -> Result<Command, Failure> {
        let mut prefixed = false;
        let mut start = None;
        loop {
            let from = self.peek()?.map(|token| token.span.start);
            start = start.or(from);
            match self.plain()? {
                Some("!") => drop(self.take()?),
                Some("time") => {
                    self.take()?;
                    self.taken("-p")?;
                }
                _ => break,
            }
            prefixed = true;
        }
        let start = start.unwrap_or(self.end);
        self.lexer.depth += 1;
        if self.lexer.depth > DEEPEST {
            return Err(Failure::TooDeep);
        }
        let mut redirections = Vec::new();
        let kind = self.kind(&mut redirections)?;
        self.lexer.depth -= 1;
        while self.redirection(&mut redirections)? {}
        Ok(Command { span: start..self.end, kind, redirections, prefixed })
    }

    fn kind(&mut self, redirections: &mut Vec<Redirection>) -> Result<CommandKind, Failure> {
        let compound = |keyword, variable, words, body| CommandKind::Compound { keyword, variable, words, body };
        let keyword = self.plain()?;
        match keyword {
            Some("if") => {
                self.take()?;
                let mut body = self.block(&["then"])?;
                loop {
                    body.extend(self.block(&["elif", "else", "fi"])?);
                    match self.tokens.last().map(|token| self.written(token)) {
                        Some("elif") => body.extend(self.block(&["then"])?),
                        Some("else") => {
                            body.extend(self.block(&["fi"])?);
                            break;
                        }
                        _ => break,
                    }
                }
                Ok(compound(Keyword::If, None, Vec::new(), body))
            }
            Some(word @ ("while" | "until")) => {
                self.take()?;
                let mut body = self.block(&["do"])?;
                body.extend(self.block(&["done"])?);
                let keyword = if word == "while" { Keyword::While } else { Keyword::Until };
                Ok(compound(keyword, None, Vec::new(), body))
            }
            Some(word @ ("for" | "select")) => {
                self.take()?;
                self.iteration(if word == "for" { Keyword::For } else { Keyword::Select })
            }
            Some("case") => {
                self.take()?;
                self.case()
            }
            Some("{") => {
                self.take()?;
                Ok(compound(Keyword::Group, None, Vec::new(), self.block(&["}"])?))
            }
            Some("(") => {
                self.take()?;
                if self.lexer.rest().starts_with('(')
                    && let Some(expression) = self.lexer.arithmetic()?
                {
                    self.end = self.lexer.at;
                    let span = expression.start - 1..self.lexer.at;
                    self.tokens.push(Token { kind: TokenKind::Arithmetic, span });
                    return Ok(CommandKind::Arithmetic { expression });
                }
                Ok(compound(Keyword::Subshell, None, Vec::new(), self.block(&[")"])?))
            }
            Some("[[") => {
                self.take()?;
                let mut words = Vec::new();
                loop {
                    match self.take()? {
                        None => return Err(Failure::Unfinished),
                        Some(Token { kind: TokenKind::Word(word), .. }) => match word.literal(self.text) {
                            Some("]]") => return Ok(CommandKind::Test { words }),
                            _ => words.push(word),
                        },
                        Some(_) => {}
                    }
                }
            }
            Some("function") => {
                self.take()?;
                let name = self.word()?;
                if self.taken("(")? {
                    self.expect(")")?;
                }
                self.function(name)
            }
            _ => self.simple(redirections),
        }
    }

    /// Parses statements up to one of the words that close them, and takes that word.
    fn block(&mut self, closers: &[&str]) -> Result<Vec<Statement>, Failure> {
        let mut body = Vec::new();
        while self.statement(&mut body)? {}
        match self.plain()? {
            Some(word) if closers.contains(&word) && !body.is_empty() => {
                self.take()?;
                Ok(body)
            }
            _ => Err(self.failure()),
        }
    }

    fn word(&mut self) -> Result<Word, Failure> {
        match self.take()? {
            Some(Token { kind: TokenKind::Word(word), .. }) => Ok(word),
            None => Err(Failure::Unfinished),
            Some(_) => Err(Failure::Unexpected),
        }
    }

    /// Parses `for NAME in WORDS; do …; done` or `for ((…)); do …; done`, after the first word.
    fn iteration(&mut self, keyword: Keyword) -> Result<CommandKind, Failure> {
        let (mut variable, mut words) = (None, Vec::new());
        if self.plain()? == Some("(") {
            self.take()?;
            let expression = self.lexer.arithmetic()?.ok_or(Failure::Unexpected)?;
            self.end = self.lexer.at;
            let span = expression.start - 1..self.lexer.at;
            self.tokens.push(Token { kind: TokenKind::Arithmetic, span });
            // The expression may set variables, so it is kept as a word.
            words.push(Word {
                parts: vec![Part { kind: PartKind::Arithmetic(Vec::new()), span: expression.clone() }],
                span: expression,
            });
        } else {
            variable = Some(self.word()?);
            self.newlines()?;
            if self.taken("in")? {
                while matches!(self.peek()?, Some(Token { kind: TokenKind::Word(_), .. })) {
                    words.push(self.word()?);
                }
            }
        }
        self.taken(";")?;
        self.newlines()?;
        let body = match self.taken("{")? {
            true => self.block(&["}"])?,
            false => {
                self.expect("do")?;
                self.block(&["done"])?
            }
        };
        Ok(CommandKind::Compound { keyword, variable, words, body })
    }

    fn case(&mut self) -> Result<CommandKind, Failure> {
        let (mut words, mut body) = (vec![self.word()?], Vec::new());
        self.newlines()?;
        self.expect("in")?;
        loop {
            self.newlines()?;
            if self.taken("esac")? {
                return Ok(CommandKind::Compound { keyword: Keyword::Case, variable: None, words, body });
            }
            self.taken("(")?;
            words.push(self.word()?);
            while self.taken("|")? {
                words.push(self.word()?);
            }
            self.expect(")")?;
            while self.statement(&mut body)? {}
            match self.plain()? {
                Some(";;" | ";&" | ";;&") => drop(self.take()?),
                Some("esac") => {}
                _ => return Err(self.failure()),
            }
        }
    }

    /// Parses the body of a function, after its name.
    fn function(&mut self, name: Word) -> Result<CommandKind, Failure> {
        self.newlines()?;
        let compound =
            matches!(self.plain()?, Some("{" | "(" | "[[" | "if" | "for" | "while" | "until" | "case" | "select"));
        if !compound {
            return Err(self.failure());
        }
        let command = self.command()?;
        let span = command.span.clone();
        let body = vec![Statement { span, commands: vec![command], joints: Vec::new(), is_background: false }];
        Ok(CommandKind::Function { name, body })
    }

    fn redirection(&mut self, redirections: &mut Vec<Redirection>) -> Result<bool, Failure> {
        let text = self.text;
        let Some(token) = self.peek()? else { return Ok(false) };
        if token.kind != TokenKind::Operator || !text[token.span.clone()].contains(['<', '>']) {
            return Ok(false);
        }
        let operator = token.span.clone();
        self.take()?;
        let target = self.word()?;
        let sign = text[operator.clone()].trim_start_matches(|c: char| c.is_ascii_digit());
        if sign == "<<" || sign == "<<-" {
            self.lexer.announce(sign, &target);
        }
        redirections.push(Redirection { span: operator.start..target.span.end, operator, target });
        Ok(true)
    }

    fn simple(&mut self, redirections: &mut Vec<Redirection>) -> Result<CommandKind, Failure> {
        let (mut assignments, mut words): (Vec<Assignment>, Vec<Word>) = (Vec::new(), Vec::new());
        loop {
            if self.redirection(redirections)? {
                continue;
            }
            let is_word = matches!(self.peek()?, Some(Token { kind: TokenKind::Word(_), .. }));
            match is_word {
                true => {
                    let word = self.word()?;
                    let given = if words.is_empty() { assignment(self.text, &word) } else { None };
                    match given {
                        Some(assignment) => assignments.push(assignment),
                        None => words.push(word),
                    }
                }
                false if words.len() == 1 && assignments.is_empty() && self.plain()? == Some("(") => {
                    self.take()?;
                    self.expect(")")?;
                    let Some(name) = words.pop() else { return Err(Failure::Unexpected) };
                    return self.function(name);
                }
                false => break,
            }
        }
        if assignments.is_empty() && words.is_empty() && redirections.is_empty() {
            return Err(self.failure());
        }
        Ok(CommandKind::Simple { assignments, words })
    }
}

/// Returns a word as an assignment, if it is one.
pub fn assignment(text: &str, word: &Word) -> Option<Assignment> {
    let first = word.parts.first().filter(|part| part.kind == PartKind::Literal)?;
    let written = &text[word.span.clone()];
    let (name, indexed, appends, length) = assigned(written)?;
    // In an assignment, the name and the sign are not quoted. Only an index may contain other parts than literal text.
    let indexed_by_parts = indexed && word.span.start + length > first.span.end;
    if word.span.start + length > first.span.end && !indexed_by_parts {
        return None;
    }
    let list = word.parts.iter().any(|part| matches!(part.kind, PartKind::List(_)));
    Some(Assignment {
        name: name.to_owned(),
        appends,
        is_array: indexed || list,
        value_start: word.span.start + length,
        word: word.clone(),
    })
}
