//! Sums of numbers and the statistics that follow from them: `sum`, `avg`, `range`, `stdev`, `var`, `sumsq`,
//! and the rates of `timechart`.
//!
//! Guarantees: sums have twice the precision of a float, so results are the same however the numbers are
//! split and in whatever order the parts are merged, and large offsets cause no loss of precision.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue};
use eval::value::parse_number;

use crate::aggregates::long_float::LongFloat;
use crate::aggregates::state;
use crate::aggregates::summary::{Summary, Window};
use crate::column::{Row, Value};

/// The statistic to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Moment {
    Sum,
    Average,
    Range,
    SumOfSquares,
    VarianceOfSample,
    VarianceOfPopulation,
    DeviationOfSample,
    DeviationOfPopulation,
    Least,
    Most,
    /// The sum times a factor.
    Scaled(f64),
}

/// Count, sum, extremes and squares of the numbers so far.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    moment: Moment,
    count: f64,
    sum: LongFloat,
    squares: LongFloat,
    mean: f64,
    /// Sum of squared distances from the mean (Chan's method), for numbers whose squares are too large.
    spread: f64,
    least: f64,
    most: f64,
}

impl Moments {
    pub(crate) fn new(moment: Moment) -> Self {
        Self {
            moment,
            count: 0.0,
            sum: LongFloat::default(),
            squares: LongFloat::default(),
            mean: 0.0,
            spread: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        }
    }

    pub(crate) fn add_number(&mut self, number: f64) {
        self.count += 1.0;
        self.sum = self.sum.plus(LongFloat::from(number));
        self.squares = self.squares.plus(LongFloat::product(number, number));
        let distance = number - self.mean;
        self.mean += distance / self.count;
        self.spread += distance * (number - self.mean);
        self.least = self.least.min(number);
        self.most = self.most.max(number);
    }

    fn variance(&self, divisor: f64) -> Option<f64> {
        if divisor <= 0.0 {
            return None;
        }
        // For identical numbers, rounding errors would otherwise give a variance, such as 1e-34 for 0.1.
        if self.least == self.most {
            return Some(0.0);
        }
        let spread = self.squares.times(self.count).minus(self.sum.square()).near;
        let variance = spread / (self.count * divisor);
        let variance = if variance.is_finite() { variance } else { self.spread / divisor };
        Some(variance.max(0.0))
    }

    /// Number of elements of [`Self::parts`].
    pub(crate) const PARTS: usize = 9;

    /// Returns the state as numbers in a fixed order.
    pub(crate) fn parts(&self) -> [f64; Self::PARTS] {
        let Self { count, sum, squares, mean, spread, least, most, .. } = *self;
        [count, sum.near, sum.rest, squares.near, squares.rest, mean, spread, least, most]
    }

    /// Adds the state of another instance.
    pub(crate) fn add_parts(&mut self, parts: [f64; Self::PARTS]) {
        let [count, sum, sum_rest, squares, squares_rest, mean, spread, least, most] = parts;
        if count == 0.0 {
            return;
        }
        let total = self.count + count;
        let distance = mean - self.mean;
        self.spread += spread + distance * distance * self.count * count / total;
        self.mean += distance * count / total;
        self.count = total;
        self.sum = self.sum.plus(LongFloat { near: sum, rest: sum_rest });
        self.squares = self.squares.plus(LongFloat { near: squares, rest: squares_rest });
        self.least = self.least.min(least);
        self.most = self.most.max(most);
    }

    fn is_empty(&self) -> bool {
        self.count == 0.0
    }

    /// Returns the count of numbers.
    pub(crate) fn count(&self) -> f64 {
        self.count
    }

    pub(crate) fn value(&self) -> Option<f64> {
        self.value_of(self.moment)
    }

