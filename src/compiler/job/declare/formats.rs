//! Texts with a format: names, paths, images, labels. Each format has a predicate for the reader, an equal pattern for
//! the schema, and corrections for texts that almost match.

use serde_json::{Value as Json, json};

use super::shapes::Constant;
use crate::job::read::{Defs, Expected, Field, Item, Reader, TextForm, WayOut};
use crate::yaml::{Kind, Node, Scalar};

/// Declares types for texts that must have a certain form, such as a path. Each type has a predicate for the reader, and a
/// pattern with the same meaning for the schema.
macro_rules! texts {
    ($($(#[doc = $doc:literal])+ $name:ident, $wanted:literal, $max:literal, $pattern:literal, $valid:expr;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(pub String);

        impl Form for $name {
            const FORM: &'static TextForm =
                &TextForm { type_name: stringify!($name), expected: $wanted, max: $max, fits: $valid };
            const PATTERN: &'static str = $pattern;

            fn wrap(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl Constant for $name {
            type Written = &'static str;

            fn constant(written: &'static str) -> Self {
                Self(written.to_owned())
            }
        }

        impl Field for $name {
            const ITEM: Item = Item::Text;

            fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
                read_text(node, reader, Self::FORM).map(Self::wrap)
            }

            fn schema(_: &mut Defs) -> Json {
                json!({"type": "string", "maxLength": $max, "pattern": $pattern})
            }
        }
    )+};
}

/// A type of text that must have a certain form, such as a path or the name of an image.
pub trait Form: Field {
    /// The form.
    const FORM: &'static TextForm;
    /// The form as a pattern.
    const PATTERN: &'static str;
    /// The value of a text that fits.
    fn wrap(text: &str) -> Self;
}

/// Reads a text that must have a form.
fn read_text<'n>(node: &'n Node, reader: &mut Reader<'n, '_>, form: &'static TextForm) -> Option<&'n str> {
    // If a number would not have the form even in quotes, the report is about the form, not about the missing quotes.
    if let (Kind::Scalar { text, .. }, Some(Scalar::Int(_) | Scalar::Float(_))) = (&node.kind, node.scalar())
        && let Err((wanted, hint)) = fit(form, text)
    {
        return reader.unfit(node, &wanted, hint);
    }
    let text = reader.text(node, Expected::Text(form))?;
    match fit(form, text) {
        Ok(()) => Some(text),
        Err((wanted, hint)) => reader.unfit(node, &wanted, hint),
    }
}

/// Checks that a text has the form. If it has not, the error has the end of a message that begins with the name of the field,
/// such as "is not an absolute path", and a correction if one is known.
pub fn fit(form: &TextForm, text: &str) -> Result<(), (String, Option<WayOut>)> {
    if form.is_too_long(text) {
        return Err((
            format!("has {} characters, and at most {} fit", text.chars().count(), form.max),
            Some(WayOut::Advice("shorten it".to_owned())),
        ));
    }
    if (form.fits)(text) {
        return Ok(());
    }
    let generic = || {
        look_alike(form, text)
            .or_else(|| meant_text(text, form).map(WayOut::Write))
            .or_else(|| left_open(text).map(WayOut::Advice))
    };
    let way_out = match form.type_name {
        "ImageName" => image_way_out(text),
        "Bucket" => bucket_way_out(text).or_else(generic),
        // `minio:9000`.
        "Endpoint" if !text.contains("://") && form.accepts(&format!("http://{text}")) => {
            Some(WayOut::Advice(format!("write `https://{text}`, or `http://{text}` without TLS")))
        }
        "ProgressPattern" => Some(match text.replace("(?<step", "(?P<step").replace("(?<epoch", "(?P<epoch") {
            python if python != text && form.accepts(&python) => WayOut::Write(python),
            _ => WayOut::Advice("put the digits of the step into parentheses, as in `step (\\d+)`".to_owned()),
        }),
        // All characters are points.
        "FileName" if text.bytes().all(|byte| byte == b'.') => None,
        "FileName" if text.contains('/') => Some(WayOut::Advice(FLAT_FILES.to_owned())),
        "Repository" => repository_way_out(text).or_else(generic),
        "Commit" => Some(WayOut::Advice(
            "a branch or tag may change: write the commit that `git ls-remote https://huggingface.co/ORG/NAME` prints for it"
                .to_owned(),
        )),
        "Program" if text.trim().contains(char::is_whitespace) => Some(WayOut::Advice(
            "write options in `launcher.args`; for a program with fixed arguments, put a script into the image".to_owned(),
        )),
        "Gres" => text
            .rsplit_once(':')
            .filter(|(name, count)| count.bytes().all(|byte| byte.is_ascii_digit()) && form.accepts(name))
            .map(|(name, _)| WayOut::WriteOr(name.to_owned(), "the number of GPUs is that of `spec.workers.gpus`".to_owned()))
            .or_else(generic),
        "SbatchOption" => look_alike(form, text).or_else(|| sbatch_way_out(text)),
        _ => generic(),
    };
    Err((format!("is not {}", form.expected), way_out))
}

/// Letters of other alphabets, and the Latin letters that look like them.
const LOOK_ALIKES: (&str, &str) =
    ("аеорсухіјѕԁһАВЕКМНОРСТУХІЈЅαορνΑΒΕΖΗΙΚΜΝΟΡΤΥΧ−–‐", "aeopcyxijsdhABEKMHOPCTYXIJSaopvABEZHIKMNOPTYX---");

/// The Latin letter or hyphen that looks like a character.
pub fn latin(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    let at = LOOK_ALIKES.0.chars().position(|other| other == c);
    // Letters of full width.
    let wide = || char::from_u32(u32::from(c).checked_sub(0xfee0)?).filter(|_| ('！'..='～').contains(&c));
    at.and_then(|at| LOOK_ALIKES.1.chars().nth(at)).or_else(wide)
}

/// The correction of a text with letters of another alphabet that look like Latin letters.
fn look_alike(form: &TextForm, text: &str) -> Option<WayOut> {
    let (other, ours) = text.chars().find_map(|c| Some((c, latin(c)?)))?;
    let meant: String = text.chars().map(|c| latin(c).unwrap_or(c)).collect();
    let note = format!("`{other}` is U+{:04X}, which only looks like `{ours}`", u32::from(other));
    form.accepts(&meant).then_some(WayOut::WriteOr(meant, note))
}

/// The hint for a file of `code.files` whose name contains a folder.
const FLAT_FILES: &str = "`code.files` has no folders: put a package into the image, or on a volume of `storage`";

/// The correction of the name of an image. It never leaves out a part of the name, because the rest would name another image.
fn image_way_out(text: &str) -> Option<WayOut> {
    let text = text.trim();
    if let Some((_, "sif" | "sqsh")) = text.rsplit_once('.') {
        let hint = "Kubernetes cannot run this file: push the image to a registry; for Slurm, `slurm.wrap` runs it";
        return Some(WayOut::Advice(hint.to_owned()));
    }
    if text.starts_with(['/', '.']) {
        return Some(WayOut::Advice("a path cannot be an image: write the name of an image in a registry".to_owned()));
    }
    let transport = text.strip_prefix("docker:").or(text.strip_prefix("oci:")).unwrap_or(text);
    let name = transport.split_once("://").map_or(transport, |(_, rest)| rest).trim_start_matches('/');
    // enroot writes a `#` between the registry and the path.
    let name = if name.matches('#').count() == 1 { name.replace('#', "/") } else { name.to_owned() };
    // The address of the page of an image on Docker Hub.
    let name = match name.strip_prefix("hub.docker.com/") {
        Some(page) => match page.strip_prefix("_/") {
            Some(official) => format!("docker.io/library/{official}"),
            None => format!("docker.io/{}", page.strip_prefix("r/").unwrap_or(page)),
        },
        None => name,
    };
    let candidates = [name.clone(), name.to_ascii_lowercase()];
    let found = candidates.into_iter().find(|candidate| ImageName::FORM.accepts(candidate));
    found.map(WayOut::Write).or_else(|| left_open(text).or_else(|| part_of_image(text)).map(WayOut::Advice))
}

/// The hint that names the part of an image that is wrong.
fn part_of_image(text: &str) -> Option<String> {
    if text.contains(char::is_whitespace) {
        return Some("an image contains no spaces: write `NAME:TAG`".to_owned());
    }
    if let Some((_, digest)) = text.split_once('@') {
        let hex = digest.strip_prefix("sha256:").filter(|hex| hex.len() == 64);
        let is_whole = hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        return (!is_whole).then(|| "a digest is `@sha256:` and 64 hexadecimal digits; a tag follows `:`".to_owned());
    }
    let last = text.rsplit('/').next().unwrap_or_default();
    if last.matches(':').count() > 1 {
        return Some("only one `:` can follow the last `/`: it separates the tag".to_owned());
    }
    let tag = last.split_once(':').map(|(_, tag)| tag)?;
    (tag.len() > 128).then(|| "a tag has at most 128 characters".to_owned())
}

/// The hint for an S3 URL: the fields that replace it.
fn bucket_way_out(text: &str) -> Option<WayOut> {
    let (bucket, prefix) = text.split_once("://")?.1.split_once('/')?;
    (Bucket::FORM.accepts(bucket) && !prefix.is_empty())
        .then(|| WayOut::Advice(format!("write `bucket: {bucket}, prefix: {prefix}`")))
}

/// The first variable of a shell in a word: `$A`, `${A}` or `$(A)`.
pub fn shell_variable(word: &str) -> Option<&str> {
    let at = word.find('$')?;
    let rest = &word[at + 1..];
    let name = |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let end = match rest.chars().next()? {
        '{' => rest.find('}').filter(|end| *end > 1 && name(&rest[1..]) + 1 == *end)? + 1,
        '(' => rest.find(')').filter(|end| *end > 1)? + 1,
        first if first.is_ascii_alphabetic() || first == '_' => name(rest),
        _ => return None,
    };
    Some(&word[at..at + 1 + end])
}

/// The hint for a text with `~` or a variable, which khorovod does not expand.
fn left_open(text: &str) -> Option<String> {
    if let Some((open, close)) = [('{', "}}"), ('<', ">")].into_iter().find_map(|(open, close)| {
        let open = if open == '{' { text.find("{{")? } else { text.find('<')? };
        let close = open + text[open..].find(close)? + close.len();
        Some((open, close))
    }) {
        return Some(format!(
            "`{}` is a placeholder: write the value, or set it with `--set PATH=VALUE`",
            &text[open..close]
        ));
    }
    if text.starts_with("~/") {
        return Some("`~` is not expanded here: write the absolute path".to_owned());
    }
    let bare = || shell_variable(text).filter(|_| !text.contains(char::is_whitespace));
    let braced = || {
        let start = text.find("${").or_else(|| text.find("$("))?;
        Some(&text[start..=start + text[start..].find(['}', ')'])?])
    };
    let open = braced().or_else(bare)?;
    Some(format!("`{open}` is not expanded here: write the value, or set it with `--set PATH=VALUE`"))
}

texts! {
    /// Any text that a process can be given.
    Text, "a string without NUL characters", 1_000_000, r"^[^\u0000]*$", |text| !text.contains('\0');
    /// A text that is not empty.
    Word, "a string that is not empty and has no NUL character", 1_000_000, r"^[^\u0000]+$", |text| !text.is_empty() && !text.contains('\0');
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
    /// A regular expression of Python that finds the progress in a line.
    ProgressPattern, "a regular expression with a group for the step, such as `step (\\d+)/(\\d+)`", 500, r"\((?:[^?]|\?P<)",
    |text| text.match_indices('(').any(|(at, _)| {
        let rest = &text[at + 1..];
        rest.starts_with("?P<") || !rest.is_empty() && !rest.starts_with('?')
    });
    /// The name of a metric.
    MetricName, "a metric's name of letters, digits, `_` and `:` that does not start with a digit", 253, r"^[A-Za-z_:][A-Za-z0-9_:]*$",
        |text| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':') && text.starts_with(|c: char| !c.is_ascii_digit());
    /// An absolute path.
    Path, "an absolute path without `.`, `..` and empty parts, `:` or control characters", 4096,
        r"^/((\.{3}[^/:\u0000-\u001f\u007f]*|\.{0,2}[^./:\u0000-\u001f\u007f][^/:\u0000-\u001f\u007f]*)(/|$))*$",
        |text| absolute(text) && !text.split('/').any(|part| part == ".");
    /// A path below a volume.
    SubPath, "a relative path without `..`", 4096,
        r"^((^|/)(\.|\.{3}[^/:\u0000-\u001f\u007f]*|\.{0,2}[^./:\u0000-\u001f\u007f][^/:\u0000-\u001f\u007f]*))+$",
        |text| !text.is_empty() && !text.starts_with('/') && absolute(&format!("/{text}")) && !text.ends_with('/');
    /// An image reference.
    ImageName, "an image such as `ghcr.io/acme/mnist:1.4`, without spaces or a scheme", 1024,
        r"^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*(:[0-9]+)?/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][-A-Za-z0-9._]{0,127})?(@sha256:[0-9a-f]{64})?$", image;
    /// An image digest.
    Digest, "a digest such as `sha256:` and 64 hex digits", 71, r"^sha256:[0-9a-f]{64}$", digest;
    /// A resource of a node.
    ResourceName, "`cpu`, `memory` or a resource with its domain, such as `nvidia.com/gpu`", 253,
        r"^(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMGT]i|[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$", resource;
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
    Endpoint, "a URL such as `https://s3.example.org`, without a path", 255, r"^https?://([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f.]*(:[0-9A-Fa-f.]*){2,7}\])(:[0-9]{1,5})?$", endpoint;
    /// The name of an S3 bucket.
    Bucket, "a bucket name: 3 to 63 letters, digits, `-`, `_` and `.`", 63, r"^[A-Za-z0-9][-A-Za-z0-9_.]{1,61}[A-Za-z0-9]$",
        |text| text.len() > 2 && name_part(text);
    /// A key prefix in a bucket.
    Prefix, "a key prefix without a leading `/` or control characters", 1024, r"^([^/\u0000-\u001f\u007f][^\u0000-\u001f\u007f]*)?$",
        |text| !text.starts_with('/') && !text.chars().any(|c| c.is_ascii_control());
    /// A repository of the Hugging Face Hub.
    Repository, "a repository of the Hugging Face Hub, such as `Qwen/Qwen3-8B` or `datasets/stanfordnlp/imdb`", 200,
        r"^((datasets|spaces)/)?([A-Za-z0-9][-A-Za-z0-9_.]*/)?[A-Za-z0-9][-A-Za-z0-9_.]*$", repository;
    /// A commit of a repository.
    Commit, "the hash of a commit, 40 hexadecimal digits in lower case", 40, r"^[0-9a-f]{40}$",
        |text| text.len() == 40 && lower_hex(text);
    /// The URL of a file.
    FileUrl, "an http or https URL of a file, such as `https://example.org/set.tar.gz`", 2048,
        r"^https?://([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f.]*(:[0-9A-Fa-f.]*){2,7}\])(:[0-9]{1,5})?/[!-~]*$", file_url;
    /// A program in the image, without arguments.
    Program, "a program: one word or path of letters, digits, `-`, `_`, `.`, `+` and `/`", 1024, r"^[A-Za-z0-9_./+][-A-Za-z0-9_./+]*$",
        |text| !text.starts_with('-') && !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./+".contains(&b));
    /// A SHA-256 digest.
    Sha256, "a SHA-256 digest, 64 hexadecimal digits in lower case", 64, r"^[0-9a-f]{64}$", sha256;
    /// A pattern for the paths of files.
    FilePattern, "a pattern such as `*.safetensors`, without control characters", 1024, r"^[^\u0000-\u001f\u007f]+$", one_line;
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
    Directive, "a string of one line that is not empty", 1024, r"^[^\u0000-\u001f\u007f]+$", one_line;
    /// A long option of sbatch, with its value.
    SbatchOption, "an option of sbatch in one word, such as `--mail-type=END` or `--exclusive`", 1024,
        r"^--[a-z][-a-z0-9]*(=[^\u0000-\u001f\u007f]*)?$", sbatch_option;
    /// An environment module.
    Module, "a module such as `OpenMPI/4.1.4`: no spaces, no leading `-`", 255, r"^[A-Za-z0-9_./+@:~=,%][-A-Za-z0-9_./+@:~=,%]*$",
        |text| !text.is_empty() && !text.starts_with('-') && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./+@:~=,%".contains(&b));
    /// A generic resource of Slurm, and its type.
    Gres, "a resource such as `gpu` or `gpu:a100`, without the number", 255, r"^[A-Za-z][-A-Za-z0-9_.]*(:([-A-Za-z0-9_.]*[A-Za-z][-A-Za-z0-9_.]*|[0-9]{4,}))?$", gres;
    /// An object's name with `*` for any run of characters.
    Glob, "an object's name, in which `*` stands for any characters", 253, r"^[-a-z0-9.*]+$",
        |text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'*'));
}

