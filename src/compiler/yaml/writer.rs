//! The last phase of the pipeline: objects → YAML text. [`to_yaml`] is a serde serializer that appends to one string, in the
//! style of Kubernetes' own tools: an indent of two spaces, lists not indented under their key, scripts as literal blocks.
//!
//! For speed, the serializer builds no tree and allocates nothing per field. The module [`scalar`] decides between
//! plain, quoted and block scalars.

mod scalar;
#[cfg(test)]
mod tests;
mod tokens;

use std::fmt::{self, Display};

use serde::ser::{self, Error as _, Impossible, Serialize};
use serde_json::Value as Json;

/// Appends `value` to `out` as one document, without `---`. The keys of every map must be strings.
pub fn to_yaml<T: Serialize + ?Sized>(value: &T, out: &mut String) {
    let document = Node { out, column: 0, place: Place::Start };
    value.serialize(document).expect("keys of objects are strings");
}

/// Converts a value to JSON. The keys of every map must be strings. Uses the serializer of [`to_yaml`], which writes tokens
/// instead of YAML in this case. With a second serializer, such as that of `serde_json`, the binary would contain the code
/// that serializes each object twice.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Json {
    let mut out = String::new();
    let written = value.serialize(Node { out: &mut out, column: 0, place: Place::Token });
    written.ok().and_then(|()| tokens::read(&mut out.as_str())).expect("keys of objects are strings")
}

/// The longest key that is written as `key:`. Longer keys are written as `? key`, because YAML allows at most 1024
/// characters before the colon.
const LONGEST_KEY: usize = 1000;

/// A text that is the same in every document, such as a script, in the form in which [`to_yaml`] writes it in a ConfigMap: a
/// literal block whose lines are indented by [`Literal::INDENT`]. The Rust compiler formats these texts, because at run time it
/// would take a fifth of a render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal(&'static str);

/// The newtype name that marks a [`Literal`] for the serializer.
const LITERAL: &str = "khorovod::Literal";

impl Literal {
    /// The first line of a block.
    pub const HEADER: &'static str = "|\n";
    /// The indentation of the value of an entry of `data`.
    pub const INDENT: &'static str = "    ";
    /// The empty text.
    pub const EMPTY: Self = Self("\"\"\n");

    /// A text that is already formatted: [`HEADER`](Self::HEADER), and lines that start with [`INDENT`](Self::INDENT).
    pub const fn from_block(block: &'static str) -> Self {
        Self(block)
    }

    /// Formats a text that ends with one line break, and keeps it until the process ends. Returns `None` if the text cannot be
    /// written as a block.
    pub fn new(text: &str) -> Option<Self> {
        let mut block = String::new();
        scalar::write_value(text, Self::INDENT.len(), &mut block);
        block.push('\n');
        block.starts_with(Self::HEADER).then(|| Self(block.leak()))
    }

    /// The text.
    pub fn text(self) -> String {
        unindented(self.0)
    }
}

/// The text of a [`Literal`].
fn unindented(block: &str) -> String {
    let lines = block.strip_prefix(Literal::HEADER).unwrap_or_default().split_inclusive('\n');
    lines.map(|line| line.strip_prefix(Literal::INDENT).unwrap_or(line)).collect()
}

impl Serialize for Literal {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(LITERAL, self.0)
    }
}

/// A value that cannot be written, such as a key that is not a string. Rendered objects contain no such value.
#[derive(Debug)]
struct Error(String);

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// The text before a node on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing: the node is the whole document.
    Start,
    /// `key:`, which starts at `column`.
    Key,
    /// `- `, which starts at `column`.
    Dash,
    /// Nothing, because the node is a key itself. The key starts at `column`.
    Name,
    /// The output is not YAML but [`tokens`].
    Token,
    /// The value is YAML, which is copied.
    Formatted,
}

/// The position at which the next value is written.
struct Node<'a> {
    out: &'a mut String,
    column: usize,
    place: Place,
}

impl<'a> Node<'a> {
    /// Writes a number, a boolean or `null`, which needs no quotes.
    fn bare(mut self, write: impl FnOnce(&mut String)) -> Result<(), Error> {
        self.refuse_key()?;
        self.space();
        write(self.out);
        self.out.push('\n');
        Ok(())
    }

