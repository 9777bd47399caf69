//! `-o DIR/`: a file an object, the whole folder or nothing.
//!
//! Files are numbered in install order. Storage claims go into `claims/`: `kubectl delete -f DIR`
//! does not look into folders, so it leaves the data alone, while `kubectl apply -R -f DIR` takes
//! all. A `.khorovod` file lists what we wrote, so that we never delete what is not ours.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use khorovod::Rendered;

use super::output::{self, cannot_write, parent};
use super::{Failure, Outcome, mode};

/// Lists the files of a folder we wrote.
const LIST: &str = ".khorovod";
/// The label that says whose an object is.
const JOB: &str = "    khorovod.dev/job: ";
/// Where claims go.
const CLAIMS: &str = "claims";

/// Whether a path names a folder: it ends in `/`, or it is one.
pub fn is_meant(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

/// A file to write.
struct File {
    path: String,
    text: String,
    private: bool,
}

/// Writes every document into a file of its own, in place of what was rendered there before. Gives the jobs whose objects
/// are no longer there.
pub fn write(path: &Path, rendered: &[Rendered]) -> Result<BTreeSet<String>, Failure> {
    // A link stays a link: the folder it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.components().collect());
    refuse_foreign(path, &target)?;
    let files = files(rendered);
    let gone = gone(path, &target, &files)?;
    let replace = || -> io::Result<()> {
        let beside = parent(&target);
        fs::create_dir_all(&beside)?;
        let new = tempfile::Builder::new().prefix(".khorovod-new-").tempdir_in(&beside)?;
        let content = new.path().join("content");
        fill(&content, &files)?;
        // The old folder moves away and the new one takes its place; where that fails, it comes
        // back. What is left over goes with the temporary folder.
        let old = new.path().join("old");
        let existed = target.exists();
        if existed {
            fs::rename(&target, &old)?;
        }
        fs::rename(&content, &target).inspect_err(|_| {
            if existed {
                let _ = fs::rename(&old, &target);
            }
        })
    };
    replace().map_err(|error| cannot_write(path, &error))?;
    Ok(gone)
}

/// Fills a new folder.
fn fill(folder: &Path, files: &[File]) -> io::Result<()> {
    fs::create_dir(folder)?;
    let mut list =
        String::from("# khorovod render wrote this folder and replaces it whole; these files are its own:\n");
    for file in files {
        let path = folder.join(&file.path);
        fs::create_dir_all(parent(&path))?;
        // Until it is renamed the folder stands in a temporary one that nobody else can enter.
        fs::write(&path, &file.text)?;
        if file.private {
            mode::make_private(&path)?;
        }
        let _ = writeln!(list, "{}", file.path);
    }
    fs::write(folder.join(LIST), list)
}

/// Every document as a file.
fn files(rendered: &[Rendered]) -> Vec<File> {
    khorovod::files(rendered)
        .into_iter()
        .map(|(path, document, text)| {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            File { path, text: format!("{text}{end}"), private: document.kind == "Secret" }
        })
        .collect()
}

/// The jobs that a folder holds and will hold no longer. Where it holds no other it is refused: whoever renders one job
/// after another into a folder would keep the last.
fn gone(path: &Path, target: &Path, files: &[File]) -> Result<BTreeSet<String>, Failure> {
    let jobs = |texts: &mut dyn Iterator<Item = String>| -> BTreeSet<String> {
        let named =
            |text: String| Some(text.lines().find_map(|line| line.strip_prefix(JOB))?.trim_matches('"').to_owned());
        texts.filter_map(named).collect()
    };
    let list = fs::read_to_string(target.join(LIST)).unwrap_or_default();
    let there = jobs(&mut list.lines().filter_map(|line| fs::read_to_string(target.join(line)).ok()));
    let new = jobs(&mut files.iter().map(|file| file.text.clone()));
    match there.first().filter(|_| there.is_disjoint(&new) && !new.is_empty()) {
        Some(other) => Err(Failure::File(format!(
            "{0} holds the objects of {other}, which would be gone, as the folder is replaced whole; render all its jobs at \
             once, as in `khorovod render jobs/*.yaml -o {0}`, name another folder, or remove this one first",
            path.display()
        ))),
        None => Ok(there.difference(&new).cloned().collect()),
    }
}

/// Refuses a folder with anything in it that we did not write.
fn refuse_foreign(path: &Path, target: &Path) -> Outcome {
    if !target.exists() {
        return Ok(());
    }
    let name = path.display();
    if !target.is_dir() {
        return Err(Failure::File(format!("cannot write {name}: it is a file; without the `/` it is replaced")));
    }
    if std::env::current_dir().is_ok_and(|here| here.starts_with(target)) {
        return Err(Failure::Usage(format!("{name} is the folder you stand in; name one below it: -o rendered/")));
    }
    let ours = fs::read_to_string(target.join(LIST)).unwrap_or_default();
    let ours: BTreeSet<PathBuf> = ours
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(PathBuf::from)
        .chain([LIST.into(), CLAIMS.into()])
        .collect();
    let cannot = |error: io::Error| Failure::File(format!("cannot read {name}: {}", output::reason(&error)));
    for folder in ["", CLAIMS] {
        let Ok(entries) = fs::read_dir(target.join(folder)) else { continue };
        for entry in entries {
            let found = Path::new(folder).join(entry.map_err(cannot)?.file_name());
            if !ours.contains(&found) {
                return Err(Failure::File(format!(
                    "{name} holds {}, which khorovod did not write; the folder is replaced whole, so name another",
                    found.display()
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(documents: &[(&'static str, &str)]) -> Vec<Rendered> {
        let mut one = Rendered::default();
        for (kind, name) in documents {
            let start = one.text.len();
            let _ = writeln!(one.text, "kind: {kind}");
            let range = start..one.text.len();
            one.documents.push(khorovod::Document { kind, name: (*name).to_owned(), namespace: None, range });
            one.text.push_str("---\n");
        }
        vec![one]
    }

    fn listing(folder: &Path) -> Vec<String> {
        let list = fs::read_to_string(folder.join(LIST)).unwrap();
        list.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn a_file_an_object_and_claims_apart() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/out");
        let all = rendered(&[("Secret", "j-ssh"), ("PersistentVolumeClaim", "j-data"), ("Job", "j"), ("", "")]);
        write(&folder, &all).unwrap();
        let expected =
            ["01-secret-j-ssh.yaml", "claims/02-persistentvolumeclaim-j-data.yaml", "03-job-j.yaml", "04-other.yaml"];
        assert_eq!(listing(&folder), expected);
        for file in expected {
            assert!(folder.join(file).is_file(), "{file}");
        }
        assert!(is_private(&folder.join(expected[0])));
        assert!(!is_private(&folder.join(expected[2])));

        // Rendered again, with fewer: nothing of the first is left, and nothing beside it.
        write(&folder, &rendered(&[("Job", "k")])).unwrap();
        assert_eq!(listing(&folder), ["01-job-k.yaml"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        assert_eq!(fs::read_dir(place.path().join("a")).unwrap().count(), 1);
    }

    fn is_private(path: &Path) -> bool {
        !mode::others_can_read(&fs::metadata(path).unwrap())
    }

    #[test]
    fn what_is_not_ours_stays() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("out");
        fs::create_dir(&folder).unwrap();
        write(&folder, &rendered(&[("Job", "j")])).unwrap();
        fs::create_dir(folder.join("claims")).unwrap();
        fs::write(folder.join("claims/mine.yaml"), "mine").unwrap();
        let Err(Failure::File(message)) = write(&folder, &rendered(&[("Job", "k")])) else { panic!("replaced") };
        assert!(message.contains("claims/mine.yaml"), "{message}");
        assert!(folder.join("01-job-j.yaml").exists());
    }
}
