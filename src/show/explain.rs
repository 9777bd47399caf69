//! Explains problem codes, fields, values of fields and exit codes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::table::{columns, paragraphs};
use crate::problem::Explained;
use khorovod_compiler::yaml::flow::flow;

/// The width of the widest label of a field: `examples`.
const LABEL: usize = 8;

/// A wrong and a right spec for every code. The format is: `== CODE`, the wrong spec, `--`, the right spec.
const EXAMPLES: &str = include_str!("examples.txt");

/// The exit codes of a launcher. docs/runtime.md has the same list.
const LAUNCHER_EXIT_CODES: &[(&str, &str)] = &[
    ("0", "The training succeeded. The GPUs are released."),
    (
        "42",
        "The training failed and is not retried: no retries are left, or a retry cannot help. The GPUs are released. The \
         last line of the log is the reason; the page \"Troubleshooting by symptom\" of the documentation lists all reasons.",
    ),
    ("43", "A newer run of the job exists, so this one stopped. The GPUs are released."),
    ("44", "`lifecycle.deadline` passed. The GPUs are released."),
    (
        "137",
        "The pod was killed (SIGKILL): it ran out of memory, or its node failed. Kubernetes starts another pod, which \
         continues to count retries.",
    ),
    (
        "143",
        "The pod received SIGTERM: it was deleted or evicted, or its node was drained. Kubernetes starts another pod if \
         the Job still exists.",
    ),
];

/// Usual exit codes of programs, which a launcher prints as `training ended with code N`.
const PROGRAM_EXIT_CODES: &[(&str, &str)] = &[
    ("1", "The program failed; for Python, the log contains the exception above this line."),
    ("126", "The command exists but cannot be executed. Run `chmod +x`, or put its interpreter before it."),
    ("127", "The command was not found: it is not in the image, or not in PATH."),
    ("134", "An assertion failed, or memory was corrupted (SIGABRT, signal 6)."),
    ("139", "The program or a library crashed (SIGSEGV, signal 11)."),
    (
        "197",
        "Under Slurm, a rank found that the ranks do not match the spec, and its line above states the difference. The batch script \
         then exits with 42.",
    ),
];

/// The exit codes of khorovod itself that need an explanation. docs/reference.md has the same list.
const OWN_EXIT_CODES: &[(&str, &str)] = &[
    ("1", "the input has problems, or a check failed."),
    ("2", "the command line is wrong."),
    (
        "3",
        "a file, a folder, a stream or the cluster could not be read or written, the cluster has no such job, or the API server \
         refused a call.",
    ),
];

/// Words of other systems, and where their subject is explained.
const TERMS: &[(&str, &str)] = &[
    ("array", "slurm.args"),
    ("cost", "lifecycle.deadline"),
    ("mpi", "launcher.mpi"),
    ("omp_num_threads", "env"),
    ("preemption", "lifecycle.checkpoint"),
    ("requeue", "lifecycle.retries"),
    ("restart", "lifecycle.retries"),
    ("sbatch", "slurm"),
    ("time", "lifecycle.deadline"),
    ("walltime", "lifecycle.deadline"),
];

/// Commands of other systems, and the command that does the same.
const COMMANDS: &[(&str, &str)] = &[
    ("cancel", "khorovod stop"),
    ("delete", "khorovod stop"),
    ("scancel", "khorovod stop"),
    ("squeue", "khorovod list"),
    ("sacct", "khorovod status"),
];

