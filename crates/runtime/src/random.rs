//! Randomness for identifiers, keys and salts. All randomness comes from here, as the time comes from a
//! [`Clock`](crate::Clock), so that it can be made reproducible in one place.
#![expect(clippy::disallowed_methods, reason = "this is what others use instead")]

use rand::CryptoRng;
use uuid::Uuid;

/// Returns a random UUID (version 4).
#[must_use]
pub fn uuid() -> Uuid {
    Uuid::new_v4()
}

/// Returns a UUID that begins with the time (version 7), so that later ones sort after earlier ones.
#[must_use]
pub fn time_ordered_uuid() -> Uuid {
    Uuid::now_v7()
}

/// Returns a cryptographically secure generator.
#[must_use]
pub fn generator() -> impl CryptoRng {
    rand::rng()
}
