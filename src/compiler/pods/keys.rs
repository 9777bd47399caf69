//! Derives the ssh keys of a job from a seed. The same seed, namespace and name give the same keys on any machine, so that
//! rendering is a pure function.

use hkdf::Hkdf;
use sha2::Sha256;
use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{LineEnding, PrivateKey};

/// The names of the entries of the Secret.
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
            // Names and purposes do not contain slashes, so the text is different for each key.
            derivation
                .expand(format!("{namespace}/{name}/{purpose}").as_bytes(), &mut bytes)
                .expect("HKDF can output 32 bytes");
            PrivateKey::new(KeypairData::from(Ed25519Keypair::from_seed(&bytes)), format!("khorovod {purpose} {name}"))
                .expect("any pair forms an unencrypted key")
        };
        Self { user: key("user"), host: key("host") }
    }

    /// The entries of the Secret, in the formats of OpenSSH.
    pub fn secret_data(&self) -> [(&'static str, String); 4] {
        let private =
            |key: &PrivateKey| key.to_openssh(LineEnding::LF).expect("an unencrypted key can be encoded").to_string();
        let public = |key: &PrivateKey| key.public_key().to_openssh().expect("a public key can be encoded");
        let [user, users, host, hosts] = ENTRIES;
        [
            (user, private(&self.user)),
            (users, public(&self.user) + "\n"),
            (host, private(&self.host)),
            (hosts, format!("khorovod-worker {}\n", public(&self.host))),
        ]
    }
}

/// The entries of the ssh Secret.
pub fn secret_data(seed: &[u8; 32], namespace: &str, name: &str) -> [(&'static str, String); 4] {
    KeyPairs::derive(seed, namespace, name).secret_data()
}

/// The texts of the entries of the ssh Secret, in the order of [`ENTRIES`].
pub fn ssh_keys(seed: &[u8; 32], namespace: &str, name: &str) -> [String; 4] {
    secret_data(seed, namespace, name).map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::{PrivateKey, secret_data};

    fn text<'a>(data: &'a [(&str, String)], key: &str) -> &'a str {
        &data.iter().find(|(name, _)| *name == key).expect("the Secret has the key").1
    }

    /// The expected public keys are what `ssh-keygen -y` of OpenSSH 9.2 prints for these private keys.
    #[test]
    fn public_keys_match_private_keys() {
        let seed: [u8; 32] = std::array::from_fn(|index| u8::try_from(index).expect("less than 32"));
        let data = secret_data(&seed, "team-a", "mnist");
        let known = [
            (
                "id_ed25519",
                "authorized_keys",
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDVL36H3Lf8bo3Glcu4rQPNsyZ7VFyCJXFuHceh8XztI khorovod user mnist\n",
            ),
            (
                "host_key",
                "known_hosts",
                "khorovod-worker ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDe76kBzZJYt1L87dRLUfp/Bd5iFDPl7KmfiDapsNhSh khorovod host mnist\n",
            ),
        ];
        for (private, public, line) in known {
            assert_eq!(text(&data, public), line);
            let key = PrivateKey::from_openssh(text(&data, private)).expect("an OpenSSH private key");
            let derived = key.public_key().to_openssh().expect("a public key can be encoded");
            assert_eq!(line.trim_start_matches("khorovod-worker ").trim_end(), derived);
        }
    }

    #[test]
    fn keys_depend_only_on_seed_namespace_and_name() {
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