fn lower_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

fn sha256(text: &str) -> bool {
    text.len() == 64 && lower_hex(text)
}

fn repository(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let rest = text.strip_prefix("datasets/").or(text.strip_prefix("spaces/")).unwrap_or(text);
    rest.split('/').count() <= 2 && rest.split('/').all(part)
}

fn file_url(text: &str) -> bool {
    let Some(start) = text.find("://").and_then(|at| Some(at + 3 + text[at + 3..].find('/')?)) else { return false };
    endpoint(&text[..start]) && text[start..].bytes().all(|byte| byte.is_ascii_graphic())
}

/// The hint for the address of a page of the Hugging Face Hub.
fn repository_way_out(text: &str) -> Option<WayOut> {
    let path =
        ["https://huggingface.co/", "huggingface.co/", "hf://"].into_iter().find_map(|at| text.strip_prefix(at))?;
    let kind = path.strip_prefix("datasets/").or(path.strip_prefix("spaces/")).map_or(2, |_| 3);
    let parts: Vec<_> = path.split(['/', '@', '?']).filter(|part| !part.is_empty()).take(kind).collect();
    Some(parts.join("/")).filter(|name| Repository::FORM.accepts(name)).map(WayOut::Write)
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

/// The correction of an option of sbatch whose value is a word of its own, as in `--mail-type END`, or that is not a long option.
fn sbatch_way_out(text: &str) -> Option<WayOut> {
    let text = text.trim();
    let (name, value) =
        text.split_once(char::is_whitespace).map_or((text, None), |(name, value)| (name, Some(value.trim())));
    let whole = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
    if sbatch_option(&whole) {
        return Some(WayOut::Write(whole));
    }
    let long = format!("--{}", whole.trim_start_matches('-'));
    match name.strip_prefix('-') {
        Some(short) if !short.starts_with('-') => Some(WayOut::Advice(format!(
            "write the long name of `-{}` with its value, as in `--mail-type=END`; `man sbatch` lists it",
            short.chars().next()?
        ))),
        _ => (!name.starts_with('-') && sbatch_option(&long)).then_some(WayOut::Write(long)),
    }
}

fn gres(text: &str) -> bool {
    let (name, kind) = text.split_once(':').unwrap_or((text, "any"));
    // A number of up to three digits is a count, as in `gpu:2`. A longer number is a model, as in `gpu:6000`.
    let is_count = kind.len() < 4 || kind.contains(['-', '_', '.']);
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && data_key(name)
        && data_key(kind)
        && (kind.contains(|c: char| c.is_ascii_alphabetic()) || !is_count)
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

/// Whether a text names a resource that a container may request: a resource of Kubernetes itself, or an extended resource,
/// whose name contains a domain.
fn resource(text: &str) -> bool {
    let pages = || {
        text.strip_prefix("hugepages-")?
            .strip_suffix(["Ki", "Mi", "Gi", "Ti"].iter().find(|unit| text.ends_with(**unit))?)
    };
    let sized = pages().is_some_and(|size| !size.is_empty() && size.bytes().all(|b| b.is_ascii_digit()));
    sized || matches!(text, "cpu" | "memory" | "ephemeral-storage") || text.contains('/') && qualified(text)
}

fn digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(sha256)
}

/// Whether the kubelet accepts a text as an image reference: an optional registry, a path in lower case, an optional tag.
fn image(text: &str) -> bool {
    let (name, hash) = text.split_once('@').map_or((text, None), |(name, hash)| (name, Some(hash)));
    let (path, tag) = match name.rsplit_once(':') {
        // If a `/` follows the last colon, the colon precedes the port of the registry, and there is no tag.
        Some((_, port)) if port.contains('/') => (name, None),
        Some((path, tag)) => (path, Some(tag)),
        None => (name, None),
    };
    let (first, rest) = path.split_once('/').map_or((None, path), |(first, rest)| (Some(first), rest));
    hash.is_none_or(digest)
        && tag.is_none_or(|tag| tag.len() <= 128 && data_key(tag) && !tag.starts_with(['-', '.']))
        && first.is_none_or(|first| registry(first) || path_part(first))
        && rest.split('/').all(path_part)
}

fn registry(text: &str) -> bool {
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let word = |word: &str| ends_alphanumeric(word) && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    host.split('.').all(word) && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a text can be one part of the path of an image: words of lower-case letters and digits, separated by a point, by
/// one or two underscores, or by hyphens.
fn path_part(text: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let between = |gap: &str| matches!(gap, "" | "." | "_" | "__") || gap.bytes().all(|b| b == b'-');
    text.starts_with(word) && text.ends_with(word) && text.split(word).all(between)
}

fn interfaces(text: &str) -> bool {
    text.strip_prefix(['=', '^']).unwrap_or(text).split(',').all(|name| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'@'))
    })
}

