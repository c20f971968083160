//! `multisearch`: merges the events of several searches, newest first.
//!
//! Split: each search runs where its events are; the merge is a part of the plan, so no search waits for
//! another and nothing has to fit in memory.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::logical_expr::{Expr, LogicalPlan, Union, cast, lit};
use exprs::Typed;
use exprs::types::ValueType;
use frames::{Frame, FrameColumn, column, null, projection};
use futures::future::BoxFuture;
use model::{IndexName, TimeRange};
use spl::CommandKind;
use spl::ast::{MultisearchCommand, Subsearch};

use super::eval::convert;
use super::first_rows::{first_rows, limited};
use super::{
    Begin, CommandPlan, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    begin as begin_of, expand,
};
use crate::{Error, FieldFilter, Message};
use context::planning::{SourceRows, advance};

impl CommandPlan for MultisearchCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::Expanded)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { begin(self, first).await })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// Hidden columns by which rows are ordered: event time and index time.
const ORDER: [&str; 2] = ["__union_time", "__union_index_time"];

async fn begin(command: &MultisearchCommand, first: First<'_>) -> Result<Begin, Error> {
    let mut parts = Vec::with_capacity(command.searches.len());
    for search in &command.searches {
        parts.push(part(search, first).await?);
    }
    Ok(Begin::Rows(merged(parts)?))
}

/// Plans one search.
async fn part(search: &Subsearch, outer: First<'_>) -> Result<SourceRows, Error> {
    let env = outer.env;
    let mut commands = search.pipeline.commands.clone();
    let mut context = env.context.clone();
    let mut depth = *env;
    while let Some(expanded) = match commands.first() {
        Some(first) => expand(first, &depth.within(&context)).await?,
        None => None,
    } {
        depth = depth.deeper()?;
        commands.splice(..1, expanded.commands);
        (context.range, context.index_range) = (expanded.range, expanded.index_range);
    }
    let Some((first, rest)) = commands.split_first() else {
        return Err(Error::at("the search is empty", search.span));
    };
    if let Some(other) = rest.iter().find(|c| c.node.definition().kind != CommandKind::Streaming) {
        let message =
            format!("multisearch runs streaming commands only, not {}", other.node.name());
        return Err(Error::at(message, other.span));
    }
    let inner = depth.within(&context);
    let mentioned = [commands.as_slice(), outer.pipeline.get(1..).unwrap_or_default()].concat();
    let behind = [rest, outer.rest].concat();
    let Begin::Rows(start) = begin_of(first, &mentioned, &behind, &inner).await? else {
        let message =
            format!("multisearch requires events, which {} does not return", first.node.name());
        return Err(Error::at(message, first.span));
    };
    let mut ranged = context.clone();
    ranged.range = start.range;
    let (frame, finish) = advance(start.frame, rest, &inner.within(&ranged)).await?;
    if finish.is_some() {
        let message = "multisearch runs only commands that process each row independently";
        return Err(Error::at(message, search.span));
    }
    // The first rows of the result are among the first rows of each search. This needs an order by time,
    // which only events have.
    let used = first_rows(outer.rest).filter(|_| frame.sort_exprs().len() >= ORDER.len());
    Ok(SourceRows { frame: limited(frame, used), ..start })
}

/// Merges the rows of all searches, newest first.
fn merged(parts: Vec<SourceRows>) -> Result<SourceRows, Error> {
    let columns = columns(&parts);
    let possible = possible(&parts, &columns);
    let open = parts.iter().all(|part| part.frame.open);
    let filter = filter(&parts);
    let mut range: Option<TimeRange> = None;
    let (mut indexes, mut messages) = (Vec::<IndexName>::new(), Vec::<Message>::new());
    let mut plans = Vec::with_capacity(parts.len());
    for SourceRows { frame, range: reads, indexes: read, messages: says } in parts {
        range = Some(range.map_or(reads, |range| TimeRange {
            earliest: range.earliest.min(reads.earliest),
            latest: range.latest.max(reads.latest),
        }));
        indexes.extend(read);
        messages.extend(
            says.into_iter().filter(|message| !messages.contains(message)).collect::<Vec<_>>(),
        );
        plans.push(Arc::new(aligned(&frame, &columns)?));
    }
    indexes.sort();
    indexes.dedup();
    let plan = LogicalPlan::Union(Union::try_new(plans)?);
    let mut frame = Frame::new(plan, columns).unordered().adopt_hidden(&ORDER.map(str::to_owned));
    let keys = ORDER.iter().map(|name| (column(name), true, false)).collect();
    frame = frame.order_by(keys, false)?.without_hidden(&ORDER.map(str::to_owned));
    frame = frame.if_present(possible);
    frame.open = open;
    frame.filter = filter;
    let range = range.unwrap_or(TimeRange::ALL);
    Ok(SourceRows { frame, range, indexes, messages })
}

/// The columns of all searches, each with a type that can store the values of all of them.
fn columns(parts: &[SourceRows]) -> Vec<FrameColumn> {
    let mut columns: Vec<FrameColumn> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for column in parts.iter().flat_map(|part| part.frame.columns()) {
        let at = *places.entry(column.name.as_str()).or_insert(columns.len());
        match columns.get_mut(at) {
            Some(known) => known.kind = known.kind.union(column.kind),
            None => columns.push(column.clone()),
        }
    }
    columns
}

/// The columns that are removed if no row has a value: those that are optional in every search that has them.
fn possible(parts: &[SourceRows], columns: &[FrameColumn]) -> Vec<String> {
    let names = columns.iter().map(|column| &column.name);
    let is_possible = |name: &&String| {
        let having = parts.iter().filter(|part| part.frame.kind(name).is_some());
        having.into_iter().all(|part| part.frame.is_possible(name))
    };
    names.filter(is_possible).cloned().collect()
}

/// The filter on displayed fields: that of the searches if it is the same for all, otherwise no filter.
fn filter(parts: &[SourceRows]) -> FieldFilter {
    let mut filters = parts.iter().map(|part| &part.frame.filter);
    match filters.next() {
        Some(first) if filters.all(|filter| filter == first) => first.clone(),
        _ => FieldFilter::default(),
    }
}

/// Returns a search with these columns and the two that order its rows.
fn aligned(frame: &Frame, columns: &[FrameColumn]) -> Result<LogicalPlan, Error> {
    let mut exprs: Vec<Expr> = Vec::with_capacity(columns.len() + ORDER.len());
    for FrameColumn { name, kind } in columns {
        let value = frame.field(name);
        let value = match value.kind {
            ValueType::Null => Typed::new(null(*kind)?, *kind),
            _ => convert(value, *kind),
        };
        exprs.push(value.expr.alias(name));
    }
    let keys = frame.sort_exprs();
    for (at, name) in ORDER.iter().enumerate() {
        let key =
            keys.get(at).map_or(lit(datafusion::common::ScalarValue::Null), |key| key.expr.clone());
        // As numbers: the optimizer confuses columns that are known to be equal to others when it moves
        // sorts.
        exprs.push(cast(key, DataType::Int64).alias(*name));
    }
    let input = Arc::new(frame.plan().clone());
    Ok(LogicalPlan::Projection(projection(exprs, input)?))
}
