//! Determines which optional fields of the source have values, for commands whose result depends on the
//! fields that a wildcard matches. An optional field is one that no row may have.
//!
//! Split: indexers count the values of each field and the search head adds up the counts; then the command is
//! planned over the fields that have values.

use datafusion::functions_aggregate::expr_fn::count;
use exprs::Typed;
use exprs::types::ValueType;
use frames::Frame;
use spl::ast::{FieldPattern, StatsArgument, StatsBy, StatsCall, StatsKind};

use super::stats::expand_calls;
use super::{Error, Step};
use crate::Limits;
use context::stage::Breaker;

/// Whether rows need much more memory than their values because of optional fields. An empty cell needs as
/// much memory as a short one: 6,000 events with 5,000 fields (the add-ons of a large site have this many)
/// need half a gigabyte for empty cells.
pub(crate) fn is_wide(frame: &Frame, limits: &Limits) -> bool {
    frame.possible().nth(limits.wide_fields).is_some()
}

/// Returns the step that counts the values of optional fields.
pub(crate) fn asked(frame: Frame) -> Result<Step, Error> {
    let values = frame.possible().map(|column| {
        let value = Typed::column(&column.name, column.kind);
        (column.name.clone(), Typed::new(count(value.expr), ValueType::Integer))
    });
    let counts = frame.clone().aggregate(Vec::new(), values.collect())?;
    Ok(Step::Materialize(counts, Breaker::Present(frame.into())))
}

/// Whether a wildcard matches an optional field; without patterns, all fields match.
pub(super) fn reaches(patterns: &[FieldPattern], frame: &Frame) -> bool {
    let mut wildcards = patterns.iter().filter(|pattern| pattern.has_wildcard()).peekable();
    let matched = |name: &str, pattern: &FieldPattern| pattern.matches(name);
    match (patterns.is_empty(), wildcards.peek().is_some()) {
        (true, _) => frame.possible().next().is_some(),
        (_, false) => false,
        _ => wildcards.any(|pattern| frame.possible().any(|column| matched(&column.name, pattern))),
    }
}

/// The result names of calls with wildcards that aggregate optional fields.
pub(super) fn outputs(calls: &[StatsCall], keys: &[String], frame: &Frame) -> Vec<String> {
    if frame.possible().next().is_none() {
        return Vec::new();
    }
    let exact = |call: &StatsCall| match &call.argument {
        StatsArgument::Field(pattern) => !pattern.has_wildcard(),
        _ => false,
    };
    let mut wild: Vec<StatsCall> = calls.to_vec();
    wild.retain(|call| !exact(call));
    let expanded = expand_calls(&wild, keys, frame).into_iter();
    let possible = expanded.filter(|call| match &call.argument {
        StatsArgument::Field(field) => frame.is_possible(&field.text),
        _ => false,
    });
    possible.map(|call| call.output_name().to_owned()).collect()
}

/// Whether a call with a wildcard returns a value even for a field that no row has.
pub(super) fn counts(calls: &[StatsCall], frame: &Frame) -> bool {
    let counts = |kind| {
        use StatsKind::{Count, DistinctCount, EstimatedDistinctCount};
        use StatsKind::{EstimatedDistinctCountError, Rate};
        matches!(
            kind,
            Count | DistinctCount | EstimatedDistinctCount | EstimatedDistinctCountError | Rate
        )
    };
    calls.iter().filter(|call| counts(call.function.kind)).any(|call| match &call.argument {
        StatsArgument::Field(pattern) => reaches(std::slice::from_ref(pattern), frame),
        StatsArgument::None => call.function.kind != StatsKind::Count && reaches(&[], frame),
        _ => false,
    })
}

/// Whether a wildcard among the keys matches an optional field.
pub(super) fn keys(by: &StatsBy, frame: &Frame) -> bool {
    !by.is_empty() && reaches(&by.fields, frame)
}

/// Whether any call has a wildcard that matches an optional field.
pub(super) fn any(calls: &[StatsCall], frame: &Frame) -> bool {
    !outputs(calls, &[], frame).is_empty()
}
