//! One value of a group by position: `first`, `last`, `earliest`, `latest`; also `rate`.
//!
//! Guarantees: the selected value depends only on sort keys, not on the order in which events arrive. Without
//! sort keys, the order of arrival is used.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::column::{Row, Value};
use crate::types::{ArrowType, ValueType};

/// The value with the least key so far.
#[derive(Debug, Clone)]
pub(crate) struct Pick {
    kind: ValueType,
    /// Whether a later value wins if the keys are equal.
    later: bool,
    key: Vec<u8>,
    value: Option<ScalarValue>,
}

impl Pick {
    pub(crate) fn new(kind: ValueType, later: bool) -> Self {
        Self { kind, later, key: Vec::new(), value: None }
    }

    fn wins(&self, key: &[u8]) -> bool {
        match key.cmp(&self.key) {
            _ if self.value.is_none() => true,
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.later,
            std::cmp::Ordering::Greater => false,
        }
    }

    fn take_key(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    fn nothing(&self) -> Result<ScalarValue> {
        ScalarValue::try_from(&self.kind.data_type())
    }
}

fn scalar(kind: ValueType, value: Value<'_>) -> ScalarValue {
    match kind {
        ValueType::Multi => {
            let mut texts = Vec::new();
            value.each_text(|text| texts.push(text.to_owned()));
            state::texts(texts)
        }
        ValueType::Integer => ScalarValue::Int64(value.whole()),
        ValueType::Float => ScalarValue::Float64(value.number()),
        _ => ScalarValue::Utf8View(value.text().map(|text| text.to_string())),
    }
}

impl Summary for Pick {
    const WHOLE_EVENTS: bool = true;
    const NEEDS_VALUE: bool = true;

    fn add(&mut self, row: Row<'_>, key: &[u8]) {
        let value = row.value(0);
        if !value.is_null() && self.wins(key) {
            self.take_key(key);
            self.value = Some(scalar(self.kind, value));
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![self.kind.data_type(), DataType::Binary]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(match self.value.take() {
            Some(value) => {
                vec![value, ScalarValue::Binary(Some(std::mem::take(&mut self.key)))]
            }
            None => vec![self.nothing()?, ScalarValue::Binary(None)],
        })
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let Some(key) = state::bytes(&states[1], row) else { return Ok(()) };
        if self.wins(key) {
            self.take_key(key);
            self.value = Some(ScalarValue::try_from_array(&states[0], row)?);
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        self.value.clone().map_or_else(|| self.nothing(), Ok)
    }

    fn heap_size(&self) -> usize {
        let value = self.value.as_ref().map_or(0, |value| value.size() - size_of::<ScalarValue>());
        self.key.capacity() + value
    }
}

/// `rate`: the growth of a counter per second, from its earliest to its latest value. If an earlier value
/// exceeds the latest one, the counter was reset once, at its maximum.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rate {
    /// Time and value of the earliest event.
    earliest: Option<(f64, f64)>,
    latest: Option<(f64, f64)>,
    greatest: Option<f64>,
}

impl Rate {
    pub(crate) fn add_point(&mut self, time: f64, value: f64) {
        if self.earliest.is_none_or(|(held, _)| time < held) {
            self.earliest = Some((time, value));
        }
        if self.latest.is_none_or(|(held, _)| time > held) {
            self.latest = Some((time, value));
        }
        self.greatest = Some(self.greatest.map_or(value, |held| held.max(value)));
    }

    /// Number of elements of [`Self::parts`].
    pub(crate) const PARTS: usize = 5;

    /// Returns earliest time and value, latest time and value, and the maximum value.
    pub(crate) fn parts(&self) -> Option<[f64; Self::PARTS]> {
        let ((from, first), (to, last)) = (self.earliest?, self.latest?);
        Some([from, first, to, last, self.greatest?])
    }

    /// Adds the state of another instance.
    pub(crate) fn add_parts(&mut self, parts: &[f64]) {
        if let [from, first, to, last, greatest] = *parts {
            self.add_point(from, first);
            self.add_point(to, last);
            self.greatest = self.greatest.map(|held| held.max(greatest));
        }
    }

    /// Returns the growth per second; `None` without two different times.
    pub(crate) fn value(&self) -> Option<f64> {
        match (self.earliest, self.latest, self.greatest) {
            (Some((from, first)), Some((to, last)), Some(greatest)) if to > from => {
                let grown = if greatest > last { greatest - first + last } else { last - first };
                Some(grown / (to - from))
            }
            _ => None,
        }
    }
}

impl Summary for Rate {
    const WHOLE_EVENTS: bool = true;
    const NEEDS_VALUE: bool = true;

    fn add(&mut self, row: Row<'_>, _: &[u8]) {
        if let (Some(value), Some(time)) = (row.number(0), row.number(1)) {
            self.add_point(time, value);
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Float64; 5]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let parts = [self.earliest, self.latest].into_iter();
        let parts =
            parts.flat_map(|point| [point.map(|(time, _)| time), point.map(|(_, value)| value)]);
        Ok(parts.chain([self.greatest]).map(ScalarValue::Float64).collect())
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        for at in [0, 2] {
            let time = state::number(&states[at], row);
            if let (Some(time), Some(value)) = (time, state::number(&states[at + 1], row)) {
                self.add_point(time, value);
            }
        }
        if let (Some(held), Some(greatest)) = (self.greatest, state::number(&states[4], row)) {
            self.greatest = Some(held.max(greatest));
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.value()))
    }

    fn heap_size(&self) -> usize {
        0
    }
}
