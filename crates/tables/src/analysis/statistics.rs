//! Statistics of numbers.

/// Returns the quantile of sorted numbers, interpolated between neighbours.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    let part = place - below as f64;
    Some(sorted[below] + part * (sorted[above] - sorted[below]))
}

/// Returns the mean and the standard deviation of a sample.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn moments(numbers: &[f64]) -> Option<(f64, f64)> {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let deviation = if numbers.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    (!numbers.is_empty()).then_some((mean, deviation))
}

/// Converts a count to a floating-point number.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), Some(1.75));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 1.0), Some(4.0));
        assert_eq!(quantile(&[7.0], 0.5), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(moments(&[1.0, 3.0]), Some((2.0, 2.0_f64.sqrt())));
        assert_eq!(moments(&[5.0]), Some((5.0, 0.0)));
        assert_eq!(moments(&[]), None);
    }
}
