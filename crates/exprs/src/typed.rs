//! A DataFusion expression with the type of its values, and the simplest ones: columns and constants.

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::Expr;

use crate::types::{ArrowType, ValueType};

/// An expression and the type of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Typed {
    /// The expression.
    pub expr: Expr,
    /// The type of its values.
    pub kind: ValueType,
}

impl Typed {
    /// Creates a typed expression.
    #[must_use]
    pub fn new(expr: Expr, kind: ValueType) -> Self {
        Self { expr, kind }
    }

    /// Returns a column by its exact name.
    #[must_use]
    pub fn column(name: &str, kind: ValueType) -> Self {
        Self { expr: Expr::Column(Column::new_unqualified(name)), kind }
    }

    /// Returns a constant text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let value = ScalarValue::Utf8View(Some(text.to_owned()));
        Self { expr: Expr::Literal(value, None), kind: ValueType::Text }
    }

    /// Returns a constant number.
    #[must_use]
    pub fn number(number: f64) -> Self {
        let value = ScalarValue::Float64(Some(number));
        Self { expr: Expr::Literal(value, None), kind: ValueType::Float }
    }

    /// Returns a constant Boolean.
    #[must_use]
    pub fn truth(truth: bool) -> Self {
        let value = ScalarValue::Boolean(Some(truth));
        Self { expr: Expr::Literal(value, None), kind: ValueType::Boolean }
    }

    /// Returns null as a value of a type.
    #[must_use]
    pub fn null(kind: ValueType) -> Self {
        let value = ScalarValue::try_from(&kind.data_type()).unwrap_or(ScalarValue::Null);
        Self { expr: Expr::Literal(value, None), kind }
    }

    /// Returns the text if the expression is a constant text.
    #[must_use]
    pub fn literal_text(&self) -> Option<&str> {
        match &self.expr {
            Expr::Literal(value, _) => value.try_as_str().flatten(),
            _ => None,
        }
    }

    /// Returns the number if the expression is a constant number.
    #[must_use]
    pub fn literal_number(&self) -> Option<f64> {
        match &self.expr {
            Expr::Literal(ScalarValue::Float64(number), _) => *number,
            _ => None,
        }
    }
}
