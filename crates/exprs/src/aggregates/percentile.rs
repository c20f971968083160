//! `median`, `perc<N>`, `upperperc<N>` and `exactperc<N>`.
//!
//! Guarantees: the median is one of the values; of an even number of values, it is the higher of the two
//! middle ones, as in Splunk. Percentiles interpolate between the two nearest values (method R-7, as in
//! Splunk's documentation: the 95th percentile of 1..10 is 9.55). Up to 10,000 distinct values per group,
//! they are exact, however often each occurs; above, values are merged into a t-digest whose error is
//! smallest at the ends (about 0.1 % of rank in the middle). `exactperc` keeps all values, without a limit of
//! its own.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue};
use eval::value::parse_number;
use hashbrown::HashMap;

use crate::aggregates::state;
use crate::aggregates::summary::{FEW_VALUES, Summary, table_size};
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
    /// Number of values in `few`.
    held: u8,
    /// Number of places of `small` with a count.
    used: u16,
    /// Counts of the first values, by their bits; empty once there is `many`.
    few: [(u64, u64); FEW_VALUES],
    /// Counts of small integers, which are common for latencies and sizes; empty before the first one.
    small: Box<[u64]>,
    many: Option<Box<Many>>,
}

/// What only groups with more than a few values have.
#[derive(Debug, Clone, Default)]
struct Many {
    /// Counts of values besides the small integers, by their bits, that have not been merged into points.
    counts: HashMap<u64, u64>,
    /// The merged points.
    points: Vec<(f64, f64)>,
}

impl Percentile {
    pub(crate) fn new(percent: f64, exact: bool) -> Self {
        let (few, small) = ([(0, 0); FEW_VALUES], Box::default());
        Self { percent, exact, median: false, held: 0, used: 0, few, small, many: None }
    }

    pub(crate) fn median() -> Self {
        Self { median: true, ..Self::new(50.0, false) }
    }

    #[inline]
    fn add_number(&mut self, number: f64, times: u64) {
        match place_of(number).and_then(|at| self.small.get_mut(at)) {
            Some(held) => {
                if *held == 0 {
                    self.used = self.used.saturating_add(1);
                }
                *held = held.saturating_add(times);
            }
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
            self.used = self.used.saturating_add(1);
            self.small[at] = times;
            return;
        }
        // Adding 0.0 maps the negative zero to the positive one.
        let bits = (number + 0.0).to_bits();
        let Some(many) = &mut self.many else { return self.add_few(bits, times) };
        let held = many.counts.entry(bits).or_insert(0);
        *held = held.saturating_add(times);
        if !self.exact && many.counts.len() > MOST_VALUES {
            self.merge_neighbours();
        }
    }

    fn add_few(&mut self, bits: u64, times: u64) {
        let held = usize::from(self.held);
        if let Some((_, count)) = self.few[..held].iter_mut().find(|(known, _)| *known == bits) {
            *count = count.saturating_add(times);
        } else if held < FEW_VALUES {
            self.few[held] = (bits, times);
            self.held += 1;
        } else {
            let mut many = Box::<Many>::default();
            many.counts.extend(self.few);
            many.counts.insert(bits, times);
            self.held = 0;
            self.many = Some(many);
        }
    }

    /// Allocates the array once there are enough values.
    #[cold]
    fn grow_small(&mut self, at: usize) -> bool {
        if self.small.is_empty() && self.many.as_ref().is_none_or(|many| many.counts.len() < FEW) {
            return false;
        }
        let mut small = std::mem::take(&mut self.small).into_vec();
        small.resize((at + 1).next_power_of_two().min(SMALL), 0);
        self.small = small.into_boxed_slice();
        true
    }

    /// Visits all counted values, each once, in no particular order.
    #[allow(clippy::cast_precision_loss)]
    fn each_count(&self, mut visit: impl FnMut(f64, u64)) {
        let counts = self.many.as_ref().map(|many| &many.counts);
        for (at, times) in self.small.iter().enumerate().filter(|(_, times)| **times > 0) {
            let value = at as f64;
            // A small integer that was added before the array existed may be counted in both places.
            let before = counts.and_then(|counts| counts.get(&value.to_bits()));
            visit(value, times.saturating_add(before.copied().unwrap_or(0)));
        }
        let few = self.few[..usize::from(self.held)].iter().copied();
        let others = counts.into_iter().flatten().map(|(bits, times)| (*bits, *times));
        for (bits, times) in few.chain(others) {
            let value = f64::from_bits(bits);
            match place_of(value).and_then(|at| self.small.get(at)) {
                Some(held) if *held > 0 || times == 0 => {}
                _ => visit(value, times),
            }
        }
    }

