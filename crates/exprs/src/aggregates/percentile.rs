//! `median`, `perc<N>`, `upperperc<N>` and `exactperc<N>`.
//!
//! Guarantees: the median is one of the values; of an even number of values, it is the higher of the two
//! middle ones, as in Splunk. Percentiles interpolate between the two nearest values (method R-7, as in
//! Splunk's documentation: the 95th percentile of 1..10 is 9.55). Up to 10,000 distinct values per group,
//! they are exact, however often each occurs; above, values are merged into a t-digest whose error is
//! smallest at the ends (about 0.1 % of rank in the middle). `exactperc` keeps all values, without a limit of
//! its own.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use eval::value::parse_number;
use hashbrown::HashMap;

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::column::Value;

/// Number of distinct values that are kept before neighbours are merged.
const MOST_VALUES: usize = 10_000;
/// Integers below this limit are counted in an array.
const SMALL: usize = 4_096;
/// Number of values before the array is allocated, so that small groups stay small.
const FEW: usize = 64;
/// Resolution of merging: with a higher value, more points remain.
const FINENESS: f64 = 500.0;

/// Values, or weighted means of neighbouring values.
#[derive(Debug, Clone)]
pub(crate) struct Percentile {
    /// The percentile, between 0 and 100.
    percent: f64,
    exact: bool,
    /// Whether the result is the higher of the two middle values instead of an interpolated one.
    median: bool,
    /// Counts of small integers, which are common for latencies and sizes; empty before the first one.
    small: Vec<u64>,
    /// Counts of other values, by their bits, that have not been merged into points.
    counts: HashMap<u64, u64>,
    /// The merged points.
    points: Vec<(f64, f64)>,
}

impl Percentile {
    pub(crate) fn new(percent: f64, exact: bool) -> Self {
        let (small, counts, points) = (Vec::new(), HashMap::new(), Vec::new());
        Self { percent, exact, median: false, small, counts, points }
    }

    pub(crate) fn median() -> Self {
        Self { median: true, ..Self::new(50.0, false) }
    }

    #[inline]
    fn add_number(&mut self, number: f64, times: u64) {
        match place_of(number).and_then(|at| self.small.get_mut(at)) {
            Some(held) => *held = held.saturating_add(times),
            None => self.add_other(number, times),
        }
    }

    /// Adds the numbers among values.
    fn add_numbers(&mut self, value: &Value<'_>) {
        match value {
            Value::Multi(values) => {
                let numbers = values.iter().filter_map(parse_number);
                numbers.for_each(|number| self.add_number(number, 1));
            }
            single => {
                if let Some(number) = single.number() {
                    self.add_number(number, 1);
                }
            }
        }
    }

    /// Adds a number that the array cannot hold, or before the array exists.
    fn add_other(&mut self, number: f64, times: u64) {
        if let Some(at) = place_of(number).filter(|at| *at < SMALL)
            && self.grow_small(at)
        {
            self.small[at] = self.small[at].saturating_add(times);
            return;
        }
        // Adding 0.0 maps the negative zero to the positive one.
        let bits = (number + 0.0).to_bits();
        let held = self.counts.entry(bits).or_insert(0);
        *held = held.saturating_add(times);
        if !self.exact && self.counts.len() > MOST_VALUES {
            self.merge_neighbours();
        }
    }

    /// Allocates the array once there are enough values.
    #[cold]
    fn grow_small(&mut self, at: usize) -> bool {
        if self.small.is_empty() && self.counts.len() < FEW {
            return false;
        }
        self.small.resize((at + 1).next_power_of_two().min(SMALL), 0);
        true
    }

    /// Takes all counted values, each once, in no particular order.
    #[allow(clippy::cast_precision_loss)]
    fn take_counts(&mut self) -> impl Iterator<Item = (f64, u64)> {
        let mut small = std::mem::take(&mut self.small);
        let mut others = std::mem::take(&mut self.counts);
        // A small integer that was added before the array existed may be counted in both places.
        others.retain(|bits, times| {
            match place_of(f64::from_bits(*bits)).and_then(|at| small.get_mut(at)) {
                Some(held) => {
                    *held = held.saturating_add(*times);
                    false
                }
                None => true,
            }
        });
        let small = small.into_iter().enumerate().filter(|(_, times)| *times > 0);
        let others = others.into_iter().map(|(bits, times)| (f64::from_bits(bits), times));
        small.map(|(at, times)| (at as f64, times)).chain(others)
    }

