//! The post-renderer in WebAssembly, for a future Helm.
//!
//! No released Helm 4 can run one: the message's `manifests` is a buffer of bytes, which Go's JSON encodes as `{}`
//! (helm/helm#31832). The proposed fix is a string, which works here. Because Helm does not show a post-renderer's
//! stderr, the error contains all problems.

use serde_json::Value;

use crate::Failure;
use crate::arguments::Arguments;

const OPTIONS: &[&str] =
    &["--set", "--namespace", "--kube-version", "--target", "--strict", "--no-keys", "--quiet", "--color"];

const NOTHING: &str = "Helm passed no manifests. This version of Helm cannot run post-renderers in WebAssembly \
    (helm/helm#31832); the chart is not the cause. Use the plugin khorovod-post-render, which \
    runs the khorovod in PATH: helm plugin install plugin/helm4-post-renderer";

/// Returns the stream with its TrainingJobs replaced by their objects.
pub fn run(manifests: &Value, args: &[String]) -> Result<String, Failure> {
    let Value::String(stream) = manifests else { return Err(Failure::stream(NOTHING)) };
    let args = Arguments::read(args, OPTIONS)?;
    if let Some(word) = args.words.first() {
        return Err(Failure::usage(format!("unexpected argument '{word}'")));
    }
    let mut out = Vec::with_capacity(stream.len());
    let found = khorovod::expand("<stdin>", stream.as_bytes(), &args.inputs, &mut |part| out.extend_from_slice(part));
    if let Err(problems) = found {
        return Err(Failure::problems(args.style.problems([&problems]).join("\n")));
    }
    String::from_utf8(out).map_err(|_| Failure::stream("the output is not valid UTF-8"))
}
