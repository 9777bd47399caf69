//! The macros `shape!` and `choice!`, with which fields are declared. Each field has one declaration with its name,
//! type, default, examples and documentation. From this declaration, the macros generate the Rust type, its reader, its
//! JSON Schema, and the texts of `explain` and of an editor's hover.

use serde_json::{Map, Value as Json, json};

use crate::job::read::{At, Defs, Shape};

/// Declares a map with known keys.
///
/// ```text
/// shape! {
///     /// What the shape is.
///     Elastic {
///         /// What the field is.
///         "minReplicas" min_replicas: Int<1, 100>, default 1, example 2;
///         /// A field that must be given.
///         "size" (required) size: Quantity, example "1Ti";
///     }
///     exactly one of ["claim", "nfs"];
///     or a text for "name" as name: Text;
/// }
/// ```
macro_rules! shape {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:literal $(($required:ident))? $field:ident : $type:ty
                $(, default $default:expr)? $(, example $example:expr)* ;
            )+
        }
        $(exactly one of [$($one:literal),+];)?
        $(or a text for $short:literal as $short_field:ident: $short_type:ty;)?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Default)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: Option<$crate::job::read::At<$type>>,)+
        }

        // There is one function per field that has a default. Some of them are never called: their defaults are declared
        // for the schema, and the code that resolves these fields computes the same values.
        #[allow(dead_code)]
        impl $name {
            $($(
                #[doc = concat!("The value of `", $key, "`, or its default.")]
                pub fn $field(&self) -> $crate::job::declare::shapes::OrDefault<$type> {
                    $crate::job::declare::shapes::OrDefault::new(self.$field.as_ref(), $default)
                }
            )?)+
        }

        impl $name {
            #[doc = concat!("The facts about the fields of `", stringify!($name), "`.")]
            pub const SHAPE: &'static $crate::job::read::Shape = &$crate::job::read::Shape {
                keys: &[$($key),+],
                needed: &[$($($crate::job::declare::shapes::shape!(@key $required $key),)?)+ $($($one),+)?],
                examples: concat!($("\u{1}", $key, $("\u{2}", stringify!($example),)*)+),
            };
        }

        impl $crate::job::read::Field for $name {
            const ITEM: $crate::job::read::Item = $crate::job::read::Item::Map;

            fn read<'n>(
                node: &'n $crate::yaml::Node,
                reader: &mut $crate::job::read::Reader<'n, '_>,
            ) -> Option<Self> {
                let mut read = Self::default();
                $(if let $crate::yaml::Kind::Scalar { .. } = node.kind {
                    read.$short_field = Some(reader.short(node)?);
                    return Some(read);
                })?
                for entry in reader.map(node, $crate::job::read::Expected::Fields)? {
                    match reader.known(node, entry, Self::SHAPE.keys) {
                        $(Some($key) => read.$field = reader.field(entry, $key, Self::SHAPE),)+
                        _ => {}
                    }
                }
                $($crate::job::declare::shapes::shape!(@require reader node $key $($required)?);)+
                $(reader.exactly_one(node, Self::SHAPE, &[$($one),+]);)?
                Some(read)
            }

            fn schema(defs: &mut $crate::job::read::Defs) -> serde_json::Value {
                use $crate::job::{declare::shapes, read::Field};
                let name = stringify!($name);
                if !defs.contains_key(name) {
                    defs.insert(name.to_owned(), serde_json::Value::Null);
                    let mut properties = serde_json::Map::new();
                    $(
                        let field = shapes::Property {
                            doc: concat!($($doc, "\n"),+),
                            schema: <$type as Field>::schema,
                            default: || [$(serde_json::json!($default))?].into_iter().next(),
                            shape: Self::SHAPE,
                        };
                        properties.insert($key.to_owned(), field.written($key, defs));
                    )+
                    let required = [$($($crate::job::declare::shapes::shape!(@key $required $key),)?)+];
                    let schema = shapes::Schema {
                        title: name,
                        doc: concat!($($about, "\n"),+),
                        properties,
                        required: &required,
                        one_of: &[$($($one),+)?],
                    };
                    defs.insert(name.to_owned(), schema.written());
                }
                let short: Option<serde_json::Value> = [$(<$short_type as Field>::schema(defs))?].into_iter().next();
                let map = serde_json::json!({"$ref": format!("#/$defs/{name}")});
                match short {
                    Some(short) => serde_json::json!({"anyOf": [short, map]}),
                    None => map,
                }
            }

            fn fields(path: &str, depth: usize, each: &mut dyn FnMut(&$crate::job::read::Place<'_>)) {
                let fields: &[(&str, $crate::job::read::FieldsBelow)] =
                    &[$(($key, <$type as $crate::job::read::Field>::fields)),+];
                let short: Option<&str> = [$($short)?].into_iter().next();
                $crate::job::read::walk_fields(fields, short, path, depth, each);
            }
        }
    };
    (@key required $key:literal) => {
        $key
    };
    (@require $reader:ident $node:ident $key:literal) => {};
    (@require $reader:ident $node:ident $key:literal required) => {
        $reader.required($node, Self::SHAPE, $key);
    };
}
pub(crate) use shape;

