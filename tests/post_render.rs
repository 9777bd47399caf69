//! Other documents pass through byte for byte, whatever they contain, and TrainingJobs become objects at any position.

use std::sync::LazyLock;

use khorovod::problem::Problems;
use khorovod::{Inputs, Keys, Text, expand};
use proptest::prelude::*;

/// A job with this name.
const JOB: &str = "apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata: {name: NAME}
spec: {image: a/b:1, command: [python, train.py], workers: {replicas: 2, gpus: 8}}
";

fn job(name: &str) -> String {
    JOB.replace("NAME", name)
}

fn inputs() -> Inputs {
    Inputs { keys: Keys::Seed([7; 32]), ..Inputs::default() }
}

fn expanded(stream: &[u8]) -> Result<Vec<u8>, Problems> {
    let mut out = Vec::new();
    expand("<stdin>", stream, &inputs(), &mut |part| out.extend_from_slice(part))?;
    Ok(out)
}

/// Asserts that a stream passes through unchanged; it may be invalid UTF-8.
fn passes(stream: &[u8]) {
    let out = expanded(stream).unwrap_or_else(|problems| panic!("{:?}", problems.list));
    assert!(out == stream, "changed:\n{}\nis now\n{}", stream.escape_ascii(), out.escape_ascii());
}

fn objects(spec: &str) -> String {
    let spec = Text { name: "job.yaml".to_owned(), text: spec.to_owned() };
    khorovod::render(&spec, &inputs()).unwrap().text
}

fn codes(stream: impl AsRef<[u8]>) -> Vec<&'static str> {
    match expanded(stream.as_ref()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.list.iter().map(|problem| problem.code.name).collect(),
    }
}

/// Texts that are not TrainingJobs, or not YAML documents, each without a separator.
const FOREIGN: &[&str] = &[
    "",
    "\n\n  \n",
    "# nothing but a comment",
    "# Source: chart/templates/a.yaml\n",
    "~\n",
    "null # nothing",
    "kind: ConfigMap\ndata: {a: b}   \n\t\n",
    "a:   [1,\n  2]   \n\"b\" : 'x'",
    "data:\n  job.yaml: |\n    apiVersion: khorovod.dev/v1alpha1\n    kind: TrainingJob\n    ---\n    ...\n",
    "apiVersion: v1\nkind: ConfigMap\ndata:\n  job.yaml: |\n    apiVersion: khorovod.dev/v1alpha1\n",
    "data: \"apiVersion: khorovod.dev/v1alpha1\\nkind: TrainingJob\"\n",
    "folded: >-\n\n  ---\n\n\n  --- x\n ",
    "apiVersion: v1 # khorovod.dev/v1alpha1\nkind: TrainingJob\n",
    "# apiVersion: khorovod.dev/v1alpha1\n# kind: TrainingJob\n",
    "apiVersion: sagemaker.services.k8s.aws/v1alpha1\nkind: TrainingJob\n",
    "apiVersion: horovod.io/v1\nkind: TrainingJob\nmetadata: {annotations: {of: khorovod.dev/v1alpha1}}\n",
    "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {labels: {khorovod.dev/job: a}}\n",
    "apiVersion: notkhorovod.dev/v1alpha1\nkind: TrainingJob\n",
    "kind: TrainingJob\n",
    "kind: List\nitems: [{kind: ConfigMap, data: {a: khorovod.dev/v1alpha1}}]\n",
    "{\"apiVersion\":\"v1\",\"data\":{\"of\":\"khorovod.dev/v1alpha1\"}}",
    "- apiVersion: khorovod.dev/v1alpha1\n",
    "khorovod.dev/v1alpha1\n",
    "broken: [\n",
    "broken: \"\n khorovod.dev/v1alpha1\n",
    "\tkhorovod.dev/v1alpha1: {\n",
    "a: !!binary khorovod.dev/v1alpha1\na: *b\n",
    "---x: 1\n...y\n-- -\n",
    "one\r\ntwo: \r three\r\n",
    "\u{feff}late: mark\n",
    "x: \u{2028}\u{85}\u{1f680}\n",
];

/// The bytes that may precede a document: only a complete document marker.
const MARKERS: &[&str] = &[
    "---\n",
    "---\r\n",
    "--- \n",
    "---\t\n",
    "--- # theirs\n",
    "...\n---\n",
    "... # end\n--- # begin\n",
    "...\n%YAML 1.2\n---\n",
    "...\r\n# between\r\n%TAG ! tag:theirs,2000:\r\n---\r\n",
    "---\n---\n",
    "---\n\n---\n",
    "---\nnull\n---\n",
    "--- {a: b}\n---\n",
    "--- |\n apiVersion: khorovod.dev/v1alpha1\n---\n",
    "--- text\n...\n---\n",
];

/// Another document: of the list, or any bytes.
fn foreign() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(FOREIGN).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::sample::select(FOREIGN).prop_map(|text| text.replace('\n', "\r\n").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..80),
        1 => "([ -~\t]{0,9}(\n|\r\n| khorovod.dev/v1alpha1 ?|---|\\.\\.\\.)){0,9}".prop_map(String::into_bytes),
    ]
    .prop_filter("it is ours", |bytes| {
        let is_job_line =
            |line: &[u8]| line.starts_with(b"apiVersion:") && line[11..].trim_ascii().starts_with(b"khorovod");
        !bytes.split(|byte| *byte == b'\n').any(is_job_line)
    })
}

