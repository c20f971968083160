//! `mcatalog`: the names of metrics, and the values of their dimensions.
//!
//! Split: as `stats`, over the events that hold the points.

use spl::ast::{McatalogCommand, StatsArgument, StatsCall};

use super::metrics::{METRIC, Shape, VALUE, Wanted, is_about_points, read};
use super::stats::{aggregates, by_fields, grouped, split_values};
use crate::Error;
use crate::names::Mentions;
use crate::pipeline::{Env, Start};

pub(super) async fn start(command: &McatalogCommand, env: &Env<'_>) -> Result<Start, Error> {
    let mut mentions = Mentions::default();
    for call in &command.calls {
        match &call.argument {
            StatsArgument::Field(pattern) if !pattern.has_wildcard() => {
                mentions.field(&pattern.text);
            }
            StatsArgument::None => {}
            _ => {
                let message = "mcatalog takes fields by their names, such as values(metric_name)";
                return Err(Error::at(message, call.span));
            }
        }
    }
    command.by.fields.iter().for_each(|field| mentions.field(&field.text));
    let filter = &command.filter;
    let each = mentions.names.iter().any(|name| name == METRIC || name == VALUE)
        || filter.expr.as_ref().is_some_and(is_about_points);
    let shape = if each { Shape::Points(Vec::new()) } else { Shape::Events };
    let start = read(Wanted { filter, shape, patterns: Vec::new(), mentions }, env).await?;
    let mut context = env.context.clone();
    context.range = start.range;
    let ranged = env.within(&context);
    let keys = by_fields(&command.by, &start.frame);
    let (frame, keys) = split_values(start.frame, keys, true)?;
    let calls: Vec<StatsCall> = command.calls.clone();
    let values = aggregates(&calls, &keys, &frame, &ranged)?;
    Ok(Start { frame: grouped(frame, keys, values)?, ..start })
}
