//! `docs/surface.md`: the name of everything that a user can write or type, on one page: fields, commands with their options, and
//! problem codes. From the same declarations as the program.
//!
//! `make bless` writes the page.

#[path = "common/values.rs"]
mod values;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use khorovod::show::derived_default;
use serde_json::Value as Json;

use values::code;

fn help(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_khorovod")).env_clear().args(args).arg("--help").output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rows of a list of a help page, such as `Options:`: the name, and the text behind it, which may have several lines.
fn rows(page: &str, is_heading: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_in_list = false;
    for line in page.lines() {
        if !line.starts_with(' ') {
            is_in_list = is_heading(line) || line.is_empty() && is_in_list;
            continue;
        }
        if !is_in_list {
            continue;
        }
        let text = line.trim_start();
        if line.len() - text.len() > 6 {
            let (_, before) = found.last_mut().unwrap();
            format!("{before} {text}").trim().clone_into(before);
        } else {
            let (name, text) = text.split_once("  ").unwrap_or((text, ""));
            found.push((name.to_owned(), text.trim().to_owned()));
        }
    }
    found
}

/// The first sentence of a text.
fn first_sentence(text: &str) -> String {
    let end = text.match_indices(". ").map(|(at, _)| at).find(|at| !text[..*at].ends_with("e.g"));
    text[..end.unwrap_or(text.len())].trim_end_matches('.').replace('|', "\\|")
}

/// The names of the shapes in a field, and what follows its key in a path.
fn shapes(field: &Json) -> Vec<(&str, &'static str)> {
    let mut found = Vec::new();
    for part in [field].into_iter().chain(field["anyOf"].as_array().into_iter().flatten()) {
        let values = &part["additionalProperties"];
        let of_values = values["anyOf"].as_array().and_then(|parts| parts.last()).unwrap_or(values);
        for (part, suffix) in [(part, ""), (&part["items"], "[]"), (of_values, ".NAME")] {
            let name = part["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
            found.extend(name.filter(|name| *name != "Free").map(|name| (name, suffix)));
        }
    }
    found
}

/// The text in the column of defaults for a field that is not set unless the user sets it.
const NOT_SET: &str = "–";

/// The fields of which exactly one must be given, if a field is one of them.
fn one_of(shape: &Json, key: &str) -> Option<String> {
    let keys: Vec<&str> = shape["oneOf"].as_array()?.iter().filter_map(|one| one["required"][0].as_str()).collect();
    let is_short = keys.len() < 4;
    keys.contains(&key).then(|| match is_short {
        true => format!("exactly one of {}", keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")),
        false => format!("exactly one of {} such fields", keys.len()),
    })
}

/// The meaning of an option and its default. A help page has the default in brackets, or as a sentence.
fn option_with_default(text: &str) -> (String, String) {
    // clap appends `[default: x]` and `[possible values: x, y]`, and lists the values with their meanings after
    // `Possible values:`.
    let mut rest = text.to_owned();
    let mut taken = |start: &str| {
        let (before, after) = rest.split_once(start).map(|(before, after)| (before.to_owned(), after.to_owned()))?;
        let (value, after) = after.split_once(']').unwrap();
        rest = before + after;
        Some(value.to_owned())
    };
    let in_brackets = taken(" [default: ").map(|value| code(&value.into()));
    let values = taken(" [possible values: ");
    let in_words = rest.split_once(" (the default").and_then(|(before, _)| before.split(' ').next_back());
    let in_words = in_words.map(|word| code(&word.into()));
    let (text, rule) = derived_default(&rest);
    let rule = rule.map(|rule| if rule.contains(' ') { rule.replace('|', "\\|") } else { code(&rule.into()) });
    let mut meaning = first_sentence(&text);
    if let Some((_, listed)) = text.split_once(" Possible values: - ").filter(|_| !meaning.contains("Possible values"))
    {
        let names: Vec<&str> = listed.split(" - ").filter_map(|one| one.split(':').next()).collect();
        let _ = write!(meaning, ": {}", names.join(", "));
    }
    if let Some(values) = values {
        let _ = write!(meaning, ": {values}");
    }
    (meaning, in_brackets.or(in_words).or(rule).unwrap_or_else(|| NOT_SET.to_owned()))
}

/// Writes the fields of a shape, and of all shapes below it.
fn fields(root: &Json, name: &str, prefix: &str, page: &mut String) {
    let shape = &root["$defs"][name];
    for (key, field) in shape["properties"].as_object().unwrap() {
        let is_required = shape["required"].as_array().is_some_and(|keys| keys.iter().any(|other| other == key));
        let (text, rule) = derived_default(field["description"].as_str().unwrap());
        let takes = match (field.get("default"), rule) {
            _ if is_required => "required".to_owned(),
            (Some(default), _) => code(default),
            (None, Some(rule)) => rule.replace('|', "\\|"),
            (None, None) => one_of(shape, key).unwrap_or_else(|| NOT_SET.to_owned()),
        };
        let words = field["enum"].as_array().into_iter().flatten().filter_map(Json::as_str);
        let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
        let mut meaning = first_sentence(&text);
        if !words.is_empty() {
            let _ = write!(meaning, ": {}", words.join(", "));
        }
        let path = format!("{prefix}{key}");
        let _ = writeln!(page, "| `{path}` | {takes} | {meaning} |");
        for (shape, suffix) in shapes(field) {
            fields(root, shape, &format!("{path}{suffix}."), page);
        }
    }
}

#[test]
fn the_page_has_everything() {
    let mut page = String::from(
        "# Everything on one page\n\n<!-- Generated from the code by `make bless`. -->\n\n\
         This page has the name of everything that you can write in a spec or type, so that you can search it. The pages\n\
         [Fields](fields.md), [Commands](commands.md), [Exit codes, JSON and environment variables](reference.md) and\n\
         [Problems](problems.md) have the whole text.\n\n\
         ## Fields of a spec\n\n\
         `[]` is an item of a list, and `NAME` a name of your own. Without a field whose default is `–`, khorovod sets nothing.\n\n\
         | Field | Default | Meaning |\n|---|---|---|\n",
    );
    fields(&khorovod::schema(), "TrainingJob", "", &mut page);
    page += "\n## Fields of a file of expectations\n\n| Field | Default | Meaning |\n|---|---|---|\n";
    fields(&khorovod::expectations_schema(), "Expectations", "", &mut page);
    let top = help(&[]);
    page += "\n## Commands and options\n\nAn option whose default is `–` has no effect unless you write it.\n\n\
             | Command | Purpose | Default |\n|---|---|---|\n";
    let is_options = |line: &str| line.ends_with("ptions:");
    let is_global = |line: &str| line == "Global options:";
    let commands: Vec<_> =
        rows(&top, |line| line == "Commands:").into_iter().filter(|(name, _)| name != "help").collect();
    for (name, purpose) in &commands {
        let _ = writeln!(page, "| `khorovod {name}` | {} | |", first_sentence(purpose));
        let own = help(&[name]);
        let inner: Vec<_> =
            rows(&own, |line| line == "Commands:").into_iter().filter(|(name, _)| name != "help").collect();
        let options = rows(&own, |line| is_options(line) && !is_global(line));
        let args = rows(&own, |line| line == "Arguments:");
        assert!(!options.is_empty(), "{name} has no options");
        for (inner, purpose) in inner {
            let _ = writeln!(page, "| `khorovod {name} {inner}` | {} | |", first_sentence(&purpose));
        }
        for (option, purpose) in args.into_iter().chain(options).filter(|(option, _)| !option.contains("--help")) {
            let (purpose, default) = option_with_default(&purpose);
            // An argument such as `<SYSTEM>` must be given.
            let default = if option.starts_with('<') { "required" } else { &default };
            let _ = writeln!(page, "| `{name}` `{}` | {purpose} | {default} |", option.replace('|', "\\|"));
        }
    }
    for (option, purpose) in rows(&help(&["plan"]), is_global) {
        let (purpose, default) = option_with_default(&purpose);
        let _ = writeln!(page, "| every command: `{option}` | {purpose} | {default} |");
    }
    page += "\n## Problem codes\n\n| Code | Severity | Meaning |\n|---|---|---|\n";
    let mut codes: Vec<_> = khorovod::codes().collect();
    codes.sort_by_key(|code| code.name);
    for code in codes {
        let _ = writeln!(
            page,
            "| [`{0}`](problems.md#{0}) | {1} | {2} |",
            code.name,
            code.severity.word(),
            code.title().trim()
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/surface.md");
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let is = std::fs::read_to_string(path).unwrap_or_default();
    assert!(is == page, "docs/surface.md is stale: `make bless`");
}
