//! The job's ssh keys, derived: the same seed, namespace and name give the same bytes on any
//! machine, so a render is a pure function.

use hkdf::Hkdf;
use sha2::Sha256;
use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{LineEnding, PrivateKey};

/// The Secret's keys.
pub const ENTRIES: [&str; 4] = ["id_ed25519", "authorized_keys", "host_key", "known_hosts"];

/// A user key for the launcher and a host key that all workers of the job share.
pub struct KeyPairs {
    user: PrivateKey,
    host: PrivateKey,
}

impl KeyPairs {
    /// Derives both keys of the job `name` in `namespace`.
    pub fn derive(seed: &[u8; 32], namespace: &str, name: &str) -> Self {
        let derivation = Hkdf::<Sha256>::new(Some(b"khorovod.dev/v1"), seed);
        let key = |purpose: &str| {
            let mut bytes = [0; 32];
            // Neither names nor purposes hold a slash, so no two keys share this text.
            derivation
                .expand(format!("{namespace}/{name}/{purpose}").as_bytes(), &mut bytes)
                .expect("32 bytes are fewer than HKDF can give");
            PrivateKey::new(KeypairData::from(Ed25519Keypair::from_seed(&bytes)), format!("khorovod {purpose} {name}"))
                .expect("an unencrypted key can be made of any pair")
        };
        Self { user: key("user"), host: key("host") }
    }

    /// The Secret's entries as OpenSSH writes them.
    pub fn secret_data(&self) -> [(&'static str, String); 4] {
        let private = |key: &PrivateKey| key.to_openssh(LineEnding::LF).expect("a plain key has a text").to_string();
        let public = |key: &PrivateKey| key.public_key().to_openssh().expect("a public key has a text");
        let [user, users, host, hosts] = ENTRIES;
        [
            (user, private(&self.user)),
            (users, public(&self.user) + "\n"),
            (host, private(&self.host)),
            (hosts, format!("khorovod-worker {}\n", public(&self.host))),
        ]
    }
}

/// The data of the Secret `<job>-ssh`.
pub fn secret_data(seed: &[u8; 32], namespace: &str, name: &str) -> [(&'static str, String); 4] {
    KeyPairs::derive(seed, namespace, name).secret_data()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, process::Command};

    use super::secret_data;

    fn text<'a>(data: &'a [(&str, String)], key: &str) -> &'a str {
        &data.iter().find(|(name, _)| *name == key).expect("the Secret has the key").1
    }

    #[test]
    fn ssh_keygen_finds_the_public_half_of_both() {
        let data = secret_data(&[7; 32], "team-a", "mnist");
        let folder = tempfile::tempdir().unwrap();
        for (private, public) in [("id_ed25519", "authorized_keys"), ("host_key", "known_hosts")] {
            let file = folder.path().join(private);
            fs::write(&file, text(&data, private)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
            let out = Command::new("ssh-keygen").arg("-y").arg("-f").arg(&file).output().expect("ssh-keygen runs");
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            let derived = String::from_utf8(out.stdout).unwrap();
            let line = text(&data, public);
            assert_eq!(line.trim_start_matches("khorovod-worker "), derived);
        }
    }

    #[test]
    fn keys_depend_on_seed_namespace_and_name_alone() {
        let data = secret_data(&[7; 32], "a", "b");
        assert_eq!(data, secret_data(&[7; 32], "a", "b"));
        let others =
            [secret_data(&[8; 32], "a", "b"), secret_data(&[7; 32], "b", "b"), secret_data(&[7; 32], "a", "a")];
        for other in &others {
            for key in ["id_ed25519", "host_key"] {
                assert_ne!(text(&data, key), text(other, key));
            }
        }
        assert_ne!(text(&data, "id_ed25519"), text(&data, "host_key"));
    }
}
