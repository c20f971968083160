//! LLB and BiLL: two levels that change by correlated random steps (a Kalman filter with two states).
//!
//! Model: the values of a row are the levels x plus noise of covariance R; the levels change from row to row
//! by steps of covariance Q. In the code `level` is x, `known` P, `noise` R, `steps` Q, `total` the
//! covariance of the innovation S = P' + R, `error` the innovation v = y - x', `gain` K = P' S^-1. Then
//! x = x' + K v and P = P' - K P'. The symbols are those of [`level`](super::level), but no variance is
//! relative.
//!
//! R and Q are estimated from the differences d of successive rows: the noise of a row appears in two
//! successive differences with opposite signs, a step appears in only one. So `E[d(t) d(t-1)^t] = -R` and
//! `E[d(t) d(t)^t] = Q + 2 R`.

use super::Forecast;

/// A symmetric matrix of two rows: variance, covariance, variance.
type Matrix = (f64, f64, f64);

/// BiLL: forecasts both series from the past values of both.
pub(super) fn together(one: &[Option<f64>], two: &[Option<f64>], ahead: usize) -> [Forecast; 2] {
    let mut filter = Filter::new(one, two);
    let mut found = [Forecast::default(), Forecast::default()];
    for row in 0..one.len() + ahead {
        filter.step(row > 0);
        let noise = filter.noise;
        let state = (filter.level, filter.known);
        push(&mut found[0], state.0.0, state.1.0 + noise.0);
        push(&mut found[1], state.0.1, state.1.2 + noise.2);
        filter.see(one.get(row).copied().flatten(), two.get(row).copied().flatten());
    }
    found
}

/// LLB: forecasts a series from its past values and from the current value of another series.
pub(super) fn from_other(one: &[Option<f64>], other: &[Option<f64>]) -> Forecast {
    let mut filter = Filter::new(one, other);
    let mut found = Forecast::default();
    for (row, beside) in other.iter().copied().enumerate() {
        filter.step(row > 0);
        let number = one.get(row).copied().flatten();
        // Steps and noise of both series are correlated, so the current value of the other series improves
        // the forecast.
        let (mean, variance) = filter.given_other(beside);
        push(&mut found, mean, variance);
        filter.see(number, beside);
    }
    found
}

fn push(forecast: &mut Forecast, mean: f64, variance: f64) {
    forecast.means.push(mean);
    forecast.variances.push(variance.max(0.0));
}

struct Filter {
    level: (f64, f64),
    known: Matrix,
    noise: Matrix,
    steps: Matrix,
}

impl Filter {
    fn new(one: &[Option<f64>], two: &[Option<f64>]) -> Self {
        let first = |series: &[Option<f64>]| series.iter().flatten().next().copied();
        let (noise, steps) = covariances(one, two);
        // x starts at the first values, and P at R + Q, the uncertainty that a value one row earlier would
        // leave.
        let known = (noise.0 + steps.0, noise.1 + steps.1, noise.2 + steps.2);
        let level = (first(one).unwrap_or_default(), first(two).unwrap_or_default());
        Self { level, known, noise, steps }
    }

    /// Predicts the state of the next row: P' = P + Q. No step precedes the first row.
    fn step(&mut self, moved: bool) {
        if moved {
            self.known.0 += self.steps.0;
            self.known.1 += self.steps.1;
            self.known.2 += self.steps.2;
        }
    }

    /// Returns S, the covariance of the innovation.
    fn total(&self) -> Matrix {
        let ((a, b, c), (d, e, f)) = (self.known, self.noise);
        (a + d, b + e, c + f)
    }

    /// Returns the mean and the variance of the first value, given the second: x1 + S12 / S22 v2 and
    /// S11 - S12^2 / S22, the conditional distribution of a bivariate normal distribution.
    fn given_other(&self, beside: Option<f64>) -> (f64, f64) {
        let (a, b, c) = self.total();
        match beside {
            Some(beside) if c > 0.0 => {
                (self.level.0 + b / c * (beside - self.level.1), a - b * b / c)
            }
            _ => (self.level.0, a),
        }
    }