fn marker() -> impl Strategy<Value = &'static str> {
    prop::sample::select(MARKERS)
}

/// Other documents, each after a marker, with a line end after every line.
fn documents() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec((marker(), foreign()), 0..5).prop_map(|documents| {
        let mut stream = Vec::new();
        for (marker, document) in documents {
            stream.extend_from_slice(marker.as_bytes());
            stream.extend_from_slice(&document);
            if !document.is_empty() && !document.ends_with(b"\n") {
                stream.push(b'\n');
            }
        }
        stream
    })
}

/// The bytes before the first marker.
fn start() -> impl Strategy<Value = Vec<u8>> {
    let mark = prop_oneof![3 => Just(""), 1 => Just("\u{feff}")];
    (mark, prop_oneof![Just(Vec::new()), foreign()], any::<bool>()).prop_map(|(mark, mut document, directive)| {
        if directive {
            document = b"# theirs\n%YAML 1.2\n---\n{}\n".to_vec();
        }
        if !document.is_empty() && !document.ends_with(b"\n") {
            document.push(b'\n');
        }
        [mark.as_bytes(), &document].concat()
    })
}

/// The objects of the jobs `a` and `b`, rendered once, because rendering is not tested here.
static OBJECTS: LazyLock<[String; 2]> = LazyLock::new(|| [objects(&job("a")), objects(&job("b"))]);

proptest! {
    #[test]
    fn a_stream_without_jobs_passes_by_slices(start in start(), middle in documents(), end in foreign()) {
        let stream = [&start[..], &middle, b"---\n", &end].concat();
        passes(&stream);
        let place = stream.as_ptr_range();
        expand("<stdin>", &stream, &inputs(), &mut |part| {
            assert!(part.is_empty() || place.contains(&part.as_ptr()), "it was copied");
        })
        .unwrap();
    }

    #[test]
    fn documents_around_jobs_pass_unchanged(
        start in start(), before in documents(), between in documents(), after in documents(),
        markers in [marker(), marker(), marker()], last in prop_oneof![Just(Vec::new()), foreign()],
        crlf in any::<bool>(),
    ) {
        let end = if last.is_empty() { last } else { [b"---\n", &last[..]].concat() };
        let spec = if crlf { job("a").replace('\n', "\r\n") } else { job("a") };
        let around = |first: &str, second: &str| {
            [
                &start[..], &before, markers[0].as_bytes(), first.as_bytes(),
                markers[1].as_bytes(), &between, b"--- # ours\n", second.as_bytes(),
                markers[2].as_bytes(), &after, &end,
            ].concat()
        };
        let (stream, expected) = (around(&spec, &job("b")), around(&OBJECTS[0], &OBJECTS[1]));
        let out = expanded(&stream).unwrap_or_else(|problems| panic!("{:?}\n{}", problems.list, stream.escape_ascii()));
        prop_assert!(out == expected, "{}", stream.escape_ascii());
    }
}

#[test]
fn each_foreign_document_passes_alone() {
    for text in FOREIGN {
        passes(text.as_bytes());
        for marker in MARKERS {
            passes(format!("{marker}{text}").as_bytes());
            passes(format!("\u{feff}{marker}{text}").replace('\n', "\r\n").as_bytes());
        }
    }
    for byte in 0..=u8::MAX {
        passes(&[byte]);
        passes(&[&b"a: khorovod.dev/v1 "[..], &[byte]].concat());
    }
    passes(b"\xff\xfea\0:\0 \x001\0");
}

#[test]
fn jobs_are_found_in_every_form() {
    let plain = objects(&job("a"));
    let flow = "{apiVersion: khorovod.dev/v1alpha1, kind: TrainingJob, metadata: {name: a}, spec: {image: \"a/b:1\", \
                command: [python, train.py], workers: {replicas: 2, gpus: 8}}}";
    let json = r#"{"apiVersion":"khorovod.dev\/v1alpha1","kind":"TrainingJob","metadata":{"name":"a"},"spec":{"image":"a/b:1","command":["python","train.py"],"workers":{"replicas":2,"gpus":8}}}"#;
    let quoted = job("a").replace("khorovod.dev/v1alpha1", "'khorovod.dev/v1alpha1'");
    let folded = job("a").replace("khorovod.dev/v1alpha1", ">-\n  khorovod.dev/v1alpha1");
    let deeper = format!("  {}", job("a").trim_end().replace('\n', "\n  "));
    let last = job("a").replace("apiVersion: khorovod.dev/v1alpha1\n", "") + "apiVersion: khorovod.dev/v1alpha1";
    let marked = format!("\u{feff}{}", job("a"));
    for form in [flow, json, &quoted, &folded, &deeper, &last, &marked] {
        for (before, after) in
            [("", ""), ("---\n", ""), ("---\r\n", "\n---\r\na: 1\r\n"), ("\u{feff}--- # x\n", "\n...\n")]
        {
            let out = expanded(format!("{before}{form}{after}").as_bytes())
                .unwrap_or_else(|p| panic!("{form}: {:?}", p.list));
            let after = after.trim_start_matches('\n');
            // A byte order mark belongs to the stream at its start, and to the document elsewhere.
            let mark = if before.is_empty() && form.starts_with('\u{feff}') { "\u{feff}" } else { "" };
            assert_eq!(String::from_utf8(out).unwrap(), format!("{before}{mark}{plain}{after}"), "{form}");
        }
    }
    let out = expanded(format!("--- {flow}\n--- {json}\n").replace("{name: a}", "{name: b}").as_bytes()).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!("---\n{}---\n{plain}", objects(&job("b"))));
}

