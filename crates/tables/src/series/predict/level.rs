//! LL and LLT: a level, or a level and a trend, that change by random steps (Kalman filters).
//!
//! Model: a value is the level plus noise of variance R; from row to row, the state changes by its transition
//! T and by steps of covariance Q. The quantities of the filter and their names here; x' and P' are the
//! values of a row before its observation y is processed:
//!
//! | | quantity | LL: one number | LLT: level and trend |
//! | --- | --- | --- | --- |
//! | x | state | `level` | `state` |
//! | P | covariance of the state | `variance` | `known` = (P00, P01, P11) |
//! | P' = T P T^t + Q | predicted covariance | `before` | `known` after the transition |
//! | Q | process noise | `ratio` | `level`, `slope` |
//! | R | observation noise | 1 | 1 |
//! | v = y - H x' | innovation | `number - level` | `error` |
//! | S = H P' H^t + R | variance of the innovation | `before + 1.0` | `factor` |
//! | K = P' H^t / S | gain | `gain` | `gains` |
//!
//! Then x = x' + K v and P = P' - K H P'. All variances are in units of R, which cancels out of these
//! equations, so Q is a ratio, chosen by maximum likelihood. R follows from the innovations
//! ([`Errors::scale`]).

use super::Forecast;
use super::search::{best_ratio, best_ratios};

/// Maximum number of values, the last ones, from which ratios are estimated: the estimation filters them 71
/// times for one ratio and 382 times for two (see `search`).
const LEARNT: usize = 10_000;

/// The output of a filter: for each row, the expected value x' and the innovation variance S, in units of R;
/// and the likelihood of the values.
struct Filtered {
    means: Vec<f64>,
    factors: Vec<f64>,
    /// R, the variance that corresponds to a factor of 1.
    scale: f64,
    likelihood: f64,
}

impl Filtered {
    fn forecast(self) -> Forecast {
        let variances = self.factors.iter().map(|factor| factor * self.scale).collect();
        Forecast { means: self.means, variances }
    }
}

/// Sums over innovations: v^2 / S, ln S, and their number.
#[derive(Default)]
pub(super) struct Errors {
    squares: f64,
    logarithms: f64,
    count: f64,
}

impl Errors {
    pub(super) fn add(&mut self, error: f64, factor: f64) {
        self.squares += error * error / factor;
        self.logarithms += factor.ln();
        self.count += 1.0;
    }

    /// The estimate of R, which maximises the likelihood for given ratios: the mean of v^2 / S.
    pub(super) fn scale(&self) -> f64 {
        if self.count > 0.0 { self.squares / self.count } else { 0.0 }
    }

    /// The logarithm of the likelihood at that R, up to a constant: -(n ln R + sum of ln S) / 2.
    pub(super) fn likelihood(&self) -> f64 {
        // A series that is forecast without any error has R = 0.
        -0.5 * (self.count * (self.scale() + f64::MIN_POSITIVE).ln() + self.logarithms)
    }
}

fn tail(numbers: &[Option<f64>]) -> &[Option<f64>] {
    &numbers[numbers.len().saturating_sub(LEARNT)..]
}

fn first(numbers: &[Option<f64>]) -> f64 {
    numbers.iter().flatten().next().copied().unwrap_or_default()
}

/// LL: the level changes by random steps only.
pub(super) fn level(numbers: &[Option<f64>], ahead: usize) -> Forecast {
    let learnt = tail(numbers);
    let ratio = best_ratio(|ratio| filter_level(learnt, 0, ratio).likelihood);
    filter_level(numbers, ahead, ratio).forecast()
}

fn filter_level(numbers: &[Option<f64>], ahead: usize, ratio: f64) -> Filtered {
    let rows = numbers.len() + ahead;
    let (mut means, mut factors) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut errors = Errors::default();
    let (mut level, mut variance) = (first(numbers), 1.0);
    let mut seen = false;
    for row in 0..rows {
        let before = variance + ratio;
        means.push(level);
        factors.push(before + 1.0);
        let Some(number) = numbers.get(row).copied().flatten() else {
            // Without an innovation P' becomes P: it grows by Q per row.
            variance = if seen { before } else { variance };
            continue;
        };
        if !seen {
            // Nothing is known before the first value (P' is infinite): K = 1, so x = y and P = R. The
            // variance of its innovation is infinite for every ratio, so it does not count.
            seen = true;
            (level, variance) = (number, 1.0);
            continue;
        }
        errors.add(number - level, before + 1.0);
        // K = P' / S; x = x' + K v; P = (1 - K) P'.
        let gain = before / (before + 1.0);
        level += gain * (number - level);
        variance = before * (1.0 - gain);
    }
    Filtered { means, factors, scale: errors.scale(), likelihood: errors.likelihood() }
}

