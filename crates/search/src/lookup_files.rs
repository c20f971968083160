//! Lookup files as rows.

use std::borrow::Cow;
use std::sync::Arc;

use metrics::gauge;
use parking_lot::Mutex;
use plan::{CompiledLookups, Error, Rows};
use runtime::metrics as names;

/// Divisor of the lookup memory that is available for indexes of rows, which are smaller than the rows.
const INDEXES: usize = 5;

/// A cache of the rows of recently used lookup files, so that the next search need not parse them again.
#[derive(Debug)]
pub(crate) struct LookupFiles {
    /// Maximum size in bytes.
    most: usize,
    /// The entries, least recently used first.
    kept: Mutex<Vec<Kept>>,
}

#[derive(Debug)]
struct Kept {
    version: String,
    rows: Arc<Rows>,
    bytes: usize,
}

/// Creates the caches of lookup rows and of compiled lookups, within this number of bytes.
pub(crate) fn within(bytes: usize) -> (LookupFiles, CompiledLookups) {
    let of_indexes = bytes / INDEXES;
    let files = LookupFiles { most: bytes - of_indexes, kept: Mutex::default() };
    (files, CompiledLookups::new(of_indexes, |bytes| note("index", bytes)))
}

fn note(kind: &'static str, bytes: usize) {
    gauge!(names::LOOKUP_BYTES, "kind" => kind).set(bytes as f64);
}

impl LookupFiles {
    /// Returns the rows of a version of a file.
    pub(crate) fn rows(&self, version: &str, name: &str, bytes: &[u8]) -> Result<Arc<Rows>, Error> {
        if let Some(rows) = used(&mut self.kept.lock(), version) {
            return Ok(rows);
        }
        // The lock is released while a large file is parsed: other searches use other files.
        let rows = Arc::new(csv_rows(name, bytes)?);
        let size = rows.bytes();
        let mut kept = self.kept.lock();
        // Another search may have parsed it meanwhile; with one copy, compiled lookups are shared.
        if let Some(rows) = used(&mut kept, version) {
            return Ok(rows);
        }
        if size <= self.most {
            kept.push(Kept { version: version.to_owned(), rows: Arc::clone(&rows), bytes: size });
        }
        let mut held: usize = kept.iter().map(|file| file.bytes).sum();
        while held > self.most {
            held -= kept.remove(0).bytes;
        }
        note("rows", held);
        Ok(rows)
    }
}

/// Returns the rows of a version that is in the cache, and makes it the most recently used one.
fn used(kept: &mut Vec<Kept>, version: &str) -> Option<Arc<Rows>> {
    let at = kept.iter().position(|file| file.version == version)?;
    let found = kept.remove(at);
    let rows = Arc::clone(&found.rows);
    kept.push(found);
    Some(rows)
}

/// Parses CSV: the first line names the fields, an empty cell is a missing value. Blanks before a cell are
/// ignored, because add-ons have files with a blank after each comma.
fn csv_rows(name: &str, bytes: &[u8]) -> Result<Rows, Error> {
    let damaged = |error: csv::Error| {
        Error::invalid_anywhere(format!("the lookup file \"{name}\" is not valid CSV: {error}"))
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bytes = without_leading_blanks(bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&*bytes);
    let header = reader.byte_headers().map_err(damaged)?.clone();
    let names: Vec<String> =
        header.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
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

/// The parser state within a cell of CSV.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellPart {
    Start,
    Unquoted,
    Quoted,
    /// After a quote within a quoted cell: the end of the cell, or the first half of an escaped quote.
    Quote,
}

/// Removes the blanks before cells of CSV. Quotes after such blanks quote the cell.
fn without_leading_blanks(csv: &[u8]) -> Cow<'_, [u8]> {
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
    let mut pairs = csv.windows(2);
    let starts = csv.first().is_some_and(|byte| is_blank(*byte));
    if !starts && !pairs.any(|pair| matches!(pair, [b',' | b'\n' | b'\r', b' ' | b'\t'])) {
        return Cow::Borrowed(csv);
    }
    let mut kept = Vec::with_capacity(csv.len());
    let mut part = CellPart::Start;
    for byte in csv.iter().copied() {
        if part == CellPart::Start && is_blank(byte) {
            continue;
        }
        part = match (part, byte) {
            (CellPart::Quoted, b'"') => CellPart::Quote,
            (CellPart::Quoted, _) | (CellPart::Start | CellPart::Quote, b'"') => CellPart::Quoted,
            (_, b',' | b'\n' | b'\r') => CellPart::Start,
            _ => CellPart::Unquoted,
        };
        kept.push(byte);
    }
    Cow::Owned(kept)
}

