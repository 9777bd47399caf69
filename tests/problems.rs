//! Every problem code, shown by specs with one mistake each. From these the tests also write the page `docs/problems.md`
//! and the examples that `khorovod explain` prints.
//!
//! `tests/problems/CODE/WHAT-IT-SHOWS.yaml` is a fixture: a spec with a mistake that has this code. Beside it are:
//! - `WHAT-IT-SHOWS.txt`: what `khorovod validate` prints for it;
//! - for at least one fixture per code, `WHAT-IT-SHOWS.right.yaml`: the same spec without the mistake. The docs and
//!   `khorovod explain` show the first such pair by name.
//!
//! The first comments of a fixture may define how the test runs it:
//! - `# args: --strict`: arguments of `khorovod validate`. `render ...` and `import ...` replace `validate`, and so do
//!   `post-render ...` and `krm ...`, which read the fixture from standard input;
//! - `# env: NAME=VALUE ...`: environment variables of the command;
//! - `# also: CODE ...`: other codes that this mistake causes;
//! - `# fill: N`: the test replaces the word `FILL` by N letters;
//! - the test replaces the word `BYTE` by a byte that is not UTF-8.
//!
//! `make bless` writes the generated files again; read each as a new user would.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use khorovod::problem::{Explained, Fix, Problem, Severity};
use khorovod::{Inputs, Text};

struct Fixture {
    /// `few-bytes`.
    code: String,
    /// `memory-without-unit`.
    name: String,
    /// Whether it is the spec without the mistake.
    is_right: bool,
    text: String,
}

impl Fixture {
    /// The name of the file that the command reads.
    fn file_name(&self) -> &'static str {
        match self.words("args").first() {
            Some(&"import") => "values.yaml",
            Some(&"post-render" | &"krm") => "stream.yaml",
            _ => "job.yaml",
        }
    }

    /// The words after `# KEY:`.
    fn words(&self, key: &str) -> Vec<&str> {
        let mut comments = self.text.lines().map_while(|line| line.strip_prefix("# "));
        let value = comments.find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        value.unwrap_or_default().split_whitespace().collect()
    }

    /// Its text, with `FILL` replaced.
    fn filled(&self) -> String {
        match self.words("fill").first() {
            Some(count) => self.text.replace("FILL", &"x".repeat(count.parse().unwrap())),
            None => self.text.clone(),
        }
    }

    /// Its bytes, with `FILL` and `BYTE` replaced.
    fn bytes(&self) -> Vec<u8> {
        let text = self.filled();
        let mut parts = text.split("BYTE").map(|part| part.as_bytes().to_owned());
        let first = parts.next().unwrap_or_default();
        parts.fold(first, |bytes, part| [bytes, part].join(&0xff))
    }

    /// Runs the command, which must print nothing on stdout if it fails, and returns its exit code and stderr.
    fn run(&self, more: &[&str]) -> (i32, String) {
        let (code, printed, messages) = self.output(more);
        assert!(
            printed.is_empty() || code == 0 && self.words("args")[..1] == ["post-render"],
            "{self}: stdout is not empty"
        );
        (code, messages)
    }

    /// Runs the command and returns its exit code, stdout and stderr.
    fn output(&self, more: &[&str]) -> (i32, String, String) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(self.file_name());
        fs::write(&file, self.bytes()).unwrap();
        std::os::unix::fs::symlink(self.overlay_folder(), place.path().join("overlays")).unwrap();
        let mut args = self.words("args");
        if !matches!(args.first(), Some(&"validate" | &"render" | &"post-render" | &"krm" | &"import")) {
            args.insert(0, "validate");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_khorovod"));
        command
            .env_clear()
            .envs([("HOME", place.path().as_os_str()), ("CI", "1".as_ref())])
            .envs(self.words("env").iter().filter_map(|word| word.split_once('=')))
            .current_dir(place.path())
            .args(&args)
            .args(more)
            .args(["--color", "never"]);
        if matches!(args[0], "post-render" | "krm") {
            command.stdin(fs::File::open(&file).unwrap());
            // Hides the note about the keys that are left out.
            command.args(args.contains(&"--no-keys").then_some("--quiet"));
        } else {
            command.arg(self.file_name());
        }
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().expect("the command was not killed"), text(stdout), text(stderr))
    }

    /// Its lines without the first comments that define how the test runs it.
    fn lines(&self) -> Vec<String> {
        let text = self.text.replace("FILL", "xxxxxxxx…").replace("BYTE", "\\xff");
        let keys = ["# args: ", "# env: ", "# also: ", "# fill: "];
        text.lines().skip_while(|line| keys.iter().any(|key| line.starts_with(key))).map(str::to_owned).collect()
    }

    fn overlay_folder(&self) -> PathBuf {
        folder().join(&self.code).join("overlays")
    }

    /// The overlay or the expectations that its arguments name: its name as a comment, then its lines.
    fn overlay(&self) -> Vec<String> {
        let args = self.words("args");
        let named = args.iter().skip_while(|arg| !["--overlay", "--expect"].contains(*arg)).nth(1);
        named.map_or_else(Vec::new, |name| {
            let text = fs::read_to_string(folder().join(&self.code).join(name)).unwrap();
            [format!("# {name}:")].into_iter().chain(text.lines().map(str::to_owned)).collect()
        })
    }

    /// The command line, as a comment; `None` for `khorovod validate` without options.
    fn command(&self) -> Option<String> {
        let args = self.words("args").join(" ");
        let has_verb = ["validate", "render", "post-render", "krm", "import"].iter().any(|verb| args.starts_with(verb));
        let from_stdin = if self.file_name() == "stream.yaml" { "< " } else { "" };
        let words = [
            self.words("env").join(" "),
            "khorovod".to_owned(),
            if has_verb { String::new() } else { "validate".to_owned() },
            args,
            format!("{from_stdin}{}", self.file_name()),
        ];
        let is_plain = words[0].is_empty() && words[3].is_empty();
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        (!is_plain).then(|| format!("# {}", words.join(" ")))
    }
}