    /// Fails if the node is a key, because only strings can be keys.
    fn refuse_key(&self) -> Result<(), Error> {
        if self.place == Place::Name { Err(Error::custom("a key that is not a string")) } else { Ok(()) }
    }

    /// Writes a key and its colon.
    fn key(self, name: &str) {
        let start = self.out.len();
        scalar::write_line(name, self.out);
        if self.out.len() - start > LONGEST_KEY {
            self.out.insert_str(start, "? ");
            self.out.push('\n');
            indent(self.out, self.column);
        }
        self.out.push(':');
    }

    /// Writes the space between a key and a value on the same line.
    fn space(&mut self) {
        if self.place == Place::Key {
            self.out.push(' ');
        }
    }

    /// Starts a map. Its entries are indented below the key or the dash of the map.
    fn map(mut self) -> Result<Block<'a>, Error> {
        self.refuse_key()?;
        self.open('{');
        let column = if self.place == Place::Start { 0 } else { self.column + 2 };
        Ok(Block { node: self, column, empty: true })
    }

    /// Starts a list. If the list is below a key, its items are not indented. If it is below a dash, its items are
    /// indented.
    fn list(mut self) -> Result<Block<'a>, Error> {
        self.refuse_key()?;
        self.open('[');
        let column = if self.place == Place::Dash { self.column + 2 } else { self.column };
        Ok(Block { node: self, column, empty: true })
    }

    /// Writes an opening bracket, if the output is tokens.
    fn open(&mut self, bracket: char) {
        if self.place == Place::Token {
            self.out.push(bracket);
        }
    }
}

/// A map or a list while it is written. Nothing is written before the first child, so that an empty map or list can
/// become `{}` or `[]`.
struct Block<'a> {
    node: Node<'a>,
    column: usize,
    empty: bool,
}

impl Block<'_> {
    /// Writes the line break and the indent before the next child.
    fn begin_child(&mut self) {
        if self.node.place == Place::Token {
            return;
        }
        let inline = self.empty && self.node.place != Place::Key;
        if self.empty && self.node.place == Place::Key {
            self.node.out.push('\n');
        }
        if !inline {
            indent(self.node.out, self.column);
        }
        self.empty = false;
    }

    /// Writes the key of a struct field, which needs no quotes.
    fn field(&mut self, key: &'static str) {
        if self.node.place == Place::Token {
            return tokens::push_string(key, self.node.out);
        }
        self.begin_child();
        self.node.out.push_str(key);
        self.node.out.push(':');
    }

    fn child(&mut self, place: Place) -> Node<'_> {
        let place = if self.node.place == Place::Token { Place::Token } else { place };
        Node { out: self.node.out, column: self.column, place }
    }

    /// Writes the brackets of an empty map or list.
    fn finish(mut self, brackets: &str) {
        if self.node.place == Place::Token {
            self.node.out.push_str(&brackets[1..]);
        } else if self.empty {
            self.node.space();
            self.node.out.push_str(brackets);
            self.node.out.push('\n');
        }
    }
}

/// A line break and 64 spaces, which are enough for the indentation of nearly all lines.
const LINE: &str = "\n                                                                ";

/// Writes `columns` spaces.
fn indent(out: &mut String, columns: usize) {
    let mut left = columns;
    while left >= LINE.len() {
        out.push_str(&LINE[1..]);
        left -= LINE.len() - 1;
    }
    out.push_str(&LINE[1..=left]);
}

/// Starts a new line at a column.
fn line_at(out: &mut String, column: usize) {
    let at_once = column.min(LINE.len() - 1);
    out.push_str(&LINE[..=at_once]);
    if at_once < column {
        indent(out, column - at_once);
    }
}

macro_rules! integers {
    ($($method:ident($type:ty))+) => {
        $(fn $method(self, v: $type) -> Result<(), Error> {
            self.serialize_i64(v.into())
        })+
    };
}

