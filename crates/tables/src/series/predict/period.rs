//! The period of a series, if it has one: the shortest lag at which the autocorrelation has one of its
//! highest peaks.

use crate::analysis::statistics::number;

/// Maximum number of values, the last ones, that are used. The cost is quadratic: 6 million products for this
/// number.
const LOOKED_AT: usize = 4_000;
/// Minimum autocorrelation at a period.
const LEAST: f64 = 0.3;
/// A shorter period is preferred if its autocorrelation is at least this share of the maximum: a periodic
/// series correlates with itself after two periods as much as after one.
const NEARLY: f64 = 0.9;

/// Returns the number of rows after which the series, without its linear trend, repeats; `None` if it does
/// not.
pub(crate) fn of(numbers: &[Option<f64>]) -> Option<usize> {
    let numbers = &numbers[numbers.len().saturating_sub(LOOKED_AT)..];
    let flat = without_trend(numbers)?;
    let variance: f64 = flat.iter().map(|number| number * number).sum();
    // A constant, or a line, has no period; its residuals are only rounding errors.
    if variance <= f64::EPSILON * number(flat.len()) {
        return None;
    }
    // The series must contain at least two periods.
    let longest = flat.len() / 2;
    // The biased autocorrelation: the sum is always divided by the variance of the whole series, not by the
    // number of products. A long lag has few products, whose mean is more often high by chance.
    let alike = |lag: usize| {
        let products = flat.iter().zip(&flat[lag..]).map(|(one, two)| one * two);
        products.sum::<f64>() / variance
    };
    let correlations: Vec<f64> = (0..=longest).map(alike).collect();
    let peak = |lag: &usize| {
        let here = correlations[*lag];
        // Lag 1 is not a period; lag 2 is one only if its correlation exceeds that of lag 1, which is not the
        // case in a smooth series.
        let before = *lag <= 2 || correlations[lag - 1] <= here;
        let behind = correlations.get(lag + 1).is_none_or(|next| *next < here);
        here >= LEAST && before && behind && (*lag > 2 || correlations[1] < here)
    };
    let peaks: Vec<usize> = (2..=longest).filter(peak).collect();
    let best = peaks.iter().map(|lag| correlations[*lag]).fold(0.0, f64::max);
    // The first, not the greatest: multiples of the period are peaks, too.
    peaks.into_iter().find(|lag| correlations[*lag] >= NEARLY * best)
}

/// Returns the residuals of the linear regression. Missing values become 0, the mean, and so add nothing to
/// the products. `None` for fewer than 4 values.
fn without_trend(numbers: &[Option<f64>]) -> Option<Vec<f64>> {
    let place = number;
    let known: Vec<(f64, f64)> = numbers
        .iter()
        .enumerate()
        .filter_map(|(row, number)| Some((place(row), (*number)?)))
        .collect();
    let count = place(known.len());
    let (x, y) = known.iter().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
    let (x, y) = (x / count, y / count);
    let products: f64 = known.iter().map(|(row, number)| (row - x) * (number - y)).sum();
    let squares: f64 = known.iter().map(|(row, _)| (row - x).powi(2)).sum();
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    let flat = |(row, number): (usize, &Option<f64>)| {
        number.map_or(0.0, |number| number - y - slope * (place(row) - x))
    };
    (known.len() >= 4).then(|| numbers.iter().enumerate().map(flat).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_found_in_spite_of_a_trend() {
        let pattern = [0.0, 3.0, 9.0, 4.0, 1.0, 0.0, 2.0];
        let value = |row: usize| pattern[row % 7] + number(row);
        let numbers: Vec<Option<f64>> = (0..70).map(|row| Some(value(row))).collect();
        assert_eq!(of(&numbers), Some(7));
    }

    #[test]
    fn a_line_or_a_constant_has_none() {
        let line: Vec<Option<f64>> = (0..50).map(|row| Some(f64::from(row) * 2.0)).collect();
        assert_eq!(of(&line), None);
        assert_eq!(of(&[Some(4.0); 30]), None);
        assert_eq!(of(&[]), None);
    }
}
