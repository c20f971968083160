//! `mcatalog`: the names of metrics, and the values of their dimensions.
//!
//! Split: as `stats`, over the events that contain the data points.

use futures::future::BoxFuture;
use spl::ast::{McatalogCommand, SearchExpr, StatsArgument, StatsCall};

use super::metrics::{METRIC, Shape, VALUE, Wanted, is_about_points, read};
use super::stats::{aggregates, by_fields, grouped, split_values};
use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    prestats,
};
use context::planning::{PlanningContext, SourceRows};

impl CommandPlan for McatalogCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::TwoStep)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        if self.append { OutputFields::Collected } else { OutputFields::Replaced }
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.env).await.map(Begin::Rows) })
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
}

pub(super) async fn start(
    command: &McatalogCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let mut required = RequiredFields::default();
    for call in &command.calls {
        match &call.argument {
            StatsArgument::Field(pattern) if !pattern.has_wildcard() => {
                required.name(&pattern.text);
            }
            StatsArgument::None => {}
            _ => {
                let message = "mcatalog takes fields by their names, such as values(metric_name)";
                return Err(Error::at(message, call.span));
            }
        }
    }
    command.by.fields.iter().for_each(|field| required.name(&field.text));
    let filter = &command.filter;
    let each = required.names.iter().any(|name| name == METRIC || name == VALUE)
        || filter.expr.as_ref().is_some_and(is_about_points);
    let shape = if each { Shape::Points(Vec::new()) } else { Shape::Events };
    let start = read(Wanted { filter, shape, patterns: Vec::new(), required }, env).await?;
    let mut context = env.context.clone();
    context.range = start.range;
    let ranged = env.within(&context);
    let keys = by_fields(&command.by, &start.frame);
    let (frame, keys) = split_values(start.frame, keys, true)?;
    let calls: Vec<StatsCall> = command.calls.clone();
    let values = aggregates(&calls, &keys, &frame, &ranged)?;
    Ok(SourceRows { frame: grouped(frame, keys, values)?, ..start })
}
