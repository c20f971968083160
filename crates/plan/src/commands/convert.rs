//! `convert`: times and numbers to and from text.
//!
//! Split: runs where the rows are.

use exprs::Typed;
use exprs::kernel::{Row, number, text};
use exprs::types::ValueType;
use knowledge::time::{LocalClock, TimeFormat};
use spl::ast::{ConvertCommand, ConvertFunction, FieldPattern};
use tables::text::quantities::{duration, leading, memk, minutes, plain_or_duration};

use super::composed::is_epoch;
use super::eval::{convert, is_time};
use super::fields::expand;
use super::required::{is_source, reaches_source};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use context::planning::PlanningContext;

impl CommandPlan for ConvertCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.conversions.iter().for_each(|conversion| fields.pattern(&conversion.field.text));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        self.conversions.iter().any(|one| match &one.alias {
            Some(alias) => is_source(&alias.text),
            None => one.function != ConvertFunction::None && reaches_source(&one.field),
        })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { mut frame, env, .. } = input;
        let format = self.timeformat.as_deref().unwrap_or(TIME_FORMAT);
        for conversion in &self.conversions {
            let names = expand(std::slice::from_ref(&conversion.field), &frame, false);
            for name in names {
                let target = target(&name, &conversion.field, conversion.alias.as_ref());
                let value = frame.field(&name);
                let value = match (conversion.function, &conversion.alias) {
                    (ConvertFunction::None, Some(_)) => Some(value),
                    (function, _) => converted(function, value, format, env)?,
                };
                if let Some(value) = value {
                    let is_text =
                        conversion.function == ConvertFunction::Ctime && !is_epoch(format);
                    let value = match (is_time(&target) && !is_text, &conversion.alias) {
                        (true, Some(_)) if value.kind.is_number() => {
                            convert(value, ValueType::Time)
                        }
                        // A time is already a number.
                        (true, None) => frame.field(&name),
                        _ => value,
                    };
                    let composed = is_text.then(|| target.clone());
                    frame = frame.with_changed(vec![(target, value)])?.with_composed(composed);
                }
            }
        }
        Ok(Step::Next(frame))
    }
}

/// Default time format of `ctime`.
const TIME_FORMAT: &str = "%m/%d/%Y %H:%M:%S";

fn target(name: &str, field: &FieldPattern, alias: Option<&FieldPattern>) -> String {
    let Some(alias) = alias else {
        return name.to_owned();
    };
    let captured = field.captures(name).unwrap_or_default();
    let mut captures = captured.into_iter();
    let mut text = String::new();
    for (at, piece) in alias.text.split('*').enumerate() {
        if at > 0 {
            text.push_str(captures.next().unwrap_or(""));
        }
        text.push_str(piece);
    }
    text
}

fn converted(
    function: ConvertFunction,
    value: Typed,
    format: &str,
    env: &PlanningContext<'_>,
) -> Result<Option<Typed>, Error> {
    let one = vec![value];
    Ok(Some(match function {
        ConvertFunction::None => return Ok(None),
        ConvertFunction::Ctime => {
            let zone = env.context.timezone.clone();
            let parameters = format!("{format} {zone:?}");
            let (format, clock) = (TimeFormat::parse(format), LocalClock::new(zone));
            text("ctime", move |row, out| {
                let time = model::EventTime::from_seconds(row.number(0)?);
                format.strftime(time, &clock, out);
                Some(())
            })
            .with(parameters)
            .call(one)
        }
        ConvertFunction::Mktime => {
            let zone = env.context.timezone.clone();
            let now = env.context.now;
            let parameters = format!("{format} {zone:?}");
            let format = TimeFormat::for_input(format)
                .map_err(|error| Error::invalid_anywhere(format!("timeformat: {error}")))?;
            let clock = LocalClock::new(zone);
            number("mktime", move |row| {
                let text = row.text(0)?;
                parse_number(&text).or_else(|| {
                    let time = format.strptime(&text, &mut clock.clone(), now)?;
                    Some(time.seconds())
                })
            })
            .with(parameters)
            .call(one)
        }
        ConvertFunction::Auto => text("convert_auto", auto).call(one),
        ConvertFunction::Num => {
            number("convert_num", |row| plain_or_duration(&row.text(0)?)).call(one)
        }
        ConvertFunction::Rmcomma => text("rmcomma", |row, out| {
            out.extend(row.text(0)?.chars().filter(|character| *character != ','));
            Some(())
        })
        .call(one),
        ConvertFunction::Rmunit => number("rmunit", |row| leading(&row.text(0)?)).call(one),
        ConvertFunction::Memk => number("memk", |row| memk(&row.text(0)?)).call(one),
        ConvertFunction::Dur2sec => number("dur2sec", |row| duration(&row.text(0)?)).call(one),
        ConvertFunction::Mstime => number("mstime", |row| minutes(&row.text(0)?)).call(one),
    }))
}

/// Reads a number or a duration; otherwise, returns the text unchanged.
fn auto(row: Row<'_>, out: &mut String) -> Option<()> {
    let text = row.text(0)?;
    match plain_or_duration(&text) {
        Some(number) => out.push_str(&crate::value::NumberText::float(number)),
        None => out.push_str(&text),
    }
    Some(())
}
