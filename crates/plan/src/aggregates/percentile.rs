//! `median`, `perc<N>`, `upperperc<N>` and `exactperc<N>`.
//!
//! Guarantees: percentiles interpolate between the two nearest values (method R-7, as in Splunk's
//! documentation: the 95th of 1..10 is 9.55). Up to 10,000 values per group they are exact; beyond,
//! values are merged into a t-digest whose error is smallest at the ends (about 0.1 % of rank in the
//! middle). `exactperc` keeps every value, whatever it costs.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::expr::column::{Row, Value};
use crate::value::parse_number;

/// How many points are kept before neighbours are merged.
const MOST_POINTS: usize = 10_000;
/// The finer, the more points remain after merging.
const FINENESS: f64 = 500.0;

/// Values, or means of neighbouring values with how many they stand for.
#[derive(Debug, Clone)]
pub(crate) struct Percentile {
    /// Between 0 and 100.
    percent: f64,
    exact: bool,
    points: Vec<(f64, f64)>,
    merged: bool,
}

impl Percentile {
    pub(crate) fn new(percent: f64, exact: bool) -> Self {
        Self { percent, exact, points: Vec::new(), merged: false }
    }

    fn add_point(&mut self, value: f64, weight: f64) {
        self.points.push((value, weight));
        self.merged |= weight > 1.0;
        if !self.exact && self.points.len() > MOST_POINTS {
            self.merge_neighbours();
        }
    }

    fn sort(&mut self) {
        self.points.sort_by(|one, two| one.0.total_cmp(&two.0));
    }

    /// Merges neighbours as long as a point stands for few values, fewer towards the ends.
    fn merge_neighbours(&mut self) {
        self.sort();
        let total: f64 = self.points.iter().map(|point| point.1).sum();
        let mut merged: Vec<(f64, f64)> = Vec::new();
        let mut before = 0.0;
        for (value, weight) in self.points.drain(..) {
            if let Some(last) = merged.last_mut() {
                let together = last.1 + weight;
                let middle = (before + together / 2.0) / total;
                if together <= (4.0 * total * middle * (1.0 - middle) / FINENESS).max(1.0) {
                    last.0 += (value - last.0) * weight / together;
                    last.1 = together;
                    continue;
                }
                before += last.1;
            }
            merged.push((value, weight));
        }
        self.points = merged;
        self.merged = true;
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
    fn value(&mut self) -> Option<f64> {
        self.sort();
        let points = &self.points;
        let last = points.last()?;
        if !self.merged {
            let place = self.percent * (points.len() - 1) as f64 / 100.0;
            let (below, fraction) = (place.floor(), place.fract());
            let low = points[below as usize].0;
            let high = points.get(below as usize + 1).map_or(low, |point| point.0);
            return Some(low + (high - low) * fraction);
        }
        let total: f64 = points.iter().map(|point| point.1).sum();
        let wanted = self.percent * (total - 1.0) / 100.0;
        // A point stands in the middle of the values it stands for.
        let mut before = 0.0;
        let mut previous: Option<(f64, f64)> = None;
        for (value, weight) in points {
            let place = before + (weight - 1.0) / 2.0;
            if place >= wanted {
                return Some(match previous {
                    Some((low, low_place)) if place > low_place => {
                        low + (value - low) * (wanted - low_place) / (place - low_place)
                    }
                    _ => *value,
                });
            }
            previous = Some((*value, place));
            before += weight;
        }
        Some(last.0)
    }
}

impl Summary for Percentile {
    fn add(&mut self, row: Row<'_>, _: &[u8]) {
        match row.value(0) {
            Value::Multi(values) => {
                values.iter().filter_map(parse_number).for_each(|value| self.add_point(value, 1.0));
            }
            single => {
                if let Some(value) = single.number() {
                    self.add_point(value, 1.0);
                }
            }
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![state::list_of(DataType::Float64); 2]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (values, weights): (Vec<_>, Vec<_>) = self.points.drain(..).unzip();
        Ok(vec![state::numbers(&values), state::numbers(&weights)])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let values = state::read_numbers(&states[0], row);
        let weights = state::read_numbers(&states[1], row);
        values.into_iter().zip(weights).for_each(|(value, weight)| self.add_point(value, weight));
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.value()))
    }

    fn heap_size(&self) -> usize {
        self.points.capacity() * size_of::<(f64, f64)>()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Percentile;

    fn percentile(percent: f64, values: impl IntoIterator<Item = f64>) -> Option<f64> {
        let mut summary = Percentile::new(percent, false);
        values.into_iter().for_each(|value| summary.add_point(value, 1.0));
        summary.value()
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
    fn many_values_are_close() {
        let scattered = (0..300_000_u64).map(|at| (at * 7_919 % 300_007) as f64);
        for percent in [1.0, 10.0, 50.0, 90.0, 99.0, 99.9] {
            let found = percentile(percent, scattered.clone()).unwrap();
            let wanted = percent / 100.0 * 300_000.0;
            assert!((found - wanted).abs() < 600.0, "{percent}: {found} for {wanted}");
        }
    }
}
