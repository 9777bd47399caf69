//! A fingerprint of texts: 64 bits that change with any byte of them.
//!
//! Not SHA-256, which without hardware help costs more than all else a job needs: nobody gains
//! by two runs of one name, and six letters would not stop who wants them.

/// Mixes in eight bytes at a time. Each step can be undone, so that two texts which differ in
/// one place only never meet again.
pub struct Fingerprint(u64);

impl Fingerprint {
    pub fn new() -> Self {
        Self(0)
    }

    /// Adds a text, and its length, so that no text runs into the next.
    pub fn add(&mut self, text: &str) {
        self.word(text.len() as u64);
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
    }

    fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    /// Six characters that make no word, for a name.
    pub fn letters(mut self) -> String {
        const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        self.word(1);
        self.word(2);
        let mut rest = self.0;
        let mut letters = String::with_capacity(6);
        for _ in 0..6 {
            letters.push(char::from(LETTERS[(rest % 27) as usize]));
            rest /= 27;
        }
        letters
    }
}
