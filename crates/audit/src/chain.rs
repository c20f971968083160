//! The hash chain: the hash of a record covers its text and the hash of the previous record.
//!
//! The hash is keyed (HMAC-SHA-256), so that an attacker without the key cannot change a copy of the
//! records (in a backup or in the index) and compute a new chain.

use std::fmt;
use std::str::FromStr;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The key of the chain.
#[derive(Clone)]
pub struct Key(hmac::Key);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Size of a key in bytes.
    pub const BYTES: usize = 32;

    /// Creates a key from bytes.
    #[must_use]
    pub fn new(bytes: &[u8; Self::BYTES]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Generates a new key; `None` if the system has no random numbers.
    #[must_use]
    pub fn generate() -> Option<[u8; Self::BYTES]> {
        let mut bytes = [0; Self::BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The hash of a record with the given predecessor.
    pub(crate) fn link(&self, previous: &Digest, body: &[u8]) -> Digest {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(&previous.0);
        context.update(body);
        Digest::of(context.sign().as_ref())
    }
}

/// A hash, in hexadecimal as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The predecessor of the first record.
    pub const ZERO: Self = Self([0; 32]);
    /// Hexadecimal digits of a hash.
    pub(crate) const DIGITS: usize = 64;

    fn of(bytes: &[u8]) -> Self {
        let mut digest = [0; 32];
        digest.copy_from_slice(bytes);
        Self(digest)
    }

    /// The plain SHA-256 of some bytes.
    #[must_use]
    pub fn sha256(bytes: &[u8]) -> Self {
        Self::of(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
    }

    /// The first digits, to identify a secret without revealing it.
    #[must_use]
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(16);
        text
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ();

    /// Accepts lower-case digits only, so that each hash has one text form.
    fn from_str(text: &str) -> Result<Self, ()> {
        let lower = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() != Self::DIGITS || !text.bytes().all(lower) {
            return Err(());
        }
        let mut digest = [0; 32];
        for (at, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(drop)?;
        }
        Ok(Self(digest))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| serde::de::Error::custom("expected 64 hexadecimal digits"))
    }
}

/// The last record that is synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number; 0 before the first.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
}
