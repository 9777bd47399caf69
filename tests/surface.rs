//! `docs/surface.md`: everything that a user can write or type, on one page: fields, commands with their options, exit codes,
//! environment variables and problem codes. From the same declarations as the program.
//!
//! `make bless` writes the page.

#[path = "common/values.rs"]
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use khorovod::show::{derived_default, targets_without};
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

/// The sentences of a text, each without the point at its end.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(". ").unwrap_or(rest.len());
        found.push(rest[..end].trim_end_matches('.'));
        rest = rest.get(end + 2..).unwrap_or_default();
    }
    found
}

/// A text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The first sentence of a text.
fn first_sentence(text: &str) -> String {
    cell(sentences(text).first().copied().unwrap_or_default())
}

/// The length up to which the meaning of a field is printed.
const MOST: usize = 1000;

/// The meaning of a field, its limits (`Only with …`, `Not with …`, `Needs …`), and whether a part of the text is left out.
fn meaning(text: &str) -> (String, Vec<&str>, bool) {
    let is_limit = |sentence: &&str| {
        ["Only with ", "Not with ", "Not used with ", "Needs "].iter().any(|start| sentence.starts_with(start))
    };
    let (limits, rest): (Vec<&str>, Vec<&str>) = sentences(text).into_iter().partition(is_limit);
    let mut meaning = String::new();
    let mut is_cut = false;
    for sentence in rest {
        is_cut |= !meaning.is_empty() && meaning.len() + sentence.len() > MOST;
        if !is_cut {
            let _ = write!(meaning, "{}{sentence}", if meaning.is_empty() { "" } else { ". " });
        }
    }
    (meaning, limits, is_cut)
}

