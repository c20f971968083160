//! Fields of a bucket: gathers every value while rows go by, then decides which become columns.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int64Array, ListArray, StringViewArray, StringViewBuilder, make_view,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use hashbrown::HashTable;
use model::{ColumnKind, FieldSummary, columns};

use super::WriteOptions;
use crate::hot::FIELDS;
use crate::segment::hash;

/// Texts that are not slices of some `_raw`, in buffers that views can address.
const OWNED_BUFFER: usize = 1 << 28;

/// The values of one field, in row order; a row with several has several entries.
#[derive(Debug, Default)]
struct Values {
    rows: Vec<u32>,
    views: Vec<u128>,
    count: u64,
    multivalue: bool,
    not_integer: bool,
}

impl Values {
    fn push(&mut self, row: u32, view: u128, text: &str) {
        if self.rows.last() == Some(&row) {
            self.multivalue = true;
        } else {
            self.count += 1;
        }
        self.not_integer = self.not_integer || canonical_integer(text).is_none();
        self.rows.push(row);
        self.views.push(view);
    }

    fn kind(&self) -> ColumnKind {
        match (self.multivalue, self.not_integer) {
            (true, _) => ColumnKind::Multivalue,
            (false, true) => ColumnKind::Text,
            (false, false) => ColumnKind::Integer,
        }
    }
}

/// The integer whose decimal form is exactly this text.
pub(crate) fn canonical_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let leading_zero = digits.first() == Some(&b'0') && (digits.len() > 1 || text.len() > 1);
    if leading_zero || !digits.first()?.is_ascii_digit() || digits.len() > 19 {
        return None;
    }
    text.parse().ok()
}

/// A field of the bucket: what events were sent with, and what was found in their text.
#[derive(Debug)]
struct FieldValues {
    name: Box<str>,
    indexed: Values,
    extracted: Values,
    /// Rows with an indexed and an extracted value.
    both: u64,
}

/// Gathers field values row by row.
#[derive(Debug)]
pub(crate) struct Shredder {
    fields: Vec<FieldValues>,
    by_name: HashTable<u32>,
    /// The fields of the row before, in order: most rows have the same ones.
    expected: Vec<u32>,
    position: usize,
    max_fields: usize,
    complete: bool,
    raw_buffers: usize,
    owned: Vec<Buffer>,
    open: Vec<u8>,
}

/// Where a row's text lies, so that values in it need no copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowText<'a> {
    pub(crate) row: u32,
    pub(crate) text: &'a str,
    pub(crate) view: u128,
}

impl RowText<'_> {
    /// Where the value begins, if it is a slice of the text.
    pub(crate) fn offset_of(&self, value: &str) -> Option<usize> {
        let offset = (value.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (offset + value.len() <= self.text.len()).then_some(offset)
    }
}

impl Shredder {
    /// For rows whose `_raw` has this many buffers.
    pub(crate) fn new(max_fields: usize, raw_buffers: usize) -> Self {
        Self {
            fields: Vec::new(),
            by_name: HashTable::new(),
            expected: Vec::new(),
            position: 0,
            max_fields,
            complete: true,
            raw_buffers,
            owned: Vec::new(),
            open: Vec::new(),
        }
    }

    pub(crate) fn start_row(&mut self) {
        self.position = 0;
    }

    /// A field found in the row's text.
    pub(crate) fn extracted(&mut self, row: &RowText<'_>, name: &str, value: &str) {
        let Some(field) = self.field(name) else { return };
        let inside = if (row.view as u32) > 12 { row.offset_of(value) } else { None };
        let view = match inside {
            Some(offset) => {
                let (buffer, start) = ((row.view >> 64) as u32, (row.view >> 96) as u32);
                make_view(value.as_bytes(), buffer, start + offset as u32)
            }
            None => self.owned_view(value),
        };
        let field = &mut self.fields[field];
        let first = field.extracted.rows.last() != Some(&row.row);
        if first && field.indexed.rows.last() == Some(&row.row) {
            field.both += 1;
        }
        field.extracted.push(row.row, view, value);
    }