impl<'a> ser::Serializer for Node<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Block<'a>;
    type SerializeTuple = Block<'a>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Block<'a>;
    type SerializeStruct = Block<'a>;
    type SerializeStructVariant = Block<'a>;

    integers! {
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32)
    }
    fn serialize_bool(self, v: bool) -> Result<(), Error> {
        self.bare(|out| out.push_str(if v { "true" } else { "false" }))
    }
    fn serialize_i64(self, v: i64) -> Result<(), Error> {
        self.bare(|out| {
            if v < 0 {
                out.push('-');
            }
            scalar::write_digits(v.unsigned_abs(), out);
        })
    }
    fn serialize_u64(self, v: u64) -> Result<(), Error> {
        self.bare(|out| scalar::write_digits(v, out))
    }
    fn serialize_f32(self, v: f32) -> Result<(), Error> {
        self.serialize_f64(f64::from(v))
    }
    fn serialize_f64(self, v: f64) -> Result<(), Error> {
        self.bare(|out| scalar::write_float(v, out))
    }
    fn serialize_char(self, v: char) -> Result<(), Error> {
        self.serialize_str(v.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(mut self, v: &str) -> Result<(), Error> {
        self.space();
        match self.place {
            Place::Name => {
                self.key(v);
                return Ok(());
            }
            Place::Token => {
                tokens::push_string(v, self.out);
                return Ok(());
            }
            Place::Formatted => {
                self.out.push_str(v);
                return Ok(());
            }
            // At the top level a block scalar could contain a line that is a document marker.
            Place::Start => scalar::write_line(v, self.out),
            Place::Key | Place::Dash => scalar::write_value(v, self.column + 2, self.out),
        }
        self.out.push('\n');
        Ok(())
    }
    fn serialize_bytes(self, v: &[u8]) -> Result<(), Error> {
        self.collect_seq(v)
    }
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Error> {
        self.bare(|out| out.push_str("null"))
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), Error> {
        if name != LITERAL {
            return value.serialize(self);
        }
        if self.place == Place::Key && self.column + 2 == Literal::INDENT.len() {
            self.out.push(' ');
            return value.serialize(Node { out: self.out, column: 0, place: Place::Formatted });
        }
        let mut block = String::new();
        value.serialize(Node { out: &mut block, column: 0, place: Place::Formatted })?;
        self.serialize_str(&unindented(&block))
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut map = self.map()?;
        ser::SerializeMap::serialize_entry(&mut map, variant, value)?;
        ser::SerializeMap::end(map)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Block<'a>, Error> {
        self.list()
    }
    fn serialize_tuple(self, _: usize) -> Result<Block<'a>, Error> {
        self.list()
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Error> {
        Err(Error::custom("a tuple struct is not supported"))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(Error::custom("a tuple variant is not supported"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Block<'a>, Error> {
        self.map()
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Block<'a>, Error> {
        self.map()
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Block<'a>, Error> {
        let mut outer = self.map()?;
        outer.field(variant);
        let place = if outer.node.place == Place::Token { Place::Token } else { Place::Key };
        Node { out: outer.node.out, column: outer.column, place }.map()
    }
}

impl ser::SerializeSeq for Block<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.begin_child();
        if self.node.place != Place::Token {
            self.node.out.push_str("- ");
        }
        value.serialize(self.child(Place::Dash))
    }
    fn end(self) -> Result<(), Error> {
        self.finish("[]");
        Ok(())
    }
}

impl ser::SerializeTuple for Block<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        ser::SerializeSeq::serialize_element(self, value)
    }
    fn end(self) -> Result<(), Error> {
        ser::SerializeSeq::end(self)
    }
}

impl ser::SerializeMap for Block<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.begin_child();
        key.serialize(self.child(Place::Name))
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(self.child(Place::Key))
    }
    fn end(self) -> Result<(), Error> {
        self.finish("{}");
        Ok(())
    }
}

impl ser::SerializeStruct for Block<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key);
        value.serialize(self.child(Place::Key))
    }
    fn end(self) -> Result<(), Error> {
        self.finish("{}");
        Ok(())
    }
}

impl ser::SerializeStructVariant for Block<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        ser::SerializeStruct::serialize_field(self, key, value)
    }
    fn end(self) -> Result<(), Error> {
        // If the output is tokens, the map that contains the variant also ends here.
        let brackets = if self.node.place == Place::Token { "{}}" } else { "{}" };
        self.finish(brackets);
        Ok(())
    }
}
