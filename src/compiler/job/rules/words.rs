//! Words of the command that reach the program otherwise than somebody at a shell would think.

use super::Case;
use crate::job::declare::EnvValue;
use crate::job::wording::{quoted, variable};
use crate::problem::{Problem, Span, codes};
use crate::yaml::{Kind, Node};

codes! {
    /// A word of the command is taken as it stands
    ///
    /// A command that is a list reaches the program word by word: nothing expands `$DATA`, and `&&`, `|` and `>` are
    /// words like others. Write it as a text, which runs under `bash -c`:
    /// `command: python train.py --data $DATA`. In a list each word stands alone, an option and its value too. And
    /// the dashes and quotes of a word processor are not those of a command line, in either. The same goes for
    /// `args` and `launcher.args`, and for values of `env`, where only `$(NAME)` stands for another variable; and the
    /// text of a file in `code.files` is what stands there.
    Warning LITERAL_WORD = "literal-word";

    /// A command that nobody waits for
    ///
    /// With `&` at its end bash goes on at once, has nothing left to do and ends with 0, and with it the rank: the
    /// launcher would take it for trained. Leave the `&` out, or end the command with `wait`.
    Warning NOT_WAITED_FOR = "not-waited-for";
}

/// What joins commands or moves their output, to a shell.
const OPERATORS: &[&str] = &["&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "2>&1", "&>"];
/// They read what stands behind them.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "ash"];

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(spec) = case.document.get("spec") else { return };
    if let Some(words) = spec.get("command") {
        command(case, words, problems);
    }
    let shell = spec.get("command").is_some_and(|command| matches!(command.kind, Kind::Scalar { .. }));
    if let Some(args) = spec.get("args").filter(|_| !shell) {
        arguments(args, "write it in `command` as a text: that runs under bash", problems);
    }
    if let Some(args) = spec.get("launcher").and_then(|launcher| launcher.get("args")) {
        arguments(args, "write out what it stands for", problems);
    }
    for (name, value) in case.body.env.iter().flat_map(|at| &at.0) {
        if let EnvValue::Literal(text) = &value.value {
            problems.extend(value_of(&name.0, text, value.span));
        }
    }
    for (name, text) in case.body.code.iter().filter_map(|at| at.files.as_ref()).flat_map(|at| &at.0) {
        problems.extend(path_for_text(&name.0, &text.0, text.span));
    }
}

fn command(case: &Case<'_>, command: &Node, problems: &mut Vec<Problem>) {
    match &command.kind {
        Kind::Scalar { text, plain } => problems.extend(
            typeset(command.span, text, None)
                .or_else(|| list_in_quotes(command.span, text).filter(|_| !plain))
                .or_else(|| cut_off(case, command, *plain))
                .or_else(|| own_line(command.span, text))
                .or_else(|| not_waited_for(command.span, text)),
        ),
        Kind::List(items) => {
            let words = texts(items);
            let Some((_, program)) = words.first() else { return };
            // Of a list whose words are not all texts no text can be made.
            let whole = words.len() == items.len();
            let python = program.rsplit('/').next().is_some_and(|name| name.starts_with("python"));
            // Whatever stands before it: `env`, `numactl`, a container.
            let shell = words.iter().any(|(_, word)| SHELLS.contains(&word.rsplit('/').next().unwrap_or(word)));
            problems.extend(alone(&words));
            for (index, (item, word)) in words.iter().enumerate() {
                let found = typeset(item.span, word, Some(word))
                    .or_else(|| joined(item.span, word, index == 0 || index == 1 && python && !word.starts_with('-')))
                    .or_else(|| for_a_shell(item.span, word, as_text(&words).filter(|_| whole)).filter(|_| !shell));
                problems.extend(found);
            }
        }
        Kind::Map(_) => {}
    }
}

