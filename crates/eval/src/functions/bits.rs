//! `bit_and`, `bit_or`, `bit_xor`, `bit_not`, `bit_shift_left`, `bit_shift_right`.
//!
//! Guarantees: operands are whole numbers from 0 to 2^53 - 1, any other operand gives null; results are
//! truncated to 53 bits.

use super::{Function, Preparation, integer, plain};
use crate::Row;

pub(super) const FUNCTIONS: &[Function] = &[
    plain("bit_and", |_| fold(|one, two| one & two)),
    plain("bit_or", |_| fold(|one, two| one | two)),
    plain("bit_xor", |_| fold(|one, two| one ^ two)),
    plain("bit_not", |_| Ok(integer(not))),
    plain("bit_shift_left", |_| {
        // Bits shifted out on the left must not reach the sign bit.
        shift(|bits, by| (bits & (ALL >> by)) << by)
    }),
    plain("bit_shift_right", |_| shift(|bits, by| bits >> by)),
];

const WIDTH: i64 = 53;
const ALL: i64 = (1 << WIDTH) - 1;

/// Returns an argument as bits.
#[allow(clippy::cast_possible_truncation)]
fn bits(row: Row<'_>, at: usize) -> Option<i64> {
    let number = row.number(at)?;
    let whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&number);
    whole.then_some(number as i64)
}

fn fold(combine: fn(i64, i64) -> i64) -> Preparation {
    let kernel = move |row: Row<'_>| {
        let mut result = bits(row, 0)?;
        for at in 1..row.len() {
            result = combine(result, bits(row, at)?);
        }
        Some(result)
    };
    Ok(integer(kernel))
}

fn not(row: Row<'_>) -> Option<i64> {
    let mask = if row.len() > 1 { bits(row, 1)? } else { ALL };
    Some(!bits(row, 0)? & ALL & mask)
}

fn shift(by: fn(i64, i64) -> i64) -> Preparation {
    let kernel = move |row: Row<'_>| {
        let (value, places) = (bits(row, 0)?, bits(row, 1)?);
        Some(if places < WIDTH { by(value, places) & ALL } else { 0 })
    };
    Ok(integer(kernel))
}
