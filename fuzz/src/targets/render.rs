//! Any text as a stream: whatever verb looks at it, they agree, and what is rendered is YAML to others. The first byte
//! chooses what is rendered to.

use khorovod::{Inputs, show, targets};

use super::{inputs, read, say, text};

pub fn run(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let Ok(stream) = std::str::from_utf8(rest) else { return };
    let target = targets::ALL[usize::from(*first) % targets::ALL.len()];
    agree(stream, &Inputs { target, ..inputs() });
}

/// Every verb over one stream. Answers with what it renders to.
pub fn agree(stream: &str, inputs: &Inputs) -> Option<khorovod::Rendered> {
    let stream = text(stream);
    let checked = khorovod::check(&stream, inputs);
    say(&checked);
    let rendered = match khorovod::render(&stream, inputs) {
        Ok(rendered) => rendered,
        Err(found) => {
            assert!(found.any_error() && checked.any_error(), "render refuses what check takes: {:?}", found.list);
            assert!(khorovod::preview(&stream, inputs, 3).is_err());
            assert!(khorovod::reports(&stream, inputs).is_err());
            return None;
        }
    };
    assert!(!checked.any_error(), "render takes what check refuses: {:?}", checked.list);
    for one in rendered.documents.iter().filter(|one| !one.kind.is_empty() && one.kind != "sbatch") {
        let [object] = &read(&rendered.text[one.range.clone()])[..] else { panic!("an object is not one document") };
        assert_eq!((object["kind"].as_str(), object["metadata"]["name"].as_str()), (Some(one.kind), Some(&*one.name)));
    }
    // One of the others, by chance as it were.
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
            shows(&show::plan(&reports.jobs, None));
        }
        _ => {
            // The old one goes without overlays and settings, which may be what mends it.
            let alone = inputs.overlays.is_empty() && inputs.sets.is_empty();
            match khorovod::changes(&stream, &stream, inputs) {
                Ok(changes) => shows(&show::plan(&[], Some(&changes))),
                Err(found) => assert!(!alone, "render took it: {:?}", found.list),
            }
        }
    }
    Some(rendered)
}

fn shows(page: &str) {
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "a terminal would obey this: {page:?}");
}
