//! `time`, `strftime`, `strptime`, `relative_time`.
//!
//! Guarantees: literal formats and time modifiers are compiled once; times are epoch seconds, read and
//! written in the time zone of the environment; computed times have microseconds.

use std::sync::Arc;

use model::EventTime;

use super::{Call, Decimals, Function, Preparation, number, plain, refuse, text};
use crate::time::{TimeFormat, TimeModifier};
use crate::value::Value;
use crate::{Cached, Row};

pub(super) const FUNCTIONS: &[Function] = &[
    plain("time", |_| {
        let kernel = number(|row| Some(row.environment().wall().seconds()));
        Ok(kernel.volatile().decimals(MICROSECONDS))
    }),
    plain("strftime", strftime),
    plain("strptime", strptime),
    plain("relative_time", relative_time),
];

/// The number of decimals of a computed time.
const MICROSECONDS: Decimals = Decimals::Fixed(6);

fn event_time(value: Value<'_>) -> Option<EventTime> {
    value.micros().map(EventTime)
}

fn strftime(call: &Call<'_>) -> Preparation {
    let literal = call.text(1).map(|format| Arc::new(TimeFormat::parse(format)));
    let cache = Cached::new(|format| Some(TimeFormat::parse(format)));
    Ok(text(move |row, out| {
        let (time, environment) = (event_time(row.value(0))?, row.environment());
        match &literal {
            Some(format) => environment.write_time(time, format, out),
            None => environment.write_time(time, &cache.get(&row.text(1)?)?, out),
        }
        Some(())
    }))
}

fn strptime(call: &Call<'_>) -> Preparation {
    let literal = match call.text(1).map(TimeFormat::for_input).transpose() {
        Ok(format) => format.map(Arc::new),
        Err(error) => return refuse(1, error.to_string()),
    };
    let format = of_argument(literal, |format| TimeFormat::for_input(format).ok());
    let kernel = number(move |row| {
        let (text, format, now) = (row.text(0)?, format(row)?, row.environment().now());
        let time = row.environment().with_clock(|clock| format.strptime(&text, clock, now));
        time.map(EventTime::seconds)
    });
    Ok(kernel.decimals(MICROSECONDS))
}

fn relative_time(call: &Call<'_>) -> Preparation {
    let literal = match call.text(1).map(TimeModifier::parse).transpose() {
        Ok(modifier) => modifier.map(Arc::new),
        Err(error) => return refuse(1, error.to_string()),
    };
    let modifier = of_argument(literal, |modifier| TimeModifier::parse(modifier).ok());
    let kernel = number(move |row| {
        let (time, modifier) = (event_time(row.value(0))?, modifier(row)?);
        modifier.resolve(time, row.environment().zone()).ok().map(EventTime::seconds)
    });
    Ok(kernel.decimals(MICROSECONDS))
}

/// Returns the compiled second argument of a row: the literal one, or one compiled from its value.
fn of_argument<T: Send + Sync + 'static>(
    literal: Option<Arc<T>>,
    compile: fn(&str) -> Option<T>,
) -> impl Fn(Row<'_>) -> Option<Arc<T>> + Send + Sync + 'static {
    let cache = Cached::new(compile);
    move |row: Row<'_>| match &literal {
        Some(compiled) => Some(Arc::clone(compiled)),
        None => cache.get(&row.text(1)?),
    }
}