/// Writes rows as CSV; several values of a field are separated by line breaks.
pub(crate) fn csv_text(rows: &Rows) -> Result<Vec<u8>, Error> {
    let names: Vec<String> =
        rows.names().into_iter().filter(|name| !name.starts_with("__")).collect();
    let mut columns = Vec::with_capacity(names.len());
    for name in &names {
        columns.push(rows.lists(name)?);
    }
    let mut csv = String::new();
    if !names.is_empty() {
        put_record(&names, &mut csv);
        for row in 0..rows.count {
            let cells: Vec<String> = columns.iter().map(|column| column[row].join("\n")).collect();
            put_record(&cells, &mut csv);
        }
    }
    Ok(csv.into_bytes())
}

/// Appends a record. Cells that begin with a blank are quoted, which preserves the blank.
fn put_record(cells: &[String], csv: &mut String) {
    let needs_quotes = |cell: &String| {
        // A record with a single empty cell would be an empty line, which parsers skip.
        let is_empty_line = cells.len() == 1 && cell.is_empty();
        cell.starts_with([' ', '\t']) || cell.contains([',', '"', '\n', '\r']) || is_empty_line
    };
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            csv.push(',');
        }
        if needs_quotes(cell) {
            csv.push('"');
            csv.push_str(&cell.replace('"', "\"\""));
            csv.push('"');
        } else {
            csv.push_str(cell);
        }
    }
    csv.push('\n');
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Parses CSV and returns the columns, with missing values as `-`.
    fn read(csv: &str) -> Vec<String> {
        let rows = csv_rows("t.csv", csv.as_bytes()).unwrap();
        let column = |name: String| {
            let values = rows.lists(&name).unwrap();
            let shown = values.iter().map(|value| match value.is_empty() {
                true => "-".to_owned(),
                false => value.join("/"),
            });
            format!("{name}={}", shown.collect::<Vec<_>>().join("|"))
        };
        rows.names().into_iter().map(column).collect()
    }

    #[test]
    fn blanks_before_cells_are_no_part_of_them() {
        let spaced = "k, v, \"w x\"\npass, allowed, \"a, \"\"b\"\"\"\n deny,\tblocked \"x\", \n";
        assert_eq!(read(spaced), ["k=pass|deny", "v=allowed|blocked \"x\"", "w x=a, \"b\"|-"]);
        assert_eq!(read("k,v\na b,\" c, d\n e\"\n"), ["k=a b", "v= c, d\n e"]);
        assert_eq!(read("\u{feff}k,v\r\n a,b\r\n"), ["k=a", "v=b"]);
    }

    #[test]
    fn files_that_were_not_used_for_longest_are_dropped_first() {
        let csv = |rows: usize| "a text that is longer than a view\n".repeat(rows + 1);
        let bytes = csv_rows("t.csv", csv(10).as_bytes()).unwrap().bytes();
        let (files, _) = within(bytes * 5 / 2 * INDEXES / (INDEXES - 1));
        let get = |version: &str| files.rows(version, "t.csv", csv(10).as_bytes()).unwrap();
        let (first, second) = (get("1"), get("2"));
        assert!(Arc::ptr_eq(&first, &get("1")));
        get("3");
        assert!(Arc::ptr_eq(&first, &get("1")));
        assert!(!Arc::ptr_eq(&second, &get("2")));
        let versions = || -> Vec<String> {
            files.kept.lock().iter().map(|file| file.version.clone()).collect()
        };
        assert_eq!(versions(), ["1", "2"]);
        // A file that alone exceeds the limit is not cached and evicts no others.
        files.rows("4", "t.csv", csv(100).as_bytes()).unwrap();
        assert_eq!(versions(), ["1", "2"]);
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let csv = "k,v\n\" a\",\"\tb\"\n\"say \"\"x\"\"\",\"1, 2\"\nplain ,\n";
        let rows = csv_rows("t.csv", csv.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(csv_text(&rows).unwrap()).unwrap(), csv);
        let single = csv_rows("t.csv", b"k\na\n\"\"\n").unwrap();
        assert_eq!(csv_text(&single).unwrap(), b"k\na\n\"\"\n");
    }
}
