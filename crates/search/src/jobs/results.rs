//! What a job found, and pages of it as text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StringViewArray};
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

    /// Rows `offset .. offset + count`.
    pub(crate) fn part(&self, offset: usize, count: usize) -> Vec<RecordBatch> {
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

    /// Rows as texts. For events, fields that no command named are extracted here, for these rows only.
    pub(crate) fn page_of(&self, batches: &[RecordBatch]) -> Page {
        let mut page = self.stored_page(batches);
        if self.kind == ResultKind::Events {
            self.extract_rest(batches, &mut page);
        }
        page
    }

    /// The fields of [`Self::page_of`], without their values.
    pub(crate) fn fields_of(&self, batches: &[RecordBatch]) -> Vec<String> {
        let mut fields = FieldNames::of(self.stored_fields());
        if self.kind == ResultKind::Events {
            self.extract(batches, &mut |_, name, _| {
                fields.place(name);
            });
        }
        fields.names
    }

    fn visible(&self) -> impl Iterator<Item = &OutputColumn> {
        self.columns.iter().filter(|column| !column.absent && !column.name.starts_with("__"))
    }

    fn stored_fields(&self) -> Vec<String> {
        self.visible().map(|column| column.name.clone()).collect()
    }

    fn stored_page(&self, batches: &[RecordBatch]) -> Page {
        let visible: Vec<&OutputColumn> = self.visible().collect();
        let mut rows = Vec::new();
        for batch in batches {
            let schema = batch.schema();
            let names = schema.fields().iter().map(|field| field.name().as_str());
            let known: HashMap<&str, &Arc<dyn Array>> = names.zip(batch.columns()).collect();
            let arrays: Vec<_> =
                visible.iter().map(|column| known.get(column.name.as_str()).copied()).collect();
            for row in 0..batch.num_rows() {
                let cell = |(column, array): (&&OutputColumn, &Option<&Arc<dyn Array>>)| {
                    array.and_then(|array| self.renderer.value(&column.name, array, row))
                };
                rows.push(visible.iter().zip(&arrays).map(cell).collect());
            }
        }
        Page { fields: self.stored_fields(), rows }
    }

    fn extract_rest(&self, batches: &[RecordBatch], page: &mut Page) {
        let mut fields = FieldNames::of(std::mem::take(&mut page.fields));
        let known = fields.names.len();
        self.extract(batches, &mut |row, name, value| {
            let place = fields.place(name);
            // A column of the plan is the truth about its field.
            if place >= known {
                add_value(&mut page.rows[row], place, value.into_owned());
            }
        });
        let width = fields.names.len();
        for cells in &mut page.rows {
            cells.resize(width, None);
        }
        page.fields = fields.names;
    }

    /// Hands out every field that extraction finds in events and that is to be shown, with the number of
    /// its row.
    fn extract(&self, batches: &[RecordBatch], found: &mut dyn FnMut(usize, &str, Cow<'_, str>)) {
        let mut number = 0;
        for batch in batches {
            let text =
                |name: &str| batch.column_by_name(name).map(|column| column.as_string_view());
            let Some(raw) = text(columns::RAW) else { return };
            let [host, source, sourcetype] = columns::ORIGIN.map(text);
            for row in 0..batch.num_rows() {
                let [host, source, sourcetype] = [host, source, sourcetype]
                    .map(|column: Option<&StringViewArray>| column.map_or("", |c| c.value(row)));
                let rules = self.knowledge.field_rules(sourcetype, source, host);
                let _ = rules.extract(raw.value(row), &mut |name, value| {
                    if self.filter.admits(name) {
                        found(number, name, value);
                    }
                });
                number += 1;
            }
        }
    }
}

/// Names in the order in which they turn up, each once.
struct FieldNames {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl FieldNames {
    fn of(names: Vec<String>) -> Self {
        let places = names.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect();
        Self { names, places }
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.names.push(name.to_owned());
        self.places.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
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