/// A dash or quotes that a word processor made of what was typed. `whole` is the word, where it is one.
fn typeset(span: Span, text: &str, whole: Option<&str>) -> Option<Problem> {
    let quote = |c: char| matches!(c, '“' | '”' | '‘' | '’');
    // Within a word they may be meant: `it’s`.
    let typed = |word: &str| {
        let inner = word.trim_matches(quote);
        match inner.strip_prefix(['–', '—']) {
            Some(option) => format!("--{}", option.trim_start_matches('-')),
            None if inner.len() < word.len() => format!("\"{inner}\""),
            None => word.to_owned(),
        }
    };
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut words = code.flat_map(str::split_whitespace).filter(|word| word.chars().any(char::is_alphanumeric));
    let word = words.find(|word| typed(word) != *word)?;
    let message = format!("`{word}` has dashes or quotes that a word processor made");
    let problem = Problem::new(&LITERAL_WORD, span, message).hint(format!("type them: `{}`", typed(word)));
    // Quotes were meant for a shell, and a list has none.
    Some(match whole.filter(|whole| *whole == word) {
        Some(whole) => problem.fix(span, quoted(typed(whole).trim_matches(['"', '\'']))),
        None => problem,
    })
}

/// `'[python, train.py]'`
fn list_in_quotes(span: Span, text: &str) -> Option<Problem> {
    let list = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    // `[ -f x ]` is a test.
    let message = "the quotes make a text of this list, which bash would run as it stands";
    let is_list = !list.starts_with(' ') && list.contains(',');
    is_list.then(|| Problem::new(&LITERAL_WORD, span, message).hint("remove the quotes").fix(span, text.trim()))
}

/// `python train.py --tag #1`: YAML ends the text before the `#`.
fn cut_off(case: &Case<'_>, command: &Node, plain: bool) -> Option<Problem> {
    let behind = case.texts.around(command.span).get(command.span.end..)?.lines().next()?;
    let comment = behind.trim_start().strip_prefix('#')?;
    let word = comment.split_whitespace().next().filter(|word| comment.starts_with(word))?;
    let message = format!("`#{word}` is a comment to YAML: the command ends before it");
    let hint = "put the command in quotes; or a space behind the `#`, where it is a comment";
    plain.then(|| Problem::new(&LITERAL_WORD, command.span, message).hint(hint))
}

/// An option that begins a line of a script is no option of the line above.
fn own_line(span: Span, text: &str) -> Option<Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let ends = |line: &str| !line.trim_end().ends_with(['\\', '|', '&', '(']);
    let option = |line: &str| line.trim_start().starts_with("--") && line.trim_start().len() > 2;
    let (_, line) = lines.iter().zip(&lines[1.min(lines.len())..]).find(|(above, line)| ends(above) && option(line))?;
    let message = format!("`{}` begins a line: to bash it is a command of its own", line.trim());
    let hint = "end the line above with ` \\`; under `>`, begin all lines in one column";
    // Within quotes or a here document it may be meant.
    (!text.contains("<<") && text.matches(['"', '\'']).count() == 0)
        .then(|| Problem::new(&LITERAL_WORD, span, message).hint(hint))
}

/// `python train.py &`
fn not_waited_for(span: Span, text: &str) -> Option<Problem> {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let last = text.lines().rfind(code)?.trim_end();
    let alone = last.strip_suffix('&')?.trim_end();
    let message = "the `&` at the end lets bash end at once, and the rank with it";
    let hint = "leave the `&` out, or end the command with `wait`";
    (!alone.is_empty() && !alone.ends_with('&')).then(|| Problem::new(&NOT_WAITED_FOR, span, message).hint(hint))
}

/// `[bash, -c, python, train.py]`
fn alone(words: &[(&Node, &str)]) -> Option<Problem> {
    let at = words.iter().position(|(_, word)| SHELLS.contains(&word.rsplit('/').next().unwrap_or(word)))?;
    let [(_, flag), (script, first), (_, more), ..] = words.get(at + 1..)? else { return None };
    let cut = ["-c", "-lc", "-ec"].contains(flag) && !first.contains(char::is_whitespace) && !first.contains('$');
    let message = format!("the shell runs `{first}` alone: `{more}` is no part of its script");
    let hint = "write the command as a text, without the shell: it runs under `bash -c`";
    cut.then(|| Problem::new(&LITERAL_WORD, script.span, message).hint(hint))
}

