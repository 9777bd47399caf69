//! Lines and columns of many problems, for the formats that other programs read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::problem::{Problems, SourceId, Span};

/// Computes the lines and columns of problems. It finds the beginnings of the lines of each text only once.
pub struct Places<'a> {
    pub problems: &'a Problems,
    /// The offset of the first byte of each line, per text.
    lines: RefCell<HashMap<SourceId, Rc<[usize]>>>,
}

impl<'a> Places<'a> {
    pub fn new(problems: &'a Problems) -> Self {
        Self { problems, lines: RefCell::default() }
    }

    /// The name of the text that a span is in.
    pub fn file(&self, span: Span) -> &'a str {
        self.problems.sources.get(span.source).map_or("", |source| source.name.as_str())
    }

    /// The line and column where a span starts, and those where it ends (exclusive), all from 1.
    pub fn region(&self, span: Span) -> [usize; 4] {
        let text = self.problems.sources.get(span.source).map_or("", |source| source.text.as_str());
        let lines = Rc::clone(self.lines.borrow_mut().entry(span.source).or_insert_with(|| {
            let starts = text.match_indices('\n').map(|(at, _)| at + 1);
            std::iter::once(0).chain(starts).collect()
        }));
        let position = |at: usize| {
            let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
            let line = lines.partition_point(|start| *start <= at);
            [line, text[lines[line - 1]..at].chars().count() + 1]
        };
        let ([line, column], [end_line, end_column]) = (position(span.start), position(span.end.max(span.start)));
        [line, column, end_line, end_column]
    }
}

#[cfg(test)]
mod tests {
    use crate::problem::{Code, Problem, Severity};

    use super::super::{github, json, sarif};
    use super::*;

    static CODE: Code = Code::new("unknown-field", Severity::Error);

    /// A problem in the second line of a file whose name needs escaping.
    fn sample() -> Vec<Problems> {
        let mut problems = Problems::default();
        let source = problems.sources.add("a b,1.yaml", "spec:\n  gpu: 8\n");
        let span = Span { source, start: 8, end: 11 };
        problems.list.push(
            Problem::new(&CODE, span, "unknown field `gpu`: 100% wrong")
                .here("not a field")
                .hint("did you mean `gpus`?\nreally")
                .fix(span, "gpus"),
        );
        vec![problems]
    }

    #[test]
    fn lines_and_columns_are_those_of_sources() {
        let text = "a: 1\n\nä: [x,\r\n  ü]\nlast";
        let mut problems = Problems::default();
        let source = problems.sources.add("x", text);
        let places = Places::new(&problems);
        for start in 0..=text.len() + 2 {
            let [line, column, ..] = places.region(Span { source, start, end: start });
            let expected = problems.sources.position(Span { source, start, end: start });
            assert_eq!((line, column), (expected.line, expected.column), "{start}");
        }
    }

    #[test]
    fn github_messages_are_escaped() {
        insta::assert_snapshot!(
            github::text(&sample()),
            @"::error file=a b%2C1.yaml,line=2,endLine=2,col=3,endColumn=5,title=unknown-field::unknown field `gpu`: 100%25 wrong%0Adid you mean `gpus`?%0Areally"
        );
    }

    #[test]
    fn sarif_has_rule_region_and_fix() {
        let log: serde_json::Value = serde_json::from_str(&sarif::text(&sample())).unwrap();
        let run = &log["runs"][0];
        let result = &run["results"][0];
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], result["ruleId"]);
        assert_eq!(result["ruleIndex"], 0);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b%2C1.yaml");
        let region = serde_json::json!({"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 6});
        assert_eq!(place["region"], region);
        let change = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
        assert_eq!((&change["deletedRegion"], &change["insertedContent"]["text"]), (&region, &"gpus".into()));
    }

    #[test]
    fn json_has_everything() {
        let all: serde_json::Value = serde_json::from_str(&json::text(&sample())).unwrap();
        let problem = &all["problems"][0];
        assert_eq!(problem["code"], "unknown-field");
        assert_eq!(problem["labels"][0]["line"], 2);
        assert_eq!(problem["fix"]["text"], "gpus");
        assert_eq!(all["errors"], 1);
        assert!(problem["otherFix"].is_null());
    }

    #[test]
    fn json_and_sarif_have_both_fixes_of_a_problem_with_a_choice() {
        let mut all = sample();
        let problem = &mut all[0].list[0];
        problem.other_fix.clone_from(&problem.fix);
        problem.other_fix.as_mut().unwrap().text = "slotsPerWorker".to_owned();
        let json: serde_json::Value = serde_json::from_str(&json::text(&all)).unwrap();
        let other = &json["problems"][0]["otherFix"];
        assert_eq!(
            (&other["text"], &other["line"], &other["endColumn"]),
            (&"slotsPerWorker".into(), &2.into(), &6.into())
        );
        let log: serde_json::Value = serde_json::from_str(&sarif::text(&all)).unwrap();
        let fixes = log["runs"][0]["results"][0]["fixes"].as_array().unwrap();
        let texts = fixes.iter().map(|fix| &fix["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"]);
        assert_eq!(texts.collect::<Vec<_>>(), ["gpus", "slotsPerWorker"]);
    }
}
