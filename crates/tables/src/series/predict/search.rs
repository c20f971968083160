//! Maximizes a function (the likelihood of a filter) over one or two positive ratios of variances.
//!
//! The search is over logarithms, first on a grid and then with repeatedly halved steps. It needs no
//! derivative, and its number of evaluations is constant: 71 for one ratio and 382 for two.

/// Bounds of the natural logarithm of a ratio Q / R: from 8e-7 (the level hardly moves) to 3,000 (the level
/// follows every value).
const BOUNDS: (f64, f64) = (-14.0, 8.0);
/// Number of grid points for one ratio; within [`BOUNDS`], their distance is 1.
const PLACES: u32 = 23;
/// Number of times that the step around the best point is halved.
const STEPS: u32 = 24;

/// Returns the ratio that maximizes a function.
pub(super) fn best_ratio(value: impl Fn(f64) -> f64) -> f64 {
    best(|logarithm| value(logarithm.exp()), BOUNDS, PLACES).exp()
}

/// Returns the two ratios that maximize a function: the best point of a grid of both, then three rounds of
/// improving each ratio while the other one is fixed (coordinate ascent).
pub(super) fn best_ratios(value: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let mut found = (f64::NEG_INFINITY, 0.0, 0.0);
    for one in places(BOUNDS, 8) {
        for two in places(BOUNDS, 8) {
            let here = value(one.exp(), two.exp());
            if here > found.0 {
                found = (here, one, two);
            }
        }
    }
    let (_, mut one, mut two) = found;
    for _ in 0..3 {
        // The distance of the grid points is 3.1, so this reaches to the neighbours.
        let around = |place: f64| (place - 3.0, place + 3.0);
        one = best(|place| value(place.exp(), two.exp()), around(one), 5);
        two = best(|place| value(one.exp(), place.exp()), around(two), 5);
    }
    (one.exp(), two.exp())
}

/// Returns equidistant points, including both bounds.
fn places((from, to): (f64, f64), count: u32) -> impl Iterator<Item = f64> {
    let step = (to - from) / f64::from(count.max(2) - 1);
    (0..count).map(move |at| from + f64::from(at) * step)
}

/// Maximizes a function within bounds: takes the best of `count` grid points, then repeatedly halves the step
/// and moves to a neighbour if that is better. The grid comes first because the likelihood may have several
/// local maxima.
fn best(value: impl Fn(f64) -> f64, bounds: (f64, f64), count: u32) -> f64 {
    let mut found = (f64::NEG_INFINITY, bounds.0);
    for place in places(bounds, count) {
        let here = value(place);
        if here > found.0 {
            found = (here, place);
        }
    }
    let mut width = (bounds.1 - bounds.0) / f64::from(count.max(2) - 1);
    for _ in 0..STEPS {
        width /= 2.0;
        for place in [found.1 - width, found.1 + width] {
            let here = value(place);
            if here > found.0 {
                found = (here, place);
            }
        }
    }
    found.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_value_is_found() {
        let found = best_ratio(|ratio| -(ratio.ln() - 1.25).powi(2));
        assert!((found.ln() - 1.25).abs() < 1e-5);
        let (one, two) =
            best_ratios(|one, two| -(one.ln() + 2.0).powi(2) - (two.ln() - 3.0).powi(2));
        assert!((one.ln() + 2.0).abs() < 1e-5 && (two.ln() - 3.0).abs() < 1e-5);
    }
}