    /// Updates x and P with the values of a row. If one is missing, H selects the other, and S is a scalar.
    fn see(&mut self, one: Option<f64>, two: Option<f64>) {
        // S and P'.
        let (a, b, c) = self.total();
        let (p, q, r) = self.known;
        match (one, two) {
            (Some(one), Some(two)) => {
                let determinant = a * c - b * b;
                if determinant <= f64::EPSILON * a * c {
                    return self.see_one(one, two);
                }
                let inverse = (c / determinant, -b / determinant, a / determinant);
                // K = P' S^-1.
                let gain = [
                    [p * inverse.0 + q * inverse.1, p * inverse.1 + q * inverse.2],
                    [q * inverse.0 + r * inverse.1, q * inverse.1 + r * inverse.2],
                ];
                let error = (one - self.level.0, two - self.level.1);
                self.level.0 += gain[0][0] * error.0 + gain[0][1] * error.1;
                self.level.1 += gain[1][0] * error.0 + gain[1][1] * error.1;
                self.known = (
                    p - gain[0][0] * p - gain[0][1] * q,
                    q - gain[0][0] * q - gain[0][1] * r,
                    r - gain[1][0] * q - gain[1][1] * r,
                );
            }
            (Some(one), None) if a > 0.0 => {
                let error = one - self.level.0;
                self.level = (self.level.0 + p / a * error, self.level.1 + q / a * error);
                self.known = (p - p * p / a, q - p * q / a, r - q * q / a);
            }
            (None, Some(two)) if c > 0.0 => {
                let error = two - self.level.1;
                self.level = (self.level.0 + q / c * error, self.level.1 + r / c * error);
                self.known = (p - q * q / c, q - q * r / c, r - r * r / c);
            }
            // No value, or an innovation variance of 0: there is nothing to learn, and P stays P'.
            _ => {}
        }
    }

    /// Updates the state if S is singular and K does not exist: both values become the levels, and P is 0.
    fn see_one(&mut self, one: f64, two: f64) {
        self.level = (one, two);
        self.known = (0.0, 0.0, 0.0);
    }
}

/// Estimates R and Q.
fn covariances(one: &[Option<f64>], two: &[Option<f64>]) -> (Matrix, Matrix) {
    let rows: Vec<Option<(f64, f64)>> = one.iter().zip(two).map(|(a, b)| a.zip(*b)).collect();
    let differences: Vec<Option<(f64, f64)>> = rows
        .windows(2)
        .map(|pair| match pair {
            [Some(before), Some(now)] => Some((now.0 - before.0, now.1 - before.1)),
            _ => None,
        })
        .collect();
    // Pairs with a missing value are not in the mean, so gaps do not distort the moments.
    let mean = |pairs: &mut dyn Iterator<Item = ((f64, f64), (f64, f64))>| {
        let (mut sum, mut count) = ((0.0, 0.0, 0.0), 0.0);
        for (now, before) in pairs {
            sum.0 += now.0 * before.0;
            sum.1 += (now.0 * before.1 + now.1 * before.0) / 2.0;
            sum.2 += now.1 * before.1;
            count += 1.0;
        }
        let count = f64::max(count, 1.0);
        (sum.0 / count, sum.1 / count, sum.2 / count)
    };
    // The moments `E[d(t) d(t)^t]` and, made symmetric, `E[d(t) d(t-1)^t]`.
    let same = mean(&mut differences.iter().flatten().map(|one| (*one, *one)));
    let next = mean(&mut differences.windows(2).filter_map(|pair| pair[1].zip(pair[0])));
    let noise = valid((-next.0, -next.1, -next.2));
    let steps = (same.0 - 2.0 * noise.0, same.1 - 2.0 * noise.1, same.2 - 2.0 * noise.2);
    let steps = valid(steps);
    // With R = 0, K would be 1, and every value would replace the level. So R has a lower limit.
    let least = |total: f64| 1e-6 * total;
    ((noise.0 + least(same.0), noise.1, noise.2 + least(same.2)), steps)
}

/// Makes a matrix a valid covariance matrix: moments of few rows may give negative variances, or a
/// correlation beyond 1. The limit of 0.999 keeps S invertible.
fn valid((a, b, c): Matrix) -> Matrix {
    let (a, c) = (a.max(0.0), c.max(0.0));
    let most = (a * c).sqrt() * 0.999;
    (a, b.clamp(-most, most), c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(factor: f64) -> Vec<Option<f64>> {
        let mut level = 0.0;
        let mut state = 7_u32;
        let next = move |_| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            level += f64::from(state >> 16 & 15) - 7.5;
            Some(level * factor)
        };
        (0..60).map(next).collect()
    }

    #[test]
    fn a_series_follows_from_one_that_moves_alike() {
        let (known, other) = (steps(1.0), steps(2.0));
        let found = from_other(&known[..50], &other);
        assert_eq!(found.means.len(), 60);
        for (row, expected) in known.iter().enumerate().take(60).skip(50) {
            let expected = expected.unwrap_or_default();
            assert!((found.means[row] - expected).abs() < 5.0, "{row}: {}", found.means[row]);
        }
    }

    #[test]
    fn constants_stay_constant() {
        let [one, two] = together(&[Some(3.0); 5], &[Some(4.0); 5], 2);
        assert_eq!(one.means, [3.0; 7]);
        assert_eq!(two.means, [4.0; 7]);
    }
}
