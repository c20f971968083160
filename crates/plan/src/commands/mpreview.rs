//! `mpreview`: metric data points as JSON, a few of each time series.
//!
//! Split: the events are read and filtered where they are; the search head keeps the first of each series.

use exprs::aggregates::SERIES;
use exprs::kernel::text;
use futures::future::BoxFuture;
use model::columns;
use spl::ast::{DedupCommand, FieldPattern, MpreviewCommand, Span};

use super::metrics::{METRIC, POINT, Shape, VALUE, Wanted, object, read};
use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    dedup,
};
use context::planning::{PlanningContext, SourceRows};

impl CommandPlan for MpreviewCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::TwoStep)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.env).await.map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// The fields of the result.
const SHOWN: [&str; 7] = [
    columns::TIME,
    columns::RAW,
    columns::HOST,
    columns::SOURCE,
    columns::SOURCETYPE,
    columns::INDEX,
    METRIC,
];

pub(super) async fn start(
    command: &MpreviewCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let mut required = RequiredFields::default();
    required.name(SERIES);
    let filter = &command.filter;
    let wanted = Wanted { filter, shape: Shape::Events, patterns: Vec::new(), required };
    let start = read(wanted, env).await?;
    let mut frame = start.frame;
    if command.target > 0 {
        let fields = vec![FieldPattern::new(SERIES, Span::default())];
        let first = DedupCommand {
            count: command.target,
            fields,
            keepevents: false,
            keepempty: true,
            consecutive: false,
            sortby: Vec::new(),
        };
        frame = dedup::plan(&first, frame, None, env)?;
    }
    let points = frame.names().into_iter().filter(|name| !name.starts_with('_') || name == VALUE);
    let mut names: Vec<String> = points.collect();
    names.sort_by_key(|name| (is_dimension(name), name.clone()));
    // Data points in fields of their own have the metric name in the field name.
    let single = text("metric_of_value", |row, out| {
        row.number(1)?;
        out.push_str(&row.text(0)?);
        Some(())
    });
    let single = single.call(vec![frame.field(METRIC), frame.field(VALUE)]);
    let member = |name: String| {
        let value = if name == METRIC { single.clone() } else { frame.field(&name) };
        (name, value)
    };
    let raw = object(names.into_iter().map(member).collect());
    frame = frame.with_columns(vec![(columns::RAW.to_owned(), raw)])?;
    let shown = SHOWN.map(str::to_owned);
    Ok(SourceRows { frame: frame.select(&shown)?, ..start })
}

fn is_dimension(name: &str) -> bool {
    !name.starts_with(POINT) && name != METRIC && name != VALUE
}
