//! Parts of a field that aggregates read instead of its texts: its numbers, or its integers separately from
//! all other values.
//!
//! Guarantees: a part is the same whether it is computed from a field's texts or from the integers that a
//! bucket stores for it, so a scan may return the integers without formatting any text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use eval::value::{parse_number, whole_number};

use crate::Typed;
use crate::column::{Argument, Value};
use crate::kernel::{EvalFunction, columns};
use crate::types::{ArrowType, ValueType};

/// A part of a field's values. Rows without such a value are null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldPart {
    /// Values that are numbers, in any notation.
    Number,
    /// Integers in Karst's notation: those that are converted back to exactly this text.
    Whole,
    /// Texts that are not such integers.
    Other,
}

impl FieldPart {
    const ALL: [Self; 3] = [Self::Number, Self::Whole, Self::Other];

    fn name(self) -> &'static str {
        match self {
            Self::Number => "number_of",
            Self::Whole => "whole_part",
            Self::Other => "other_part",
        }
    }

    fn kind(self) -> ValueType {
        match self {
            Self::Number => ValueType::Float,
            Self::Whole => ValueType::Integer,
            Self::Other => ValueType::Text,
        }
    }

    /// Returns the type of the part's column.
    #[must_use]
    pub fn data_type(self) -> DataType {
        self.kind().data_type()
    }

    /// Returns the part of a text expression.
    pub fn of(self, text: &Typed) -> Expr {
        let take =
            move |arguments: &[Argument], rows: usize| Ok(self.of_argument(&arguments[0], rows));
        columns(self.name(), self.kind(), take).call(vec![text.clone()]).expr
    }

    fn of_argument(self, argument: &Argument, rows: usize) -> ArrayRef {
        let texts = (0..rows).map(|row| match argument.get(row) {
            Value::Text(text) => Some(text),
            _ => None,
        });
        self.of_each(texts)
    }

    fn of_each<'a>(self, texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
        match self {
            Self::Number => {
                Arc::new(texts.map(|text| parse_number(text?)).collect::<Float64Array>())
            }
            Self::Whole => Arc::new(texts.map(|text| whole_number(text?)).collect::<Int64Array>()),
            Self::Other => {
                let others = texts.map(|text| text.filter(|text| whole_number(text).is_none()));
                Arc::new(others.collect::<arrow::array::StringViewArray>())
            }
        }
    }

    /// Returns the part of a column of texts (`Utf8View`) or integers (`Int64`).
    ///
    /// # Errors
    /// None in practice: the casts it makes always succeed.
    pub fn of_column(self, column: &ArrayRef) -> Result<ArrayRef> {
        Ok(match (column.data_type(), self) {
            (DataType::Int64, Self::Whole) => Arc::clone(column),
            (DataType::Int64, Self::Number) => numbers_of(column.as_primitive()),
            (DataType::Int64, Self::Other) => new_null_array(&self.data_type(), column.len()),
            (DataType::Utf8View, _) => self.of_each(column.as_string_view().iter()),
            _ => self.of_each(cast(column, &DataType::Utf8View)?.as_string_view().iter()),
        })
    }
}

/// Converts integers. The cast of Arrow checks each row whether it can be converted, which these always can.
#[allow(clippy::cast_precision_loss)]
fn numbers_of(integers: &Int64Array) -> ArrayRef {
    Arc::new(integers.unary::<_, Float64Type>(|integer| integer as f64))
}

/// Returns the part and the column, if an expression reads a part.
#[must_use]
pub fn part_of(expr: &Arc<dyn PhysicalExpr>) -> Option<(FieldPart, &Column)> {
    let call = ScalarFunctionExpr::try_downcast_func::<EvalFunction>(expr.as_ref())?;
    let part = FieldPart::ALL.into_iter().find(|part| part.name() == call.fun().name())?;
    let [column] = call.args() else { return None };
    Some((part, column.downcast_ref::<Column>()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_parts_of_their_texts() {
        let integers: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(0),
            None,
            Some(-7),
            Some(i64::MAX),
            Some(i64::MIN),
        ]));
        let texts = cast(&integers, &DataType::Utf8View).unwrap();
        for part in FieldPart::ALL {
            let (one, two) = (part.of_column(&integers).unwrap(), part.of_column(&texts).unwrap());
            assert_eq!(one.to_data(), two.to_data(), "{part:?}");
            assert_eq!(*one.data_type(), part.data_type());
        }
        assert_eq!(texts.as_string_view().value(0), "0");
    }
}
