//! The types of values other than texts: numbers, quantities, durations, lists, maps. Each type has a reader, a schema,
//! and a report for values that do not fit.

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use super::formats::fit;
pub use super::formats::*;
use super::shapes::Constant;
use crate::job::read::durations::{meant_duration, to_integer};
use crate::job::read::{At, Defs, Expected, Field, Item, OUT_OF_RANGE, Place, Reader, WayOut, invalid};
use crate::job::types::quantity::Quantity;
use crate::job::types::{DURATION_PATTERN, parse_duration};
use crate::yaml::{Kind, Node, Scalar};

/// A whole number with limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Int<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> Field for Int<MIN, MAX> {
    const ITEM: Item = Item::Number;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let value = match node.scalar() {
            Some(Scalar::Int(value)) => u32::try_from(value).ok(),
            // JSON Schema accepts `8.0` as an integer.
            Some(Scalar::Float(value)) if value.fract() == 0.0 => to_integer(value),
            _ => return reader.wrong_type(node, Expected::Integer { min: MIN, max: MAX }),
        };
        match value {
            Some(value) if (MIN..=MAX).contains(&value) => Some(Self(value)),
            _ => {
                let message =
                    format!("`{}` is {}, outside {MIN} to {MAX}", reader.path(), node.written().unwrap_or_default());
                let is_negative = node.written().is_some_and(|text| text.starts_with('-'));
                let hint = match reader.path().rsplit('.').next() == Some("gpus") && !is_negative {
                    true => format!("`gpus` is per worker: write at most {MAX}, and raise `replicas`"),
                    false => format!("give a number from {MIN} to {MAX}"),
                };
                reader.refuse(&OUT_OF_RANGE, node, message, Some(hint))
            }
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"type": "integer", "minimum": MIN, "maximum": MAX})
    }
}

impl<const MIN: u32, const MAX: u32> Constant for Int<MIN, MAX> {
    type Written = u32;

    fn constant(written: u32) -> Self {
        Self(written)
    }
}

impl Field for bool {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match node.scalar() {
            Some(Scalar::Bool(value)) => Some(value),
            _ => reader.wrong_type(node, Expected::Boolean),
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"type": "boolean"})
    }
}

impl Field for Quantity {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        const LARGEST: i64 = 999_999_999_999;
        // `cpu: 0.5` and `memory: 1073741824` mean the same as the quoted texts.
        let text = match node.scalar() {
            Some(Scalar::Text(text)) => Cow::Borrowed(text),
            Some(Scalar::Int(value)) if (0..=LARGEST).contains(&value) => Cow::Owned(value.to_string()),
            Some(Scalar::Float(value)) if (0.0..=999_999_999_999.0).contains(&value) => Cow::Owned(decimal(value)),
            Some(Scalar::Int(_) | Scalar::Float(_)) => {
                let message =
                    format!("`{}` is {}, outside 0 to {LARGEST}", reader.path(), node.written().unwrap_or_default());
                let example = reader.example().as_ref().and_then(Json::as_str).unwrap_or("64Gi").to_owned();
                return reader.refuse(
                    &OUT_OF_RANGE,
                    node,
                    message,
                    Some(format!("write a quantity such as `{example}`")),
                );
            }
            _ => return reader.wrong_type(node, Expected::Quantity),
        };
        match Quantity::parse(&text) {
            Some(quantity) => Some(quantity),
            None => {
                let example = reader.example().as_ref().and_then(Json::as_str).map(str::to_owned);
                let wanted = match example {
                    Some(example) if example.ends_with('i') => format!("a quantity such as `{example}` or `500Mi`"),
                    Some(example) => format!("a quantity such as `{example}` or `500m`"),
                    None => "a quantity such as `32` or `64Gi`".to_owned(),
                };
                let advice = || WayOut::Advice("write digits, with a unit such as `Gi` if it is a size".to_owned());
                reader.invalid(node, &wanted, Some(way_out(&text).unwrap_or_else(advice)))
            }
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"anyOf": [
            {"type": "string", "pattern": Quantity::PATTERN},
            {"type": "number", "minimum": 0, "maximum": 999_999_999_999_u64},
        ]})
    }
}

