//! The output stream as it grows: objects where our documents stood, everything else byte for byte.

use std::ops::Range;

use crate::emit::to_yaml;
use crate::objects::Object;
use crate::{Document, source};

/// The output as it grows.
pub struct Output<'a> {
    pub input: &'a str,
    /// How much of the input is in the output already.
    pub done: usize,
    pub text: String,
    pub documents: Vec<Document>,
}

impl<'a> Output<'a> {
    pub fn new(input: &'a str) -> Self {
        Self { input, done: 0, text: String::new(), documents: Vec::new() }
    }

    /// Copies what stands before `piece`, and puts objects in its place.
    pub fn replace(&mut self, piece: Range<usize>, objects: &[Object<'_>]) {
        self.copy(piece.start);
        // `--- {a: 1}` has its content on the marker's line.
        if self.text.ends_with("---") {
            self.text.push('\n');
        }
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                self.text.push_str("---\n");
            }
            let start = self.text.len();
            to_yaml(object, &mut self.text);
            let range = start..self.text.len();
            let namespace = object.metadata.namespace.as_ref().map(ToString::to_string);
            self.documents.push(Document {
                kind: object.kind,
                name: object.metadata.name.to_string(),
                namespace,
                range,
            });
        }
        self.done = piece.end;
    }

    /// Copies the input up to `end` byte for byte.
    pub fn copy(&mut self, end: usize) {
        for piece in source::pieces(&self.input[self.done..end]) {
            let range = self.text.len() + piece.body.start..self.text.len() + piece.body.end;
            if !self.input[self.done..end][piece.body].trim().is_empty() {
                self.documents.push(Document { kind: "", name: String::new(), namespace: None, range });
            }
        }
        self.text.push_str(&self.input[self.done..end]);
        self.done = end;
    }
}
