//! The outcome of every field of the old file: what the import made of it. Each field has one row, which gets an
//! outcome before the import ends. The main type is [`FieldOutcomes`].

use std::collections::HashMap;
use std::ops::Range;

use khorovod_compiler::problem::Span;
use khorovod_compiler::yaml::{Kind, Node, Scalar};

/// The outcome of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The new spec has the value in fields with the same meaning, and it has an effect in pods.
    Kept,
    /// The new spec expresses the value in another way, or in fields that only the target `slurm` uses.
    Changed,
    /// The new spec does not have the value, because khorovod does not need it.
    Dropped,
    /// The new spec has no field for the value.
    Lost,
}

impl Verdict {
    /// The word for the report.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed => "changed",
            Self::Dropped => "dropped",
            Self::Lost => "lost",
        }
    }
}

/// One field of the old file.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its path, such as `worker.image.tag` or `#SBATCH --nodes`.
    pub path: String,
    /// Its place in the old file.
    pub span: Span,
    /// None until an importer has recorded the outcome.
    pub verdict: Option<Verdict>,
    /// Fields of the new spec, such as `spec.workers.replicas`.
    pub to: Vec<String>,
    /// How the value changed, or why it is lost and what to do.
    pub note: String,
}

/// Every field of the old file.
#[derive(Debug, Default)]
pub struct FieldOutcomes {
    rows: Vec<Row>,
    /// The rows of values that are `null`.
    nulls: Vec<usize>,
    /// For each value, the rows of that value and of all values below it.
    at: HashMap<*const Node, Range<usize>>,
}

impl FieldOutcomes {
    /// Adds a row for every leaf of a tree: scalars, empty lists and empty maps.
    pub fn enter(&mut self, node: &Node) {
        if matches!(&node.kind, Kind::Map(entries) if entries.is_empty()) {
            return;
        }
        self.leaves(node, node.span, String::new());
    }

    fn leaves(&mut self, node: &Node, span: Span, path: String) {
        let start = self.rows.len();
        match &node.kind {
            Kind::Map(entries) if !entries.is_empty() => {
                for entry in entries {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.leaves(&entry.value, entry.key_span, format!("{path}{dot}{}", entry.key));
                }
            }
            Kind::List(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    self.leaves(item, item.span, format!("{path}[{index}]"));
                }
            }
            _ => {
                let row = self.add(path, span);
                if matches!(node.scalar(), Some(Scalar::Null)) {
                    self.nulls.push(row);
                }
            }
        }
        self.at.insert(std::ptr::from_ref(node), start..self.rows.len());
    }

    /// Adds a row for a field that is not a leaf of a tree, such as an option of a command. Returns the row's number.
    pub fn add(&mut self, path: impl Into<String>, span: Span) -> usize {
        self.rows.push(Row { path: path.into(), span, verdict: None, to: Vec::new(), note: String::new() });
        self.rows.len() - 1
    }

    /// Returns the number that the next row will have.
    pub fn next_row(&self) -> usize {
        self.rows.len()
    }

    /// Returns the path of the first field at or below a value.
    pub fn path(&self, node: &Node) -> &str {
        self.range(node).next().map_or("", |row| &self.rows[row].path)
    }

    /// Records the outcome of each field at or below a value that has no outcome yet.
    pub fn settle(&mut self, node: &Node, verdict: Verdict, to: &str, how: &str) {
        for row in self.range(node) {
            self.settle_row(row, verdict, to, how);
        }
    }

    /// Records the outcome of a row, unless the row has one. If `to` names no field of the new spec, `Kept` and
    /// `Changed` become `Dropped`.
    pub fn settle_row(&mut self, row: usize, verdict: Verdict, to: &str, how: &str) {
        let Some(row) = self.rows.get_mut(row).filter(|row| row.verdict.is_none()) else { return };
        row.verdict = Some(if to.is_empty() && verdict != Verdict::Lost { Verdict::Dropped } else { verdict });
        row.to = to.split_whitespace().map(str::to_owned).collect();
        how.clone_into(&mut row.note);
    }

    /// Whether there is a row that is not a field of the file and whose path ends with `end`.
    pub fn has(&self, end: &str) -> bool {
        self.rows.iter().any(|row| row.path.ends_with(end))
    }

    /// Records for a value the outcome that another value has.
    pub fn copy(&mut self, from: &Node, to: &Node) {
        let rows = self.range(from).zip(self.range(to)).collect::<Vec<_>>();
        for (from, to) in rows {
            let Row { verdict: Some(verdict), to: fields, note, .. } = self.rows[from].clone() else { continue };
            self.settle_row(to, verdict, &fields.join(" "), &note);
        }
    }

    /// Whether the file has fields, and all of them are unknown to the importer.
    pub fn is_foreign(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.verdict.is_none())
    }

    /// Returns all rows in the order of the file. Fields without an outcome get the note `rest`.
    pub fn close(mut self, rest: &str) -> Vec<Row> {
        for row in std::mem::take(&mut self.nulls) {
            self.settle_row(row, Verdict::Dropped, "", "it has no value");
        }
        for row in 0..self.rows.len() {
            self.settle_row(row, Verdict::Lost, "", rest);
        }
        self.rows.sort_by_key(|row| (row.span.source, row.span.start));
        self.rows
    }

    fn range(&self, node: &Node) -> Range<usize> {
        self.at.get(&std::ptr::from_ref(node)).cloned().unwrap_or(0..0)
    }
}