/// A number from 0 to 10¹² without exponent, with at most 12 digits behind its point. Formatting a float with the standard library
/// would add 6 KB to a compressed WebAssembly module.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is not larger")]
fn decimal(value: f64) -> String {
    const TRILLION: u64 = 1_000_000_000_000;
    let (whole, trillionths) = (value.trunc() as u64, (value.fract() * 1e12).round() as u64);
    let text = format!("{}.{:012}", whole + trillionths / TRILLION, trillionths % TRILLION);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Constant for Quantity {
    type Written = &'static str;

    fn constant(written: &'static str) -> Self {
        Self::parse(written).unwrap_or(Self::units(0))
    }
}

/// The correction of a text that is not a quantity. `64GB` can mean `64Gi` or `64G`, so its hint names both.
fn way_out(text: &str) -> Option<WayOut> {
    let meant = meant_quantity(text)?;
    let (number, unit) = meant.split_at(meant.len() - meant.len().min(2));
    let is_binary_written = text.to_ascii_lowercase().contains('i');
    Some(match unit.strip_suffix('i').filter(|_| !is_binary_written) {
        Some(power) => {
            let decimal = if power == "K" { "k" } else { power };
            let note = format!("`{number}{decimal}` counts in powers of 1000");
            WayOut::WriteOr(meant.clone(), note)
        }
        None => WayOut::Write(meant),
    })
}

/// Replaces a decimal comma by a point, as in `64,5Gi`, and removes `_` between digits, as in `64_000Mi`. A comma before three
/// digits may separate thousands, so it stays.
fn plain_digits(text: &str) -> String {
    let text = text.replace('_', "");
    match text.split_once(',') {
        Some((whole, rest)) if rest.bytes().take_while(u8::is_ascii_digit).count() < 3 && !rest.contains(',') => {
            format!("{whole}.{rest}")
        }
        _ => text,
    }
}

/// The quantity that was probably meant by `64GB`, `64 Gi` or `64g`. Its unit is a power of two, because most programs that
/// accept such texts count in powers of two.
pub fn meant_quantity(text: &str) -> Option<String> {
    let text = &plain_digits(text.strip_prefix('+').unwrap_or(text));
    let text = &if text.starts_with('.') { format!("0{text}") } else { text.clone() };
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim().to_ascii_lowercase().trim_end_matches('b') {
        "k" | "ki" | "kilobyte" | "kilobytes" => "Ki",
        "m" | "mi" | "megabyte" | "megabytes" => "Mi",
        "g" | "gi" | "gigabyte" | "gigabytes" => "Gi",
        "t" | "ti" | "terabyte" | "terabytes" => "Ti",
        "core" | "cores" | "cpu" | "cpus" => "",
        "" if text.starts_with("0.") => unit,
        _ => return None,
    };
    let fixed = format!("{number}{unit}");
    Quantity::parse(&fixed).map(|_| fixed)
}

/// A span of time, in seconds: `30m`, `1h30m`, `90s`, `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration(pub u64);

/// The hint for a text that resembles no duration.
fn duration_hint(text: &str) -> String {
    if ["forever", "infinite", "infinity", "inf", "unlimited", "none", "∞"]
        .contains(&text.to_ascii_lowercase().as_str())
    {
        return "leave the field out for its default; `khorovod explain FIELD` describes it".to_owned();
    }
    "write whole numbers with the units `d`, `h`, `m` and `s`, without spaces".to_owned()
}

/// Whether a text would be a duration if its numbers were shorter.
fn is_long(text: &str) -> bool {
    let mut short = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        short.push_str(&part[digits.saturating_sub(6)..]);
    }
    short.len() < text.len() && parse_duration(&short).is_some()
}

