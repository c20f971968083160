//! `mode`: the most frequent value; of equally frequent ones, the first in text order.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListBuilder, StringViewBuilder};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use hashbrown::HashMap;

use crate::aggregates::state;
use crate::aggregates::summary::{FEW_VALUES, Summary};
use crate::column::Value;

/// Bytes of a text of a list in memory besides its own.
const TEXT: usize = 16;
/// Bytes of a text in the columns of a state besides its own: its view and its count.
const EMITTED: usize = size_of::<u128>() + size_of::<i64>();

/// The number of occurrences of each text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mode {
    counts: Counts,
    bytes: usize,
}

#[derive(Debug, Clone)]
enum Counts {
    Few(Vec<(Box<str>, i64)>),
    Many(HashMap<Box<str>, i64>),
}

impl Default for Counts {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Counts {
    fn get_mut(&mut self, text: &str) -> Option<&mut i64> {
        match self {
            Self::Few(counts) => {
                let found = counts.iter_mut().find(|(known, _)| **known == *text);
                found.map(|(_, count)| count)
            }
            Self::Many(counts) => counts.get_mut(text),
        }
    }

    /// Adds a text that is not there.
    fn insert(&mut self, text: &str, count: i64) {
        match self {
            Self::Many(counts) => {
                counts.insert(text.into(), count);
            }
            Self::Few(counts) if counts.len() < FEW_VALUES => {
                if counts.is_empty() {
                    counts.reserve_exact(1);
                }
                counts.push((text.into(), count));
            }
            Self::Few(counts) => {
                let listed = std::mem::take(counts);
                *self = Self::Many(listed.into_iter().chain([(text.into(), count)]).collect());
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Few(counts) => counts.len(),
            Self::Many(counts) => counts.len(),
        }
    }

    fn each<'a>(&'a self, mut visit: impl FnMut(&'a str, i64)) {
        match self {
            Self::Few(counts) => counts.iter().for_each(|(text, count)| visit(text, *count)),
            Self::Many(counts) => counts.iter().for_each(|(text, count)| visit(text, *count)),
        }
    }
}

impl Mode {
    fn add_text(&mut self, text: &str, count: i64) {
        if let Some(held) = self.counts.get_mut(text) {
            *held = held.saturating_add(count);
            return;
        }
        self.bytes += text.len();
        self.counts.insert(text, count);
    }

    fn best(&self) -> Option<&str> {
        let mut best: Option<(&str, i64)> = None;
        self.counts.each(|text, count| {
            let is_better = |(known, most): (&str, i64)| (count, known) > (most, text);
            if best.is_none_or(is_better) {
                best = Some((text, count));
            }
        });
        best.map(|(text, _)| text)
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
        let (mut texts, mut counts) = (Vec::new(), Vec::new());
        self.counts.each(|text, count| {
            texts.push(text);
            counts.push(count);
        });
        let state = vec![state::texts(texts), state::integers(counts)];
        *self = Self::default();
        Ok(state)
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let mut counts = state::integers_in(&states[1], row);
        state::each_text(&states[0], row, |text| self.add_text(text, counts.next().unwrap_or(0)));
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Utf8View(self.best().map(str::to_owned)))
    }

    fn states(&self, groups: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
        let total = groups.iter().flatten().map(|group| group.counts.len()).sum();
        let mut counts = state::lists_of::<Int64Type>(groups.len(), total)?;
        let texts = StringViewBuilder::with_capacity(total);
        let mut texts = ListBuilder::with_capacity(texts, groups.len());
        for group in groups {
            if let Some(group) = group {
                group.counts.each(|text, count| {
                    texts.values().append_value(text);
                    counts.values().append_value(count);
                });
            }
            texts.append(true);
            counts.append(true);
        }
        Ok(vec![Arc::new(texts.finish()), Arc::new(counts.finish())])
    }

    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        let mut results = StringViewBuilder::with_capacity(groups.len());
        for group in groups {
            results.append_option(group.as_ref().and_then(Self::best));
        }
        Ok(Arc::new(results.finish()))
    }

    fn heap_size(&self) -> usize {
        let entries = match &self.counts {
            Counts::Few(counts) => {
                counts.capacity() * size_of::<(Box<str>, i64)>() + counts.len() * TEXT
            }
            // Without BY, nothing spills, and a search over its limit ends: what the allocator takes for
            // each of millions of texts does not count.
            Counts::Many(counts) => counts.allocation_size(),
        };
        entries + self.bytes
    }

    fn emitted_size(&self) -> usize {
        self.counts.len() * EMITTED + self.bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn mode(texts: &[&str]) -> Mode {
        let mut summary = Mode::default();
        texts.iter().for_each(|text| summary.add_text(text, 1));
        summary
    }

    #[test]
    fn counts_of_two_states_add_up_when_a_list_becomes_a_table() {
        let mut all = mode(&["a", "b", "c"]);
        let parts: [(&[&str], usize, &str); 3] = [
            (&["c", "d"], 4, "c"),
            (&["e", "d", "d", "a"], 5, "d"),
            (&["f", "e", "e", "e"], 6, "e"),
        ];
        for (part, texts, best) in parts {
            let state = mode(part).state().unwrap();
            let state: Vec<ArrayRef> =
                state.iter().map(|value| value.to_array().unwrap()).collect();
            all.merge(&state, 0).unwrap();
            assert_eq!((all.counts.len(), all.best()), (texts, Some(best)), "{part:?}");
        }
        let mut counts = Vec::new();
        all.counts.each(|text, count| counts.push((text, count)));
        counts.sort_unstable();
        assert_eq!(counts, [("a", 2), ("b", 1), ("c", 2), ("d", 3), ("e", 4), ("f", 1)]);
        assert_eq!(all.bytes, 6);
    }

    #[test]
    fn a_table_takes_no_more_than_32_bytes_for_each_text_that_it_has_room_for() {
        // A table with 2,048 places is full with 1,792 entries.
        let texts: Vec<String> = (0..1_792).map(|row| format!("{row:08}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert!(mode(&texts).heap_size() <= 1_792 * (32 + 8));
    }
}
