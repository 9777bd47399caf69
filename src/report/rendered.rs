//! What was rendered earlier, recognised by its labels, so that a change can be judged without
//! the spec it came from. Our own output is regular enough to be read line by line.

use super::change::{Change, Difference, Effect};

/// More changed lines than these say nothing more.
const LINES: usize = 6;

/// An object of an earlier or a new render.
#[derive(Debug)]
pub(crate) struct Earlier<'a> {
    job: &'a str,
    namespace: Option<&'a str>,
    run: Option<&'a str>,
    kind: &'a str,
    name: &'a str,
    text: &'a str,
}

/// The objects of ours in a stream; none where it holds a spec or other people's objects alone.
pub(crate) fn earlier(text: &str) -> Vec<Earlier<'_>> {
    text.split("\n---\n").filter_map(object).collect()
}

fn object(text: &str) -> Option<Earlier<'_>> {
    let field = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(unquoted);
    let run = field("    khorovod.dev/run: ");
    // A RoleBinding names one more in its subjects.
    let mut metadata = text.split_once("metadata:\n")?.1.lines().take_while(|line| line.starts_with(' '));
    let namespace = metadata.find_map(|line| line.strip_prefix("  namespace: ")).map(unquoted);
    let job = field("    khorovod.dev/job: ")?;
    Some(Earlier { job, namespace, run, kind: field("kind: ")?, name: field("  name: ")?, text })
}

fn unquoted(value: &str) -> &str {
    value.trim().trim_matches(['"', '\''])
}

/// What happens to each job when the new objects take the place of the old.
pub(crate) fn against_rendered(old: &[Earlier<'_>], new: &[Earlier<'_>]) -> Vec<Change> {
    let mut jobs: Vec<(&str, Option<&str>)> = Vec::new();
    for object in new.iter().chain(old) {
        if !jobs.contains(&(object.job, object.namespace)) {
            jobs.push((object.job, object.namespace));
        }
    }
    jobs.into_iter().map(|job| change(job, &of(old, job), &of(new, job))).collect()
}

fn of<'a, 'b>(all: &'b [Earlier<'a>], job: (&str, Option<&str>)) -> Vec<&'b Earlier<'a>> {
    all.iter().filter(|object| (object.job, object.namespace) == job).collect()
}

fn change((job, namespace): (&str, Option<&str>), old: &[&Earlier<'_>], new: &[&Earlier<'_>]) -> Change {
    let run = |objects: &[&Earlier<'_>]| objects.iter().find_map(|object| object.run).unwrap_or_default().to_owned();
    let (old_run, new_run) = (run(old), run(new));
    let mut change = Change::bare(job, namespace, Effect::Nothing);
    if old.is_empty() || new.is_empty() {
        change.effect = if old.is_empty() { Effect::New } else { Effect::Gone };
        return change;
    }
    let plain = |text: &str, run: &str| if run.is_empty() { text.to_owned() } else { text.replace(run, "<run>") };
    for object in new {
        let name = plain(object.name, &new_run);
        let before = old.iter().find(|other| other.kind == object.kind && plain(other.name, &old_run) == name);
        let text = plain(object.text, &new_run);
        let Some(before) = before.map(|other| plain(other.text, &old_run)) else {
            change.in_place.push(Difference {
                path: format!("{} {name}", object.kind),
                old: None,
                new: Some("new".to_owned()),
            });
            continue;
        };
        // A Secret's data is nobody's business, and never restarts anything.
        let found = if object.kind == "Secret" { Vec::new() } else { lines(&before, &text) };
        let of_run = object.run.is_some() && old_run != new_run;
        for (old, new) in found.into_iter().take(LINES) {
            let path = format!("{} {name}", object.kind);
            if object.kind == "PersistentVolumeClaim"
                && !old.as_deref().unwrap_or_default().trim().starts_with("storage:")
            {
                change
                    .refused
                    .push(format!("{path}: a claim keeps what it was made with: {}", old.or(new).unwrap_or_default()));
            } else if of_run {
                change.because.push(Difference { path, old, new });
            } else {
                change.in_place.push(Difference { path, old, new });
            }
        }
    }
    change.because.dedup();
    change.in_place.dedup();
    if old_run != new_run {
        change.effect = Effect::Restarts;
    } else if !change.in_place.is_empty() || !change.refused.is_empty() {
        change.effect = Effect::InPlace;
    }
    change
}

/// The lines that stand in one text alone, paired by their key.
fn lines(old: &str, new: &str) -> Vec<(Option<String>, Option<String>)> {
    let only = |of: &str, not: &str| -> Vec<String> {
        let other: std::collections::HashSet<&str> = not.lines().collect();
        of.lines().filter(|line| !other.contains(line)).map(|line| line.trim().to_owned()).collect()
    };
    let (old, mut new) = (only(old, new), only(new, old));
    let key = |line: &str| line.split_once([':', '=']).map_or(line.to_owned(), |(key, _)| key.to_owned());
    let mut pairs: Vec<_> = old
        .into_iter()
        .map(|line| {
            let partner = new.iter().position(|other| key(other) == key(&line)).map(|at| new.remove(at));
            (Some(line), partner)
        })
        .collect();
    pairs.extend(new.into_iter().map(|line| (None, Some(line))));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(run: &str, image: &str, size: &str, class: &str) -> String {
        format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: j-data\n  labels:\n    khorovod.dev/job: j\nspec:\n  \
             storageClassName: {class}\n  resources:\n    requests:\n      storage: {size}\n---\n\
             apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: j-{run}-worker\n  labels:\n    khorovod.dev/job: j\n    \
             khorovod.dev/run: {run}\nspec:\n  template:\n    spec:\n      containers:\n        - image: {image}\n---\nkind: Other\n"
        )
    }

    fn judged(old: &str, new: &str) -> Change {
        let mut all = against_rendered(&earlier(old), &earlier(new));
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn a_new_run_names_its_reason() {
        let change = judged(&objects("bcdfgh", "a:1", "1Ti", "fast"), &objects("zzzzzz", "a:2", "1Ti", "fast"));
        assert_eq!(change.effect, Effect::Restarts);
        assert_eq!(change.because.len(), 1);
        assert_eq!(change.because[0].new.as_deref(), Some("- image: a:2"));
    }

    #[test]
    fn claims_grow_but_do_not_change() {
        let old = objects("bcdfgh", "a:1", "1Ti", "fast");
        let grown = judged(&old, &objects("bcdfgh", "a:1", "2Ti", "fast"));
        assert_eq!((grown.effect, grown.refused.len(), grown.in_place.len()), (Effect::InPlace, 0, 1));
        let moved = judged(&old, &objects("bcdfgh", "a:1", "1Ti", "slow"));
        assert_eq!((moved.refused.len(), moved.in_place.len()), (1, 0));
        assert_eq!(judged(&old, &old).effect, Effect::Nothing);
    }

    #[test]
    fn another_namespace_is_another_job() {
        let old =
            objects("bcdfgh", "a:1", "1Ti", "fast").replace("---\n", "subjects:\n- kind: A\n  namespace: b\n---\n");
        let new = old.replace("metadata:\n", "metadata:\n  namespace: team\n");
        let all = against_rendered(&earlier(&old), &earlier(&new));
        let told: Vec<_> = all.iter().map(|change| (change.namespace.as_deref(), change.effect)).collect();
        assert_eq!(told, [(Some("team"), Effect::New), (None, Effect::Gone)]);
    }

    #[test]
    fn strangers_are_not_ours() {
        assert!(earlier("kind: ConfigMap\nmetadata:\n  name: x\n").is_empty());
    }
}
