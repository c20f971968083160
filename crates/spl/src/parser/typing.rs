//! Checks the types of literal operands and arguments: texts, numbers and `null()` that an operator or
//! function never accepts are rejected before any row is read, as in Splunk. Fields have the type of their
//! values.

use crate::ast::{BinaryOperator, Call, Expr, ExprKind};

/// The type of an expression that is known without a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Text,
    /// A numeric text.
    Digits,
    Number,
    Null,
}

fn known(expr: &Expr) -> Option<Known> {
    match &expr.kind {
        ExprKind::String(text) if text.trim().parse::<f64>().is_ok() => Some(Known::Digits),
        ExprKind::String(_) => Some(Known::Text),
        ExprKind::Number(_) => Some(Known::Number),
        ExprKind::Call(call) if call.function.node == "null" => Some(Known::Null),
        _ => None,
    }
}

/// Returns why an operator does not accept its operands.
pub(super) fn refused_operands(
    operator: BinaryOperator,
    left: &Expr,
    right: &Expr,
) -> Option<String> {
    use Known::{Digits, Null, Number, Text};
    let operands = (known(left), known(right));
    let is = |wanted| operands.0 == Some(wanted) || operands.1 == Some(wanted);
    match operator {
        BinaryOperator::Add => {
            let mixed = (is(Text) || is(Digits)) && is(Number);
            mixed.then(|| "'+' only takes two strings or two numbers".to_owned())
        }
        BinaryOperator::Subtract
        | BinaryOperator::Multiply
        | BinaryOperator::Divide
        | BinaryOperator::Remainder => {
            is(Text).then(|| format!("'{}' only takes numbers", operator.symbol()))
        }
        BinaryOperator::Concat => {
            is(Null).then(|| "the '.' operator only takes strings and numbers".to_owned())
        }
        BinaryOperator::Compare(_) => {
            let differ = is(Null) && operands.0 != operands.1;
            let both = operands.0.is_some() && operands.1.is_some();
            let symbol = operator.symbol();
            (differ && both).then(|| format!("the '{symbol}' operator received different types"))
        }
        _ => None,
    }
}

/// Functions of texts that reject `null()`.
const OF_TEXTS: [&str; 4] = ["len", "lower", "mvcount", "upper"];

/// Functions of numbers that reject a text.
const OF_NUMBERS: [&str; 7] = ["abs", "ceiling", "exp", "floor", "ln", "pow", "sqrt"];

/// Returns whether a function never accepts these arguments.
pub(super) fn refuses_arguments(call: &Call) -> bool {
    let name = call.function.node.as_str();
    let has = |wanted| call.arguments.iter().any(|argument| known(argument) == Some(wanted));
    match name {
        // The function needs the name of the field whose values it filters.
        "mvfilter" => {
            let mut has_field = false;
            call.arguments.iter().for_each(|argument| {
                argument.walk(&mut |part| {
                    has_field |= matches!(part.kind, ExprKind::Field(_) | ExprKind::Subsearch(_));
                });
            });
            !has_field
        }
        name if OF_TEXTS.contains(&name) => has(Known::Null),
        name if OF_NUMBERS.contains(&name) => has(Known::Text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn operators_refuse_texts_and_nulls_that_they_never_take() {
        refuses("* | eval a=\"1\"+1", "two strings or two numbers", "\"1\"+1");
        for operator in ["-", "*", "/", "%"] {
            let text = format!("* | eval a=b{operator}\"c\"");
            refuses(&text, "only takes numbers", &format!("b{operator}\"c\""));
        }
        refuses("* | eval a=\"x\".null()", "strings and numbers", "\"x\".null()");
        refuses("* | where null()=\"\"", "different types", "null()=\"\"");
    }

    #[test]
    fn functions_refuse_arguments_that_they_never_take() {
        refuses("* | eval a=upper(null())", "the 'upper' function", "upper(null())");
        refuses("* | eval a=sqrt(\"x\")", "the 'sqrt' function", "sqrt(\"x\")");
        refuses("* | eval a=mvfilter(true())", "the 'mvfilter' function", "mvfilter(true())");
    }

    #[test]
    fn fields_have_the_type_of_their_values() {
        accepts(&[
            "* | eval a=b+\"c\", d=\"x\"+\"y\", e=1+2, f=b-c",
            "* | eval a=upper(b), c=sqrt(b), d=coalesce(null(), \"x\"), e=max(\"a\", null())",
            "* | where isnull(null()) OR a=null()",
            "* | eval a=\"4\"/2, b=sqrt(\"4\")",
        ]);
    }
}
