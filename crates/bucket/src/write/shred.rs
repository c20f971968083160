//! The fields of a bucket: collects all values row by row, then decides which fields become columns.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use hashbrown::HashTable;
use model::{ColumnKind, FieldSummary};

use super::WriteOptions;
use super::column::Source;
use super::values::{Data, Places, Plan, Value, Values};
use crate::hot::{FIELDS, is_reserved};
use crate::segment::{hash, same};
use crate::texts::NOTED;

/// The indexed and extracted values of a field.
#[derive(Debug)]
struct FieldValues {
    name: Box<str>,
    indexed: Values,
    extracted: Values,
    /// Number of rows with both an indexed and an extracted value.
    both: u64,
    /// The source types of rows with an extracted value; more than [`NOTED`] are too many to be noted. `None`
    /// if earlier rows may have had a value that was dropped.
    sourcetypes: Option<Vec<u32>>,
}

impl FieldValues {
    fn note(&mut self, sourcetype: u32) {
        let Some(known) = &mut self.sourcetypes else { return };
        if known.len() <= NOTED && !known.contains(&sourcetype) {
            known.push(sourcetype);
        }
    }
}

/// Collects field values row by row.
#[derive(Debug)]
pub(crate) struct Shredder {
    fields: Vec<FieldValues>,
    by_name: HashTable<u32>,
    /// The fields of the last row of each source type, in order; used as a guess, because most rows have the
    /// same ones.
    expected: Vec<Vec<u32>>,
    sourcetype: usize,
    position: usize,
    /// Length of the row's text in bytes.
    event: usize,
    max_fields: usize,
    complete: bool,
    /// Whether a limit has cut off fields of some text.
    cut: bool,
    plan: Plan,
}

/// The text of a row, by which the offset of a value is found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowText<'a> {
    pub(crate) text: &'a str,
}

impl RowText<'_> {
    /// Returns the offset of the value, if it is a slice of the text.
    pub(crate) fn offset_of(&self, value: &str) -> Option<usize> {
        let offset = (value.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (offset + value.len() <= self.text.len()).then_some(offset)
    }
}

impl Shredder {
    pub(crate) fn new(rows: usize, options: &WriteOptions) -> Self {
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        Self {
            fields: Vec::new(),
            by_name: HashTable::new(),
            expected: Vec::new(),
            sourcetype: 0,
            position: 0,
            event: 0,
            max_fields: options.max_fields,
            complete: true,
            cut: false,
            plan: Plan { rows, unique_texts: options.unique_text_columns },
        }
    }

    /// Begins a row; rows of the same source type mostly have the same fields.
    pub(crate) fn start_row(&mut self, sourcetype: u32, text: &str) {
        (self.sourcetype, self.position, self.event) = (sourcetype as usize, 0, text.len());
        if self.sourcetype >= self.expected.len() {
            self.expected.resize_with(self.sourcetype + 1, Vec::new);
        }
    }

    /// Adds a field that was extracted from the row's text.
    pub(crate) fn extracted(&mut self, row: u32, name: &str, value: &str) {
        let Some(field) = self.field(name) else { return };
        let field = &mut self.fields[field];
        let last = field.indexed.places.last();
        if last == Some(row) && field.extracted.places.last() != Some(row) {
            field.both += 1;
        }
        field.extracted.push(row, Value { text: value, event: self.event }, self.plan);
    }

