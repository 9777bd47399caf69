//! Difficult YAML: texts that parsers read differently, texts that hide a mistake, texts that could exhaust a machine, and
//! overlays and settings with `--overlay` and `--set`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use khorovod::problem::Problem;
use khorovod::{Inputs, Keys, Text};

/// The smallest job, to which fields of `spec` can be appended.
fn job(more: &str) -> String {
    format!(
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata:\n  name: mnist\nspec:\n  image: a/b:1\n  \
         command: [python, train.py]\n  workers: {{replicas: 4, gpus: 8}}\n{more}"
    )
}

fn inputs() -> Inputs {
    Inputs { keys: Keys::Seed([7; 32]), ..Inputs::default() }
}

fn text(text: impl Into<String>) -> Text {
    Text { name: "job.yaml".to_owned(), text: text.into() }
}

fn found_with(spec: impl Into<String>, inputs: &Inputs) -> Vec<Problem> {
    khorovod::check(&text(spec), inputs).list
}

fn codes(spec: impl Into<String>) -> Vec<&'static str> {
    found_with(spec, &Inputs::default()).iter().map(|problem| problem.code.name).collect()
}

/// Renders a valid spec.
fn rendered_with(spec: impl Into<String>, inputs: &Inputs) -> String {
    khorovod::render(&text(spec), inputs).unwrap_or_else(|problems| panic!("{:?}", problems.list)).text
}

fn rendered(spec: impl Into<String>) -> String {
    rendered_with(spec, &inputs())
}

/// Runs a function with a time limit; returns its result.
fn quick<T>(call: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = call();
    // Long enough for debug builds on busy machines; an endless computation would take minutes.
    assert!(start.elapsed() < Duration::from_secs(20), "it took {:?}", start.elapsed());
    answer
}

#[test]
fn words_that_some_readers_take_for_booleans_are_refused() {
    for word in ["y", "Y", "yes", "Yes", "YES", "n", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"] {
        assert_eq!(codes(job(&format!("  env: {{A: {word}}}\n"))), ["yaml-ambiguous"], "{word}");
        assert_eq!(codes(job(&format!("  security: {{networkPolicy: {word}}}\n"))), ["yaml-ambiguous"], "{word}");
        assert_eq!(codes(job(&format!("  env:\n    {word}: \"1\"\n"))), ["yaml-key"], "{word}");
        assert!(codes(job(&format!("  env: {{A: \"{word}\", '{word}': b}}\n"))).is_empty(), "{word} in quotes");
    }
    for word in ["true", "True", "false", "FALSE"] {
        assert_eq!(codes(job(&format!("  env: {{A: {word}}}\n"))), ["wrong-type"], "{word}");
        assert!(codes(job(&format!("  security: {{networkPolicy: {word}}}\n"))).is_empty(), "{word}");
    }
    for word in ["yep", "none", "onward", "None"] {
        assert!(codes(job(&format!("  env: {{A: {word}}}\n"))).is_empty(), "{word}");
    }
}

#[test]
fn numbers_that_readers_take_differently_are_refused() {
    for number in [
        "0777",
        "-017",
        "0o17",
        "0x1F",
        "0b11",
        "1_000",
        "1_0.5",
        "1:30",
        "12:30:00",
        "190:20:30.15",
        ".inf",
        "-.Inf",
        ".NaN",
        "9223372036854775808",
    ] {
        assert_eq!(codes(job(&format!("  env: {{A: {number}}}\n"))), ["yaml-ambiguous"], "{number}");
        assert_eq!(codes(job(&format!("  ssh: {{port: {number}}}\n"))), ["yaml-ambiguous"], "{number}");
        assert_eq!(codes(job(&format!("  patches: [{{patch: {{a: [{number}]}}}}]\n"))), ["yaml-ambiguous"], "{number}");
        assert!(codes(job(&format!("  env: {{A: \"{number}\"}}\n"))).is_empty(), "{number} in quotes");
    }
    for number in ["8", "0.5", "1e3", "-1", "+1"] {
        assert_eq!(codes(job(&format!("  env: {{A: {number}}}\n"))), ["wrong-type"], "{number}");
    }
    for word in ["1.2.3", "2024-01-01", "1e", "0x", "10:20:ab", "v1", "1-2", "08x", "10.0.0.1"] {
        assert!(codes(job(&format!("  env: {{A: {word}}}\n"))).is_empty(), "{word}");
    }
}

