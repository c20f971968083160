//! Which fields of an event exist already, and which stage found them.

use std::collections::HashMap;

const INLINE: usize = 64;

/// A set of names by 64-bit hash: on the stack for the usual event, in a map beyond.
pub(super) struct Seen {
    hashes: [u64; INLINE],
    stages: [u8; INLINE],
    length: usize,
    more: HashMap<u64, u8>,
}

impl Seen {
    pub(super) fn new() -> Self {
        Self { hashes: [0; INLINE], stages: [0; INLINE], length: 0, more: HashMap::new() }
    }

    /// The stage that found a name, or `None` after taking note that `stage` does now.
    pub(super) fn note(&mut self, name: &str, stage: u8) -> Option<u8> {
        let hash = hash(name);
        let inline = &self.hashes[..self.length];
        if let Some(at) = inline.iter().position(|known| *known == hash) {
            return Some(self.stages[at]);
        }
        if self.length < INLINE {
            self.hashes[self.length] = hash;
            self.stages[self.length] = stage;
            self.length += 1;
            return None;
        }
        match self.more.entry(hash) {
            std::collections::hash_map::Entry::Occupied(known) => Some(*known.get()),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(stage);
                None
            }
        }
    }
}

/// FNV-1a with a final mix.
pub(super) fn hash(name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in name.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^ (hash >> 32)
}