    /// Records that a limit has cut off further fields of the row's text. A search for few fields may still
    /// find them.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
    }

    /// Adds an indexed field of the row; must precede the extracted fields of the row.
    pub(crate) fn indexed(&mut self, row: u32, name: &str, value: &str) {
        let reserved;
        let name = if is_reserved(name) {
            reserved = format!("{FIELDS}.{name}");
            &reserved
        } else {
            name
        };
        // Indexed fields are never dropped: the limit on names is for fields that can be extracted again.
        let field = self.field_or_insert(name);
        let plan = Plan { unique_texts: true, ..self.plan };
        let value = Value { text: value, event: self.event };
        self.fields[field].indexed.push(row, value, plan);
    }

    #[inline]
    fn field(&mut self, name: &str) -> Option<usize> {
        let expected = &self.expected[self.sourcetype];
        let guess = expected.get(self.position).map(|field| *field as usize);
        if let Some(field) =
            guess.filter(|field| same(self.fields[*field].name.as_bytes(), name.as_bytes()))
        {
            self.position += 1;
            return Some(field);
        }
        if name.is_empty() {
            return None;
        }
        let known = self.find(name);
        if known.is_none() && self.fields.len() >= self.max_fields {
            self.complete = false;
            return None;
        }
        let field = known.unwrap_or_else(|| self.insert(name));
        // A row whose guess is right has the source type of the row from which the guess was made.
        self.fields[field].note(self.sourcetype as u32);
        let expected = &mut self.expected[self.sourcetype];
        expected.truncate(self.position);
        expected.push(field as u32);
        self.position += 1;
        Some(field)
    }

    fn field_or_insert(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| self.insert(name))
    }

    fn find(&self, name: &str) -> Option<usize> {
        let known = |field: &u32| &*self.fields[*field as usize].name == name;
        self.by_name.find(hash(name.as_bytes()), known).map(|field| *field as usize)
    }

    fn insert(&mut self, name: &str) -> usize {
        let field = self.fields.len();
        let empty = Values::default;
        let (indexed, extracted) = (empty(), empty());
        // Once names are dropped, texts of earlier rows may have had this field.
        let (name_of, sourcetypes) = (name.into(), self.complete.then(Vec::new));
        self.fields.push(FieldValues { name: name_of, indexed, extracted, both: 0, sourcetypes });
        let Self { fields, by_name, .. } = self;
        let rehash = |field: &u32| hash(fields[*field as usize].name.as_bytes());
        by_name.insert_unique(hash(name.as_bytes()), field as u32, rehash);
        field
    }

    /// Decides which fields become columns.
    pub(crate) fn finish(mut self, rows: u64, options: &WriteOptions) -> Shredded {
        self.fields.sort_by(|a, b| a.name.cmp(&b.name));
        let chosen = choose(&self.fields, rows, options);
        let mut columns = Vec::new();
        let mut catalogue = Vec::with_capacity(self.fields.len());
        let mut sourcetypes = Vec::with_capacity(self.fields.len());
        for (field, chosen) in self.fields.into_iter().zip(chosen) {
            let indexed = field.indexed.count > 0;
            let count = field.indexed.count + field.extracted.count - field.both;
            let multivalue = field.indexed.multivalue || field.extracted.multivalue;
            let values = if indexed { field.indexed } else { field.extracted };
            let column = chosen.then(|| values.kind());
            let name = String::from(field.name);
            let distinct = column.and_then(|_| values.distinct());
            let known = FieldSummary { name, count, column, indexed, multivalue, distinct };
            let name = known.name.clone();
            catalogue.push(known);
            // A scan extracts the field only if it has no column, or one with only indexed values.
            let is_noted = !self.cut && (column.is_none() || indexed);
            let found = field.sourcetypes.filter(|_| is_noted);
            sourcetypes.push(found.filter(|found| found.len() <= NOTED));
            if let Some(kind) = column {
                columns.push(Column { name, kind, values: values.finish() });
            }
        }
        // Fields that were cut off are missing from names and counts.
        let complete = self.complete && !self.cut;
        Shredded { columns, catalogue, sourcetypes, complete }
    }
}

/// Chooses the columns: the most frequent fields, and all indexed ones.
fn choose(fields: &[FieldValues], rows: u64, options: &WriteOptions) -> Vec<bool> {
    let mut chosen = vec![false; fields.len()];
    let mut candidates = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        chosen[at] = field.indexed.count > 0;
        let count = field.extracted.count;
        let often = count.saturating_mul(options.column_rows_per_value) >= rows;
        let pays = options.unique_text_columns || !field.extracted.is_dear();
        if !chosen[at] && often && pays && !is_reserved(&field.name) {
            candidates.push((std::cmp::Reverse(count), at));
        }
    }
    let free = options.max_columns.saturating_sub(chosen.iter().filter(|one| **one).count());
    candidates.sort_unstable();
    for (_, at) in candidates.into_iter().take(free) {
        chosen[at] = true;
    }
    chosen
}

/// The fields of a bucket.
#[derive(Debug)]
pub(crate) struct Shredded {
    /// Columns in order of name.
    pub(crate) columns: Vec<Column>,
    /// All fields in order of name.
    pub(crate) catalogue: Vec<FieldSummary>,
    /// For each field that a scan may have to extract: the numbers of the source types whose texts have it.
    /// `None` for other fields, if there are too many source types, and if they are not all known.
    pub(crate) sourcetypes: Vec<Option<Vec<u32>>>,
    /// Whether the catalogue has all fields.
    pub(crate) complete: bool,
}

/// A field as a column.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    values: Values,
}

impl Column {
    pub(crate) fn field(&self) -> Field {
        let data_type = match self.kind {
            ColumnKind::Text => DataType::Utf8View,
            ColumnKind::Integer => DataType::Int64,
            ColumnKind::Multivalue => DataType::List(item()),
        };
        Field::new(&self.name, data_type, true)
    }

    pub(super) fn places(&self) -> &Places {
        &self.values.places
    }

    /// Returns the text of an interned value.
    pub(super) fn text(&self, key: u32) -> &[u8] {
        match &self.values.data {
            Data::Interned(texts) => texts.text(key),
            Data::Integers(_) | Data::Plain(..) | Data::Left => &[],
        }
    }

    /// Returns the values of some rows; plain texts begin at byte `text` of the column.
    pub(super) fn source<'a>(
        &'a self,
        rows: &Range<usize>,
        text: usize,
        lookup: &'a dyn Fn(u32) -> &'a [u8],
    ) -> Source<'a> {
        let places = &self.values.places;
        let range = places.values_before(rows.start)..places.values_before(rows.end);
        match &self.values.data {
            Data::Integers(values) => Source::Integers(&values[range]),
            Data::Interned(texts) => {
                let (keys, distinct) = (&texts.keys[range], texts.distinct());
                Source::Keys { keys, distinct, text: lookup }
            }
            Data::Plain(texts, _) => {
                Source::Texts { lengths: &texts.lengths[range], bytes: &texts.bytes[text..] }
            }
            // Such a field is never chosen: see `choose`.
            Data::Left => Source::Texts { lengths: &[], bytes: &[] },
        }
    }
}

fn item() -> Arc<Field> {
    Arc::new(Field::new_list_field(DataType::Utf8View, true))
}
