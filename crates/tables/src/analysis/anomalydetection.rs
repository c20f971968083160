//! Events that are improbable. The probability of an event is the product of the frequencies of its values;
//! numbers are as frequent as the bin of a histogram they lie in.

use std::collections::HashMap;

use eval::value::parse_number;
use spl::ast::{AnomalyAction, FieldPattern};

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// How many quartile distances below the first quartile an event is an anomaly.
const REACH: f64 = 1.5;
/// The part of the events that may be anomalies at most, if the number is cut off.
const CUTOFF: f64 = 0.05;
/// Bins of a histogram at most.
const MOST_BINS: f64 = 1000.0;

/// Improbable rows, their probability, or one row of statistics.
#[derive(Debug)]
pub struct Histogram {
    /// What becomes of the rows.
    pub action: AnomalyAction,
    /// The logarithm of the probability below which an event is an anomaly; found from the quartiles if
    /// absent.
    pub threshold: Option<f64>,
    /// Whether a threshold that is found limits the number of anomalies.
    pub cutoff: bool,
    /// The fields; all that are not internal if empty.
    pub fields: Vec<FieldPattern>,
}

/// What is known of an event.
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    /// The logarithm of its probability.
    logarithm: f64,
    /// The field with the rarest value, and how frequent that is.
    rarest: Option<(usize, f64)>,
    /// How frequent its most frequent value is.
    greatest: Option<f64>,
}

impl Operation for Histogram {
    fn apply(&self, mut rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let names = rows.matching(&self.fields);
        let mut events = vec![Event::default(); rows.count];
        for (field, name) in names.iter().enumerate() {
            for (event, frequency) in events.iter_mut().zip(frequencies(&rows.lists(name)?)) {
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
    /// The logarithm of the probability below which an event is an anomaly.
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

/// How frequent the value in each row is; of several, all together.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn frequencies(lists: &[Vec<String>]) -> Vec<Option<f64>> {
    let rows = statistics::number(lists.len());
    let parsed: Vec<Vec<Option<f64>>> =
        lists.iter().map(|list| list.iter().map(|value| parse_number(value)).collect()).collect();
    let mut numbers: Vec<f64> = parsed.iter().flatten().flatten().copied().collect();
    numbers.sort_by(f64::total_cmp);
    let numeric = parsed.iter().flatten().all(Option::is_some) && !numbers.is_empty();
    let mut bins: HashMap<u64, f64> = HashMap::new();
    let mut counts: HashMap<&str, f64> = HashMap::new();
    let low = numbers.first().copied().unwrap_or_default();
    let width = width(&numbers);
    let bin = |number: f64| ((number - low) / width).floor() as u64;
    if numeric {
        numbers.iter().for_each(|number| *bins.entry(bin(*number)).or_default() += 1.0);
    } else {
        lists.iter().flatten().for_each(|value| *counts.entry(value).or_default() += 1.0);
    }
    let frequency = |value: &String| match parse_number(value).filter(|_| numeric) {
        Some(number) => bins[&bin(number)] / rows,
        None => counts[value.as_str()] / rows,
    };
    let all = |list: &Vec<String>| {
        (!list.is_empty()).then(|| list.iter().map(|value| frequency(value).min(1.0)).product())
    };
    lists.iter().map(all).collect()
}

/// The width of a bin after Freedman and Diaconis: the fewer numbers and the wider they are spread,
/// the wider.
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