#[test]
fn names_of_templates_are_copied_for_helm() {
    let file = "training/templates/job.yaml";
    // Helm 3.
    let out = expanded(format!("---\n# Source: {file}\n# mine\n{}", job("a")).as_bytes()).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.matches("\nkind: ").count(), out.matches(&format!("---\n# Source: {file}\napiVersion: ")).count());
    assert_eq!(out.replace(&format!("# Source: {file}\n"), ""), format!("---\n{}", objects(&job("a"))));
    // Helm 4.
    let annotation = format!("postrenderer.helm.sh/postrender-filename: '{file}'");
    let spec = job("a").replace("{name: a}", &format!("{{name: a, annotations: {{{annotation}}}}}"));
    let out = String::from_utf8(expanded(spec.as_bytes()).unwrap()).unwrap();
    let names = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("  name: ")).map(str::to_owned).collect()
    };
    assert_eq!(names(&out), names(&objects(&job("a"))), "the run is the same");
    assert!(!out.contains("postrender-filename\""), "the spec that is kept has no annotation of Helm");
    for document in out.split("\n---\n") {
        let metadata = document.split("\nmetadata:\n").nth(1).unwrap();
        let metadata: String = metadata.lines().take_while(|line| line.starts_with(' ')).collect();
        assert_eq!(metadata.matches(&format!("postrender-filename: {file}")).count(), 1, "{document}");
    }
}

#[test]
fn only_mistakes_of_jobs_are_reported_with_lines_of_the_stream() {
    let broken = "# Source: chart/templates/job.yaml\napiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nspec: [\n";
    for foreign in FOREIGN {
        assert_eq!(codes(format!("{foreign}\n---\n{broken}---\n{foreign}")), ["yaml-syntax"], "{foreign:?}");
    }
    let stream = format!("a: 1\r\n---\r\n\u{feff}{broken}");
    let problems = expanded(stream.as_bytes()).unwrap_err();
    let span = problems.list[0].labels[0].span;
    assert_eq!(problems.sources.get(span.source).unwrap().name, "<stdin> (chart/templates/job.yaml)");
    assert_eq!(problems.sources.position(span).line, 6);
    assert_eq!(codes(format!("{}---\n{}", job("a"), job("a"))), ["duplicate-job"]);
    assert_eq!(codes(job("a").replace("v1alpha1", "v2")), ["unknown-value"]);
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", job("a").trim_end().replace('\n', "\n  "));
    for kind in ["List", "\"List\"", "TrainingJobList"] {
        assert_eq!(codes(list.replace("List", kind)), ["job-in-list"], "{kind}");
    }
    assert_eq!(codes(job("a").replace("TrainingJob", "TrainJob")), ["unknown-value"]);
    assert_eq!(codes([job("a").as_bytes(), b"# \xff"].concat()), ["not-utf8"]);
    // CR ends a line in YAML, but not in Helm and kubectl: no text may be lost.
    assert_eq!(codes(format!("{}\r---\ra: 1\r", job("a").trim_end())), ["yaml-syntax"]);
}

#[test]
fn a_large_document_passes_or_is_refused() {
    let large = "x".repeat(50_000_000);
    passes(format!("apiVersion: v1\nkind: ConfigMap\nof: khorovod.dev/v1alpha1\ndata: {large}\n").as_bytes());
    let out = expanded(format!("a: {large}\n---\n{}", job("a")).as_bytes()).unwrap();
    assert!(out.ends_with(objects(&job("a")).as_bytes()));
    // The document is parsed, because only YAML can decide, but only up to the largest size of a spec.
    let list = "- x\n".repeat(1_000_000);
    passes(format!("of: khorovod.dev/v1alpha1\nlist:\n{list}").as_bytes());
    assert_eq!(codes(format!("{}list:\n{list}", job("a"))), ["yaml-too-large"]);
    let limited = Inputs { limit: 10, ..inputs() };
    assert!(expand("<stdin>", b"a: 1\nb: 22", &limited, &mut |_| ()).is_ok());
    let problems = expand("<stdin>", b"a: 1\nb: 222", &limited, &mut |_| panic!("nothing is written")).unwrap_err();
    assert_eq!(problems.list[0].code.name, "stream-too-large");
    assert_eq!(problems.sources.position(problems.list[0].labels[0].span).line, 2);
}