    /// A field sent along with the row; before any that is found in its text.
    pub(crate) fn indexed(&mut self, row: u32, name: &str, value: &str) {
        let reserved;
        let name = if is_reserved(name) {
            reserved = format!("{FIELDS}.{name}");
            &reserved
        } else {
            name
        };
        let view = self.owned_view(value);
        // Never dropped: the limit on names is for what can be found again in the text.
        let field = self.field_or_insert(name);
        self.fields[field].indexed.push(row, view, value);
    }

    fn field(&mut self, name: &str) -> Option<usize> {
        let guess = self.expected.get(self.position).map(|field| *field as usize);
        if let Some(field) = guess.filter(|field| &*self.fields[*field].name == name) {
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
        self.expected.truncate(self.position);
        self.expected.push(field as u32);
        self.position += 1;
        Some(field)
    }

    fn field_or_insert(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| self.insert(name))
    }

    fn find(&self, name: &str) -> Option<usize> {
        let same = |field: &u32| &*self.fields[*field as usize].name == name;
        self.by_name.find(hash(name.as_bytes()), same).map(|field| *field as usize)
    }

    fn insert(&mut self, name: &str) -> usize {
        let field = self.fields.len();
        let empty = Values::default;
        let (indexed, extracted) = (empty(), empty());
        self.fields.push(FieldValues { name: name.into(), indexed, extracted, both: 0 });
        let Self { fields, by_name, .. } = self;
        let rehash = |field: &u32| hash(fields[*field as usize].name.as_bytes());
        by_name.insert_unique(hash(name.as_bytes()), field as u32, rehash);
        field
    }

    fn owned_view(&mut self, text: &str) -> u128 {
        if text.len() <= 12 {
            return make_view(text.as_bytes(), 0, 0);
        }
        if self.open.len() + text.len() > OWNED_BUFFER && !self.open.is_empty() {
            self.owned.push(std::mem::take(&mut self.open).into());
        }
        let buffer = self.raw_buffers + self.owned.len();
        let view = make_view(text.as_bytes(), buffer as u32, self.open.len() as u32);
        self.open.extend_from_slice(text.as_bytes());
        view
    }

    /// Decides which fields become columns.
    pub(crate) fn finish(mut self, rows: u64, raw: &[Buffer], options: &WriteOptions) -> Shredded {
        self.owned.push(self.open.into());
        let buffers: Arc<[Buffer]> = raw.iter().cloned().chain(self.owned).collect();
        self.fields.sort_by(|a, b| a.name.cmp(&b.name));
        let chosen = choose(&self.fields, rows, options);
        let mut columns = Vec::new();
        let mut catalogue = Vec::with_capacity(self.fields.len());
        for (field, chosen) in self.fields.into_iter().zip(chosen) {
            let indexed = field.indexed.count > 0;
            let count = field.indexed.count + field.extracted.count - field.both;
            let multivalue = field.indexed.multivalue || field.extracted.multivalue;
            let values = if indexed { field.indexed } else { field.extracted };
            let column = chosen.then(|| values.kind());
            let name = String::from(field.name);
            catalogue.push(FieldSummary { name: name.clone(), count, column, indexed, multivalue });
            if let Some(kind) = column {
                columns.push(Column { name, kind, values, buffers: buffers.clone() });
            }
        }
        Shredded { columns, catalogue, complete: self.complete }
    }
}

/// Names that events have anyway; a column of that name could not be told from the fixed one.
fn is_reserved(name: &str) -> bool {
    use columns::{HOST, INDEX, INDEX_TIME, RAW, SOURCE, SOURCETYPE, TIME};
    [TIME, INDEX_TIME, RAW, HOST, SOURCE, SOURCETYPE, INDEX, FIELDS, ""].contains(&name)
}

