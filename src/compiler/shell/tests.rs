//! Tests of the lexer and the parser: the statements of scripts, and that the tokens contain every byte of a text.

use proptest::prelude::*;

use super::*;

/// The statements of a text as they are written.
fn statements(text: &str) -> Vec<&str> {
    parse(text).statements.iter().map(|statement| &text[statement.span.clone()]).collect()
}

/// The kind of each command of a text.
fn kinds(text: &str) -> Vec<String> {
    let name = |command: &Command| match &command.kind {
        CommandKind::Simple { assignments, words } => format!("simple {}+{}", assignments.len(), words.len()),
        CommandKind::Compound { keyword, body, .. } => format!("{keyword:?} {}", body.len()),
        CommandKind::Test { .. } => "test".to_owned(),
        CommandKind::Arithmetic { .. } => "sum".to_owned(),
        CommandKind::Function { .. } => "function".to_owned(),
        CommandKind::Unknown => "unknown".to_owned(),
    };
    parse(text).statements.iter().flat_map(|statement| &statement.commands).map(name).collect()
}

#[test]
fn statements_end_where_a_shell_ends_them() {
    let cases: &[(&str, &[&str])] = &[
        ("a; b\nc & d", &["a", "b", "c &", "d"]),
        ("a \\\n  b\nc", &["a \\\n  b", "c"]),
        ("a \\\n\nb", &["a", "b"]),
        ("a \\\n# no\nb", &["a", "b"]),
        ("a # b; c\nd", &["a", "d"]),
        ("a 'b\nc' # end", &["a 'b\nc'"]),
        ("A=(x # why\n y)\nz", &["A=(x # why\n y)", "z"]),
        ("cat <<E >f\nx; y\nE\nz", &["cat <<E >f\nx; y\nE", "z"]),
        ("cat <<-'E F'\n\tx\n\tE F\nz", &["cat <<-'E F'\n\tx\n\tE F", "z"]),
        ("cat <<A <<B\n1\nA\n2\nB\nz", &["cat <<A <<B\n1\nA\n2\nB", "z"]),
        ("cat <<E\nno end", &["cat <<E\nno end"]),
        ("echo $((1 << 2)) <<<x\nz", &["echo $((1 << 2)) <<<x", "z"]),
        ("a &&\n b ||\n c\nd", &["a &&\n b ||\n c", "d"]),
        ("if a; then\n b\nfi >log\nc", &["if a; then\n b\nfi >log", "c"]),
        ("for i in a b; do c; done; d", &["for i in a b; do c; done", "d"]),
        ("case $x in\n (a|b) c;;\n *) d\nesac\ne", &["case $x in\n (a|b) c;;\n *) d\nesac", "e"]),
        ("die(){\n exit 1\n}\nb", &["die(){\n exit 1\n}", "b"]),
        ("die ()\n{\n exit 1\n}\nb", &["die ()\n{\n exit 1\n}", "b"]),
        ("function die {\n a\n}\nb", &["function die {\n a\n}", "b"]),
        ("x=$(a; b # )\n)\nc", &["x=$(a; b # )\n)", "c"]),
        ("x=`a; b`; c", &["x=`a; b`", "c"]),
        ("a <(b; c) >(d)\ne", &["a <(b; c) >(d)", "e"]),
        ("[[ $a =~ ^(b|c)$ && $d < e ]] || f\ng", &["[[ $a =~ ^(b|c)$ && $d < e ]] || f", "g"]),
        ("((a < 2 ; b))", &["((a < 2 ; b))"]),
        ("((a); b); c", &["((a); b)", "c"]),
        ("if a; then if b; then c; fi fi\nd", &["if a; then if b; then c; fi fi", "d"]),
        ("{ while a; do b; done }; c", &["{ while a; do b; done }", "c"]),
        ("[[ a == @(b|\n c) ]]; d", &["[[ a == @(b|\n c) ]]", "d"]),
        ("a\r\nb\r\n", &["a", "b"]),
        ("", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(statements(text), *expected, "{text:?}");
        assert_eq!(parse(text).failure, None, "{text:?}");
    }
}

#[test]
fn commands_are_separated() {
    let cases: &[(&str, &[&str])] = &[
        ("A=1 B+=2 c d >e 2>&1", &["simple 2+2"]),
        ("a | b |& c", &["simple 0+1", "simple 0+1", "simple 0+1"]),
        ("time -p a b", &["simple 0+2"]),
        ("! a", &["simple 0+1"]),
        ("[[ a ]]", &["test"]),
        ("((a = 1))", &["sum"]),
        ("(a; b)", &["Subshell 2"]),
        ("{ a; b; }", &["Group 2"]),
        ("if a; then b; elif c; then d; else e; fi", &["If 5"]),
        ("while a; do b; done <f", &["While 2"]),
        ("for ((i = 0; i < 2; i++)); do a; done", &["For 1"]),
        ("select a in b c; do d; done", &["Select 1"]),
        ("f() (a)", &["function"]),
        (">f", &["simple 0+0"]),
        ("echo if then fi { }", &["simple 0+6"]),
        ("A[1]=x \"B=1\" C=2", &["simple 1+2"]),
    ];
    for (text, expected) in cases {
        assert_eq!(kinds(text), *expected, "{text:?}");
    }
}

#[test]
fn lines_after_one_that_is_not_understood_are_read() {
    let cases: &[(&str, &[&str], Failure)] = &[
        ("a\n) b; c # d\ne", &["a", ") b; c", "e"], Failure::Unexpected),
        ("print('x', a())\nb", &["print('x', a())", "b"], Failure::Unexpected),
        ("f()\nb", &["f()", "b"], Failure::Unexpected),
        ("done\nb", &["done", "b"], Failure::Unexpected),
        ("a 'b\nc", &["a 'b\nc"], Failure::Unfinished),
        ("a; b \"c\nd", &["a", "b \"c\nd"], Failure::Unfinished),
        ("if a; then\n b\n", &["if a; then\n b\n"], Failure::Unfinished),
        ("a $(b\nc", &["a $(b\nc"], Failure::Unfinished),
    ];
    for (text, expected, failure) in cases {
        assert_eq!(statements(text), *expected, "{text:?}");
        assert_eq!(parse(text).failure, Some(*failure), "{text:?}");
    }
}

#[test]
fn deep_nesting_is_refused_and_costs_no_stack() {
    for text in ["if a; then\n", "$(", "$((", "${a:-", "(", "((", "{ ", "a=(", "case x in a) ", "f() { ", "`\"$("] {
        let script = parse(&text.repeat(100_000));
        assert!(script.failure.is_some(), "{text}");
    }
    assert_eq!(parse(&format!("{}a{}", "( ".repeat(200), " )".repeat(200))).failure, Some(Failure::TooDeep));
}

/// Whether parts, in order, cover a range.
fn cover(parts: &[Part], start: usize, end: usize) -> bool {
    let mut at = start;
    for part in parts {
        let (open, close) = match &part.kind {
            PartKind::Double(_) => (if part.span.len() < 2 { return false } else { 1 }, 1),
            _ => (0, 0),
        };
        let inner = match &part.kind {
            // `$"…"` has one more byte before it.
            PartKind::Double(inner) => {
                let first = inner.first().map_or(part.span.end - close, |part| part.span.start);
                first >= part.span.start + open && cover(inner, first, part.span.end - close)
            }
            PartKind::Braced(inner) => cover(inner, part.span.start + 2, part.span.end - 1),
            _ => true,
        };
        if part.span.start != at || part.span.is_empty() || !inner {
            return false;
        }
        at = part.span.end;
    }
    at == end
}

fn assert_tokens_are_text(text: &str, tokens: &[Token]) {
    let joined: String = tokens.iter().map(|token| &text[token.span.clone()]).collect();
    assert_eq!(joined, text);
    for token in tokens {
        assert!(!token.span.is_empty(), "{text:?}: {token:?}");
        if let TokenKind::Word(word) = &token.kind {
            assert!(cover(&word.parts, word.span.start, word.span.end), "{text:?}: {word:#?}");
            assert_eq!(word.span, token.span);
        }
    }
}

/// Generates scripts from pieces, many of which begin or end a quote, a substitution or a compound command.
fn scripts() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        " ",
        "\n",
        ";",
        "&",
        "|",
        "&&",
        "||",
        "'",
        "\"",
        "`",
        "\\",
        "\\\n",
        "$",
        "$(",
        ")",
        "(",
        "((",
        "))",
        "$((",
        "${",
        "}",
        "{",
        "[[",
        "]]",
        "$[",
        "]",
        "<",
        ">",
        "<<E\n",
        "E\n",
        "<<<",
        ">&2",
        "2>",
        "#",
        " # ",
        "if ",
        "then ",
        "fi",
        "for ",
        "in ",
        "do ",
        "done",
        "case ",
        "esac",
        ";;",
        "function ",
        "f() ",
        "A=",
        "A+=(",
        "=",
        "é",
        "\t",
        "\r\n",
        "\r",
        "$'",
        "$\"",
        "!",
        "time ",
        "$A",
        "*",
        "~",
        "@(",
    ];
    prop_oneof![
        prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..30).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn tokens_joined_are_the_text(text in scripts()) {
        let script = parse(&text);
        assert_tokens_are_text(&text, &script.tokens);
        assert_tokens_are_text(&text, &tokenize(&text));
        let mut at = 0;
        for statement in &script.statements {
            prop_assert!(statement.span.start >= at && !statement.span.is_empty(), "{text:?}: {statement:#?}");
            prop_assert_eq!(statement.joints.len() + 1, statement.commands.len());
            at = statement.span.start;
        }
        // Each word is inside a statement.
        for token in script.tokens.iter().filter(|token| matches!(token.kind, TokenKind::Word(_) | TokenKind::Unknown)) {
            let holds = |statement: &Statement| {
                statement.span.start <= token.span.start && token.span.end <= statement.span.end
            };
            prop_assert!(script.statements.iter().any(holds), "{text:?}: {token:?} {:#?}", script.statements);
        }
        prop_assert!(effects(&text, &script.statements).sets.iter().all(|name| is_name(name)));
        prop_assert_eq!(rewrite(&text, |_| Change::Within), text);
    }
}
