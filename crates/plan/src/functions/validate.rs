//! `validate(condition, message, ...)`: the message of the first condition that does not hold.

use datafusion::logical_expr::Expr;

use crate::Error;
use crate::expr::Typed;
use crate::functions::conditional::choose;
use crate::functions::{ANY, Function, Invocation, shown_values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[shown_values(&["validate"], (2, ANY), validate)];

fn validate(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments.len() % 2 == 1 {
        let last = call.arguments.len() - 1;
        let message =
            "validate() takes pairs of a condition and a message; this condition has none";
        return Err(call.error(last, message));
    }
    let mut arguments = call.arguments.into_iter();
    let mut branches = Vec::new();
    while let (Some(condition), Some(message)) = (arguments.next(), arguments.next()) {
        let condition = condition.to(ValueType::Boolean).expr;
        let fails = Typed::new(Expr::IsFalse(Box::new(condition)), ValueType::Boolean);
        branches.push((fails, message));
    }
    Ok(choose(branches, None))
}
