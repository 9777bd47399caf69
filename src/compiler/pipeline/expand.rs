//! Replaces the TrainingJobs in a stream that consists mostly of other documents, such as the output of `helm template`. See
//! [`expand`].
//!
//! The stream is not split, parsed or copied as a whole. One search over the bytes finds the places with khorovod's API
//! group, and only the documents with such a place are parsed.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

use super::build_into;
use super::recognise::{self, Expected, Found};
use super::stream::{Part, Stream};
use crate::api::Inputs;
use crate::problem::{Problem, Problems, Span, codes};
use crate::yaml;

codes! {
    /// A TrainingJob that is not UTF-8 text
    ///
    /// khorovod parses a TrainingJob, and Kubernetes accepts only UTF-8. Save its file or template as UTF-8. Other documents
    /// of the stream pass through unchanged, in any encoding.
    Error NOT_UTF8 = "not-utf8";

    /// The stream is larger than the limit
    ///
    /// `khorovod post-render` keeps the stream in memory until it has read all of it and has checked its TrainingJobs. So the
    /// size of a stream is limited to 512 MiB, or to the value of `--limit`.
    Error TOO_LARGE = "stream-too-large";
}

/// The API group in the `apiVersion` of a TrainingJob. The slash after it may be escaped.
const DOMAIN: &[u8] = b"khorovod.dev";

/// Like [`render_to`](crate::render_to), for a stream that consists mostly of other documents, such as a whole Helm chart. Other
/// documents are not parsed, need not be text, and are passed to `write` as slices of the stream. A stream without a TrainingJob
/// is not an error. `name` is the name of the stream in messages.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Inputs, expand};
///
/// let (stream, mut out) = (b"\xff: not even text\r\n---\n# theirs", Vec::new());
/// expand("<stdin>", stream, &Inputs::default(), &mut |part| out.extend_from_slice(part)).unwrap();
/// assert_eq!(out, stream);
/// ```
pub fn expand(name: &str, bytes: &[u8], inputs: &Inputs, write: &mut dyn FnMut(&[u8])) -> Result<Problems, Problems> {
    let mut stream = Stream::new(inputs);
    if bytes.len() > inputs.limit {
        too_large(&mut stream, name, bytes, inputs.limit);
        return Err(stream.finish());
    }
    let overlays = stream.read_overlays();
    let (mut jobs, mut lines) = (Vec::new(), Lines::new(bytes));
    for piece in candidates(bytes) {
        let body = &bytes[piece.clone()];
        let Ok(text) = std::str::from_utf8(body) else {
            refuse_bytes(&mut stream, name, body, lines.number(piece.start));
            continue;
        };
        // A template may have included a file that starts with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = stream.next_source();
        let span = Span { source, start: 0, end: text.len() };
        let mut found = Vec::new();
        let document = match recognise::find(text, span, Expected::Any, &mut found, &mut 0) {
            Found::Other => continue,
            Found::Invalid => None,
            Found::Job(document) => Some(document),
        };
        let template = recognise::helm_source(text).or_else(|| recognise::helm_file(document.as_ref()?));
        let part =
            Part { name: title(name, template), text: Cow::Borrowed(text), first_line: lines.number(piece.start) };
        stream.add(part);
        stream.append(found);
        jobs.extend(document.and_then(|document| stream.job(document, text, piece, &overlays)));
    }
    stream.refuse_duplicates(&jobs);
    stream.refuse_script_in_stream(&jobs);
    if !stream.fails() {
        for job in &jobs {
            stream.note_stored_keys(job);
        }
    }
    build_into(bytes, stream, jobs, inputs, write)
}

/// The bodies of the documents that contain the API group as a value.
fn candidates(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let finder = memmem::Finder::new(DOMAIN);
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + finder.find(&bytes[from..])?;
            from = at + DOMAIN.len();
            if !may_be_value(bytes, at) {
                continue;
            }
            if let Some(body) = yaml::document_at(bytes, at) {
                from = body.end.max(from);
                return Some(body);
            }
        }
    })
}

/// Whether a value such as `khorovod.dev/v1alpha1` may start at `at`. The labels of rendered objects also start with
/// the group, but they are keys. Leaving out keys saves time, because the documents of rendered objects are then not
/// parsed.
fn may_be_value(bytes: &[u8], at: usize) -> bool {
    let (before, after) = (bytes[..at].last(), &bytes[at + DOMAIN.len()..]);
    let is_start = before.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''));
    if !is_start || !matches!(after.first(), Some(b'/' | b'\\')) {
        return false;
    }
    let name = after.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"-._/".contains(byte)));
    let rest = &after[name.unwrap_or(after.len())..];
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    rest.first() != Some(&b':')
}

/// The name of a source in messages: `<stdin> (chart/templates/job.yaml)`. The line numbers refer to the stream.
pub fn title(name: &str, template: Option<&str>) -> String {
    template.map_or_else(|| name.to_owned(), |template| format!("{name} ({template})"))
}

/// Reports a TrainingJob that is not UTF-8.
fn refuse_bytes(stream: &mut Stream<'_>, name: &str, body: &[u8], first_line: usize) {
    let text = String::from_utf8_lossy(body).into_owned();
    if !recognise::claims_to_be_job(&text, Expected::Any) {
        return;
    }
    let at = body.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    let message = format!("byte 0x{:02x} is not valid UTF-8", body.get(at).unwrap_or(&0));
    let template = recognise::helm_source(&text).map(str::to_owned);
    let part = Part { name: title(name, template.as_deref()), text: Cow::Owned(text), first_line };
    let span = Span { source: stream.add(part), start: at, end: at + char::REPLACEMENT_CHARACTER.len_utf8() };
    stream.push(Problem::new(&NOT_UTF8, span, message).hint("save the file or template that contains it as UTF-8"));
}

/// Reports a stream that is too large, at the line in which it exceeds the limit.
fn too_large(stream: &mut Stream<'_>, name: &str, bytes: &[u8], limit: usize) {
    let start = memchr::memrchr(b'\n', &bytes[..limit]).map_or(0, |end| end + 1);
    let end = memchr(b'\n', &bytes[limit..]).map_or(bytes.len(), |end| limit + end);
    // Show at most 200 bytes on each side, because a line may be arbitrarily long.
    let (start, end) = (start.max(limit.saturating_sub(200)), end.min(limit + 200));
    let before = String::from_utf8_lossy(&bytes[start..limit]);
    let text = format!("{before}{}", String::from_utf8_lossy(&bytes[limit..end]));
    let at = before.len();
    let part = Part { name: name.to_owned(), text: Cow::Owned(text), first_line: Lines::new(bytes).number(limit) };
    let span = Span { source: stream.add(part), start: at, end: at };
    let message = format!("the stream is larger than {} MiB", limit >> 20);
    let problem = Problem::new(&TOO_LARGE, span, message).here("the limit is here");
    stream.push(problem.hint("if the stream is correct, raise the limit with `--limit MIB`"));
}

/// Computes line numbers. The positions must be requested in ascending order.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1 }
    }

    /// The line of the byte `at`, from 1.
    fn number(&mut self, at: usize) -> usize {
        self.line += memchr_iter(b'\n', &self.bytes[self.at..at]).count();
        self.at = at;
        self.line
    }
}
