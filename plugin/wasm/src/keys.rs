//! The source of ssh keys: a seed from the host. The plugin does not create a seed, because the user would not see that.

use khorovod::{Keys, seed};

use crate::Failure;

/// The environment variable with the seed, as for the native `khorovod`. For a host without an environment, it is the
/// entry of this name in the plugin's configuration.
const VARIABLE: &str = "KHOROVOD_SSH_SEED";

/// Returns the keys of the seed, if there is one.
pub fn find(no_keys: bool) -> Result<Keys, Failure> {
    if no_keys {
        return Ok(Keys::LeftOut);
    }
    let text = match std::env::var(VARIABLE) {
        Ok(text) => Some(text),
        Err(_) => extism_pdk::config::get(VARIABLE).ok().flatten(),
    };
    match text.filter(|text| !text.trim().is_empty()) {
        Some(text) => seed::from_text(&text).map(Keys::Seed).map_err(|why| Failure::usage(format!("{VARIABLE} {why}"))),
        None => Ok(Keys::Missing),
    }
}
