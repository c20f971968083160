//! Contiguous bins: adds a row for each empty bin.

use eval::{Value, ValueType};
use jiff::tz::TimeZone;
use spl::ast::{BinOptions, BinSpan};

use crate::bins::{NumberBins, TimeBins, default_span, range_of, write_range};
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Rows, Values};

/// Microseconds in a second.
const SECOND: f64 = 1e6;

/// Sorts rows by bin and adds rows for empty bins.
#[derive(Debug)]
pub struct Continuous {
    /// The field with times or numbers.
    pub field: String,
    /// The options of the bins.
    pub options: BinOptions,
    /// Maximum number of bins for an automatic span, if the options set neither span nor number.
    pub default_bins: u64,
    /// Start of a bin of time, in microseconds.
    pub align: Option<i64>,
    /// The time zone of days and months.
    pub zone: TimeZone,
}

impl Operation for Continuous {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let Some(column) = rows.column(&self.field) else { return Ok(rows) };
        let values = Values::new(&column.array)?;
        let most = context.limits.bins;
        let is_time = column.kind == ValueType::Time;
        if is_time && !matches!(self.options.span, Some(BinSpan::Number(_) | BinSpan::Log { .. })) {
            let times = (0..rows.count).map(|row| match values.get(row) {
                Value::Time(micros) => Some(micros),
                _ => None,
            });
            let times: Vec<Option<i64>> = times.collect();
            let bins = self.time_bins(&times);
            let filled = fill(&times, |time| Some(bins.around(time)), None, most)?;
            let mut result = rows.take_or_null(&filled.places)?;
            result.set_times(&self.field, filled.starts);
            return Ok(result);
        }
        let range = |row| values.get(row).text().and_then(|text| range_of(&text));
        let ranges: Vec<Option<(f64, f64)>> = match column.kind {
            ValueType::Text => (0..rows.count).map(range).collect(),
            _ => Vec::new(),
        };
        if ranges.iter().any(Option::is_some) {
            return self.fill_ranges(rows, &ranges, context);
        }
        let numbers: Vec<Option<f64>> =
            (0..rows.count).map(|row| values.get(row).number()).collect();
        let filled = match &self.options.span {
            Some(BinSpan::Time(span)) => {
                let bins = TimeBins::new(span.clone(), self.zone.clone(), self.align);
                let around = |seconds: f64| {
                    let time = model::EventTime::from_seconds(seconds);
                    let (start, end) = bins.around(time.0);
                    Some((model::EventTime(start).seconds(), model::EventTime(end).seconds()))
                };
                fill(&numbers, around, None, most)?
            }
            span => {
                let (bins, extent) = self.number_bins(span.as_ref(), &numbers)?;
                fill(&numbers, |number| bins.around(number), Some(extent), most)?
            }
        };
        let mut result = rows.take_or_null(&filled.places)?;
        match is_time {
            #[allow(clippy::cast_possible_truncation)]
            true => {
                let micros = |seconds: f64| (seconds * SECOND).round() as i64;
                result.set_times(&self.field, filled.starts.into_iter().map(|s| s.map(micros)));
            }
            false => result.set_numbers(&self.field, filled.starts),
        }
        Ok(result)
    }
}

impl Continuous {
    fn time_bins(&self, times: &[Option<i64>]) -> TimeBins {
        let span = match &self.options.span {
            Some(BinSpan::Time(span)) => span.clone(),
            _ => {
                let (low, high) = (times.iter().flatten().min(), times.iter().flatten().max());
                let length = low.zip(high).map_or(0, |(low, high)| high.saturating_sub(*low) + 1);
                let least = match &self.options.minspan {
                    Some(BinSpan::Time(span)) => Some(span),
                    _ => None,
                };
                default_span(length, self.options.bins.unwrap_or(self.default_bins), least)
            }
        };
        TimeBins::new(span, self.zone.clone(), self.align)
    }

    /// Processes rows whose field has bins of numbers as texts, such as `10-20`.
    fn fill_ranges(
        &self,
        rows: Rows,
        ranges: &[Option<(f64, f64)>],
        context: &mut Context,
    ) -> Result<Rows, Error> {
        let Some(bins) = self.range_bins(ranges)? else {
            let name = &self.field;
            context.warn(format!(
                "makecontinuous left \"{name}\" unchanged, because its ranges have different widths; use \
                 the span= of bin"
            ));
            return Ok(rows);
        };
        let starts: Vec<Option<f64>> = ranges.iter().map(|range| Some((*range)?.0)).collect();
        let (_, extent) = self.number_bins(None, &starts)?;
        let around = |number: f64| bins.around(number);
        let filled = fill(&starts, around, Some(extent), context.limits.bins)?;
        let texts = rows.texts(&self.field)?;
        let mut result = rows.take_or_null(&filled.places)?;
        let text = |(start, place): (&Option<f64>, &Option<usize>)| match start {
            Some(start) => bins.around(*start).map(|bin| written(bin, bins)),
            None => texts.get((*place)?)?.clone(),
        };
        result.set_texts(&self.field, filled.starts.iter().zip(&filled.places).map(text));
        Ok(result)
    }

