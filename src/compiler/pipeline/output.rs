//! Assembles the output of a render: [`Output`] copies the input, and replaces each TrainingJob by its objects.

use std::ops::Range;

use crate::api::Document;
use crate::kubernetes::Object;
use crate::targets::TargetOutput;
use crate::yaml::writer::to_yaml;
use crate::{targets, yaml};

/// The text of the objects of one job, and the range of each object in it.
pub struct Built {
    pub text: String,
    pub documents: Vec<Document>,
}

impl Built {
    /// Writes the output of a target as YAML. `comment` is a comment line that precedes each object, or empty.
    pub fn new(output: &TargetOutput<'_>, comment: &str) -> Self {
        let objects = match output {
            TargetOutput::Objects(objects) => objects,
            TargetOutput::Script { name, text } => {
                let document =
                    Document { kind: targets::SCRIPT, name: name.clone(), namespace: None, range: 0..text.len() };
                return Self { text: text.clone(), documents: vec![document] };
            }
        };
        // Scripts are most of the text, so reserve space for them at once.
        let mut text = String::with_capacity(96 << 10);
        let document = |(index, object): (usize, &Object<'_>)| {
            if index > 0 {
                text.push_str("---\n");
            }
            let start = text.len();
            text.push_str(comment);
            to_yaml(object, &mut text);
            Document {
                kind: object.kind,
                name: object.metadata.name.to_string(),
                namespace: object.metadata.namespace.as_ref().map(ToString::to_string),
                range: start..text.len(),
            }
        };
        let documents = objects.iter().enumerate().map(document).collect();
        Self { text, documents }
    }
}

/// The text to write between `before` and an object: a line break if `before` ends with the marker `---`, for example if
/// `--- {a: 1}` is replaced. Otherwise it is empty.
pub fn line_end(before: &[u8]) -> &'static str {
    if before.ends_with(b"---") { "\n" } else { "" }
}

/// The output of a render.
pub struct Output<'a> {
    input: &'a str,
    /// The number of bytes of the input that are already in the output or replaced.
    done: usize,
    pub text: String,
    pub documents: Vec<Document>,
}

impl<'a> Output<'a> {
    /// An empty output for an input.
    pub fn new(input: &'a str) -> Self {
        Self { input, done: 0, text: String::new(), documents: Vec::new() }
    }

    /// Copies the input before `piece`, and writes `built` in place of `piece`.
    pub fn replace(&mut self, piece: Range<usize>, built: Built) {
        self.copy(piece.start);
        self.text.push_str(line_end(self.text.as_bytes()));
        let before = self.text.len();
        self.text.push_str(&built.text);
        self.documents.extend(built.documents.into_iter().map(|mut document| {
            document.range = before + document.range.start..before + document.range.end;
            document
        }));
        self.done = piece.end;
    }

    /// Copies the input up to `end` unchanged.
    pub fn copy(&mut self, end: usize) {
        for piece in yaml::pieces(&self.input[self.done..end]) {
            let range = self.text.len() + piece.body.start..self.text.len() + piece.body.end;
            if !self.input[self.done..end][piece.body].trim().is_empty() {
                self.documents.push(Document { kind: "", name: String::new(), namespace: None, range });
            }
        }
        self.text.push_str(&self.input[self.done..end]);
        self.done = end;
    }
}
