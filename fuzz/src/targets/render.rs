//! Any text as a stream: all functions must agree on it, and the rendered objects must be valid YAML. The first byte selects
//! the target.

use khorovod::{Inputs, show, targets};

use super::{check_reports, inputs, read, text};

pub fn run(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let Ok(stream) = std::str::from_utf8(rest) else { return };
    let target = targets::ALL[usize::from(*first) % targets::ALL.len()];
    agree(stream, &Inputs { target, ..inputs() });
}

/// Runs all functions on one stream. Returns the rendered objects.
pub fn agree(stream: &str, inputs: &Inputs) -> Option<khorovod::Rendered> {
    let stream = text(stream);
    let checked = khorovod::check(&stream, inputs);
    check_reports(&checked);
    let rendered = match khorovod::render(&stream, inputs) {
        Ok(rendered) => rendered,
        Err(found) => {
            assert!(found.any_error() && checked.any_error(), "render rejects what check accepts: {:?}", found.list);
            assert!(khorovod::preview(&stream, inputs, 3).is_err());
            assert!(khorovod::reports(&stream, inputs).is_err());
            return None;
        }
    };
    assert!(!checked.any_error(), "render accepts what check rejects: {:?}", checked.list);
    for one in rendered.documents.iter().filter(|one| !one.kind.is_empty() && one.kind != "sbatch") {
        let [object] = &read(&rendered.text[one.range.clone()])[..] else { panic!("an object is not one document") };
        assert_eq!((object["kind"].as_str(), object["metadata"]["name"].as_str()), (Some(one.kind), Some(&*one.name)));
    }
    // The input selects one of the other functions.
    match stream.text.len() % 4 {
        0 => {
            let mut parts = Vec::new();
            khorovod::render_to(&stream, inputs, &mut |part| parts.extend_from_slice(part)).expect("render took it");
            assert_eq!(String::from_utf8_lossy(&parts), rendered.text);
        }
        1 => {
            let preview = khorovod::preview(&stream, inputs, usize::MAX).expect("render took it");
            assert!(
                inputs.target == targets::SLURM || preview.rendered.text == rendered.text,
                "{}",
                preview.rendered.text
            );
        }
        2 => {
            let reports = khorovod::reports(&stream, inputs).expect("render took it");
            shows(&show::plan(&reports.jobs, "khorovod render", true));
        }
        _ => {
            // The old spec has no overlays and settings, which may be required to make it valid.
            let alone = inputs.overlays.is_empty() && inputs.sets.is_empty();
            match khorovod::changes(&stream, &stream, inputs) {
                Ok(changes) => shows(&show::changes(&changes)),
                Err(found) => assert!(!alone, "render accepted it: {:?}", found.list),
            }
        }
    }
    Some(rendered)
}

fn shows(page: &str) {
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "control characters in {page:?}");
}