impl std::fmt::Display for Fixture {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}/{}{}", self.code, self.name, if self.is_right { ".right" } else { "" })
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/problems")
}

/// All fixtures and the specs without their mistakes, sorted by code and name.
fn all_specs() -> Vec<Fixture> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let of_code = entry.unwrap().path();
        let code = of_code.file_name().unwrap().to_string_lossy().into_owned();
        let entries = fs::read_dir(&of_code).unwrap_or_else(|error| panic!("tests/problems/{code}: {error}"));
        for entry in entries {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_string_lossy();
            let Some(stem) = file.strip_suffix(".yaml") else { continue };
            let (name, is_right) = stem.strip_suffix(".right").map_or((stem, false), |name| (name, true));
            let text = fs::read_to_string(&path).unwrap();
            all.push(Fixture { code: code.clone(), name: name.to_owned(), is_right, text });
        }
    }
    all.sort_by(|a, b| (&a.code, &a.name).cmp(&(&b.code, &b.name)));
    all
}

/// The specs with a mistake.
fn fixtures() -> Vec<Fixture> {
    all_specs().into_iter().filter(|spec| !spec.is_right).collect()
}

/// The codes that the command printed: `error[wrong-type]: ...`.
fn reported(messages: &str) -> BTreeSet<&str> {
    let code = |line: &'static str, rest: &str| line.len() + rest.find(']').unwrap();
    messages
        .lines()
        .filter_map(|line| {
            ["error[", "warning[", "note["].into_iter().find_map(|start| {
                let rest = line.strip_prefix(start)?;
                Some(&line[start.len()..code(start, rest)])
            })
        })
        .collect()
}

/// Compares a text with a file, or writes the file if `KHOROVOD_BLESS` is set.
fn hold(path: &Path, text: &str, stale: &mut Vec<String>) {
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(path, text).unwrap();
    } else if fs::read_to_string(path).unwrap_or_default() != text {
        stale.push(path.display().to_string());
    }
}

