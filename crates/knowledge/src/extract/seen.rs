//! The fields of an event that were found, and the stage that found each.

use std::collections::HashMap;

const INLINE: usize = 64;

/// A set of names by their 64-bit hash: on the stack for typical events, in a map for larger ones.
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

    /// Returns the stage that found a name; if no stage has, records `stage` and returns `None`.
    pub(super) fn note(&mut self, name: &str, stage: u8) -> Option<u8> {
        let hash = quick_hash(name.as_bytes());
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

/// Hashes a name to 64 bits, for use within one event: sixteen bytes at a time, as wyhash does.
#[inline]
fn quick_hash(name: &[u8]) -> u64 {
    const KEYS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ (product >> 64) as u64
    };
    let (mut seed, mut rest) = (KEYS[0], name);
    while rest.len() > 16
        && let Some((sixteen, more)) = rest.split_first_chunk::<16>()
    {
        let both = u128::from_le_bytes(*sixteen);
        seed = mix(both as u64 ^ KEYS[1], (both >> 64) as u64 ^ seed);
        rest = more;
    }
    let eight = (rest.first_chunk::<8>(), rest.last_chunk::<8>());
    let four = (rest.first_chunk::<4>(), rest.last_chunk::<4>());
    let (a, b) = match (eight, four) {
        ((Some(a), Some(b)), _) => (u64::from_le_bytes(*a), u64::from_le_bytes(*b)),
        (_, (Some(a), Some(b))) => (u32::from_le_bytes(*a).into(), u32::from_le_bytes(*b).into()),
        _ => (rest.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)), 0),
    };
    mix(KEYS[1] ^ name.len() as u64, mix(a ^ KEYS[1], b ^ seed))
}

/// Hashes a name with FNV-1a and a final mix.
pub(crate) fn hash(name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in name.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^ (hash >> 32)
}