impl Field for Duration {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        const EXPECTED: &str = "a duration such as `30m`, `1h30m` or `90s`";
        let digits = node.written().filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        match (node.scalar(), digits) {
            (Some(Scalar::Int(0)), _) => {
                let hint = "write `1s` or more; leave the field out for its default";
                return reader.invalid(node, EXPECTED, Some(WayOut::Advice(hint.to_owned())));
            }
            // A number without a unit, with or without quotes.
            (Some(Scalar::Int(_) | Scalar::Text(_)), Some(value)) => {
                let hint = format!("name the unit: `{value}s`, `{value}m` or `{value}h`");
                return reader.invalid(node, EXPECTED, Some(WayOut::Advice(hint)));
            }
            _ => {}
        }
        // A duration in the form of Slurm, such as `24:00:00`, which some readers of YAML read as a number.
        if let (Some(Scalar::Trap(_)), Kind::Scalar { text, .. }) = (node.scalar(), &node.kind)
            && let Some(meant) = meant_duration(text)
        {
            return reader.invalid(node, EXPECTED, Some(WayOut::Write(meant)));
        }
        let text = reader.text(node, Expected::Duration)?;
        match parse_duration(text) {
            Some(seconds) => Some(Self(seconds)),
            None if text.ends_with("ms") => {
                let hint = "write whole seconds, such as `1s`";
                reader.invalid(node, EXPECTED, Some(WayOut::Advice(hint.to_owned())))
            }
            None if text.starts_with('-') => {
                let hint = "write a positive duration; leave the field out for its default";
                reader.invalid(node, EXPECTED, Some(WayOut::Advice(hint.to_owned())))
            }
            None if text.eq_ignore_ascii_case(PeriodOrNever::NEVER) => {
                let hint =
                    "leave the field out for its default; `khorovod explain FIELD` shows whether a field takes `never`";
                reader.invalid(node, EXPECTED, Some(WayOut::Advice(hint.to_owned())))
            }
            None if is_long(text) => {
                let hint = "write at most six digits before each unit";
                reader.invalid(node, EXPECTED, Some(WayOut::Advice(hint.to_owned())))
            }
            None => {
                let meant = meant_duration(text).map(WayOut::Write);
                reader.invalid(node, EXPECTED, Some(meant.unwrap_or_else(|| WayOut::Advice(duration_hint(text)))))
            }
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"type": "string", "minLength": 1, "pattern": DURATION_PATTERN})
    }
}

/// A duration of at least one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period(pub u64);

impl Constant for Period {
    type Written = &'static str;

    fn constant(written: &'static str) -> Self {
        Self(parse_duration(written).unwrap_or_default())
    }
}

impl Field for Period {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match Duration::read(node, reader)?.0 {
            0 => reader.invalid(
                node,
                "a duration of at least one second",
                Some(WayOut::Advice("write `1s` or more".to_owned())),
            ),
            seconds => Some(Self(seconds)),
        }
    }

    fn schema(defs: &mut Defs) -> Json {
        let mut schema = Duration::schema(defs);
        schema["not"] = json!({"pattern": "^[0dhms]+$"});
        schema
    }
}

/// A duration of at least one second, or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodOrNever(pub Option<u64>);

impl PeriodOrNever {
    const NEVER: &str = "never";
}

impl Constant for PeriodOrNever {
    type Written = &'static str;

    fn constant(written: &'static str) -> Self {
        Self(parse_duration(written))
    }
}

impl Field for PeriodOrNever {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match node.text() {
            Some(Self::NEVER) => return Some(Self(None)),
            Some(text) if text.eq_ignore_ascii_case(Self::NEVER) => {
                return reader.invalid(node, "a duration or `never`", Some(WayOut::Write(Self::NEVER.to_owned())));
            }
            _ => {}
        }
        Some(Self(Some(Period::read(node, reader)?.0)))
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({"anyOf": [Period::schema(defs), {"type": "string", "enum": [Self::NEVER]}]})
    }
}

/// A time in milliseconds: `5ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Milliseconds(pub u32);

impl Field for Milliseconds {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        const EXPECTED: &str = "a time in milliseconds, from `1ms` to `10000ms`";
        if let Some(Scalar::Int(value @ 1..=10_000)) = node.scalar() {
            return reader.invalid(node, EXPECTED, Some(WayOut::Write(format!("{value}ms"))));
        }
        let number = reader.text(node, Expected::Duration)?.strip_suffix("ms");
        let digits =
            number.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0'));
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(value @ 1..=10_000) => Some(Self(value)),
            _ => reader.invalid(node, EXPECTED, None),
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"type": "string", "pattern": "^([1-9][0-9]{0,3}|10000)ms$"})
    }
}

