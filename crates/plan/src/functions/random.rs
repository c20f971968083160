//! `random()`: a whole number from 0 to 2^31 - 1.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::Int64Array;

use crate::Error;
use crate::expr::Typed;
use crate::expr::kernel::columns;
use crate::functions::{Function, Invocation, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[values(&["random"], (0, 0), random)];

fn random(_: Invocation<'_>) -> Result<Typed, Error> {
    // A keyed hash of a counter is as random as events need, and needs no generator to be shared.
    let key = RandomState::new();
    let counter = AtomicU64::new(0);
    let function = columns("random", ValueType::Integer, move |_, rows| {
        let next = || key.hash_one(counter.fetch_add(1, Ordering::Relaxed)) & 0x7FFF_FFFF;
        let numbers = (0..rows).map(|_| i64::try_from(next()).unwrap_or_default());
        Ok(std::sync::Arc::new(numbers.collect::<Int64Array>()))
    });
    Ok(function.volatile().call(Vec::new()))
}