/// Declares a type for fields that take one of a few words, and the value that each word stands for.
macro_rules! choice {
    ($(#[doc = $about:literal])+ $name:ident -> $type:ty { $($word:literal => $value:expr, $doc:literal;)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub $type);

        impl $crate::job::declare::shapes::Constant for $name {
            type Written = &'static str;

            fn constant(word: &'static str) -> Self {
                match word {
                    $($word => Self($value),)+
                    other => unreachable!("the field does not take `{other}`"),
                }
            }
        }

        impl $crate::job::read::Field for $name {
            const ITEM: $crate::job::read::Item = $crate::job::read::Item::Text;

            fn read<'n>(
                node: &'n $crate::yaml::Node,
                reader: &mut $crate::job::read::Reader<'n, '_>,
            ) -> Option<Self> {
                const WORDS: &[&str] = &[$($word),+];
                match reader.text(node, $crate::job::read::Expected::Word(WORDS))? {
                    $($word => Some(Self($value)),)+
                    other => {
                        let message = format!("`{}` does not accept `{other}`", reader.path());
                        let mut problem = $crate::problem::Problem::new(
                            &$crate::job::read::UNKNOWN_VALUE, node.span, message,
                        );
                        problem = match $crate::job::read::suggestions::word(other, WORDS) {
                            Some(near) => problem.hint(format!("did you mean `{near}`?")).fix(node.span, near),
                            None => match $crate::job::read::suggestions::in_full(&reader.path(), other) {
                                Some((hint, _)) => problem.hint(hint),
                                None => problem.hint(format!("it takes {}", $crate::job::read::suggestions::alternatives(WORDS))),
                            },
                        };
                        reader.push(problem);
                        None
                    }
                }
            }

            fn schema(_: &mut $crate::job::read::Defs) -> serde_json::Value {
                serde_json::json!({
                    "type": "string",
                    "enum": [$($word),+],
                    "markdownEnumDescriptions": [$($doc),+],
                })
            }
        }
    };
}
pub(crate) use choice;

/// A type of field for which a declaration can give a default.
pub trait Constant: Clone {
    /// The type of the default in a declaration.
    type Written: ToString;

    /// Converts the default of a declaration to a value. The default must be valid; a test of the schema checks this for
    /// every declaration.
    fn constant(written: Self::Written) -> Self;
}

impl Constant for bool {
    type Written = bool;

    fn constant(written: bool) -> Self {
        written
    }
}

/// The value of a field: the value in the document or, if the field is not given, the declared default.
pub struct OrDefault<T> {
    pub value: T,
    /// The text of the declared default, if the field is not given.
    pub default: Option<String>,
}

impl<T: Constant> OrDefault<T> {
    pub fn new(given: Option<&At<T>>, default: T::Written) -> Self {
        match given {
            Some(at) => Self { value: at.value.clone(), default: None },
            None => Self { default: Some(default.to_string()), value: T::constant(default) },
        }
    }
}

impl<T> OrDefault<T> {
    /// Appends a remark to the text of the default.
    #[must_use]
    pub fn remark(self, remark: &str) -> Self {
        Self { default: self.default.map(|default| default + remark), ..self }
    }
}

/// The parts of the JSON Schema of a shape.
pub struct Schema<'a> {
    pub title: &'a str,
    pub doc: &'a str,
    pub properties: Map<String, Json>,
    pub required: &'a [&'a str],
    /// The keys of which exactly one must be given.
    pub one_of: &'a [&'a str],
}

impl Schema<'_> {
    pub fn written(self) -> Json {
        let mut schema = json!({"type": "object", "title": self.title, "description": tidy(self.doc)});
        schema["properties"] = Json::Object(self.properties);
        schema["additionalProperties"] = Json::Bool(false);
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        if !self.one_of.is_empty() {
            schema["oneOf"] = self.one_of.iter().map(|key| json!({"required": [key]})).collect();
        }
        schema
    }
}

/// The parts of the JSON Schema of a field. Most are function pointers, so that the macro generates little code per field:
/// more code would make the WebAssembly modules larger.
pub struct Property {
    pub doc: &'static str,
    pub schema: fn(&mut Defs) -> Json,
    pub default: fn() -> Option<Json>,
    pub shape: &'static Shape,
}

impl Property {
    pub fn written(&self, key: &str, defs: &mut Defs) -> Json {
        let mut field = described((self.schema)(defs), self.doc);
        if let Some(default) = (self.default)() {
            field["default"] = default;
        }
        let examples: Vec<_> = self.shape.examples(key).collect();
        if !examples.is_empty() {
            field["examples"] = Json::Array(examples);
        }
        field
    }
}

/// Adds a title and a description to a schema. The title is the first sentence of a doc comment, and the description is the
/// whole comment.
pub fn described(schema: Json, doc: &str) -> Json {
    let doc = tidy(doc);
    let title = doc.split_once(". ").map_or(doc.as_str(), |(first, _)| first).trim_end_matches('.').to_owned();
    let mut described = json!({"title": title, "description": doc});
    if let (Some(all), Json::Object(own)) = (described.as_object_mut(), schema) {
        all.extend(own);
    }
    described
}

/// Joins the lines of a doc comment into one line.
pub fn tidy(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
