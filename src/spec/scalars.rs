//! The types a single value can have: each knows its form, its schema, and what to say when a
//! text does not fit.

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use super::field::{At, Defs, Field, OUT_OF_RANGE, Reader, WayOut, invalid};
use super::quantity::Quantity;
use crate::source::{Kind, Node, Scalar};

/// Declares a text with a form: a predicate for the reader, the same as a pattern for the schema.
macro_rules! texts {
    ($($(#[doc = $doc:literal])+ $name:ident, $wanted:literal, $max:literal, $pattern:literal, $valid:expr;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(pub String);

        impl Form for $name {
            const WANTED: &'static str = $wanted;
            const MAX: usize = $max;
            const PATTERN: &'static str = $pattern;

            fn fits(text: &str) -> bool {
                let valid: fn(&str) -> bool = $valid;
                valid(text)
            }

            fn wrap(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl Field for $name {
            fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
                // Quotes alone would not mend it.
                if let (Kind::Scalar { text, .. }, Some(Scalar::Int(_) | Scalar::Float(_))) = (&node.kind, node.scalar())
                    && let Err((wanted, hint)) = fit::<Self>(text)
                {
                    return reader.invalid(node, &wanted, hint);
                }
                let text = reader.text(node, if $wanted.starts_with("a text") { "a text" } else { concat!("a text: ", $wanted) })?;
                match fit::<Self>(text) {
                    Ok(value) => Some(value),
                    Err((wanted, hint)) => reader.invalid(node, &wanted, hint),
                }
            }

            fn schema(_: &mut Defs) -> Json {
                json!({"type": "string", "maxLength": $max, "pattern": $pattern})
            }
        }
    )+};
}

/// A text with a form.
pub trait Form: Field {
    /// The form in words.
    const WANTED: &'static str;
    /// The longest it may be, in characters.
    const MAX: usize;
    /// The form as a pattern.
    const PATTERN: &'static str;
    /// Whether a text has the form, whatever its length.
    fn fits(text: &str) -> bool;
    /// The value of a text that fits.
    fn wrap(text: &str) -> Self;
}

/// The value of a text that fits; else what is wrong, behind `is not`, and what might mend it.
fn fit<T: Form>(text: &str) -> Result<T, (String, Option<WayOut>)> {
    if text.len() > T::MAX && text.chars().count() > T::MAX {
        let (length, most) = (text.chars().count(), T::MAX);
        return Err((
            format!("{} (it has {length} characters, at most {most} fit)", T::WANTED),
            Some(WayOut::Say("shorten it".to_owned())),
        ));
    }
    if T::fits(text) {
        Ok(T::wrap(text))
    } else {
        Err((T::WANTED.to_owned(), meant_text(text, T::fits).map(WayOut::Write)))
    }
}

texts! {
    /// Any text that a process can be given.
    Text, "a text without NUL characters", 1_000_000, r"^[^\u0000]*$", |text| !text.contains('\0');
    /// A text that is not empty.
    Word, "a text that is not empty and has no NUL character", 1_000_000, r"^[^\u0000]+$", |text| !text.is_empty() && !text.contains('\0');
    /// A DNS-1035 label.
    Label, "a name of lower-case letters, digits and `-` that starts with a letter and ends with a letter or digit", 63,
        r"^[a-z]([-a-z0-9]*[a-z0-9])?$", |text| label(text) && text.starts_with(|c: char| c.is_ascii_lowercase());
    /// A DNS-1123 label.
    Namespace, "a namespace of lower-case letters, digits and `-`", 63, r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", label;
    /// A DNS-1123 subdomain: the name of most Kubernetes objects.
    ObjectName, "the name of a Kubernetes object: lower-case letters, digits, `-` and `.`", 253,
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", |text| text.split('.').all(label);
    /// A key of a Secret or ConfigMap.
    DataKey, "a key of a Secret or ConfigMap: letters, digits, `-`, `_` and `.`", 253, r"^[-._a-zA-Z0-9]+$", data_key;
    /// A file's name in `code.files`.
    FileName, "a file name of letters, digits, `-`, `_` and `.`", 253, r"^(\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*)$",
        |text| data_key(text) && text.strip_prefix('.').unwrap_or(text).starts_with(|c: char| c != '.');
    /// The name of an environment variable.
    EnvName, "a variable name of letters, digits and `_` that does not start with a digit", 253, r"^[A-Za-z_][A-Za-z0-9_]*$",
        |text| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && text.starts_with(|c: char| !c.is_ascii_digit());
    /// An absolute path.
    Path, "an absolute path without `..`, `:` or control characters", 4096,
        r"^/((\.|\.{3}[^/:\u0000-\u001f\u007f]*|\.{0,2}[^./:\u0000-\u001f\u007f][^/:\u0000-\u001f\u007f]*)(/|$))*$", absolute;
    /// A path below a volume.
    SubPath, "a relative path without `..`", 4096,
        r"^((^|/)(\.|\.{3}[^/:\u0000-\u001f\u007f]*|\.{0,2}[^./:\u0000-\u001f\u007f][^/:\u0000-\u001f\u007f]*))+$",
        |text| !text.is_empty() && !text.starts_with('/') && absolute(&format!("/{text}")) && !text.ends_with('/');
    /// An image reference.
    ImageName, "an image such as `ghcr.io/acme/mnist:1.4`, without spaces or a scheme", 1024, r"^[A-Za-z0-9][-A-Za-z0-9._/:]*(@sha256:[0-9a-f]{64})?$", image;
    /// An image digest.
    Digest, "a digest such as `sha256:` and 64 hex digits", 71, r"^sha256:[0-9a-f]{64}$", digest;
    /// A resource of a node.
    ResourceName, "a resource such as `nvidia.com/gpu`", 253, r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", qualified;
    /// A label's or annotation's key.
    LabelKey, "a label key such as `team` or `acme.com/team`", 317, r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", qualified;
    /// A label's value.
    LabelValue, "a label value: at most 63 letters, digits, `-`, `_` and `.`, letters or digits at both ends", 63,
        r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", |text| text.is_empty() || name_part(text);
    /// A network interface, or several, as NCCL takes them.
    Interface, "an interface such as `eth0`, `^lo,docker0` or `=ib0`", 255, r"^[=^]?[A-Za-z0-9_.:@-]+(,[A-Za-z0-9_.:@-]+)*$", interfaces;
    /// A host name or address.
    Host, "a host name or address", 253, r"^[A-Za-z0-9]([-A-Za-z0-9.:]*[A-Za-z0-9])?$",
        |text| ends_alphanumeric(text) && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b':'));
    /// An http or https URL without a path.
    Endpoint, "a URL such as `https://s3.example.org`, without a path", 255, r"^https?://[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?$", endpoint;
    /// The name of an S3 bucket.
    Bucket, "a bucket name: 3 to 63 letters, digits, `-`, `_` and `.`", 63, r"^[A-Za-z0-9][-A-Za-z0-9_.]{1,61}[A-Za-z0-9]$",
        |text| text.len() > 2 && name_part(text);
    /// A key prefix in a bucket.
    Prefix, "a key prefix without a leading `/` or control characters", 1024, r"^([^/\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*)?$",
        |text| !text.starts_with('/') && !text.chars().any(|c| c.is_ascii_control());
    /// A region's name.
    Region, "a region such as `eu-central-1`", 63, r"^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$",
        |text| ends_alphanumeric(text) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    /// A user's login name.
    UserName, "a login name of lower-case letters, digits, `-` and `_`", 32, r"^[a-z_][-a-z0-9_]*$",
        |text| text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'));
    /// A field of a pod, for an environment variable.
    FieldPath, "a pod field such as `spec.nodeName`, `metadata.name` or `status.podIP`", 320,
        r"^(metadata\.(name|namespace|uid)|metadata\.(labels|annotations)\['[-A-Za-z0-9_./]+'\]|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs))$", pod_field;
    /// A value of a directive of sbatch.
    Directive, "a text of one line that is not empty", 1024, r"^[^\u0000-\u001f\u007f]+$", one_line;
    /// A long option of sbatch, with its value.
    SbatchOption, "an option of sbatch in one word, such as `--mail-type=END` or `--exclusive`", 1024,
        r"^--[a-z][-a-z0-9]*(=[^\u0000-\u001f\u007f]*)?$", sbatch_option;
    /// An environment module.
    Module, "a module such as `OpenMPI/4.1.4`: no spaces, no leading `-`", 255, r"^[A-Za-z0-9_./+@:~=,%][-A-Za-z0-9_./+@:~=,%]*$",
        |text| !text.is_empty() && !text.starts_with('-') && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./+@:~=,%".contains(&b));
    /// A generic resource of Slurm, and its type.
    Gres, "a resource such as `gpu` or `gpu:a100`, without the number", 255, r"^[A-Za-z][-A-Za-z0-9_.]*(:[-A-Za-z0-9_.]*[A-Za-z][-A-Za-z0-9_.]*)?$", gres;
    /// An object's name with `*` for any run of characters.
    Glob, "an object's name, in which `*` stands for any characters", 253, r"^[-a-z0-9.*]+$",
        |text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'*'));
}