#[test]
fn null_is_not_a_value() {
    for nothing in ["", " ~", " null", " Null", " # a comment"] {
        assert_eq!(codes(job(&format!("  env:\n    A:{nothing}\n"))), ["empty-value"], "{nothing:?}");
        assert_eq!(codes(job(&format!("  ssh:{nothing}\n"))), ["empty-value"], "{nothing:?}");
    }
    assert!(codes(job("  env: {A: \"\", B: 'null'}\n")).is_empty());
    assert_eq!(codes(job("  env: {\"\": a}\n")), ["invalid-value"]);
    assert_eq!(codes(job("  env: {: a}\n")), ["yaml-key"]);
}

#[test]
fn keys_are_unique_texts() {
    assert_eq!(codes(job("  env: {A: a, B: b, A: c}\n")), ["yaml-duplicate-key"]);
    assert_eq!(codes(job("  x: 1\n  x: 2\n  x: 3\n")), ["unknown-field", "yaml-duplicate-key", "yaml-duplicate-key"]);
    assert_eq!(codes(job("  env: {A: a, \"A\": c, 'A': d}\n")), ["yaml-duplicate-key"; 2]);
    assert_eq!(codes(job("  workers: {replicas: 2}\n")), ["yaml-duplicate-key"]);
    for key in ["1", "1.5", "null", "~", "true", "0x1", "1:30"] {
        assert_eq!(codes(job(&format!("  patches: [{{patch: {{{key}: a}}}}]\n"))), ["yaml-key"], "{key}");
    }
    for key in ["[a]", "{a: b}", "? [a, b]\n", "? {a: b}\n"] {
        assert_eq!(codes(job(&format!("  patches: [{{patch: {{{key}: a}}}}]\n"))), ["yaml-key"], "{key}");
    }
    assert_eq!(codes(job("  env: {<<: {A: a}, B: b}\n")), ["yaml-merge-key"]);
    assert_eq!(
        codes(job("  patches: [{patch: {<<: [{a: b}], \"<<\": c}}]\n")),
        ["yaml-merge-key"],
        "in quotes it is a key"
    );
}

#[test]
fn tags_are_refused_at_their_place() {
    for (more, tag) in [
        ("  env: {A: !!str 1}\n", "!!str"),
        ("  env: {A: !secret hf}\n", "!secret"),
        ("  env: !!map {A: a}\n", "!!map"),
        ("  args: !!seq\n    - a\n", "!!seq"),
        ("  env: {A: ! 1}\n", "!"),
        ("  env: {A: !<tag:yaml.org,2002:str> 1}\n", "!<tag:yaml.org,2002:str>"),
        ("  env: {A: !!str &x 1}\n", "!!str"),
        ("  env: {A: &x !!str 1}\n", "!!str"),
        ("  env: {!!str A: b}\n", "!!str"),
    ] {
        let spec = job(more);
        let found = found_with(&spec, &Inputs::default());
        assert_eq!(found.iter().map(|problem| problem.code.name).collect::<Vec<_>>(), ["yaml-tag"], "{more}");
        let span = found[0].labels[0].span;
        assert_eq!(&spec[span.start..span.end], tag, "{more}");
    }
}

#[test]
fn tabs_are_refused_only_in_indentation() {
    let found = found_with(job("  env:\n\tA: a\n"), &Inputs::default());
    assert_eq!(found[0].code.name, "yaml-syntax");
    assert!(found[0].hint.as_ref().unwrap().contains("spaces"));
    for more in
        ["  env: {A:\ta}\n", "  env: {A: \"a\tb\"}\n", "  env:\t# why\n    A: a\n", "  env:\n    A: |\n      a\tb\n"]
    {
        assert!(codes(job(more)).is_empty(), "{more:?}");
    }
}

#[test]
fn byte_order_marks_and_line_endings_change_nothing() {
    let spec = job("  env:\n    A: |\n      a\n      b\n");
    let plain = rendered(&spec);
    assert_eq!(rendered(format!("\u{feff}{spec}")).trim_start_matches('\u{feff}'), plain);
    assert_eq!(rendered(spec.replace('\n', "\r\n")), plain);
    assert_eq!(rendered(job("").trim_end()), rendered(job("")));
    // Locations refer to the original text.
    let found = found_with(format!("\u{feff}{}", job("  gpus: 8\n").replace('\n', "\r\n")), &Inputs::default());
    let problems =
        khorovod::check(&text(format!("\u{feff}{}", job("  gpus: 8\n").replace('\n', "\r\n"))), &Inputs::default());
    let place = problems.sources.position(found[0].labels[0].span);
    assert_eq!((found[0].code.name, place.line, place.column), ("unknown-field", 9, 3));
    assert_eq!(problems.sources.slice(found[0].labels[0].span), "gpus");
}

