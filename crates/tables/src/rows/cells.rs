//! Reading and writing collected rows by field: as texts, lists of texts, or numbers.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, StringViewArray, StringViewBuilder,
    TimestampMicrosecondArray, UInt32Array,
};
use arrow::compute::take;

use eval::ValueType;
use spl::ast::FieldPattern;

use super::{Column, Rows, Texts, Values};
use crate::error::Error;

/// A row as field names and values, in the order of their first occurrence.
pub type Record = Vec<(String, Vec<String>)>;

impl Rows {
    /// Creates rows without columns.
    #[must_use]
    pub fn blank(count: usize) -> Self {
        Self { columns: Vec::new(), count }
    }

    /// Creates rows from records; a field becomes a column of texts, or of lists if a row has several values.
    #[must_use]
    pub fn of_records(records: Vec<Record>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut cells: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        let count = records.len();
        for (row, record) in records.into_iter().enumerate() {
            for (name, values) in record {
                let column = cells.entry(name.clone()).or_insert_with(|| {
                    names.push(name);
                    vec![Vec::new(); count]
                });
                column[row] = values;
            }
        }
        let mut rows = Self::blank(count);
        for name in names {
            let column = cells.remove(&name).unwrap_or_default();
            rows.set_lists(&name, column);
        }
        rows
    }

    /// Returns the names of the columns.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Returns the columns that match patterns; all except internal ones if there are no patterns.
    #[must_use]
    pub fn matching(&self, patterns: &[FieldPattern]) -> Vec<String> {
        let meant = |name: &String| match patterns {
            [] => !name.starts_with('_'),
            some => some.iter().any(|pattern| {
                let exact = pattern.text == *name;
                exact || (!name.starts_with("__") && pattern.matches(name))
            }),
        };
        self.names().into_iter().filter(meant).collect()
    }

    /// Returns an unused column name: the given one, or the given one with a number appended.
    #[must_use]
    pub fn free_name(&self, name: &str) -> String {
        let mut candidate = name.to_owned();
        let mut number = 2;
        while self.column(&candidate).is_some() {
            candidate = format!("{name} {number}");
            number += 1;
        }
        candidate
    }

    /// Returns the number in each row of a column; times are in seconds.
    ///
    /// # Errors
    /// If SPL has no values of the type of the array.
    pub fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>, Error> {
        let Some(column) = self.column(name) else {
            return Ok(vec![None; self.count]);
        };
        let values = Values::new(&column.array)?;
        Ok((0..self.count).map(|row| values.get(row).number()).collect())
    }

    /// Returns the values in each row of a column; an empty list if the field is missing.
    ///
    /// # Errors
    /// If SPL has no values of the type of the array.
    pub fn lists(&self, name: &str) -> Result<Vec<Vec<String>>, Error> {
        let Some(column) = self.column(name) else {
            return Ok(vec![Vec::new(); self.count]);
        };
        let values = Values::new(&column.array)?;
        let list = |row| {
            let mut texts = Vec::new();
            values.get(row).each_text(|text| texts.push(text.to_owned()));
            texts
        };
        Ok((0..self.count).map(list).collect())
    }

    /// Sets a column; an existing one keeps its position.
    pub fn set(&mut self, name: &str, kind: ValueType, array: ArrayRef) {
        match self.columns.iter_mut().find(|column| column.name == name) {
            Some(column) => (column.kind, column.array) = (kind, array),
            None => self.push(name, kind, array),
        }
    }

    /// Sets a column of texts.
    pub fn set_texts<T: AsRef<str>>(
        &mut self,
        name: &str,
        texts: impl IntoIterator<Item = Option<T>>,
    ) {
        let array: StringViewArray = texts.into_iter().collect();
        self.set(name, ValueType::Text, Arc::new(array));
    }

    /// Sets a column of numbers.
    pub fn set_numbers(&mut self, name: &str, numbers: impl IntoIterator<Item = Option<f64>>) {
        let array: Float64Array = numbers.into_iter().collect();
        self.set(name, ValueType::Float, Arc::new(array));
    }

    /// Sets a column of whole numbers.
    pub fn set_integers(&mut self, name: &str, numbers: impl IntoIterator<Item = Option<i64>>) {
        let array: Int64Array = numbers.into_iter().collect();
        self.set(name, ValueType::Integer, Arc::new(array));
    }

    /// Adds a column of numbers under an unused name.
    pub(crate) fn push_numbers(
        &mut self,
        name: String,
        numbers: impl IntoIterator<Item = Option<f64>>,
    ) {
        let array: Float64Array = numbers.into_iter().collect();
        self.push(name, ValueType::Float, Arc::new(array));
    }

    /// Adds a column of whole numbers under an unused name.
    pub(crate) fn push_integers(
        &mut self,
        name: String,
        numbers: impl IntoIterator<Item = Option<i64>>,
    ) {
        let array: Int64Array = numbers.into_iter().collect();
        self.push(name, ValueType::Integer, Arc::new(array));
    }

    /// Sets a column of times in microseconds.
    pub fn set_times(&mut self, name: &str, micros: impl IntoIterator<Item = Option<i64>>) {
        let array: TimestampMicrosecondArray = micros.into_iter().collect();
        self.set(name, ValueType::Time, Arc::new(array.with_timezone("UTC")));
    }

    /// Sets a column of lists; of texts if no row has several values.
    pub fn set_lists(&mut self, name: &str, lists: Vec<Vec<String>>) {
        if lists.iter().all(|list| list.len() <= 1) {
            self.set_texts(name, lists.iter().map(|list| list.first()));
            return;
        }
        let mut built = Texts::new(StringViewBuilder::new());
        for list in &lists {
            list.iter().for_each(|text| built.values().append_value(text));
            built.append(!list.is_empty());
        }
        self.set(name, ValueType::Multi, Arc::new(built.finish()));
    }

    /// Returns the rows at these indexes, in this order; an index may occur several times.
    ///
    /// # Errors
    /// None in practice: the indexes must be valid.
    pub fn take(&self, places: &[usize]) -> Result<Self, Error> {
        let indices = places.iter().map(|place| u32::try_from(*place).ok());
        let indices: UInt32Array = indices.collect();
        let columns = self.columns.iter().map(|column| {
            let array = take(&column.array, &indices, None)?;
            Ok(Column { array, ..column.clone() })
        });
        Ok(Self { columns: columns.collect::<Result<_, Error>>()?, count: places.len() })
    }

    /// Returns consecutive rows.
    #[must_use]
    pub fn slice(&self, from: usize, count: usize) -> Self {
        let from = from.min(self.count);
        let count = count.min(self.count - from);
        let slice =
            |column: &Column| Column { array: column.array.slice(from, count), ..column.clone() };
        Self { columns: self.columns.iter().map(slice).collect(), count }
    }

    /// Removes a column.
    pub fn remove(&mut self, name: &str) {
        self.columns.retain(|column| column.name != name);
    }
}
