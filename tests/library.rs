//! The library as its users call it: errors convert with `?`, and types can gain fields without breaking them.

use std::error::Error;
use std::fs;
use std::path::Path;

use khorovod::{
    Inputs, Keys, KubeVersion, NotUtf8, Target, Text, UnknownTarget, import, problem, render, reports, seed,
};

const JOB: &str = "apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec: {image: acme/mnist:1.4, command: [python, train.py], workers: {replicas: 2, gpus: 8}}
";

/// Calls each function that can fail, in one that returns any error.
fn ranks(job: &[u8], target: &str, version: &str, key: &str) -> Result<u32, Box<dyn Error>> {
    let text = Text::from_bytes("job.yaml", job.to_vec())?;
    let target: &dyn Target = target.parse()?;
    let inputs = Inputs {
        target,
        kube_version: version.parse::<KubeVersion>()?,
        keys: Keys::Seed(seed::from_text(key)?),
        ..Inputs::default()
    };
    render(&text, &inputs)?;
    khorovod::render_to(&text, &inputs, &mut |_| {})?;
    khorovod::expand("job.yaml", text.text.as_bytes(), &inputs, &mut |_| {})?;
    import::import(import::System::MpiJob, std::slice::from_ref(&text), &import::Options::default())
        .map_or_else(|problems| if problems.any_error() { Ok(()) } else { Err(problems) }, |_| Ok(()))?;
    Ok(reports(&text, &inputs)?.jobs[0].ranks)
}

#[test]
fn errors_convert_with_a_question_mark() {
    let key = "07".repeat(32);
    assert_eq!(ranks(JOB.as_bytes(), "plain", "1.34", &key).unwrap(), 16);
    let error = |job: &[u8], target, version, key| ranks(job, target, version, key).unwrap_err();
    let wrong = JOB.replace("gpus", "gpu");
    assert!(error(wrong.as_bytes(), "plain", "1.34", &key).downcast_ref::<problem::Problems>().is_some());
    assert!(error(b"\xff", "plain", "1.34", &key).downcast_ref::<NotUtf8>().is_some());
    assert!(error(JOB.as_bytes(), "plane", "1.34", &key).downcast_ref::<UnknownTarget>().is_some());
    assert!(error(JOB.as_bytes(), "plain", "new", &key).downcast_ref::<khorovod::NotAKubeVersion>().is_some());
    assert!(error(JOB.as_bytes(), "plain", "1.34", "7").downcast_ref::<seed::InvalidSeed>().is_some());
}

/// The files that declare the types of the public interface.
const INTERFACE: &[&str] = &[
    "src/compiler/api.rs",
    "src/compiler/job/types/kube_version.rs",
    "src/compiler/pods/seed.rs",
    "src/compiler/problem.rs",
    "src/compiler/problem/sources.rs",
    "src/compiler/report.rs",
    "src/compiler/report/change.rs",
    "src/compiler/targets.rs",
    "src/import/api.rs",
    "src/picture.rs",
    "src/show.rs",
];

/// Types that users construct with all fields or with `..Default::default()`, and an enum that stays as it is.
const FIXED: &[&str] = &["Batch", "Description", "Inputs", "Options", "Severity", "Span", "Style", "Text"];

#[test]
fn types_can_grow() {
    let (mut open, mut fixed) = (0, Vec::new());
    for path in INTERFACE {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        for item in syn::parse_file(&text).unwrap().items {
            let (name, visibility, attributes, has_private) = match item {
                syn::Item::Enum(item) => (item.ident, item.vis, item.attrs, false),
                syn::Item::Struct(item) => {
                    let is_private = |field: &syn::Field| matches!(field.vis, syn::Visibility::Inherited);
                    (item.ident, item.vis, item.attrs, item.fields.iter().any(is_private))
                }
                _ => continue,
            };
            if !matches!(visibility, syn::Visibility::Public(_)) || has_private {
                continue;
            }
            match attributes.iter().any(|attribute| attribute.path().is_ident("non_exhaustive")) {
                true => open += 1,
                false => fixed.push(name.to_string()),
            }
        }
    }
    fixed.sort();
    assert_eq!(fixed, FIXED, "a public type is not #[non_exhaustive]");
    assert!(open > 30, "{open} types");
}
