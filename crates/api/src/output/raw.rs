//! The text of events, one after the other.

use search::Page;

use super::csv::text;
use super::{Columns, RowFormat};

/// The raw text of rows; rows without text are written as all of their cells, separated by tabs.
#[derive(Debug)]
pub(crate) struct Raw {
    fields: Vec<String>,
}

impl Raw {
    pub(crate) fn new(fields: Vec<String>) -> Self {
        Self { fields }
    }
}

impl RowFormat for Raw {
    fn head(&mut self, _: &mut Vec<u8>) {}

    fn rows(&mut self, page: &Page, out: &mut Vec<u8>) {
        let columns = Columns::of(&self.fields, page);
        let raw = self.fields.iter().position(|field| field == "_raw");
        for row in &page.rows {
            match raw.and_then(|at| columns.cells(row).nth(at).flatten()) {
                Some(event) => out.extend_from_slice(text(Some(event)).as_bytes()),
                None => {
                    for (at, cell) in columns.cells(row).enumerate() {
                        out.extend_from_slice(if at > 0 { b"\t" } else { b"" });
                        out.extend_from_slice(text(cell).as_bytes());
                    }
                }
            }
            out.push(b'\n');
        }
    }

    fn end(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}
