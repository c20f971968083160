//! `eval` expressions as DataFusion expressions, with Splunk's typing and treatment of null.
//!
//! Guarantees: a null operand gives null, `AND`, `OR` and `NOT` are three-valued, an unknown field
//! is null; what is statically numeric uses DataFusion's own operators, what is dynamic text a
//! function of the plan. Regular expressions and time formats that are literals are compiled when
//! planning, once.
//! It leaves the functions to `functions`, and which fields exist to the [`Scope`].

pub(crate) mod column;
pub(crate) mod compare;
mod compile;
pub(crate) mod convert;
pub(crate) mod kernel;
pub(crate) mod operators;
pub(crate) mod precision;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod udf;

use std::sync::Arc;

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::Expr;
use jiff::tz::TimeZone;
use model::EventTime;

use crate::lookup::Lookup;
use crate::types::{ArrowType, ValueType};

pub(crate) use compare::compare;
pub use compile::compile;
pub(crate) use eval::operators::truth_word;

/// What an expression can see.
pub trait Scope {
    /// The type of a field; `None` if there is no such field, which makes it null.
    fn field(&self, name: &str) -> Option<ValueType>;

    /// The names of all fields, where they are known.
    fn fields(&self) -> Vec<String> {
        Vec::new()
    }

    /// A lookup that `lookup()` asks by these of its fields; none where expressions cannot ask.
    fn lookup(&self, table: &str, inputs: &[String]) -> Option<Arc<Lookup>> {
        let _ = (table, inputs);
        None
    }

    /// When the search started.
    fn now(&self) -> EventTime;

    /// The time zone of the user.
    fn timezone(&self) -> &TimeZone;
}

/// An expression and the type of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Typed {
    /// The expression.
    pub expr: Expr,
    /// What it evaluates to.
    pub kind: ValueType,
}

impl Typed {
    /// An expression of a type.
    #[must_use]
    pub fn new(expr: Expr, kind: ValueType) -> Self {
        Self { expr, kind }
    }

    /// A column by its exact name.
    #[must_use]
    pub fn column(name: &str, kind: ValueType) -> Self {
        Self { expr: Expr::Column(Column::new_unqualified(name)), kind }
    }

    /// A constant text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let value = ScalarValue::Utf8View(Some(text.to_owned()));
        Self { expr: Expr::Literal(value, None), kind: ValueType::Text }
    }

    /// A constant number.
    #[must_use]
    pub fn number(number: f64) -> Self {
        let value = ScalarValue::Float64(Some(number));
        Self { expr: Expr::Literal(value, None), kind: ValueType::Float }
    }

    /// A constant truth.
    #[must_use]
    pub fn truth(truth: bool) -> Self {
        let value = ScalarValue::Boolean(Some(truth));
        Self { expr: Expr::Literal(value, None), kind: ValueType::Boolean }
    }

    /// Null, as a value of a type.
    #[must_use]
    pub fn null(kind: ValueType) -> Self {
        let value = ScalarValue::try_from(&kind.data_type()).unwrap_or(ScalarValue::Null);
        Self { expr: Expr::Literal(value, None), kind }
    }

    /// The constant text it is, if it is one.
    #[must_use]
    pub fn literal_text(&self) -> Option<&str> {
        match &self.expr {
            Expr::Literal(value, _) => value.try_as_str().flatten(),
            _ => None,
        }
    }

    /// The constant number it is, if it is one.
    #[must_use]
    pub fn literal_number(&self) -> Option<f64> {
        match &self.expr {
            Expr::Literal(ScalarValue::Float64(number), _) => *number,
            _ => None,
        }
    }
}
