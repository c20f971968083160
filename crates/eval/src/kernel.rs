//! The functions (kernels) that compute a result from the arguments of one event.

use std::fmt;
use std::sync::Arc;

use crate::row::{Row, Several};
use crate::value::{Datum, Value, ValueType};

/// Appends the text of the result to an empty buffer.
pub type TextKernel = dyn for<'a> Fn(Row<'a>, &mut String) -> Option<()> + Send + Sync;
/// Appends the values of the result; if none is appended, the result is null.
pub type MultiKernel = dyn for<'a> Fn(Row<'a>, &mut Several<'_>) -> Option<()> + Send + Sync;
/// Computes a number.
pub type NumberKernel = dyn for<'a> Fn(Row<'a>) -> Option<f64> + Send + Sync;
/// Computes a whole number.
pub type IntegerKernel = dyn for<'a> Fn(Row<'a>) -> Option<i64> + Send + Sync;
/// Computes a Boolean.
pub type TruthKernel = dyn for<'a> Fn(Row<'a>) -> Option<bool> + Send + Sync;

/// The computation of a function, by the type of its result. `None` is null.
#[derive(Clone)]
pub enum Kernel {
    /// One text.
    Text(Arc<TextKernel>),
    /// Like `Text`, but several values in the first argument give several results.
    TextOfEach(Arc<TextKernel>),
    /// Several texts.
    Multi(Arc<MultiKernel>),
    /// A number.
    Number(Arc<NumberKernel>),
    /// A whole number.
    Integer(Arc<IntegerKernel>),
    /// A Boolean.
    Truth(Arc<TruthKernel>),
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

impl Kernel {
    /// Creates a kernel that returns a text.
    pub fn text<F>(kernel: F) -> Self
    where
        F: for<'a> Fn(Row<'a>, &mut String) -> Option<()> + Send + Sync + 'static,
    {
        Self::Text(Arc::new(kernel))
    }

    /// Like [`Kernel::text`], but runs for each value of a multivalue first argument.
    pub fn text_of_each<F>(kernel: F) -> Self
    where
        F: for<'a> Fn(Row<'a>, &mut String) -> Option<()> + Send + Sync + 'static,
    {
        Self::TextOfEach(Arc::new(kernel))
    }

    /// Creates a kernel that returns several values.
    pub fn multi<F>(kernel: F) -> Self
    where
        F: for<'a> Fn(Row<'a>, &mut Several<'_>) -> Option<()> + Send + Sync + 'static,
    {
        Self::Multi(Arc::new(kernel))
    }

    /// Creates a kernel that returns a number.
    pub fn number<F>(kernel: F) -> Self
    where
        F: for<'a> Fn(Row<'a>) -> Option<f64> + Send + Sync + 'static,
    {
        Self::Number(Arc::new(kernel))
    }

    /// Creates a kernel that returns a whole number.
    pub fn integer<F>(kernel: F) -> Self
    where
        F: for<'a> Fn(Row<'a>) -> Option<i64> + Send + Sync + 'static,
    {
        Self::Integer(Arc::new(kernel))
    }

    /// Creates a kernel that returns a Boolean.
    pub fn truth<F>(kernel: F) -> Self
    where
        F: for<'a> Fn(Row<'a>) -> Option<bool> + Send + Sync + 'static,
    {
        Self::Truth(Arc::new(kernel))
    }

    /// Returns the type of the results, given the type of the first argument.
    #[must_use]
    pub fn returns(&self, first: Option<ValueType>) -> ValueType {
        match self {
            Self::Text(_) => ValueType::Text,
            Self::TextOfEach(_) => match first {
                Some(ValueType::Multi) => ValueType::Multi,
                _ => ValueType::Text,
            },
            Self::Multi(_) => ValueType::Multi,
            Self::Number(_) => ValueType::Float,
            Self::Integer(_) => ValueType::Integer,
            Self::Truth(_) => ValueType::Boolean,
        }
    }

    /// Computes the value of one row.
    #[must_use]
    pub fn run(&self, row: Row<'_>) -> Datum<'static> {
        let text = |kernel: &TextKernel, row: Row<'_>| {
            let mut out = String::new();
            kernel(row, &mut out).map(|()| out)
        };
        match self {
            Self::TextOfEach(kernel) if matches!(row.value(0), Value::Multi(_)) => {
                let Value::Multi(several) = row.value(0) else { return Datum::NULL };
                let mut values: Vec<_> = row.values().collect();
                let mut out = Vec::with_capacity(several.len());
                for one in several.iter() {
                    values[0] = Value::Text(one);
                    out.extend(text(kernel.as_ref(), Row::new(&values, row.environment())));
                }
                Datum::Multi(out)
            }
            Self::Text(kernel) | Self::TextOfEach(kernel) => {
                text(kernel.as_ref(), row).map_or(Datum::NULL, Datum::Text)
            }
            Self::Multi(kernel) => {
                let mut out = Vec::new();
                match kernel(row, &mut Several::new(&mut out)) {
                    Some(()) => Datum::Multi(out),
                    None => Datum::NULL,
                }
            }
            Self::Number(kernel) => kernel(row).map_or(Value::Null, Value::Float).into(),
            Self::Integer(kernel) => kernel(row).map_or(Value::Null, Value::Integer).into(),
            Self::Truth(kernel) => kernel(row).map_or(Value::Null, Value::Boolean).into(),
        }
    }
}
