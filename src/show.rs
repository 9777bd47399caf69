//! Problems, plans and import reports as text: for people, and in formats that other programs read.
//!
//! Nothing is printed here: the command line and the Helm plugin print the same texts in different ways. [`Style`] formats
//! problems for a terminal.

mod clean;
mod dedup;
mod diff;
mod excerpt;
mod explain;
mod github;
mod import;
mod json;
mod places;
mod plan;
mod sarif;
mod table;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use self::excerpt::Excerpt;
use crate::problem::{Problem, Problems, Severity, Sources, Span, count};

pub use clean::{clean, clean_line};
pub use dedup::distinct;
pub use diff::text as diff;
pub use explain::{codes, derived_default, explain, targets_without};
pub use github::text as github;
pub use import::{count as import_count, document as import_json, text as import};
pub use json::text as json;
pub use plan::{changes_page as changes, page as plan, quoted as shell_word};
pub use sarif::text as sarif;

/// The maximum number of problems that are printed. `validate -o json` prints all.
const SHOWN: usize = 50;

/// The codes of problems whose main place is a secret.
const SECRETS: &[&str] = &["secret-in-env", "password-in-env"];

/// How messages are formatted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to print errors only.
    pub quiet: bool,
}

impl Style {
    fn renderer(self) -> Renderer {
        if self.colour { Renderer::styled() } else { Renderer::plain() }
    }

    /// Formats `error: message`, without a line end.
    pub fn error(self, message: &str) -> String {
        self.renderer().render(&[Group::with_title(Level::ERROR.primary_title(clean(message)))])
    }

    /// Formats `note: message`; None if the style is quiet.
    pub fn notice(self, message: &str) -> Option<String> {
        let title = Level::NOTE.primary_title(clean(message));
        (!self.quiet).then(|| self.renderer().render(&[Group::with_title(title)]))
    }

    /// Formats `ok: message`, for a check that found nothing; None if the style is quiet.
    pub fn success(self, message: &str) -> Option<String> {
        (!self.quiet).then(|| format!("ok: {}", clean(message)))
    }

    /// Formats every problem of every file and a last line that counts them. Returns nothing if there are no problems.
    pub fn problems<'a>(self, all: impl IntoIterator<Item = &'a Problems>) -> Vec<String> {
        let all: Vec<(&Sources, &Problem)> = distinct(all)
            .filter(|(_, problem)| !self.quiet || problem.severity == Severity::Error)
            .map(|(problems, problem)| (&problems.sources, problem))
            .collect();
        if all.is_empty() {
            return Vec::new();
        }
        // If there are too many problems to print all, errors come first.
        let (mut shown, rest): (Vec<_>, Vec<_>) =
            all.iter().copied().partition(|(_, problem)| all.len() <= SHOWN || problem.severity == Severity::Error);
        shown.extend(rest);
        let hidden = shown.len().saturating_sub(SHOWN);
        shown.truncate(SHOWN);
        let renderer = self.renderer();
        let text = |(sources, problem): &(&Sources, &Problem)| {
            format!("{}\n", problem_text(&renderer, sources, problem, &secrets(&all, sources)))
        };
        let mut texts: Vec<String> = shown.iter().map(text).collect();
        texts.push(renderer.render(&[Group::with_title(summary(&all, hidden))]));
        texts
    }
}

/// The places with a secret in plain text, which must not be printed: a log would contain it.
fn secrets(all: &[(&Sources, &Problem)], sources: &Sources) -> Vec<Span> {
    all.iter()
        .filter(|(other, problem)| std::ptr::eq(*other, sources) && SECRETS.contains(&problem.code.name))
        .filter_map(|(_, problem)| Some(problem.labels.first()?.span))
        .collect()
}

/// Formats one problem with its places.
fn problem_text(renderer: &Renderer, sources: &Sources, problem: &Problem, secrets: &[Span]) -> String {
    let level = level(problem.severity);
    let title = level.primary_title(clean_line(&problem.message)).id(problem.code.name);
    let mut group = Group::with_title(title);
    for excerpt in excerpt::of(sources, &problem.labels, secrets) {
        let Excerpt { file, at, first_line, text, marks, is_cut } = excerpt;
        let snippet = Snippet::source(text).line_start(first_line).annotations(marks.into_iter().map(|mark| {
            let kind = if mark.main { AnnotationKind::Primary } else { AnnotationKind::Context };
            let label = (!mark.label.is_empty()).then(|| clean_line(mark.label));
            kind.span(mark.span).label(label)
        }));
        // The renderer counts columns in the text that it prints. In a shortened line these columns are wrong, so the
        // position is printed here.
        group = if is_cut {
            group.element(Origin::path(file).line(at.line).char_column(at.column)).element(snippet)
        } else {
            group.element(snippet.path(file))
        };
    }
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.message(clean(hint)));
    }
    renderer.render(&[group])
}

