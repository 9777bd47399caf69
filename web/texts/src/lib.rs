//! The texts that the preview page loads after its first picture: the scripts of pods, and what the problem codes mean.
//!
//! An adapter without a compiler. The module of `web/wasm` leaves these texts out, so that the page starts sooner.

use khorovod::{Scripts, problem};
use khorovod_web_wire::{Code, Codes, Map, json};
use wasm_bindgen::prelude::wasm_bindgen;

/// Returns the texts of the scripts of pods, for the function `load_scripts` of the other module.
#[wasm_bindgen]
pub fn scripts() -> String {
    Scripts::joined()
}

/// Returns what each problem code means, as JSON: [`Codes`].
#[wasm_bindgen]
pub fn codes() -> String {
    let code = |code: &problem::Explained| {
        let lines: Vec<&str> = code.details().lines().map(str::trim).collect();
        Code { title: code.title(), details: lines.join("\n") }
    };
    let mut codes = Vec::new();
    // `collect` has a function for each of the chained lists, which makes the module larger.
    khorovod::codes().for_each(|known| codes.push((known.name, code(known))));
    let codes: Codes = Map(codes);
    json(&codes)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_scripts_are_those_of_the_compiler() {
        assert_eq!(Scripts::split(&scripts()), Some(Scripts::default()));
    }

    #[test]
    fn each_code_has_its_meaning() {
        let codes: Value = serde_json::from_str(&codes()).unwrap();
        let code = &codes["unknown-field"];
        assert!(code["title"].as_str().is_some_and(|title| !title.is_empty()), "{code}");
        assert!(code["details"].as_str().is_some_and(|details| details.len() > 20), "{code}");
    }
}