/// LLT: the level grows by the trend, and both change by random steps.
pub(super) fn trend(numbers: &[Option<f64>], ahead: usize) -> Forecast {
    let learnt = tail(numbers);
    let (level, slope) =
        best_ratios(|level, slope| filter_trend(learnt, 0, level, slope).likelihood);
    filter_trend(numbers, ahead, level, slope).forecast()
}

/// The initial variance of level and trend, in units of R: so large that the first values determine the state
/// (a diffuse prior).
const DIFFUSE: f64 = 1e7;

fn filter_trend(numbers: &[Option<f64>], ahead: usize, level: f64, slope: f64) -> Filtered {
    let rows = numbers.len() + ahead;
    let (mut means, mut factors) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut errors = Errors::default();
    let start = first(numbers);
    // x, and P as (P00, P01, P11).
    let mut state = (start, 0.0);
    let mut known = (DIFFUSE, 0.0, DIFFUSE);
    let mut seen = 0_u32;
    for row in 0..rows {
        if row > 0 {
            // T = [[1, 1], [0, 1]]: the trend is added to the level. P' = T P T^t + Q with Q = diag(level,
            // slope).
            let (a, b, c) = known;
            state.0 += state.1;
            known = (a + 2.0 * b + c + level, b + c, c + slope);
        }
        let factor = known.0 + 1.0;
        // Two values determine level and trend. Before, the first value is the forecast with S = 2 R, as if
        // P' were R, and innovations do not count: their variance is that of the diffuse prior.
        means.push(if seen < 2 { start } else { state.0 });
        factors.push(if seen < 2 { 2.0 } else { factor });
        let Some(number) = numbers.get(row).copied().flatten() else { continue };
        let error = number - state.0;
        if seen >= 2 {
            errors.add(error, factor);
        }
        seen += 1;
        // H = (1, 0): K = (P'00, P'01) / S; x = x' + K v; P = P' - K H P'.
        let (a, b, c) = known;
        let gains = (a / factor, b / factor);
        state = (state.0 + gains.0 * error, state.1 + gains.1 * error);
        known = (a - gains.0 * a, b - gains.0 * b, c - gains.1 * b);
    }
    Filtered { means, factors, scale: errors.scale(), likelihood: errors.likelihood() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(numbers: &[f64]) -> Vec<Option<f64>> {
        numbers.iter().copied().map(Some).collect()
    }

    #[test]
    fn a_constant_stays_constant_and_certain() {
        let found = level(&series(&[5.0; 6]), 3);
        assert_eq!(found.means, [5.0; 9]);
        assert!(found.variances.iter().all(|variance| *variance < 1e-9));
    }

    #[test]
    fn a_line_goes_on() {
        let numbers: Vec<f64> = (0..20).map(|row| 3.0 + 2.0 * f64::from(row)).collect();
        let found = trend(&series(&numbers), 3);
        let expected = [43.0, 45.0, 47.0];
        for (mean, expected) in found.means[20..].iter().zip(expected) {
            assert!((mean - expected).abs() < 1e-2, "{mean}");
        }
    }

    #[test]
    fn uncertainty_grows_with_distance() {
        let numbers = series(&[3.0, 5.0, 2.0, 6.0, 8.0, 5.0, 9.0, 7.0]);
        for found in [level(&numbers, 4), trend(&numbers, 4)] {
            assert!(found.variances[8..].is_sorted());
            assert!(found.variances[8] > 0.0);
        }
    }

    #[test]
    fn missing_values_are_forecast_too() {
        let mut numbers = series(&[4.0; 8]);
        numbers[3] = None;
        assert_eq!(level(&numbers, 0).means.len(), 8);
        assert!((level(&numbers, 0).means[3] - 4.0).abs() < 1e-9);
    }
}
