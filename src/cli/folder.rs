//! `-o DIR/`: one file per object. The whole folder is replaced, or it stays unchanged.
//!
//! Files are numbered in install order. Storage claims go into the subfolder `claims/`. `kubectl delete -f DIR` ignores
//! subfolders, so the data are kept; `kubectl apply -R -f DIR` applies everything. The file `.khorovod` lists the files
//! that khorovod wrote, so that khorovod never deletes other files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use khorovod::Rendered;

use super::output::{self, cannot_write, parent};
use super::{Failure, Outcome, mode};

/// The name of the file that lists what khorovod wrote into a folder.
const LIST: &str = ".khorovod";
/// The beginning of the line with the label that names the job of an object, in the YAML that khorovod writes.
const JOB: &str = "    khorovod.dev/job: ";
/// The subfolder for claims.
const CLAIMS: &str = "claims";

/// Whether a path names a folder: it ends in `/`, or a folder exists there.
pub fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

/// A file to write.
struct File {
    path: String,
    text: String,
    private: bool,
}

/// Writes every document into its own file and replaces the earlier content of the folder. Returns the jobs whose
/// objects were in the folder before and are no longer in it.
pub fn write(path: &Path, rendered: &[Rendered]) -> Result<BTreeSet<String>, Failure> {
    write_files(path, &files(rendered))
}

fn write_files(path: &Path, files: &[File]) -> Result<BTreeSet<String>, Failure> {
    // If the path is a symbolic link, the link is kept and the folder that it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.components().collect());
    refuse_foreign(path, &target)?;
    let gone = removed_jobs(path, &target, files)?;
    let replace = || -> io::Result<()> {
        let beside = parent(&target);
        fs::create_dir_all(&beside)?;
        let new = tempfile::Builder::new().prefix(".khorovod-new-").tempdir_in(&beside)?;
        let content = new.path().join("content");
        fill(&content, files)?;
        // The old folder moves into the temporary folder, and the new folder takes its place. If the second step fails,
        // the old folder moves back. At the end, the temporary folder is deleted with everything in it.
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
        String::from("# Written by khorovod render, which replaces the whole folder. These files belong to it:\n");
    for file in files {
        let path = folder.join(&file.path);
        fs::create_dir_all(parent(&path))?;
        // The new folder is inside a temporary folder that other users cannot enter, until it is renamed.
        fs::write(&path, &file.text)?;
        if file.private {
            mode::make_private(&path)?;
        }
        let _ = writeln!(list, "{}", file.path);
    }
    fs::write(folder.join(LIST), list)
}

/// Turns every document into a file.
fn files(rendered: &[Rendered]) -> Vec<File> {
    khorovod::files(rendered)
        .into_iter()
        .map(|(path, document, text)| {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            File { path, text: format!("{text}{end}"), private: document.kind == "Secret" }
        })
        .collect()
}

/// Returns the jobs that are in a folder now and not in the new files. Refuses to remove all of them, because a user
/// who renders one job after another into the same folder would keep only the last one.
fn removed_jobs(path: &Path, target: &Path, files: &[File]) -> Result<BTreeSet<String>, Failure> {
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
            "{0} contains the objects of {other}, which this would delete, because the whole folder is replaced; render all \
             its jobs at once, for example `khorovod render jobs/*.yaml -o {0}`, use another folder, or remove this one first",
            path.display()
        ))),
        None => Ok(there.difference(&new).cloned().collect()),
    }
}

/// Refuses a folder that contains anything that khorovod did not write.
fn refuse_foreign(path: &Path, target: &Path) -> Outcome {
    let outer = parent(target);
    if target.file_name().is_some_and(|name| name == CLAIMS) && outer.join(LIST).exists() {
        return Err(Failure::Usage(format!(
            "{} is a part of {}, which khorovod replaces as a whole; use another folder",
            path.display(),
            outer.display()
        )));
    }
    if !target.exists() {
        return Ok(());
    }
    let name = path.display();
    if !target.is_dir() {
        return Err(Failure::File(format!("cannot write {name}: it is a file; leave out the `/` to replace it")));
    }
    if std::env::current_dir().is_ok_and(|here| here.starts_with(target)) {
        return Err(Failure::Usage(format!(
            "{name} contains the current folder; use one below it, for example -o rendered/"
        )));
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
                    "{name} contains {}, which khorovod did not write; the whole folder is replaced, so use another one",
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

    fn file(path: &str, private: bool) -> File {
        File { path: path.to_owned(), text: format!("kind: {path}\n"), private }
    }

    fn listing(folder: &Path) -> Vec<String> {
        let list = fs::read_to_string(folder.join(LIST)).unwrap();
        list.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn a_folder_is_replaced_as_a_whole() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/out");
        let expected =
            ["01-secret-j-ssh.yaml", "claims/02-persistentvolumeclaim-j-data.yaml", "03-job-j.yaml", "04-other.yaml"];
        write_files(&folder, &expected.map(|path| file(path, path.contains("secret")))).unwrap();
        assert_eq!(listing(&folder), expected);
        for file in expected {
            assert!(folder.join(file).is_file(), "{file}");
        }
        assert!(is_private(&folder.join(expected[0])));
        assert!(!is_private(&folder.join(expected[2])));

        // Rendered again with fewer objects: the earlier files and all temporary ones are gone.
        write_files(&folder, &[file("01-job-k.yaml", false)]).unwrap();
        assert_eq!(listing(&folder), ["01-job-k.yaml"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        assert_eq!(fs::read_dir(place.path().join("a")).unwrap().count(), 1);
    }

    fn is_private(path: &Path) -> bool {
        !mode::others_can_read(&fs::metadata(path).unwrap())
    }

    #[test]
    fn other_files_are_never_deleted() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("out");
        fs::create_dir(&folder).unwrap();
        write_files(&folder, &[file("01-job-j.yaml", false)]).unwrap();
        let Err(Failure::Usage(message)) = write_files(&folder.join("claims"), &[file("a.yaml", false)]) else {
            panic!("written")
        };
        assert!(message.contains("is a part of"), "{message}");
        fs::create_dir(folder.join("claims")).unwrap();
        fs::write(folder.join("claims/mine.yaml"), "mine").unwrap();
        let Err(Failure::File(message)) = write_files(&folder, &[file("01-job-k.yaml", false)]) else {
            panic!("replaced")
        };
        assert!(message.contains("claims/mine.yaml"), "{message}");
        assert!(folder.join("01-job-j.yaml").exists());
    }
}
