//! An expression of DataFusion with the type of its values, and the simplest ones: columns and constants.

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::Expr;

use crate::types::{ArrowType, ValueType};

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
