//! `fieldsummary`: the number of values of a field, the values, and statistics of its numbers.
//!
//! Guarantees: exact for fields with up to [`COUNTED`] distinct values. For fields with more, the number of
//! distinct values is an estimate, and the counts of values that first occurred late may be too low: the
//! memory per field is bounded, however many events there are.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use eval::value::NumberText;
use hashbrown::HashMap;

use crate::Typed;
use crate::aggregates::distinct::Estimate;
use crate::aggregates::moments::{Moment, Moments};
use crate::aggregates::state;
use crate::aggregates::summary::{Summary, SummaryFunction};
use crate::column::Value;
use crate::types::ValueType;

/// Number of distinct values that are counted exactly.
const COUNTED: usize = 10_000;
/// Number of state columns before those of the estimate and the numbers.
const OWN: usize = 4;
/// Number of state columns of the estimate.
const OF_ESTIMATE: usize = 2;

/// The statistics that [`field_values`] returns before the values, in this order; a text is empty if there is
/// no such statistic.
pub const FIELD_NUMBERS: [&str; 7] =
    ["count", "distinct_count", "max", "mean", "min", "numeric_count", "stdev"];

/// Returns the aggregate: [`FIELD_NUMBERS`], then alternating values and counts, the most frequent first, at
/// most `listed` plus one; null for a field without values.
#[must_use]
pub fn field_values(value: Typed, listed: usize) -> Typed {
    let parameters = listed.to_string();
    let empty = FieldValues::new(listed);
    let function = SummaryFunction::new("field_values", parameters, ValueType::Multi, empty);
    function.call(vec![value.expr], &[])
}

/// The values so far.
#[derive(Debug, Clone)]
pub(crate) struct FieldValues {
    listed: usize,
    count: i64,
    counts: HashMap<String, i64>,
    /// Size of the texts in `counts` in bytes.
    bytes: usize,
    /// Whether rare values were dropped.
    is_cut: bool,
    distinct: Estimate,
    numbers: Moments,
}

impl FieldValues {
    fn new(listed: usize) -> Self {
        Self {
            listed,
            count: 0,
            counts: HashMap::new(),
            bytes: 0,
            is_cut: false,
            distinct: Estimate::new(false),
            numbers: Moments::new(Moment::Average),
        }
    }

    fn most(&self) -> usize {
        COUNTED.max(self.listed.saturating_mul(2))
    }

    fn add_text(&mut self, text: &str, count: i64) {
        if let Some(held) = self.counts.get_mut(text) {
            *held = held.saturating_add(count);
            return;
        }
        self.distinct.add_text(text);
        self.bytes += text.len();
        self.counts.insert(text.to_owned(), count);
        if self.counts.len() > self.most() {
            self.drop_rare();
        }
    }

    /// Keeps the more frequent half, but at least one value more than `listed`, so that the reader sees that
    /// the list is not exact.
    fn drop_rare(&mut self) {
        self.is_cut = true;
        let mut counts: Vec<(String, i64)> = self.counts.drain().collect();
        let half = (counts.len() / 2).max(self.listed.saturating_add(1)).min(counts.len() - 1);
        counts.select_nth_unstable_by(half, |a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(half);
        self.bytes = counts.iter().map(|(text, _)| text.len()).sum();
        self.counts.extend(counts);
    }

    #[allow(clippy::cast_possible_truncation)]
    fn distinct(&self) -> i64 {
        match self.is_cut {
            true => self.distinct.estimate().round() as i64,
            false => i64::try_from(self.counts.len()).unwrap_or(i64::MAX),
        }
    }
}

impl Summary for FieldValues {
    fn add_value(&mut self, value: Value<'_>) {
        let mut count = 0;
        value.each_text(|text| {
            count += 1;
            self.add_text(text, 1);
        });
        self.count += count;
        self.numbers.add_value(value);
    }

    fn state_types(&self) -> Vec<DataType> {
        let own = [
            state::list_of(DataType::Utf8View),
            state::list_of(DataType::Int64),
            DataType::Int64,
            DataType::Int64,
        ];
        let mut types = own.to_vec();
        types.extend(self.distinct.state_types());
        types.extend(self.numbers.state_types());
        types
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (texts, counts): (Vec<_>, Vec<_>) = self.counts.drain().unzip();
        let mut state = vec![
            state::texts(texts),
            state::integers(counts),
            ScalarValue::Int64(Some(self.count)),
            ScalarValue::Int64(Some(i64::from(self.is_cut))),
        ];
        state.extend(self.distinct.state()?);
        state.extend(self.numbers.state()?);
        Ok(state)
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let mut counts = Vec::new();
        state::each_integer(&states[1], row, |count| counts.push(count));
        let mut counts = counts.into_iter();
        state::each_text(&states[0], row, |text| self.add_text(text, counts.next().unwrap_or(0)));
        self.count += state::integer(&states[2], row).unwrap_or(0);
        self.is_cut |= state::integer(&states[3], row).unwrap_or(0) != 0;
        self.distinct.merge(&states[OWN..OWN + OF_ESTIMATE], row)?;
        self.numbers.merge(&states[OWN + OF_ESTIMATE..], row)
    }

