//! Only the emitter: any tree of JSON values, which the KRM function returns as YAML.

use khorovod::krm;
use serde_json::{Map, Value as Json, json};

use super::choices::Choices;
use super::{inputs, read, text};

pub fn run(input: &[u8]) {
    let items = [value(&mut Choices::new(input), 0)];
    let list = json!({"kind": "ResourceList", "items": items}).to_string();
    if list.contains("khorovod") {
        return;
    }
    let meant: Json = serde_json::from_str(&list).expect("it was JSON");
    let (out, found) = krm(&text(list), &inputs());
    assert!(found.list.is_empty(), "{:?}", found.list);
    assert_eq!(read(&out), [meant], "{out}");
}

fn value(choices: &mut Choices<'_>, depth: usize) -> Json {
    let kinds = if depth < 12 { 8 } else { 6 };
    match choices.below(kinds) {
        0 => Json::Null,
        1 => Json::from(choices.below(2) == 0),
        2 => Json::from(choices.number().cast_signed()),
        3 => Json::from(f64::from_bits(choices.number())),
        4 | 5 => Json::from(choices.text()),
        6 => (0..choices.below(5)).map(|_| value(choices, depth + 1)).collect(),
        _ => {
            let entries = (0..choices.below(5)).map(|_| (choices.text(), value(choices, depth + 1)));
            Json::Object(entries.collect::<Map<_, _>>())
        }
    }
}
