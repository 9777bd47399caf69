//! The output stream as it grows: objects where our documents stood, everything else byte for byte.

use std::ops::Range;

use crate::api::Document;
use crate::kubernetes::Object;
use crate::targets::Made;
use crate::yaml::writer::to_yaml;
use crate::{targets, yaml};

/// The text of one job's objects, and where each stands in it.
pub struct Built {
    pub text: String,
    pub documents: Vec<Document>,
}

impl Built {
    /// `head` is a comment that each object begins with, as a whole line, or nothing.
    pub fn new(made: &Made<'_>, head: &str) -> Self {
        let objects = match made {
            Made::Objects(objects) => objects,
            Made::Script { name, text } => {
                let document =
                    Document { kind: targets::SCRIPT, name: name.clone(), namespace: None, range: 0..text.len() };
                return Self { text: text.clone(), documents: vec![document] };
            }
        };
        // The scripts alone are most of it.
        let mut text = String::with_capacity(48 << 10);
        let document = |(index, object): (usize, &Object<'_>)| {
            if index > 0 {
                text.push_str("---\n");
            }
            let start = text.len();
            text.push_str(head);
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

/// What must stand between `before` and an object: `--- {a: 1}` has its content on the marker's line.
pub fn line_end(before: &[u8]) -> &'static str {
    if before.ends_with(b"---") { "\n" } else { "" }
}

/// The output as it grows.
pub struct Output<'a> {
    input: &'a str,
    /// How much of the input is in the output already.
    done: usize,
    pub text: String,
    pub documents: Vec<Document>,
}

impl<'a> Output<'a> {
    pub fn new(input: &'a str) -> Self {
        Self { input, done: 0, text: String::new(), documents: Vec::new() }
    }

    /// Copies what stands before `piece`, and puts what was built in its place.
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

    /// Copies the input up to `end` byte for byte.
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
