//! The environment variables that are heeded: declared here, so that help, manual and docs can name them all.

/// 32 bytes that ssh keys derive from, where a file is inconvenient.
pub const SSH_SEED: &str = "KHOROVOD_SSH_SEED";
pub const CI: &str = "CI";
pub const STATE: &str = "XDG_STATE_HOME";
pub const HOME: &str = "HOME";
/// Set by Helm 4 for its plugins.
pub const HELM_PLUGIN: &str = "HELM_PLUGIN_NAME";

/// A section of a help page. What is said of colour is anstream's.
pub const HELP: &str = "Environment:
  KHOROVOD_SSH_SEED     the seed of ssh keys, where no --ssh-seed names one
  CI                    where it is set, no seed is made
  XDG_STATE_HOME, HOME  hold a person's seed: khorovod/, .local/state/khorovod/
  HELM_PLUGIN_NAME      set by Helm 4: post-render says where errors are kept
  NO_COLOR, CLICOLOR    set; 0: no colour
  CLICOLOR_FORCE        1: colour also where there is no terminal";
