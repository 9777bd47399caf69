//! The environment variables that khorovod reads, in one place: the help, the manual pages and the docs list all of them.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// The 32 bytes that ssh keys derive from, for places where a file is inconvenient.
pub const SSH_SEED: &str = "KHOROVOD_SSH_SEED";
pub const CI: &str = "CI";
pub const STATE: &str = "XDG_STATE_HOME";
pub const HOME: &str = "HOME";
/// Set by Helm for its plugins.
pub const HELM_PLUGIN: &str = "HELM_PLUGIN_NAME";
/// The program to call instead of the kubectl in PATH.
pub const KUBECTL: &str = "KUBECTL";
/// The variables that `run --local` passes on to the ranks: where programs and their parts are, and how to reach the network.
pub static LOCAL: &[&str] = &[
    "PATH",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CUDA_HOME",
    "OPAL_PREFIX",
    "I_MPI_ROOT",
    "LANG",
    "LC_ALL",
    "TZ",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
];
const HELM_NAMESPACE: &str = "HELM_NAMESPACE";
const PATH: &str = "PATH";

/// The namespace that Helm passes to the plugin of `helm khorovod`, from the option `-n` or else from the current
/// context. None for `default`, because Helm passes this name even if neither the option nor the context sets a
/// namespace. None in a post-renderer too, because Helm passes it no namespace.
pub fn helm_namespace() -> Option<String> {
    let is_command = env::var(HELM_PLUGIN).is_ok_and(|name| name == "khorovod");
    let namespace = env::var(HELM_NAMESPACE).ok().filter(|_| is_command)?;
    (!matches!(namespace.as_str(), "" | "default")).then_some(namespace)
}

/// The kubectl to call.
pub fn kubectl() -> OsString {
    env::var_os(KUBECTL).filter(|program| !program.is_empty()).unwrap_or_else(|| "kubectl".into())
}

/// The folders in which programs are found.
pub fn search_path() -> Vec<PathBuf> {
    env::split_paths(&env::var_os(PATH).unwrap_or_default()).collect()
}

/// A section of a help page. The crate anstream reads the variables for colour.
pub const HELP: &str = "Environment:
  KHOROVOD_SSH_SEED     seed of the ssh keys, if --ssh-seed is not given
  CI                    if set, khorovod creates no seed; render needs one
  XDG_STATE_HOME, HOME  your seed is in khorovod/, or .local/state/khorovod/
  HELM_PLUGIN_NAME      set by Helm: post-render prints where it saves errors
  HELM_NAMESPACE        in `helm khorovod`: the namespace of jobs without one
  KUBECTL               the kubectl to call, if it has another name or path
  NO_COLOR, CLICOLOR    if set, or if 0: no colour
  CLICOLOR_FORCE        if 1: colour even if the output is not a terminal";
