//! The result of a job, and pages of it as text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use arrow::datatypes::TimestampMicrosecondType;
use knowledge::{Knowledge, Wanted};
use model::columns;
use parking_lot::Mutex;
use plan::{FieldFilter, OutputColumn, ResultKind, ShownFields};
use tokio::sync::OnceCell;

use crate::render::{Renderer, Value};
use crate::scan::{added_to, each_sent};
use crate::timeline::Timeline;

/// A page of rows as texts.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Field names, in order.
    pub fields: Vec<String>,
    /// One value per field and row.
    pub rows: Vec<Vec<Option<Value>>>,
}

/// Returns rows `offset .. offset + count` of batches.
pub(super) fn part_of(batches: &[RecordBatch], offset: usize, count: usize) -> Vec<RecordBatch> {
    let mut skip = offset;
    let mut left = count;
    let mut part = Vec::new();
    for batch in batches {
        let rows = batch.num_rows();
        if skip >= rows {
            skip -= rows;
            continue;
        }
        let take = left.min(rows - skip);
        if take == 0 {
            break;
        }
        part.push(batch.slice(skip, take));
        left -= take;
        skip = 0;
    }
    part
}

/// The rows that a job keeps.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) kind: ResultKind,
    pub(crate) columns: Vec<OutputColumn>,
    pub(crate) filter: FieldFilter,
    pub(crate) batches: Vec<RecordBatch>,
    /// Whether the events are displayed as their text, which all of them have.
    pub(crate) only_raw: bool,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) renderer: Renderer,
    pub(crate) known: KnownFields,
    /// The fields that the configuration adds to displayed events, once they are planned.
    pub(crate) shown: OnceLock<Option<Arc<ShownFields>>>,
}

impl Results {
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    /// Returns the timeline of the result if commands after the filter have dropped or added events, so that
    /// it differs from the timeline of matching events. `None` if it does not differ, or if an event has lost
    /// its time.
    pub(super) fn timeline(&self, matching: &Timeline) -> Option<Timeline> {
        if matching.events() == self.rows() as u64 {
            return None;
        }
        let mut found = matching.emptied();
        for batch in &self.batches {
            let times = batch.column_by_name(columns::TIME)?;
            let times = times.as_primitive_opt::<TimestampMicrosecondType>()?;
            if times.null_count() > 0 {
                return None;
            }
            found.add(times.values().iter().copied());
        }
        Some(found)
    }

    /// Returns rows `offset .. offset + count`.
    pub(crate) fn part(&self, offset: usize, count: usize) -> Vec<RecordBatch> {
        part_of(&self.batches, offset, count)
    }

    /// Renders rows as texts, with this renderer. For events, fields that no command named are extracted and
    /// computed here, for these rows only.
    pub(crate) fn page_of(&self, batches: &[RecordBatch], renderer: &Renderer) -> Page {
        let mut page = self.stored_page(batches, renderer);
        if self.has_others() {
            self.extract_rest(batches, renderer, &mut page);
        }
        page
    }

    /// Returns the fields of [`Self::page_of`], without their values.
    pub(crate) fn fields_of(&self, batches: &[RecordBatch]) -> Vec<String> {
        let mut fields = FieldNames::of(self.stored_fields());
        if self.has_others() {
            self.extract(batches, &mut |_, name, _| {
                fields.place(name);
            });
            self.compute(batches, &mut |_, name, values| {
                if values.null_count() < values.len() {
                    fields.place(name);
                }
            });
        }
        fields.names
    }

    /// Returns whether events may have other fields than the columns.
    pub(crate) fn has_others(&self) -> bool {
        let are_events = self.kind == ResultKind::Events && !self.only_raw;
        are_events && has_others(&self.filter, &self.columns)
    }

    fn visible(&self) -> impl Iterator<Item = &OutputColumn> {
        let only_raw = self.only_raw;
        let is_written = move |name: &str| !only_raw || name == columns::RAW;
        self.columns.iter().filter(move |column| is_displayed(column) && is_written(&column.name))
    }