/// Explains a topic: a problem code, the path of a field, a value of a field, or an exit code. An error lists similar topics.
///
/// ```
/// use khorovod::show::explain;
///
/// let text = explain("workers.gpus").unwrap();
/// assert!(text.starts_with("spec.workers.gpus"));
/// assert!(explain("workers.gpu").unwrap_err().contains("workers.gpus"));
/// ```
pub fn explain(topic: &str) -> Result<String, String> {
    if let Some(code) = crate::codes().find(|code| code.name == topic) {
        let severity = code.severity.word();
        let about = paragraphs(&explanation(code));
        return Ok(format!("{severity} {}\n\n{about}\n{}", code.name, example(code.name)));
    }
    if let Some((code, meaning)) = LAUNCHER_EXIT_CODES.iter().find(|(code, _)| *code == topic) {
        return Ok(format!("exit code {code} of a job's launcher\n\n{}\n", paragraphs(meaning)));
    }
    let own = OWN_EXIT_CODES.iter().find(|(code, _)| *code == topic);
    let own = own.map(|(code, meaning)| paragraphs(&format!("If khorovod itself exited with {code}: {meaning}")));
    if let Some((code, meaning)) = PROGRAM_EXIT_CODES.iter().find(|(code, _)| *code == topic) {
        let about = paragraphs(meaning);
        let own = own.map_or(String::new(), |own| format!("\n{own}\n"));
        return Ok(format!("exit code {code} of a program; the launcher itself does not use it\n\n{about}\n{own}"));
    }
    if let Some(own) = own {
        let about = "A launcher does not use this code. If it printed it as `training ended with code`, the training program chose it.";
        return Ok(format!("exit code {topic} of khorovod\n\n{own}\n\n{}\n", paragraphs(about)));
    }
    let path = topic.replace("[]", "").replace(['[', ']'], ".");
    let words: Vec<&str> = path.split('.').filter(|word| !word.is_empty() && word.parse::<usize>().is_err()).collect();
    // `expect` is the top field of the other kind of document, Expectations.
    let schema = if words.first() == Some(&"expect") { crate::expectations_schema() } else { crate::schema() };
    // `workers.gpus` means `spec.workers.gpus`.
    let found = find(&schema, &schema, &words).map(|field| (field, words.join("."))).or_else(|| {
        Some((find(&schema, &schema, &[&["spec"], &words[..]].concat())?, format!("spec.{}", words.join("."))))
    });
    let found = found.filter(|_| !words.is_empty()).or_else(|| field_with_value(&schema, topic));
    match found {
        Some((field, path)) => Ok(page(&schema, field, &path)),
        // A number is meant as an exit code, so no similar names are suggested.
        None if topic.parse::<u32>().is_ok() => Err(match topic.parse::<u32>() {
            Ok(code @ 129..=192) => {
                format!("{code} is not an exit code of a launcher; signal {} ended the program", code - 128)
            }
            _ => format!("{topic} is not an exit code of a launcher; the training program chose it"),
        }),
        None => Err(format!("there is no problem code or field {topic}{}", nearest(&schema, topic))),
    }
}

/// The explanation of a code, without the space with which each line of a doc comment begins.
pub fn explanation(code: &Explained) -> String {
    let lines = code.explanation.trim().lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// An example of a mistake of this kind, and its correction.
fn example(name: &str) -> String {
    let mut all = EXAMPLES.split("\n== ");
    let found = all.find_map(|part| part.strip_prefix(name)?.strip_prefix('\n')?.split_once("\n--\n"));
    let Some((wrong, right)) = found else { return String::new() };
    let set_in = |text: &str| text.trim_end().replace('\n', "\n    ");
    format!("\nWrong:\n\n    {}\n\nRight:\n\n    {}\n", set_in(wrong), set_in(right))
}

/// Lists every problem code with its title.
pub fn codes() -> String {
    let mut all: Vec<_> = crate::codes().collect();
    all.sort_by_key(|code| code.name);
    let width = all.iter().map(|code| code.name.len()).max().unwrap_or_default();
    // Each code has one line, so that the user can search the output with grep.
    all.iter().map(|code| format!("{:<width$}  {}\n", code.name, code.title())).collect::<Vec<_>>().concat()
}

/// The parts of a schema that describe a value: the schema itself, its references, its alternatives and its items.
fn parts<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    reached(root, schema, true)
}

/// A schema, and all schemas that it refers to or chooses between. If `are_items_in` is true, also the schemas of its items.
fn reached<'a>(root: &'a Value, schema: &'a Value, are_items_in: bool) -> Vec<&'a Value> {
    let mut all = vec![schema];
    let mut next = 0;
    while next < all.len() && all.len() < 200 {
        let part = all[next];
        next += 1;
        let referred = part["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
        all.extend(referred);
        for key in ["anyOf", "oneOf", "allOf"] {
            all.extend(part[key].as_array().into_iter().flatten());
        }
        all.extend(part.get("items").filter(|items| are_items_in && items.is_object()));
    }
    all
}

/// The types that a field takes: `string`, `list of strings`.
fn types(root: &Value, schema: &Value) -> Vec<String> {
    let mut types = Vec::new();
    for part in reached(root, schema, false) {
        let name = match kind_of(part) {
            None => continue,
            Some("array") => {
                let items = part.get("items").map_or_else(Vec::new, |items| types_of_items(root, items));
                if items.is_empty() { "list".to_owned() } else { format!("list of {}", items.join(" or ")) }
            }
            Some(kind) => kind.to_owned(),
        };
        if !types.contains(&name) {
            types.push(name);
        }
    }
    types
}

fn types_of_items(root: &Value, items: &Value) -> Vec<String> {
    types(root, items)
        .into_iter()
        .map(|name| if name.contains(' ') { name } else { name.replace("quantity", "quantitie") + "s" })
        .collect()
}

fn properties<'a>(root: &'a Value, schema: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
    parts(root, schema).into_iter().filter_map(|part| part["properties"].as_object()).flatten()
}

