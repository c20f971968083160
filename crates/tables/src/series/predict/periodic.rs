//! LLP: each position in a period has its own level, which changes by a random step from period to period.
//!
//! Each position is an LL Kalman filter over the rows at that position ([`level`](super::level) has the
//! equations and names), so Q is the variance of a step per period, not per row. All positions share the
//! ratio Q / R.

use super::Forecast;
use super::level::Errors;
use super::search::best_ratio;

/// Returns the forecast of LLP with the ratio Q / R of the maximum likelihood.
pub(super) fn seasons(numbers: &[Option<f64>], period: usize, ahead: usize) -> Forecast {
    let ratio = best_ratio(|ratio| filter(numbers, period, 0, ratio).1.likelihood());
    let (mut forecast, errors) = filter(numbers, period, ahead, ratio);
    forecast.variances.iter_mut().for_each(|variance| *variance *= errors.scale());
    forecast
}

/// Returns the forecast, with variances in units of R.
fn filter(numbers: &[Option<f64>], period: usize, ahead: usize, ratio: f64) -> (Forecast, Errors) {
    let rows = numbers.len() + ahead;
    let mut forecast = Forecast::default();
    let mut errors = Errors::default();
    // x and P of each position.
    let mut levels: Vec<Option<(f64, f64)>> = vec![None; period];
    let (mut sum, mut count) = (0.0, 0.0);
    for row in 0..rows {
        let number = numbers.get(row).copied().flatten();
        let place = &mut levels[row % period];
        let Some((level, variance)) = *place else {
            // There is no earlier value at this position: the mean of the first values of the other positions
            // is the forecast. As in LL, the first value gives x = y and P = R, and its innovation does not
            // count.
            let mean = if count > 0.0 { sum / count } else { number.unwrap_or_default() };
            forecast.means.push(mean);
            // S = P + Q + R with P = R, as after a single value.
            forecast.variances.push(2.0 + ratio);
            *place = number.map(|number| (number, 1.0));
            sum += number.unwrap_or_default();
            count += f64::from(number.is_some());
            continue;
        };
        // P' = P + Q; the variance of the innovation is S = P' + R.
        let before = variance + ratio;
        forecast.means.push(level);
        forecast.variances.push(before + 1.0);
        *place = Some(match number {
            Some(number) => {
                errors.add(number - level, before + 1.0);
                // K = P' / S; x = x' + K v; P = (1 - K) P'.
                let gain = before / (before + 1.0);
                (level + gain * (number - level), before * (1.0 - gain))
            }
            None => (level, before),
        });
    }
    (forecast, errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_goes_on() {
        let pattern = [1.0, 5.0, 2.0];
        let numbers: Vec<Option<f64>> = (0..12).map(|row| Some(pattern[row % 3])).collect();
        let found = seasons(&numbers, 3, 4);
        assert_eq!(found.means[12..], [1.0, 5.0, 2.0, 1.0]);
        assert!(found.variances[12..].iter().all(|variance| *variance < 1e-9));
    }
}
