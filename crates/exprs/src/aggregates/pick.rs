//! One value of a group by position: `first`, `last`, `earliest`, `latest`; also `rate`.
//!
//! Guarantees: the selected value depends only on sort keys, not on the order in which events arrive. Without
//! sort keys, the order of arrival is used.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, ListBuilder, StringViewBuilder,
};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue};

use crate::aggregates::state;
use crate::aggregates::summary::{Summary, Window};
use crate::column::{Argument, Row, Value};
use crate::types::{ArrowType, ValueType};

/// The value with the least key so far.
#[derive(Debug, Clone)]
pub(crate) struct Pick {
    kind: ValueType,
    /// Whether a later value wins if the keys are equal.
    later: bool,
    key: Vec<u8>,
    value: Option<Picked>,
}

/// A value of the type of the aggregate.
#[derive(Debug, Clone)]
enum Picked {
    /// A value that has no meaning in the type.
    Null,
    Integer(i64),
    Float(f64),
    Text(Box<str>),
    Texts(Box<[Box<str>]>),
}

impl Picked {
    fn of(kind: ValueType, value: Value<'_>) -> Self {
        match kind {
            ValueType::Multi => {
                let mut texts: Vec<Box<str>> = Vec::new();
                value.each_text(|text| texts.push(text.into()));
                Self::Texts(texts.into_boxed_slice())
            }
            ValueType::Integer => value.whole().map_or(Self::Null, Self::Integer),
            ValueType::Float => value.number().map_or(Self::Null, Self::Float),
            _ => value.text().map_or(Self::Null, |text| Self::Text(Box::from(&*text))),
        }
    }

    /// Returns the value in a row of a state column.
    fn read(kind: ValueType, column: &ArrayRef, row: usize) -> Self {
        if column.is_null(row) {
            return Self::Null;
        }
        match kind {
            ValueType::Multi => {
                let mut texts: Vec<Box<str>> = Vec::new();
                state::each_text(column, row, |text| texts.push(text.into()));
                Self::Texts(texts.into_boxed_slice())
            }
            ValueType::Integer => Self::Integer(column.as_primitive::<Int64Type>().value(row)),
            ValueType::Float => Self::Float(column.as_primitive::<Float64Type>().value(row)),
            _ => Self::Text(column.as_string_view().value(row).into()),
        }
    }

    fn heap_size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Texts(texts) => texts.iter().map(|text| size_of::<Box<str>>() + text.len()).sum(),
            Self::Null | Self::Integer(_) | Self::Float(_) => 0,
        }
    }
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

    fn scalar(&self) -> Result<ScalarValue> {
        scalar_of(self.kind, self.value.as_ref())
    }
}

fn scalar_of(kind: ValueType, value: Option<&Picked>) -> Result<ScalarValue> {
    Ok(match value {
        None | Some(Picked::Null) => ScalarValue::try_from(&kind.data_type())?,
        Some(Picked::Integer(number)) => ScalarValue::Int64(Some(*number)),
        Some(Picked::Float(number)) => ScalarValue::Float64(Some(*number)),
        Some(Picked::Text(text)) => ScalarValue::Utf8View(Some(text.to_string())),
        Some(Picked::Texts(texts)) => state::texts(texts.iter()),
    })
}

/// A value that is selected now, or when those before it have left.
#[derive(Debug)]
struct Candidate {
    /// The number of the event among those with a value.
    place: u64,
    key: Box<[u8]>,
    /// The values of the event's batch, which is also held by the rows of the window: a copy of each value
    /// could take much more memory.
    argument: Argument,
    row: usize,
}

/// A sliding window: the candidates in the order in which they entered, the selected one first. A value that
/// an event behind it beats is none: it leaves first, too.
#[derive(Debug)]
struct PickWindow {
    kind: ValueType,
    later: bool,
    candidates: VecDeque<Candidate>,
    /// Number of events with a value that have entered.
    entered: u64,
    /// Number of them that have left.
    left: u64,
}

impl Window for PickWindow {
    fn enter(&mut self, row: Row<'_>, key: &[u8]) {
        let argument = row.arguments.first().filter(|argument| !argument.get(row.row).is_null());
        let Some(argument) = argument else { return };
        while let Some(last) = self.candidates.back() {
            let is_beaten = match key.cmp(&last.key) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => self.later,
                std::cmp::Ordering::Greater => false,
            };
            if !is_beaten {
                break;
            }
            self.candidates.pop_back();
        }
        self.candidates.push_back(Candidate {
            place: self.entered,
            key: key.into(),
            argument: argument.clone(),
            row: row.row,
        });
        self.entered += 1;
    }

    fn leave(&mut self, row: Row<'_>) {
        if row.value(0).is_null() {
            return;
        }
        if self.candidates.front().is_some_and(|first| first.place == self.left) {
            self.candidates.pop_front();
        }
        self.left += 1;
    }

    fn result(&self) -> Result<ScalarValue> {
        let first = self.candidates.front();
        let value = first.map(|first| Picked::of(self.kind, first.argument.get(first.row)));
        scalar_of(self.kind, value.as_ref())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.candidates.capacity() * size_of::<Candidate>()
    }
}

