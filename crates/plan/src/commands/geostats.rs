//! `geostats`: aggregations for places on a map, at every level of zoom.
//!
//! Split: as `stats` by bin and field; the search head chooses the series and pivots.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use datafusion::functions_aggregate::expr_fn::{count, sum};
use datafusion::logical_expr::lit;
use spl::ast::{GeostatsCommand, StatsKind};

use super::stats::{Valueless, aggregates, by_fields, explode, grouped, split_values};
use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep, sample,
};
use crate::expr::Typed;
use crate::expr::kernel::{multi, number};
use crate::frame::{Frame, column};
use crate::pipeline::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use crate::types::ValueType;

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

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env)
    }
}

const GEOBIN: &str = "geobin";
/// Hidden columns: the place of an event, and sums over the events of a bin.
const LATITUDE: &str = "__latitude";
const LONGITUDE: &str = "__longitude";
const EVENTS: &str = "__events";
/// The series of all that have none of their own.
const OTHER: &str = "OTHER";

pub(super) fn plan(
    command: &GeostatsCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    if command.by.span.is_some() {
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
    let mut values = aggregates(&command.calls, &keys, &frame, env)?;
    values.retain(|(name, _)| !name.starts_with("__") && !keys.contains(name));
    let names = values.iter().map(|(name, _)| name.clone()).collect();
    for name in [LATITUDE, LONGITUDE] {
        values.push((name.to_owned(), Typed::new(sum(column(name)), ValueType::Float)));
    }
    let events = Typed::new(count(lit(1_i64)), ValueType::Integer);
    values.push((EVENTS.to_owned(), events));
    let counts = command
        .calls
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

/// The bins of a place, one for each level of zoom; each level has four times as many.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn bins(command: &GeostatsCommand, frame: &Frame) -> Typed {
    let degrees = |text: &str| text.parse::<f64>().unwrap_or(1.0);
    let (tall, wide) = (degrees(&command.binspanlat), degrees(&command.binspanlong));
    let levels = command.maxzoomlevel;
    let bins = multi("geobins", move |row, out| {
        let (latitude, longitude) = (row.number(0)?, row.number(1)?);
        let mut scale = 1.0;
        for level in 0..=levels {
            // The pole and the last meridian belong to the last bin.
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

#[derive(Debug)]
struct Geostats {
    by: Vec<String>,
    /// The names of the aggregates.
    values: Vec<String>,
    /// Those that are 0 where there are no events.
    counts: Vec<String>,
    /// Where latitude and longitude go.
    outputs: [String; 2],
    global_limit: usize,
    local_limit: usize,
    /// Whether the values of the field make columns rather than rows.
    series: bool,
}

#[async_trait]
impl TableOp for Geostats {
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        if self.series && !self.by.is_empty() { self.pivot(&rows, env) } else { self.flat(&rows) }
    }
}

/// Level, row and column of a bin, which bins are sorted by.
fn place(bin: &str) -> [u64; 3] {
    let mut numbers = bin.split('_').filter_map(|part| part.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or_default())
}

/// The sums over the events of a bin.
#[derive(Debug, Default, Clone, Copy)]
struct Center {
    latitude: f64,
    longitude: f64,
    events: f64,
}

impl Geostats {
    /// The events of each bin, all series together.
    fn centers(rows: &Rows) -> Result<BTreeMap<[u64; 3], (String, Center)>, Error> {
        let bins = rows.texts(GEOBIN)?;
        let [latitudes, longitudes, events] =
            [LATITUDE, LONGITUDE, EVENTS].map(|n| rows.numbers(n));
        let (latitudes, longitudes, events) = (latitudes?, longitudes?, events?);
        let mut centers: BTreeMap<[u64; 3], (String, Center)> = BTreeMap::new();
        for (row, bin) in bins.into_iter().enumerate() {
            let Some(bin) = bin else { continue };
            let (_, center) = centers.entry(place(&bin)).or_insert((bin, Center::default()));
            center.latitude += latitudes[row].unwrap_or_default();
            center.longitude += longitudes[row].unwrap_or_default();
            center.events += events[row].unwrap_or_default();
        }
        Ok(centers)
    }

    fn set_center(&self, made: &mut Rows, centers: &[&Center]) {
        let [latitude, longitude] = &self.outputs;
        let mean = |sum: f64, center: &Center| Some(sum / center.events);
        made.set_numbers(latitude, centers.iter().map(|center| mean(center.latitude, center)));
        made.set_numbers(longitude, centers.iter().map(|center| mean(center.longitude, center)));
    }

    /// A row for each bin and, if there are fields to split by, their values.
    fn flat(&self, rows: &Rows) -> Result<Rows, Error> {
        let centers = Self::centers(rows)?;
        let places: Vec<[u64; 3]> =
            rows.texts(GEOBIN)?.iter().map(|bin| place(bin.as_deref().unwrap_or(""))).collect();
        let mut order: Vec<usize> = (0..rows.count).collect();
        order.sort_by_key(|row| places[*row]);
        let sorted = rows.take(&order)?;
        let mut made = Rows::blank(rows.count);
        made.set_texts(GEOBIN, sorted.texts(GEOBIN)?);
        let center = |row: &usize| &centers[&places[*row]].1;
        self.set_center(&mut made, &order.iter().map(center).collect::<Vec<_>>());
        for name in self.by.iter().chain(&self.values) {
            if let Some(column) = sorted.column(name) {
                made.set(name, column.kind, column.array.clone());
            }
        }
        Ok(made)
    }

    /// A row for each bin, a column for each series.
    fn pivot(&self, rows: &Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let centers = Self::centers(rows)?;
        let bins = rows.texts(GEOBIN)?;
        let row_of: HashMap<&str, usize> =
            centers.values().enumerate().map(|(at, (bin, _))| (bin.as_str(), at)).collect();
        let names = self.series_names(rows)?;
        let scores = rows.numbers(self.values.first().map_or(EVENTS, String::as_str))?;
        let scores: Vec<f64> = scores.into_iter().map(Option::unwrap_or_default).collect();
        let kept = self.kept(&names, &bins, &scores);
        let mut columns: Vec<&str> = kept.iter().map(|row| names[*row].as_str()).collect();
        columns.sort_unstable();
        columns.dedup();
        let others = kept.len() < rows.count;
        if others && !columns.contains(&OTHER) {
            columns.push(OTHER);
        }
        let limit = env.context.limits.columns;
        if columns.len() * self.values.len() > limit {
            let message = format!("geostats makes more than {limit} series (limit columns)");
            return Err(Error::Exhausted { message });
        }
        let column_of: HashMap<&str, usize> =
            columns.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let mut made = Rows::blank(centers.len());
        made.set_texts(GEOBIN, centers.values().map(|(bin, _)| Some(bin)));
        self.set_center(&mut made, &centers.values().map(|(_, center)| center).collect::<Vec<_>>());
        for value in &self.values {
            let zero = self.counts.contains(value).then_some(0.0);
            let numbers = rows.numbers(value)?;
            let mut cells = vec![vec![zero; centers.len()]; columns.len()];
            for row in 0..rows.count {
                let series = if kept.contains(&row) { names[row].as_str() } else { OTHER };
                let bin = bins[row].as_deref().and_then(|bin| row_of.get(bin));
                let (Some(bin), Some(number)) = (bin, numbers[row]) else { continue };
                let cell = &mut cells[column_of[series]][*bin];
                *cell = Some(cell.unwrap_or_default() + number);
            }
            for (series, cells) in columns.iter().zip(cells) {
                let name = match self.values.len() {
                    1 => (*series).to_owned(),
                    _ => format!("{value}: {series}"),
                };
                made.set_numbers(&sample::distinct(&made, &name), cells);
            }
        }
        Ok(made)
    }

    /// The values of the fields to split by, joined.
    fn series_names(&self, rows: &Rows) -> Result<Vec<String>, Error> {
        let texts: Result<Vec<_>, tables::Error> =
            self.by.iter().map(|name| rows.texts(name)).collect();
        let texts = texts?;
        let name = |row: usize| {
            let parts = texts.iter().map(|texts| texts[row].as_deref().unwrap_or_default());
            parts.collect::<Vec<_>>().join(":")
        };
        Ok((0..rows.count).map(name).collect())
    }

    /// The rows whose series have a column of their own: those with the greatest sums, everywhere
    /// and in their bin.
    fn kept(&self, names: &[String], bins: &[Option<String>], scores: &[f64]) -> HashSet<usize> {
        let mut sums: HashMap<&str, f64> = HashMap::new();
        let mut by_bin: HashMap<&str, Vec<usize>> = HashMap::new();
        for (row, name) in names.iter().enumerate() {
            *sums.entry(name).or_default() += scores[row];
            by_bin.entry(bins[row].as_deref().unwrap_or_default()).or_default().push(row);
        }
        let mut ranked: Vec<(&str, f64)> = sums.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        ranked.truncate(self.global_limit);
        let global: HashSet<&str> = ranked.into_iter().map(|(name, _)| name).collect();
        let mut kept = HashSet::new();
        for mut rows in by_bin.into_values() {
            rows.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(names[*a].cmp(&names[*b])));
            rows.truncate(self.local_limit);
            kept.extend(rows.into_iter().filter(|row| global.contains(names[*row].as_str())));
        }
        kept
    }
}