/// The most frequent fields, and all indexed ones.
fn choose(fields: &[FieldValues], rows: u64, options: &WriteOptions) -> Vec<bool> {
    let mut chosen = vec![false; fields.len()];
    let mut candidates = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        chosen[at] = field.indexed.count > 0;
        let count = field.extracted.count;
        let often = count.saturating_mul(options.column_rows_per_value) >= rows;
        if !chosen[at] && often && !is_reserved(&field.name) {
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
    /// Whether the catalogue has them all.
    pub(crate) complete: bool,
}

/// A field as a column.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    values: Values,
    buffers: Arc<[Buffer]>,
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

    /// The column for rows `[start, end)`.
    pub(crate) fn array(&self, start: usize, end: usize) -> Result<ArrayRef, ArrowError> {
        let Values { rows, views, .. } = &self.values;
        let from = rows.partition_point(|row| (*row as usize) < start);
        let to = rows.partition_point(|row| (*row as usize) < end);
        let rows = rows[from..to].iter().map(|row| *row as usize - start);
        let views = &views[from..to];
        match self.kind {
            ColumnKind::Text => self.texts(rows, views, end - start),
            ColumnKind::Integer => self.integers(rows, views, end - start),
            ColumnKind::Multivalue => self.lists(rows, views, end - start),
        }
    }

    fn texts(
        &self,
        rows: impl Iterator<Item = usize>,
        views: &[u128],
        length: usize,
    ) -> Result<ArrayRef, ArrowError> {
        let mut spread = vec![0u128; length];
        let mut valid = vec![false; length];
        for (row, view) in rows.zip(views) {
            spread[row] = *view;
            valid[row] = true;
        }
        let array = StringViewArray::try_new(
            ScalarBuffer::from(spread),
            self.buffers.clone(),
            Some(NullBuffer::from(valid)),
        )?;
        Ok(Arc::new(array))
    }

    fn integers(
        &self,
        rows: impl Iterator<Item = usize>,
        views: &[u128],
        length: usize,
    ) -> Result<ArrayRef, ArrowError> {
        let mut spread = vec![0; length];
        let mut valid = vec![false; length];
        let texts = self.plain(views)?;
        for (row, text) in rows.zip(texts.iter()) {
            spread[row] = text.and_then(canonical_integer).unwrap_or_default();
            valid[row] = true;
        }
        Ok(Arc::new(Int64Array::new(spread.into(), Some(NullBuffer::from(valid)))))
    }

    fn lists(
        &self,
        rows: impl Iterator<Item = usize>,
        views: &[u128],
        length: usize,
    ) -> Result<ArrayRef, ArrowError> {
        let mut lengths = vec![0usize; length];
        for row in rows {
            lengths[row] += 1;
        }
        let valid: Vec<bool> = lengths.iter().map(|length| *length > 0).collect();
        let offsets = OffsetBuffer::from_lengths(lengths);
        let values = Arc::new(self.plain(views)?);
        let nulls = Some(NullBuffer::from(valid));
        Ok(Arc::new(ListArray::try_new(item(), offsets, values, nulls)?))
    }

    fn plain(&self, views: &[u128]) -> Result<StringViewArray, ArrowError> {
        let views = ScalarBuffer::from(views.to_vec());
        StringViewArray::try_new(views, self.buffers.clone(), None)
    }

    /// Some values from all over the column, at most `count`.
    pub(crate) fn sample(&self, count: usize) -> Result<StringViewArray, ArrowError> {
        let step = self.values.views.len().div_ceil(count.max(1)).max(1);
        let views: Vec<u128> = self.values.views.iter().step_by(step).copied().collect();
        let views = self.plain(&views)?;
        let mut copies = StringViewBuilder::new();
        copies.extend(views.iter());
        Ok(copies.finish())
    }
}

fn item() -> Arc<Field> {
    Arc::new(Field::new_list_field(DataType::Utf8View, true))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::canonical_integer;

    #[test]
    fn an_integer_is_canonical_only_when_its_text_can_be_restored() {
        for good in ["0", "7", "-7", "10", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(canonical_integer(good).unwrap().to_string(), good);
        }
        for bad in ["", "-", "-0", "+1", "007", "00", " 1", "1 ", "1.0", "9223372036854775808", "x"]
        {
            assert_eq!(canonical_integer(bad), None, "{bad}");
        }
    }
}