#[test]
fn aliases_have_the_value_of_their_anchor() {
    let with = job("  env: {A: &a hello, B: *a}\n  args: [*a, &b x, *b]\n");
    let without = job("  env: {A: hello, B: hello}\n  args: [hello, x, x]\n");
    assert_eq!(rendered(with), rendered(without));
    assert_eq!(codes(job("  env: {A: *unknown}\n")), ["yaml-syntax"]);
    assert_eq!(codes(job("  args: &a [*a]\n")), ["yaml-syntax"]);
    // An anchor is valid until the end of its document.
    let across = format!("{}---\n{}", job("  env: {A: &a hello}\n"), job("  env: {A: *a}\n").replace("mnist", "other"));
    assert_eq!(codes(across), ["yaml-syntax"]);
}

#[test]
fn alias_bombs_end_quickly() {
    let mut bomb = job("  patches:\n    - patch:\n        a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..40 {
        let list = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "        a{level}: &a{level} [{list}]");
    }
    assert_eq!(quick(|| codes(&bomb)), ["yaml-too-large"]);
    let wide = format!("{}  args: [{}]\n", job(""), "a, ".repeat(200_000));
    assert_eq!(quick(|| codes(wide)), ["yaml-too-large"]);
    // A YAML bomb in another document does not matter.
    let foreign = format!("{}---\n{}", bomb.replace("khorovod.dev/", "x/").replace("TrainingJob", "Job"), job(""));
    assert!(quick(|| codes(foreign)).is_empty());
}

#[test]
fn long_words_end_quickly() {
    let long = "x".repeat(3 << 20);
    let ours = job("");
    assert_eq!(quick(|| codes(format!("apiVersion: {long}\nkind: TrainingJob\n"))), ["no-training-job"]);
    assert_eq!(quick(|| codes(format!("{ours}  ? {long}\n  : 1\n"))), ["spec-too-large", "unknown-field"]);
    for field in ["launcher: LONG", "env: {LONG: a}", "env: {NCCL_LONG: a}", "runTag: LONG", "workingDir: /LONG"] {
        let _ = quick(|| codes(job(&format!("  {}\n", field.replace("LONG", &long)))));
    }
}

#[test]
fn nesting_ends_quickly() {
    let deep = |open: &str, close: &str, levels: usize| {
        job(&format!("  patches: [{{patch: {{a: {}x{}}}}}]\n", open.repeat(levels), close.repeat(levels)))
    };
    assert!(!codes(deep("[", "]", 30)).contains(&"yaml-too-large"));
    for spec in [
        deep("[", "]", 60),
        deep("{a: ", "}", 60),
        deep("[", "]", 100_000),
        job(&format!("  args:\n    {}a\n", "- ".repeat(60))),
    ] {
        assert_eq!(quick(|| codes(spec)), ["yaml-too-large"]);
    }
    let open = "[".repeat(4 << 20);
    assert_eq!(quick(|| codes(open.clone())), ["no-training-job"]);
    assert_eq!(quick(|| codes(job(&format!("  args: {}\n", open.repeat(25))))), ["yaml-too-large"]);
    assert_eq!(quick(|| codes(format!("# TrainingJob\n{open}"))), ["no-training-job"]);
    assert_eq!(quick(|| codes(job("") + &"  x:\n".repeat(10_000))).first(), Some(&"unknown-field"));
}

#[test]
fn streams_without_a_job_are_reported() {
    let binary: String = (0..=255_u8).map(char::from).collect();
    for none in
        ["", "\n", "# a comment\n", "---\n", "--- # a\n...\n", "\u{feff}", "a: 1\n", "[]", "hello", "\t", "{", &binary]
    {
        assert_eq!(codes(none), ["no-training-job"], "{none:?}");
        assert!(khorovod::render(&text(none), &inputs()).is_err());
    }
    // An invalid document of kind TrainingJob is not reported as missing.
    for broken in [
        job("  env: {\n"),
        "{\"apiVersion\": \"khorovod.dev/v1alpha1\", \"kind\": ".to_owned(),
        format!("{binary}\n{}", job("")),
    ] {
        assert_eq!(codes(&broken), ["yaml-syntax"], "{broken:?}");
    }
    // A TrainingJob inside a text of another document is not a job.
    let quoted = format!("kind: ConfigMap\ndata:\n  job.yaml: |\n    {}", job("").replace('\n', "\n    "));
    assert_eq!(codes(quoted), ["no-training-job"]);
}