    fn result(&mut self) -> Result<ScalarValue> {
        if self.count == 0 {
            return Ok(state::multivalue(Vec::new()));
        }
        let distinct = self.distinct();
        let mut counts: Vec<(String, i64)> = self.counts.drain().collect();
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(self.listed.saturating_add(1));
        let moment = |moment| self.numbers.value_of(moment);
        let number = |number: Option<f64>| {
            number.map(|number| NumberText::float(number).to_string()).unwrap_or_default()
        };
        let mut result = vec![
            self.count.to_string(),
            distinct.to_string(),
            number(moment(Moment::Most)),
            number(moment(Moment::Average)),
            number(moment(Moment::Least)),
            number(Some(self.numbers.count())),
            number(moment(Moment::DeviationOfSample)),
        ];
        for (text, count) in counts {
            result.push(text);
            result.push(count.to_string());
        }
        Ok(state::multivalue(result))
    }

    fn heap_size(&self) -> usize {
        let texts = self.counts.capacity() * size_of::<(String, i64)>() + self.bytes;
        texts + self.distinct.heap_size()
    }

    fn emitted_size(&self) -> usize {
        // The general conversion joins columns from parts, so they exist twice for a moment.
        2 * (self.heap_size() + self.numbers.emitted_size())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::AsArray;

    use super::*;

    fn result(mut values: FieldValues) -> Vec<String> {
        let ScalarValue::List(list) = values.result().unwrap() else { panic!("a list") };
        let texts = list.value(0);
        texts.as_string_view().iter().flatten().map(str::to_owned).collect()
    }

    fn add(values: &mut FieldValues, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| values.add_value(Value::Text(&text)));
    }

    #[test]
    fn columns_count_twice_while_they_are_joined() {
        let mut values = FieldValues::new(2);
        add(&mut values, (0..100).map(|number| number.to_string()));
        let numbers = Moments::PARTS * size_of::<f64>();
        assert_eq!(values.emitted_size(), 2 * (values.heap_size() + numbers));
    }

    #[test]
    fn parts_of_the_events_give_the_result_of_all() {
        let texts = |range: std::ops::Range<i32>| range.map(|at| (at % 7).to_string());
        let mut all = FieldValues::new(2);
        add(&mut all, texts(0..100));
        let mut merged = FieldValues::new(2);
        for range in [0..31, 31..90, 90..100] {
            let mut part = FieldValues::new(2);
            add(&mut part, texts(range));
            let state = part.state().unwrap();
            let state: Vec<ArrayRef> = state.iter().map(|one| one.to_array().unwrap()).collect();
            merged.merge(&state, 0).unwrap();
        }
        let (all, merged) = (result(all), result(merged));
        // The last digit of the standard deviation depends on the order.
        assert_eq!((&all[..6], &all[7..]), (&merged[..6], &merged[7..]));
        assert!(
            all[6].starts_with("2.02197523189178") && merged[6].starts_with("2.02197523189178")
        );
        assert_eq!(all[..6], ["100", "7", "6", "2.95", "0", "100"]);
        assert_eq!(all[7..], ["0", "15", "1", "15", "2", "14"]);
    }

    #[test]
    fn a_field_with_very_many_values_takes_bounded_memory() {
        let mut values = FieldValues::new(1);
        add(&mut values, (0..50_000).map(|at| format!("id{at}")));
        add(&mut values, (0..9).map(|_| "often".to_owned()));
        assert!(values.counts.len() <= COUNTED);
        let result = result(values);
        assert_eq!(result[0], "50009");
        let distinct: f64 = result[1].parse().unwrap();
        assert!((distinct / 50_001.0 - 1.0).abs() < 0.08, "{distinct}");
        assert_eq!(result[7..9], ["often", "9"]);
    }

    #[test]
    fn a_list_that_is_cut_has_one_value_too_many() {
        let listed = COUNTED / 2;
        let mut values = FieldValues::new(listed);
        add(&mut values, (0..=COUNTED).map(|at| format!("id{at}")));
        assert!(values.is_cut);
        assert_eq!(result(values).len(), FIELD_NUMBERS.len() + 2 * (listed + 1));
    }

    #[test]
    fn without_values_there_is_no_result() {
        let mut none = FieldValues::new(1);
        assert!(none.result().unwrap().is_null());
        let states: Vec<ArrayRef> =
            none.state().unwrap().iter().map(|one| one.to_array().unwrap()).collect();
        none.merge(&states, 0).unwrap();
        assert!(none.result().unwrap().is_null());
    }
}
