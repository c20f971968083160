//! `mode`: the most frequent value; of equally frequent ones, the first in text order.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use hashbrown::HashMap;

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::column::Value;

/// The number of occurrences of each text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mode {
    counts: HashMap<String, i64>,
    bytes: usize,
}

impl Mode {
    fn add_text(&mut self, text: &str, count: i64) {
        if let Some(held) = self.counts.get_mut(text) {
            *held = held.saturating_add(count);
            return;
        }
        self.bytes += text.len();
        self.counts.insert(text.to_owned(), count);
    }
}

impl Summary for Mode {
    fn add_value(&mut self, value: Value<'_>) {
        value.each_text(|text| self.add_text(text, 1));
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![state::list_of(DataType::Utf8View), state::list_of(DataType::Int64)]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (texts, counts): (Vec<_>, Vec<_>) = self.counts.drain().unzip();
        Ok(vec![state::texts(texts), state::integers(counts)])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let mut counts = Vec::new();
        state::each_integer(&states[1], row, |count| counts.push(count));
        let mut counts = counts.into_iter();
        state::each_text(&states[0], row, |text| self.add_text(text, counts.next().unwrap_or(0)));
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        let best = self.counts.iter().max_by(|one, two| one.1.cmp(two.1).then(two.0.cmp(one.0)));
        Ok(ScalarValue::Utf8View(best.map(|(text, _)| text.clone())))
    }

    fn heap_size(&self) -> usize {
        self.counts.capacity() * size_of::<(String, i64)>() + self.bytes
    }
}
