//! The KRM function: for any input list, the items of the output list that are not TrainingJobs keep their meaning.

use serde_json::Value as Json;

use super::{check_reports, documents, inputs, text};

pub fn run(input: &[u8]) {
    let Ok(list) = std::str::from_utf8(input) else { return };
    let (out, found) = khorovod::krm(&text(list), &inputs());
    check_reports(&found);
    if out.is_empty() {
        return assert!(found.any_error(), "no output and no problem");
    }
    // Skips inputs that libyaml rejects.
    let Some([before]) = documents(list).as_deref().and_then(|all| <&[Json; 1]>::try_from(all).ok()).cloned() else {
        return;
    };
    let after = documents(&out).unwrap_or_else(|| panic!("a list becomes invalid YAML:\n{out}"));
    let [after] = &after[..] else { panic!("one list becomes {}:\n{out}", after.len()) };
    let theirs = |list: &Json| -> Vec<Json> {
        let items = list["items"].as_array().into_iter().flatten();
        items.filter(|item| !item.to_string().contains("khorovod")).cloned().collect()
    };
    assert_eq!(theirs(&before), theirs(after), "{out}");
}
