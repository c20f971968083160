//! `round(x)` and `round(x, digits)`.

use super::{Call, Decimals, Function, Preparation, number, plain, refuse};
use crate::value::rounded;

pub(super) const FUNCTIONS: &[Function] = &[plain("round", round)];

#[allow(clippy::cast_possible_truncation)]
fn round(call: &Call<'_>) -> Preparation {
    let decimals = match call.number(1) {
        Some(digits) if digits < 0.0 => {
            return refuse(1, "round() cannot round to less than 0 decimals");
        }
        Some(digits) if digits >= 1.0 => Decimals::Fixed(digits as i64),
        None if call.len() > 1 => Decimals::Argument(1),
        _ => Decimals::AsNeeded,
    };
    let kernel = number(|row| {
        let number = row.number(0)?;
        let digits = if row.len() > 1 { row.value(1).whole()? } else { 0 };
        (digits >= 0).then(|| rounded(number, digits))
    });
    Ok(kernel.decimals(decimals))
}
