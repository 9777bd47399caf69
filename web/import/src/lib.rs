//! The importers as the preview page calls them: a module of its own, which the page loads for the first import.
//!
//! An adapter, like `web/wasm`. The shapes of the JSON are the types of `khorovod-web-wire`.

use khorovod::Text;
use khorovod::import;
use khorovod_web_wire::{FieldOutcome, Import, ImportProblem, Imported, System, json};
use wasm_bindgen::prelude::wasm_bindgen;

/// At most this many problems are listed.
const PROBLEMS: usize = 50;

/// The name of the system that a file seems to come from; empty if none is recognised.
#[wasm_bindgen]
pub fn detect_system(file: &str) -> String {
    import::guess(file).map_or("", import::System::name).to_owned()
}

/// Every system whose files can be imported, as JSON: a list of [`System`].
#[wasm_bindgen]
pub fn systems() -> String {
    let systems = import::System::ALL.iter().map(|system| System { name: system.name(), about: system.about() });
    json(&systems.collect::<Vec<_>>())
}

/// Imports a file of another system: an [`Import`] as JSON, which is empty if there is no such system. An option that is
/// empty is not set.
#[wasm_bindgen]
pub fn import_file(file: String, system: &str, name: String, image: String, command: String) -> String {
    let Some(system) = import::System::ALL.iter().find(|known| known.name() == system) else {
        return json(&Import::default());
    };
    let given = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let options = import::Options {
        name: given(name),
        image: given(image),
        command: given(command),
        ..import::Options::default()
    };
    let file = Text { name: "the old file".to_owned(), text: file };
    match import::import(*system, &[file], &options) {
        Ok(found) => {
            let fields = found.fields.iter().map(|field| FieldOutcome {
                path: &field.path,
                line: field.line,
                verdict: field.verdict,
                to: &field.to,
                note: &field.note,
            });
            let imported = Imported { job: &found.job, secrets: &found.secrets, fields: fields.collect() };
            json(&Import { imported: Some(imported), problems: Vec::new() })
        }
        Err(found) => {
            let problems = found.list.iter().take(PROBLEMS).map(|problem| ImportProblem {
                line: problem.labels.first().map(|label| found.sources.position(label.span).line),
                message: &problem.message,
                hint: problem.hint.as_deref(),
            });
            json(&Import { imported: None, problems: problems.collect() })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_file_becomes_a_job_or_problems() {
        let old = "worker: {number: 3}\nmaster: {args: ['mpirun -np 4 python train.py']}\n";
        assert_eq!(detect_system(old), "stable-horovod");
        let import =
            |old: &str, system| import_file(old.to_owned(), system, "mnist".to_owned(), String::new(), String::new());
        let found: Value = serde_json::from_str(&import(old, "stable-horovod")).unwrap();
        assert!(found["imported"]["job"].as_str().unwrap().contains("replicas: 4"));
        assert_eq!(found["imported"]["fields"][0]["verdict"], "changed");
        let found: Value = serde_json::from_str(&import(old, "ffdl")).unwrap();
        assert_eq!(found["problems"][0]["hint"], "try `khorovod import stable-horovod`");
    }
}
