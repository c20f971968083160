//! Collects extracted fields whose names are in the texts of rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayBuilder, ArrayRef, StringViewBuilder};
use eval::ValueType;

use crate::error::Error;
use crate::rows::{Rows, Texts, Values, convert};

/// The treatment of an existing value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced.
    Replaced,
    /// It is kept.
    Kept,
    /// The extracted values are appended to it.
    Extended,
}

/// Fields extracted from rows, in row order; each value is stored once.
#[derive(Debug)]
pub struct FoundFields {
    fields: Vec<FoundField>,
    place: HashMap<String, usize>,
    /// Maximum number of fields.
    most: usize,
    /// Whether the maximum was exceeded.
    pub too_many: bool,
}

/// The values of one field, with their row indexes in ascending order.
#[derive(Debug)]
struct FoundField {
    name: String,
    values: Vec<(usize, String)>,
}

impl FoundFields {
    /// Creates an empty collection for at most this many fields.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { fields: Vec::new(), place: HashMap::new(), most, too_many: false }
    }

    /// Adds a value of a row; rows must be added in order. A field that the row already has gets a further
    /// value (if `several`), or keeps its first one.
    pub fn add(&mut self, row: usize, name: &str, value: &str, several: bool) {
        if name.starts_with('_') {
            return;
        }
        let at = match self.place.get(name) {
            Some(at) => *at,
            None if self.fields.len() == self.most => {
                self.too_many = true;
                return;
            }
            None => {
                self.place.insert(name.to_owned(), self.fields.len());
                self.fields.push(FoundField { name: name.to_owned(), values: Vec::new() });
                self.fields.len() - 1
            }
        };
        let values = &mut self.fields[at].values;
        if several || values.last().is_none_or(|(last, _)| *last != row) {
            values.push((row, value.to_owned()));
        }
    }

    /// Returns the number of fields.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a number for limits")]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Adds the fields to the rows.
    ///
    /// # Errors
    /// If SPL has no values of the type of a column of the rows.
    pub fn put(&self, rows: &mut Rows, existing: Existing) -> Result<(), Error> {
        for field in &self.fields {
            field.put(rows, existing)?;
        }
        Ok(())
    }
}

impl FoundField {
    fn put(&self, rows: &mut Rows, existing: Existing) -> Result<(), Error> {
        let old = rows.column(&self.name).map(|old| Values::new(&old.array)).transpose()?;
        let mut built = Texts::new(StringViewBuilder::new());
        let mut is_list = false;
        let mut values = self.values.iter().peekable();
        for row in 0..rows.count {
            let before = built.values().len();
            let is_found = values.peek().is_some_and(|(at, _)| *at == row);
            let has_old = old.as_ref().is_some_and(|old| !old.get(row).is_null());
            if let Some(old) = &old
                && (!is_found || existing != Existing::Replaced)
            {
                old.get(row).each_text(|text| built.values().append_value(text));
            }
            while let Some((_, value)) = values.next_if(|(at, _)| *at == row) {
                if !has_old || existing != Existing::Kept {
                    built.values().append_value(value);
                }
            }
            let added = built.values().len() - before;
            is_list |= added > 1;
            built.append(added > 0);
        }
        let lists: ArrayRef = Arc::new(built.finish());
        let kind = if is_list { ValueType::Multi } else { ValueType::Text };
        let array = convert(&lists, kind)?;
        rows.set(&self.name, kind, array);
        Ok(())
    }
}