fn one_line(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| c.is_ascii_control())
}

fn sbatch_option(text: &str) -> bool {
    let (name, value) = text.split_once('=').unwrap_or((text, "-"));
    (value.is_empty() || one_line(value))
        && name.strip_prefix("--").is_some_and(|name| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
}

fn gres(text: &str) -> bool {
    let (name, kind) = text.split_once(':').unwrap_or((text, "any"));
    // `gpu:2` would be two of them.
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && data_key(name)
        && data_key(kind)
        && kind.contains(|c: char| c.is_ascii_alphabetic())
}

fn ends_alphanumeric(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(edge) && text.ends_with(edge)
}

fn label(text: &str) -> bool {
    text.len() <= 253
        && ends_alphanumeric(text)
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn data_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn absolute(text: &str) -> bool {
    let clean = |c: char| !c.is_ascii_control() && c != ':';
    text.starts_with('/')
        && text.chars().all(clean)
        && !text.contains("//")
        && !text.split('/').any(|part| part == "..")
}

fn name_part(text: &str) -> bool {
    text.len() <= 63 && ends_alphanumeric(text) && data_key(text)
}

fn qualified(text: &str) -> bool {
    let (domain, name) = text.rsplit_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    name_part(name) && domain.is_none_or(|domain| ends_alphanumeric(domain) && domain.bytes().all(lower))
}

fn digest(text: &str) -> bool {
    text.strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

fn image(text: &str) -> bool {
    let (name, hash) = text.split_once('@').map_or((text, None), |(name, hash)| (name, Some(hash)));
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'/' | b':'))
        && hash.is_none_or(digest)
}

fn interfaces(text: &str) -> bool {
    text.strip_prefix(['=', '^']).unwrap_or(text).split(',').all(|name| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'@'))
    })
}

