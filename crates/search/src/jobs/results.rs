//! What a job found, and pages of it as text.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use knowledge::Knowledge;
use model::columns;
use plan::{FieldFilter, OutputColumn, ResultKind};

use crate::render::{Renderer, Value};

/// Rows as texts.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Field names, in order.
    pub fields: Vec<String>,
    /// One value per field and row.
    pub rows: Vec<Vec<Option<Value>>>,
}

/// The rows a job keeps.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) kind: ResultKind,
    pub(crate) columns: Vec<OutputColumn>,
    pub(crate) filter: FieldFilter,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) renderer: Renderer,
}

impl Results {
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    /// Rows `offset .. offset + count` as texts. For events, fields that no command named are
    /// extracted here, for these rows only.
    pub(crate) fn page(&self, offset: usize, count: usize) -> Page {
        let batches = self.slice(offset, count);
        let mut page = self.stored_page(&batches);
        if self.kind == ResultKind::Events {
            self.extract_rest(&batches, &mut page);
        }
        page
    }

    fn slice(&self, offset: usize, count: usize) -> Vec<RecordBatch> {
        let mut skip = offset;
        let mut left = count;
        let mut batches = Vec::new();
        for batch in &self.batches {
            let rows = batch.num_rows();
            if skip >= rows {
                skip -= rows;
                continue;
            }
            let take = left.min(rows - skip);
            if take == 0 {
                break;
            }
            batches.push(batch.slice(skip, take));
            left -= take;
            skip = 0;
        }
        batches
    }

    fn stored_page(&self, batches: &[RecordBatch]) -> Page {
        let visible: Vec<&OutputColumn> =
            self.columns.iter().filter(|column| !column.name.starts_with("__")).collect();
        let mut rows = Vec::new();
        for batch in batches {
            let arrays: Vec<_> =
                visible.iter().map(|column| batch.column_by_name(&column.name)).collect();
            for row in 0..batch.num_rows() {
                let cell = |(column, array): (&&OutputColumn, &Option<&Arc<dyn Array>>)| {
                    array.and_then(|array| self.renderer.value(&column.name, array, row))
                };
                rows.push(visible.iter().zip(&arrays).map(cell).collect());
            }
        }
        Page { fields: visible.iter().map(|column| column.name.clone()).collect(), rows }
    }

    fn extract_rest(&self, batches: &[RecordBatch], page: &mut Page) {
        let known = page.fields.len();
        let mut at: BTreeMap<String, usize> =
            page.fields.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect();
        let mut row_number = 0;
        for batch in batches {
            let text =
                |name: &str| batch.column_by_name(name).map(|column| column.as_string_view());
            let Some(raw) = text(columns::RAW) else { return };
            let [host, source, sourcetype] =
                [columns::HOST, columns::SOURCE, columns::SOURCETYPE].map(text);
            for row in 0..batch.num_rows() {
                let value = |column: Option<&'_ arrow::array::StringViewArray>| {
                    column.map_or(String::new(), |column| column.value(row).to_owned())
                };
                let rules =
                    self.knowledge.field_rules(&value(sourcetype), &value(source), &value(host));
                let cells = &mut page.rows[row_number];
                let _ = rules.extract(raw.value(row), &mut |name, found| {
                    if !self.filter.admits(name) {
                        return;
                    }
                    let slot = *at.entry(name.to_owned()).or_insert_with(|| {
                        page.fields.push(name.to_owned());
                        page.fields.len() - 1
                    });
                    // A column of the plan is the truth about its field.
                    if slot >= known {
                        add_value(cells, slot, found.into_owned());
                    }
                });
                row_number += 1;
            }
        }
        let width = page.fields.len();
        for cells in &mut page.rows {
            cells.resize(width, None);
        }
    }
}

fn add_value(cells: &mut Vec<Option<Value>>, slot: usize, text: String) {
    if cells.len() <= slot {
        cells.resize(slot + 1, None);
    }
    cells[slot] = Some(match cells[slot].take() {
        None => Value::One(text),
        Some(Value::One(first)) => Value::Many(vec![first, text]),
        Some(Value::Many(mut texts)) => {
            texts.push(text);
            Value::Many(texts)
        }
    });
}
