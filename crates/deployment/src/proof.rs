//! Proofs that a message is from a holder of the key that forwarders share with the deployment server, or
//! with the processes that they ask for indexers.
//!
//! A proof is the HMAC-SHA-256 of the purpose and the message. The key itself is never sent. Answers are
//! signed, too, and repeat the random number of the forwarder, so that impersonation of the server and
//! replayed answers are detected even if certificates are not verified. Messages are not encrypted by this.

use conf::Layers;
use ring::hmac;

use crate::Error;
use crate::checksum::hex;
use crate::settings::PASS4SYMMKEY;

/// The header with the proof of a request or of its answer.
pub const PROOF_HEADER: &str = "x-karst-proof";
/// The header with the time of a request without a body, in seconds of Unix time.
pub const TIME_HEADER: &str = "x-karst-time";

/// The key.
#[derive(Clone)]
pub struct Key(hmac::Key);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Derives the key from a secret; `None` for an empty one.
    #[must_use]
    pub fn of(secret: &str) -> Option<Self> {
        let secret = secret.trim();
        (!secret.is_empty()).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())))
    }

    /// Reads `pass4SymmKey` in `[deployment]` of `server.conf`; without it, uses the token that forwarders
    /// send to indexers.
    ///
    /// # Errors
    /// If the value is invalid.
    pub fn read(layers: &Layers, token: Option<&str>) -> Result<Option<Self>, Error> {
        let conf = layers.effective("server");
        let own = conf::Reader::new(&conf, "deployment").get(&PASS4SYMMKEY)?;
        Ok(own.as_deref().or(token).and_then(Self::of))
    }

    /// Computes the proof of a message for a purpose.
    #[must_use]
    pub fn sign(&self, purpose: &str, message: &[u8]) -> String {
        hex(hmac::sign(&self.0, &text(purpose, message)).as_ref())
    }

    /// Whether a proof is valid, in constant time.
    #[must_use]
    pub fn verify(&self, purpose: &str, message: &[u8], proof: &str) -> bool {
        let Some(tag) = bytes(proof) else { return false };
        hmac::verify(&self.0, &text(purpose, message), &tag).is_ok()
    }
}

fn text(purpose: &str, message: &[u8]) -> Vec<u8> {
    [b"karst deployment 1\n", purpose.as_bytes(), b"\n", message].concat()
}

fn bytes(proof: &str) -> Option<Vec<u8>> {
    let digits = proof.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok())
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layer;

    use super::*;

    #[test]
    fn a_proof_is_of_one_key_purpose_and_message() {
        let (key, other) = (Key::of("secret").unwrap(), Key::of("other").unwrap());
        let proof = key.sign("answer", b"text");
        assert!(key.verify("answer", b"text", &proof));
        assert!(!other.verify("answer", b"text", &proof));
        assert!(!key.verify("phonehome", b"text", &proof));
        assert!(!key.verify("answer", b"texts", &proof));
        for wrong in ["", "00", &proof[1..], &proof.replace(|c: char| c.is_ascii_digit(), "z")] {
            assert!(!key.verify("answer", b"text", wrong), "{wrong}");
        }
    }

    #[test]
    fn the_key_is_the_setting_or_the_token_of_forwarders() {
        let of = |layers: &Layers, token| Key::read(layers, token).unwrap();
        let signed = |key: Option<Key>| key.map(|key| key.sign("a", b"b"));
        let (none, text) = (Layers::builtin(), "[deployment]\npass4SymmKey = one\n");
        let set = Layers::builtin().with(Layer::SystemLocal, "server", text);
        assert!(of(&none, None).is_none() && of(&none, Some(" ")).is_none());
        assert_eq!(signed(of(&set, Some("two"))), signed(Key::of("one")));
        assert_eq!(signed(of(&none, Some("two"))), signed(Key::of("two")));
    }
}
