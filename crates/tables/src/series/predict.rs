//! Forecasts of time series. The models are Kalman filters over a hidden state: `level` has those with a
//! level and a trend, `periodic` those with seasons, `bivariate` those over two series. The forecast for a
//! row depends only on the rows before it (LLB: and on the other series in the same row).

mod bivariate;
mod level;
pub(super) mod period;
mod periodic;
mod search;

use arrow::array::AsArray;
use arrow::datatypes::TimestampMicrosecondType;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use spl::ast::{PredictAlgorithm, PredictBound, PredictGroup};

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

const TIME: &str = "_time";

/// A forecast: the expected value of each row, and its uncertainty.
#[derive(Debug, Clone, Default, PartialEq)]
struct Forecast {
    means: Vec<f64>,
    variances: Vec<f64>,
}

/// The rows with forecasts, extended by future rows.
#[derive(Debug)]
pub struct Predict {
    /// Fields that are forecast together, with the algorithm: two fields for [`PredictAlgorithm::Both`], and
    /// a second one for [`PredictAlgorithm::Bivariate`].
    pub groups: Vec<PredictGroup>,
    /// The time zone of days and months of future rows.
    pub zone: TimeZone,
}

/// A forecast with the names of its output fields.
struct Named {
    forecast: Forecast,
    mean: String,
    upper: (String, u64),
    lower: (String, u64),
}

impl Operation for Predict {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let mut found = Vec::new();
        for group in &self.groups {
            found.extend(forecasts(group, &rows)?);
        }
        let longest = found.iter().map(|named| named.forecast.means.len()).max();
        let more = longest.unwrap_or_default().saturating_sub(rows.count);
        let mut made = self.extended(rows, more)?;
        for named in found {
            let Forecast { means, variances } = &named.forecast;
            let bound = |sign: f64, percent: u64| {
                let distance = sign * quantile_of_normal(percent);
                let cells = means.iter().zip(variances);
                cells.map(|(mean, variance)| mean + distance * variance.sqrt()).collect()
            };
            set(&mut made, &named.mean, means.clone());
            set(&mut made, &named.upper.0, bound(1.0, named.upper.1));
            set(&mut made, &named.lower.0, bound(-1.0, named.lower.1));
        }
        Ok(made)
    }
}

fn set(made: &mut Rows, name: &str, numbers: Vec<f64>) {
    let rest = made.count.saturating_sub(numbers.len());
    let numbers = numbers.into_iter().map(Some).chain(std::iter::repeat_n(None, rest));
    made.set_numbers(name, numbers);
}

impl Predict {
    /// Extends the rows by future ones, whose times continue the series.
    fn extended(&self, rows: Rows, more: usize) -> Result<Rows, Error> {
        let Some(column) = rows.column(TIME) else { return Err(Error::internal("no _time")) };
        let times = column.array.as_primitive::<TimestampMicrosecondType>();
        let mut times: Vec<i64> = times.iter().flatten().collect();
        if more == 0 || times.is_empty() {
            return Ok(rows);
        }
        let mut added = Vec::with_capacity(more);
        for _ in 0..more {
            let next = self.next_time(&times);
            times.push(next);
            added.push(Some(next));
        }
        let mut future = Rows::blank(more);
        future.set_times(TIME, added);
        rows.append(future)
    }

    /// Returns the next time; a step of days or months follows the calendar.
    fn next_time(&self, times: &[i64]) -> i64 {
        let [.., before, last] = times else {
            return times.last().map_or(0, |last| last.saturating_add(1_000_000));
        };
        let step = last.saturating_sub(*before);
        self.next_date(*before, *last).unwrap_or_else(|| last.saturating_add(step))
    }

    fn next_date(&self, before: i64, last: i64) -> Option<i64> {
        let local = |micros| Some(self.zone.to_datetime(Timestamp::from_microsecond(micros).ok()?));
        let (one, two) = (local(before)?, local(last)?);
        if one.time() != two.time() {
            // The times of day differ: the step is a length of time, not a number of days or months.
            return None;
        }
        let month = |date: jiff::civil::Date| i64::from(date.year()) * 12 + i64::from(date.month());
        let months = month(two.date()) - month(one.date());
        let days = two.date().since(one.date()).ok()?.get_days();
        // The same day of the month: a step of whole months, whatever their lengths.
        let span = if one.day() == two.day() && months > 0 {
            Span::new().try_months(months).ok()?
        } else if days > 0 {
            Span::new().try_days(days).ok()?
        } else {
            return None;
        };
        let next = two.checked_add(span).ok()?.to_zoned(self.zone.clone()).ok()?;
        Some(next.timestamp().as_microsecond())
    }
}