/// The last line: `2 errors, 1 warning`, and the command that prints more about them.
fn summary<'a>(all: &[(&Sources, &'a Problem)], hidden: usize) -> annotate_snippets::Title<'a> {
    let counts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| (all.iter().filter(|(_, problem)| problem.severity == severity).count(), severity.word()))
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| count(number as u64, what))
        .collect();
    let more = if hidden > 0 {
        format!(" ({hidden} not shown; `khorovod validate -o json` prints all)")
    } else {
        String::new()
    };
    // The first problem of the highest severity.
    let worst = all.iter().map(|(_, problem)| problem).rev().max_by_key(|problem| problem.severity);
    let (severity, code) = worst.map_or((Severity::Note, ""), |problem| (problem.severity, problem.code.name));
    let one_code = all.iter().all(|(_, problem)| problem.code.name == code);
    let details = if one_code {
        format!("for details, run `khorovod explain {code}`")
    } else {
        format!("for details, run `khorovod explain CODE` with a code in brackets, such as `{code}`")
    };
    level(severity).primary_title(format!("{}{more}; {details}", counts.join(", ")))
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    }
}

#[cfg(test)]
mod tests {
    use crate::problem::Code;

    use super::*;

    static SLOTS: Code = Code::new("slots-above-gpus", Severity::Error);
    static LATEST: Code = Code::new("image-latest", Severity::Warning);

    fn shown(text: &str, problem: impl Fn(&dyn Fn(&str) -> Span) -> Problem) -> String {
        let mut sources = Sources::default();
        let source = sources.add("job.yaml", text.to_owned());
        let find = |part: &str| {
            let start = text.find(part).unwrap();
            Span { source, start, end: start + part.len() }
        };
        let problem = problem(&find);
        let secrets = secrets(&[(&sources, &problem)], &sources);
        problem_text(&Renderer::plain(), &sources, &problem, &secrets)
    }

    #[test]
    fn every_place_is_marked() {
        let text = "spec:\n  workers:\n    gpus: 4\n    slotsPerWorker: 8\n";
        let shown = shown(text, |find| {
            Problem::new(&SLOTS, find("8"), "`workers.slotsPerWorker` is 8, but a worker has 4 GPUs")
                .here("8 ranks")
                .and(find("4"), "4 GPUs")
                .hint("write `slotsPerWorker: 4`, or leave it out")
        });
        insta::assert_snapshot!(shown, @r"
        error[slots-above-gpus]: `workers.slotsPerWorker` is 8, but a worker has 4 GPUs
         --> job.yaml:4:21
          |
        3 |     gpus: 4
          |           - 4 GPUs
        4 |     slotsPerWorker: 8
          |                     ^ 8 ranks
          |
          = help: write `slotsPerWorker: 4`, or leave it out
        ");
    }

    #[test]
    fn escape_sequences_are_made_visible() {
        let shown = shown("name: \"a\u{1b}[2Jb\"\r\n", |find| {
            Problem::new(&LATEST, find("b"), "the name is a\u{1b}[2Jb\nreally").here("\u{9b}31m").hint("do\u{7}")
        });
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown}");
        insta::assert_snapshot!(shown, @r#"
        warning[image-latest]: the name is a␛[2Jb␊really
         --> job.yaml:1:13
          |
        1 | name: "a␛[2Jb"
          |             ^ �31m
          |
          = help: do␇
        "#);
    }

    #[test]
    fn a_secret_is_not_printed() {
        static SECRET: Code = Code::new("secret-in-env", Severity::Error);
        let shown = shown("env: {TOKEN: hünter2, X: 1}\n", |find| Problem::new(&SECRET, find("hünter2"), "a secret"));
        assert!(shown.contains("{TOKEN: •••••••, X: 1}") && !shown.contains("nter2"), "{shown}");
        assert!(SECRETS.iter().all(|name| crate::codes().any(|code| code.name == *name)));
    }

    #[test]
    fn long_lines_are_shortened_around_the_place() {
        let text = format!("{}X{}", "[".repeat(100_000), "]".repeat(100_000));
        let shown = shown(&text, |find| Problem::new(&SLOTS, find("X"), "too deep"));
        assert!(shown.contains("job.yaml:1:100001"), "{shown}");
        assert!(shown.contains("[X]") && shown.len() < 600, "{shown}");
    }
}
