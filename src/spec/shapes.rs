//! One declaration a field: its name, type, default, examples and documentation become the raw
//! type, its reader, its JSON Schema, and the texts of `explain` and of an editor's hover.

/// Declares a map with known keys.
///
/// ```text
/// shape! {
///     /// What the shape is.
///     Elastic {
///         /// What the field is.
///         "minWorkers" min_workers: Int<1, 100>, default "...", example 2;
///         /// A field that must be given.
///         "size" (required) size: Quantity, example "1Ti";
///     }
///     exactly one of ["claim", "nfs"];
///     "persistentVolume" needs "size";
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
        $($need:literal needs $other:literal;)*
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Default)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: Option<$crate::spec::field::At<$type>>,)+
        }

        impl $crate::spec::field::Shape for $name {
            const KEYS: &'static [&'static str] = &[$($key),+];
            const NEEDED: &'static [&'static str] = &[$($($crate::spec::shapes::shape!(@key $required $key),)?)+ $($($one),+)?];

            fn example(key: &str) -> Option<serde_json::Value> {
                let examples: Vec<serde_json::Value> = match key {
                    $($key => vec![$(serde_json::json!($example)),*],)+
                    _ => Vec::new(),
                };
                examples.into_iter().next()
            }
        }

        impl $crate::spec::field::Field for $name {
            fn read<'n>(
                node: &'n $crate::source::Node,
                reader: &mut $crate::spec::field::Reader<'n, '_>,
            ) -> Option<Self> {
                let mut read = Self::default();
                for entry in reader.map(node, "a map of fields")? {
                    match entry.key.as_str() {
                        $($key => read.$field = reader.field::<Self, _>(entry),)+
                        _ => reader.unknown(entry, <Self as $crate::spec::field::Shape>::KEYS),
                    }
                }
                $($crate::spec::shapes::shape!(@require reader node $key $($required)?);)+
                $(reader.exactly_one::<Self>(node, &[$($one),+]);)?
                $(reader.needs::<Self>(node, $need, $other);)*
                Some(read)
            }

            fn schema(defs: &mut $crate::spec::field::Defs) -> serde_json::Value {
                let name = stringify!($name);
                if !defs.contains_key(name) {
                    defs.insert(name.to_owned(), serde_json::Value::Null);
                    let mut properties = serde_json::Map::new();
                    $(
                        let mut field = $crate::spec::shapes::described(
                            <$type as $crate::spec::field::Field>::schema(defs),
                            concat!($($doc, "\n"),+),
                        );
                        $(field["default"] = serde_json::json!($default);)?
                        let examples: Vec<serde_json::Value> = vec![$(serde_json::json!($example)),*];
                        if !examples.is_empty() {
                            field["examples"] = serde_json::Value::Array(examples);
                        }
                        properties.insert($key.to_owned(), field);
                    )+
                    let required: Vec<&str> = [$(($key, stringify!($($required)?))),+]
                        .into_iter().filter(|(_, required)| !required.is_empty()).map(|(key, _)| key).collect();
                    let mut schema = serde_json::json!({
                        "type": "object",
                        "title": name,
                        "description": $crate::spec::shapes::tidy(concat!($($about, "\n"),+)),
                        "properties": properties,
                        "additionalProperties": false,
                    });
                    if !required.is_empty() {
                        schema["required"] = serde_json::json!(required);
                    }
                    $(schema["oneOf"] = serde_json::json!([$({"required": [$one]}),+]);)?
                    let needs: serde_json::Map<String, serde_json::Value> =
                        [$(($need.to_owned(), serde_json::json!([$other]))),*].into_iter().collect();
                    if !needs.is_empty() {
                        schema["dependentRequired"] = serde_json::Value::Object(needs);
                    }
                    defs.insert(name.to_owned(), schema);
                }
                serde_json::json!({"$ref": format!("#/$defs/{name}")})
            }

            fn fields(path: &str, depth: usize, each: &mut dyn FnMut(usize, &str, &'static str)) {
                $(each(depth, path, $key);)+
                if depth < $crate::spec::field::DEEPEST {
                    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                    $(<$type as $crate::spec::field::Field>::fields(&below($key), depth + 1, each);)+
                }
            }
        }
    };
    (@key required $key:literal) => {
        $key
    };
    (@require $reader:ident $node:ident $key:literal) => {};
    (@require $reader:ident $node:ident $key:literal required) => {
        $reader.required::<Self>($node, $key);
    };
}
pub(crate) use shape;

/// The first of some words.
macro_rules! first {
    ($first:literal $(, $rest:literal)*) => {
        $first
    };
}
pub(crate) use first;

/// Declares a field that takes one of a few words, and the value each stands for.
macro_rules! choice {
    ($(#[doc = $about:literal])+ $name:ident -> $type:ty { $($word:literal => $value:expr, $doc:literal;)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub $type);

        impl $crate::spec::field::Field for $name {
            fn read<'n>(
                node: &'n $crate::source::Node,
                reader: &mut $crate::spec::field::Reader<'n, '_>,
            ) -> Option<Self> {
                const WORDS: &[&str] = &[$($word),+];
                match reader.text(node, concat!("a text such as `", $crate::spec::shapes::first!($($word),+), "`"))? {
                    $($word => Some(Self($value)),)+
                    other => {
                        let message = format!("`{}` does not know `{other}`", reader.path());
                        let mut problem = $crate::problem::Problem::new(
                            &$crate::spec::field::UNKNOWN_VALUE, node.span, message,
                        );
                        problem = match $crate::spec::elsewhere::word(other, WORDS) {
                            Some(near) => problem.hint(format!("did you mean `{near}`?")).fix(node.span, near),
                            None => problem.hint(format!("it takes {}", $crate::spec::wording::words(WORDS))),
                        };
                        reader.push(problem);
                        None
                    }
                }
            }

            fn schema(_: &mut $crate::spec::field::Defs) -> serde_json::Value {
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

/// A schema with the first sentence of a doc comment as title and all of it as description.
pub fn described(schema: serde_json::Value, doc: &str) -> serde_json::Value {
    let doc = tidy(doc);
    let title = doc.split_once(". ").map_or(doc.as_str(), |(first, _)| first).trim_end_matches('.').to_owned();
    let mut described = serde_json::json!({"title": title, "description": doc});
    if let (Some(all), serde_json::Value::Object(own)) = (described.as_object_mut(), schema) {
        all.extend(own);
    }
    described
}

/// A doc comment as running text.
pub fn tidy(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
