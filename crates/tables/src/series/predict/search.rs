//! Maximises a function, the likelihood of a filter, over one or two positive ratios of variances.
//!
//! The search is over logarithms, by a grid and then by halving steps: no derivative, and always as many
//! evaluations, 71 for one ratio and 382 for two.

/// Bounds of the natural logarithm of a ratio Q / R: from 8e-7, a level that hardly moves, to 3,000, a level
/// that follows every value.
const BOUNDS: (f64, f64) = (-14.0, 8.0);
/// Places of the grid for one ratio, which are 1 apart within [`BOUNDS`].
const PLACES: u32 = 23;
/// Halvings around the best place.
const STEPS: u32 = 24;

/// Where a function of a ratio is greatest.
pub(super) fn best_ratio(value: impl Fn(f64) -> f64) -> f64 {
    best(|logarithm| value(logarithm.exp()), BOUNDS, PLACES).exp()
}

/// Where a function of two ratios is greatest: the best place of a grid of both, then three rounds in which
/// each ratio is improved while the other one is kept.
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
        // The grid's places are 3.1 apart.
        let around = |place: f64| (place - 3.0, place + 3.0);
        one = best(|place| value(place.exp(), two.exp()), around(one), 5);
        two = best(|place| value(one.exp(), place.exp()), around(two), 5);
    }
    (one.exp(), two.exp())
}

fn places((from, to): (f64, f64), count: u32) -> impl Iterator<Item = f64> {
    let step = (to - from) / f64::from(count.max(2) - 1);
    (0..count).map(move |at| from + f64::from(at) * step)
}

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
