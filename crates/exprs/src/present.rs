//! Tests whether rows have values in certain columns.
//!
//! The optimizer can use a chain of `IS NOT NULL`, but each of its rules traverses the chain, which is as
//! deep as the number of columns. For many columns, one call is used instead.

use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::compute::{and, is_not_null, or};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::kernel::any_arguments;

/// Maximum length of a chain of `IS NOT NULL`.
const CHAINED: usize = 16;

/// Returns a test for a value in any of the columns; `None` without columns.
pub fn any_present(columns: Vec<Expr>) -> Option<Expr> {
    Present::of(false, columns)
}

/// Returns a test for values in all columns; `None` without columns.
pub fn all_present(columns: Vec<Expr>) -> Option<Expr> {
    Present::of(true, columns)
}

/// Returns a test for values in all group keys, which the next operator reads; `None` without keys. The
/// optimizer leaves it above the projection that computes the keys ([`columns_of_test`]), so that they are
/// computed once. `IS NOT NULL` is better for columns of a table, because it may exclude buckets.
pub fn keys_present(keys: Vec<Expr>) -> Option<Expr> {
    (!keys.is_empty()).then(|| Present::call(true, keys))
}

/// Returns the arguments of a test by [`keys_present`], or by [`all_present`] for many columns.
#[must_use]
pub fn columns_of_test(condition: &Expr) -> Option<&[Expr]> {
    let Expr::ScalarFunction(call) = condition else { return None };
    let test = call.func.inner().downcast_ref::<Present>()?;
    test.all.then_some(call.args.as_slice())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Present {
    /// Whether all columns need a value, instead of at least one.
    all: bool,
    signature: Signature,
}

impl Present {
    fn of(all: bool, columns: Vec<Expr>) -> Option<Expr> {
        if columns.len() > CHAINED {
            return Some(Self::call(all, columns));
        }
        let present = columns.into_iter().map(Expr::is_not_null);
        present.reduce(if all { Expr::and } else { Expr::or })
    }

    fn call(all: bool, columns: Vec<Expr>) -> Expr {
        let signature = any_arguments(Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { all, signature }).call(columns)
    }
}

impl ScalarUDFImpl for Present {
    fn name(&self) -> &'static str {
        if self.all { "all_present" } else { "any_present" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = |value: bool| {
            let values = match value {
                true => BooleanBuffer::new_set(args.number_rows),
                false => BooleanBuffer::new_unset(args.number_rows),
            };
            BooleanArray::new(values, None)
        };
        let mut present = constant(self.all);
        for column in &args.args {
            let of_column = match column {
                ColumnarValue::Array(array) => is_not_null(array)?,
                ColumnarValue::Scalar(value) => constant(!value.is_null()),
            };
            let combine = if self.all { and } else { or };
            present = combine(&present, &of_column)?;
        }
        Ok(ColumnarValue::Array(Arc::new(present)))
    }
}
