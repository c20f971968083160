//! Type conversions of expressions, including the precision of numbers.
//!
//! Guarantees: values that cannot be converted become null; converting to the same type costs nothing.

mod precision;

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, TimestampMicrosecondArray};
use datafusion::logical_expr::cast;

use crate::Typed;
use crate::column::Argument;
use crate::kernel::{columns, multi, text};
use crate::parts::FieldPart;
use crate::types::{ArrowType, ValueType};

pub(crate) use precision::{precise, sigfig};

impl Typed {
    /// Converts values to another type.
    #[must_use]
    pub fn to(self, kind: ValueType) -> Self {
        if self.kind == kind {
            return self;
        }
        if self.kind == ValueType::Null {
            return Self::null(kind);
        }
        let value = match kind {
            ValueType::Text | ValueType::Multi => self.shown(),
            _ => self.plain(),
        };
        value.into_kind(kind)
    }

    fn into_kind(self, kind: ValueType) -> Self {
        if self.kind == kind {
            return self;
        }
        match kind {
            ValueType::Text => to_text(self),
            ValueType::Multi => to_multi(self),
            ValueType::Float => to_number(self),
            ValueType::Integer => to_integer(self),
            ValueType::Boolean => to_truth(self),
            ValueType::Time => to_time(self),
            ValueType::Null => Self::null(ValueType::Null),
        }
    }
}

fn to_text(value: Typed) -> Typed {
    let function = text("to_text", |row, out| {
        out.push_str(&row.text(0)?);
        Some(())
    });
    function.call(vec![value])
}

fn to_multi(value: Typed) -> Typed {
    let function = multi("to_multi", |row, out| {
        row.value(0).each_text(|text| out.append_value(text));
        Some(())
    });
    function.call(vec![value])
}

fn to_number(value: Typed) -> Typed {
    if value.kind == ValueType::Integer {
        return Typed::new(cast(value.expr, ValueType::Float.data_type()), ValueType::Float);
    }
    if value.kind == ValueType::Text {
        return Typed::new(FieldPart::Number.of(&value), ValueType::Float);
    }
    let function = columns("to_number", ValueType::Float, |arguments, rows| {
        Ok(Arc::new(numbers(&arguments[0], rows)))
    });
    function.call(vec![value])
}

/// Converts a column to numbers.
pub(crate) fn numbers(argument: &Argument, rows: usize) -> Float64Array {
    (0..rows).map(|row| argument.get(row).number()).collect()
}

fn to_integer(value: Typed) -> Typed {
    let function = columns("to_integer", ValueType::Integer, |arguments, rows| {
        let values = (0..rows).map(|row| arguments[0].get(row).whole());
        Ok(Arc::new(values.collect::<Int64Array>()))
    });
    function.call(vec![value])
}

fn to_truth(value: Typed) -> Typed {
    let function = columns("to_truth", ValueType::Boolean, |arguments, rows| {
        let values = (0..rows).map(|row| arguments[0].get(row).truth());
        Ok(Arc::new(values.collect::<BooleanArray>()))
    });
    function.call(vec![value])
}

fn to_time(value: Typed) -> Typed {
    let function = columns("to_time", ValueType::Time, |arguments, rows| {
        let micros = (0..rows).map(|row| arguments[0].get(row).number().map(eval::value::micros));
        let times: TimestampMicrosecondArray = micros.collect();
        Ok(Arc::new(times.with_timezone("UTC")) as ArrayRef)
    });
    function.call(vec![value])
}