/// For a large type, of which a copy takes time.
impl<T: Field> Field for Box<T> {
    const ITEM: Item = T::ITEM;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        T::read(node, reader).map(Box::new)
    }

    fn schema(defs: &mut Defs) -> Json {
        T::schema(defs)
    }

    fn fields(path: &str, depth: usize, each: &mut dyn FnMut(&Place<'_>)) {
        T::fields(path, depth, each);
    }
}

impl<T: Field> Field for Vec<At<T>> {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let items = reader.list(node, Expected::List(T::ITEM))?;
        // An item that cannot be read is reported and left out, so that the rules can check the other items.
        Some(items.iter().enumerate().filter_map(|(index, item)| reader.item(index, item)).collect())
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({"type": "array", "items": T::schema(defs)})
    }

    fn fields(path: &str, depth: usize, each: &mut dyn FnMut(&Place<'_>)) {
        T::fields(path, depth, each);
    }
}

/// A map whose keys have the form `K` and whose values have the type `V`, in the order of the document.
#[derive(Debug, Clone)]
pub struct Table<K, V>(pub Vec<(At<K>, At<V>)>);

impl<K: Form, V: Field> Field for Table<K, V> {
    const ITEM: Item = Item::Map;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let entries = reader.map(node, Expected::Names)?;
        let mut read = Vec::with_capacity(entries.len());
        for entry in entries {
            let value = reader.entry(entry);
            match fit(K::FORM, &entry.key) {
                Ok(()) => {
                    let key = At { value: K::wrap(&entry.key), span: entry.key_span, key: entry.key_span };
                    read.extend(value.map(|value| (key, value)));
                }
                Err((wanted, way_out)) => {
                    let message = format!("`{}` in `{}` {wanted}", entry.key, reader.path());
                    reader.push(invalid(entry.key_span, message, way_out));
                }
            }
        }
        Some(Self(read))
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({
            "type": "object",
            "propertyNames": {"maxLength": K::FORM.max, "pattern": K::PATTERN},
            "additionalProperties": V::schema(defs),
        })
    }
}

/// A map that is a part of a Kubernetes object. It is passed on unchanged.
#[derive(Debug, Clone)]
pub struct Fragment(pub Json);

impl Field for Fragment {
    const ITEM: Item = Item::Map;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        reader.map(node, Expected::Names)?;
        no_traps(node, reader)?;
        Some(Self(node.to_json()))
    }

    fn schema(defs: &mut Defs) -> Json {
        let free = json!({
            "description": "Any value that every reader takes alike.",
            "anyOf": [
                {"type": ["null", "boolean", "string"]},
                {"type": "number", "minimum": i64::MIN, "maximum": i64::MAX},
                {"type": "array", "items": {"$ref": "#/$defs/Free"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/Free"}},
            ],
        });
        defs.insert("Free".to_owned(), free);
        json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/Free"}})
    }
}

/// 2^63. Integers of the Kubernetes API have 64 bits and a sign, so all of them are smaller.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Refuses values that readers of YAML read differently, at any depth.
fn no_traps<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<()> {
    match &node.kind {
        Kind::Scalar { .. } => match node.scalar() {
            Some(Scalar::Trap(_)) => reader.wrong_type(node, Expected::Scalar),
            Some(Scalar::Float(value)) if !(-TWO_63..TWO_63).contains(&value) => {
                let message = format!("a number in `{}` is larger than the maximum of Kubernetes", reader.path());
                reader.refuse(&OUT_OF_RANGE, node, message, Some("put it in quotes to make it a string".to_owned()))
            }
            _ => Some(()),
        },
        Kind::List(items) => items.iter().try_for_each(|item| no_traps(item, reader)),
        Kind::Map(entries) => entries.iter().try_for_each(|entry| no_traps(&entry.value, reader)),
    }
}