/// The schema of the field at a path. If the path has a key of a map whose keys the user chooses, such as a variable in
/// `env`, the result is the schema of the map's values.
fn find<'a>(root: &'a Value, schema: &'a Value, words: &[&str]) -> Option<&'a Value> {
    let Some((first, rest)) = words.split_first() else { return Some(schema) };
    let named = properties(root, schema).filter(|(name, _)| name == first).map(|(_, field)| field);
    let values = parts(root, schema).into_iter().filter_map(|part| part.get("additionalProperties"));
    named.chain(values.filter(|value| value.is_object())).find_map(|field| find(root, field, rest))
}

/// The field that has this value in its enum, and its path.
fn field_with_value<'a>(root: &'a Value, word: &str) -> Option<(&'a Value, String)> {
    let mut paths = Vec::new();
    fields(root, find(root, root, &["spec"])?, "spec", 4, &mut paths);
    let known = paths.into_iter().filter_map(|path| {
        let field = find(root, root, &path.split('.').collect::<Vec<_>>())?;
        let takes =
            |part: &&Value| part["enum"].as_array().is_some_and(|words| words.iter().any(|other| other == word));
        parts(root, field).iter().any(takes).then_some((field, path))
    });
    known.min_by_key(|(_, path)| path.len())
}

/// The page of a field: its description, its values and the fields below it.
fn page(root: &Value, field: &Value, path: &str) -> String {
    let all = parts(root, field);
    let words = |key: &str| all.iter().find_map(|part| part[key].as_str());
    let mut text = format!("{path}\n");
    // If there is a description, it begins with the title, so only the description is printed.
    let mut derived = None;
    if let Some(about) = words("description").or_else(|| words("title")) {
        let (plain, rule) = derived_default(about);
        derived = rule.map(str::to_owned);
        let _ = write!(text, "\n{}\n", paragraphs(&plain));
        // The description of a map may begin with the same sentence and continue with more. Only the continuation is
        // printed.
        let (first, _) = about.split_once(". ").unwrap_or((about.trim_end_matches('.'), ""));
        let maps = all.iter().skip(1).filter(|part| part["properties"].is_object());
        let more = maps.filter_map(|part| part["description"].as_str()?.strip_prefix(first)?.strip_prefix(". "));
        for more in more.filter(|more| !about.ends_with(more)) {
            let _ = write!(text, "\n{}\n", paragraphs(more));
        }
    }
    let kinds = dedup(all.iter().filter_map(|part| kind_of(part)).collect());
    for (kind, about) in KINDS.iter().filter(|(kind, _)| kinds.contains(kind)) {
        let _ = write!(text, "\n{}\n", paragraphs(&format!("A {kind} is {about}")));
    }
    // The bounds of one alternative do not apply to the others.
    let bound = |key: &str| all.iter().find_map(|part| part.get(key)).filter(|_| kinds.len() == 1).map(plain);
    let takes = [
        ("type", (!kinds.is_empty()).then(|| types(root, field).join(" or "))),
        (
            "values",
            all.iter()
                .filter(|part| part["markdownEnumDescriptions"].is_null())
                .find_map(|part| part["enum"].as_array())
                .map(|values| list(values)),
        ),
        ("default", field.get("default").map(plain).or(derived)),
        ("minimum", bound("minimum")),
        ("maximum", bound("maximum")),
        ("examples", all.iter().find_map(|part| part["examples"].as_array()).map(|values| examples(values))),
    ];
    let takes = takes.into_iter().filter_map(|(label, value)| Some((label, value?)));
    let takes = takes.chain(targets_without(path)).map(|(label, value)| (label.to_owned(), value)).collect();
    let choice = all.iter().find(|part| part["markdownEnumDescriptions"].is_array());
    let column = |key: &str| choice.and_then(|part| part[key].as_array()).into_iter().flatten().map(plain);
    let choices = column("enum").zip(column("markdownEnumDescriptions")).collect();
    let fields = properties(root, field).map(|(name, field)| {
        let about = parts(root, field).iter().find_map(|part| part["title"].as_str().or(part["description"].as_str()));
        (name.clone(), about.unwrap_or_default().lines().next().unwrap_or_default().to_owned())
    });
    for (rows, least) in [(takes, LABEL), (choices, 0), (fields.collect::<Vec<_>>(), 0)] {
        if !rows.is_empty() {
            let _ = write!(text, "\n{}", columns(&rows, 2, least));
        }
    }
    text
}