/// Returns the values of groups as a column.
fn column_of(kind: ValueType, groups: &[Option<Pick>]) -> ArrayRef {
    let values = groups.iter().map(|group| group.as_ref()?.value.as_ref());
    match kind {
        ValueType::Integer => {
            let number = |value: Option<&Picked>| match value {
                Some(Picked::Integer(number)) => Some(*number),
                _ => None,
            };
            Arc::new(values.map(number).collect::<Int64Array>())
        }
        ValueType::Float => {
            let number = |value: Option<&Picked>| match value {
                Some(Picked::Float(number)) => Some(*number),
                _ => None,
            };
            Arc::new(values.map(number).collect::<Float64Array>())
        }
        ValueType::Multi => {
            let mut lists = ListBuilder::with_capacity(StringViewBuilder::new(), groups.len());
            for value in values {
                let Some(Picked::Texts(texts)) = value else {
                    lists.append(false);
                    continue;
                };
                texts.iter().for_each(|text| lists.values().append_value(text));
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
        _ => {
            let mut texts = StringViewBuilder::with_capacity(groups.len());
            for value in values {
                match value {
                    Some(Picked::Text(text)) => texts.append_value(text),
                    _ => texts.append_null(),
                }
            }
            Arc::new(texts.finish())
        }
    }
}

impl Summary for Pick {
    const WHOLE_EVENTS: bool = true;
    const NEEDS_VALUE: bool = true;

    fn add(&mut self, row: Row<'_>, key: &[u8]) {
        let value = row.value(0);
        if !value.is_null() && self.wins(key) {
            self.take_key(key);
            self.value = Some(Picked::of(self.kind, value));
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![self.kind.data_type(), DataType::Binary]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let value = self.scalar()?;
        let key = self.value.take().map(|_| std::mem::take(&mut self.key));
        Ok(vec![value, ScalarValue::Binary(key)])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let Some(key) = state::bytes(&states[1], row) else { return Ok(()) };
        if self.wins(key) {
            self.take_key(key);
            self.value = Some(Picked::read(self.kind, &states[0], row));
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        self.scalar()
    }

    fn window(&self) -> Option<Box<dyn Window>> {
        Some(Box::new(PickWindow {
            kind: self.kind,
            later: self.later,
            candidates: VecDeque::new(),
            entered: 0,
            left: 0,
        }))
    }

    fn states(&self, groups: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
        let picked = || groups.iter().map(|group| group.as_ref().filter(|one| one.value.is_some()));
        let bytes = picked().flatten().map(|group| group.key.len()).sum();
        let mut keys = state::binaries(groups.len(), bytes)?;
        picked().for_each(|group| keys.append_option(group.map(|group| &group.key)));
        Ok(vec![column_of(self.kind, &groups), Arc::new(keys.finish())])
    }

    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        Ok(column_of(self.kind, &groups))
    }

    fn heap_size(&self) -> usize {
        self.key.capacity() + self.value.as_ref().map_or(0, Picked::heap_size)
    }

    /// The columns are written while all groups still exist.
    fn emitted_size(&self) -> usize {
        2 * self.heap_size()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use datafusion::logical_expr::ColumnarValue;

    use super::*;

    #[test]
    fn a_window_selects_what_its_events_do_one_by_one() {
        const LENGTH: usize = 7;
        // A linear congruential generator: many keys are equal, and some events have no value.
        let mut seed = 1_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        let mut keys: Vec<[u8; 1]> = Vec::new();
        let mut values: Vec<Option<i64>> = Vec::new();
        for row in 0..300 {
            keys.push([u8::try_from(random(5)).unwrap()]);
            values.push((random(4) > 0).then_some(row));
        }
        let array: ArrayRef = Arc::new(Int64Array::from(values));
        let arguments = [Argument::new(&ColumnarValue::Array(array)).unwrap()];
        let event = |row: usize| Row { arguments: &arguments, row };
        for later in [false, true] {
            let empty = Pick::new(ValueType::Integer, later);
            let mut window = empty.window().unwrap();
            for (row, key) in keys.iter().enumerate() {
                window.enter(event(row), key);
                if row >= LENGTH {
                    window.leave(event(row - LENGTH));
                }
                let mut expected = empty.clone();
                let first = (row + 1).saturating_sub(LENGTH);
                (first..=row).for_each(|at| expected.add(event(at), &keys[at]));
                assert_eq!(window.result().unwrap(), expected.result().unwrap(), "row {row}");
            }
        }
    }
}
