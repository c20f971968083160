//! `makemv`, `mvexpand`, `nomv`: conversions between single values and multivalue fields.
//!
//! Split: all run where the rows are.

use arrow::datatypes::DataType;
use datafusion::common::{NullHandling, UnnestOptions};
use datafusion::functions_nested::expr_fn::array_slice;
use datafusion::logical_expr::{LogicalPlanBuilder, lit, when};
use exprs::Typed;
use exprs::kernel::{EvalFunction, multi, text};
use exprs::types::ValueType;
use frames::Frame;
use spl::ast::{MakemvCommand, MakemvSplit, MvexpandCommand, NomvCommand};

use crate::Error;

pub(super) fn makemv(command: &MakemvCommand, frame: Frame) -> Result<Frame, Error> {
    let name = command.field.node.clone();
    if frame.kind(&name).is_none() {
        return Ok(frame);
    }
    let value = splitter(command)?.call(vec![frame.field(&name)]);
    frame.with_columns(vec![(name, value)])
}

fn splitter(command: &MakemvCommand) -> Result<EvalFunction, Error> {
    let allow_empty = command.allowempty;
    match &command.split {
        MakemvSplit::Delimiter(delimiter) => {
            if delimiter.is_empty() {
                return Err(Error::at("delim= cannot be empty", command.field.span));
            }
            let parameters = format!("{allow_empty} {delimiter}");
            let delimiter = delimiter.clone();
            Ok(multi("makemv", move |row, out| {
                for part in row.text(0)?.split(delimiter.as_str()) {
                    if allow_empty || !part.is_empty() {
                        out.append_value(part);
                    }
                }
                Some(())
            })
            .with(parameters))
        }
        MakemvSplit::Tokenizer(source) => {
            let pattern = regex::Regex::new(&source.node).map_err(|error| {
                Error::at(format!("the tokenizer is not valid: {error}"), source.span)
            })?;
            if pattern.captures_len() < 2 {
                return Err(Error::at("the tokenizer needs a group in brackets", source.span));
            }
            Ok(multi("makemv_tokens", move |row, out| {
                for found in pattern.captures_iter(&row.text(0)?) {
                    if let Some(token) = found.get(1).map(|token| token.as_str())
                        && (allow_empty || !token.is_empty())
                    {
                        out.append_value(token);
                    }
                }
                Some(())
            })
            .with(format!("{allow_empty} {}", source.node)))
        }
    }
}

/// Returns one row for each value; a row without a value is kept once.
pub(super) fn mvexpand(command: &MvexpandCommand, frame: Frame) -> Result<Frame, Error> {
    let name = command.field.node.clone();
    if frame.kind(&name) != Some(ValueType::Multi) {
        return Ok(frame);
    }
    let mut value = frame.field(&name);
    if command.limit > 0 {
        let limit = i64::try_from(command.limit).unwrap_or(i64::MAX);
        value.expr = array_slice(value.expr, lit(1_i64), lit(limit), None);
    }
    let frame = frame.with_columns(vec![(name.clone(), value)])?;
    // The index of the value keeps the order of the new rows.
    let positions = positions(frame.field(&name))?;
    let (frame, added) = frame.with_hidden(vec![("position", positions)])?;
    let columns = vec![
        datafusion::common::Column::new_unqualified(&name),
        datafusion::common::Column::new_unqualified(&added[0]),
    ];
    // Each row gives at least one row; `first_rows` relies on this when a later `head` limits the input.
    let options = UnnestOptions::new().with_null_handling(NullHandling::PreserveAndExpandEmpty);
    let mut frame = frame.map_plan(|plan| {
        Ok(LogicalPlanBuilder::from(plan).unnest_columns_with_options(columns, options)?.build()?)
    })?;
    frame.set_kind(&name, ValueType::Text);
    frame.order_after(&added[0])
}

/// Returns the indexes of a list's values, counted from 1, as a list.
fn positions(value: Typed) -> Result<datafusion::logical_expr::Expr, Error> {
    use datafusion::functions_nested::expr_fn::{array_length, gen_series};
    let length = array_length(value.expr.clone());
    let length = datafusion::logical_expr::cast(length, DataType::Int64);
    let series = gen_series(lit(1_i64), length, lit(1_i64));
    Ok(when(value.expr.is_not_null(), series).end()?)
}

/// Joins the values of a field to one text, with one value per line.
pub(super) fn nomv(command: &NomvCommand, frame: Frame) -> Result<Frame, Error> {
    let name = command.field.node.clone();
    if frame.kind(&name) != Some(ValueType::Multi) {
        return Ok(frame);
    }
    let joined = text("nomv", |row, out| {
        let value = row.value(0);
        if value.is_null() {
            return None;
        }
        let mut first = true;
        value.each_text(|text| {
            if !std::mem::take(&mut first) {
                out.push('\n');
            }
            out.push_str(text);
        });
        Some(())
    });
    let value = joined.call(vec![frame.field(&name)]);
    frame.with_columns(vec![(name, value)])
}
