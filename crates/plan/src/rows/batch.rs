//! Collected rows between two stages.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, StringViewBuilder};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::TableReference;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::LogicalPlanBuilder;
use exprs::column::Values;
use exprs::types::{ArrowType, ValueType};

use super::array_bytes;
use crate::frame::{Frame, FrameColumn};
use crate::{Error, Limits, OutputColumn};

/// A column of collected rows.
#[derive(Debug, Clone)]
pub struct Column {
    /// The field.
    pub name: String,
    /// What its values are.
    pub kind: ValueType,
    /// The values, in the Arrow type of their kind.
    pub array: ArrayRef,
}

/// Rows in order, held in memory.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The columns in the order they are shown, each as long as the others.
    pub columns: Vec<Column>,
    /// How many rows.
    pub count: usize,
}

impl Rows {
    /// Rows of batches that all have these columns.
    ///
    /// # Errors
    /// If a column is of another type than its kind has.
    pub fn of_batches(columns: &[OutputColumn], batches: &[RecordBatch]) -> Result<Self, Error> {
        let Some(first) = batches.first() else {
            let empty = columns.iter().map(|column| Column {
                name: column.name.clone(),
                kind: column.value_type,
                array: arrow::array::new_empty_array(&column.value_type.data_type()),
            });
            return Ok(Self { columns: empty.collect(), count: 0 });
        };
        let batch = concat_batches(&first.schema(), batches)?;
        let zipped = columns.iter().zip(batch.columns());
        let columns = zipped.map(|(column, array)| {
            let (name, kind) = (column.name.clone(), column.value_type);
            Ok(Column { name, kind, array: typed(array, kind)? })
        });
        Ok(Self { columns: columns.collect::<Result<_, Error>>()?, count: batch.num_rows() })
    }

    /// The column of a name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The text in each row of a column; all null if there is no such column.
    ///
    /// # Errors
    /// If the array is of a type that SPL has no value of.
    pub fn texts(&self, name: &str) -> Result<Vec<Option<String>>, Error> {
        let Some(column) = self.column(name) else {
            return Ok(vec![None; self.count]);
        };
        let values = Values::new(&column.array)?;
        Ok((0..self.count).map(|row| values.get(row).text().map(|t| t.to_string())).collect())
    }

    /// Fails if the rows take more than a search may hold.
    pub(crate) fn check_bytes(&self, limits: &Limits) -> Result<(), Error> {
        let bytes: usize = self.columns.iter().map(|column| array_bytes(&column.array)).sum();
        let most = limits.memory_bytes;
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "the search holds rows of {bytes} bytes, more than {} MB: narrow it, or raise max_mem_usage_mb \
             in limits.conf [search]",
            most >> 20
        );
        Err(Error::Exhausted { message })
    }

    /// Adds a column.
    pub fn push(&mut self, name: impl Into<String>, kind: ValueType, array: ArrayRef) {
        self.columns.push(Column { name: name.into(), kind, array });
    }

    /// A frame over the rows that keeps their order.
    pub(crate) fn into_frame(self) -> Result<Frame, Error> {
        let mut fields = Vec::with_capacity(self.columns.len() + 1);
        let mut arrays = Vec::with_capacity(self.columns.len() + 1);
        let mut columns = Vec::with_capacity(self.columns.len());
        for Column { name, kind, array } in self.columns {
            fields.push(Field::new(&name, kind.data_type(), true));
            arrays.push(typed(&array, kind)?);
            columns.push(FrameColumn { name, kind });
        }
        fields.push(Field::new("__row", DataType::Int64, false));
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        arrays.push(Arc::new(Int64Array::from_iter_values(0..count)));
        let schema = Arc::new(Schema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(self.count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)?;
        let table = Arc::new(MemTable::try_new(schema, vec![vec![batch]])?);
        let name = TableReference::bare("rows");
        let plan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?.build()?;
        Frame::of_table(plan, "rows", columns, vec![("__row", false)])
    }

    /// Puts the rows of another below, matching columns by name.
    ///
    /// # Errors
    /// None in practice: columns of the same name become columns of a kind that holds both.
    pub fn append(self, other: Self) -> Result<Self, Error> {
        let mut names: Vec<(String, ValueType)> =
            self.columns.iter().map(|column| (column.name.clone(), column.kind)).collect();
        for column in &other.columns {
            match names.iter_mut().find(|(name, _)| *name == column.name) {
                Some((_, kind)) => *kind = kind.union(column.kind),
                None => names.push((column.name.clone(), column.kind)),
            }
        }
        let mut joined = Self { columns: Vec::new(), count: self.count + other.count };
        for (name, kind) in names {
            let parts = [self.cast(&name, kind)?, other.cast(&name, kind)?];
            let array = arrow::compute::concat(&[&parts[0], &parts[1]])?;
            joined.push(name, kind, array);
        }
        Ok(joined)
    }

    fn cast(&self, name: &str, kind: ValueType) -> Result<ArrayRef, Error> {
        match self.column(name) {
            Some(column) => convert(&column.array, kind),
            None => Ok(arrow::array::new_null_array(&kind.data_type(), self.count)),
        }
    }

    /// The numbers in the first two columns of the only row; times are microseconds.
    pub(crate) fn extent(&self) -> Result<Option<(f64, f64)>, Error> {
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

/// An array of the type columns of a kind have.
fn typed(array: &ArrayRef, kind: ValueType) -> Result<ArrayRef, Error> {
    let wanted = kind.data_type();
    if *array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    Ok(arrow::compute::cast(array, &wanted)?)
}

/// An array as another kind of values, written as SPL writes them.
pub(crate) fn convert(array: &ArrayRef, kind: ValueType) -> Result<ArrayRef, Error> {
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
            let mut built = exprs::kernel::Texts::new(StringViewBuilder::new());
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
