//! Runs the fuzz targets without a fuzzer: on the seeds, on all regressions (`fuzz/regressions/TARGET/`), and on random
//! inputs. `fuzz/run.sh` runs them with libFuzzer.

#[path = "../fuzz/src/targets/mod.rs"]
mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

#[test]
fn seeds_pass() {
    for target in targets::ALL {
        for seed in targets::seeds::of(target.name) {
            (target.run)(&seed);
        }
    }
}

#[test]
fn regressions_pass() {
    let known: BTreeSet<&str> = targets::ALL.iter().map(|target| target.name).collect();
    for entry in fs::read_dir(fuzz().join("regressions")).unwrap() {
        let folder = entry.unwrap();
        let name = folder.file_name().into_string().unwrap();
        assert!(known.contains(&*name), "regressions/{name} names no fuzz target");
    }
    for target in targets::ALL {
        let Ok(found) = fs::read_dir(fuzz().join("regressions").join(target.name)) else { continue };
        for entry in found {
            let path = entry.unwrap().path();
            println!("{}", path.display());
            (target.run)(&fs::read(path).unwrap());
        }
    }
}

/// A reproducible random generator (splitmix64).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn random_inputs_pass() {
    for target in targets::ALL {
        let mut state = 0;
        for _ in 0..200 {
            let length = next_random(&mut state) % 200;
            let input: Vec<u8> = (0..length).map(|_| next_random(&mut state).to_le_bytes()[0]).collect();
            println!("{} {}", target.name, input.escape_ascii());
            (target.run)(&input);
        }
    }
}

/// All keys and words of the schema, and texts that are special in YAML.
fn words(schema: &Json, into: &mut BTreeSet<String>) {
    match schema {
        Json::Object(map) => {
            into.extend(
                map.get("properties").and_then(Json::as_object).into_iter().flatten().map(|(key, _)| key.clone()),
            );
            let enums = map.get("enum").and_then(Json::as_array);
            into.extend(enums.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)));
            map.values().for_each(|part| words(part, into));
        }
        Json::Array(list) => list.iter().for_each(|part| words(part, into)),
        _ => {}
    }
}

#[test]
fn the_dictionary_has_every_word_of_the_schema() {
    let mut all: BTreeSet<String> = BTreeSet::new();
    words(&khorovod::schema(), &mut all);
    all.extend(
        [
            "\n---\n",
            "\n...\n",
            "\0",
            ": ",
            "- ",
            "\n  ",
            " #",
            "{",
            "}",
            "[",
            "]",
            "&a ",
            "*a",
            "|\n",
            ">-\n",
            "? ",
            "!!str ",
            "%YAML ",
            "\u{feff}",
            "\r\n",
            "ResourceList",
            "items:\n- ",
            "functionConfig:\n",
        ]
        .map(str::to_owned),
    );
    all.extend(targets::choices::HOSTILE.iter().map(|text| (*text).to_owned()).filter(|text| !text.is_empty()));
    let mut dictionary = "# Made by tests/fuzz.rs, `make bless`: what means something to the targets.\n".to_owned();
    for word in all {
        let escaped: String = word
            .bytes()
            .map(|byte| match byte {
                b'"' | b'\\' => format!("\\{}", char::from(byte)),
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\x{byte:02X}"),
            })
            .collect();
        dictionary.extend(["\"", &escaped, "\"\n"]);
    }
    let path = fuzz().join("spec.dict");
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        return fs::write(path, dictionary).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap_or_default(), dictionary, "`make bless`");
}
