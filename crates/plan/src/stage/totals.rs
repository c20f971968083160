//! `addtotals col=t`: a last row with the sums of numeric columns.

use arrow::array::{Array, ArrayRef, Float64Array, StringViewArray};
use async_trait::async_trait;
use std::sync::Arc;

use super::{Rows, TableOp};
use crate::Error;
use crate::expr::column::Values;
use crate::pipeline::PlanningContext;
use crate::types::ValueType;

/// Which columns are summed and how the row is labelled.
#[derive(Debug, Clone)]
pub(crate) struct ColumnTotals {
    pub(crate) fields: Vec<String>,
    pub(crate) label_field: Option<String>,
    pub(crate) label: String,
}

#[async_trait]
impl TableOp for ColumnTotals {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
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
        Ok(rows.append(totals)?)
    }
}
