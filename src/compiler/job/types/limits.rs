//! Limits of Kubernetes and `kubectl`, and reserved ports.

/// The maximum size of a ConfigMap. It is below 256 KiB, because `kubectl apply` copies each object into an annotation, and all
/// annotations of an object together can have 256 KiB.
pub const MAX_CONFIG_MAP: usize = 200 << 10;

/// The port of the rendezvous of torchrun, and of the coordinator of JAX, on the pod with index 0.
pub const RENDEZVOUS_PORT: u16 = 29_400;
/// The port on which the agents of a job with torchrun, JAX or TensorFlow watch each other. `agents.py` listens on it.
pub const AGENTS_PORT: u16 = RENDEZVOUS_PORT + 1;
/// The port at which `download.py` passes on downloads.
pub const DOWNLOAD_PORT: u16 = 29_399;
/// The port of the first rank of each pod in `TF_CONFIG`. The next ranks of the pod have the next ports. `processes.sh` writes them.
pub const FIRST_RANK_PORT: u32 = 29_410;

/// The number of bytes of a text as a JSON string, as Go writes it: with escapes for `<`, `>` and `&`.
pub fn json_size(text: &str) -> usize {
    let size = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        b'<' | b'>' | b'&' | 0..=0x1f | 0x7f => 6,
        _ => 1,
    };
    text.bytes().map(size).sum::<usize>() + 2
}
