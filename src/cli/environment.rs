//! The environment variables that khorovod reads, in one place: the help, the manual pages and the docs list all of them.

/// The 32 bytes that ssh keys derive from, for places where a file is inconvenient.
pub const SSH_SEED: &str = "KHOROVOD_SSH_SEED";
pub const CI: &str = "CI";
pub const STATE: &str = "XDG_STATE_HOME";
pub const HOME: &str = "HOME";
/// Set by Helm 4 for its plugins.
pub const HELM_PLUGIN: &str = "HELM_PLUGIN_NAME";

/// A section of a help page. The crate anstream reads the variables for colour.
pub const HELP: &str = "Environment:
  KHOROVOD_SSH_SEED     seed of the ssh keys, if --ssh-seed is not given
  CI                    if set, khorovod creates no seed
  XDG_STATE_HOME, HOME  your seed is in khorovod/, or .local/state/khorovod/
  HELM_PLUGIN_NAME      set by Helm 4: post-render prints where it saves errors
  NO_COLOR, CLICOLOR    if set, or if 0: no colour
  CLICOLOR_FORCE        if 1: colour even if the output is not a terminal";
