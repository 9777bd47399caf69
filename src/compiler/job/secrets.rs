//! Recognises values that belong in a Secret, by the form of the value or by the name of the variable.

use crate::problem::{Problem, Span, codes};

codes! {
    /// A secret written into the spec
    ///
    /// The value looks like a private key or an access token. The pod template, `kubectl describe` and every copy of the
    /// spec would show it. Create a Secret and refer to it: `TOKEN: {secretKeyRef: {name: hf, key: token}}`. If the value was ever
    /// committed to a repository, replace it.
    Error SECRET_IN_ENV = "secret-in-env";

    /// A variable with the name of a secret, or with a password in a URL, has its value in the spec
    ///
    /// If the value is a secret, create a Secret and refer to it: `PASSWORD: {secretKeyRef: {name: db, key: password}}`.
    Warning PASSWORD_IN_ENV = "password-in-env";
}

/// The evidence that a value is a secret.
enum Evidence {
    /// It is a private key.
    Key,
    /// It starts with the first characters of an access token, such as `ghp_`.
    Token,
    /// It is a URL with a password.
    Url,
    /// Its variable has the name of a secret.
    Name,
}

/// The first characters of access tokens, and their minimum length.
const TOKENS: &[(&str, usize)] = &[
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

/// Words in the names of variables that hold secrets.
const NAMES: &[&str] =
    &["PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIALS"];

/// Words in names of variables that are about a secret or a token but do not hold a secret: a file, a number of tokens.
const ABOUT: &[&str] =
    &["_FILE", "_PATH", "_DIR", "_URL", "TOKENIZERS_", "_TOKENS", "_LENGTH", "_COUNT", "MAX_", "NUM_", "TOKENIZER"];

/// Words in names of variables whose values are not shown, although not all of these values are secrets.
const VAGUE_NAMES: &[&str] = &["PASSW", "SECRET", "TOKEN", "KEY", "CREDENTIAL"];

/// Whether the value of a variable belongs in a Secret. khorovod reports such a value.
pub fn looks_secret(name: &str, value: &str) -> bool {
    evidence(name, value).is_some()
}

/// Whether the value of a variable may be a secret, so that reports must not show it.
pub fn may_be_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    VAGUE_NAMES.iter().any(|word| name.contains(word)) || looks_secret(&name, value)
}

/// Whether a value switches something on or off, as in `MOE_DROP_TOKEN=true`.
fn is_switch(value: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "none", "null", "0", "1"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(value))
}

fn evidence(name: &str, value: &str) -> Option<Evidence> {
    if value.contains("PRIVATE KEY-----") {
        return Some(Evidence::Key);
    }
    let is_token = |(start, length): &(&str, usize)| {
        value.len() >= *length && value.starts_with(start) && !value.contains(char::is_whitespace)
    };
    if TOKENS.iter().any(is_token) {
        return Some(Evidence::Token);
    }
    if has_password(value) {
        return Some(Evidence::Url);
    }
    if name.is_empty() || value.is_empty() || is_switch(value) {
        return None;
    }
    let upper = name.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| upper.contains(word));
    (has(NAMES) && !has(ABOUT)).then_some(Evidence::Name)
}

/// Whether a value is a URL with a user and a password: `postgres://user:password@host/db`. A variable or a
/// placeholder does not count as a password.
fn has_password(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else { return false };
    let Some((user, _)) = rest.split('/').next().unwrap_or_default().rsplit_once('@') else { return false };
    let is_scheme =
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let password = user.split_once(':').map_or("", |(_, password)| password);
    is_scheme && !password.is_empty() && !password.starts_with(['$', '<', '{', '*'])
}

/// The problem of a variable whose value belongs in a Secret.
pub fn find_secret(name: &str, value: &str, span: Span) -> Option<Problem> {
    let (code, message) = match evidence(name, value)? {
        Evidence::Key => (&SECRET_IN_ENV, format!("the value of `{name}` looks like a private key")),
        Evidence::Token => (&SECRET_IN_ENV, format!("the value of `{name}` looks like an access token")),
        Evidence::Url => (&PASSWORD_IN_ENV, format!("the URL in `{name}` contains a password")),
        Evidence::Name => {
            (&PASSWORD_IN_ENV, format!("`{name}` has the name of a secret, and its value is in the spec"))
        }
    };
    let key = name.to_ascii_lowercase().replace('_', "-");
    let hint = format!("create a Secret and write `{name}: {{secretKeyRef: {{name: my-secret, key: {key}}}}}`");
    Some(Problem::new(code, span, message).hint(hint))
}
