//! The sum or the mean of the floating-point numbers in a window.
//!
//! Guarantees: the result has the digits that adding the numbers one by one, the oldest first, gives: a
//! number that has left leaves no error. While all numbers are whole, as counts, sizes and latencies in
//! milliseconds are, a result takes the same time for any window; otherwise, the numbers are added again for
//! each result.

use std::collections::VecDeque;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions_aggregate::average::Avg;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::Accumulator;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;

/// 2^53: all whole numbers up to this size are floating-point numbers, so sums that stay below are exact.
const EXACT: i64 = 1 << 53;

/// The numbers of a window.
#[derive(Debug)]
pub(super) struct Floats {
    /// Whether the result is the mean rather than the sum.
    mean: bool,
    numbers: VecDeque<f64>,
    /// The sum of the whole numbers.
    sum: i128,
    /// The sum of their absolute values.
    size: i128,
    /// Number of the other numbers.
    others: usize,
}

impl Floats {
    /// Returns an empty window of an aggregate; `None` if it is another function, or over another type.
    pub(super) fn of(aggregate: &AggregateFunctionExpr) -> Option<Self> {
        if aggregate.is_distinct() || *aggregate.field().data_type() != DataType::Float64 {
            return None;
        }
        let function = aggregate.fun().inner();
        let mean = function.downcast_ref::<Avg>().is_some();
        (mean || function.downcast_ref::<Sum>().is_some()).then(|| Self::new(mean))
    }

    fn new(mean: bool) -> Self {
        Self { mean, numbers: VecDeque::new(), sum: 0, size: 0, others: 0 }
    }

    /// Returns the number of numbers that a result adds.
    pub(super) fn work(&self) -> usize {
        if self.is_exact() { 1 } else { self.numbers.len() }
    }

    fn is_exact(&self) -> bool {
        self.others == 0 && self.size <= i128::from(EXACT)
    }

    #[allow(clippy::cast_precision_loss)]
    fn total(&self) -> f64 {
        match self.is_exact() {
            true => self.sum as f64,
            false => self.numbers.iter().fold(0.0, |sum, number| sum + number),
        }
    }
}

/// Returns a number as an integer if it is one that sums can contain without being rounded.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::float_cmp)]
fn whole(number: f64) -> Option<i128> {
    let integer = number as i64;
    (integer as f64 == number && integer.unsigned_abs() <= EXACT.unsigned_abs())
        .then(|| i128::from(integer))
}

fn read(values: &[ArrayRef]) -> Result<&Float64Array> {
    match values {
        [values] if *values.data_type() == DataType::Float64 => {
            Ok(values.as_primitive::<Float64Type>())
        }
        _ => internal_err!("a sum of floating-point numbers has one argument of their type"),
    }
}

impl Accumulator for Floats {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for number in read(values)?.iter().flatten() {
            self.numbers.push_back(number);
            match whole(number) {
                Some(integer) => {
                    self.sum += integer;
                    self.size += integer.abs();
                }
                None => self.others += 1,
            }
        }
        Ok(())
    }

    /// Numbers leave in the order in which they entered.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = read(values)?;
        for _ in values.null_count()..values.len() {
            let Some(number) = self.numbers.pop_front() else { break };
            match whole(number) {
                Some(integer) => {
                    self.sum -= integer;
                    self.size -= integer.abs();
                }
                None => self.others -= 1,
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    #[allow(clippy::cast_precision_loss)]
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let count = self.numbers.len();
        let total = (count > 0).then(|| self.total());
        Ok(ScalarValue::Float64(match self.mean {
            true => total.map(|total| total / count as f64),
            false => total,
        }))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a window is not merged")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a window is not merged")
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.numbers.capacity() * size_of::<f64>()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Returns the sum of each three numbers in a row.
    fn sums(numbers: &[f64]) -> Vec<f64> {
        let one = |number: f64| [Arc::new(Float64Array::from(vec![number])) as ArrayRef];
        let mut window = Floats::new(false);
        let mut sums = Vec::new();
        for (row, number) in numbers.iter().enumerate() {
            window.update_batch(&one(*number)).unwrap();
            if row >= 3 {
                window.retract_batch(&one(numbers[row - 3])).unwrap();
            }
            if let ScalarValue::Float64(Some(sum)) = window.evaluate().unwrap() {
                sums.push(sum);
            }
        }
        sums
    }

    #[test]
    fn numbers_that_have_left_leave_no_error() {
        let found = sums(&[1e17, 17.0, 17.0, 17.0, 0.1, 0.2, 0.3, -0.0]);
        assert_eq!(found[3..], [51.0, 17.0 + 17.0 + 0.1, 17.0 + 0.1 + 0.2, 0.1 + 0.2 + 0.3, 0.5]);
        assert_eq!(sums(&[f64::INFINITY, 1.0, 2.0, 3.0])[3], 6.0);
        assert!(sums(&[f64::NAN, 1.0, 2.0])[2].is_nan());
    }

    #[test]
    fn whole_numbers_are_not_added_again() {
        let mut window = Floats::new(true);
        let numbers = [f64::from(u32::MAX), 2.0, 3.0, -4.0];
        window.update_batch(&[Arc::new(Float64Array::from(numbers.to_vec()))]).unwrap();
        assert_eq!(window.work(), 1);
        assert_eq!(window.evaluate().unwrap(), ScalarValue::Float64(Some(1_073_741_824.0)));
        window
            .update_batch(&[Arc::new(Float64Array::from(vec![9_007_199_254_740_992.0]))])
            .unwrap();
        assert_eq!(window.work(), 5);
    }
}
