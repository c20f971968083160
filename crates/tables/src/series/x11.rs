//! Seasonal adjustment of time series. As in the X-11 method, the trend is a moving average over a period,
//! and the detrended series is averaged by season. Both are then computed again from the series without the
//! first estimate of the seasons.

use spl::ast::Field;

use super::predict::period;
use crate::analysis::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation, Steps};
use crate::rows::Rows;

/// Minimum length of a period.
const LEAST: usize = 5;
/// Weights for averaging a season with the same season of neighbouring periods.
const FIRST: &[f64] = &[1.0, 2.0, 3.0, 2.0, 1.0];
const SECOND: &[f64] = &[1.0, 2.0, 3.0, 3.0, 3.0, 2.0, 1.0];

/// The rows with a seasonally adjusted series.
#[derive(Debug)]
pub struct X11 {
    /// The series.
    pub field: Field,
    /// Whether seasons are additive rather than multiplicative.
    pub additive: bool,
    /// The length of a period in rows; detected if absent.
    pub period: Option<u64>,
    /// Name of the result field; `x11(<field>)` if absent.
    pub target: Option<String>,
}

impl Operation for X11 {
    fn apply(&self, mut rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        if rows.count == 0 {
            return Ok(rows);
        }
        let name = &self.field.node;
        let numbers = rows.numbers(name)?;
        let invalid =
            |reason: String| Err(Error::at(format!("x11: \"{name}\" {reason}"), self.field.span));
        let period = match self.period {
            Some(period) => usize::try_from(period).ok(),
            None => period::of(&numbers).filter(|period| *period >= LEAST),
        };
        let Some(period) = period else {
            return invalid(
                "has no period of at least 5 rows; give one, as in mult7(x)".to_owned(),
            );
        };
        let Some(filled) = filled(&numbers).filter(|filled| filled.len() >= 2 * period) else {
            return invalid(format!("has fewer than two periods of {period}"));
        };
        let adjusted = adjusted(&filled, period, self.additive, &mut context.steps())?;
        let shown = numbers.iter().zip(adjusted);
        let shown = shown.map(|(number, adjusted)| number.map(|_| adjusted));
        let target = self.target.clone().unwrap_or_else(|| format!("x11({name})"));
        rows.set_numbers(&target, shown);
        Ok(rows)
    }
}

/// Interpolates missing numbers; `None` if there is no number.
fn filled(numbers: &[Option<f64>]) -> Option<Vec<f64>> {
    let known: Vec<(usize, f64)> =
        numbers.iter().enumerate().filter_map(|(at, number)| Some((at, (*number)?))).collect();
    let (first, last) = (known.first()?.1, known.last()?.1);
    let mut filled = Vec::with_capacity(numbers.len());
    let mut behind = 0;
    for at in 0..numbers.len() {
        while known.get(behind).is_some_and(|(place, _)| *place < at) {
            behind += 1;
        }
        filled.push(match (behind.checked_sub(1).map(|before| known[before]), known.get(behind)) {
            (_, Some((place, number))) if *place == at => *number,
            (Some((from, one)), Some((to, two))) => {
                one + (two - one) * statistics::number(at - from) / statistics::number(to - from)
            }
            (None, _) => first,
            (_, None) => last,
        });
    }
    Some(filled)
}

fn adjusted(
    series: &[f64],
    period: usize,
    additive: bool,
    steps: &mut Steps,
) -> Result<Vec<f64>, Error> {
    let without = |one: &[f64], other: &[f64]| -> Vec<f64> {
        let pairs = one.iter().zip(other);
        pairs
            .map(|(one, other)| match additive {
                true => one - other,
                false if *other == 0.0 => 1.0,
                false => one / other,
            })
            .collect()
    };
    let seasons = |rest: &[f64], weights: &[f64], steps: &mut Steps| {
        let raw = by_season(rest, period, weights);
        let level = centred(&raw, period, steps)?;
        Ok::<_, Error>(without(&raw, &level))
    };
    let apply = |seasons: &[f64]| -> Vec<f64> {
        let pairs = series.iter().zip(seasons);
        pairs
            .map(|(number, season)| match additive {
                true => number - season,
                false if *season == 0.0 => *number,
                false => number / season,
            })
            .collect()
    };
    let trend = centred(series, period, steps)?;
    let first = apply(&seasons(&without(series, &trend), FIRST, steps)?);
    let trend = centred(&first, (period / 2) | 1, steps)?;
    Ok(apply(&seasons(&without(series, &trend), SECOND, steps)?))
}

/// Computes a moving average over a period, where both ends count half if the period is even. Near the ends
/// of the series, the average of the nearest whole period is used, as the seasons of an incomplete period do
/// not cancel out.
fn centred(series: &[f64], period: usize, steps: &mut Steps) -> Result<Vec<f64>, Error> {
    let half = period / 2;
    let end = if period.is_multiple_of(2) { 0.5 } else { 1.0 };
    let average = |at: usize| {
        // The number of rows times the period may be billions.
        steps.take(period)?;
        let last = (series.len() - 1).saturating_sub(half);
        let at = if half <= last { at.clamp(half, last) } else { at };
        let (from, to) = (at.saturating_sub(half), (at + half).min(series.len() - 1));
        let (mut sum, mut weights) = (0.0, 0.0);
        for (place, number) in series.iter().enumerate().take(to + 1).skip(from) {
            let weight = if place.abs_diff(at) == half && half > 0 { end } else { 1.0 };
            sum += weight * number;
            weights += weight;
        }
        Ok(sum / weights)
    };
    (0..series.len()).map(average).collect()
}

/// Averages each number with those of the same season in neighbouring periods.
fn by_season(rest: &[f64], period: usize, weights: &[f64]) -> Vec<f64> {
    let middle = weights.len() / 2;
    let average = |at: usize| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (step, weight) in weights.iter().enumerate() {
            let place = (at + step * period).checked_sub(middle * period);
            if let Some(number) = place.and_then(|place| rest.get(place)) {
                sum += weight * number;
                total += weight;
            }
        }
        sum / total
    };
    (0..rest.len()).map(average).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SEASON: [f64; 5] = [-2.0, -1.0, 0.0, 1.0, 2.0];

    #[test]
    fn seasons_that_are_added_are_taken_away() {
        let series: Vec<f64> = (0..40).map(|at| 100.0 + SEASON[at % 5]).collect();
        let found = adjusted(&series, 5, true, &mut Steps::default()).unwrap();
        assert!(found.iter().all(|number| (number - 100.0).abs() < 0.5), "{found:?}");
    }

    #[test]
    fn seasons_that_are_factors_are_divided_out() {
        let series: Vec<f64> = (0..40).map(|at| 50.0 * (1.0 + SEASON[at % 5] / 10.0)).collect();
        let found = adjusted(&series, 5, false, &mut Steps::default()).unwrap();
        assert!(found[5..35].iter().all(|number| (number - 50.0).abs() < 1.0), "{found:?}");
    }

    #[test]
    fn missing_numbers_lie_between_their_neighbours() {
        let numbers = [None, Some(2.0), None, None, Some(8.0), None];
        assert_eq!(filled(&numbers), Some(vec![2.0, 2.0, 4.0, 6.0, 8.0, 8.0]));
        assert_eq!(filled(&[None]), None);
    }
}