    fn stored_fields(&self) -> Vec<String> {
        self.visible().map(|column| column.name.clone()).collect()
    }

    fn stored_page(&self, batches: &[RecordBatch], renderer: &Renderer) -> Page {
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
                    array.and_then(|array| renderer.value(&column.name, array, row))
                };
                rows.push(visible.iter().zip(&arrays).map(cell).collect());
            }
        }
        Page { fields: self.stored_fields(), rows }
    }

    fn extract_rest(&self, batches: &[RecordBatch], renderer: &Renderer, page: &mut Page) {
        let mut fields = FieldNames::of(std::mem::take(&mut page.fields));
        let known = fields.names.len();
        self.extract(batches, &mut |row, name, value| {
            let place = fields.place(name);
            // A column of the plan takes precedence over the extracted field.
            if place >= known {
                add_value(&mut page.rows[row], place, value.into_owned());
            }
        });
        self.compute(batches, &mut |first, name, values| {
            if values.null_count() == values.len() && !fields.places.contains_key(name) {
                return;
            }
            let place = fields.place(name);
            if place < known {
                return;
            }
            for at in 0..values.len() {
                let cells = &mut page.rows[first + at];
                if cells.len() <= place {
                    cells.resize(place + 1, None);
                }
                // Fields of the configuration take precedence over fields in the text.
                cells[place] = renderer.value(name, values, at);
            }
        });
        let width = fields.names.len();
        for cells in &mut page.rows {
            cells.resize(width, None);
        }
        page.fields = fields.names;
    }

    /// Visits every displayed field that is extracted from events, with the number of its row.
    fn extract(&self, batches: &[RecordBatch], found: &mut dyn FnMut(usize, &str, Cow<'_, str>)) {
        let mut number = 0;
        let others = others(&self.filter, &self.columns);
        let mut prepared: HashMap<u64, Wanted> = HashMap::new();
        for batch in batches {
            // A command may have changed the type of these columns to numbers or lists, which select no
            // rules.
            let text = |name: &str| {
                batch.column_by_name(name).and_then(|column| column.as_string_view_opt())
            };
            let Some(raw) = text(columns::RAW) else { return };
            let sent = text(columns::FIELDS);
            let [host, source, sourcetype] = columns::ORIGIN.map(text);
            for row in 0..batch.num_rows() {
                let [host, source, sourcetype] = [host, source, sourcetype]
                    .map(|column: Option<&StringViewArray>| column.map_or("", |c| c.value(row)));
                let mut named: Vec<String> = Vec::new();
                if let Some(sent) = sent.filter(|sent| sent.is_valid(row)) {
                    each_sent(sent.value(row), &mut |name, value| {
                        if self.filter.admits(name) {
                            found(number, name, Cow::Owned(value.to_owned()));
                        }
                        named.push(name.to_owned());
                    });
                }
                let rules = self.knowledge.field_rules(sourcetype, source, host);
                let mut take = |name: &str, value: Cow<'_, str>| {
                    // An indexed field hides an extracted one of the same name.
                    if self.filter.admits(name) && !named.iter().any(|sent| sent == name) {
                        found(number, name, value);
                    }
                };
                let _ = match &others {
                    Some(names) => {
                        let wanted = prepared
                            .entry(rules.fingerprint())
                            .or_insert_with(|| rules.wanted(names.iter().copied()));
                        rules.extract_wanted(raw.value(row), wanted, &mut take)
                    }
                    None => rules.extract(raw.value(row), &mut take),
                };
                number += 1;
            }
        }
    }
}

/// A callback for columns of displayed events: the number of the first row, the name and the values.
type TakeColumn<'t> = dyn FnMut(usize, &str, &ArrayRef) + 't;

impl Results {
    /// Visits the columns of displayed fields that the configuration adds to events.
    fn compute(&self, batches: &[RecordBatch], take: &mut TakeColumn<'_>) {
        let Some(shown) = self.shown.get().and_then(Option::as_ref) else { return };
        let mut first = 0;
        for batch in batches {
            if let Some(added) = added_to(batch, shown, &self.knowledge) {
                for (field, values) in added.schema_ref().fields().iter().zip(added.columns()) {
                    if self.filter.admits(field.name()) {
                        take(first, field.name(), values);
                    }
                }
            }
            first += batch.num_rows();
        }
    }
}

