//! Floating-point numbers with twice the digits (double-double arithmetic), for sums that do not depend on
//! the order.
//!
//! Guarantees: the error of a sum is about 2^-104 of the sum of the absolute values, independently of the
//! order and of how the sum is split. Infinities and NaN are preserved. Products below 1e-292, and those of a
//! number above 2^996, have only the precision of a float: their remainder is too small, or their parts are
//! too large. The methods are those of Knuth and Dekker, without fused multiply-add, which is a slow call if
//! the target processor is not known to support it.

/// A number as the nearest float and the remainder; see the module documentation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct LongFloat {
    pub(super) near: f64,
    pub(super) rest: f64,
}

impl From<f64> for LongFloat {
    fn from(near: f64) -> Self {
        Self { near, rest: 0.0 }
    }
}

impl LongFloat {
    fn of(near: f64, rest: f64) -> Self {
        if !near.is_finite() || !rest.is_finite() {
            // The remainder of an infinite sum would be NaN.
            return Self::from(near);
        }
        let sum = near + rest;
        Self { near: sum, rest: rest - (sum - near) }
    }

    /// Returns the exact product of two floats.
    pub(super) fn product(one: f64, two: f64) -> Self {
        let near = one * two;
        let ((high, low), (two_high, two_low)) = (halves(one), halves(two));
        let rest = ((high * two_high - near) + high * two_low + low * two_high) + low * two_low;
        Self::of(near, rest)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let near = self.near + other.near;
        let added = near - self.near;
        let lost = (self.near - (near - added)) + (other.near - added);
        Self::of(near, lost + (self.rest + other.rest))
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(Self { near: -other.near, rest: -other.rest })
    }

    pub(super) fn times(self, factor: f64) -> Self {
        let Self { near, rest } = Self::product(self.near, factor);
        Self::of(near, rest + self.rest * factor)
    }

    pub(super) fn square(self) -> Self {
        let Self { near, rest } = Self::product(self.near, self.near);
        Self::of(near, rest + 2.0 * self.near * self.rest)
    }
}

/// Splits a number into two floats with half of its digits each, whose products are exact.
fn halves(number: f64) -> (f64, f64) {
    /// 2^27 + 1.
    const SPLITTER: f64 = 134_217_729.0;
    let far = SPLITTER * number;
    let high = far - (far - number);
    (high, number - high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_lose_small_numbers() {
        let [large, small] = [1e16, 1.0].map(LongFloat::from);
        assert_eq!(large.plus(small).minus(large), small);
        let tenth = LongFloat::product(0.1, 0.1);
        assert_eq!(tenth.near, 0.1 * 0.1);
        assert_eq!(tenth.minus(LongFloat::from(0.1 * 0.1)).near, tenth.rest);
        assert!(tenth.rest != 0.0);
    }

    #[test]
    fn what_is_infinite_stays_so() {
        let huge = LongFloat::from(1e200);
        assert_eq!(huge.square(), LongFloat::from(f64::INFINITY));
        assert_eq!(huge.plus(LongFloat::from(f64::INFINITY)), LongFloat::from(f64::INFINITY));
        assert_eq!(LongFloat::from(1e305).times(10.0).near, 1e305 * 10.0);
    }
}
