//! The public keys of a provider, and signature verification.

use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum number of keys.
const MAX_KEYS: usize = 100;
/// Minimum interval between key requests, whatever key IDs tokens have.
const PAUSE: Duration = Duration::from_secs(5);

/// Accepted signature algorithms: public-key only.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The keys, and when they were fetched.
#[derive(Debug, Default)]
pub(super) struct Keys {
    keys: Vec<Jwk>,
    read: Option<Instant>,
    asked: Option<Instant>,
}

/// The result of verification.
#[derive(Debug)]
pub(super) enum Verified<T> {
    /// Signed by the provider.
    Yes(T),
    /// Signed with an unknown key, perhaps a new one.
    UnknownKey,
    /// Not a token, or not signed by the provider.
    No,
}

impl Keys {
    /// Replaces the keys with a JWK set of the provider; unsupported keys are ignored.
    pub(super) fn replace(&mut self, now: Instant, set: &Value) {
        let all = set["keys"].as_array().map_or(&[][..], Vec::as_slice);
        let known = all.iter().filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok());
        self.keys = known.filter(can_verify).take(MAX_KEYS).collect();
        self.read = Some(now);
    }

    /// Whether the keys should be refreshed.
    pub(super) fn are_old(&self, now: Instant, lifetime: Duration) -> bool {
        self.read.is_none_or(|read| now.saturating_duration_since(read) >= lifetime)
    }

    /// Whether the keys may be requested now; if so, records the request.
    pub(super) fn ask(&mut self, now: Instant) -> bool {
        let may = self.asked.is_none_or(|asked| now.saturating_duration_since(asked) >= PAUSE);
        if may {
            self.asked = Some(now);
        }
        may
    }

    /// The claims of a token, if one of the keys signed it.
    pub(super) fn verify<T: DeserializeOwned>(&self, token: &str) -> Verified<T> {
        let Ok(header) = jsonwebtoken::decode_header(token) else { return Verified::No };
        if !ALGORITHMS.contains(&header.alg) || header.jku.is_some() || header.x5u.is_some() {
            return Verified::No;
        }
        let named = self.keys.iter().filter(|key| {
            header.kid.is_none() || key.common.key_id.is_none() || key.common.key_id == header.kid
        });
        // `claims` checks times and audience.
        let mut validation = Validation::new(header.alg);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let mut fits_any = false;
        for key in named.filter(|key| fits(key, header.alg)) {
            fits_any = true;
            let Ok(decoding) = DecodingKey::from_jwk(key) else { continue };
            if let Ok(decoded) = jsonwebtoken::decode(token, &decoding, &validation) {
                return Verified::Yes(decoded.claims);
            }
        }
        // If the key ID is known and the signature is invalid, the token is forged, unless tokens
        // have no key ID.
        if fits_any && header.kid.is_some() { Verified::No } else { Verified::UnknownKey }
    }
}

fn can_verify(key: &Jwk) -> bool {
    let is_public = !matches!(key.algorithm, AlgorithmParameters::OctetKey(_));
    let is_for_signatures =
        key.common.public_key_use.as_ref().is_none_or(|to| *to == PublicKeyUse::Signature);
    is_public && is_for_signatures
}

/// Whether a key may be used with this algorithm: the header of a token must not decide that.
fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    if let Some(own) = key.common.key_algorithm {
        return own.to_string() == format!("{algorithm:?}");
    }
    match &key.algorithm {
        AlgorithmParameters::RSA(_) => {
            matches!(algorithm, RS256 | RS384 | RS512 | PS256 | PS384 | PS512)
        }
        AlgorithmParameters::EllipticCurve(_) => matches!(algorithm, ES256 | ES384),
        AlgorithmParameters::OctetKeyPair(_) => algorithm == EdDSA,
        AlgorithmParameters::OctetKey(_) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
    use jsonwebtoken::{EncodingKey, Header};
    use ring::rand::SystemRandom;
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use serde_json::json;

    struct Signer {
        key: EncodingKey,
        public: Value,
    }

    fn signer(name: &str) -> Signer {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let public = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
        let x = BASE64.encode(public.public_key().as_ref());
        Signer {
            key: EncodingKey::from_ed_der(pair.as_ref()),
            public: json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": name, "use": "sig"}),
        }
    }

    impl Signer {
        fn sign(&self, name: &str) -> String {
            let header = Header { kid: Some(name.to_owned()), ..Header::new(Algorithm::EdDSA) };
            jsonwebtoken::encode(&header, &json!({"sub": "ann"}), &self.key).unwrap()
        }
    }

    fn keys(published: &[&Signer]) -> Keys {
        let mut keys = Keys::default();
        let strange = json!({"kty": "new", "kid": "?"});
        let all: Vec<&Value> =
            published.iter().map(|signer| &signer.public).chain([&strange]).collect();
        keys.replace(Instant::now(), &json!({"keys": all}));
        keys
    }

    #[test]
    fn only_published_keys_of_that_name_are_believed() {
        let (ours, foreign) = (signer("1"), signer("1"));
        let keys = keys(&[&ours]);
        let yes = keys.verify::<Value>(&ours.sign("1"));
        assert!(matches!(yes, Verified::Yes(claims) if claims["sub"] == "ann"));
        assert!(matches!(keys.verify::<Value>(&foreign.sign("1")), Verified::No));
        assert!(matches!(keys.verify::<Value>(&ours.sign("2")), Verified::UnknownKey));
        assert!(matches!(keys.verify::<Value>("a.b.c"), Verified::No));
    }

    #[test]
    fn a_token_that_is_not_signed_or_signed_with_a_public_key_as_secret_is_refused() {
        let ours = signer("1");
        let keys = keys(&[&ours]);
        let part = |value: Value| BASE64.encode(value.to_string());
        let unsigned = [part(json!({"alg": "none", "kid": "1"})), part(json!({"sub": "ann"}))];
        assert!(matches!(keys.verify::<Value>(&format!("{}.", unsigned.join("."))), Verified::No));
        let public = BASE64.decode(ours.public["x"].as_str().unwrap()).unwrap();
        let header = Header { kid: Some("1".to_owned()), ..Header::new(Algorithm::HS256) };
        let secret = EncodingKey::from_secret(&public);
        let forged = jsonwebtoken::encode(&header, &json!({"sub": "ann"}), &secret).unwrap();
        assert!(matches!(keys.verify::<Value>(&forged), Verified::No));
        let mut changed = ours.sign("1");
        let at = changed.rfind('.').unwrap();
        changed.replace_range(at - 2..at, "xx");
        assert!(matches!(keys.verify::<Value>(&changed), Verified::No));
    }

    #[test]
    fn keys_are_read_again_when_they_are_old_but_not_at_every_unknown_name() {
        let mut keys = keys(&[&signer("1")]);
        let now = Instant::now() + Duration::from_secs(1);
        assert!(keys.ask(now) && !keys.ask(now));
        assert!(keys.ask(now + PAUSE));
        assert!(!keys.are_old(now, Duration::from_secs(60)));
        assert!(keys.are_old(now + Duration::from_secs(60), Duration::from_secs(60)));
    }
}
