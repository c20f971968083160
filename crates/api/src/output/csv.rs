//! Rows as CSV; several values of a field are lines of one cell.

use std::borrow::Cow;

use search::{Page, Value};

use super::{Columns, OutputMode, RowFormat};

#[derive(Debug)]
pub(crate) struct Csv {
    fields: Vec<String>,
    escapes_formulas: bool,
}

impl Csv {
    pub(crate) fn new(mode: OutputMode, fields: Vec<String>) -> Self {
        Self { fields, escapes_formulas: mode == OutputMode::SafeCsv }
    }

    fn escaped<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        if self.escapes_formulas { no_formula(text) } else { text }
    }
}

impl RowFormat for Csv {
    fn head(&mut self, out: &mut Vec<u8>) {
        // The writer makes a line of an empty record, which readers take for a column without a name.
        if self.fields.is_empty() {
            return;
        }
        let names = self.fields.iter().map(|name| self.escaped(Cow::Borrowed(name)));
        write_lines(std::iter::once(names), out);
    }

    fn rows(&mut self, page: &Page, out: &mut Vec<u8>) {
        if self.fields.is_empty() {
            return;
        }
        let columns = Columns::of(&self.fields, page);
        let lines = page.rows.iter().map(|row| columns.cells(row).map(|c| self.escaped(text(c))));
        write_lines(lines, out);
    }

    fn end(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

fn write_lines<'t, L>(lines: impl Iterator<Item = L>, out: &mut Vec<u8>)
where
    L: Iterator<Item = Cow<'t, str>>,
{
    let mut writer = csv::Writer::from_writer(out);
    for line in lines {
        // Writing into memory cannot fail, and all lines have as many cells.
        let _ = writer.write_record(line.map(Bytes));
    }
    let _ = writer.flush();
}

/// Text as the writer takes it.
struct Bytes<'t>(Cow<'t, str>);

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// The text of a cell.
pub(super) fn text(cell: Option<&Value>) -> Cow<'_, str> {
    match cell {
        None => Cow::Borrowed(""),
        Some(Value::One(text)) => Cow::Borrowed(text),
        Some(many @ (Value::Many(_) | Value::List(_))) => Cow::Owned(many.joined()),
    }
}

/// Returns a cell that spreadsheets do not execute: text that begins like a formula is prefixed with an
/// apostrophe. Numbers are unchanged.
pub(super) fn no_formula(text: Cow<'_, str>) -> Cow<'_, str> {
    let like_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    if like_formula && !number() { Cow::Owned(format!("'{text}")) } else { text }
}