/// Takes the rule of a derived default out of the text of a field. Such a default depends on other fields. Its rule is the
/// sentence that starts with `Default: `. Returns the text without this sentence, and the rule.
pub fn derived_default(text: &str) -> (String, Option<&str>) {
    const START: &str = "Default: ";
    let Some(at) = text.find(START) else { return (text.to_owned(), None) };
    let (before, rest) = (text[..at].trim_end(), &text[at + START.len()..]);
    let (rule, after) = rest.split_once(". ").unwrap_or((rest.trim_end_matches('.'), ""));
    (format!("{before} {after}").trim().to_owned(), Some(rule))
}

/// The targets that refuse a field, and those with which it has no effect: `("refused", "mpijob, jobset, if above 0")`.
pub fn targets_without(path: &str) -> Vec<(&'static str, String)> {
    let found = crate::targets::exceptions(path);
    let plain = path.strip_prefix("spec.").unwrap_or(path).replace("[]", "").replace("workers.groups.", "workers.");
    let is_field = |field: &str| plain == field;
    let row = |label, is_refused| {
        let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (target, exception) in found.iter().filter(|(_, exception)| exception.is_refused == is_refused) {
            // The condition of a map names fields of the map, so the row of a field in the map names the map.
            let condition = match exception.condition {
                condition if condition.is_empty() || is_field(exception.field) => condition.to_owned(),
                condition => format!("as all of `{}` {condition}", exception.field),
            };
            groups.entry(condition).or_default().push(target);
        }
        let texts: Vec<String> = groups
            .iter()
            .map(|(condition, targets)| {
                format!("{}, {condition}", targets.join(", ")).trim_end_matches(", ").to_owned()
            })
            .collect();
        (!texts.is_empty()).then(|| (label, format!("with --target {}", texts.join("; "))))
    };
    [row("refused", true), row("ignored", false)].into_iter().flatten().collect()
}

/// The types of texts and numbers with a unit, and how they are written. docs/fields.md has the same list.
const KINDS: &[(&str, &str)] = &[
    (
        "duration",
        "a number with its unit, or several in this order: `7d`, `12h`, `1h30m`, `90s`. The units are `d`, `h`, `m` and `s`; a \
         number without a unit is an error.",
    ),
    (
        "quantity",
        "a number as Kubernetes writes it: `32` or `500m` (thousandths) for CPUs, `64Gi` or `500Mi` for sizes. `Gi` counts in \
         powers of 1024 and `G` in powers of 1000. A size without a unit is in bytes.",
    ),
];

/// The type of a part of a schema. Durations and quantities are texts with a pattern.
fn kind_of(part: &Value) -> Option<&str> {
    let pattern = part["pattern"].as_str().unwrap_or_default();
    Some(match part["type"].as_str()? {
        "string" if pattern.contains("d)?([0-9]") => "duration",
        "string" if pattern.contains("Ki|Mi|Gi") => "quantity",
        kind => kind,
    })
}

fn dedup(mut words: Vec<&str>) -> Vec<&str> {
    let mut seen = Vec::new();
    words.retain(|word| {
        !seen.contains(word) && {
            seen.push(word);
            true
        }
    });
    words
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| flow(value), str::to_owned)
}

fn list(values: &[Value]) -> String {
    values.iter().map(plain).collect::<Vec<_>>().join(", ")
}

/// The examples, as a user can write them in a spec.
fn examples(values: &[Value]) -> String {
    values.iter().map(flow).collect::<Vec<_>>().join(" or ")
}