fn endpoint(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or(text.strip_prefix("http://")) else { return false };
    let (host, port) = rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port)));
    ends_alphanumeric(host)
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
        && port.is_none_or(|port| (1..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit()))
}

fn pod_field(text: &str) -> bool {
    let keyed = ["metadata.labels['", "metadata.annotations['"].iter().find_map(|start| text.strip_prefix(start));
    match keyed.and_then(|rest| rest.strip_suffix("']")) {
        Some(key) => {
            !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'))
        }
        None => matches!(
            text,
            "metadata.name"
                | "metadata.namespace"
                | "metadata.uid"
                | "spec.nodeName"
                | "spec.serviceAccountName"
                | "status.hostIP"
                | "status.hostIPs"
                | "status.podIP"
                | "status.podIPs"
        ),
    }
}

/// The text that was meant: a simple change makes it fit.
fn meant_text(text: &str, valid: fn(&str) -> bool) -> Option<String> {
    let lower = text.to_lowercase();
    // The points of a path are no separators.
    let dash = if text.contains('/') { lower.clone() } else { lower.replace(['_', '.', ' '], "-") };
    [
        text.trim().to_owned(),
        lower,
        dash.clone(),
        text.replace(['-', '.', ' '], "_"),
        format!("/{}", text.trim_start_matches("./")),
        text.trim_start_matches('/').to_owned(),
        dash.trim_matches('-').to_owned(),
        // Some names must not start with a digit.
        format!("job-{}", dash.trim_matches('-')),
        format!("_{text}"),
    ]
    .into_iter()
    .take(if text.starts_with(|c: char| c.is_ascii_digit()) { 9 } else { 7 })
    .find(|candidate| candidate != text && valid(candidate))
}

