//! Sums of numbers and what follows from them: `sum`, `avg`, `range`, `stdev`, `var`, `sumsq`, and
//! the rates of `timechart`.
//!
//! Guarantees: variance is accumulated around the mean (Chan's method), so large offsets cost no
//! precision.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::expr::column::Value;
use crate::value::parse_number;

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

    fn add_number(&mut self, number: f64) {
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

    fn value(&self) -> Option<f64> {
        if self.count == 0.0 {
            return None;
        }
        match self.moment {
            Moment::Sum => Some(self.sum),
            Moment::Average => Some(self.sum / self.count),
            Moment::Range => Some(self.most - self.least),
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
        vec![DataType::Float64; 7]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let parts =
            [self.count, self.sum, self.mean, self.spread, self.squares, self.least, self.most];
        Ok(parts.map(|part| ScalarValue::Float64(Some(part))).to_vec())
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let part = |at: usize| state::number(&states[at], row).unwrap_or_default();
        let count = part(0);
        if count == 0.0 {
            return Ok(());
        }
        let total = self.count + count;
        let distance = part(2) - self.mean;
        self.spread += part(3) + distance * distance * self.count * count / total;
        self.mean += distance * count / total;
        self.count = total;
        self.sum += part(1);
        self.squares += part(4);
        self.least = self.least.min(part(5));
        self.most = self.most.max(part(6));
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.value()))
    }

    fn heap_size(&self) -> usize {
        0
    }
}
