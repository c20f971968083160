//! Improbable events. The probability of an event is the product of the frequencies of its values; the
//! frequency of a number is that of its bin in a histogram.

use eval::value::parse_number;
use hashbrown::HashMap;
use spl::ast::{AnomalyAction, FieldPattern};

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Rows, Values};

/// An event is an anomaly if it is more than this many interquartile ranges below the first quartile.
const REACH: f64 = 1.5;
/// Maximum share of anomalies among the events, with `cutoff`.
const CUTOFF: f64 = 0.05;
/// Maximum number of bins of a histogram.
const MOST_BINS: f64 = 1000.0;

/// The improbable rows, all rows with their probability, or one row of statistics.
#[derive(Debug)]
pub struct Histogram {
    /// Whether rows are filtered, annotated or summarized.
    pub action: AnomalyAction,
    /// The logarithm of the probability below which an event is an anomaly; computed from the quartiles if
    /// absent.
    pub threshold: Option<f64>,
    /// Whether a computed threshold limits the number of anomalies.
    pub cutoff: bool,
    /// The fields; all except internal ones if empty.
    pub fields: Vec<FieldPattern>,
}

/// The probability of an event.
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    /// The logarithm of its probability.
    logarithm: f64,
    /// The field with the rarest value, and the frequency of that value.
    rarest: Option<(usize, f64)>,
    /// The frequency of its most frequent value.
    greatest: Option<f64>,
}

impl Operation for Histogram {
    fn apply(&self, mut rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let names = rows.matching(&self.fields);
        let mut events = vec![Event::default(); rows.count];
        for (field, name) in names.iter().enumerate() {
            context.stop.check()?;
            let Some(column) = rows.column(name) else { continue };
            let values = Values::new(&column.array)?;
            for (event, frequency) in events.iter_mut().zip(frequencies(&values, rows.count)) {
                let Some(frequency) = frequency else { continue };
                event.logarithm += frequency.ln();
                if event.rarest.is_none_or(|(_, least)| frequency < least) {
                    event.rarest = Some((field, frequency));
                }
                event.greatest = Some(event.greatest.unwrap_or(0.0).max(frequency));
            }
        }
        let mut sorted: Vec<f64> = events.iter().map(|event| event.logarithm).collect();
        sorted.sort_by(f64::total_cmp);
        let threshold = self.threshold(&sorted);
        if self.action == AnomalyAction::Summary {
            return Ok(summary(&sorted, threshold));
        }
        rows.set_numbers("log_event_prob", events.iter().map(|event| Some(event.logarithm)));
        let cause = |event: &Event| event.rarest.map(|(field, _)| names[field].as_str());
        rows.set_texts("probable_cause", events.iter().map(cause));
        let least = |event: &Event| event.rarest.map(|(_, frequency)| frequency);
        rows.set_numbers("probable_cause_freq", events.iter().map(least));
        rows.set_numbers("max_freq", events.iter().map(|event| event.greatest));
        if self.action == AnomalyAction::Annotate {
            return Ok(rows);
        }
        let anomalous = |row: &usize| events[*row].logarithm < threshold;
        let kept: Vec<usize> = (0..rows.count).filter(anomalous).collect();
        rows.take(&kept)
    }
}

impl Histogram {
    /// Returns the logarithm of the probability below which an event is an anomaly.
    fn threshold(&self, sorted: &[f64]) -> f64 {
        let quartiles = statistics::quantile(sorted, 0.25).zip(statistics::quantile(sorted, 0.75));
        match (self.threshold, quartiles) {
            (Some(threshold), _) => threshold,
            (None, None) => f64::NEG_INFINITY,
            (None, Some((first, third))) => {
                let threshold = first - REACH * (third - first);
                let most = statistics::quantile(sorted, CUTOFF).filter(|_| self.cutoff);
                most.map_or(threshold, |most| threshold.min(most))
            }
        }
    }
}

/// Returns the frequency of the value in each row; several values of a field count as one combination.
fn frequencies(values: &Values, count: usize) -> Vec<Option<f64>> {
    let mut lengths = Vec::with_capacity(count);
    let mut numbers = Vec::new();
    let mut numeric = true;
    for row in 0..count {
        let mut length = 0_usize;
        values.get(row).each_text(|text| {
            length += 1;
            match parse_number(text).filter(|_| numeric) {
                Some(number) => numbers.push(number),
                None => numeric = false,
            }
        });
        lengths.push(length);
    }
    let counts = if numeric { counts_of_bins(&numbers) } else { counts_of_texts(values, count) };
    let (mut counts, rows) = (counts.into_iter(), statistics::number(count));
    let all = |length: usize| {
        let of_row = counts.by_ref().take(length);
        let product: f64 = of_row.map(|same| (same / rows).min(1.0)).product();
        (length > 0).then_some(product)
    };
    lengths.into_iter().map(all).collect()
}

