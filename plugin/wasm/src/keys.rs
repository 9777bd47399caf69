//! Where ssh keys come from: a seed that the host gives. None is made, as nobody would see it being made.

use khorovod::{Keys, seed};

use crate::Failure;

/// The variable that carries a seed, as for the native `khorovod`; or, for a host that gives no environment, the entry
/// of that name in the plugin's configuration.
const VARIABLE: &str = "KHOROVOD_SSH_SEED";

/// Keys of the seed at hand.
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
