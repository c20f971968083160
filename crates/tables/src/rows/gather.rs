//! Combines rows: by key, side by side, and appended to each other.
//!
//! Guarantees: one pass over each column; rows are not compared with each other.

use std::collections::HashMap;
use std::fmt::Write;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{concat, is_not_null, take};

use eval::ValueType;

use super::{ArrowType, Column, Rows, Values, array_bytes, check_count, united};
use crate::error::Error;

/// The separator between the values of a field, and between fields, in a key.
const VALUE: char = '\u{1f}';
const FIELD: char = '\u{1e}';
/// Size in bytes of the place of a text in a column.
const VIEW: usize = 16;

/// Returns row indexes; null for rows of nulls.
pub fn places(places: impl IntoIterator<Item = Option<usize>>) -> UInt32Array {
    places.into_iter().map(|place| u32::try_from(place?).ok()).collect()
}

impl Rows {
    /// Returns the values of the fields of each row as one text; `None` if a field is missing. Rows with
    /// equal values have equal keys, independently of the types of the columns.
    ///
    /// # Errors
    /// If SPL has no values of the type of an array.
    pub fn keys(&self, fields: &[String]) -> Result<Vec<Option<String>>, Error> {
        let mut keys = vec![Some(String::new()); self.count];
        for field in fields {
            let Some(column) = self.column(field) else {
                return Ok(vec![None; self.count]);
            };
            let values = Values::new(&column.array)?;
            for (row, key) in keys.iter_mut().enumerate() {
                let value = values.get(row);
                match key {
                    Some(text) if !value.is_null() => {
                        value.each_text(|value| {
                            text.push_str(value);
                            text.push(VALUE);
                        });
                        text.push(FIELD);
                    }
                    _ => *key = None,
                }
            }
        }
        Ok(keys)
    }

    /// Returns the contents of each row as one text: fields ordered by name, without missing ones.
    ///
    /// # Errors
    /// If SPL has no values of the type of an array.
    pub fn whole_keys(&self) -> Result<Vec<String>, Error> {
        let mut columns: Vec<&Column> = self.columns.iter().collect();
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        let mut keys = vec![String::new(); self.count];
        for column in columns {
            let values = Values::new(&column.array)?;
            for (row, key) in keys.iter_mut().enumerate() {
                let value = values.get(row);
                if !value.is_null() {
                    // Writing to a string cannot fail.
                    let _ = write!(key, "{}{VALUE}", column.name);
                    value.each_text(|value| {
                        key.push_str(value);
                        key.push(VALUE);
                    });
                    key.push(FIELD);
                }
            }
        }
        Ok(keys)
    }

    /// Joins rows side by side: each row of `left` with the row of `other` at the same position of `right`.
    /// If both have a value, `overwrite` selects that of `other`.
    ///
    /// # Errors
    /// If SPL has no values of the type of an array.
    pub fn beside(
        &self,
        left: &UInt32Array,
        other: &Self,
        right: &UInt32Array,
        overwrite: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let mut joined = Self::blank(left.len());
        let (own_columns, others) = (self.by_name(), other.by_name());
        for column in &self.columns {
            let own = take(&column.array, left, None)?;
            let Some(theirs) = others.get(column.name.as_str()) else {
                joined.push(column.name.clone(), column.kind, own);
                continue;
            };
            let kind = column.kind.union(theirs.kind);
            let own = united(&column.name, &own, kind)?;
            let theirs = united(&column.name, &take(&theirs.array, right, None)?, kind)?;
            let array = match overwrite(&column.name) {
                true => either(&theirs, &own)?,
                false => either(&own, &theirs)?,
            };
            joined.push(column.name.clone(), kind, array);
        }
        for column in &other.columns {
            if !own_columns.contains_key(column.name.as_str()) {
                let array = take(&column.array, right, None)?;
                joined.push(column.name.clone(), column.kind, array);
            }
        }
        Ok(joined)
    }

    /// Appends tables to each other; fields that a table lacks are null in its rows.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if there are more than `most` rows.
    pub fn stacked(parts: Vec<Self>, most: usize) -> Result<Self, Error> {
        let mut columns: Vec<(String, ValueType)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for column in parts.iter().flat_map(|part| &part.columns) {
            let at = *places.entry(column.name.as_str()).or_insert(columns.len());
            match columns.get_mut(at) {
                Some((_, kind)) => *kind = kind.union(column.kind),
                None => columns.push((column.name.clone(), column.kind)),
            }
        }
        let count = parts.iter().map(|part| part.count).sum();
        check_count(count, most)?;
        let mut stacked = Self::blank(count);
        let known: Vec<HashMap<&str, &Column>> = parts.iter().map(Self::by_name).collect();
        for (name, kind) in columns {
            let arrays = parts.iter().zip(&known);
            let arrays = arrays.map(|(part, known)| match known.get(name.as_str()) {
                Some(column) => united(&name, &column.array, kind),
                None => Ok(arrow::array::new_null_array(&kind.data_type(), part.count)),
            });
            let arrays: Vec<ArrayRef> = arrays.collect::<Result<_, Error>>()?;
            let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
            stacked.push(name, kind, concat(&arrays)?);
        }
        Ok(stacked)
    }

    /// Returns the minimum size in bytes that [`Rows::stacked`] adds to that of the tables: texts are shared
    /// with the tables, other values are copied, and each field has a cell in every row.
    #[must_use]
    pub fn stacked_bytes(parts: &[Self]) -> usize {
        let mut cells: HashMap<&str, usize> = HashMap::new();
        let mut lists = 0;
        for column in parts.iter().flat_map(|part| &part.columns) {
            let cell = match column.kind {
                ValueType::Text => VIEW,
                ValueType::Multi => {
                    lists += array_bytes(&column.array);
                    0
                }
                other => other.data_type().primitive_width().unwrap_or(0),
            };
            let widest = cells.entry(column.name.as_str()).or_default();
            *widest = cell.max(*widest);
        }
        let count: usize = parts.iter().map(|part| part.count).sum();
        count.saturating_mul(cells.values().sum()).saturating_add(lists)
    }

    /// Indexes the columns by name, as there may be thousands.
    fn by_name(&self) -> HashMap<&str, &Column> {
        let each = self.columns.iter().rev();
        each.map(|column| (column.name.as_str(), column)).collect()
    }

    /// Whether `_time` never increases from row to row.
    ///
    /// # Errors
    /// If SPL has no values of the type of an array.
    pub fn newest_first(&self) -> Result<bool, Error> {
        Ok(self.column("_time").is_some() && self.numbers("_time")?.is_sorted_by(|a, b| a >= b))
    }

    /// Sorts the rows by `_time`, newest first; rows with equal times keep their order, rows without a time
    /// come last.
    ///
    /// # Errors
    /// If SPL has no values of the type of an array.
    pub fn by_time(&self) -> Result<Self, Error> {
        let times = self.numbers("_time")?;
        let mut order: Vec<usize> = (0..self.count).collect();
        let time = |place: usize| times[place].unwrap_or(f64::NEG_INFINITY);
        order.sort_by(|a, b| time(*b).total_cmp(&time(*a)));
        self.take(&order)
    }
}

/// Returns the first non-null value of two arrays in each row.
fn either(first: &ArrayRef, second: &ArrayRef) -> Result<ArrayRef, Error> {
    if first.null_count() == 0 {
        return Ok(ArrayRef::clone(first));
    }
    let mask = is_not_null(first)?;
    Ok(zip(&mask, first, second)?)
}
