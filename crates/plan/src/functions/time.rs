//! `now`, `time`, `strftime`, `strptime`, `relative_time`.
//!
//! Guarantees: literal formats and time modifiers are compiled once, when planning; times are epoch
//! seconds in the time zone of the user, and what is computed here is written with microseconds.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringViewBuilder};
use jiff::Timestamp;
use knowledge::time::{LocalClock, TimeFormat, TimeModifier};
use model::EventTime;

use crate::Error;
use crate::expr::Typed;
use crate::expr::cached::Cached;
use crate::expr::column::Value;
use crate::expr::convert::micros;
use crate::expr::kernel::{columns, number};
use crate::functions::{Function, Invocation, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["now"], (0, 0), |call| Ok(Typed::number(call.scope.now().seconds().floor()))),
    values(&["time"], (0, 0), time),
    values(&["strftime"], (2, 2), strftime),
    values(&["strptime"], (2, 2), strptime),
    values(&["relative_time"], (2, 2), relative_time),
];

/// The decimals of a computed time: microseconds.
const DECIMALS: i64 = 6;

/// The wall clock when an event is processed, unlike `now`.
#[expect(clippy::disallowed_methods, reason = "the time of the search is what now() gives")]
fn time(_: Invocation<'_>) -> Result<Typed, Error> {
    let function = columns("time", ValueType::Float, |_, rows| {
        let seconds = Timestamp::now().as_microsecond();
        let seconds = EventTime(seconds).seconds();
        Ok(Arc::new(Float64Array::from(vec![seconds; rows])) as ArrayRef)
    });
    Ok(function.volatile().call(Vec::new()).with_decimals(DECIMALS))
}

/// A value as a time, without the rounding of floating point where it is one already.
fn event_time(value: Value<'_>) -> Option<EventTime> {
    match value {
        Value::Time(micros) => Some(EventTime(micros)),
        other => other.number().map(|seconds| EventTime(micros(seconds))),
    }
}

/// What the result depends on besides the arguments.
fn zone_name(call: &Invocation<'_>) -> String {
    format!("{:?}", call.scope.timezone())
}

fn strftime(call: Invocation<'_>) -> Result<Typed, Error> {
    let literal = call.literal(1).map(|format| Arc::new(TimeFormat::parse(format)));
    let cache = Cached::new(|format| Some(TimeFormat::parse(format)));
    let zone = call.scope.timezone().clone();
    let parameters = zone_name(&call);
    let function = columns("strftime", ValueType::Text, move |arguments, rows| {
        let clock = LocalClock::new(zone.clone());
        let mut built = StringViewBuilder::with_capacity(rows);
        let mut scratch = String::new();
        for row in 0..rows {
            let format = match &literal {
                Some(format) => Some(Arc::clone(format)),
                None => arguments[1].get(row).text().and_then(|format| cache.get(&format)),
            };
            match (event_time(arguments[0].get(row)), format) {
                (Some(time), Some(format)) => {
                    scratch.clear();
                    format.strftime(time, &clock, &mut scratch);
                    built.append_value(&scratch);
                }
                _ => built.append_null(),
            }
        }
        Ok(Arc::new(built.finish()) as ArrayRef)
    });
    Ok(function.with(parameters).call(call.arguments))
}

fn strptime(call: Invocation<'_>) -> Result<Typed, Error> {
    let literal = match call.literal(1).map(TimeFormat::for_input).transpose() {
        Ok(format) => format.map(Arc::new),
        Err(error) => return Err(call.error(1, error.to_string())),
    };
    let cache = Cached::new(|format| TimeFormat::for_input(format).ok());
    let (zone, now) = (call.scope.timezone().clone(), call.scope.now());
    let parameters = format!("{} {}", zone_name(&call), now.0);
    let function = columns("strptime", ValueType::Float, move |arguments, rows| {
        let mut clock = LocalClock::new(zone.clone());
        let times = (0..rows).map(|row| {
            let format = match &literal {
                Some(format) => Arc::clone(format),
                None => cache.get(&arguments[1].get(row).text()?)?,
            };
            let text = arguments[0].get(row).text()?;
            format.strptime(&text, &mut clock, now).map(EventTime::seconds)
        });
        Ok(Arc::new(times.collect::<Float64Array>()) as ArrayRef)
    });
    Ok(function.with(parameters).call(call.arguments).with_decimals(DECIMALS))
}

fn relative_time(call: Invocation<'_>) -> Result<Typed, Error> {
    let literal = match call.literal(1).map(TimeModifier::parse).transpose() {
        Ok(modifier) => modifier.map(Arc::new),
        Err(error) => return Err(call.error(1, error.to_string())),
    };
    let cache = Cached::new(|modifier| TimeModifier::parse(modifier).ok());
    let zone = call.scope.timezone().clone();
    let parameters = zone_name(&call);
    let function = number("relative_time", move |row| {
        let modifier = match &literal {
            Some(modifier) => Arc::clone(modifier),
            None => cache.get(&row.text(1)?)?,
        };
        modifier.resolve(event_time(row.value(0))?, &zone).ok().map(EventTime::seconds)
    });
    Ok(function.with(parameters).call(call.arguments).with_decimals(DECIMALS))
}
