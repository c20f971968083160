//! `tstats`: statistics over fixed and indexed fields.
//!
//! Split: as `stats`; the scan answers counts, extremes and distinct values from summaries where
//! it can.

use spl::ast::{BinOptions, Span, TstatsCommand};

use super::stats::{aggregates, by_fields, grouped, split_values};
use super::{bin, search, tokens};
use crate::Error;
use crate::expr::Typed;
use crate::frame::Frame;
use crate::indexes;
use crate::names::Mentions;
use crate::pipeline::{Env, Start};
use crate::range::bounds;
use crate::types::ValueType;

pub(super) async fn start(
    command: &TstatsCommand,
    span: Span,
    env: &Env<'_>,
) -> Result<Start, Error> {
    if let Some(namespace) = &command.namespace {
        return Err(super::delete::unknown_namespace(namespace));
    }
    let filter = search::expanded(&command.filter, env)?;
    let (indexes, messages) = indexes::select(filter.expr.as_ref(), env.context);
    let bounds = bounds(&filter, env.context)?;
    let node =
        spl::ast::Command::Tstats(TstatsCommand { filter: filter.clone(), ..command.clone() });
    let mentions = Mentions::of(&[spl::Spanned::new(node, span)]);
    let mut frame = search::events(&filter, &indexes, bounds, mentions, env).await?;
    frame.open = false;
    let mut context = env.context.clone();
    context.range = bounds.time;
    let ranged = env.within(&context);
    let frame = aggregated(command, frame, &ranged)?;
    Ok(Start { frame, range: bounds.time, indexes, messages })
}

fn aggregated(command: &TstatsCommand, frame: Frame, env: &Env<'_>) -> Result<Frame, Error> {
    let mut frame = tokens::with_fields(command, frame)?;
    if let Some(width) = &command.by.span {
        if !command.by.fields.iter().any(|field| field.text == "_time") {
            return Err(Error::invalid_anywhere("span= of tstats needs _time among the by fields"));
        }
        let bins = BinOptions { span: Some(width.clone()), ..BinOptions::default() };
        let value = bin::binned("_time", &bins, &frame, env)?;
        frame = frame.with_columns(vec![("_time".to_owned(), value)])?;
    }
    let keys = by_fields(&command.by, &frame);
    if let Some(text) = &command.fillnull_value {
        let fill = |name: &String| {
            let value = frame.field(name);
            let fill = super::eval::convert(Typed::text(text), value.kind);
            let expr = datafusion::functions::core::expr_fn::coalesce(vec![value.expr, fill.expr]);
            (name.clone(), Typed::new(expr, value.kind))
        };
        let filled = keys.iter().filter(|name| frame.kind(name) == Some(ValueType::Text)).map(fill);
        let filled = filled.collect();
        frame = frame.with_columns(filled)?;
    }
    let (frame, keys) = split_values(frame, keys, false)?;
    let values = aggregates(&tokens::calls(&command.calls), &keys, &frame, env)?;
    grouped(frame, keys, values)
}
