//! Rows in memory: the input and output of commands over whole tables.
//!
//! Guarantees: all columns have the same length, and each has the Arrow type of its value type; reading rows
//! allocates only what is returned. Enforcing memory limits is left to callers of [`Rows::check_bytes`],
//! [`check_cells`] and [`check_count`].

mod cells;
mod gather;
mod names;
mod places;
mod size;
mod types;
mod values;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListBuilder, StringViewBuilder};
use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use eval::ValueType;
use eval::value::time_among_texts;

pub use cells::Record;
pub use gather::places;
pub use names::{FreeNames, NameFormat};
pub use size::{array_bytes, check_cells, check_count};
pub use types::ArrowType;
pub use values::{ListTexts, Values};

use crate::error::Error;

/// Collects the lists of a column of several values.
pub type Texts = ListBuilder<StringViewBuilder>;

/// A column of collected rows.
#[derive(Debug, Clone)]
pub struct Column {
    /// The name of the field.
    pub name: String,
    /// The type of its values.
    pub kind: ValueType,
    /// The values, in the Arrow type of their kind.
    pub array: ArrayRef,
}

impl Column {
    /// Returns the text in each row.
    ///
    /// # Errors
    /// If SPL has no values of the type of the array.
    pub fn texts(&self) -> Result<Vec<Option<String>>, Error> {
        let values = Values::new(&self.array)?;
        let text = |row| values.get(row).text().map(|text| text.to_string());
        Ok((0..self.array.len()).map(text).collect())
    }
}

/// Rows in order, held in memory.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The columns in the order they are shown, each as long as the others.
    pub columns: Vec<Column>,
    /// The number of rows.
    pub count: usize,
}

impl Rows {
    /// Collects batches with these columns.
    ///
    /// # Errors
    /// If a column is of another type than its kind has.
    pub fn of_batches(
        columns: impl IntoIterator<Item = (String, ValueType)>,
        batches: &[RecordBatch],
    ) -> Result<Self, Error> {
        let columns = columns.into_iter();
        let Some(first) = batches.first() else {
            let empty = columns.map(|(name, kind)| Column {
                name,
                kind,
                array: arrow::array::new_empty_array(&kind.data_type()),
            });
            return Ok(Self { columns: empty.collect(), count: 0 });
        };
        let batch = concat_batches(&first.schema(), batches)?;
        let zipped = columns.zip(batch.columns());
        let columns = zipped
            .map(|((name, kind), array)| Ok(Column { name, kind, array: typed(array, kind)? }));
        Ok(Self { columns: columns.collect::<Result<_, Error>>()?, count: batch.num_rows() })
    }

    /// Returns the column with this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the text of a column in each row; all null if there is no such column.
    ///
    /// # Errors
    /// If SPL has no values of the type of the array.
    pub fn texts(&self, name: &str) -> Result<Vec<Option<String>>, Error> {
        self.column(name).map_or_else(|| Ok(vec![None; self.count]), Column::texts)
    }

    /// Adds a column.
    pub fn push(&mut self, name: impl Into<String>, kind: ValueType, array: ArrayRef) {
        self.columns.push(Column { name: name.into(), kind, array });
    }

    /// Appends the rows of another table, matching columns by name.
    ///
    /// # Errors
    /// None in practice: columns of the same name become columns of a kind that holds both.
    pub fn append(self, other: Self) -> Result<Self, Error> {
        Self::stacked(vec![self, other], usize::MAX)
    }

    /// Returns the numbers in the first two columns of the only row, with times in microseconds; `None` if
    /// there is no row or a number is missing.
    ///
    /// # Errors
    /// None in practice: a column of a type without SPL values is treated as missing.
    pub fn extent(&self) -> Result<Option<(f64, f64)>, Error> {
        let number = |at: usize| {
            let column = self.columns.get(at)?;
            Some((Values::new(&column.array).ok()?, column.kind == ValueType::Time))
        };
        let (Some((low, time)), Some((high, _)), true) = (number(0), number(1), self.count > 0)
        else {
            return Ok(None);
        };
        let scale = if time { 1e6 } else { 1.0 };
        let (low, high) = (low.get(0).number(), high.get(0).number());
        Ok(low.zip(high).map(|(low, high)| (low * scale, high * scale)))
    }
}

