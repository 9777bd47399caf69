//! khorovod as a Helm 4 plugin in WebAssembly: one module, two ways in. Helm hands over a message, the library does the
//! work. No rule of training or Kubernetes stands here, and nothing is asked of the host but its standard streams and
//! environment.

mod arguments;
mod command;
mod keys;
mod post_render;

use extism_pdk::{Error, FnResult, Json, WithReturnCode, plugin_fn};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a call did not do what it was asked, with the exit code that the native `khorovod` has for it: 1 the input has
/// problems, 2 wrong usage, 3 a stream failed. Helm shows the message and ends with 1 for each.
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

/// What Helm 4 sends to a plugin of type `cli/v1`: the words behind `helm khorovod`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandMessage {
    #[serde(default)]
    extra_args: Option<Vec<String>>,
}

/// `helm khorovod …`: specs come on standard input, and what comes out goes to standard output.
#[plugin_fn]
pub fn helm_plugin_main(Json(message): Json<CommandMessage>) -> FnResult<String> {
    command::run(&message.extra_args.unwrap_or_default())?;
    Ok("{}".to_owned())
}

/// What Helm 4 sends to a plugin of type `postrenderer/v1`, or would: see [`post_render`].
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StreamMessage {
    #[serde(default)]
    manifests: Value,
    #[serde(default)]
    extra_args: Option<Vec<String>>,
}

/// The answer to it.
#[derive(Serialize)]
struct Stream {
    manifests: String,
}

/// `helm install --post-renderer …`: manifests come and go in the message.
#[plugin_fn]
pub fn helm_post_render(Json(message): Json<StreamMessage>) -> FnResult<Json<Stream>> {
    let manifests = post_render::run(&message.manifests, &message.extra_args.unwrap_or_default())?;
    Ok(Json(Stream { manifests }))
}