    /// Returns all values and points in ascending order.
    #[allow(clippy::cast_precision_loss)]
    fn take_sorted(&mut self) -> Vec<(f64, f64)> {
        let mut points = std::mem::take(&mut self.points);
        points.extend(self.take_counts().map(|(value, times)| (value, times as f64)));
        points.sort_unstable_by(|one, two| one.0.total_cmp(&two.0));
        points
    }

    /// Merges neighbours while a point has few values; towards the ends, the limit is lower.
    fn merge_neighbours(&mut self) {
        let points = self.take_sorted();
        let total: f64 = points.iter().map(|point| point.1).sum();
        let mut before = 0.0;
        for (value, weight) in points {
            if let Some(last) = self.points.last_mut() {
                let together = last.1 + weight;
                let middle = (before + together / 2.0) / total;
                if together <= (4.0 * total * middle * (1.0 - middle) / FINENESS).max(1.0) {
                    last.0 += (value - last.0) * weight / together;
                    last.1 = together;
                    continue;
                }
                before += last.1;
            }
            self.points.push((value, weight));
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn value(&self) -> Option<f64> {
        let merged = !self.points.is_empty();
        let points = self.clone().take_sorted();
        let last = points.last()?;
        let total: f64 = points.iter().map(|point| point.1).sum();
        // Means of merged neighbours are not original values, so even a median is interpolated then.
        if self.median && !merged {
            return higher_of_middle(&points, total);
        }
        let wanted = self.percent * (total - 1.0) / 100.0;
        let mut before = 0.0;
        let mut previous: Option<(f64, f64)> = None;
        for (value, weight) in &points {
            // The range of ranks that a point represents: the middle of its ranks if it is merged; otherwise,
            // all of its ranks, from the first to the last, as its values are equal.
            let (first_place, last_place) = match merged {
                true => (before + (weight - 1.0) / 2.0, before + (weight - 1.0) / 2.0),
                false => (before, before + weight - 1.0),
            };
            if wanted <= first_place {
                return Some(match previous {
                    Some((low, low_place)) if first_place > low_place => {
                        let part = (wanted - low_place) / (first_place - low_place);
                        without_noise(low + (value - low) * part)
                    }
                    _ => *value,
                });
            }
            if wanted <= last_place {
                return Some(*value);
            }
            previous = Some((*value, last_place));
            before += weight;
        }
        Some(last.0)
    }
}

/// Returns the place of an integer in the array of small ones, which may end before it; `None` for other
/// numbers. It runs for each value of a search: conversions from and to 32 bits take few instructions, those
/// of `usize` a dozen.
#[inline]
#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn place_of(number: f64) -> Option<usize> {
    let integer = number as i32;
    if f64::from(integer) == number { usize::try_from(integer).ok() } else { None }
}

/// Returns the middle of sorted, weighted values; of an even number of values the higher of the two middle
/// ones.
fn higher_of_middle(points: &[(f64, f64)], total: f64) -> Option<f64> {
    let place = (total / 2.0).floor();
    let mut passed = 0.0;
    let middle = points.iter().find(|(_, times)| {
        passed += times;
        passed > place
    });
    middle.or(points.last()).map(|(value, _)| *value)
}

/// Rounds an interpolated number to the digits that a double can represent: the 50th percentile of 1.2 and
/// 1.4 is 1.3.
fn without_noise(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}

impl Summary for Percentile {
    #[inline]
    fn add_value(&mut self, value: Value<'_>) {
        match value {
            Value::Float(number) => self.add_number(number, 1),
            other => self.add_numbers(&other),
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        let numbers = || state::list_of(DataType::Float64);
        vec![numbers(), state::list_of(DataType::Int64), numbers(), numbers()]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let counts = self.take_counts().map(|(value, times)| (value, times.cast_signed()));
        let (values, times): (Vec<_>, Vec<_>) = counts.unzip();
        let (means, weights): (Vec<_>, Vec<_>) = self.points.drain(..).unzip();
        Ok(vec![
            state::numbers(values),
            state::integers(times),
            state::numbers(means),
            state::numbers(weights),
        ])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let mut values = state::read_numbers(&states[0], row).into_iter();
        state::each_integer(&states[1], row, |times| {
            if let Some(value) = values.next() {
                self.add_number(value, times.cast_unsigned());
            }
        });
        let means = state::read_numbers(&states[2], row);
        if !means.is_empty() {
            self.points.extend(means.into_iter().zip(state::read_numbers(&states[3], row)));
            self.merge_neighbours();
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.value()))
    }