/// Several words in the place of one.
fn joined(span: Span, word: &str, first: bool) -> Option<Problem> {
    let (option, rest) = word.split_once(char::is_whitespace)?;
    if first && word.starts_with(['/', '.']) && !rest.trim_start().starts_with('-') {
        return None;
    }
    let is_option = option == "-m" || option.len() > 3 && option.starts_with("--") && !option.contains('=');
    if !first && !is_option {
        return None;
    }
    let parts: Vec<String> = word.split_whitespace().map(|word| format!("`{}`", quoted(word))).collect();
    let message = match first {
        true => format!("`{word}` is one word: nothing is called that"),
        false => format!("`{word}` is one word: the program sees no option `{option}`"),
    };
    let hint = format!("write each word by itself: {}", parts.join(", "));
    Some(Problem::new(&LITERAL_WORD, span, message).hint(hint))
}

/// What only a shell would read. `text` is the whole command as one.
fn for_a_shell(span: Span, word: &str, text: Option<String>) -> Option<Problem> {
    let message = match (OPERATORS.contains(&word), variable(word)) {
        (true, _) => format!("`{word}` joins nothing here: the program gets it as a word"),
        (false, Some(variable)) => format!("nothing expands `{variable}` here: the program gets it as it stands"),
        (false, None) => return None,
    };
    let hint = match text {
        Some(text) => format!("a command that is a text runs under bash: `command: {}`", quoted(&text)),
        None => "write the command as a text: that runs under bash".to_owned(),
    };
    Some(Problem::new(&LITERAL_WORD, span, message).hint(hint))
}

/// The words as a text that bash reads as meant; none where a word would need quotes.
fn as_text(words: &[(&Node, &str)]) -> Option<String> {
    let read = |word: &str| {
        OPERATORS.contains(&word)
            || variable(word).is_some_and(|variable| word.replacen(variable, "", 1).chars().all(plain_letter))
            || word.chars().all(plain_letter)
    };
    let line: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
    line.iter().all(|word| read(word)).then(|| line.join(" "))
}

/// A letter that means nothing to bash; `~` is meant where it stands.
fn plain_letter(c: char) -> bool {
    c.is_alphanumeric() || "-_./:=,+@%^~".contains(c)
}

/// Words that are texts, with their places.
fn texts(items: &[Node]) -> Vec<(&Node, &str)> {
    items.iter().filter_map(|item| Some((item, item.text()?))).collect()
}

/// A list of arguments, which no shell reads either; `way_out` of a variable.
fn arguments(list: &Node, way_out: &str, problems: &mut Vec<Problem>) {
    let Kind::List(items) = &list.kind else { return };
    for (item, word) in texts(items) {
        let open = || {
            let message = format!("nothing expands `{}` here: the program gets it as it stands", variable(word)?);
            Some(Problem::new(&LITERAL_WORD, item.span, message).hint(way_out))
        };
        problems.extend(typeset(item.span, word, Some(word)).or_else(|| joined(item.span, word, false)).or_else(open));
    }
}

/// A value that a shell would have read before the program did.
fn value_of(name: &str, text: &str, span: Span) -> Option<Problem> {
    let quotes = text.starts_with(['“', '”', '‘']) && text.ends_with(['“', '”', '’']);
    if quotes {
        return typeset(span, text, Some(text));
    }
    // Kubernetes' own.
    let open = variable(text).filter(|open| !open.starts_with("$("))?;
    let known = open.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"${}_".contains(&b));
    let message = format!("nothing expands `{open}` here: `{name}` has it as it stands");
    let hint = match name {
        "PATH" | "LD_LIBRARY_PATH" | "PYTHONPATH" => {
            format!("set it in the image; or in a `command` that is a text, which runs under bash: `export {name}=…`")
        }
        _ => "write out what it stands for, or use it in a `command` that is a text, which runs under bash".to_owned(),
    };
    known.then(|| Problem::new(&LITERAL_WORD, span, message).hint(hint))
}

/// `train.py: ./train.py`
fn path_for_text(name: &str, text: &str, span: Span) -> Option<Problem> {
    let (_, ending) = name.rsplit_once('.')?;
    let path = text.trim();
    let is_path =
        !path.contains(char::is_whitespace) && path.strip_suffix(ending).is_some_and(|rest| rest.ends_with('.'));
    let message = format!("`{path}` is all the text that the file `{name}` has: nothing is read from there");
    let hint = format!("write the file's text, as a block behind `{name}: |`; or put the file into the image");
    is_path.then(|| Problem::new(&LITERAL_WORD, span, message).hint(hint))
}
