//! `addtotals col=t`: a last row with the sums of numeric columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, StringViewArray};
use eval::ValueType;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Rows, Values};

/// The rows, followed by one with the sums of columns and a label.
#[derive(Debug, Clone)]
pub struct ColumnTotals {
    /// The fields to sum, if they are numeric.
    pub fields: Vec<String>,
    /// The field of the label; `None` for no label.
    pub label_field: Option<String>,
    /// The label of the total row.
    pub label: String,
}

impl Operation for ColumnTotals {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let mut totals = Rows { columns: Vec::new(), count: 1 };
        for column in &rows.columns {
            let internal = column.name.starts_with('_');
            if !internal && self.fields.contains(&column.name) {
                let values = Values::new(&column.array)?;
                let numbers = (0..column.array.len()).filter_map(|row| values.get(row).number());
                let mut numbers = numbers.peekable();
                if numbers.peek().is_some() {
                    let sum: f64 = numbers.sum();
                    let array: ArrayRef = Arc::new(Float64Array::from(vec![sum]));
                    totals.push(column.name.clone(), ValueType::Float, array);
                }
            }
        }
        if let Some(field) = &self.label_field {
            let label: ArrayRef = Arc::new(StringViewArray::from(vec![self.label.as_str()]));
            totals.columns.retain(|column| column.name != *field);
            totals.push(field.clone(), ValueType::Text, label);
        }
        rows.append(totals)
    }
}