    /// Returns the number of counted values, or a few more.
    fn counted(&self) -> usize {
        let others = self.many.as_ref().map_or(0, |many| many.counts.len());
        usize::from(self.held) + usize::from(self.used) + others
    }

    fn points(&self) -> &[(f64, f64)] {
        self.many.as_ref().map_or(&[][..], |many| many.points.as_slice())
    }

    /// Replaces the contents of `sorted` by all values and points in ascending order.
    #[allow(clippy::cast_precision_loss)]
    fn sort_into(&self, sorted: &mut Vec<(f64, f64)>) {
        sorted.clear();
        sorted.extend_from_slice(self.points());
        self.each_count(|value, times| sorted.push((value, times as f64)));
        sorted.sort_unstable_by(|one, two| one.0.total_cmp(&two.0));
    }

    /// Merges neighbours while a point has few values; towards the ends, the limit is lower.
    fn merge_neighbours(&mut self) {
        let mut points = Vec::new();
        self.sort_into(&mut points);
        (self.held, self.used, self.small) = (0, 0, Box::default());
        let many = self.many.get_or_insert_default();
        **many = Many::default();
        let total: f64 = points.iter().map(|point| point.1).sum();
        let mut before = 0.0;
        for (value, weight) in points {
            if let Some(last) = many.points.last_mut() {
                let together = last.1 + weight;
                let middle = (before + together / 2.0) / total;
                if together <= (4.0 * total * middle * (1.0 - middle) / FINENESS).max(1.0) {
                    last.0 += (value - last.0) * weight / together;
                    last.1 = together;
                    continue;
                }
                before += last.1;
            }
            many.points.push((value, weight));
        }
    }

    /// Returns the percentile. `points` is memory that is used for many groups in turn.
    fn value(&self, points: &mut Vec<(f64, f64)>) -> Option<f64> {
        let merged = !self.points().is_empty();
        self.sort_into(points);
        let last = points.last()?;
        let total: f64 = points.iter().map(|point| point.1).sum();
        // Means of merged neighbours are not original values, so even a median is interpolated then.
        if self.median && !merged {
            return higher_of_middle(points, total);
        }
        let wanted = self.percent * (total - 1.0) / 100.0;
        let mut before = 0.0;
        let mut previous: Option<(f64, f64)> = None;
        for (value, weight) in points.iter() {
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
        let (mut values, mut times) = (Vec::new(), Vec::new());
        self.each_count(|value, count| {
            values.push(value);
            times.push(count.cast_signed());
        });
        let (means, weights): (Vec<_>, Vec<_>) = self.points().iter().copied().unzip();
        *self = Self { median: self.median, ..Self::new(self.percent, self.exact) };
        Ok(vec![
            state::numbers(values),
            state::integers(times),
            state::numbers(means),
            state::numbers(weights),
        ])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let values = state::numbers_in(&states[0], row);
        for (value, times) in values.zip(state::integers_in(&states[1], row)) {
            self.add_number(value, times.cast_unsigned());
        }
        let mut means = state::numbers_in(&states[2], row).peekable();
        if means.peek().is_some() {
            let many = self.many.get_or_insert_default();
            many.points.extend(means.zip(state::numbers_in(&states[3], row)));
            self.merge_neighbours();
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.value(&mut Vec::new())))
    }

    fn has_state(states: &[ArrayRef], row: usize) -> bool {
        states.iter().any(|lists| !state::is_empty(lists, row))
    }