    fn heap_size(&self) -> usize {
        self.points.capacity() * size_of::<(f64, f64)>()
            + self.counts.capacity() * (size_of::<(u64, u64)>() + 1)
            + self.small.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Percentile, place_of};

    fn percentile(percent: f64, values: impl IntoIterator<Item = f64>) -> Option<f64> {
        let mut summary = Percentile::new(percent, false);
        values.into_iter().for_each(|value| summary.add_number(value, 1));
        summary.value()
    }

    #[test]
    fn integers_of_before_the_array_are_counted_once() {
        let mut summary = Percentile::new(50.0, false);
        (0..200).for_each(|number| summary.add_number(f64::from(number % 100), 1));
        summary.add_number(-0.0, 1);
        summary.add_number(0.5, 3);
        let mut counts: Vec<(f64, u64)> = summary.take_counts().collect();
        counts.sort_by(|one, two| one.0.total_cmp(&two.0));
        assert_eq!((counts.len(), counts[0], counts[1]), (101, (0.0, 3), (0.5, 3)));
        assert!(counts[2..].iter().all(|(_, times)| *times == 2));
    }

    #[test]
    fn only_integers_have_a_place() {
        assert_eq!([0.0, -0.0, 7.0, 5e6].map(place_of), [0, 0, 7, 5_000_000].map(Some));
        let others = [-1.0, 0.5, 1e10, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        assert_eq!(others.map(place_of), [None; 6]);
    }

    #[test]
    fn few_values_are_interpolated() {
        let ten = || (1..=10).map(f64::from);
        assert_eq!(percentile(50.0, ten()), Some(5.5));
        assert_eq!(percentile(95.0, ten()), Some(9.55));
        assert_eq!(percentile(0.0, ten()), Some(1.0));
        assert_eq!(percentile(100.0, ten()), Some(10.0));
        assert_eq!(percentile(50.0, []), None);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_higher_of_the_two_in_the_middle() {
        let median = |values: &[f64]| {
            let mut summary = Percentile::median();
            values.iter().for_each(|value| summary.add_number(*value, 1));
            summary.value()
        };
        assert_eq!(median(&[1.0, 2.0, 4.0, 3.0]), Some(3.0));
        assert_eq!(median(&[1.0, 4.0, 9.0, 16.0]), Some(9.0));
        assert_eq!(median(&[20.0, 10.0]), Some(20.0));
        assert_eq!(median(&[3.0, 3.0, 3.0, 5.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[1.2, 1.4]), Some(1.4));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
        assert_eq!(percentile(50.0, [1.2, 1.4]), Some(1.3));
    }

    #[test]
    fn equal_values_count_each() {
        // 0 nine times, then 10: the median is 0, the 95th is 0.55 of the way from the 9th to the 10th.
        let values = std::iter::repeat_n(0.0, 9).chain([10.0]);
        assert_eq!(percentile(50.0, values.clone()), Some(0.0));
        assert!((percentile(95.0, values.clone()).unwrap() - 5.5).abs() < 1e-9);
        assert_eq!(percentile(100.0, values), Some(10.0));
        let many = (0..1_000_000_u64).map(|at| (at % 1_000) as f64);
        assert_eq!(percentile(50.0, many), Some(499.5));
        assert_eq!(percentile(50.0, [-0.0, 0.0, 0.0]), Some(0.0));
    }

    #[test]
    fn many_values_are_close() {
        let scattered = (0..300_000_u64).map(|at| (at * 7_919 % 300_007) as f64);
        for percent in [1.0, 10.0, 50.0, 90.0, 99.0, 99.9] {
            let found = percentile(percent, scattered.clone()).unwrap();
            let wanted = percent / 100.0 * 300_000.0;
            assert!((found - wanted).abs() < 600.0, "{percent}: {found} for {wanted}");
        }
    }
}
