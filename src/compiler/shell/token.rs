//! The results of the lexer and the parser: tokens, the parts of words, and statements. Every item has the range of
//! bytes that it takes in the text.

use std::ops::Range;

/// A range of bytes in the text that was parsed.
pub type Span = Range<usize>;

/// One token. The spans of all tokens of a text, in order, cover the text without a gap or an overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKind {
    /// Spaces and tabs between words.
    Blank,
    /// A backslash and the line end after it, between words: the command continues on the next line.
    Continuation,
    /// From `#` to the end of the line, without the line end.
    Comment,
    /// A line end that ends a command.
    Newline,
    Word(Word),
    /// `|`, `&&`, `;;`, `>`, `2>>`, `(`: control operators and redirections. A redirection includes the file descriptor
    /// before it.
    Operator,
    /// The expression of a command `((…))`, with both pairs of parentheses.
    Arithmetic,
    /// The body of a here-document, with the line that ends it but without that line's end.
    HereDocument,
    /// Text that the parser does not understand.
    Unknown,
}

/// One word: adjacent parts without an unquoted blank or operator between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    pub span: Span,
    pub parts: Vec<Part>,
}

/// A part of a word. The spans of all parts, in order, cover the word; the spans of nested parts cover the text between
/// the delimiters of the outer part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    /// Plain text. It may contain glob characters.
    Literal,
    /// A backslash and the character that it quotes.
    Escaped,
    /// A backslash and a line end within a word: both are removed.
    Joined,
    /// `'…'`.
    Single,
    /// `$'…'`.
    Ansi,
    /// `"…"` or `$"…"`.
    Double(Vec<Part>),
    /// `$NAME`, `$1`, `$@`.
    Variable,
    /// `${…}`: the nested parts follow the brace.
    Braced(Vec<Part>),
    /// `$(…)`: the nested statements.
    Command(Vec<Statement>),
    /// `` `…` ``: the command in it is not parsed.
    Backquoted,
    /// `$((…))` or `$[…]`.
    Arithmetic(Vec<Part>),
    /// `<(…)` or `>(…)`.
    Process(Vec<Statement>),
    /// The parentheses of `NAME=(…)` and the words between them.
    List(Vec<Word>),
}

/// A list of pipelines joined by `&&` and `||`, up to `;`, `&` or the end of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub span: Span,
    /// Its commands in their order.
    pub commands: Vec<Command>,
    /// The operators between neighbours of `commands`: one less than there are commands.
    pub joints: Vec<Joint>,
    /// Whether `&` ends it.
    pub is_background: bool,
}

/// The operator between two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// `|` or `|&`.
    Pipe,
    /// `&&`.
    And,
    /// `||`.
    Or,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub span: Span,
    pub kind: CommandKind,
    pub redirections: Vec<Redirection>,
    /// Whether it follows `!` or `time`.
    pub prefixed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// `NAME=value… program arguments…`.
    Simple { assignments: Vec<Assignment>, words: Vec<Word> },
    /// `if`, `for`, `while`, `until`, `select`, `case`, `{ … }`, `( … )`. `variable` is the variable of `for` and
    /// `select`, `body` has all statements in it, in their order, and `words` has the words outside of the statements.
    Compound { keyword: Keyword, variable: Option<Word>, words: Vec<Word>, body: Vec<Statement> },
    /// `[[ … ]]`.
    Test { words: Vec<Word> },
    /// `((…))`, or the expressions of `for ((…))`: the range of the expression.
    Arithmetic { expression: Span },
    /// `name() …` or `function name …`.
    Function { name: Word, body: Vec<Statement> },
    /// Text that the parser does not understand.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyword {
    If,
    For,
    While,
    Until,
    Select,
    Case,
    /// `{ … }`.
    Group,
    /// `( … )`.
    Subshell,
}

/// `NAME=value`, `NAME+=value`, `NAME[index]=value`, before a program's name or in a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    /// `+=`.
    pub appends: bool,
    /// Whether the value is a list, or the name has an index.
    pub is_array: bool,
    /// The whole word.
    pub word: Word,
    /// Where the value begins.
    pub value_start: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// The operator and its target.
    pub span: Span,
    /// `>`, `2>>`, `<<<`.
    pub operator: Span,
    pub target: Word,
}

impl TokenKind {
    /// Whether a token separates words and does nothing else.
    pub fn is_space(&self) -> bool {
        matches!(self, Self::Blank | Self::Continuation | Self::Newline)
    }
}

impl Word {
    /// Returns the text of a word. None if a part of the word is quoted or expands.
    pub fn literal<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.parts.iter().all(|part| matches!(part.kind, PartKind::Literal)).then(|| &text[self.span.clone()])
    }
}

impl Command {
    /// Returns the range of the words of a simple command, with the assignments before them and without redirections.
    pub fn words_span(&self) -> Option<Span> {
        let CommandKind::Simple { assignments, words } = &self.kind else { return None };
        let all = || assignments.iter().map(|assignment| &assignment.word).chain(words);
        Some(all().next()?.span.start..all().last()?.span.end)
    }

    /// Whether the command has an end of its own, such as `fi` or `]]`, so that no separator has to follow.
    pub fn is_compound(&self) -> bool {
        matches!(self.kind, CommandKind::Compound { .. } | CommandKind::Function { .. } | CommandKind::Test { .. })
    }
}

impl Statement {
    /// Returns the command of a statement, if the statement has only one.
    pub fn only(&self) -> Option<&Command> {
        match self.commands.as_slice() {
            [command] => Some(command),
            _ => None,
        }
    }
}

/// Returns all simple commands of statements in their order. Includes the commands in compound commands and functions, but
/// not the commands in substitutions.
pub fn simple_commands(statements: &[Statement]) -> Vec<&Command> {
    let mut found = Vec::new();
    for command in statements.iter().flat_map(|statement| &statement.commands) {
        match &command.kind {
            CommandKind::Simple { .. } => found.push(command),
            CommandKind::Compound { body, .. } | CommandKind::Function { body, .. } => {
                found.append(&mut simple_commands(body));
            }
            CommandKind::Test { .. } | CommandKind::Arithmetic { .. } | CommandKind::Unknown => {}
        }
    }
    found
}
