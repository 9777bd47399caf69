//! khorovod as a Helm 4 plugin in WebAssembly: one module with two entry points. Helm passes a message, and the library
//! processes it. This crate has no rules about training or Kubernetes. It uses only the host's standard streams and
//! environment.

mod arguments;
mod command;
mod keys;
mod post_render;

use extism_pdk::{Error, FnResult, Json, WithReturnCode, plugin_fn};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// The message of Helm 4 to a plugin of type `postrenderer/v1`. Released versions do not send it: see [`post_render`].
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StreamMessage {
    #[serde(default)]
    manifests: Value,
    #[serde(default)]
    extra_args: Option<Vec<String>>,
}

/// The answer to [`StreamMessage`].
#[derive(Serialize)]
struct Stream {
    manifests: String,
}

/// `helm install --post-renderer …`: the messages contain the manifests.
#[plugin_fn]
pub fn helm_post_render(Json(message): Json<StreamMessage>) -> FnResult<Json<Stream>> {
    let manifests = post_render::run(&message.manifests, &message.extra_args.unwrap_or_default())?;
    Ok(Json(Stream { manifests }))
}
