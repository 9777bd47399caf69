//! Every problem as a person meets it: a spec with that one mistake, what `khorovod validate` says
//! of it, in `right/` the same without the mistake, and what is made of them: the page `docs/problems.md` and the
//! examples that `khorovod explain` shows.
//!
//! A fixture's first comments may say how it is run:
//! - `# args: --strict`: what stands behind `khorovod validate`; `render ...` takes its place, and so do
//!   `import ...`, and `post-render ...` and `krm ...`, which read it from standard input;
//! - `# also: CODE ...`: other codes that this mistake shows;
//! - `# fill: N`: the word `FILL` stands for so many letters;
//! - the word `BYTE` stands for one that is no UTF-8 text.
//!
//! `make bless` writes the files anew; then look at each as a stranger would.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use khorovod::problem::{Code, Fix, Problem, Severity};
use khorovod::{Inputs, Text};

struct Fixture {
    /// `wrong-type-2`.
    name: String,
    text: String,
}

impl Fixture {
    /// The code it shows: its name without a number.
    fn code(&self) -> &str {
        match self.name.rsplit_once('-') {
            Some((code, number)) if number.parse::<u32>().is_ok() => code,
            _ => &self.name,
        }
    }

    /// The words behind `# KEY:`.
    fn words(&self, key: &str) -> Vec<&str> {
        let mut comments = self.text.lines().map_while(|line| line.strip_prefix("# "));
        let value = comments.find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        value.unwrap_or_default().split_whitespace().collect()
    }

    /// Its text with what stands for something replaced.
    fn filled(&self) -> String {
        match self.words("fill").first() {
            Some(count) => self.text.replace("FILL", &"x".repeat(count.parse().unwrap())),
            None => self.text.clone(),
        }
    }

    /// Its bytes.
    fn bytes(&self) -> Vec<u8> {
        let text = self.filled();
        let mut parts = text.split("BYTE").map(|part| part.as_bytes().to_owned());
        let first = parts.next().unwrap_or_default();
        parts.fold(first, |bytes, part| [bytes, part].join(&0xff))
    }

    /// Runs the command on it and returns what is said; a failure prints nothing.
    fn run(&self, more: &[&str]) -> (i32, String) {
        let (code, printed, said) = self.output(more);
        assert_eq!(printed, "", "{}: a failure prints nothing", self.name);
        (code, said)
    }

    /// Runs the command on it, in a folder where it has its own name.
    fn output(&self, more: &[&str]) -> (i32, String, String) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(format!("{}.yaml", self.name));
        fs::write(&file, self.bytes()).unwrap();
        std::os::unix::fs::symlink(folder().join("overlays"), place.path().join("overlays")).unwrap();
        let mut args = self.words("args");
        if !matches!(args.first(), Some(&"validate" | &"render" | &"post-render" | &"krm" | &"import")) {
            args.insert(0, "validate");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_khorovod"));
        command
            .env_clear()
            .envs([("HOME", place.path().as_os_str()), ("CI", "1".as_ref())])
            .current_dir(place.path())
            .args(&args)
            .args(more)
            .args(["--color", "never"]);
        if matches!(args[0], "post-render" | "krm") {
            command.stdin(fs::File::open(&file).unwrap()).arg("--quiet");
        } else {
            command.arg(file.file_name().unwrap());
        }
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().expect("it was not killed"), text(stdout), text(stderr))
    }

    /// What a person writes: the lines behind the first comments that say how it is run.
    fn lines(&self) -> Vec<String> {
        let text = self.text.replace("FILL", "xxxxxxxx…").replace("BYTE", "\\xff");
        let keys = ["# args: ", "# also: ", "# fill: "];
        text.lines().skip_while(|line| keys.iter().any(|key| line.starts_with(key))).map(str::to_owned).collect()
    }

    /// The overlays it names, each behind its name.
    fn overlays(&self) -> Vec<String> {
        let args = self.words("args");
        let named = args.iter().skip_while(|arg| **arg != "-f").nth(1);
        named.map_or_else(Vec::new, |name| {
            let text = fs::read_to_string(folder().join(name)).unwrap();
            [format!("# {name}:")].into_iter().chain(text.lines().map(str::to_owned)).collect()
        })
    }

    /// The command line, as a comment; none for a plain `khorovod validate`.
    fn command(&self) -> Option<String> {
        let args = self.words("args").join(" ");
        let named = ["validate", "render", "post-render", "krm", "import"].iter().any(|verb| args.starts_with(verb));
        let file = match args.split(' ').next()? {
            "" => return None,
            "import" => " values.yaml",
            "post-render" | "krm" => " < stream.yaml",
            _ => " job.yaml",
        };
        Some(format!("# khorovod {}{args}{file}", if named { "" } else { "validate " }))
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/problems")
}

fn fixtures() -> Vec<Fixture> {
    fixtures_in(&folder())
}