/// Casts an array to the Arrow type of a kind.
///
/// # Errors
/// If Arrow cannot cast the array.
pub fn typed(array: &ArrayRef, kind: ValueType) -> Result<ArrayRef, Error> {
    let wanted = kind.data_type();
    if *array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    Ok(arrow::compute::cast(array, &wanted)?)
}

/// Converts an array to another kind of values, in the notation of SPL.
///
/// # Errors
/// If SPL has no values of the type of the array, or Arrow cannot cast it.
pub fn convert(array: &ArrayRef, kind: ValueType) -> Result<ArrayRef, Error> {
    if *array.data_type() == kind.data_type() {
        return Ok(Arc::clone(array));
    }
    let values = Values::new(array)?;
    let rows = array.len();
    Ok(match kind {
        ValueType::Float => {
            let numbers = (0..rows).map(|row| values.get(row).number());
            Arc::new(numbers.collect::<arrow::array::Float64Array>())
        }
        ValueType::Multi => {
            let mut built = Texts::new(StringViewBuilder::new());
            for row in 0..rows {
                values.get(row).each_text(|text| built.values().append_value(text));
                built.append(!values.get(row).is_null());
            }
            Arc::new(built.finish())
        }
        ValueType::Text => {
            let mut built = StringViewBuilder::with_capacity(rows);
            for row in 0..rows {
                built.append_option(values.get(row).text().as_deref());
            }
            Arc::new(built.finish())
        }
        other => arrow::compute::cast(array, &other.data_type())?,
    })
}

/// Converts the values of a field to a kind that also holds those of other rows. Times of `_time` among texts
/// are written so that results display them as times.
fn united(name: &str, array: &ArrayRef, kind: ValueType) -> Result<ArrayRef, Error> {
    let is_time = ValueType::of(array.data_type()) == Some(ValueType::Time);
    if name != model::columns::TIME || !is_time || kind != ValueType::Text {
        return convert(array, kind);
    }
    let values = Values::new(array)?;
    let mut built = StringViewBuilder::with_capacity(array.len());
    for row in 0..array.len() {
        built.append_option(values.get(row).micros().map(time_among_texts));
    }
    Ok(Arc::new(built.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{StringViewArray, TimestampMicrosecondArray};

    fn rows(name: &str, kind: ValueType, array: ArrayRef) -> Rows {
        let mut rows = Rows::blank(array.len());
        rows.push(name, kind, array);
        rows
    }

    fn times(name: &str) -> Rows {
        let times = TimestampMicrosecondArray::from(vec![Some(7_200_000_000), None]);
        rows(name, ValueType::Time, Arc::new(times.with_timezone("UTC")))
    }

    fn texts(name: &str) -> Rows {
        rows(name, ValueType::Text, Arc::new(StringViewArray::from(vec!["Total", "10"])))
    }

    fn values(rows: &Rows, name: &str) -> Vec<Option<String>> {
        rows.texts(name).expect("the column has values of SPL")
    }

    #[test]
    fn times_among_texts_differ_from_other_numbers() {
        let expected = |time: &str| {
            let texts = [Some(time), None, Some("Total"), Some("10")];
            texts.map(|text| text.map(str::to_owned)).to_vec()
        };
        for (name, time) in [("_time", "7200.000000"), ("_indextime", "7200")] {
            let appended = times(name).append(texts(name)).expect("texts hold both");
            assert_eq!(values(&appended, name), expected(time));
            let stacked =
                Rows::stacked(vec![times(name), texts(name)], 4).expect("texts hold both");
            assert_eq!(values(&stacked, name), expected(time));
        }
    }

    #[test]
    fn the_cells_of_missing_fields_count_before_tables_are_stacked() {
        // Two times, two views of texts.
        assert_eq!(Rows::stacked_bytes(&[times("a")]), 2 * 8);
        assert_eq!(Rows::stacked_bytes(&[texts("a")]), 2 * 16);
        assert_eq!(Rows::stacked_bytes(&[times("a"), texts("a")]), 4 * 16);
        assert_eq!(Rows::stacked_bytes(&[times("a"), texts("b")]), 4 * (8 + 16));
        assert_eq!(Rows::stacked_bytes(&[]), 0);
    }
}
