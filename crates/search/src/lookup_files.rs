//! Lookup files as rows.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use plan::{Error, Rows};

/// Bytes of lookup files that are kept as rows.
const KEPT_BYTES: usize = 512 << 20;

/// Lookup files as rows, so that the next search need not read them again.
#[derive(Debug, Default)]
pub(crate) struct LookupFiles {
    kept: Mutex<HashMap<String, (usize, Arc<Rows>)>>,
}

impl LookupFiles {
    /// The rows of a version of a file.
    pub(crate) fn rows(&self, version: &str, name: &str, bytes: &[u8]) -> Result<Arc<Rows>, Error> {
        let mut kept = self.kept.lock();
        if let Some((_, rows)) = kept.get(version) {
            return Ok(Arc::clone(rows));
        }
        let rows = Arc::new(csv_rows(name, bytes)?);
        let held: usize = kept.values().map(|(bytes, _)| bytes).sum();
        if held + bytes.len() > KEPT_BYTES {
            kept.clear();
        }
        kept.insert(version.to_owned(), (bytes.len(), Arc::clone(&rows)));
        Ok(rows)
    }
}

/// CSV as rows: the first line names the fields, an empty cell is a missing value.
fn csv_rows(name: &str, bytes: &[u8]) -> Result<Rows, Error> {
    let damaged = |error: csv::Error| {
        Error::invalid_anywhere(format!("the lookup file \"{name}\" is not valid CSV: {error}"))
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.byte_headers().map_err(damaged)?.clone();
    // A blank before the quotes of a name is not part of it, nor are the quotes.
    let unquoted = |name: &str| {
        let inner = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        inner.unwrap_or(name).to_owned()
    };
    let names: Vec<String> =
        header.iter().map(|name| unquoted(String::from_utf8_lossy(name).trim())).collect();
    let mut cells: Vec<Vec<Option<String>>> = vec![Vec::new(); names.len()];
    let mut record = csv::ByteRecord::new();
    let mut count = 0;
    while reader.read_byte_record(&mut record).map_err(damaged)? {
        for (at, column) in cells.iter_mut().enumerate() {
            let cell = record.get(at).filter(|cell| !cell.is_empty());
            column.push(cell.map(|cell| String::from_utf8_lossy(cell).into_owned()));
        }
        count += 1;
    }
    let mut rows = Rows::blank(count);
    for (name, column) in names.iter().zip(cells) {
        if rows.column(name).is_none() && !name.is_empty() {
            rows.set_texts(name, column);
        }
    }
    Ok(rows)
}

/// Rows as CSV; several values of a field are separated by line breaks.
pub(crate) fn csv_text(rows: &Rows) -> Result<Vec<u8>, Error> {
    let names: Vec<String> =
        rows.names().into_iter().filter(|name| !name.starts_with("__")).collect();
    let mut columns = Vec::with_capacity(names.len());
    for name in &names {
        columns.push(rows.lists(name)?);
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: csv::Error| Error::internal(error.to_string());
    if !names.is_empty() {
        writer.write_record(&names).map_err(failed)?;
    }
    for row in 0..rows.count {
        let cells = columns.iter().map(|column| column[row].join("\n"));
        writer.write_record(cells).map_err(failed)?;
    }
    writer.into_inner().map_err(|error| Error::internal(error.to_string()))
}