/// The type of a field in one or two words.
fn kind(root: &Json, field: &Json) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    let parts = field["anyOf"].as_array().map_or(vec![field], |parts| parts.iter().collect());
    for part in parts {
        let referred = part["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
        let part = referred.unwrap_or(part);
        let pattern = part["pattern"].as_str().unwrap_or_default();
        let kind = match part["type"].as_str() {
            Some("string") if pattern.contains("d)?([0-9]") => "duration",
            Some("string") if pattern.contains("Ki|Mi|Gi") => "quantity",
            Some("string") if part["enum"].is_array() => "word",
            Some("string") => "text",
            Some("integer") => "number",
            Some("boolean") => "boolean",
            Some("array") => "list",
            Some("object") => "map",
            _ => continue,
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(" or ")
}

/// The anchor that GitHub creates for a heading of docs/fields.md.
fn anchor(path: &str) -> String {
    path.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
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
        false => format!("exactly one of {} fields, from `{}` to `{}`", keys.len(), keys[0], keys[keys.len() - 1]),
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
    // A flag that ends with these words has no value.
    let in_words = rest.split_once(" (the default").filter(|(_, after)| *after != ")");
    let in_words = in_words.and_then(|(before, _)| before.split(' ').next_back());
    let in_words = in_words.map(|word| code(&word.into()));
    let (text, rule) = derived_default(&rest);
    let rule = rule.map(|rule| if rule.contains(' ') { rule.replace('|', "\\|") } else { code(&rule.into()) });
    let (text, listed) = text.split_once(" Possible values: - ").unwrap_or((&text, ""));
    let mut meaning = cell(text.trim_end_matches('.'));
    for (value, about) in listed.split(" - ").filter_map(|one| one.split_once(':')) {
        let _ = write!(meaning, "<br>`{value}`: {}", cell(about.trim()));
    }
    if let Some(values) = values {
        let _ = write!(meaning, ": {values}");
    }
    (meaning, in_brackets.or(in_words).or(rule).unwrap_or_else(|| NOT_SET.to_owned()))
}

/// The targets that refuse a field, and those with which it has no effect.
fn limits_by_target(path: &str) -> Vec<String> {
    let word = |label: &str| if label == "refused" { "Refused" } else { "No effect" };
    let limits = targets_without(path).into_iter();
    limits.map(|(label, targets)| format!("{} {}", word(label), targets.replace("--target ", "the target "))).collect()
}

/// Writes the fields of a shape, and of all shapes below it. `prefix` is the path of the shape, with a point at its end.
fn fields(root: &Json, name: &str, prefix: &str, page: &mut String) {
    let shape = &root["$defs"][name];
    let of_workers = &root["$defs"]["Workers"]["properties"];
    let mut shared: Vec<String> = Vec::new();
    for (key, field) in shape["properties"].as_object().unwrap() {
        // The fields of a worker are listed below `spec.workers` already.
        if name == "Group" && !["name", "replicas"].contains(&&**key) && of_workers.get(key) == Some(field) {
            shared.push(format!("`{key}`"));
            continue;
        }
        let is_required = shape["required"].as_array().is_some_and(|keys| keys.iter().any(|other| other == key));
        let (text, rule) = derived_default(field["description"].as_str().unwrap());
        let default = match (field.get("default"), rule) {
            _ if is_required => "required".to_owned(),
            (Some(default), _) => code(default),
            (None, Some(rule)) => cell(rule),
            (None, None) => one_of(shape, key).unwrap_or_else(|| NOT_SET.to_owned()),
        };
        let path = format!("{prefix}{key}");
        let (mut meaning, limits, is_cut) = meaning(&text);
        // The words of the field, or of the items of a list.
        let of_words = if field["items"]["enum"].is_array() { &field["items"] } else { field };
        let list = |key: &str| of_words[key].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let (words, about): (Vec<&str>, Vec<&str>) = (list("enum"), list("markdownEnumDescriptions"));
        if words.len() > 8 || words.len() == 1 && is_required {
            let _ =
                write!(meaning, ": {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "));
        } else {
            for (word, about) in words.iter().zip(about) {
                let _ = write!(meaning, "<br>`{word}`: {}", about.trim_end_matches('.'));
            }
        }
        if is_cut {
            let heading = match prefix.trim_end_matches('.') {
                "" if root["$defs"]["Expectations"].is_object() => "the-file-of-expectations".to_owned(),
                "" => "the-document".to_owned(),
                path => anchor(path),
            };
            let _ = write!(meaning, " [… more](fields.md#{heading})");
        }
        let mut limits: Vec<String> = limits.into_iter().map(str::to_owned).collect();
        let of_map = limits_by_target(prefix.trim_end_matches('.').trim_end_matches("[]"));
        limits.extend(limits_by_target(&path).into_iter().filter(|limit| !of_map.contains(limit)));
        let kind = kind(root, field);
        let _ = writeln!(page, "| `{path}` | {kind} | {default} | {} | {} |", cell(&meaning), cell(&limits.join(". ")));
        for (shape, suffix) in shapes(field) {
            fields(root, shape, &format!("{path}{suffix}."), page);
        }
    }
    if !shared.is_empty() {
        let all = shared.join(", ");
        let _ = writeln!(
            page,
            "| `{prefix}…` | | that of the field beside `groups` | {all}: as beside `groups`, for this group | |"
        );
    }
}

/// The table below a heading of a page of docs/.
fn table_of(page: &str, heading: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let lines = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The meaning of an exit code of a launcher, as `khorovod explain` prints it.
fn exit_code(code: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_khorovod")).env_clear().args(["explain", code]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, about) = text.split_once("\n\n").unwrap();
    cell(&about.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// An argument or an option of a command: its name, its meaning, its default.
type Opt = (String, String, String);

/// Writes the commands and their options. Options that several commands have are in a table of their own.
fn commands(page: &mut String) {
    let is_options = |line: &str| line.ends_with("ptions:") || line == "Lessons:";
    let is_global = |line: &str| line == "Global options:";
    let list = |text: &str| -> Vec<(String, String)> {
        rows(text, |line| line == "Commands:").into_iter().filter(|(name, _)| name != "help").collect()
    };
    let mut all: Vec<(String, String, Vec<Opt>)> = Vec::new();
    for (name, purpose) in list(&help(&[])) {
        let own = help(&[&name]);
        let options = rows(&own, |line| is_options(line) && !is_global(line));
        assert!(!options.is_empty(), "{name} has no options");
        let args = rows(&own, |line| line == "Arguments:").into_iter().chain(options);
        let args = args.filter(|(option, _)| !option.contains("--help")).map(|(option, purpose)| {
            let (purpose, default) = option_with_default(&purpose);
            // An argument such as `<SYSTEM>` must be given.
            let default = if option.starts_with('<') { "required".to_owned() } else { default };
            (cell(&option), purpose, default)
        });
        all.push((name.clone(), first_sentence(&purpose), args.collect()));
        for (inner, purpose) in list(&own) {
            all.push((format!("{name} {inner}"), first_sentence(&purpose), Vec::new()));
        }
    }
    let mut users: BTreeMap<&Opt, Vec<&str>> = BTreeMap::new();
    for (name, _, options) in &all {
        for option in options {
            users.entry(option).or_default().push(name);
        }
    }
    let is_shared = |option: &Opt| users[option].len() > 2;
    *page += "| Command | Purpose | Default |\n|---|---|---|\n";
    for (name, purpose, options) in &all {
        let _ = writeln!(page, "| **`khorovod {name}`** | {purpose} | |");
        for (option, purpose, default) in options.iter().filter(|option| !is_shared(option)) {
            let _ = writeln!(page, "| `{name}` `{option}` | {purpose} | {default} |");
        }
    }
    for (option, purpose) in rows(&help(&["plan"]), is_global) {
        let (purpose, default) = option_with_default(&purpose);
        let _ = writeln!(page, "| every command: `{option}` | {purpose} | {default} |");
    }
    *page += "\nThese arguments and options are the same for several commands:\n\n\
              | Option | Commands | Meaning | Default |\n|---|---|---|---|\n";
    let mut seen: Vec<&Opt> = Vec::new();
    for option in all.iter().flat_map(|(.., options)| options).filter(|option| is_shared(option)) {
        if seen.contains(&option) {
            continue;
        }
        seen.push(option);
        let names: Vec<String> = users[option].iter().map(|name| format!("`{name}`")).collect();
        let (name, purpose, default) = option;
        let _ = writeln!(page, "| `{name}` | {} | {purpose} | {default} |", names.join(", "));
    }
}

/// The variables of torchrun and the time of tolerations that khorovod adds to pods, which no field sets.
fn added_to_pods() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for elastic in ["", ", elastic: {minReplicas: 2, maxReplicas: 4}"] {
        let spec = format!(
            "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{name: mnist}}\nspec:\n  image: acme/mnist:1\n  \
             command: [python, train.py]\n  launcher: torchrun\n  workers: {{replicas: 4{elastic}}}\n"
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("job.yaml"), spec).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_khorovod"));
        let output = command.env_clear().current_dir(folder.path()).args(["render", "job.yaml"]).output().unwrap();
        let objects = String::from_utf8(output.stdout).unwrap();
        let words = objects.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        found.extend(words.filter(|word| word.starts_with("PET_")).map(|word| format!("`{word}`")));
        let times = objects.lines().filter(|line| line.contains("tolerationSeconds: "));
        found.extend(times.map(|line| format!("`{}`", line.trim())));
    }
    assert!(found.len() > 8, "{found:?}");
    found
}

#[test]
fn the_page_has_everything() {
    let mut page = String::from(
        "# Everything on one page\n\n<!-- Generated from the code by `make bless`. -->\n\n\
         This page has everything that you can write in a spec or type, with its default and its limits, so that you can search it.\n\
         The pages [Fields](fields.md), [Commands](commands.md), [Exit codes, JSON and environment variables](reference.md) and\n\
         [Problems](problems.md) have the whole text, and so has `khorovod explain NAME`.\n\n\
         ## Fields of a spec\n\n\
         - `[]` is an item of a list, and `NAME` a name of your own. In commands, `JOB` is the name of the job and `RUN` the name of its\n  \
           run, which `khorovod plan` prints.\n\
         - A duration has a unit: `90s`, `10m`, `1h30m`, `7d`. A quantity is a number as in Kubernetes: `32` or `500m` CPUs, `64Gi` of\n  \
           memory. A word is one of the words that the row lists.\n\
         - Without a field whose default is `–`, khorovod sets nothing.\n\
         - No command deletes the objects of a job: `khorovod plan` prints the `kubectl delete` for it. For Slurm, it prints the commands that\n  \
           submit, follow and cancel the job.\n\
         - The column Limits lists with what a field works, and with what it does not. Refused: khorovod reports an error. No effect:\n  \
           the field is ignored, and `validate` prints a note or a warning. Only with, not with: an error, or a warning if the field is\n  \
           ignored. A limit of a map is also one of the fields in it. The\n  \
           launchers are mpirun, horovodrun, torchrun, deepspeed, jax, tensorflow and shell; [Targets](targets.md) describes the targets.\n\n\
         | Field | Type | Default | Meaning | Limits |\n|---|---|---|---|---|\n",
    );
    fields(&khorovod::schema(), "TrainingJob", "", &mut page);
    page += "\n## Fields of a file of expectations\n\n| Field | Type | Default | Meaning | Limits |\n|---|---|---|---|---|\n";
    fields(&khorovod::expectations_schema(), "Expectations", "", &mut page);
    page += "\n## Commands and options\n\nAn option whose default is `–` has no effect unless you write it.\n\n";
    commands(&mut page);
    let _ = write!(page, "\n## Exit codes of khorovod\n\n{}", table_of("reference.md", "Exit codes"));
    page += "\n## Exit codes of a job\n\nThese are the codes of the launcher's pod.\n\n| Exit code | Meaning |\n|---|---|\n";
    for code in ["0", "42", "43", "44", "137", "143"] {
        let _ = writeln!(page, "| {code} | {} |", exit_code(code));
    }
    let _ = write!(page, "\n## Environment variables\n\n{}", table_of("reference.md", "Environment variables"));
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
    for added in added_to_pods() {
        assert!(page.contains(&added), "the page does not have {added}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/surface.md");
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let is = std::fs::read_to_string(path).unwrap_or_default();
    assert!(is == page, "docs/surface.md is stale: `make bless`");
}
