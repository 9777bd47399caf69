//! Checks that the report of a batch script is true: a line that is kept or changed has an effect on the job, and a line that
//! is dropped does not.

use khorovod::import::{Imported, System};

use super::{Case, cases};

/// Whether the job has a field such as `spec.slurm.setup`, or leaves it out because it has its default. A map with one field
/// may be a text: `launcher: torchrun`.
fn has_field(job: &serde_yaml::Value, path: &str) -> bool {
    let may_be_default = ["spec.workers.slotsPerWorker", "spec.lifecycle.retries", "spec.launcher"];
    let mut steps = path.split('.');
    let found = steps.try_fold(job, |value, step| if value.is_string() { Some(value) } else { value.get(step) });
    found.is_some() || may_be_default.contains(&path)
}

/// The job without comments, and its Secrets.
fn meaning(imported: &Imported) -> (serde_yaml::Value, String) {
    (serde_yaml::from_str(&imported.job).unwrap(), imported.secrets.clone())
}

/// Returns the rows of a script's report that are not true.
fn wrong(case: &Case) -> Vec<String> {
    let imported = case.import().unwrap_or_else(|problems| panic!("{}: {:#?}", case.path.display(), problems.list));
    let job = meaning(&imported);
    let lines: Vec<&str> = case.text.lines().collect();
    let mut wrong = Vec::new();
    for field in &imported.fields {
        let has_effect = match field.verdict {
            "kept" | "changed" => true,
            "dropped" => false,
            _ => continue,
        };
        // Other rows are about what the script lacks.
        let is_in_script = case.text.contains(field.path.trim_end_matches(" …"));
        if has_effect && is_in_script && (field.to.is_empty() || !field.to.iter().all(|path| has_field(&job.0, path))) {
            wrong.push(format!("{field:?}: the job has no such field"));
        }
        // Options of a line have rows of their own, and so have variables.
        let line = lines.get(field.line - 1).map_or("", |line| line.trim());
        if line != field.path || line.starts_with('#') || line.ends_with('\\') {
            continue;
        }
        let text = lines.iter().enumerate().filter(|(at, _)| at + 1 != field.line).map(|(_, line)| *line);
        let text = text.collect::<Vec<_>>().join("\n");
        let without = Case { system: case.system, path: case.path.clone(), text, options: case.options.clone() };
        let changes = without.import().map_or(true, |without| meaning(&without) != job);
        if changes != has_effect {
            wrong.push(format!(
                "{field:?}: without the line, the job {}",
                if changes { "changes" } else { "is the same" }
            ));
        }
    }
    wrong
}

#[test]
fn lines_have_the_effect_that_the_report_names() {
    let mut all = Vec::new();
    for case in cases().iter().filter(|case| case.system == System::Slurm) {
        all.extend(wrong(case).iter().map(|wrong| format!("{}: {wrong}", case.path.display())));
    }
    assert!(all.is_empty(), "{}:\n{}", all.len(), all.join("\n"));
}
