//! `timechart`: rows by bins of `_time`, series by a field.
//!
//! Split: as `stats` by bin and field; the search head chooses the series, pivots and adds the bins without
//! events.

use datafusion::logical_expr::lit;
use exprs::aggregates::EXACT_TIME;
use frames::Frame;
use model::TimeRange;
use spl::ast::{BinOptions, BinSpan, Span, SplitBy, TimeSpan, TimechartCommand};
use tables::bins::{TimeBins, default_span, length_of};

use super::composed::timed;
use super::required::required_by;
use super::split::{Series, pivot};
use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, TwoStep, bin,
    presence, summary,
};
use crate::MessageKind;
use crate::arguments::{Arguments, aggregate_call};
use context::planning::PlanningContext;
use context::stage::pivot::{PivotAxis, SPAN};

impl CommandPlan for TimechartCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.calls(&self.calls);
        fields.splits([&self.column]);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn merges_summaries(&self) -> bool {
        true
    }

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        presence::any(&self.calls, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let shows_span = required_by(input.rest).names.iter().any(|name| name == SPAN);
        plan(self, input.span(), shows_span, input.frame, input.env)
    }

    fn outline(&self, _: &str) -> Arguments {
        Arguments::Timechart {
            calls: self.calls.iter().map(aggregate_call).collect(),
            series: self.column.as_ref().map(|split| split.field.node.clone()),
        }
    }
}

const TIME: &str = "_time";
/// Default maximum number of bins.
const DEFAULT_BINS: u64 = 100;

pub(super) fn plan(
    command: &TimechartCommand,
    span: Span,
    shows_span: bool,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    if frame.kind(TIME).is_none() {
        let message = "timechart has no results, because no row has the field _time";
        env.log.add(MessageKind::Info, message.to_owned());
        return frame.filter(lit(false)).map(Step::Next);
    }
    let frame = timed(frame, TIME)?;
    let mut frame = summary::prepared(frame)?;
    let calls = summary::calls(&command.calls, &frame)?;
    let fixed = command.fixedrange != Some(false);
    let range = if fixed { fill_range(env) } else { (None, None) };
    if let Some(step) = series_extent(command, range, &mut frame, env)? {
        return Ok(step);
    }
    let width = match &command.bins.span {
        Some(BinSpan::Time(span)) => span.clone(),
        Some(_) => {
            let message = "timechart needs a span of time, such as span=5m; the span of numbers of \
                           the BY field is behind that field";
            return Err(Error::at(message, span));
        }
        None => match default_width(command, range, &frame)? {
            Some(width) => width,
            None => return bin::extent(frame, TIME),
        },
    };
    let align = bin::alignment(command.bins.aligntime.as_deref(), env)?;
    let bins = TimeBins::new(width.clone(), env.context.timezone.clone(), align);
    let binned = bin::time_bin(frame.field(TIME), &bins);
    let frame = frame.with_keys([TIME])?;
    let known = frame.kind(EXACT_TIME).map_or(TIME, |_| EXACT_TIME);
    let exact = (EXACT_TIME.to_owned(), frame.field(known));
    let frame = frame.with_columns(vec![exact, (TIME.to_owned(), binned)])?;
    let axis = PivotAxis::Time {
        bins,
        range,
        fill: command.series.cont != Some(false),
        partial: command.partial != Some(false),
    };
    let series = Series {
        calls: &calls,
        span: Some(length_of(&width)),
        shows_span,
        column: command.column.as_ref(),
        options: &command.series,
        filter: command.filter.as_ref(),
    };
    pivot(frame, TIME.to_owned(), axis, &series, env)
}

/// Returns the step that finds the minimum and maximum of the series field, if its bins depend on them. If
/// those of the time depend on its own, they are found first, and kept in the frame.
fn series_extent(
    command: &TimechartCommand,
    range: (Option<i64>, Option<i64>),
    frame: &mut Frame,
    env: &PlanningContext<'_>,
) -> Result<Option<Step>, Error> {
    let Some(SplitBy { field, bins }) = &command.column else { return Ok(None) };
    let is_bounded = bins.start.is_some() && bins.end.is_some();
    if *bins == BinOptions::default() || bins.span.is_some() || is_bounded {
        return Ok(None);
    }
    let has_axis = command.bins.span.is_some() || matches!(range, (Some(_), Some(_)));
    if !has_axis && frame.time_extent.is_none() {
        let Some(found) = frame.extent.take() else {
            return bin::extent(frame.clone(), TIME).map(Some);
        };
        frame.time_extent = Some(found);
    }
    bin::extent_needed(&field.node, bins, frame, env)
}

/// The time range of which all bins are shown. A search without a latest time ends now.
fn fill_range(env: &PlanningContext<'_>) -> (Option<i64>, Option<i64>) {
    let range = env.context.range;
    let from = (range.earliest != TimeRange::ALL.earliest).then_some(range.earliest.0);
    let to = if range.latest != TimeRange::ALL.latest {
        Some(range.latest.0)
    } else {
        from.filter(|from| *from < env.context.now.0).map(|_| env.context.now.0)
    };
    (from, to)
}

/// The span that divides the range into few enough bins; `None` if the range must be determined first.
fn default_width(
    command: &TimechartCommand,
    range: (Option<i64>, Option<i64>),
    frame: &Frame,
) -> Result<Option<TimeSpan>, Error> {
    #[allow(clippy::cast_possible_truncation)]
    let length = match (range, frame.time_extent.or(frame.extent)) {
        ((Some(from), Some(to)), _) => to.saturating_sub(from),
        (_, Some(Some((low, high)))) => (high - low) as i64 + 1,
        (_, Some(None)) => 0,
        (_, None) => return Ok(None),
    };
    let least = match &command.bins.minspan {
        Some(BinSpan::Time(span)) => Some(span),
        _ => None,
    };
    let bins = command.bins.bins.unwrap_or(DEFAULT_BINS);
    Ok(Some(default_span(length, bins, least)))
}
