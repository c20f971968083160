//! Read access to columns for functions: arguments of a function, rows of arguments.
//!
//! Guarantees: reading a value never allocates; constants are kept as one row.
//! The values of an array are left to [`Values`], and their interpretation (as numbers, Booleans) to
//! [`eval::value`].

use arrow::array::ArrayRef;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::ColumnarValue;
use eval::value::TextValue;

pub use eval::value::Value;
pub use tables::Values;

/// Reads the values of an array, for functions and operators of the engine.
///
/// # Errors
/// If SPL has no values of the type of the array.
pub fn read(array: &ArrayRef) -> Result<Values> {
    Values::new(array).map_err(|error| match error {
        tables::Error::Arrow(error) => DataFusionError::from(error),
        other => exec_datafusion_err!("{other}"),
    })
}

/// An argument of a function: a column, or a constant kept as one row.
#[derive(Debug, Clone)]
pub struct Argument {
    /// The values; a single row for a constant.
    pub values: Values,
    /// Whether every row has the value of the first.
    pub constant: bool,
}

impl Argument {
    /// Converts an argument from DataFusion.
    ///
    /// # Errors
    /// If SPL has no values of the type of the array.
    pub fn new(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Array(array) => Self { values: read(array)?, constant: false },
            ColumnarValue::Scalar(scalar) => {
                Self { values: read(&scalar.to_array()?)?, constant: true }
            }
        })
    }

    /// Returns the value in a row.
    #[inline]
    pub fn get(&self, row: usize) -> Value<'_> {
        self.values.get(if self.constant { 0 } else { row })
    }
}

/// The arguments of an aggregate for one event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) arguments: &'a [Argument],
    pub(crate) row: usize,
}

impl<'a> Row<'a> {
    /// Returns an argument; null if there are fewer.
    pub(crate) fn value(self, at: usize) -> Value<'a> {
        self.arguments.get(at).map_or(Value::Null, |argument| argument.get(self.row))
    }

    pub(crate) fn text(self, at: usize) -> Option<TextValue<'a>> {
        self.value(at).text()
    }

    pub(crate) fn number(self, at: usize) -> Option<f64> {
        self.value(at).number()
    }

    /// Returns all arguments.
    pub(crate) fn values(self) -> impl Iterator<Item = Value<'a>> {
        self.arguments.iter().map(move |argument| argument.get(self.row))
    }
}
