//! Functions of the library [`eval`] as functions of a plan.
//!
//! Guarantees: results are the same as those of the library, row by row; constant arguments are compiled
//! during planning.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use eval::functions::{Argument, Body, Decimals, Function, Prepared, Refusal};
use eval::value::Value;
use jiff::tz::TimeZone;
use model::EventTime;

use crate::kernel::EvalFunction;
use crate::types::ValueType;
use crate::{Report, Typed};

/// Properties of the search that functions may depend on.
pub(crate) struct FunctionContext {
    pub(crate) now: EventTime,
    pub(crate) zone: TimeZone,
    pub(crate) report: Option<Report>,
}

/// Compiles a call of a function of values. Functions that read the time need the time and time zone of the
/// search.
pub(crate) fn of_values(
    function: &'static Function,
    arguments: Vec<Typed>,
    context: Option<FunctionContext>,
) -> Result<Typed, Refusal> {
    let Body::Values { numbers, prepare } = &function.body else {
        return Ok(Typed::null(ValueType::Null));
    };
    let shown = numbers.are_shown(arguments.len());
    let arrived = |value: Typed| if shown { value.shown() } else { value.plain() };
    let arguments: Vec<Typed> = arguments.into_iter().map(arrived).collect();
    let known = arguments.iter().map(known).collect();
    let prepared = prepare(&eval::functions::Call { name: function.name, arguments: known })?;
    let Prepared { kernel, parameters, is_volatile, decimals } = prepared;
    let mut made = EvalFunction::of_rows(function.name, kernel).with(parameters);
    if let Some(FunctionContext { now, zone, report }) = context {
        made = made.within(now, zone).reporting(report);
    }
    if is_volatile {
        made = made.volatile();
    }
    let places = match decimals {
        Decimals::Argument(at) => arguments.get(at).cloned(),
        _ => None,
    };
    let value = made.call(arguments);
    Ok(match (decimals, places) {
        (Decimals::Fixed(places), _) => value.with_decimals(places),
        (_, Some(places)) => value.with_places(places.to(ValueType::Integer).expr),
        _ => value,
    })
}

/// Returns what is known about an argument before any event is read.
fn known(value: &Typed) -> Argument<'_> {
    let constant = match &value.expr {
        Expr::Literal(ScalarValue::Float64(number), _) => number.map(Value::Float),
        _ => value.literal_text().map(Value::Text),
    };
    Argument { kind: value.kind, constant }
}
