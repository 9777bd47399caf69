//! khorovod as a Helm 4 plugin in WebAssembly. Helm passes a message with the arguments, and the library processes the spec.
//! This crate has no rules about training or Kubernetes. It uses only the host's standard streams and environment.
//!
//! There is no post-renderer in WebAssembly, because no released Helm can run one: the message's `manifests` is a buffer of
//! bytes, which Go's JSON encodes as `{}` (helm/helm#31832).

mod arguments;
mod command;
mod keys;

use extism_pdk::{Error, FnResult, Json, WithReturnCode, plugin_fn};
use serde::Deserialize;

/// The error of a call, with the exit code of the native `khorovod`: 1 the input has problems, 2 wrong usage, 3 a stream
/// failed. Helm prints the message and exits with 1 in each case.
pub struct Failure {
    code: i32,
    message: String,
}

impl Failure {
    fn problems(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    fn stream(message: impl Into<String>) -> Self {
        Self { code: 3, message: message.into() }
    }
}

impl From<Failure> for WithReturnCode<Error> {
    fn from(Failure { code, message }: Failure) -> Self {
        Self::new(Error::msg(message), code)
    }
}

/// The message of Helm 4 to a plugin of type `cli/v1`, with the arguments after `helm khorovod`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandMessage {
    #[serde(default)]
    extra_args: Option<Vec<String>>,
}

/// `helm khorovod …`: reads specs from standard input and prints to standard output.
#[plugin_fn]
pub fn helm_plugin_main(Json(message): Json<CommandMessage>) -> FnResult<String> {
    command::run(&message.extra_args.unwrap_or_default())?;
    Ok("{}".to_owned())
}
