//! `PREFIX(level=)` of `tstats`: the rest of indexed terms that begin with a text.
//!
//! Terms end at major breakers, as those of `TERM()`, and are case-insensitive. A term that ends with the
//! text has no value.

use exprs::kernel::multi;
use exprs::predicate::Breakers;
use frames::Frame;
use spl::ast::{FieldPattern, StatsArgument, StatsCall, TstatsCommand};

use crate::Error;

/// The texts of a command's `PREFIX()` calls.
fn texts(command: &TstatsCommand) -> Vec<String> {
    let keys = command.by.prefixes.iter().filter_map(|at| command.by.fields.get(*at));
    let mut texts: Vec<String> = keys.map(|field| field.text.clone()).collect();
    for call in &command.calls {
        if let StatsArgument::Prefix(text) = &call.argument {
            texts.push(text.node.clone());
        }
    }
    texts.sort();
    texts.dedup();
    texts
}

/// Whether a command has a `PREFIX()`.
pub(super) fn has_any(command: &TstatsCommand) -> bool {
    !texts(command).is_empty()
}

/// Returns events with a field for each `PREFIX()` of a command, named after its text.
pub(super) fn with_fields(command: &TstatsCommand, frame: Frame) -> Result<Frame, Error> {
    let values = texts(command).into_iter().map(|prefix| {
        let lower = prefix.to_lowercase();
        let function = multi("token_values", move |row, out| {
            let raw = row.text(0)?.to_lowercase();
            let words = raw.split(|c: char| {
                u8::try_from(c).is_ok_and(|byte| byte.is_ascii() && Breakers::Major.contains(byte))
            });
            let values = words.filter_map(|word| word.strip_prefix(lower.as_str()));
            values.filter(|value| !value.is_empty()).for_each(|value| out.append_value(value));
            Some(())
        });
        let value = function.with(&prefix).call(vec![frame.field(model::columns::RAW)]);
        (prefix, value)
    });
    let values: Vec<_> = values.collect();
    if values.is_empty() { Ok(frame) } else { frame.with_columns(values) }
}

/// Returns the calls with fields in place of `PREFIX()`, and with results named like `max(took=)`.
pub(super) fn calls(calls: &[StatsCall]) -> Vec<StatsCall> {
    let of_field = |call: &StatsCall| {
        let mut call = call.clone();
        if let StatsArgument::Prefix(text) = &call.argument {
            call.text = format!("{}({})", call.function.name.node, text.node);
            call.argument = StatsArgument::Field(FieldPattern::new(&text.node, text.span));
        }
        call
    };
    calls.iter().map(of_field).collect()
}