/// Returns the forecasts of the fields of a group.
fn forecasts(group: &PredictGroup, rows: &Rows) -> Result<Vec<Named>, Error> {
    // An empty series has no forecast, which is not an error.
    let numbers =
        |name: &str| Ok::<_, Error>(rows.numbers(name)?.iter().flatten().next().is_some());
    let fields = group.fields.iter().map(|field| numbers(&field.field.node));
    if !fields.collect::<Result<Vec<bool>, Error>>()?.contains(&true) {
        return Ok(Vec::new());
    }
    let options = &group.options;
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let used = rows.count.saturating_sub(size(options.holdback));
    let ahead = size(options.future_timespan);
    let series = |name: &str| -> Result<Vec<Option<f64>>, Error> {
        let mut numbers = rows.numbers(name)?;
        numbers.truncate(used);
        Ok(numbers)
    };
    let mut found = Vec::new();
    if options.algorithm == PredictAlgorithm::Both {
        let [one, two] = [&group.fields[0], &group.fields[1]].map(|field| &field.field.node);
        let (first, second) = (series(one)?, series(two)?);
        need(one, &first, 2)?;
        need(two, &second, 2)?;
        found.extend(bivariate::together(&first, &second, ahead));
    } else {
        for field in &group.fields {
            let name = &field.field.node;
            let numbers = series(name)?;
            found.push(match (options.algorithm, &options.correlate) {
                (PredictAlgorithm::Bivariate, Some(other)) => {
                    need(name, &numbers, 2)?;
                    bivariate::from_other(&numbers, &rows.numbers(&other.node)?)
                }
                _ => univariate(name, &numbers, ahead, group)?,
            });
        }
    }
    let named = group.fields.iter().zip(found).filter_map(|(field, forecast)| {
        let name = &field.field.node;
        let mean = match &field.alias {
            Some(alias) => alias.node.clone(),
            None => format!("prediction({name})"),
        };
        let bound = |side: &str, bound: &PredictBound| {
            let name = match &bound.field {
                Some(field) if group.fields.len() == 1 => field.node.clone(),
                Some(field) => format!("{}({mean})", field.node),
                None => format!("{side}{}({mean})", bound.percent),
            };
            (name, bound.percent)
        };
        let suppressed = options.suppress.as_ref().map(|field| field.node.as_str());
        let shown = suppressed.is_none_or(|hidden| hidden != name && hidden != mean);
        let (upper, lower) = (bound("upper", &options.upper), bound("lower", &options.lower));
        shown.then_some(Named { forecast, mean, upper, lower })
    });
    Ok(named.collect())
}

fn univariate(
    name: &str,
    numbers: &[Option<f64>],
    ahead: usize,
    group: &PredictGroup,
) -> Result<Forecast, Error> {
    let given = group.options.period.map(|period| usize::try_from(period).unwrap_or(usize::MAX));
    let fits = |period: &usize| numbers.len() / 2 >= *period;
    match group.options.algorithm {
        PredictAlgorithm::LocalLevel => {
            need(name, numbers, 2)?;
            Ok(level::level(numbers, ahead))
        }
        PredictAlgorithm::LocalLevelTrend => {
            need(name, numbers, 3)?;
            Ok(level::trend(numbers, ahead))
        }
        PredictAlgorithm::LocalLevelPeriodic => {
            let period = given.or_else(|| period::of(numbers));
            let Some(period) = period else {
                let message = format!("predict: \"{name}\" has no period; give one with period=");
                return Err(Error::invalid_anywhere(message));
            };
            if !fits(&period) {
                let message = format!("predict: \"{name}\" has fewer than two periods of {period}");
                return Err(Error::invalid_anywhere(message));
            }
            need(name, numbers, 2)?;
            Ok(periodic::seasons(numbers, period, ahead))
        }
        // LLP5. Without a period, or with fewer than two of them, there are no seasons to learn: LLT alone.
        _ => {
            need(name, numbers, 3)?;
            let trend = level::trend(numbers, ahead);
            let period = given.or_else(|| period::of(numbers)).filter(fits);
            Ok(match period {
                Some(period) => {
                    weighted(&trend, &periodic::seasons(numbers, period, ahead), numbers, period)
                }
                None => trend,
            })
        }
    }
}

/// Returns an error if a series has too few values.
fn need(name: &str, numbers: &[Option<f64>], least: usize) -> Result<(), Error> {
    let count = numbers.iter().flatten().count();
    if count >= least {
        return Ok(());
    }
    let message = format!("predict needs at least {least} values of \"{name}\", there are {count}");
    Err(Error::invalid_anywhere(message))
}

/// Combines two forecasts, weighted by their accuracy so far. The first periods, in which seasons are
/// learned, do not count.
fn weighted(one: &Forecast, two: &Forecast, numbers: &[Option<f64>], learning: usize) -> Forecast {
    let error = |forecast: &Forecast| {
        let rows = numbers.iter().zip(&forecast.means).skip(learning);
        let squares = rows.filter_map(|(number, mean)| number.map(|n| (n - mean).powi(2)));
        squares.sum::<f64>() + f64::MIN_POSITIVE
    };
    // The weights are the inverse sums of squared errors, so the more accurate forecast dominates.
    let (first, second) = (error(one).recip(), error(two).recip());
    let share = if (first + second).is_finite() { first / (first + second) } else { 0.5 };
    let mix = |(a, b): (&f64, &f64)| share * a + (1.0 - share) * b;
    Forecast {
        means: one.means.iter().zip(&two.means).map(mix).collect(),
        variances: one.variances.iter().zip(&two.variances).map(mix).collect(),
    }
}

/// Returns the number of standard deviations around the mean that contain this percentage of a normal
/// distribution; accurate to about nine digits (Acklam's approximation).
#[allow(clippy::cast_precision_loss)]
fn quantile_of_normal(percent: u64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
        1.0,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        0.007_784_695_709_041_462,
        0.322_467_129_070_039_8,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    let polynomial = |coefficients: &[f64], x: f64| {
        coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
    };
    let upper = (1.0 + percent.min(99) as f64 / 100.0) / 2.0;
    // The tail, where the function is too steep for the rational approximation of the centre.
    if upper > 0.975_75 {
        let x = (-2.0 * (1.0 - upper).ln()).sqrt();
        return -polynomial(&C, x) / polynomial(&D, x);
    }
    let x = upper - 0.5;
    x * polynomial(&A, x * x) / polynomial(&B, x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_normal_distribution() {
        let near = |percent, expected: f64| {
            assert!((quantile_of_normal(percent) - expected).abs() < 1e-6, "{percent}");
        };
        near(0, 0.0);
        near(50, 0.674_489_750);
        near(90, 1.644_853_627);
        near(95, 1.959_963_985);
        near(99, 2.575_829_304);
    }
}
