//! Sums of numbers and what follows from them: `sum`, `avg`, `range`, `stdev`, `var`, `sumsq`, and
//! the rates of `timechart`.
//!
//! Guarantees: variance is accumulated around the mean (Chan's method), so large offsets cost no
//! precision.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use eval::value::parse_number;

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::column::Value;

/// What is asked of the numbers.
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

/// Count, sum, mean and so on of the numbers so far.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    moment: Moment,
    count: f64,
    sum: f64,
    mean: f64,
    /// Sum of squared distances from the mean.
    spread: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Moments {
    pub(crate) fn new(moment: Moment) -> Self {
        Self {
            moment,
            count: 0.0,
            sum: 0.0,
            mean: 0.0,
            spread: 0.0,
            squares: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        }
    }

    pub(crate) fn add_number(&mut self, number: f64) {
        self.count += 1.0;
        self.sum += number;
        let distance = number - self.mean;
        self.mean += distance / self.count;
        self.spread += distance * (number - self.mean);
        self.squares += number * number;
        self.least = self.least.min(number);
        self.most = self.most.max(number);
    }

    fn variance(&self, divisor: f64) -> Option<f64> {
        (divisor > 0.0).then(|| (self.spread / divisor).max(0.0))
    }

    /// How many numbers [`Self::parts`] gives.
    pub(crate) const PARTS: usize = 7;

    /// All there is to know, in an order of its own.
    pub(crate) fn parts(&self) -> [f64; Self::PARTS] {
        [self.count, self.sum, self.mean, self.spread, self.squares, self.least, self.most]
    }

    /// Takes in the parts of others.
    pub(crate) fn add_parts(&mut self, parts: [f64; Self::PARTS]) {
        let [count, sum, mean, spread, squares, least, most] = parts;
        if count == 0.0 {
            return;
        }
        let total = self.count + count;
        let distance = mean - self.mean;
        self.spread += spread + distance * distance * self.count * count / total;
        self.mean += distance * count / total;
        self.count = total;
        self.sum += sum;
        self.squares += squares;
        self.least = self.least.min(least);
        self.most = self.most.max(most);
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> f64 {
        self.count
    }

    pub(crate) fn value(&self) -> Option<f64> {
        self.value_of(self.moment)
    }

    /// Another moment of the same numbers.
    pub(crate) fn value_of(&self, moment: Moment) -> Option<f64> {
        if self.count == 0.0 {
            return None;
        }
        match moment {
            Moment::Sum => Some(self.sum),
            Moment::Average => Some(self.sum / self.count),
            Moment::Range => Some(self.most - self.least),
            Moment::Least => Some(self.least),
            Moment::Most => Some(self.most),
            Moment::SumOfSquares => Some(self.squares),
            // A sample of one has no spread: Splunk says 0.
            Moment::VarianceOfSample => Some(self.variance(self.count - 1.0).unwrap_or(0.0)),
            Moment::VarianceOfPopulation => self.variance(self.count),
            Moment::DeviationOfSample => {
                Some(self.variance(self.count - 1.0).unwrap_or(0.0).sqrt())
            }
            Moment::DeviationOfPopulation => self.variance(self.count).map(f64::sqrt),
            Moment::Scaled(factor) => Some(self.sum * factor),
        }
    }
}

impl Summary for Moments {
    fn add_value(&mut self, value: Value<'_>) {
        match value {
            Value::Multi(values) => {
                values.iter().filter_map(parse_number).for_each(|number| self.add_number(number));
            }
            single => {
                if let Some(number) = single.number() {
                    self.add_number(number);
                }
            }
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Float64; Self::PARTS]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.parts().map(|part| ScalarValue::Float64(Some(part))).to_vec())
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let parts = std::array::from_fn(|at| state::number(&states[at], row).unwrap_or_default());
        self.add_parts(parts);
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.value()))
    }

    fn heap_size(&self) -> usize {
        0
    }
}