#[test]
fn no_mistake_is_lost_among_many() {
    // 2,000 warnings about earlier jobs do not hide the error in the last job.
    let mut stream = String::new();
    for index in 0..2_000 {
        stream += &job("").replace("mnist", &format!("a{index}")).replace("a/b:1", "a/b");
        stream += "---\n";
    }
    stream += &job("  extra: 1\n");
    let codes = quick(|| codes(&stream));
    assert_eq!((codes.len(), codes.last()), (2_001, Some(&"unknown-field")));
    assert!(khorovod::render(&text(stream), &inputs()).is_err());
}

#[test]
fn ten_thousand_documents_are_read_quickly() {
    let mut stream = String::new();
    for index in 0..10_000 {
        let _ = write!(stream, "---\nkind: Job\nmetadata: {{name: a{index}}}\n");
    }
    stream += "---\n";
    stream += &job("");
    assert!(quick(|| codes(&stream)).is_empty());
    let out = quick(|| rendered(&stream));
    assert_eq!(out.matches("\nkind: Job\nmetadata: {name: a").count(), 10_000);
}

#[test]
fn json_is_yaml() {
    let yaml = job("");
    let json = r#"{"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mnist"},
        "spec": {"image": "a\/b:1", "command": ["python", "tra\u0069n.py"], "workers": {"replicas": 4, "gpus": 8}}}"#;
    assert_eq!(rendered(json), rendered(&yaml));
    assert_eq!(rendered(format!("--- {}", json.replace('\n', " "))), format!("---\n{}", rendered(&yaml)));
    assert_eq!(rendered(format!("---\n{json}\n...\n")), format!("---\n{}...\n", rendered(&yaml)));
}

#[test]
fn foreign_documents_pass_byte_for_byte() {
    let before = "# a comment\r\nkind:   ConfigMap\ndata: {b: 'x',\ta: on, a: &x 0777}\n--- # the job\n";
    let after = "---\n!!broken [: yaml\n...\n%TAG ! x\n--- |\n  text\n---\n\n# last\n";
    let out = rendered(format!("{before}{}{after}", job("")));
    let own = rendered(job(""));
    assert_eq!(out, format!("{before}{own}{after}"));
    let two = rendered(format!("{}---\n{before}{}", job(""), job("").replace("mnist", "other")));
    assert!(two.starts_with(&own) && two[own.len()..].starts_with(&format!("---\n{before}")), "{two}");
}