/// `; did you mean …?` with the most similar codes and fields.
fn nearest(root: &Value, topic: &str) -> String {
    let mut names: Vec<String> = crate::codes().map(|code| code.name.to_owned()).collect();
    if let Some(spec) = find(root, root, &["spec"]) {
        fields(root, spec, "", 4, &mut names);
    }
    let expectations = crate::expectations_schema();
    if let Some(expect) = find(&expectations, &expectations, &["expect"]) {
        fields(&expectations, expect, "expect", 2, &mut names);
    }
    let topic = topic.strip_prefix("spec.").unwrap_or(topic);
    let word = topic.to_ascii_lowercase();
    if let Some((_, field)) = TERMS.iter().find(|(term, _)| *term == word) {
        return format!("; see `khorovod explain {field}`");
    }
    if let Some((_, command)) = COMMANDS.iter().find(|(term, _)| *term == word) {
        return format!("; for a job in the cluster, use `{command}`");
    }
    let near = |name: &String| {
        let last = name.rsplit('.').next().unwrap_or(name);
        strsim::jaro_winkler(name, topic).max(strsim::jaro_winkler(last, topic) - 0.001)
    };
    let mut scored: Vec<(f64, &String)> =
        names.iter().map(|name| (near(name), name)).filter(|(score, _)| *score > 0.8).collect();
    // If two paths are equally similar, the shorter one comes first.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.len().cmp(&b.1.len())));
    scored.dedup_by(|a, b| a.1 == b.1);
    let names: Vec<&str> = scored.iter().take(3).map(|(_, name)| name.as_str()).collect();
    if names.is_empty() {
        "; `khorovod explain --codes` lists all codes, and `khorovod explain spec` all fields; the page \"Troubleshooting by \
         symptom\" of the documentation explains messages of running jobs"
            .to_owned()
    } else {
        format!("; did you mean {}?", names.join(" or "))
    }
}

/// Collects the paths of the fields below a schema, down to a depth.
fn fields(root: &Value, schema: &Value, prefix: &str, depth: usize, names: &mut Vec<String>) {
    for (name, field) in properties(root, schema).collect::<Vec<_>>() {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if depth > 0 {
            fields(root, field, &path, depth - 1, names);
        }
        names.push(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        serde_json::json!({
            "properties": { "spec": { "$ref": "#/$defs/Spec" } },
            "$defs": {
                "Spec": { "properties": { "workers": { "anyOf": [{ "$ref": "#/$defs/Workers" }], "title": "The workers" } } },
                "Workers": { "type": "object", "properties": {
                    "gpus": { "type": "integer", "title": "GPUs per worker", "default": 0, "maximum": 64 },
                    "gpuResource": { "enum": ["nvidia.com/gpu", "amd.com/gpu"] },
                    "groups": { "type": "array", "items": { "$ref": "#/$defs/Workers" } },
                } },
            },
        })
    }

    #[test]
    fn a_page_lists_type_default_and_bounds() {
        let schema = schema();
        let field = find(&schema, &schema, &["spec", "workers", "gpus"]).unwrap();
        insta::assert_snapshot!(page(&schema, field, "spec.workers.gpus"), @r"
        spec.workers.gpus

        GPUs per worker

          type      integer
          default   0
          maximum   64
        ");
        let groups = find(&schema, &schema, &["spec", "workers", "groups", "gpuResource"]).unwrap();
        assert!(page(&schema, groups, "x").contains("nvidia.com/gpu, amd.com/gpu"));
    }

    #[test]
    fn a_name_in_a_map_is_explained_as_its_value() {
        for path in ["env.NAME", "spec.env.NAME", "env.NAME.secretKeyRef", "placement.nodeSelector.gpu"] {
            assert!(explain(path).is_ok_and(|page| page.contains("type ")), "{path}: {:?}", explain(path));
        }
        assert!(explain("env.NAME.other").is_err());
    }

    #[test]
    fn exit_codes_of_khorovod_are_explained() {
        for code in ["1", "2", "3"] {
            let page = explain(code).unwrap();
            assert!(page.contains(&format!("If khorovod itself exited with {code}")), "{page}");
        }
        for (term, field) in TERMS {
            assert!(explain(field).is_ok(), "{term}: {field}");
        }
    }

    #[test]
    fn a_misspelled_field_has_suggestions() {
        assert!(nearest(&schema(), "workers.gpu").contains("did you mean workers.gpus"));
        assert!(nearest(&schema(), "gpsu").contains("workers.gpus"));
        assert!(nearest(&schema(), "maxGpuHours").contains("did you mean expect.maxGpuHours"));
        assert!(nearest(&schema(), "zzzz").contains("explain spec"));
        assert!(nearest(&schema(), "requeue").contains("explain lifecycle.retries"));
        assert!(nearest(&schema(), "OMP_NUM_THREADS").contains("explain env"));
    }
}
