//! The importers: the first byte selects the system, the rest is the file. The result must be a valid job with the given
//! name, and a report without control characters.

use khorovod::import::{Options, System, import};
use khorovod::show;

use super::{check_reports, inputs, read, text};

pub fn run(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let Ok(old) = std::str::from_utf8(rest) else { return };
    let system = System::ALL[usize::from(*first) % System::ALL.len()];
    let imported = match import(system, &[text(old)], &Options::default()) {
        Ok(imported) => imported,
        Err(found) => {
            check_reports(&found);
            // A draft with a syntax error or an unknown field is a defect of the importer, not of the file.
            let ours = |code: &str| code.starts_with("yaml-") || code == "unknown-field";
            let drafted = |name: &str| name == "the imported job";
            for problem in found.list.iter().filter(|problem| ours(problem.code.name)) {
                let source = problem.labels.first().and_then(|label| found.sources.get(label.span.source));
                assert!(!source.is_some_and(|source| drafted(&source.name)), "{}", source.unwrap().text);
            }
            return;
        }
    };
    let [job] = &read(&imported.job)[..] else { panic!("the job is not one document:\n{}", imported.job) };
    assert_eq!(job["kind"], "TrainingJob");
    let secrets = read(&imported.secrets);
    assert!(secrets.iter().all(|one| one.is_null() || one["kind"] == "Secret"), "{}", imported.secrets);
    assert!(!khorovod::check(&text(imported.job.clone()), &inputs()).any_error(), "{}", imported.job);
    let report = show::import(&imported);
    assert!(report.chars().all(|c| c == '\n' || !c.is_control()), "control characters in {report:?}");
}
