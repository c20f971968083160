//! `random()`: a whole number from 0 to 2^31 - 1.

use std::hash::{BuildHasher, RandomState};

use super::{Function, values};
use crate::eval::node::Kind;
use crate::eval::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[values(&["random"], Kind::Number, |_| {
    // Each `RandomState` has other keys, drawn from the system's entropy.
    let bits = RandomState::new().hash_one(0_u8) & 0x7FFF_FFFF;
    Value::Number(u32::try_from(bits).map_or(0.0, f64::from))
})];
