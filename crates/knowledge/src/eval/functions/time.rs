//! `now`, `time`, `strftime`, `strptime`, `relative_time`; times without a zone are UTC.

use jiff::tz::TimeZone;
use model::EventTime;

use super::{Function, Prepared, ResultKind, prepared, values};
use crate::eval::node::{Arguments, Kind};
use crate::eval::value::Value;
use crate::time::{LocalClock, TimeFormat, TimeModifier};

pub(super) const FUNCTIONS: &[Function] = &[
    values(&["now"], Kind::Number, |arguments| Value::Number(arguments.now.seconds().floor())),
    values(&["time"], Kind::Number, |arguments| Value::Number(arguments.now.seconds())),
    prepared(
        &["strftime"],
        ResultKind::Always(Kind::Text),
        |arguments| {
            let literal = arguments[1].literal_text();
            Ok(literal.map_or(Prepared::Nothing, |text| Prepared::Format(TimeFormat::parse(text))))
        },
        strftime,
    ),
    prepared(
        &["strptime"],
        ResultKind::Always(Kind::Number),
        |arguments| match arguments[1].literal_text().map(TimeFormat::for_input) {
            None => Ok(Prepared::Nothing),
            Some(Ok(format)) => Ok(Prepared::Format(format)),
            Some(Err(error)) => Err(error.to_string()),
        },
        strptime,
    ),
    prepared(
        &["relative_time"],
        ResultKind::Always(Kind::Number),
        |arguments| match arguments[1].literal_text().map(TimeModifier::parse) {
            None => Ok(Prepared::Nothing),
            Some(Ok(modifier)) => Ok(Prepared::Modifier(modifier)),
            Some(Err(error)) => Err(error.to_string()),
        },
        relative_time,
    ),
];

fn event_time(value: &Value<'_>) -> Option<EventTime> {
    value.micros().map(EventTime)
}

fn strftime<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Some(time) = event_time(arguments.value(0)) else { return Value::Null };
    let mut out = String::new();
    match arguments.prepared {
        Prepared::Format(format) => format.strftime(time, &LocalClock::utc(), &mut out),
        _ => {
            let Some(format) = arguments.text(1) else { return Value::Null };
            TimeFormat::parse(&format).strftime(time, &LocalClock::utc(), &mut out);
        }
    }
    Value::owned_text(out)
}

fn strptime<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Some(text) = arguments.text(0) else { return Value::Null };
    let mut clock = LocalClock::utc();
    let time = match arguments.prepared {
        Prepared::Format(format) => format.strptime(&text, &mut clock, arguments.now),
        _ => {
            let format = arguments.text(1).and_then(|format| TimeFormat::for_input(&format).ok());
            format.and_then(|format| format.strptime(&text, &mut clock, arguments.now))
        }
    };
    Value::optional_number(time.map(EventTime::seconds))
}

fn relative_time<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Some(time) = event_time(arguments.value(0)) else { return Value::Null };
    let moved = match arguments.prepared {
        Prepared::Modifier(modifier) => modifier.resolve(time, &TimeZone::UTC).ok(),
        _ => {
            let modifier = arguments.text(1).and_then(|text| TimeModifier::parse(&text).ok());
            modifier.and_then(|modifier| modifier.resolve(time, &TimeZone::UTC).ok())
        }
    };
    Value::optional_number(moved.map(EventTime::seconds))
}
