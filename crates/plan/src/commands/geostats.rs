//! `geostats`: aggregations for bins of a map, at every zoom level.
//!
//! Split: as `stats` by bin and field; the search head chooses the series and pivots.

use datafusion::functions_aggregate::expr_fn::{count, sum};
use datafusion::logical_expr::lit;
use exprs::Typed;
use exprs::kernel::{multi, number};
use exprs::types::ValueType;
use frames::{Frame, column};
use spl::ast::{GeostatsCommand, StatsKind};
use tables::shape::geostats::{EVENTS, GEOBIN, Geostats, LATITUDE, LONGITUDE};

use super::stats::{
    Valueless, aggregates, by_fields, expand_calls, explode, grouped, split_values,
};
use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, TwoStep, presence,
};
use context::planning::PlanningContext;
use context::stage::Breaker;

impl CommandPlan for GeostatsCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.stats(&self.calls, &self.by);
        fields.name(&self.latfield);
        fields.name(&self.longfield);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        presence::any(&self.calls, frame) || presence::keys(&self.by, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env)
    }
}

pub(super) fn plan(
    command: &GeostatsCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    if command.by.has_span() {
        return Err(Error::invalid_anywhere("geostats has no span; use binspanlat, binspanlong"));
    }
    let place = |name: &str, most: f64, frame: &Frame| {
        let degrees =
            number("degrees", move |row| row.number(0).filter(|degrees| degrees.abs() <= most));
        degrees.with(most.to_string()).call(vec![frame.field(name)])
    };
    let latitude = place(&command.latfield, 90.0, &frame);
    let longitude = place(&command.longfield, 180.0, &frame);
    let frame = frame
        .with_columns(vec![(LATITUDE.to_owned(), latitude), (LONGITUDE.to_owned(), longitude)])?;
    let located = column(LATITUDE).is_not_null().and(column(LONGITUDE).is_not_null());
    let frame = frame.filter(located)?;
    let bins = bins(command, &frame);
    let frame = frame.with_columns(vec![(GEOBIN.to_owned(), bins)])?;
    let frame = explode(frame, GEOBIN, Valueless::Go)?;
    let by = by_fields(&command.by, &frame);
    let (frame, by) = split_values(frame, by, false)?;
    let keys: Vec<String> = std::iter::once(GEOBIN.to_owned()).chain(by.iter().cloned()).collect();
    let calls = expand_calls(&command.calls, &keys, &frame);
    let mut values = aggregates(&calls, &keys, &frame, env)?;
    values.retain(|(name, _)| !name.starts_with("__") && !keys.contains(name));
    let names = values.iter().map(|(name, _)| name.clone()).collect();
    for name in [LATITUDE, LONGITUDE] {
        values.push((name.to_owned(), Typed::new(sum(column(name)), ValueType::Float)));
    }
    let events = Typed::new(count(lit(1_i64)), ValueType::Integer);
    values.push((EVENTS.to_owned(), events));
    let counts = calls
        .iter()
        .filter(|call| matches!(call.function.kind, StatsKind::Count | StatsKind::DistinctCount));
    let limit = |limit: u64| match usize::try_from(limit).unwrap_or(usize::MAX) {
        0 => usize::MAX,
        limit => limit,
    };
    let op = Geostats {
        by,
        values: names,
        counts: counts.map(|call| call.output_name().to_owned()).collect(),
        outputs: [command.outputlatfield.clone(), command.outputlongfield.clone()],
        global_limit: limit(command.globallimit),
        local_limit: limit(command.locallimit),
        series: command.translatetoxy,
    };
    Ok(Step::Materialize(grouped(frame, keys, values)?, Breaker::table(op)))
}

/// Returns the bins of a position, one per zoom level; each level has four times as many bins as the previous
/// one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn bins(command: &GeostatsCommand, frame: &Frame) -> Typed {
    let degrees = |text: &str| text.parse::<f64>().unwrap_or(1.0);
    let (tall, wide) = (degrees(&command.binspanlat), degrees(&command.binspanlong));
    let levels = command.maxzoomlevel;
    let bins = multi("geobins", move |row, out| {
        let (latitude, longitude) = (row.number(0)?, row.number(1)?);
        let mut scale = 1.0;
        for level in 0..=levels {
            // The pole and the 180th meridian belong to the last bin.
            let place = |degrees: f64, most: f64, span: f64| {
                let bins = (2.0 * most * scale / span).ceil().max(1.0);
                ((degrees + most) * scale / span).floor().clamp(0.0, bins - 1.0) as u64
            };
            let (y, x) = (place(latitude, 90.0, tall), place(longitude, 180.0, wide));
            out.append_value(format!("bin_id_zl_{level}_y_{y}_x_{x}"));
            scale *= 2.0;
        }
        Some(())
    });
    let arguments = vec![frame.field(LATITUDE), frame.field(LONGITUDE)];
    bins.with(format!("{tall} {wide} {levels}")).call(arguments)
}
