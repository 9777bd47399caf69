//! Finds our documents in a stream that is mostly other people's, which is never cut, read or copied as a whole: one
//! search for our API group over its bytes, and a look at the few documents that have it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

use super::build_into;
use super::ours::{self, Among, Found};
use super::stream::{Part, Stream};
use crate::api::Inputs;
use crate::problem::{Problem, Problems, Span, codes};
use crate::yaml;

codes! {
    /// A TrainingJob that is no UTF-8 text
    ///
    /// Other documents of a stream pass as the bytes they are, but a TrainingJob is read, and Kubernetes takes UTF-8
    /// alone. Save its file or template as UTF-8.
    Error NOT_UTF8 = "not-utf8";

    /// The stream is larger than the limit
    ///
    /// `khorovod post-render` holds a stream until all of it has been read and its own documents have been checked, so
    /// one that never ends must stop somewhere: at 512 MiB, or at the `--limit` given.
    Error TOO_LARGE = "stream-too-large";
}

/// What every document of ours has in its `apiVersion`. The slash behind it may be escaped.
const DOMAIN: &[u8] = b"khorovod.dev";

/// As [`render_to`](crate::render_to) for a stream that is mostly other people's, such as all of a Helm chart: whatever is not ours is
/// never read, need not even be text, and is handed over by slices of the stream itself; and having none of ours in it is
/// no mistake. `name` is what a person knows the stream by.
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
    let changes = stream.changes();
    let (mut jobs, mut lines) = (Vec::new(), Lines::new(bytes));
    for piece in candidates(bytes) {
        let body = &bytes[piece.clone()];
        let Ok(text) = std::str::from_utf8(body) else {
            refuse_bytes(&mut stream, name, body, lines.number(piece.start));
            continue;
        };
        // A file that was put into a template may have brought its byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = stream.next_source();
        let span = Span { source, start: 0, end: text.len() };
        let mut found = Vec::new();
        let document = match ours::find(text, span, Among::Others, &mut found, &mut 0) {
            Found::Other => continue,
            Found::Wrong => None,
            Found::Ours(document) => Some(document),
        };
        let template = ours::helm_source(text).or_else(|| ours::helm_file(document.as_ref()?));
        let part =
            Part { name: title(name, template), text: Cow::Borrowed(text), first_line: lines.number(piece.start) };
        stream.add(part);
        stream.append(found);
        jobs.extend(document.and_then(|document| stream.job(document, text, piece, &changes)));
    }
    stream.duplicates(&jobs);
    stream.refuse_slurm(&jobs);
    build_into(bytes, stream, jobs, inputs, write)
}

/// The documents in which our API group stands as a value.
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

/// Whether a value such as `khorovod.dev/v1alpha1` may begin at `at`. The labels of our own objects are keys: a stream of
/// those passes as quickly as any other.
fn may_be_value(bytes: &[u8], at: usize) -> bool {
    let (before, behind) = (bytes[..at].last(), &bytes[at + DOMAIN.len()..]);
    let begins = before.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''));
    if !begins || !matches!(behind.first(), Some(b'/' | b'\\')) {
        return false;
    }
    let name = behind.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"-._/".contains(byte)));
    let rest = &behind[name.unwrap_or(behind.len())..];
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    rest.first() != Some(&b':')
}

/// `<stdin> (chart/templates/job.yaml)`: lines are those of the stream, the template is what a person knows.
pub fn title(name: &str, template: Option<&str>) -> String {
    template.map_or_else(|| name.to_owned(), |template| format!("{name} ({template})"))
}

/// Reports one of ours that is no text.
fn refuse_bytes(stream: &mut Stream<'_>, name: &str, body: &[u8], first_line: usize) {
    let text = String::from_utf8_lossy(body).into_owned();
    if !ours::claims_ours(&text, Among::Others) {
        return;
    }
    let at = body.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    let message = format!("byte 0x{:02x} is not UTF-8 text", body.get(at).unwrap_or(&0));
    let template = ours::helm_source(&text).map(str::to_owned);
    let part = Part { name: title(name, template.as_deref()), text: Cow::Owned(text), first_line };
    let span = Span { source: stream.add(part), start: at, end: at + char::REPLACEMENT_CHARACTER.len_utf8() };
    stream.push(Problem::new(&NOT_UTF8, span, message).hint("save the file or template it comes from as UTF-8"));
}

/// Reports a stream that is too large, at the line that goes beyond the limit.
fn too_large(stream: &mut Stream<'_>, name: &str, bytes: &[u8], limit: usize) {
    let start = memchr::memrchr(b'\n', &bytes[..limit]).map_or(0, |end| end + 1);
    let end = memchr(b'\n', &bytes[limit..]).map_or(bytes.len(), |end| limit + end);
    // A place to recognise, not all of a line that never ends.
    let (start, end) = (start.max(limit.saturating_sub(200)), end.min(limit + 200));
    let before = String::from_utf8_lossy(&bytes[start..limit]);
    let text = format!("{before}{}", String::from_utf8_lossy(&bytes[limit..end]));
    let at = before.len();
    let part = Part { name: name.to_owned(), text: Cow::Owned(text), first_line: Lines::new(bytes).number(limit) };
    let span = Span { source: stream.add(part), start: at, end: at };
    let message = format!("the stream is larger than {} MiB", limit >> 20);
    let problem = Problem::new(&TOO_LARGE, span, message).here("beyond the limit from here on");
    stream.push(problem.hint("if it is meant to be that large: `--limit MIB`"));
}

/// Numbers of lines, asked for in the order of the stream.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1 }
    }

    /// The line in which the byte `at` stands, from 1.
    fn number(&mut self, at: usize) -> usize {
        self.line += memchr_iter(b'\n', &self.bytes[self.at..at]).count();
        self.at = at;
        self.line
    }
}
