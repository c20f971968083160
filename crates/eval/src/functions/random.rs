//! `random()`: a whole number from 0 to 2^31 - 1.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Function, Preparation, integer, plain};

pub(super) const FUNCTIONS: &[Function] = &[plain("random", |_| random())];

fn random() -> Preparation {
    // A keyed hash of a counter is random enough for events, and needs no generator shared by threads.
    let key = RandomState::new();
    let counter = AtomicU64::new(0);
    let next = move || key.hash_one(counter.fetch_add(1, Ordering::Relaxed)) & 0x7FFF_FFFF;
    Ok(integer(move |_| i64::try_from(next()).ok()).volatile())
}