    /// Returns the bins to which ranges belong: those of `span=`, or those with the width of the first range.
    fn range_bins(&self, ranges: &[Option<(f64, f64)>]) -> Result<Option<NumberBins>, Error> {
        let some = ranges.iter().flatten();
        let first = some.clone().next().map(|range| NumberBins::of_bin(*range));
        let given = self.options.span.as_ref().map(NumberBins::of_span).transpose()?.flatten();
        let holds = |bins: &NumberBins| {
            // Compared with the parsed text, because rounded edges may match another range.
            let is_bin = |range: &(f64, f64)| {
                let bin = bins.around(range.0);
                bin.is_some_and(|bin| range_of(&written(bin, *bins)) == Some(*range))
            };
            some.clone().all(is_bin)
        };
        Ok(first.into_iter().chain(given).find(holds))
    }

    /// Returns the bins of numbers, and the range to cover: `start=` and `end=` extend the range of the data.
    fn number_bins(
        &self,
        span: Option<&BinSpan>,
        numbers: &[Option<f64>],
    ) -> Result<(NumberBins, (f64, f64)), Error> {
        let given = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
        let some = numbers.iter().flatten().copied();
        let low = some.clone().chain(given(&self.options.start)).fold(f64::INFINITY, f64::min);
        let high = some.fold(f64::NEG_INFINITY, f64::max);
        let end: Option<f64> = given(&self.options.end);
        // The end is exclusive: no bin begins there.
        let high = high.max(end.map_or(high, f64::next_down));
        let bins = match span.map(NumberBins::of_span).transpose()?.flatten() {
            Some(bins) => bins,
            None => NumberBins::of_range(
                low,
                high,
                self.options.bins.unwrap_or(self.default_bins),
                None,
            ),
        };
        Ok((bins, (low, high)))
    }
}

fn written(bin: (f64, f64), bins: NumberBins) -> String {
    let mut text = String::new();
    write_range(bin, bins.decimals(), &mut text);
    text
}

/// Rows in bin order.
struct Filled<T> {
    /// The source row; `None` for an empty bin.
    places: Vec<Option<usize>>,
    /// The start of each row's bin; `None` for rows without a value, which come last.
    starts: Vec<Option<T>>,
}

/// Assigns rows to bins and adds an empty row per empty bin, from the least value to the greatest and over
/// all of `extent`.
fn fill<T: Copy + PartialOrd>(
    values: &[Option<T>],
    around: impl Fn(T) -> Option<(T, T)>,
    extent: Option<(T, T)>,
    most: usize,
) -> Result<Filled<T>, Error> {
    let starts = values.iter().map(|value| value.and_then(&around).map(|(start, _)| start));
    let starts: Vec<Option<T>> = starts.collect();
    let mut order: Vec<(T, usize)> =
        starts.iter().enumerate().filter_map(|(row, start)| Some(((*start)?, row))).collect();
    order.sort_by(|(one, _), (two, _)| one.partial_cmp(two).unwrap_or(std::cmp::Ordering::Equal));
    let mut filled = Filled { places: Vec::new(), starts: Vec::new() };
    let first = extent.map(|(low, _)| low).or(order.first().map(|(start, _)| *start));
    let last = extent.map(|(_, high)| high).or(order.last().map(|(start, _)| *start));
    let mut rows = order.into_iter().peekable();
    let mut bins = 0;
    let mut next = first.and_then(&around);
    while let (Some((start, end)), Some(last)) = (next, last)
        && start <= last
    {
        bins += 1;
        if bins > most {
            let message = format!(
                "makecontinuous makes more than {most} bins (maxbins in limits.conf); use a longer span"
            );
            return Err(Error::invalid_anywhere(message));
        }
        let before = filled.places.len();
        while let Some((_, row)) = rows.next_if(|(bin, _)| *bin <= start) {
            filled.places.push(Some(row));
            filled.starts.push(Some(start));
        }
        if filled.places.len() == before {
            filled.places.push(None);
            filled.starts.push(Some(start));
        }
        next = around(end).filter(|(following, _)| *following > start);
    }
    for (row, start) in starts.iter().enumerate().filter(|(_, start)| start.is_none()) {
        filled.places.push(Some(row));
        filled.starts.push(*start);
    }
    Ok(filled)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn tens(number: i64) -> Option<(i64, i64)> {
        let start = number.div_euclid(10) * 10;
        Some((start, start + 10))
    }

    #[test]
    fn every_bin_between_the_least_and_the_greatest_has_a_row() {
        let filled = fill(&[Some(35), None, Some(2), Some(4)], tens, None, 10).unwrap();
        assert_eq!(filled.places, [Some(2), Some(3), None, None, Some(0), Some(1)]);
        let starts = [Some(0), Some(0), Some(10), Some(20), Some(30), None];
        assert_eq!(filled.starts, starts);
    }

    #[test]
    fn more_bins_than_allowed_are_refused() {
        let refused = fill(&[Some(0), Some(100)], tens, None, 10);
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }
}
