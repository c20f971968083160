//! Converts tables in the text of events to rows, one per line.

use super::found::{Existing, FoundFields};
use eval::tabular::{self, Reading};

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Rows, check_cells};

const RAW: &str = "_raw";

/// A row for each line.
#[derive(Debug)]
pub struct Multikv {
    /// The options for parsing tables.
    pub reading: Reading,
    /// The columns to extract; all if empty.
    pub fields: Vec<String>,
    /// Texts in lower case, of which a row must contain at least one; all rows are kept if empty.
    pub filter: Vec<String>,
    /// Whether rows get the fields of their event.
    pub copy_fields: bool,
    /// Whether the event itself follows its rows.
    pub keep_original: bool,
}

impl Operation for Multikv {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let texts = rows.texts(RAW)?;
        let most = context.limits.rows;
        let mut found = FoundFields::new(context.limits.columns);
        let mut places = Vec::new();
        let mut lines: Vec<Option<String>> = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            let copied = self.copy_fields.then_some(place);
            tabular::rows(
                text.as_deref().unwrap_or_default(),
                &self.reading,
                &mut |line, values| {
                    if lines.len() > most || !self.wants(line) {
                        return;
                    }
                    for (name, value) in values {
                        if self.fields.is_empty() || self.fields.iter().any(|field| field == name) {
                            found.add(lines.len(), name, value, false);
                        }
                    }
                    lines.push(Some(line.to_owned()));
                    places.push(copied);
                },
            );
            if self.keep_original {
                lines.push(text.clone());
                places.push(Some(place));
            }
            if lines.len() > most {
                let message = format!("multikv makes more than {most} rows (a fixed limit)");
                return Err(Error::Exhausted { message });
            }
        }
        if found.too_many {
            let limit = context.limits.columns;
            context.warn(format!("multikv left out columns beyond {limit} (a fixed limit)"));
        }
        check_cells(places.len(), found.len(), context.limits.bytes)?;
        let mut result = match self.copy_fields || self.keep_original {
            true => rows.take_or_null(&places)?,
            false => Rows::blank(places.len()),
        };
        result.set_texts(RAW, lines);
        found.put(&mut result, Existing::Replaced)?;
        Ok(result)
    }
}

impl Multikv {
    fn wants(&self, line: &str) -> bool {
        let line = line.to_lowercase();
        self.filter.is_empty() || self.filter.iter().any(|text| line.contains(text))
    }
}