/// A whole number with limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Int<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> Field for Int<MIN, MAX> {
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let value = match node.scalar() {
            Some(Scalar::Int(value)) => u32::try_from(value).ok(),
            // `8.0` is a whole number to JSON Schema, and to people. (`+ 0.0` makes `-0` a zero.)
            Some(Scalar::Float(value)) if value.fract() == 0.0 => format!("{:.0}", value + 0.0).parse().ok(),
            _ => return reader.wrong_type(node, "a whole number"),
        };
        match value {
            Some(value) if (MIN..=MAX).contains(&value) => Some(Self(value)),
            _ => {
                let message = format!("`{}` is {}, outside {MIN} to {MAX}", reader.path(), written(node));
                reader.refuse(&OUT_OF_RANGE, node, message, Some(format!("give a number from {MIN} to {MAX}")))
            }
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"type": "integer", "minimum": MIN, "maximum": MAX})
    }
}

impl Field for bool {
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match node.scalar() {
            Some(Scalar::Bool(value)) => Some(value),
            _ => reader.wrong_type(node, "true or false"),
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"type": "boolean"})
    }
}

impl Field for Quantity {
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        const LARGEST: i64 = 999_999_999_999;
        // `cpu: 0.5` and `memory: 1073741824` are as good as their quoted forms.
        let text = match node.scalar() {
            Some(Scalar::Text(text)) => Cow::Borrowed(text),
            Some(Scalar::Int(value)) if (0..=LARGEST).contains(&value) => Cow::Owned(value.to_string()),
            Some(Scalar::Float(value)) if (0.0..=999_999_999_999.0).contains(&value) => Cow::Owned(decimal(value)),
            Some(Scalar::Int(_) | Scalar::Float(_)) => {
                let message = format!("`{}` is {}, outside 0 to {LARGEST}", reader.path(), written(node));
                return reader.refuse(&OUT_OF_RANGE, node, message, Some("write a quantity such as `64Gi`".to_owned()));
            }
            _ => return reader.wrong_type(node, "a quantity such as `\"32\"` or `64Gi` (a text or a number)"),
        };
        match Quantity::parse(&text) {
            Some(quantity) => Some(quantity),
            None => reader.invalid(
                node,
                "a quantity such as `32`, `500m` or `64Gi`",
                meant_quantity(&text).map(WayOut::Write),
            ),
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"anyOf": [
            {"type": "string", "pattern": Quantity::PATTERN},
            {"type": "number", "minimum": 0, "maximum": 999_999_999_999_u64},
        ]})
    }
}

/// A scalar as it stands in the text.
fn written(node: &Node) -> &str {
    match &node.kind {
        Kind::Scalar { text, .. } => text,
        _ => "",
    }
}

/// A number without exponent, with at most 12 digits behind its point.
fn decimal(value: f64) -> String {
    let text = format!("{:.12}", value.abs());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What a person meant by `64GB`, `64 Gi` or `64gi`.
fn meant_quantity(text: &str) -> Option<String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim().to_ascii_lowercase().trim_end_matches('b') {
        "k" => "k",
        "m" => "M",
        "g" => "G",
        "t" => "T",
        "ki" => "Ki",
        "mi" => "Mi",
        "gi" => "Gi",
        "ti" => "Ti",
        "core" | "cores" | "cpu" | "cpus" => "",
        _ => return None,
    };
    let fixed = format!("{number}{unit}");
    Quantity::parse(&fixed).map(|_| fixed)
}

/// A span of time, in seconds: `30m`, `1h30m`, `90s`, `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration(pub u64);

impl Duration {
    const PATTERN: &'static str = r"^([0-9]{1,6}d)?([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$";

