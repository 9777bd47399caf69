//! Makes ssh keys for the preview page, which loads this module when its user asks for keys.
//!
//! An adapter without a compiler. The module of `web/wasm` leaves the cryptography out, so that the page starts sooner.

use wasm_bindgen::prelude::wasm_bindgen;

/// Derives the keys of jobs from a seed, for the function `render` of the other module. `jobs` is the result of its function
/// `jobs_with_keys`. Returns for each job its line and the entries of its Secret, all separated by NUL bytes; empty if the seed does
/// not have 32 bytes.
#[wasm_bindgen]
pub fn ssh_keys(jobs: &str, seed: &[u8]) -> String {
    let Ok(seed) = seed.try_into() else { return String::new() };
    let all = jobs.lines().filter_map(|job| Some((job, job.split_once('/')?))).flat_map(|(job, (namespace, name))| {
        [job.to_owned()].into_iter().chain(khorovod::ssh_keys(seed, namespace, name))
    });
    all.collect::<Vec<_>>().join("\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_has_the_keys_of_the_command() {
        let all = ssh_keys("team-a/mnist\n/bert\n", &[7; 32]);
        let parts: Vec<&str> = all.split('\0').collect();
        assert_eq!((parts[0], parts[5], parts.len()), ("team-a/mnist", "/bert", 10));
        assert_eq!(parts[1..5], khorovod::ssh_keys(&[7; 32], "team-a", "mnist"));
        assert_eq!(parts[6..], khorovod::ssh_keys(&[7; 32], "", "bert"));
        assert_eq!(ssh_keys("/mnist", &[]), "");
    }
}
