//! Limits of Kubernetes and `kubectl`, and reserved ports.

/// The maximum size of a ConfigMap. `kubectl apply` copies each object into an annotation of at most 256 KiB.
pub const MAX_CONFIG_MAP: usize = 200 << 10;

/// The port of the rendezvous of torchrun, and of the coordinator of JAX, on the pod with index 0.
pub const RENDEZVOUS_PORT: u16 = 29_400;
/// The port on which the agents watch each other: `agents.py`.
pub const AGENTS_PORT: u16 = RENDEZVOUS_PORT + 1;
/// The port of the first rank of each pod in `TF_CONFIG`. The next ranks have the next ports: `processes.sh`.
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