    fn parse(text: &str) -> Option<u64> {
        let mut rest = text;
        let mut seconds = 0;
        for (unit, length) in [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)] {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            if (1..=6).contains(&digits) && rest[digits..].starts_with(unit) {
                seconds += rest[..digits].parse::<u64>().ok()? * length;
                rest = &rest[digits + 1..];
            }
        }
        (rest.is_empty() && !text.is_empty()).then_some(seconds)
    }
}

/// What a person meant by `2 days`, `30min` or `12 H`.
fn meant_duration(text: &str) -> Option<String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "d" | "day" | "days" => "d",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        _ => return None,
    };
    let fixed = format!("{number}{unit}");
    Duration::parse(&fixed).map(|_| fixed)
}

impl Field for Duration {
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        const WANTED: &str = "a duration such as `30m`, `1h30m` or `90s`";
        if let Some(Scalar::Int(value)) = node.scalar() {
            return reader.invalid(
                node,
                WANTED,
                Some(WayOut::Say(format!("name the unit: `{value}s`, `{value}m` or `{value}h`"))),
            );
        }
        let text = reader.text(node, "a duration such as `30m`, `1h30m` or `90s`")?;
        match Self::parse(text) {
            Some(seconds) => Some(Self(seconds)),
            None => reader.invalid(node, WANTED, meant_duration(text).map(WayOut::Write)),
        }
    }

    fn schema(_: &mut Defs) -> Json {
        json!({"type": "string", "minLength": 1, "pattern": Self::PATTERN})
    }
}

/// A duration of at least one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period(pub u64);

impl Field for Period {
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match Duration::read(node, reader)?.0 {
            0 => reader.invalid(
                node,
                "a duration of at least one second",
                Some(WayOut::Say("write `1s` or more".to_owned())),
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

impl<T: Field> Field for Vec<At<T>> {
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let items = reader.list(node, "a list")?;
        // What could be read is judged further; the rest was reported.
        Some(items.iter().enumerate().filter_map(|(index, item)| reader.item(index, item)).collect())
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({"type": "array", "items": T::schema(defs)})
    }

    fn fields(path: &str, depth: usize, each: &mut dyn FnMut(usize, &str, &'static str)) {
        T::fields(path, depth, each);
    }
}

/// A map from names of one form to values, in the order written.
#[derive(Debug, Clone)]
pub struct Table<K, V>(pub Vec<(At<K>, At<V>)>);

impl<K: Form, V: Field> Field for Table<K, V> {
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let entries = reader.map(node, "a map")?;
        let mut read = Vec::with_capacity(entries.len());
        for entry in entries {
            let value = reader.entry(entry);
            match fit::<K>(&entry.key) {
                Ok(key) => {
                    let key = At { value: key, span: entry.key_span, key: entry.key_span };
                    read.extend(value.map(|value| (key, value)));
                }
                Err((wanted, way_out)) => {
                    let message = format!("`{}` in `{}` is not {wanted}", entry.key, reader.path());
                    reader.push(invalid(entry.key_span, message, way_out));
                }
            }
        }
        Some(Self(read))
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({
            "type": "object",
            "propertyNames": {"maxLength": K::MAX, "pattern": K::PATTERN},
            "additionalProperties": V::schema(defs),
        })
    }
}

/// A Kubernetes fragment, taken as it is; a map.
#[derive(Debug, Clone)]
pub struct Fragment(pub Json);

impl Field for Fragment {
    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        reader.map(node, "a map")?;
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

/// Beyond the integers of Kubernetes' API.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Refuses what readers of YAML disagree on, at any depth.
fn no_traps<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<()> {
    match &node.kind {
        Kind::Scalar { .. } => match node.scalar() {
            Some(Scalar::Trap(_)) => reader.wrong_type(node, "a text or a number"),
            Some(Scalar::Float(value)) if !(-TWO_63..TWO_63).contains(&value) => {
                let message = format!("a number in `{}` is larger than Kubernetes takes", reader.path());
                reader.refuse(&OUT_OF_RANGE, node, message, Some("put it in quotes to make it a text".to_owned()))
            }
            _ => Some(()),
        },
        Kind::List(items) => items.iter().try_for_each(|item| no_traps(item, reader)),
        Kind::Map(entries) => entries.iter().try_for_each(|entry| no_traps(&entry.value, reader)),
    }
}
