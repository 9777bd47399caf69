//! A document as a tree in which every key and value knows its place.

use serde_json::Value as Json;

use super::scalar::Scalar;
use crate::problem::Span;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    pub span: Span,
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A scalar's text; `plain` when it stood without quotes, so that its form decides its type.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: String,
    pub key_span: Span,
    pub value: Node,
}

impl Node {
    /// What a scalar means; a list or a map means nothing as a scalar.
    pub fn scalar(&self) -> Option<Scalar<'_>> {
        match &self.kind {
            Kind::Scalar { text, plain: true } => Some(Scalar::plain(text)),
            Kind::Scalar { text, plain: false } => Some(Scalar::Text(text)),
            Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The value under `key`, where this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.kind {
            Kind::Map(entries) => entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value),
            _ => None,
        }
    }

    /// The entry under `key`, where this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The text of a quoted or plainly textual scalar.
    pub fn text(&self) -> Option<&str> {
        match self.scalar()? {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, in words for a message.
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
            Kind::Scalar { .. } => match self.scalar() {
                Some(Scalar::Null) => "nothing",
                Some(Scalar::Bool(_)) => "a boolean",
                Some(Scalar::Int(_) | Scalar::Float(_)) => "a number",
                _ => "a text",
            },
        }
    }

    /// The same value without places. Scalars that YAML's readers disagree on become texts; the
    /// reader has refused them before.
    pub fn to_json(&self) -> Json {
        match &self.kind {
            Kind::List(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Kind::Map(entries) => {
                Json::Object(entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect())
            }
            Kind::Scalar { text, .. } => match self.scalar() {
                Some(Scalar::Null) => Json::Null,
                Some(Scalar::Bool(value)) => Json::Bool(value),
                Some(Scalar::Int(value)) => Json::from(value),
                Some(Scalar::Float(value)) => Json::from(value),
                _ => Json::String(text.clone()),
            },
        }
    }
}
