//! Checks the output with two independent YAML parsers: both must read the value that was written.

use granit_parser::{Event, Parser};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{Literal, to_json, to_yaml};

fn yaml(value: &Json) -> String {
    let mut text = String::new();
    to_yaml(value, &mut text);
    text
}

/// The scalars of a YAML text, and whether each is plain.
fn scalars(text: &str) -> Vec<(String, bool)> {
    Parser::new_from_str(text)
        .map(|event| event.unwrap_or_else(|error| panic!("{error}\n{text}")).0)
        .filter_map(|event| match event {
            Event::Scalar(value, style, ..) => Some((value.into_owned(), style == granit_parser::ScalarStyle::Plain)),
            _ => None,
        })
        .collect()
}

/// All keys and values of a value, in order.
fn strings(value: &Json, into: &mut Vec<String>) {
    match value {
        Json::Object(map) => {
            for (key, value) in map {
                into.push(key.clone());
                strings(value, into);
            }
        }
        Json::Array(list) => list.iter().for_each(|value| strings(value, into)),
        Json::String(text) => into.push(text.clone()),
        Json::Null => into.push("null".into()),
        other => into.push(other.to_string()),
    }
}

/// Checks that both parsers read the value back.
#[track_caller]
fn reads_back(value: &Json) {
    let text = yaml(value);
    let read: Json = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&read, value, "serde_yaml\n{text}");
    let mut expected_scalars = Vec::new();
    strings(value, &mut expected_scalars);
    let read: Vec<String> = scalars(&text).into_iter().map(|(value, _)| value).collect();
    assert_eq!(read, expected_scalars, "granit-parser\n{text}");
    assert_eq!(&to_json(value), value, "to_json");
}

/// A value that has a text in every kind of position: key, value, list item, nested.
fn everywhere(text: &str) -> Json {
    json!({
        "plain": text,
        "list": [text, [text, [text]], {"a": text, "b": [text]}],
        (format!("{text}k")): {(text): [{(text): text}]},
        (text): text,
        "last": {"deep": {"deeper": [[{"deepest": text}], text]}},
    })
}

const DIFFICULT: &[&str] = &[
    "",
    " ",
    "  a",
    "a ",
    "\t",
    "\ta",
    "a\tb",
    "y",
    "Y",
    "n",
    "No",
    "yes",
    "on",
    "OFF",
    "true",
    "False",
    "null",
    "Null",
    "~",
    "0",
    "-1",
    "+1",
    "1_000",
    "0x1F",
    "0o17",
    "017",
    "0b101",
    "1e3",
    "1.5",
    ".5",
    "5.",
    "1.2.3",
    "-.inf",
    ".inf",
    ".NaN",
    "inf",
    "nan",
    "190:20:30",
    "12:30",
    "2001-01-01",
    "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43",
    "=",
    "<<",
    "_1",
    "-",
    "--",
    "---",
    "...",
    "- a",
    "-1a",
    "?",
    "? a",
    ":",
    "a:",
    "a: b",
    ":a",
    "a :b",
    "a#b",
    "a #b",
    "#a",
    "&a",
    "*a",
    "!a",
    "!!str a",
    "|",
    ">",
    "'",
    "\"",
    "'a'",
    "\"a\"",
    "%a",
    "@a",
    "`a",
    "{",
    "}",
    "{}",
    "[]",
    "[a]",
    ",",
    "a,b",
    "a\\b",
    "{\"a\": 1}",
    "it's \"so\"",
    "\n",
    "\n\n",
    "a\n",
    "a\nb",
    "a\n\n",
    "a\n\n\n",
    "\na",
    "\n\na\n",
    " a\nb",
    "\n  a\nb\n",
    "a\n b\n",
    "\ta\nb",
    "\n\ta\n",
    "a\n\tb\n",
    "a\n  \nb",
    "a\n  ",
    "a\n\t",
    "   \na",
    "   \n\n",
    "a\n---\nb\n",
    "a\n...\n",
    "---\na",
    "#!/bin/bash\n# x\n",
    "a\r\nb\r\n",
    "a\rb",
    "\r",
    "a\u{85}b",
    "a\n\u{2028}b\n",
    "\u{2029}",
    "\u{feff}a",
    "a\u{feff}\n",
    "\0",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{80}",
    "\u{a0}",
    "é",
    "日本\n語\n",
    "🐎",
    "\u{fffe}",
    "key: |\n  x\n",
    "- a\n- b",
    "%YAML 1.2\n",
];

#[test]
fn difficult_texts_read_back_in_every_position() {
    for text in DIFFICULT {
        reads_back(&everywhere(text));
    }
}

#[test]
fn texts_that_yaml_1_1_reads_as_another_type_are_quoted() {
    for text in DIFFICULT.iter().take_while(|text| **text != "-") {
        if text.starts_with(char::is_alphabetic) && text.contains(['\t', ' ']) {
            continue;
        }
        let written = yaml(&json!({ "k": text, (*text): 1 }));
        let found = scalars(&written);
        assert!(!found[1].1, "value {text:?} is plain");
        assert!(*text == "k" || !found[2].1, "key {text:?} is plain");
    }
}