#[test]
fn every_fixture_is_reported_by_its_code_and_no_other() {
    let mut stale = Vec::new();
    let mut wrong = Vec::new();
    for fixture in fixtures() {
        let (exit, messages) = fixture.run(&[]);
        hold(&folder().join(format!("{fixture}.txt")), &messages, &mut stale);
        let expected: BTreeSet<&str> = fixture.words("also").into_iter().chain([&*fixture.code]).collect();
        let found = reported(&messages);
        if found != expected {
            wrong.push(format!("{fixture}: reports {found:?}"));
        }
        let errors = messages.lines().any(|line| line.starts_with("error["));
        let strict = fixture.run(&["--strict"]).0;
        let noted = messages.lines().any(|line| line.starts_with("note["));
        if (exit, strict) != (i32::from(errors), i32::from(!noted || errors)) {
            wrong.push(format!("{fixture}: exits with {exit}, and {strict} under --strict"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(stale.is_empty(), "not what the command prints; look at the difference, then `make bless`: {stale:#?}");
}

#[test]
fn every_code_has_a_title_an_explanation_and_a_fixture() {
    let fixtures = fixtures();
    let shown: BTreeSet<&str> = fixtures.iter().map(|fixture| &*fixture.code).collect();
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
    // While blessing, another test may still be writing.
    if std::env::var_os("KHOROVOD_BLESS").is_none() {
        let codes = fs::read_dir(folder()).unwrap();
        let files = codes.flat_map(|code| fs::read_dir(code.unwrap().path()).unwrap());
        let printed = files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "txt"));
        assert_eq!(printed.count(), fixtures.len(), "a `.txt` file has no fixture");
    }
}

/// The problems that the library finds in a text, with default inputs.
fn found(text: &str) -> Vec<Problem> {
    khorovod::check(&Text { name: "job.yaml".to_owned(), text: text.to_owned() }, &Inputs::default()).list
}

fn apply_fix(text: &str, fix: &Fix) -> String {
    assert_eq!(fix.span.source, 0, "a fix is an edit of the spec");
    format!("{}{}{}", &text[..fix.span.start], fix.text, &text[fix.span.end..])
}

#[test]
fn every_fix_removes_its_problem() {
    let mut tried = BTreeSet::new();
    for fixture in fixtures().iter().filter(|fixture| fixture.words("args").is_empty()) {
        let text = fixture.filled();
        let before = found(&text);
        let fixes = before
            .iter()
            .flat_map(|problem| problem.fix.iter().chain(&problem.other_fix).map(move |fix| (problem, fix)));
        for (problem, fix) in fixes {
            let edited = apply_fix(&text, fix);
            let after = found(&edited);
            let same = |list: &[Problem]| {
                list.iter().filter(|other| other.code == problem.code && other.message == problem.message).count()
            };
            let (then, now) = (same(&before), same(&after));
            assert_eq!(now, then - 1, "{fixture}: {} stays after its fix\n{edited}", problem.message);
            // A text that cannot be read hides its other problems.
            let is_read = |list: &[Problem]| list.iter().all(|other| other.code.name != "yaml-syntax");
            assert!(
                after.len() < before.len() || !is_read(&before) && is_read(&after),
                "{fixture}: the fix makes another problem: {after:#?}\n{edited}"
            );
            tried.insert(problem.code.name);
        }
    }
    let with_fix = "unknown-field unknown-value wrong-type yaml-key yaml-ambiguous slots-above-gpus missing-field \
        missing-command empty-value literal-word yaml-duplicate-key yaml-syntax pod-security-level idle-gpus resources-twice \
        launcher-unset launcher-shares-claim no-effect shared-read-write-once";
    for code in with_fix.split_whitespace() {
        assert!(tried.contains(code), "no fixture has a fix for {code}");
    }
}

/// The lines that most fixtures share; an example leaves them out.
const USUAL: &[&str] = &[
    "apiVersion: khorovod.dev/v1alpha1",
    "kind: TrainingJob",
    "  name: mnist",
    "  image: ghcr.io/acme/mnist:1.4",
    "  command: [python, train.py]",
    "  workers: {replicas: 4, gpus: 8}",
];

/// The wrong spec and the right one as an example shows them: with command line and overlay, without the usual lines.
fn examples(wrong: &Fixture, right: &Fixture) -> (String, String) {
    let (old, new) = (wrong.lines(), right.lines());
    let usual = |line: &String| USUAL.contains(&line.as_str()) && old.contains(line) && new.contains(line);
    let rest = |lines: &[String]| {
        let mut rest: Vec<String> = lines.iter().filter(|line| !usual(line)).cloned().collect();
        for at in (0..rest.len()).rev() {
            // A heading without fields.
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
        let lines = fixture.command().into_iter().chain(fixture.overlay()).chain(text);
        lines.map(|line| line + "\n").collect::<String>()
    };
    (text(wrong, &old), text(right, &new))
}

/// The fixtures that have a spec without the mistake, each with that spec.
fn pairs() -> Vec<(Fixture, Fixture)> {
    let (right, mut wrong): (Vec<_>, Vec<_>) = all_specs().into_iter().partition(|spec| spec.is_right);
    let mut pairs = Vec::new();
    for right in right {
        let at = wrong.iter().position(|wrong| right.code == wrong.code && right.name == wrong.name);
        let at = at.unwrap_or_else(|| panic!("{right}.yaml has no fixture beside it"));
        pairs.push((wrong.remove(at), right));
    }
    pairs
}

/// The pair that the docs and `khorovod explain` show of each code.
fn shown_pairs() -> BTreeMap<String, (Fixture, Fixture)> {
    let mut shown = BTreeMap::new();
    for pair in pairs() {
        shown.entry(pair.0.code.clone()).or_insert(pair);
    }
    shown
}

#[test]
fn the_right_specs_have_no_problem() {
    let pairs = pairs();
    let have_pair: BTreeSet<&str> = pairs.iter().map(|(wrong, _)| &*wrong.code).collect();
    let lacking: Vec<&str> = khorovod::codes().map(|code| code.name).filter(|name| !have_pair.contains(name)).collect();
    assert!(lacking.is_empty(), "no `.right.yaml` in tests/problems for {lacking:?}");
    for (_, right) in &pairs {
        // `import` prints its report on stderr and has no --strict.
        let strict: &[&str] = if right.words("args").first() == Some(&"import") { &[] } else { &["--strict"] };
        let (code, _, messages) = right.output(strict);
        assert!(code == 0 && reported(&messages).is_empty(), "{right}.yaml: exit code {code}:\n{messages}");
    }
}

#[test]
fn explain_shows_a_wrong_and_a_right_spec_for_every_code() {
    let mut all = String::from("Wrong and right for every code, from tests/problems by `make bless`.\n");
    for (code, (wrong, right)) in shown_pairs() {
        let (old, new) = examples(&wrong, &right);
        assert_ne!(old, new, "{wrong}");
        let _ = write!(all, "== {code}\n{old}--\n{new}");
    }
    let mut stale = Vec::new();
    hold(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/show/examples.txt"), &all, &mut stale);
    assert!(stale.is_empty(), "not the examples of tests/problems; `make bless`, then build again: {stale:?}");
}

#[test]
fn the_page_has_every_code() {
    let pairs = shown_pairs();
    let mut codes: Vec<&Explained> = khorovod::codes().collect();
    codes.sort_by_key(|code| code.name);
    let mut page = String::from(
        "# Problems\n\n<!-- Generated from the code and tests/problems/ by `make bless`. -->\n\n\
         All problems that khorovod reports, by code. An error stops the render. A warning does not, unless `--strict` turns it into an error. A note needs no action.\n\
         `khorovod explain CODE` prints the same text.\n",
    );
    for code in codes {
        let kind = match code.severity {
            Severity::Error => "Error",
            Severity::Warning => "Warning",
            Severity::Note => "Note",
        };
        let details: Vec<&str> = code.details().lines().map(str::trim).collect();
        let _ = write!(page, "\n## {}\n\n{kind}: **{}**\n\n{}\n", code.name, code.title(), details.join("\n"));
        // Another test reports a code without a pair.
        let Some((wrong, right)) = pairs.get(code.name) else { continue };
        let messages = wrong.run(&[]).1;
        let shown: Vec<&str> = messages.lines().collect();
        // The last line is the number of errors.
        let shown = shown.split_last().map_or(&[][..], |(_, rest)| rest).join("\n");
        let _ = write!(page, "\n```text\n{}\n```\n", shown.trim_end());
        let _ = write!(page, "\nRight:\n\n```yaml\n{}```\n", examples(wrong, right).1);
    }
    let mut stale = Vec::new();
    hold(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/problems.md"), &page, &mut stale);
    assert!(stale.is_empty(), "docs/problems.md is not what the code says: `make bless`");
}