/// Returns whether events with these columns may have other fields that the filter admits.
pub(crate) fn has_others(filter: &FieldFilter, columns: &[OutputColumn]) -> bool {
    others(filter, columns).is_none_or(|names| !names.is_empty())
}

/// Returns the names of the fields that events may have besides these columns; `None` if their names are not
/// known. A column that is absent from the result does not count: events may have the field, nevertheless.
fn others<'f>(filter: &'f FieldFilter, columns: &[OutputColumn]) -> Option<Vec<&'f str>> {
    let names = filter.names()?;
    let visible = columns.iter().filter(|column| is_displayed(column));
    let known: HashSet<&str> = visible.map(|column| column.name.as_str()).collect();
    Some(names.into_iter().filter(|name| !known.contains(name)).collect())
}

/// Returns whether the values of a column are displayed.
fn is_displayed(column: &OutputColumn) -> bool {
    let is_inner = column.name.starts_with("__") || column.name == columns::FIELDS;
    !column.absent && !is_inner
}

/// Returns whether the text of each of these events can be displayed.
pub(crate) fn have_raw(shown: &[OutputColumn], batches: &[RecordBatch]) -> bool {
    let has_texts = |batch: &RecordBatch| {
        let column = batch.column_by_name(columns::RAW);
        let texts = column.and_then(|column| column.as_string_view_opt());
        texts.is_some_and(|texts| texts.null_count() == 0)
    };
    let is_raw = |column: &OutputColumn| !column.absent && column.name == columns::RAW;
    shown.iter().any(is_raw) && batches.iter().all(has_texts)
}

/// Removes the columns without values from a result: a search may look for thousands of fields.
pub(super) fn present(
    columns: Vec<OutputColumn>,
    batches: Vec<RecordBatch>,
) -> (Vec<OutputColumn>, Vec<RecordBatch>) {
    let absent: HashSet<&str> =
        columns.iter().filter(|column| column.absent).map(|column| column.name.as_str()).collect();
    if absent.is_empty() {
        return (columns, batches);
    }
    let without = |batch: RecordBatch| {
        let schema = batch.schema();
        let kept: Vec<usize> = (0..schema.fields().len())
            .filter(|at| !absent.contains(schema.field(*at).name().as_str()))
            .collect();
        // The indexes are those of its own columns, so they are within bounds.
        batch.project(&kept).unwrap_or(batch)
    };
    let batches = batches.into_iter().map(without).collect();
    let kept = columns.iter().filter(|column| !column.absent).cloned().collect();
    (kept, batches)
}

/// Number of row ranges whose field names are cached: clients request all rows, or page by page.
const REMEMBERED: usize = 4;

/// The field names of some rows, computed at most once.
pub(crate) type NamesOnce = Arc<OnceCell<Arc<[String]>>>;

/// A cache of the field names of recently requested row ranges. Finding them reads every event, so concurrent
/// requests for the same rows share one computation.
#[derive(Debug, Default)]
pub(crate) struct KnownFields(Mutex<VecDeque<((usize, usize), NamesOnce)>>);

impl KnownFields {
    /// Returns the cell for the rows `offset .. offset + count`, evicting the least recently used range.
    pub(crate) fn of(&self, offset: usize, count: usize) -> NamesOnce {
        let mut ranges = self.0.lock();
        let range = (offset, count);
        let known = ranges.iter().position(|(known, _)| *known == range);
        let names =
            known.and_then(|at| ranges.remove(at)).map_or_else(Arc::default, |(_, names)| names);
        ranges.truncate(REMEMBERED - 1);
        ranges.push_front((range, Arc::clone(&names)));
        names
    }
}

/// Collects distinct names in the order of their first occurrence.
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
        Some(several) => {
            let mut texts = several.into_texts();
            texts.push(text);
            Value::Many(texts)
        }
    });
}
