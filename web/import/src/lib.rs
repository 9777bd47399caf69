//! The importers as a browser calls them: a module of its own, which a page loads when somebody comes over.
//!
//! An adapter, like `web/wasm`.

use khorovod::Text;
use khorovod::import::{self, System};
use serde_json::{Value, json};
use wasm_bindgen::prelude::wasm_bindgen;

/// More problems than these help nobody.
const MOST: usize = 50;

/// The system whose file a text looks like, by its name; empty where it looks like none.
#[wasm_bindgen]
pub fn guess(old: &str) -> String {
    import::guess(old).map_or("", System::name).to_owned()
}

/// Every system to come from: its name and what its files are.
#[wasm_bindgen]
pub fn systems() -> String {
    let all = System::ALL.iter().map(|system| json!({ "name": system.name(), "about": system.about() }));
    Value::Array(all.collect()).to_string()
}

/// Another system's file as a `job` with its `secrets` and what became of its `fields`; or `problems`. Options that are
/// empty are not given.
#[wasm_bindgen]
pub fn come_over(old: String, system: &str, name: String, image: String, command: String) -> String {
    let Some(system) = System::ALL.iter().find(|known| known.name() == system) else { return json!({}).to_string() };
    let given = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let options = import::Options {
        name: given(name),
        image: given(image),
        command: given(command),
        ..import::Options::default()
    };
    let old = Text { name: "the old file".to_owned(), text: old };
    match import::import(*system, &[old], &options) {
        Ok(imported) => json!({ "job": imported.job, "secrets": imported.secrets, "fields": imported.fields }),
        Err(found) => {
            let problems = found.list.iter().take(MOST).map(|problem| {
                let place = problem.labels.first().map(|label| found.sources.position(label.span).line);
                json!({ "line": place, "message": problem.message, "hint": problem.hint })
            });
            json!({ "problems": problems.collect::<Vec<_>>() })
        }
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_files_come_over() {
        let old = "worker: {number: 3}\nmaster: {args: ['mpirun -np 4 python train.py']}\n";
        assert_eq!(guess(old), "stable-horovod");
        let over =
            |old: &str, system| come_over(old.to_owned(), system, "mnist".to_owned(), String::new(), String::new());
        let found: Value = serde_json::from_str(&over(old, "stable-horovod")).unwrap();
        assert!(found["job"].as_str().unwrap().contains("replicas: 4"));
        assert_eq!(found["fields"][0]["verdict"], "changed");
        let found: Value = serde_json::from_str(&over(old, "ffdl")).unwrap();
        assert_eq!(found["problems"][0]["hint"], "try `khorovod import stable-horovod`");
    }
}
