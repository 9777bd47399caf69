//! The post-renderer in WebAssembly, for the Helm that can run one.
//!
//! No released Helm 4 can: the message's `manifests` is a buffer of bytes, which its JSON writes as `{}`
//! (helm/helm#31832). Proposed is a string, which works here. As Helm shows nobody a post-renderer's stderr, all that is
//! wrong is in the error.

use serde_json::Value;

use crate::Failure;
use crate::arguments::Arguments;

const OPTIONS: &[&str] =
    &["--set", "--namespace", "--kube-version", "--target", "--strict", "--no-keys", "--quiet", "--color"];

const NOTHING: &str = "Helm handed over no manifests. This Helm cannot run a post-renderer in WebAssembly \
    (helm/helm#31832), whatever that does; nothing is wrong with the chart. Use the plugin khorovod-post-render, which \
    runs the khorovod in PATH: helm plugin install plugin/helm4-post-renderer";

/// The stream with the TrainingJobs in it replaced by their objects.
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
    String::from_utf8(out).map_err(|_| Failure::stream("what came out is no text"))
}
