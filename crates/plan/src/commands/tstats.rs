//! `tstats`: statistics of default and indexed fields.
//!
//! Split: as `stats`; where possible, the scan answers counts, extremes and distinct values from summaries.

use exprs::Typed;
use exprs::types::ValueType;
use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{BinOptions, SearchExpr, Span, TstatsCommand};

use super::required::required_by;
use super::stats::{aggregates, by_fields, grouped, split_values};
use super::{
    Begin, CommandPlan, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    bin, dataset, presence, prestats, search, tokens, tscollect,
};
use crate::Error;
use context::indexes;
use context::planning::{PlanningContext, SourceRows};
use context::range::bounds;
use context::sql::aggregate::grouped as sql_grouped;
use context::sql::events::events as sql_events;
use context::sql::{Layer, Reason, SqlText};

/// The message about `span=` without the field that it divides.
const SPAN_WITHOUT_TIME: &str = "span= of tstats needs _time among the by fields";

impl CommandPlan for TstatsCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::TwoStep)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.stats(&self.calls, &self.by);
        self.filter.expr.iter().for_each(|expr| fields.search(expr));
    }

    fn output_fields(&self) -> OutputFields {
        if self.append { OutputFields::Collected } else { OutputFields::Replaced }
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.span, first.env).await.map(Begin::Rows) })
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move {
            if self.by.auto_span && !self.by.fields.iter().any(|field| field.text == "_time") {
                return Err(Error::at(SPAN_WITHOUT_TIME, first.span));
            }
            if let Some(namespace) = &self.namespace {
                if tokens::has_any(self) {
                    return Err(Error::at(dataset::PREFIX_ALONE, first.span));
                }
                let command = spl::ast::Command::Tstats(tscollect::within(self, namespace));
                let commands = vec![spl::Spanned::new(command, first.span)];
                return Ok(Some(Expanded::of(commands, first.env)));
            }
            dataset::expand_tstats(self, first.span, first.env).await
        })
    }

    fn event_filter(&self) -> Option<&SearchExpr> {
        self.filter.expr.as_ref()
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        match self.append {
            true => Ok(prestats::append(input)),
            false => input.only_begins(),
        }
    }

    fn sql_source(&self, text: &mut SqlText) -> Result<Layer, Reason> {
        if self.datamodel.is_some() || self.prestats || self.append || self.namespace.is_some() {
            return Err("data models, namespaces, prestats and append".to_owned());
        }
        let layer = sql_events(&self.filter, text)?;
        sql_grouped(&self.calls, &self.by, layer, text)
    }
}

pub(super) async fn start(
    command: &TstatsCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let filter = search::expanded(&command.filter, env)?;
    let indexes = indexes::select(filter.expr.as_ref(), env.context);
    let messages = indexes::unread(command.filter.expr.as_ref(), env.context);
    let bounds = bounds(&filter, env.context)?;
    let node =
        spl::ast::Command::Tstats(TstatsCommand { filter: filter.clone(), ..command.clone() });
    let required = required_by(&[spl::Spanned::new(node, span)]);
    let mut frame = search::events(&filter, &indexes, bounds, required, env).await?;
    frame.open = false;
    let mut context = env.context.clone();
    context.range = bounds.time;
    let ranged = env.within(&context);
    let frame = aggregated(command, frame, &ranged)?;
    Ok(SourceRows { frame, range: bounds.time, indexes, messages })
}

fn aggregated(
    command: &TstatsCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let mut frame = tokens::with_fields(command, frame)?;
    if let Some(width) = &command.by.span {
        if !command.by.fields.iter().any(|field| field.text == "_time") {
            return Err(Error::invalid_anywhere(SPAN_WITHOUT_TIME));
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
    let calls = tokens::calls(&command.calls);
    let possible = presence::outputs(&calls, &keys, &frame);
    let values = aggregates(&calls, &keys, &frame, env)?;
    Ok(grouped(frame, keys, values)?.if_present(possible))
}