    /// Returns another statistic of the same numbers.
    pub(crate) fn value_of(&self, moment: Moment) -> Option<f64> {
        if self.count == 0.0 {
            return None;
        }
        match moment {
            Moment::Sum => Some(self.sum.near),
            Moment::Average => Some(self.sum.near / self.count),
            Moment::Range => Some(self.most - self.least),
            Moment::Least => Some(self.least),
            Moment::Most => Some(self.most),
            Moment::SumOfSquares => Some(self.squares.near),
            // For a sample of one, Splunk returns 0.
            Moment::VarianceOfSample => Some(self.variance(self.count - 1.0).unwrap_or(0.0)),
            Moment::VarianceOfPopulation => self.variance(self.count),
            Moment::DeviationOfSample => {
                Some(self.variance(self.count - 1.0).unwrap_or(0.0).sqrt())
            }
            Moment::DeviationOfPopulation => self.variance(self.count).map(f64::sqrt),
            Moment::Scaled(factor) => Some(self.sum.near * factor),
        }
    }
}

/// Visits the numbers of a value.
fn each_number(value: Value<'_>, mut visit: impl FnMut(f64)) {
    match value {
        Value::Multi(values) => values.iter().filter_map(parse_number).for_each(visit),
        single => {
            if let Some(number) = single.number() {
                visit(number);
            }
        }
    }
}

/// 2^53: all whole numbers up to this size are floats, so sums that stay below are exact.
const EXACT: i128 = 1 << 53;

/// Returns a number as an integer if it is one that sums can contain without being rounded.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::float_cmp)]
fn whole(number: f64) -> Option<i128> {
    let integer = number as i64;
    (integer as f64 == number).then(|| i128::from(integer)).filter(|one| one.abs() <= EXACT)
}

/// The numbers in a sliding window. While they are whole and their squares are small, as those of counts and
/// sizes are, sums are exact, so what leaves is subtracted; otherwise, all numbers are added again for each
/// result.
#[derive(Debug)]
struct MomentWindow {
    moment: Moment,
    numbers: VecDeque<f64>,
    sum: i128,
    squares: i128,
    /// Number of the numbers that are not whole.
    others: usize,
}

impl MomentWindow {
    #[allow(clippy::cast_precision_loss)]
    fn moments(&self) -> Moments {
        let mut moments = Moments::new(self.moment);
        if self.others > 0 || self.squares > EXACT {
            self.numbers.iter().for_each(|number| moments.add_number(*number));
            return moments;
        }
        moments.count = self.numbers.len() as f64;
        moments.sum = LongFloat::from(self.sum as f64);
        moments.squares = LongFloat::from(self.squares as f64);
        moments
    }
}

impl Window for MomentWindow {
    fn enter(&mut self, row: Row<'_>, _: &[u8]) {
        let mut add = |number: f64| {
            self.numbers.push_back(number);
            match whole(number) {
                Some(integer) => {
                    self.sum += integer;
                    self.squares += integer * integer;
                }
                None => self.others += 1,
            }
        };
        row.values().for_each(|value| each_number(value, &mut add));
    }

    fn leave(&mut self, row: Row<'_>) {
        let mut drop_first = |_: f64| {
            let Some(number) = self.numbers.pop_front() else { return };
            match whole(number) {
                Some(integer) => {
                    self.sum -= integer;
                    self.squares -= integer * integer;
                }
                None => self.others -= 1,
            }
        };
        row.values().for_each(|value| each_number(value, &mut drop_first));
    }

    fn result(&self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.moments().value()))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.numbers.capacity() * size_of::<f64>()
    }
}

impl Summary for Moments {
    fn add_value(&mut self, value: Value<'_>) {
        each_number(value, |number| self.add_number(number));
    }

    /// One list, which is empty without numbers: nearly all groups of `stdev(*)` are, and nine columns would
    /// take 72 bytes for each.
    fn state_types(&self) -> Vec<DataType> {
        vec![state::list_of(DataType::Float64)]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let parts = if self.is_empty() { Vec::new() } else { self.parts().to_vec() };
        Ok(vec![state::numbers(parts)])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let mut parts = [0.0; Self::PARTS];
        let read = state::numbers_in(&states[0], row);
        parts.iter_mut().zip(read).for_each(|(part, number)| *part = number);
        self.add_parts(parts);
        Ok(())
    }

