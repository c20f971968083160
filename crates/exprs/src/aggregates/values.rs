//! `values`: the distinct texts in byte order; `list`: all texts in the order of events.
//!
//! Guarantees: values that a limit omits are reported.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanBuilder, ListBuilder, StringViewBuilder,
};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err};

use crate::Report;
use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::column::{Row, Value};

/// The distinct texts so far.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    texts: BTreeSet<String>,
    bytes: usize,
    limit: usize,
    report: Report,
}

impl Values {
    /// Creates an empty set with at most `limit` values in the result; 0 for no limit.
    pub(crate) fn new(limit: usize, report: Report) -> Self {
        Self { texts: BTreeSet::new(), bytes: 0, limit, report }
    }

    /// Returns the number of values in the result. Reports omitted values.
    fn most(&self) -> usize {
        let most = if self.limit == 0 { usize::MAX } else { self.limit };
        if self.texts.len() > most {
            self.report.say(&format!(
                "values() kept the first {most} different values of a group; raise maxvalues to keep more"
            ));
        }
        most
    }

    fn add_text(&mut self, text: &str) {
        if !self.texts.contains(text) {
            self.bytes += text.len();
            self.texts.insert(text.to_owned());
        }
    }
}

impl Summary for Values {
    fn add_value(&mut self, value: Value<'_>) {
        value.each_text(|text| self.add_text(text));
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![state::list_of(DataType::Utf8View)]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![state::texts(std::mem::take(&mut self.texts))])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        state::each_text(&states[0], row, |text| self.add_text(text));
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        let most = self.most();
        Ok(state::multivalue(self.texts.iter().take(most).cloned().collect()))
    }

    fn has_state(states: &[ArrayRef], row: usize) -> bool {
        let texts = states[0].as_list::<i32>();
        texts.is_valid(row) && texts.value_length(row) > 0
    }

    fn states(&self, groups: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
        let texts = groups.into_iter().map(|group| group.map(|group| group.texts));
        Ok(vec![state::lists_of_texts(texts)])
    }

    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        let texts = groups.into_iter().map(|group| {
            let group = group?;
            let most = group.most();
            Some(group.texts.into_iter().take(most))
        });
        Ok(state::lists_of_texts(texts))
    }

    fn heap_size(&self) -> usize {
        self.texts.len() * (size_of::<String>() + size_of::<usize>()) + self.bytes
    }

    fn emitted_size(&self) -> usize {
        self.texts.len() * size_of::<u128>() + self.bytes
    }
}

/// The first texts so far, in the order of events.
#[derive(Debug, Clone)]
pub(crate) struct Listing {
    items: Vec<(Box<[u8]>, Box<str>)>,
    /// Size of the keys and texts of `items` in bytes.
    bytes: usize,
    limit: usize,
    cut: bool,
    report: Report,
}

impl Listing {
    /// Creates an empty list with at most `limit` values; 0 for no limit.
    pub(crate) fn new(limit: usize, report: Report) -> Self {
        Self { items: Vec::new(), bytes: 0, limit, cut: false, report }
    }

    fn most(&self) -> usize {
        if self.limit == 0 { usize::MAX } else { self.limit }
    }

    fn add_text(&mut self, key: &[u8], text: &str) {
        if self.items.is_empty() {
            // Most groups have only one value, and there may be many groups.
            self.items.reserve_exact(1);
        }
        self.items.push((key.into(), text.into()));
        self.bytes += key.len() + text.len();
        if self.items.len() >= self.most().saturating_mul(2).max(16) {
            self.shrink();
        }
    }

    /// Sorts the items and drops those beyond the limit. The sort is stable.
    fn shrink(&mut self) {
        self.items.sort_by(|one, two| one.0.cmp(&two.0));
        let most = self.most();
        if self.items.len() > most {
            let past = self.items.drain(most..);
            self.bytes -= past.map(|(key, text)| key.len() + text.len()).sum::<usize>();
            self.cut = true;
        }
    }

    /// Returns the sorted items up to the limit.
    fn finish(&mut self) -> Vec<(Box<[u8]>, Box<str>)> {
        self.shrink();
        self.bytes = 0;
        std::mem::take(&mut self.items)
    }

    /// Reports omitted values.
    fn report_cut(&self) {
        if self.cut {
            let most = self.limit;
            self.report.say(&format!(
                "list() kept the first {most} values of a group; raise list_maxsize to keep more"
            ));
        }
    }
}

impl Summary for Listing {
    const WHOLE_EVENTS: bool = true;
    const NEEDS_VALUE: bool = true;

    fn add(&mut self, row: Row<'_>, key: &[u8]) {
        row.value(0).each_text(|text| self.add_text(key, text));
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![
            state::list_of(DataType::Utf8View),
            state::list_of(DataType::Binary),
            DataType::Boolean,
        ]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (keys, texts): (Vec<_>, Vec<_>) = self.finish().into_iter().unzip();
        let keys: Vec<_> =
            keys.into_iter().map(|key| ScalarValue::Binary(Some(key.into_vec()))).collect();
        let keys = ScalarValue::List(ScalarValue::new_list(&keys, &DataType::Binary, true));
        Ok(vec![state::texts(texts), keys, ScalarValue::Boolean(Some(self.cut))])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let lists = states[1].as_list::<i32>();
        if lists.is_valid(row) {
            let keys = lists.value(row);
            let mut keys = keys.as_binary::<i32>().iter().flatten();
            state::each_text(&states[0], row, |text| {
                self.add_text(keys.next().unwrap_or_default(), text);
            });
        }
        self.cut |= states[2].as_boolean().value(row);
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        self.shrink();
        self.report_cut();
        Ok(state::multivalue(self.items.iter().map(|(_, text)| text.to_string()).collect()))
    }

    fn has_state(states: &[ArrayRef], row: usize) -> bool {
        let texts = states[0].as_list::<i32>();
        (texts.is_valid(row) && texts.value_length(row) > 0) || states[2].as_boolean().value(row)
    }

    fn states(&self, groups: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
        let items = groups.iter().flatten().flat_map(|group| &group.items);
        let bytes: usize = items.map(|(key, _)| key.len()).sum();
        if i32::try_from(bytes).is_err() {
            return exec_err!(
                "the order of the values of list() takes {bytes} bytes, more than 2 GiB"
            );
        }
        let mut texts = ListBuilder::new(StringViewBuilder::new());
        let mut keys = ListBuilder::new(BinaryBuilder::new());
        let mut cut = BooleanBuilder::with_capacity(groups.len());
        for mut group in groups {
            for (key, text) in group.as_mut().map(Self::finish).unwrap_or_default() {
                keys.values().append_value(key);
                texts.values().append_value(text);
            }
            keys.append(true);
            texts.append(true);
            cut.append_value(group.is_some_and(|group| group.cut));
        }
        Ok(vec![Arc::new(texts.finish()), Arc::new(keys.finish()), Arc::new(cut.finish())])
    }

    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        let texts = groups.into_iter().map(|group| {
            let mut group = group?;
            let items = group.finish();
            group.report_cut();
            Some(items.into_iter().map(|(_, text)| text))
        });
        Ok(state::lists_of_texts(texts))
    }

    fn heap_size(&self) -> usize {
        self.items.capacity() * size_of::<(Box<[u8]>, Box<str>)>() + self.bytes
    }

    fn emitted_size(&self) -> usize {
        self.items.len() * (size_of::<u128>() + size_of::<i32>()) + self.bytes
    }
}