#[test]
fn common_texts_are_plain() {
    for text in [
        "nginx:1.4",
        "10Gi",
        "500m",
        "--np",
        "-x",
        "/bin/bash",
        "a b",
        "ghcr.io/acme/mnist:1.4",
        "mnist-0.mnist",
        "v1",
        "./a",
        "https://a.b/c?d=e",
        "$(HOME)",
        "it's",
        "nvidia.com/gpu",
        "ReadWriteMany",
        "32k",
    ] {
        assert_eq!(yaml(&json!({ "k": text })), format!("k: {text}\n"));
    }
}

#[test]
fn output_has_the_style_of_kubernetes_tools() {
    let value = json!({
        "apiVersion": "v1",
        "metadata": {"name": "a", "labels": {}, "on": null},
        "spec": {"containers": [{"name": "x", "args": ["--a", "1", "{\"b\": 2}"], "ports": [{"port": 22}]}], "none": []},
        "data": {"run.sh": "#!/bin/bash\n\nexec true\n", "tail": "a\nb", "more": "a\n\n", "lead": "  a\nb\n"},
        "sizes": [1, -1, 1.5, 1e300, true],
        "nested": [[1, 2], [], {}],
    });
    let expected = r#"apiVersion: v1
metadata:
  name: a
  labels: {}
  "on": null
spec:
  containers:
  - name: x
    args:
    - --a
    - "1"
    - '{"b": 2}'
    ports:
    - port: 22
  none: []
data:
  run.sh: |
    #!/bin/bash

    exec true
  tail: |-
    a
    b
  more: |+
    a

  lead: |2
      a
    b
sizes:
- 1
- -1
- 1.5
- 1.0e+300
- true
nested:
- - 1
  - 2
- []
- {}
"#;
    assert_eq!(yaml(&value), expected);
    assert_eq!(serde_yaml::from_str::<Json>(expected).unwrap(), value);
    assert_eq!(to_json(&value), value);
}

#[test]
fn any_number_converts_to_the_same_json() {
    let value = json!([i64::MIN, i64::MAX, u64::MAX, 0, -1, 0.1, -0.0, 1e-7, 1e16, f64::MAX, f64::MIN_POSITIVE]);
    assert_eq!(to_json(&value), value);
    assert_eq!(to_json(&[f64::NAN, f64::INFINITY]), json!([null, null]));
}

#[test]
fn long_keys_and_top_level_scalars_read_back() {
    let long = "k".repeat(3000);
    reads_back(&json!({"a": {(long.as_str()): ["x", {(long.as_str()): {"b": "c"}}]}}));
    for value in
        [json!("a\nb"), json!("---\na\n"), json!(["a"]), json!([]), json!({}), json!("no"), json!([[{"a": "b\nc\n"}]])]
    {
        reads_back(&value);
    }
}

/// Random texts of characters that have a meaning in YAML.
fn difficult_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\n", " ", "  ", "\t", ":", ": ", " #", "#", "-", "- ", "---", "...", "?", "!", "&", "*", "|", ">", "'", "\"",
            "\\", "%", "@", "`", "{", "}", "[", "]", ",", "=", "<<", "~", "\r", "\u{85}", "\u{2028}", "\u{feff}", "\0", "0", "1",
            "_", ".", "e", "x", "y", "no", "true", "a", "b c", "é",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn tree() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        6 => difficult_text().prop_map(Json::from),
        1 => any::<i64>().prop_map(Json::from),
        1 => any::<bool>().prop_map(Json::from),
        1 => Just(Json::Null),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::vec((difficult_text(), inner), 0..5)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_reads_back_in_every_position(text in difficult_text()) {
        reads_back(&everywhere(&text));
    }

    #[test]
    fn any_tree_reads_back(value in tree()) {
        reads_back(&value);
    }
}

#[test]
fn a_literal_is_written_like_any_other_text() {
    #[derive(Serialize)]
    struct Deep<T> {
        data: T,
    }
    fn yaml(value: &impl Serialize) -> String {
        let mut out = String::new();
        to_yaml(value, &mut out);
        out
    }
    let literals = [
        (Literal::from_block("|\n    #!/bin/bash\n\n      echo 1\n"), "#!/bin/bash\n\n  echo 1\n"),
        (Literal::new("#!/bin/bash\n\n    echo 1\n").unwrap(), "#!/bin/bash\n\n    echo 1\n"),
        (Literal::EMPTY, ""),
    ];
    for (literal, text) in literals {
        assert_eq!(literal.text(), text);
        assert_eq!(to_json(&literal), text);
        assert_eq!(yaml(&Deep { data: Deep { data: literal } }), yaml(&Deep { data: Deep { data: text } }));
        assert_eq!(yaml(&Deep { data: literal }), yaml(&Deep { data: text }));
        assert_eq!(yaml(&[literal]), yaml(&[text]));
    }
    assert_eq!(Literal::new("one line"), None);
}