/// Returns for each number the count of numbers in its bin of the histogram.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn counts_of_bins(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let low = sorted.first().copied().unwrap_or_default();
    let width = width(&sorted);
    let bin = |number: f64| ((number - low) / width).floor() as u64;
    // The non-empty bins in ascending order.
    let mut bins: Vec<(u64, f64)> = Vec::new();
    for at in sorted.iter().map(|number| bin(*number)) {
        match bins.last_mut() {
            Some((last, count)) if *last == at => *count += 1.0,
            _ => bins.push((at, 1.0)),
        }
    }
    let count = |number: &f64| {
        let found = bins.binary_search_by_key(&bin(*number), |(at, _)| *at);
        found.map_or(0.0, |at| bins[at].1)
    };
    numbers.iter().map(count).collect()
}

/// Returns for each value the count of equal texts.
fn counts_of_texts(values: &Values, count: usize) -> Vec<f64> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let (mut counts, mut places) = (Vec::new(), Vec::new());
    for row in 0..count {
        values.get(row).each_text(|text| {
            let place = match known.get(text) {
                Some(place) => *place,
                None => {
                    known.insert(text.to_owned(), counts.len());
                    counts.push(0.0);
                    counts.len() - 1
                }
            };
            counts[place] += 1.0;
            places.push(place);
        });
    }
    places.into_iter().map(|place: usize| counts[place]).collect()
}

/// Returns the bin width by the Freedman-Diaconis rule: the width grows with the spread of the numbers, and
/// falls with their count.
fn width(sorted: &[f64]) -> f64 {
    let quartiles = statistics::quantile(sorted, 0.25).zip(statistics::quantile(sorted, 0.75));
    let distance = quartiles.map_or(0.0, |(first, third)| third - first);
    let range = sorted.last().zip(sorted.first()).map_or(0.0, |(last, first)| last - first);
    let count = statistics::number(sorted.len());
    let bins = if distance > 0.0 {
        range / (2.0 * distance / count.cbrt())
    } else {
        count.max(1.0).log2() + 1.0
    };
    let width = range / bins.ceil().clamp(1.0, MOST_BINS);
    if width > 0.0 { width } else { 1.0 }
}

fn summary(sorted: &[f64], threshold: f64) -> Rows {
    let mut made = Rows::blank(1);
    let anomalies = sorted.partition_point(|logarithm| *logarithm < threshold);
    made.set_integers("num_anomalies", [i64::try_from(anomalies).ok()]);
    made.set_numbers("thresh", [Some(threshold).filter(|threshold| threshold.is_finite())]);
    made.set_numbers("max_logprob", [sorted.last().copied()]);
    made.set_numbers("min_logprob", [sorted.first().copied()]);
    made.set_numbers("1st_quartile", [statistics::quantile(sorted, 0.25)]);
    made.set_numbers("3rd_quartile", [statistics::quantile(sorted, 0.75)]);
    made
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::operation::{Limits, Stop};

    fn rows(lists: &[&[&str]]) -> Rows {
        let mut rows = Rows::blank(lists.len());
        let owned = |list: &&[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        rows.set_lists("x", lists.iter().map(owned).collect());
        rows
    }

    fn of(lists: &[&[&str]]) -> Vec<Option<f64>> {
        let rows = rows(lists);
        let values = Values::new(&rows.column("x").unwrap().array).unwrap();
        frequencies(&values, rows.count)
    }

    #[test]
    fn values_are_as_frequent_as_their_texts_or_as_the_bins_of_numbers() {
        assert_eq!(of(&[&["a"], &["1"], &["a"], &[]]), [Some(0.5), Some(0.25), Some(0.5), None]);
        assert_eq!(of(&[&["a", "b"], &["a"]]), [Some(0.5), Some(1.0)]);
        // Three of the four numbers lie in the same bin.
        assert_eq!(
            of(&[&["1"], &["2"], &["1.0"], &["90"]]),
            [Some(0.75), Some(0.75), Some(0.75), Some(0.25)]
        );
        assert_eq!(of(&[&["7"], &["7"]]), [Some(1.0), Some(1.0)]);
        assert_eq!(of(&[&[], &[]]), [None, None]);
    }

    #[test]
    fn it_ends_once_nobody_waits() {
        let limits = Limits { rows: 10, columns: 10, bins: 10, bytes: 1 << 20 };
        let mut context = Context::new(limits).until(Stop::when(|| true));
        let action = AnomalyAction::Annotate;
        let found = Histogram { action, threshold: None, cutoff: true, fields: Vec::new() };
        let ended = found.apply(rows(&[&["a"]]), &mut context);
        assert!(matches!(ended, Err(Error::Cancelled)));
    }
}
