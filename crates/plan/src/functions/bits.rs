//! `bit_and`, `bit_or`, `bit_xor`, `bit_not`, `bit_shift_left`, `bit_shift_right`.
//!
//! Guarantees: operands are whole numbers from 0 to 2^53 - 1, anything else gives null; results are
//! cut to the same 53 bits.

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::Row;
use crate::expr::kernel::integer;
use crate::functions::{ANY, Function, Invocation, values};

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["bit_and"], (2, ANY), |call| fold("bit_and", call, |one, two| one & two)),
    values(&["bit_or"], (2, ANY), |call| fold("bit_or", call, |one, two| one | two)),
    values(&["bit_xor"], (2, ANY), |call| fold("bit_xor", call, |one, two| one ^ two)),
    values(&["bit_not"], (1, 2), not),
    values(&["bit_shift_left"], (2, 2), |call| {
        shift("bit_shift_left", call, |bits, by| bits << by)
    }),
    values(&["bit_shift_right"], (2, 2), |call| {
        shift("bit_shift_right", call, |bits, by| bits >> by)
    }),
];

const WIDTH: i64 = 53;
const ALL: i64 = (1 << WIDTH) - 1;

/// An argument as bits.
#[allow(clippy::cast_possible_truncation)]
fn bits(row: Row<'_>, at: usize) -> Option<i64> {
    let number = row.number(at)?;
    let whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&number);
    whole.then_some(number as i64)
}

fn fold(
    name: &'static str,
    call: Invocation<'_>,
    combine: fn(i64, i64) -> i64,
) -> Result<Typed, Error> {
    let function = integer(name, move |row| {
        let mut result = bits(row, 0)?;
        for at in 1..row.arguments.len() {
            result = combine(result, bits(row, at)?);
        }
        Some(result)
    });
    Ok(function.call(call.arguments))
}

fn not(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = integer("bit_not", |row| {
        let mask = if row.arguments.len() > 1 { bits(row, 1)? } else { ALL };
        Some(!bits(row, 0)? & ALL & mask)
    });
    Ok(function.call(call.arguments))
}

fn shift(
    name: &'static str,
    call: Invocation<'_>,
    by: fn(i64, i64) -> i64,
) -> Result<Typed, Error> {
    let function = integer(name, move |row| {
        let (value, places) = (bits(row, 0)?, bits(row, 1)?);
        // The bits that leave to the left must not come back as a sign.
        let kept = if places < WIDTH { value & (ALL >> places.min(WIDTH)) } else { 0 };
        let value = if name == "bit_shift_left" { kept } else { value };
        Some(if places < WIDTH { by(value, places) & ALL } else { 0 })
    });
    Ok(function.call(call.arguments))
}
