//! Short names for stretches of bytes, the same at every start: FNV-1a in 64 bits.
//!
//! They tell files apart that nobody forged; a file made to look like another one is taken for it.

use serde::{Deserialize, Serialize};

/// The name of some bytes; [`Fingerprint::extend`] names more of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Fingerprint(pub(crate) u64);

impl Fingerprint {
    /// The name of no bytes.
    pub(crate) const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::EMPTY.extend(bytes)
    }

    pub(crate) fn extend(self, bytes: &[u8]) -> Self {
        let step = |name: u64, byte: &u8| (name ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Self(bytes.iter().fold(self.0, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_grows_with_its_bytes_and_never_changes() {
        assert_eq!(Fingerprint::of(b"ab").extend(b"c"), Fingerprint::of(b"abc"));
        assert_eq!(Fingerprint::of(b"foobar"), Fingerprint(0x8594_4171_f739_67e8));
    }
}
