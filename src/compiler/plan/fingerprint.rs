//! A 64-bit hash of texts, for the name of a run. See [`Fingerprint`].
//!
//! The hash of a text is the same on every machine: bytes are read as little-endian words, and lengths are 64 bits wide. The
//! hash is not cryptographic: a collision is not a security problem, and SHA-256 would take longer than the rest of a small
//! render.

/// The characters of a name. There are no vowels, so that a name is not a word.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// The length of a name.
const LENGTH: usize = 6;

/// Whether a text has the form of a name from [`Fingerprint::letters`].
pub fn is_name(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| LETTERS.contains(&byte))
}

/// The hash of all texts that were added, in their order.
pub struct Fingerprint(u64);

impl Fingerprint {
    pub fn new() -> Self {
        Self(0)
    }

    /// Adds a text and its length. The length makes the boundary between two texts part of the hash.
    pub fn add(&mut self, text: &str) {
        self.add_word(text.len() as u64);
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        for word in words {
            self.add_word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add_word(u64::from_le_bytes(last));
    }

    /// Adds eight bytes. The step is invertible, so two inputs that differ in only one word have different hashes.
    pub fn add_word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    /// The hash as six [`LETTERS`] for a name.
    pub fn letters(mut self) -> String {
        self.add_word(1);
        self.add_word(2);
        let mut rest = self.0;
        let mut letters = String::with_capacity(LENGTH);
        for _ in 0..LENGTH {
            letters.push(char::from(LETTERS[(rest % 27) as usize]));
            rest /= 27;
        }
        letters
    }
}