    fn states(&self, groups: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
        let counted = groups.iter().flatten().map(Self::counted).sum();
        let merged = groups.iter().flatten().map(|group| group.points().len()).sum();
        let mut values = state::lists_of::<Float64Type>(groups.len(), counted)?;
        let mut times = state::lists_of::<Int64Type>(groups.len(), counted)?;
        let mut means = state::lists_of::<Float64Type>(groups.len(), merged)?;
        let mut weights = state::lists_of::<Float64Type>(groups.len(), merged)?;
        for group in groups {
            if let Some(group) = group {
                group.each_count(|value, count| {
                    values.values().append_value(value);
                    times.values().append_value(count.cast_signed());
                });
                for (mean, weight) in group.points() {
                    means.values().append_value(*mean);
                    weights.values().append_value(*weight);
                }
            }
            values.append(true);
            times.append(true);
            means.append(true);
            weights.append(true);
        }
        Ok(vec![
            Arc::new(values.finish()),
            Arc::new(times.finish()),
            Arc::new(means.finish()),
            Arc::new(weights.finish()),
        ])
    }

    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        let mut points = Vec::new();
        let values = groups.into_iter().map(|group| group?.value(&mut points));
        Ok(Arc::new(values.collect::<Float64Array>()))
    }

    fn heap_size(&self) -> usize {
        let many = self.many.as_ref().map_or(0, |many| {
            let points = many.points.capacity() * size_of::<(f64, f64)>();
            let counts = table_size::<(u64, u64)>(many.counts.capacity());
            size_of::<Many>() + points + counts
        });
        many + size_of_val(&*self.small)
    }

    fn emitted_size(&self) -> usize {
        (self.counted() + self.points().len()) * size_of::<(f64, f64)>()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Array, ArrayRef, AsArray};

    use super::{Many, Percentile, Summary, place_of};

    fn percentile(percent: f64, values: impl IntoIterator<Item = f64>) -> Option<f64> {
        let mut summary = Percentile::new(percent, false);
        values.into_iter().for_each(|value| summary.add_number(value, 1));
        summary.value(&mut Vec::new())
    }

    #[test]
    fn integers_of_before_the_array_are_counted_once() {
        let mut summary = Percentile::new(50.0, false);
        (0..200).for_each(|number| summary.add_number(f64::from(number % 100), 1));
        summary.add_number(-0.0, 1);
        summary.add_number(0.5, 3);
        let mut counts = Vec::new();
        summary.each_count(|value, times| counts.push((value, times)));
        counts.sort_by(|one, two| one.0.total_cmp(&two.0));
        assert_eq!((counts.len(), counts[0], counts[1]), (101, (0.0, 3), (0.5, 3)));
        assert!(counts[2..].iter().all(|(_, times)| *times == 2));
    }

    #[test]
    fn few_values_take_no_memory_of_their_own() {
        let mut summary = Percentile::new(50.0, false);
        (0..100).for_each(|at| summary.add_number(f64::from(at % 4) / 2.0, 1));
        assert_eq!((summary.heap_size(), summary.counted()), (0, 4));
        assert_eq!(summary.value(&mut Vec::new()), Some(0.75));
        summary.add_number(7.0, 1);
        assert!(summary.heap_size() > 0);
        assert_eq!((summary.counted(), summary.value(&mut Vec::new())), (5, Some(1.0)));
    }

    #[test]
    fn columns_of_small_integers_count_by_the_places_in_use() {
        let columns = |summary: &Percentile| {
            let states = Percentile::new(50.0, false).states(vec![Some(summary.clone())]).unwrap();
            let bytes = |column: &ArrayRef| column.as_list::<i32>().values().len() * 8;
            states.iter().map(bytes).sum::<usize>()
        };
        let mut summary = Percentile::new(50.0, false);
        (0..100).for_each(|at| summary.add_number(f64::from(at) + 0.5, 1));
        summary.add_number(4_095.0, 3);
        summary.add_number(4_095.0, 3);
        assert_eq!((summary.small.len(), summary.used), (4_096, 1));
        assert_eq!((summary.emitted_size(), columns(&summary)), (101 * 16, 101 * 16));
        (0..4_096).for_each(|at| summary.add_number(f64::from(at), 1));
        assert_eq!((summary.emitted_size(), columns(&summary)), (4_196 * 16, 4_196 * 16));
        assert!(summary.emitted_size() > summary.heap_size());
    }

    #[test]
    fn a_table_of_fractions_counts_without_the_places_that_it_keeps_free() {
        let mut summary = Percentile::new(50.0, true);
        // A table with 2,048 places is full with 1,792 entries.
        (0..1_792).for_each(|at| summary.add_number(f64::from(at) + 0.5, 1));
        assert_eq!(summary.heap_size(), size_of::<Many>() + 1_792 * 17);
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
            summary.value(&mut Vec::new())
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
