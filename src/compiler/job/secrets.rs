//! Which values belong in a Secret, by the look of the value or by the variable's name.

use crate::problem::{Problem, Span, codes};

codes! {
    /// A secret written into the spec
    ///
    /// The value looks like a private key or an access token. It would stand in the pod template,
    /// in `kubectl describe` and in every copy of the spec. Make a Secret and refer to it:
    /// `TOKEN: {secret: hf, key: token}`. If it was ever committed, replace it.
    Error SECRET_IN_ENV = "secret-in-env";

    /// A variable that sounds like a secret has its value in the spec
    ///
    /// If it is one, make a Secret and refer to it: `PASSWORD: {secret: db, key: password}`.
    Warning PASSWORD_IN_ENV = "password-in-env";
}

/// What a variable gives away.
enum Gives {
    Key,
    Token,
    /// Its name sounds like it.
    Maybe,
}

/// Whether a variable's value belongs in a Secret.
pub fn looks_secret(name: &str, value: &str) -> bool {
    gives(name, value).is_some()
}

fn gives(name: &str, value: &str) -> Option<Gives> {
    const STARTS: &[(&str, usize)] = &[
        ("AKIA", 20),
        ("ASIA", 20),
        ("ghp_", 30),
        ("gho_", 30),
        ("ghs_", 30),
        ("github_pat_", 40),
        ("glpat-", 20),
        ("hf_", 30),
        ("xoxb-", 20),
        ("xoxp-", 20),
        ("sk-", 30),
        ("AIza", 35),
        ("npm_", 30),
        ("pypi-", 30),
        ("eyJ", 60),
        ("dckr_pat_", 20),
    ];
    if value.contains("PRIVATE KEY-----") {
        return Some(Gives::Key);
    }
    if STARTS.iter().any(|(start, length)| {
        value.starts_with(start) && value.len() >= *length && !value.contains(char::is_whitespace)
    }) {
        return Some(Gives::Token);
    }
    let upper = name.to_uppercase();
    let sounds =
        ["PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIALS"];
    let about =
        ["_FILE", "_PATH", "_DIR", "_URL", "TOKENIZERS_", "_TOKENS", "_LENGTH", "_COUNT", "MAX_", "NUM_", "TOKENIZER"];
    let maybe = !value.is_empty()
        && sounds.iter().any(|word| upper.contains(word))
        && !about.iter().any(|word| upper.contains(word));
    maybe.then_some(Gives::Maybe)
}

/// A value that should not stand in the spec.
pub fn secret(name: &str, value: &str, span: Span) -> Option<Problem> {
    let (code, message) = match gives(name, value)? {
        Gives::Key => (&SECRET_IN_ENV, format!("the value of `{name}` looks like a private key")),
        Gives::Token => (&SECRET_IN_ENV, format!("the value of `{name}` looks like an access token")),
        Gives::Maybe => (&PASSWORD_IN_ENV, format!("`{name}` sounds like a secret, and its value stands here")),
    };
    let key = name.to_lowercase().replace('_', "-");
    let hint = format!("make a Secret and write `{name}: {{secret: my-secret, key: {key}}}`");
    Some(Problem::new(code, span, message).hint(hint))
}
