//! Randomness: identifiers, keys, salts. All of it comes from here, as the time comes from a
//! [`Clock`](crate::Clock), so that there is one place to make it repeatable.
#![expect(clippy::disallowed_methods, reason = "this is what others use instead")]

use rand::CryptoRng;
use uuid::Uuid;

/// A random UUID (version 4).
#[must_use]
pub fn uuid() -> Uuid {
    Uuid::new_v4()
}

/// A UUID that begins with the time (version 7): later ones sort after earlier ones.
#[must_use]
pub fn time_ordered_uuid() -> Uuid {
    Uuid::now_v7()
}

/// A generator that is fit for secrets.
#[must_use]
pub fn generator() -> impl CryptoRng {
    rand::rng()
}
