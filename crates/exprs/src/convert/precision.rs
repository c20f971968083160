//! The number of decimals with which numbers are written, for columns; the rules are those of
//! [`eval::value::Operation`].
//!
//! Guarantees: precision is applied only when a value is stored in a field or converted to text; intermediate
//! results have all digits. Integers cost nothing: the integers that a bucket stores are not written as text
//! in order to find that they have no decimals.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, Int64Array};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Expr;
use eval::value::{NumberText, Operation, decimals_in, rounded, write_decimals};

use crate::Typed;
use crate::column::{Argument, Values};
use crate::convert::numbers;
use crate::kernel::{columns, number, text};
use crate::parts::FieldPart;
use crate::types::ValueType;

/// The function that attaches a number of decimals to a number: `decimals(value, places)`.
const CARRIER: &str = "decimals";

impl Typed {
    /// Returns the number, to be written with this number of decimals.
    pub(crate) fn with_decimals(self, places: i64) -> Self {
        self.with_places(Expr::Literal(ScalarValue::Int64(Some(places)), None))
    }

    /// Returns the number, to be written with as many decimals as the second expression returns; null means
    /// as many as necessary.
    pub(crate) fn with_places(self, places: Expr) -> Self {
        let function = columns(CARRIER, ValueType::Float, |arguments, rows| {
            Ok(whole_column(&arguments[0], rows))
        });
        function.call(vec![self, Typed::new(places, ValueType::Integer)])
    }

    /// Returns the number and its decimals, if they are attached.
    pub(crate) fn carried(&self) -> Option<(&Expr, &Expr)> {
        match &self.expr {
            Expr::ScalarFunction(call) if call.name() == CARRIER => match call.args.as_slice() {
                [value, places] => Some((value, places)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the value for computations, without attached decimals.
    pub fn plain(self) -> Self {
        match self.carried() {
            Some((value, _)) => Self::new(value.clone(), self.kind),
            None => self,
        }
    }

    /// Returns the value as stored in a field: rounded to its precision, and as text if trailing zeros are
    /// significant.
    pub fn shown(self) -> Self {
        let Some((value, places)) = self.carried() else { return self };
        let zeros_count = is_given(places);
        let value = Typed::new(value.clone(), ValueType::Float);
        let arguments = vec![value, Typed::new(places.clone(), ValueType::Integer)];
        if zeros_count {
            let function = text("with_decimals", |row, out| {
                let number = row.number(0)?;
                match row.value(1).whole() {
                    Some(places) => write_decimals(number, places, out),
                    None => out.push_str(&NumberText::float(number)),
                }
                Some(())
            });
            return function.call(arguments);
        }
        let function = columns("to_decimals", ValueType::Float, |arguments, rows| {
            let places = &arguments[1];
            if is_null(places) {
                return Ok(whole_column(&arguments[0], rows));
            }
            let values = (0..rows).map(|row| {
                let number = arguments[0].get(row).number()?;
                Some(match places.get(row).whole() {
                    Some(places) => rounded(number, places.max(0)),
                    None => number,
                })
            });
            Ok(Arc::new(values.collect::<Float64Array>()) as ArrayRef)
        });
        function.call(arguments)
    }
}

/// Whether the precision of a number is set by the search itself, rather than by the data.
fn is_given(places: &Expr) -> bool {
    let literal = |expr: &Expr| matches!(expr, Expr::Literal(ScalarValue::Int64(Some(_)), _));
    places.exists(|expr| Ok(literal(expr))).unwrap_or(false)
}

fn whole_column(argument: &Argument, rows: usize) -> ArrayRef {
    match &argument.values {
        Values::Float(array) if !argument.constant => Arc::new(array.clone()),
        _ => Arc::new(numbers(argument, rows)),
    }
}

/// Returns the number of decimals of an operand as an integer expression; `None` if the operand is exact in
/// every row.
fn places_of(operand: &Typed) -> Option<Expr> {
    if let Some((_, places)) = operand.carried() {
        return Some(places.clone());
    }
    if operand.kind != ValueType::Text {
        return None;
    }
    if let Some(literal) = operand.literal_text() {
        return decimals_in(literal)
            .map(|places| Expr::Literal(ScalarValue::Int64(Some(places)), None));
    }
    let others = Typed::new(FieldPart::Other.of(operand), ValueType::Text);
    let function = columns("decimals_in", ValueType::Integer, |arguments, rows| {
        let Values::Text(texts) = &arguments[0].values else {
            return Ok(Arc::new(Int64Array::new_null(rows)) as ArrayRef);
        };
        if texts.null_count() == texts.len() {
            return Ok(Arc::new(Int64Array::new_null(rows)));
        }
        let places = (0..rows).map(|row| decimals_in(&arguments[0].get(row).text()?));
        Ok(Arc::new(places.collect::<Int64Array>()))
    });
    Some(function.call(vec![others]).expr)
}

/// Returns the result of an operation on two numbers, with its number of decimals.
pub(crate) fn precise(operation: Operation, result: Typed, left: &Typed, right: &Typed) -> Typed {
    let places = (places_of(left), places_of(right));
    if places == (None, None) {
        return result;
    }
    let whole = |places: Option<Expr>| match places {
        Some(expr) => Typed::new(expr, ValueType::Integer),
        None => Typed::null(ValueType::Integer),
    };
    let float = |operand: &Typed| operand.clone().plain().to(ValueType::Float);
    let function = columns("places", ValueType::Integer, move |arguments, rows| {
        if let (true, true) = (is_null(&arguments[3]), is_null(&arguments[4])) {
            return Ok(Arc::new(Int64Array::new_null(rows)) as ArrayRef);
        }
        let of = |row| {
            let value = |at: usize| arguments[at].get(row);
            let (result, left, right) =
                (value(0).number()?, value(1).number()?, value(2).number()?);
            let (one, two) = (value(3).whole(), value(4).whole());
            operation.places(result, [(left, one), (right, two)])
        };
        Ok(Arc::new((0..rows).map(of).collect::<Int64Array>()))
    });
    let arguments =
        vec![result.clone(), float(left), float(right), whole(places.0), whole(places.1)];
    let places = function.with(format!("{operation:?}")).call(arguments);
    result.with_places(places.expr)
}

fn is_null(argument: &Argument) -> bool {
    match &argument.values {
        Values::Null => true,
        Values::Integer(array) => array.null_count() == array.len(),
        _ => false,
    }
}

/// Rounds the number to the significant digits of its operands.
pub(crate) fn sigfig(value: Typed) -> Typed {
    let Some((_, places)) = value.carried() else { return value.to(ValueType::Float) };
    let places = Typed::new(places.clone(), ValueType::Integer);
    let function = number("sigfig", |row| {
        let number = row.number(0)?;
        Some(row.value(1).whole().map_or(number, |places| rounded(number, places)))
    });
    function.call(vec![value.plain(), places.clone()]).with_places(places.expr)
}
