//! The tree of a document: [`Node`]. Every key and value has the span of its text, which problems refer to.

use serde_json::Value as Json;

use super::scalar::Scalar;
use crate::problem::Span;

/// A value and its span.
#[derive(Debug, Clone)]
pub struct Node {
    pub span: Span,
    pub kind: Kind,
}

/// The kind of a value.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A scalar. `text` is its value without quotes. `plain` is true if it was written without quotes or a tag, so that
    /// its type depends on its text.
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
    /// The value of a scalar; `None` for a list or a map.
    pub fn scalar(&self) -> Option<Scalar<'_>> {
        match &self.kind {
            Kind::Scalar { text, plain: true } => Some(Scalar::plain(text)),
            Kind::Scalar { text, plain: false } => Some(Scalar::Text(text)),
            Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The value of `key`; `None` if this is not a map or has no such key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value of `key`, mutable; `None` if this is not a map or has no such key.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.kind {
            Kind::Map(entries) => entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value),
            _ => None,
        }
    }

    /// The entry of `key`; `None` if this is not a map or has no such key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The entries of a map. Empty for any other value.
    pub fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list. Empty for any other value.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a scalar of any type, without quotes; `None` for a list or a map.
    pub fn written(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The text of a scalar that is a string; `None` for any other value.
    pub fn text(&self) -> Option<&str> {
        match self.scalar()? {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The type of the value, as a phrase for messages: `a list`, `a number`.
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
            Kind::Scalar { .. } => match self.scalar() {
                Some(Scalar::Null) => "nothing",
                Some(Scalar::Bool(_)) => "a boolean",
                Some(Scalar::Int(_) | Scalar::Float(_)) => "a number",
                _ => "a string",
            },
        }
    }

    /// Like [`Node::to_json`], but a number with a notation that JSON does not keep, such as `0.10`, becomes a string.
    pub fn to_exact_json(&self) -> Json {
        match &self.kind {
            Kind::List(items) => Json::Array(items.iter().map(Node::to_exact_json).collect()),
            Kind::Map(entries) => {
                Json::Object(entries.iter().map(|entry| (entry.key.clone(), entry.value.to_exact_json())).collect())
            }
            Kind::Scalar { text, .. } => match self.to_json() {
                Json::Number(number) if number.is_f64() && number.to_string() != *text => Json::String(text.clone()),
                value => value,
            },
        }
    }

    /// The value as JSON, without spans. A scalar that is a [`Trap`](super::Trap) becomes a string. Valid specs contain
    /// no traps, because validation reports them.
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