/// Rendered objects without the annotation that holds the spec as it was written.
fn without_spec(objects: &str) -> String {
    objects.lines().filter(|line| !line.trim_start().starts_with("khorovod.dev/spec: ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn texts_keep_their_form() {
    let folded = job("  command:\n    python train.py\n    --lr 0.1\n\n    --epochs 90\n");
    let folded = folded.replacen("  command: [python, train.py]\n", "", 1);
    assert_eq!(codes(&folded), ["literal-word"], "the last line is a command of its own");
    let quoted = job("").replace("[python, train.py]", "\"python train.py --lr 0.1\\n--epochs 90\"");
    assert_eq!(without_spec(&rendered(folded)), without_spec(&rendered(quoted)));
    for (block, value) in [("|", "a\n b\n"), ("|-", "a\n b"), ("|+", "a\n b\n\n"), (">", "a\n b\n"), (">-", "a\n b")] {
        let block = job(&format!("  env:\n    A: {block}\n      a\n       b\n\n"));
        let quoted = job(&format!("  env:\n    A: {}\n", serde_json::json!(value)));
        assert_eq!(rendered(block), rendered(quoted));
    }
    for text in [
        "a # b",
        "a: b",
        "- a",
        "[a",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "a\u{85}b",
        "\u{2028}",
        "a\\b",
        "é\u{1f600}",
        "\u{7}",
    ] {
        let spec = job(&format!("  env:\n    A: {}\n", serde_json::json!(text)));
        let out = rendered(spec);
        let seen = serde_yaml::Deserializer::from_str(&out).any(|document| {
            let value: serde_json::Value = serde::Deserialize::deserialize(document).unwrap();
            let env = value.pointer("/spec/template/spec/containers/0/env");
            env.and_then(|env| env.as_array())
                .is_some_and(|env| env.iter().any(|entry| entry["name"] == "A" && entry["value"] == text))
        });
        assert!(seen, "{text:?} is lost:\n{out}");
    }
}

#[test]
fn a_block_that_breaks_off_has_no_line_end() {
    let with = |end: &str| job(&format!("  env:\n    A: {end}"));
    for (block, value) in [
        ("|\n      a\n      b", "a\nb"),
        ("|\n      a\n      b\n", "a\nb\n"),
        ("|+\n      a\n      b", "a\nb"),
        ("|-\n      a", "a"),
        (">\n      a\n      b", "a b"),
        (">\n      a\n      b\n", "a b\n"),
        ("|\n      a\n      ", "a\n"),
        ("|\n      a\n# b", "a\n"),
        ("|\n      a\n    # b", "a\n"),
        ("|\n      a\n\n\n# b", "a\n"),
    ] {
        let quoted = with(&format!("{}\n", serde_json::json!(value)));
        assert_eq!(rendered(with(block)).trim_end(), rendered(quoted).trim_end(), "{block:?}");
    }
}

#[test]
fn a_terminal_escape_is_a_problem_and_never_an_order() {
    let found = found_with(job("").replace("mnist", "\"a\\e[2J\""), &Inputs::default());
    assert_eq!(found[0].code.name, "invalid-value");
    let raw = found_with(job("").replace("mnist", "a\u{1b}[2J"), &Inputs::default());
    assert_eq!(raw[0].code.name, "yaml-syntax");
    assert!(!raw[0].message.contains('\u{1b}'));
}

fn overlaid(spec: &str, overlays: &[&str]) -> Inputs {
    let _ = spec;
    let overlay = |(index, text): (usize, &&str)| Text { name: format!("{index}.yaml"), text: (*text).to_owned() };
    Inputs { overlays: overlays.iter().enumerate().map(overlay).collect(), ..inputs() }
}

/// Asserts that a spec with an overlay renders to the same objects as `expected`.
fn overlay(spec: &str, overlays: &[&str], expected: &str) {
    assert_eq!(rendered_with(spec, &overlaid(spec, overlays)), rendered(expected), "{overlays:?}");
}

fn set(spec: &str, sets: &[&str], expected: &str) {
    let inputs = Inputs { sets: sets.iter().map(|set| (*set).to_owned()).collect(), ..inputs() };
    assert_eq!(rendered_with(spec, &inputs), rendered(expected), "{sets:?}");
}

#[test]
fn overlays_merge_maps_replace_the_rest_and_remove_by_null() {
    let spec = job("  env: {A: a, B: b}\n  args: [x, w]\n");
    overlay(&spec, &["spec: {env: {B: c, C: d}}"], &job("  env: {A: a, B: c, C: d}\n  args: [x, w]\n"));
    overlay(&spec, &["spec: {args: [z]}"], &job("  env: {A: a, B: b}\n  args: [z]\n"));
    // A launcher may be a text, and mpirun is the default.
    let more = ["spec: {launcher: {args: [--verbose]}}"];
    overlay(&job("  launcher: horovodrun\n"), &more, &job("  launcher: {kind: horovodrun, args: [--verbose]}\n"));
    overlay(&job(""), &["spec: {launcher: {memory: 4Gi}}"], &job("  launcher: {kind: mpirun, memory: 4Gi}\n"));
    set(&job("  launcher: horovodrun\n"), &["launcher.cpu=2"], &job("  launcher: {kind: horovodrun, cpu: 2}\n"));
    set(&job(""), &["launcher.cpu=2"], &job("  launcher: {kind: mpirun, cpu: 2}\n"));
    overlay(&spec, &["spec: {env: {A: null}, args: ~}"], &job("  env: {B: b}\n"));
    overlay(&spec, &["spec: {ssh: null, env: {Z: null}}"], &spec);
    overlay(&spec, &["spec: {args: [z]}", "spec: {args: [v]}"], &job("  env: {A: a, B: b}\n  args: [v]\n"));
    overlay(&spec, &["---\n# why\nspec: {env: null}\n"], &job("  args: [x, w]\n"));
    overlay(&spec, &["spec: {env: {A: &a q, B: *a}}"], &job("  env: {A: q, B: q}\n  args: [x, w]\n"));
}

#[test]
fn mistakes_of_an_overlay_have_a_place_in_the_overlay() {
    let spec = job("");
    for (overlay, code, marked) in [
        ("spec: {workers: {gpu: 8}}", "unknown-field", "gpu"),
        ("spec: {nothing: null}", "bad-overlay", "nothing"),
        ("spec: {workers: {gpus: 65}}", "out-of-range", "65"),
        ("spec: {workers: {slotsPerWorker: 16}}", "slots-above-gpus", "16"),
        ("spec: {runTag: yes}", "yaml-ambiguous", "yes"),
        ("spec: {a: [}", "yaml-syntax", "["),
        ("- spec", "bad-overlay", "- spec"),
        ("", "bad-overlay", ""),
        ("a: 1\n---\nb: 2\n", "bad-overlay", "a: 1"),
    ] {
        let problems = khorovod::check(&text(&spec), &overlaid(&spec, &[overlay]));
        let first = &problems.list[0];
        let span = first.labels[0].span;
        assert_eq!((first.code.name, problems.sources.slice(span)), (code, marked), "{overlay}");
        assert_eq!(problems.sources.get(span.source).unwrap().name, "0.yaml");
    }
}

#[test]
fn settings_find_their_place() {
    let spec = job("  env: {A: a}\n  storage:\n    - {name: data, mountPath: /data, existingClaim: c}\n");
    let with =
        |env: &str, storage: &str| job(&format!("  env: {{{env}}}\n  storage:\n    - {{name: data, {storage}}}\n"));
    let claim = "mountPath: /data, existingClaim: c";
    set(&spec, &["env.A=b"], &with("A: b", claim));
    set(&spec, &["spec.env.A=b"], &with("A: b", claim));
    set(&spec, &["env.B=\"8\""], &with("A: a, B: \"8\"", claim));
    set(&spec, &["env.B=a=b"], &with("A: a, B: a=b", claim));
    set(&spec, &["env={C: c}"], &with("C: c", claim));
    set(&spec, &["env.A=b", "env.A=c"], &with("A: c", claim));
    set(&spec, &["storage[0].mountPath=/x"], &with("A: a", "mountPath: /x, existingClaim: c"));
    set(
        &spec,
        &["storage[0].existingClaim=null", "storage[0].claim.size=1Gi"],
        &with("A: a", "mountPath: /data, claim: {size: 1Gi}"),
    );
    set(&spec, &["env=null", "storage=null"], &job(""));
    set(&spec, &["metadata.name=other"], &spec.replace("mnist", "other"));
    set(
        &job(""),
        &["metadata.labels.acme\\.com/team=vision"],
        &job("").replace("name: mnist", "name: mnist\n  labels: {acme.com/team: vision}"),
    );
    set(&job(""), &["placement.nodeSelector.pool=a100"], &job("  placement: {nodeSelector: {pool: a100}}\n"));
}

#[test]
fn mistakes_of_a_setting_have_a_place_in_the_setting() {
    let deep = "a.".repeat(48) + "a";
    for (set, code, marked) in [
        ("workers.gpus", "bad-set", "workers.gpus"),
        ("=8", "bad-set", ""),
        ("workers..gpus=8", "bad-set", "workers..gpus"),
        ("workers.gpus.x=8", "bad-set", "workers.gpus.x"),
        ("workers[0]=8", "bad-set", "workers[0]"),
        ("storage[1].name=a", "bad-set", "storage[1].name"),
        ("workers.=8", "bad-set", "workers."),
        (".workers.gpus=8", "bad-set", ".workers.gpus"),
        ("command[0]x=8", "bad-set", "command[0]x"),
        ("storage[-1].name=a", "bad-set", "storage[-1].name"),
        ("command[0.a]=b", "bad-set", "command[0.a]"),
        ("command[0=b", "bad-set", "command[0"),
        (&format!("{deep}=1"), "bad-set", &deep),
        ("workers.gpu=8", "unknown-field", "workers.gpu"),
        ("workers.gpus=yes", "yaml-ambiguous", "yes"),
        ("workers.gpus=eight", "wrong-type", "eight"),
        ("workers.gpus=", "bad-set", "workers.gpus="),
        ("workers.gpus={", "yaml-syntax", "{"),
        ("env.A=8", "wrong-type", "8"),
    ] {
        let problems = khorovod::check(&text(job("")), &Inputs { sets: vec![set.to_owned()], ..inputs() });
        let first = problems.list.first().unwrap_or_else(|| panic!("{set} is taken"));
        let span = first.labels[0].span;
        assert_eq!((first.code.name, problems.sources.slice(span)), (code, marked), "{set}");
        assert_eq!(problems.sources.get(span.source).unwrap().text, set);
    }
}