fn endpoint(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or(text.strip_prefix("http://")) else { return false };
    let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) if brackets_fit(host) => ("v6", port),
        _ => rest.split_at(rest.find(':').unwrap_or(rest.len())),
    };
    ends_alphanumeric(host)
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'))
        && (port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|port| (1..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit())))
}

/// Whether the text in brackets looks like an IPv6 address.
fn brackets_fit(text: &str) -> bool {
    (3..=8).contains(&text.split(':').count())
        && text.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'))
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

/// The shortest form of an absolute path, without `.` and `..`. Empty for other paths.
fn resolved(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    if path.starts_with('/') { format!("/{}", parts.join("/")) } else { String::new() }
}

/// The scheme and the server of a URL. An IPv6 address is put in brackets.
fn without_path(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return String::new() };
    let server = rest.split('/').next().unwrap_or_default();
    match server.rsplit_once(':') {
        Some((host, port)) if host.contains(':') && !host.starts_with('[') => {
            if host.ends_with(':') || port.len() < 4 {
                format!("{scheme}://[{server}]")
            } else {
                format!("{scheme}://[{host}]:{port}")
            }
        }
        _ => format!("{scheme}://{server}"),
    }
}

/// The text that was probably meant: the first of several simple changes that makes `text` valid.
fn meant_text(text: &str, form: &TextForm) -> Option<String> {
    // A shell would replace a `~` or `$` at the start, so a text without it would have another meaning.
    if text.trim().is_empty() || text.starts_with(['~', '$']) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let resource = match lower.as_str() {
        "gpu" | "gpus" | "nvidia" => "nvidia.com/gpu",
        "mem" => "memory",
        "cpus" => "cpu",
        _ => "",
    };
    // A slice of MIG without its domain.
    let slice = lower.strip_prefix("mig-").map(|_| format!("nvidia.com/{lower}")).unwrap_or_default();
    let without_scheme = text.split_once("://").map_or("", |(_, rest)| rest);
    // The points in a path do not separate words.
    let path = text.contains('/');
    let dash = if path { lower.clone() } else { lower.replace(['_', '.', ' '], "-") };
    let underscore = if path { String::new() } else { text.replace(['-', '.', ' '], "_") };
    [
        text.trim().to_owned(),
        without_scheme.to_owned(),
        without_scheme.split('/').next().unwrap_or_default().to_owned(),
        text.split([',', ' ']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(","),
        lower,
        text.replace(' ', "-"),
        dash.clone(),
        underscore,
        resolved(text),
        without_path(text),
        format!("/{}", text.trim_start_matches("./")),
        text.trim_start_matches('/').to_owned(),
        dash.trim_matches('-').to_owned(),
        text.rsplit('/').next().filter(|_| !text.contains(":/")).unwrap_or_default().to_owned(),
        text.split_once(":/").map_or("", |(server, _)| server).to_owned(),
        resource.to_owned(),
        slice,
        // The last two candidates are only for a text that starts with a digit, because some names must not start with one.
        format!("job-{}", dash.trim_matches('-')),
        format!("_{text}"),
    ]
    .into_iter()
    .take(if text.starts_with(|c: char| c.is_ascii_digit()) { 19 } else { 17 })
    .find(|candidate| candidate != text && !candidate.is_empty() && form.accepts(candidate))
}