fn fixtures_in(folder: &Path) -> Vec<Fixture> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "yaml") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            all.push(Fixture { name, text: fs::read_to_string(path).unwrap() });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The codes in what was said: `error[wrong-type]: ...`.
fn reported(said: &str) -> BTreeSet<&str> {
    let code = |line: &'static str, rest: &str| line.len() + rest.find(']').unwrap();
    said.lines()
        .filter_map(|line| {
            ["error[", "warning[", "note["].into_iter().find_map(|start| {
                let rest = line.strip_prefix(start)?;
                Some(&line[start.len()..code(start, rest)])
            })
        })
        .collect()
}

/// Compares with a file, or writes it where `KHOROVOD_BLESS` is set.
fn hold(path: &Path, text: &str, stale: &mut Vec<String>) {
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(path, text).unwrap();
    } else if fs::read_to_string(path).unwrap_or_default() != text {
        stale.push(path.display().to_string());
    }
}

#[test]
fn every_mistake_is_reported_as_itself_and_nothing_else() {
    let mut stale = Vec::new();
    let mut wrong = Vec::new();
    for fixture in fixtures() {
        let (exit, said) = fixture.run(&[]);
        hold(&folder().join(format!("{}.txt", fixture.name)), &said, &mut stale);
        let expected: BTreeSet<&str> = fixture.words("also").into_iter().chain([fixture.code()]).collect();
        let found = reported(&said);
        if found != expected {
            wrong.push(format!("{}: reports {found:?}", fixture.name));
        }
        let errors = said.lines().any(|line| line.starts_with("error["));
        let strict = fixture.run(&["--strict"]).0;
        let noted = said.lines().any(|line| line.starts_with("note["));
        if (exit, strict) != (i32::from(errors), i32::from(!noted || errors)) {
            wrong.push(format!("{}: exits with {exit}, and {strict} under --strict", fixture.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(stale.is_empty(), "not what is said; look at the difference, then `make bless`: {stale:#?}");
}

#[test]
fn every_code_has_a_title_an_explanation_and_a_fixture() {
    let fixtures = fixtures();
    let shown: BTreeSet<&str> = fixtures.iter().map(Fixture::code).collect();
    let known: Vec<&str> = khorovod::codes().map(|code| code.name).collect();
    assert_eq!(known.len(), known.iter().collect::<BTreeSet<_>>().len(), "a code is declared twice");
    for code in khorovod::codes() {
        assert!(shown.contains(code.name), "no fixture shows {}", code.name);
        assert!(code.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{}", code.name);
        assert!(!code.title().is_empty() && !code.title().ends_with('.'), "{}: {:?}", code.name, code.title());
        assert!(code.details().len() > 20, "{} explains nothing", code.name);
    }
    for name in shown {
        assert!(known.contains(&name), "there is no code {name}");
    }
    let said = fs::read_dir(folder())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "txt"));
    // While blessing, another test may still be writing.
    if std::env::var_os("KHOROVOD_BLESS").is_none() {
        assert_eq!(said.count(), fixtures.len(), "a fixture is gone and what was said of it is not");
    }
}

/// What the library finds in a text with every field at its default.
fn found(text: &str) -> Vec<Problem> {
    khorovod::check(&Text { name: "job.yaml".to_owned(), text: text.to_owned() }, &Inputs::default()).list
}

fn mended(text: &str, fix: &Fix) -> String {
    assert_eq!(fix.span.source, 0, "a fix is an edit of the spec");
    format!("{}{}{}", &text[..fix.span.start], fix.text, &text[fix.span.end..])
}

#[test]
fn every_fix_mends_its_problem() {
    let mut tried = BTreeSet::new();
    for fixture in fixtures().iter().filter(|fixture| fixture.words("args").is_empty()) {
        let text = fixture.filled();
        let before = found(&text);
        for problem in before.iter().filter(|problem| problem.fix.is_some()) {
            let mended = mended(&text, problem.fix.as_ref().unwrap());
            let after = found(&mended);
            let same = |list: &[Problem]| {
                list.iter().filter(|other| other.code == problem.code && other.message == problem.message).count()
            };
            let (then, now) = (same(&before), same(&after));
            assert_eq!(now, then - 1, "{}: {} stays after its fix\n{mended}", fixture.name, problem.message);
            assert!(
                after.len() < before.len(),
                "{}: the fix makes another problem: {after:#?}\n{mended}",
                fixture.name
            );
            tried.insert(problem.code.name);
        }
    }
    let mended = "unknown-field unknown-value wrong-type yaml-key yaml-ambiguous slots-above-gpus missing-field \
        missing-command needs-field empty-value literal-word";
    for code in mended.split_whitespace() {
        assert!(tried.contains(code), "no fixture has a fix for {code}");
    }
}

/// What every fixture begins with, which teaches nothing.
const USUAL: &[&str] = &[
    "apiVersion: khorovod.dev/v1alpha1",
    "kind: TrainingJob",
    "  name: mnist",
    "  image: ghcr.io/acme/mnist:1.4",
    "  command: [python, train.py]",
    "  workers: {replicas: 4, gpus: 8}",
];

/// A wrong text and the right one, each with its command line and overlays, without what they share with all others.
fn examples(wrong: &Fixture, right: &Fixture) -> (String, String) {
    let (old, new) = (wrong.lines(), right.lines());
    let usual = |line: &String| USUAL.contains(&line.as_str()) && old.contains(line) && new.contains(line);
    let rest = |lines: &[String]| {
        let mut rest: Vec<String> = lines.iter().filter(|line| !usual(line)).cloned().collect();
        for at in (0..rest.len()).rev() {
            // A heading that nothing stands below any more.
            if ["metadata:", "spec:"].contains(&rest[at].as_str())
                && rest.get(at + 1).is_none_or(|next| !next.starts_with(' '))
            {
                rest.remove(at);
            }
        }
        rest
    };
    let whole = [&old, &new].into_iter().any(|lines| rest(lines).is_empty() || lines.contains(&"---".to_owned()));
    let text = |fixture: &Fixture, lines: &[String]| {
        let text = match whole {
            _ if old == new => Vec::new(),
            true => lines.to_vec(),
            false => rest(lines),
        };
        let lines = fixture.command().into_iter().chain(fixture.overlays()).chain(text);
        lines.map(|line| line + "\n").collect::<String>()
    };
    (text(wrong, &old), text(right, &new))
}

/// Every code with the right text to its wrong one.
fn pairs() -> Vec<(Fixture, Fixture)> {
    let mut wrong = fixtures();
    let right = fixtures_in(&folder().join("right"));
    let mut pairs = Vec::new();
    for right in right {
        let at = wrong.iter().position(|wrong| wrong.name == right.name);
        let at = at.unwrap_or_else(|| panic!("right/{}.yaml rights nothing", right.name));
        pairs.push((wrong.remove(at), right));
    }
    pairs
}

#[test]
fn what_is_right_has_no_problem() {
    let pairs = pairs();
    let righted: BTreeSet<&str> = pairs.iter().map(|(_, right)| right.name.as_str()).collect();
    let lacking: Vec<&str> = khorovod::codes().map(|code| code.name).filter(|name| !righted.contains(name)).collect();
    assert!(lacking.is_empty(), "no right example in tests/problems/right for {lacking:?}");
    for (_, right) in &pairs {
        // An import has its report on stderr; it has no --strict.
        let strict: &[&str] = if right.words("args").first() == Some(&"import") { &[] } else { &["--strict"] };
        let (code, _, said) = right.output(strict);
        assert!(code == 0 && reported(&said).is_empty(), "right/{}.yaml ends with {code}:\n{said}", right.name);
    }
}

#[test]
fn explain_shows_what_is_wrong_and_what_is_right() {
    let mut all = String::from("Wrong and right for every code, from tests/problems by `make bless`.\n");
    for (wrong, right) in pairs() {
        let (old, new) = examples(&wrong, &right);
        assert_ne!(old, new, "{}", wrong.name);
        let _ = write!(all, "== {}\n{old}--\n{new}", wrong.name);
    }
    let mut stale = Vec::new();
    hold(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/show/examples.txt"), &all, &mut stale);
    assert!(stale.is_empty(), "not what tests/problems has: `make bless`, and build again: {stale:?}");
}

#[test]
fn the_page_has_every_code() {
    let fixtures = fixtures();
    let pairs = pairs();
    let mut codes: Vec<&Code> = khorovod::codes().collect();
    codes.sort_by_key(|code| code.name);
    let mut page = String::from(
        "# Problems\n\n<!-- Generated from the code and tests/problems/ by `make bless`. -->\n\n\
         What khorovod reports, by code. Errors stop a render; warnings do not, unless `--strict` makes them errors; a note asks for nothing.\n\
         `khorovod explain CODE` says the same offline.\n",
    );
    for code in codes {
        let kind = match code.severity {
            Severity::Error => "Error",
            Severity::Warning => "Warning",
            Severity::Note => "Note",
        };
        let details: Vec<&str> = code.details().lines().map(str::trim).collect();
        let _ = write!(page, "\n## {}\n\n{kind}: **{}**\n\n{}\n", code.name, code.title(), details.join("\n"));
        // A code without a fixture is the concern of another test.
        let Some(fixture) = fixtures.iter().find(|fixture| fixture.name == code.name) else { continue };
        let said = fixture.run(&[]).1;
        let shown: Vec<&str> = said.lines().collect();
        // The last line counts.
        let shown = shown.split_last().map_or(&[][..], |(_, rest)| rest).join("\n");
        let _ = write!(page, "\n```text\n{}\n```\n", shown.trim_end());
        if let Some((wrong, right)) = pairs.iter().find(|(wrong, _)| wrong.name == code.name) {
            let _ = write!(page, "\nRight:\n\n```yaml\n{}```\n", examples(wrong, right).1);
        }
    }
    let mut stale = Vec::new();
    hold(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/problems.md"), &page, &mut stale);
    assert!(stale.is_empty(), "docs/problems.md is not what the code says: `make bless`");
}
