//! Rows as JSON: objects, lists of cells, or a list for every column. All of it is one line: Splunk's
//! Python client reads it line by line.

use search::{Page, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

use super::{Columns, ResponseMeta, RowFormat, messages_json};

/// `json`: a row is an object.
#[derive(Debug)]
pub(super) struct Objects {
    meta: ResponseMeta,
    fields: Vec<String>,
    list: List,
}

/// `json_rows`: a row is a list.
#[derive(Debug)]
pub(super) struct Lists {
    meta: ResponseMeta,
    fields: Vec<String>,
    list: List,
}

/// `json_cols`: a column is a list. Each is complete only with the last row: they are kept until then.
#[derive(Debug)]
pub(super) struct Columnwise {
    meta: ResponseMeta,
    fields: Vec<String>,
    columns: Vec<Column>,
}

/// Bytes of a piece of a column: a column in one piece, which grows, takes up to twice its size.
const PIECE: usize = 256 << 10;
/// Bytes that a piece may lack to be complete.
const SLACK: usize = PIECE / 32;

/// The texts of a column.
#[derive(Debug, Default)]
struct Column {
    list: List,
    pieces: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Column {
    fn add(&mut self, cell: &impl Serialize) {
        self.list.add(cell, &mut self.last);
        if self.last.len() >= PIECE - SLACK {
            // The first piece grows: most columns are small. A column that has one will fill another.
            let next = Vec::with_capacity(PIECE);
            self.pieces.push(std::mem::replace(&mut self.last, next));
        }
    }
}

/// Items with commas between them.
#[derive(Debug, Default)]
struct List {
    has_items: bool,
}

impl List {
    fn add(&mut self, item: &impl Serialize, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.has_items, true) {
            out.push(b',');
        }
        write_json(item, out);
    }
}

impl Objects {
    pub(super) fn new(meta: ResponseMeta, fields: Vec<String>) -> Self {
        Self { meta, fields, list: List::default() }
    }
}

impl RowFormat for Objects {
    fn head(&mut self, out: &mut Vec<u8>) {
        let fields: Vec<Json> = self.fields.iter().map(|name| json!({"name": name})).collect();
        begin(&self.meta, &fields, out);
        out.extend_from_slice(b",\"results\":[");
    }

    fn rows(&mut self, page: &Page, out: &mut Vec<u8>) {
        let columns = Columns::of(&self.fields, page);
        for row in &page.rows {
            self.list.add(&RowObject { columns: &columns, row, numbers: &[] }, out);
        }
    }

    fn end(&mut self) -> Vec<Vec<u8>> {
        let mut out = b"],\"highlighted\":".to_vec();
        match &self.meta.highlight {
            Some(words) => write_json(words, &mut out),
            None => out.extend_from_slice(b"{}"),
        }
        finish(&self.meta, &mut out);
        vec![out]
    }
}

impl Lists {
    pub(super) fn new(meta: ResponseMeta, fields: Vec<String>) -> Self {
        Self { meta, fields, list: List::default() }
    }
}

impl RowFormat for Lists {
    fn head(&mut self, out: &mut Vec<u8>) {
        begin(&self.meta, &self.fields, out);
        out.extend_from_slice(b",\"rows\":[");
    }

    fn rows(&mut self, page: &Page, out: &mut Vec<u8>) {
        let columns = Columns::of(&self.fields, page);
        for row in &page.rows {
            self.list.add(&RowList { columns: &columns, row }, out);
        }
    }

    fn end(&mut self) -> Vec<Vec<u8>> {
        let mut out = b"]".to_vec();
        finish(&self.meta, &mut out);
        vec![out]
    }
}

impl Columnwise {
    pub(super) fn new(meta: ResponseMeta, fields: Vec<String>) -> Self {
        let columns = fields.iter().map(|_| Column::default()).collect();
        Self { meta, fields, columns }
    }
}

impl RowFormat for Columnwise {
    fn head(&mut self, out: &mut Vec<u8>) {
        begin(&self.meta, &self.fields, out);
        out.extend_from_slice(b",\"columns\":[");
    }

    fn rows(&mut self, page: &Page, _: &mut Vec<u8>) {
        let columns = Columns::of(&self.fields, page);
        for row in &page.rows {
            for (column, cell) in self.columns.iter_mut().zip(columns.cells(row)) {
                column.add(&cell);
            }
        }
    }

    fn end(&mut self) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        for (at, column) in std::mem::take(&mut self.columns).into_iter().enumerate() {
            pieces.push(if at == 0 { b"[".to_vec() } else { b"],[".to_vec() });
            pieces.extend(column.pieces);
            pieces.push(column.last);
        }
        let mut out = if pieces.is_empty() { b"]".to_vec() } else { b"]]".to_vec() };
        finish(&self.meta, &mut out);
        pieces.push(out);
        pieces
    }
}

fn begin(meta: &ResponseMeta, fields: &impl Serialize, out: &mut Vec<u8>) {
    let (preview, offset) = (meta.preview, meta.offset);
    out.extend_from_slice(
        format!("{{\"preview\":{preview},\"init_offset\":{offset},\"messages\":").as_bytes(),
    );
    write_json(&messages_json(&meta.messages), out);
    out.extend_from_slice(b",\"fields\":");
    write_json(fields, out);
}

fn finish(meta: &ResponseMeta, out: &mut Vec<u8>) {
    if let Some(rows) = meta.post_process {
        out.extend_from_slice(format!(",\"post_process_count\":{rows}").as_bytes());
    }
    out.push(b'}');
}

/// Appends a value.
pub(crate) fn write_json(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing into memory cannot fail, and keys are texts.
    let _ = serde_json::to_writer(out, value);
}

/// A row as an object; fields without a value are left out, as Splunk does.
pub(crate) struct RowObject<'a> {
    pub(crate) columns: &'a Columns<'a>,
    pub(crate) row: &'a [Option<Value>],
    /// Fields whose values are numbers, not texts.
    pub(crate) numbers: &'a [String],
}

impl Serialize for RowObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (name, value) in self.columns.values(self.row) {
            let is_number = self.numbers.iter().any(|number| number == name);
            match is_number.then(|| number(value)).flatten() {
                Some(number) => object.serialize_entry(name, &number)?,
                None => object.serialize_entry(name, value)?,
            }
        }
        object.end()
    }
}

/// Returns the number; `None` for values such as NaN, which JSON cannot express.
fn number(value: &Value) -> Option<Json> {
    match value {
        Value::One(text) => serde_json::from_str(text).ok(),
        Value::Many(_) | Value::List(_) => None,
    }
}

struct RowList<'a> {
    columns: &'a Columns<'a>,
    row: &'a [Option<Value>],
}

impl Serialize for RowList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.columns.cells(self.row))
    }
}