    fn has_state(states: &[ArrayRef], row: usize) -> bool {
        !state::is_empty(&states[0], row)
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.value()))
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        // The extremes of what is left are not known when a number leaves.
        if matches!(self.moment, Moment::Range | Moment::Least | Moment::Most) {
            return None;
        }
        Some(Box::new(MomentWindow {
            moment: self.moment,
            numbers: VecDeque::new(),
            sum: 0,
            squares: 0,
            others: 0,
        }))
    }

    fn states(&self, groups: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
        let numbers = groups.iter().flatten().filter(|group| !group.is_empty()).count();
        let mut lists = state::lists_of::<Float64Type>(groups.len(), numbers * Self::PARTS)?;
        for group in &groups {
            if let Some(group) = group.as_ref().filter(|group| !group.is_empty()) {
                lists.values().append_slice(&group.parts());
            }
            lists.append(true);
        }
        Ok(vec![Arc::new(lists.finish())])
    }

    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        let values = groups.iter().map(|group| group.as_ref().and_then(Self::value));
        Ok(Arc::new(values.collect::<Float64Array>()))
    }

    fn heap_size(&self) -> usize {
        0
    }

    fn emitted_size(&self) -> usize {
        if self.is_empty() { 0 } else { size_of::<[f64; Self::PARTS]>() }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::ColumnarValue;

    use super::*;
    use crate::column::Argument;

    fn moments(numbers: &[f64]) -> Moments {
        let mut moments = Moments::new(Moment::DeviationOfSample);
        numbers.iter().for_each(|number| moments.add_number(*number));
        moments
    }

    #[test]
    fn deviations_do_not_depend_on_how_numbers_are_split() {
        let number = |at: i32| 1_000.0 + f64::from(at * 7_919 % 1_000) / 10.0;
        let numbers: Vec<f64> = (0..300).map(number).collect();
        let whole = moments(&numbers).value();
        for at in [1, 2, 7, 100, 299] {
            let (first, second) = numbers.split_at(at);
            let mut merged = moments(second);
            merged.add_parts(moments(first).parts());
            assert_eq!(merged.value(), whole, "split at {at}");
        }
    }

    #[test]
    fn a_window_has_the_moments_of_its_numbers() {
        const LENGTH: usize = 5;
        let mut numbers: Vec<f64> = (0_i32..200).map(|at| f64::from(at * 7_919 % 1_000)).collect();
        // Equal numbers, fractions, numbers whose squares are rounded, and some that are none.
        numbers.extend([3.0; 8]);
        numbers.extend([0.1, 0.2, 0.1, 1e9, 1e9, 1e160, f64::INFINITY, 2.0, f64::NAN, -0.0, 0.0]);
        numbers.extend((0_i32..20).map(f64::from));
        let rows = numbers.len();
        let array: ArrayRef = Arc::new(Float64Array::from(numbers.clone()));
        let arguments = [Argument::new(&ColumnarValue::Array(array)).expect("numbers are values")];
        let event = |row: usize| Row { arguments: &arguments, row };
        for moment in [
            Moment::Sum,
            Moment::Average,
            Moment::SumOfSquares,
            Moment::VarianceOfSample,
            Moment::DeviationOfPopulation,
        ] {
            let mut window = Moments::new(moment).window().expect("sums follow a window");
            for row in 0..rows {
                window.enter(event(row), &[]);
                if row >= LENGTH {
                    window.leave(event(row - LENGTH));
                }
                let mut expected = Moments::new(moment);
                let first = (row + 1).saturating_sub(LENGTH);
                numbers[first..=row].iter().for_each(|number| expected.add_number(*number));
                let expected = expected.value();
                let Ok(ScalarValue::Float64(found)) = window.result() else {
                    panic!("{moment:?} is not a number")
                };
                let are_undefined =
                    found.is_some_and(f64::is_nan) && expected.is_some_and(f64::is_nan);
                assert!(found == expected || are_undefined, "{moment:?} of row {row}: {found:?}");
            }
        }
    }

    #[test]
    fn equal_and_huge_numbers_have_a_deviation() {
        assert_eq!(moments(&[0.1; 1_000]).value(), Some(0.0));
        let huge = moments(&[1e160, 1e160, 1e160 + 1e150]).value();
        assert!(huge.is_some_and(|deviation| (1e149..1e150).contains(&deviation)), "{huge:?}");
    }
}
