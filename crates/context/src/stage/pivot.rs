//! Pivots of `chart` and `timechart`: long rows (row key, series, values) become one row per key
//! with one column per series.
//!
//! Which series get a column is decided here, from all rows. The others are joined as OTHER by
//! aggregating once more: the long rows where that gives the same answer (counts, sums, extremes),
//! the input where it does not (averages, distinct counts, percentiles). If the long rows are more than
//! a stage may hold, the engine computes the scores of the series, and the input is read again for the
//! series with a column and for OTHER.

mod bins;
mod missing;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, TimestampMicrosecondArray, UInt32Array,
};
use arrow::compute::kernels::zip::zip;
use arrow::compute::take;
use arrow::datatypes::TimestampMicrosecondType;
use datafusion::functions_aggregate::expr_fn;
use datafusion::logical_expr::{Expr, lit, when};
use exprs::Typed;
use exprs::column::Values;
use exprs::kernel::number;
use exprs::order::sort_key;
use exprs::types::{ArrowType, ValueType};
use frames::{Frame, column};
use futures::future::BoxFuture;
use spl::ast::{ComparisonOperator, SeriesLimit, SortOrder, StatsKind};
use tables::bins::TimeBins;
use tables::{FreeNames, NameFormat, check_cells};

pub use self::bins::{Cut, RowBins};
use self::missing::has_missing;
use super::{Rows, TableOp};
use crate::planning::PlanningContext;
use crate::run::{collect, collect_again};
use frames::{Error, MessageKind};

/// The hidden column of long rows that names the series.
pub const SERIES: &str = "__series";
/// The hidden column of long rows that counts events.
pub const EVENTS: &str = "__events";
/// The column of the scores of series.
const SCORE: &str = "__score";
/// The name of the series that are left out. No series has it, except one of `urldecode("%00")`.
const UNSHOWN: &str = "\0";
/// The length of a bin in seconds, an internal field of the result that later commands may read.
pub const SPAN: &str = "_span";

/// The kind of the result's rows.
#[derive(Debug, Clone)]
pub enum PivotAxis {
    /// Bins of time: all of a range, or from the first to the last with rows, also if only the start of the
    /// range is unbounded.
    Time { bins: TimeBins, range: (Option<i64>, Option<i64>), fill: bool, partial: bool },
    /// Bins of the row field.
    Bins(RowBins),
    /// The distinct values.
    Values,
}

/// How a value is merged with those of other series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    Add,
    Min,
    Max,
    /// By aggregating the input again.
    Again,
}

/// A value column of the long rows.
#[derive(Debug, Clone)]
pub struct PivotValue {
    pub name: String,
    pub merge: Merge,
    /// Whether a cell without rows is 0 rather than null.
    pub zero: bool,
}

/// The ranking of series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score {
    /// By number of events.
    Events,
    /// By a statistic of the first value over all rows.
    Value(StatsKind),
}

/// A condition on series.
#[derive(Debug, Clone)]
pub enum SeriesFilter {
    Among { limit: SeriesLimit, negated: bool },
    Compare(ComparisonOperator, f64),
}

/// The selection of series with a column of their own.
#[derive(Debug, Clone)]
pub struct SeriesChoice {
    pub score: Score,
    pub filter: SeriesFilter,
    pub other: Option<String>,
    pub null: Option<String>,
}

/// A pivot. The previous stage provides the row key, [`SERIES`] and [`EVENTS`] if there are series, and the
/// values.
#[derive(Debug, Clone)]
pub struct Pivot {
    pub row: String,
    pub axis: PivotAxis,
    pub values: Vec<PivotValue>,
    pub series: Option<SeriesChoice>,
    pub names: NameFormat,
    /// The rows before aggregation, with the row key and [`SERIES`], and the aggregates.
    pub input: Frame,
    pub aggregates: Vec<(String, Typed)>,
    /// The length of a bin in microseconds, if the rows have the field `_span`.
    pub span: Option<i64>,
}

struct Layout {
    /// Distinct series in the order of their columns; `None` stands for the only series of an unsplit chart.
    series: Vec<Option<String>>,
}

impl TableOp for Pivot {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move { self.pivot(&rows, env).await })
    }

    fn apply_to_many<'a>(
        &'a self,
        env: &'a PlanningContext<'a>,
    ) -> Option<BoxFuture<'a, Result<Rows, Error>>> {
        let choice = self.series.as_ref().filter(|choice| choice.is_of_few())?;
        let score = self.score(choice.score)?;
        // A preview is made of the rows at hand.
        if env.is_dry_run() {
            return None;
        }
        Some(Box::pin(self.pivot_many(choice, score, env)))
    }
}

impl SeriesChoice {
    /// Whether the selected series may be far fewer than all of them. Their number is at most
    /// `limits.columns`, which is tested before their rows are read.
    fn is_of_few(&self) -> bool {
        match self.filter {
            SeriesFilter::Among { limit: SeriesLimit::Top(0), .. } => false,
            SeriesFilter::Among { negated, .. } => !negated,
            SeriesFilter::Compare(..) => true,
        }
    }
}

impl Pivot {
    async fn pivot(&self, rows: &Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let Some(choice) = &self.series else {
            return self.spread(rows, &Layout { series: vec![None] }, env);
        };
        let unnamed = choice.unnamed_rows(rows)?;
        let is_twice = unnamed.is_some() && has_missing(rows);
        let rows = unnamed.as_ref().unwrap_or(rows);
        let kept = self.choose(choice, rows)?;
        self.check_series(kept.len(), env)?;
        let all: HashSet<String> = rows.texts(SERIES)?.into_iter().flatten().collect();
        let others = all.iter().any(|series| !kept.contains(series));
        let other = choice.other.as_deref().filter(|_| others);
        let joined = match other.or(is_twice.then_some(UNSHOWN)) {
            Some(other) => Some(self.join_others(&kept, other, rows, env).await?),
            None => None,
        };
        let layout = layout_of(choice, kept, others, rows);
        self.spread(joined.as_ref().unwrap_or(rows), &layout, env)
    }

    /// Returns the aggregate that ranks series.
    fn score(&self, score: Score) -> Option<Typed> {
        let first = self.values.first().filter(|_| matches!(score, Score::Value(_)));
        let Some(first) = first else {
            return Some(Typed::new(expr_fn::count(lit(1_i64)), ValueType::Integer));
        };
        let found = self.aggregates.iter().find(|(name, _)| *name == first.name);
        found.map(|(_, value)| value.clone())
    }

    /// Pivots without the long rows: the input is read once for the scores of all series, and once for the
    /// rows of the selected ones and of OTHER. Events may arrive in between. All cells are of the last read,
    /// so they agree with each other; the selection is that of the read before.
    async fn pivot_many(
        &self,
        choice: &SeriesChoice,
        score: Typed,
        env: &PlanningContext<'_>,
    ) -> Result<Rows, Error> {
        let scores = self.scores_of_many(choice.score, score, env).await?;
        let all = scores.len();
        let kept = selected(&choice.filter, &scores);
        self.check_series(kept.len(), env)?;
        // Without a column for the others, their rows still have keys. The aggregates of these rows are
        // computed for nothing.
        let other = choice.other.as_deref().unwrap_or(UNSHOWN);
        let rows = self.read_again(&kept, other, env).await?;
        // A series whose first event has arrived since the selection is one of the others, too.
        let is_other = |name: &String| !kept.contains(name);
        let others = kept.len() < all || rows.texts(SERIES)?.iter().flatten().any(is_other);
        self.spread(&rows, &layout_of(choice, kept, others, &rows), env)
    }

    /// Returns the scores of all series, which the engine computes from the input.
    async fn scores_of_many(
        &self,
        score: Score,
        value: Typed,
        env: &PlanningContext<'_>,
    ) -> Result<HashMap<String, f64>, Error> {
        let (plan, columns) = self.scored(score, value)?.finish()?;
        let rows = collect_again(&plan, &columns, env).await?;
        let names = rows.texts(SERIES)?.into_iter();
        let scores = rows.numbers(SCORE)?.into_iter().map(Option::unwrap_or_default);
        Ok(names.zip(scores).filter_map(|(name, score)| Some((name?, score))).collect())
    }

    /// Returns a frame with the score of each series.
    fn scored(&self, score: Score, value: Typed) -> Result<Frame, Error> {
        let frame = self.input.clone().with_keys([SERIES])?;
        if self.is_sum_of_counts(score) {
            // The sum of the counts of its cells is the count of the series: no groups of cells are needed.
            let series = vec![(SERIES.to_owned(), frame.field(SERIES))];
            return frame.aggregate(series, vec![(SCORE.to_owned(), value)]);
        }
        let keys = [self.row.as_str(), SERIES].map(|name| (name.to_owned(), frame.field(name)));
        let long = frame.aggregate(Vec::from(keys), vec![(SCORE.to_owned(), value)])?;
        let cells = number("score", |row| row.number(0)).call(vec![long.field(SCORE)]).expr;
        let ranking = match score {
            Score::Value(StatsKind::Average) => expr_fn::avg(cells),
            Score::Value(StatsKind::Max) => expr_fn::max(cells),
            Score::Value(StatsKind::Min) => expr_fn::min(cells),
            Score::Value(StatsKind::Range) => expr_fn::max(cells.clone()) - expr_fn::min(cells),
            _ => expr_fn::sum(cells),
        };
        let series = long.field(SERIES);
        long.aggregate(
            vec![(SERIES.to_owned(), series)],
            vec![(SCORE.to_owned(), Typed::new(ranking, ValueType::Float))],
        )
    }

    /// Whether the score of a series is a sum of counts.
    fn is_sum_of_counts(&self, score: Score) -> bool {
        let is_count = |value: &PivotValue| value.zero && value.merge == Merge::Add;
        match score {
            Score::Events => true,
            Score::Value(
                StatsKind::Average | StatsKind::Max | StatsKind::Min | StatsKind::Range,
            ) => false,
            Score::Value(_) => self.values.first().is_some_and(is_count),
        }
    }

    /// Selects the series with a column of their own.
    fn choose(&self, choice: &SeriesChoice, rows: &Rows) -> Result<HashSet<String>, Error> {
        let series = rows.texts(SERIES)?;
        Ok(selected(&choice.filter, &self.scores(choice.score, &series, rows)?))
    }

    fn scores(
        &self,
        score: Score,
        series: &[Option<String>],
        rows: &Rows,
    ) -> Result<HashMap<String, f64>, Error> {
        let source = match (score, self.values.first()) {
            (Score::Value(_), Some(value)) => value.name.as_str(),
            _ => EVENTS,
        };
        let array = rows.column(source).map(|column| Values::new(&column.array)).transpose()?;
        let mut numbers: HashMap<String, Vec<f64>> = HashMap::new();
        for (row, name) in series.iter().enumerate() {
            let Some(name) = name else { continue };
            let entry = numbers.entry(name.clone()).or_default();
            entry.extend(array.as_ref().and_then(|values| values.get(row).number()));
        }
        let scored = numbers.into_iter().map(|(name, numbers)| (name, statistic(score, &numbers)));
        Ok(scored.collect())
    }

    /// Merges the remaining series in long rows.
    async fn join_others(
        &self,
        kept: &HashSet<String>,
        other: &str,
        rows: &Rows,
        env: &PlanningContext<'_>,
    ) -> Result<Rows, Error> {
        if self.values.iter().any(|value| value.merge == Merge::Again) {
            return self.read_again(kept, other, env).await;
        }
        let (frame, values) = (Frame::of_rows(rows.clone())?, self.merged(rows));
        let (plan, columns) = self.regrouped(frame, values, kept, other)?.finish()?;
        collect(&plan, &columns, env).await
    }

    /// Reads the input again, and returns the long rows of the kept series and of the others.
    async fn read_again(
        &self,
        kept: &HashSet<String>,
        other: &str,
        env: &PlanningContext<'_>,
    ) -> Result<Rows, Error> {
        let (frame, values) = (self.input.clone(), self.aggregates.clone());
        let (plan, columns) = self.regrouped(frame, values, kept, other)?.finish()?;
        collect_again(&plan, &columns, env).await
    }

    /// Aggregates rows by the row key and the series, of which those that are not kept are joined.
    fn regrouped(
        &self,
        frame: Frame,
        values: Vec<(String, Typed)>,
        kept: &HashSet<String>,
        other: &str,
    ) -> Result<Frame, Error> {
        let joined = when(is_kept(kept), column(SERIES)).otherwise(lit(other))?;
        let joined = Typed::new(cast_text(joined), ValueType::Text);
        let row = frame.field(&self.row);
        let joined = match &self.series {
            Some(choice) => choice.beside_missing(joined, other)?,
            None => joined,
        };
        let keys = vec![(self.row.clone(), row), (SERIES.to_owned(), joined)];
        let frame = frame.aggregate(keys, values)?;
        let order = sort_key(frame.field(&self.row), SortOrder::Auto);
        frame.order_by(vec![(order, false, false)], false)
    }

    fn merged(&self, rows: &Rows) -> Vec<(String, Typed)> {
        let values = self.values.iter().map(|value| (value.name.as_str(), value.merge));
        let merged = values.map(|(name, merge)| {
            let kind = rows.column(name).map_or(ValueType::Null, |column| column.kind);
            let expr = match merge {
                Merge::Min => expr_fn::min(column(name)),
                Merge::Max => expr_fn::max(column(name)),
                Merge::Add | Merge::Again => expr_fn::sum(column(name)),
            };
            (name.to_owned(), Typed::new(expr, kind))
        });
        merged.collect()
    }

    /// Refuses more series than there may be columns.
    fn check_series(&self, series: usize, env: &PlanningContext<'_>) -> Result<(), Error> {
        let limit = env.context.limits.columns;
        if series.saturating_mul(self.values.len()) <= limit {
            return Ok(());
        }
        let message = format!(
            "the chart has {series} series, more than {limit} (a fixed limit); set limit= lower"
        );
        Err(Error::invalid_anywhere(message))
    }

    /// Converts long rows to wide ones.
    fn spread(
        &self,
        rows: &Rows,
        layout: &Layout,
        env: &PlanningContext<'_>,
    ) -> Result<Rows, Error> {
        let series = if self.series.is_some() { rows.texts(SERIES)? } else { Vec::new() };
        let null = self.series.as_ref().and_then(|choice| choice.null.clone());
        let position: HashMap<&Option<String>, usize> =
            layout.series.iter().enumerate().map(|(at, name)| (name, at)).collect();
        self.check_series(layout.series.len(), env)?;
        let (keys, row_of) = self.rows(rows, env)?;
        let columns = layout.series.len() * (1 + self.values.len());
        check_cells(keys.len(), columns, env.context.limits.memory_bytes)?;
        let mut cells = vec![vec![None; keys.len()]; layout.series.len()];
        for (row, place) in row_of.iter().enumerate() {
            let name = match (&self.series, series.get(row)) {
                (None, _) => None,
                (Some(_), Some(Some(name))) => Some(name.clone()),
                (Some(_), _) => match &null {
                    Some(null) => Some(null.clone()),
                    None => continue,
                },
            };
            if let (Some(at), Some(key)) = (position.get(&name), place) {
                cells[*at][*key] = u32::try_from(row).ok();
            }
        }
        let mut wide = Rows { columns: Vec::new(), count: keys.len() };
        let kind = rows.column(&self.row).map_or(ValueType::Text, |column| column.kind);
        // A series may have the name of the row field, and a format may name several columns alike.
        let mut free = FreeNames::default();
        wide.push(free.take(&self.row), kind, keys);
        if self.span.is_some() {
            free.take(SPAN);
        }
        for value in &self.values {
            for (at, name) in layout.series.iter().enumerate() {
                let Some(source) = rows.column(&value.name) else { continue };
                let array = gather(&source.array, &cells[at], value.zero)?;
                let shown = match name {
                    Some(series) => self.names.name(series, &value.name, self.values.len()),
                    None => value.name.clone(),
                };
                wide.push(free.take(&shown), source.kind, array);
            }
        }
        if let Some(span) = self.span {
            #[allow(clippy::cast_precision_loss)]
            let seconds = Float64Array::from_value(span as f64 / 1e6, wide.count);
            wide.push(SPAN, ValueType::Float, Arc::new(seconds));
        }
        Ok(wide)
    }

    /// Returns the row keys of the result, and the index of each long row among them.
    fn rows(
        &self,
        rows: &Rows,
        env: &PlanningContext<'_>,
    ) -> Result<(ArrayRef, Vec<Option<usize>>), Error> {
        let Some(key) = rows.column(&self.row) else {
            return Err(Error::internal(format!("no row key \"{}\"", self.row)));
        };
        match &self.axis {
            PivotAxis::Time { bins, range, fill, partial } => {
                let times = key.array.as_primitive::<TimestampMicrosecondType>();
                let starts = time_rows(times, bins, *range, (*fill, *partial), env)?;
                let place: HashMap<i64, usize> =
                    starts.iter().enumerate().map(|(at, start)| (*start, at)).collect();
                let of = (0..rows.count).map(|row| {
                    times.is_valid(row).then(|| place.get(&times.value(row)).copied()).flatten()
                });
                let of = of.collect();
                let keys = TimestampMicrosecondArray::from(starts).with_timezone("UTC");
                Ok((Arc::new(keys), of))
            }
            PivotAxis::Bins(bins) => {
                let limit = env.context.limits.bins;
                let placed = bins.place(key, limit)?;
                if !placed.is_complete {
                    let text = format!(
                        "the chart has no rows for bins without events, because there are more than {limit} bins \
                         (maxbins in limits.conf [discretize]); use a longer span"
                    );
                    env.log.add(MessageKind::Warning, text);
                }
                Ok((placed.keys, placed.places))
            }
            PivotAxis::Values => {
                let mut first: Vec<u32> = Vec::new();
                let mut place: HashMap<String, usize> = HashMap::new();
                let mut of = Vec::with_capacity(rows.count);
                for (row, text) in rows.texts(&self.row)?.into_iter().enumerate() {
                    of.push(text.map(|text| {
                        *place.entry(text).or_insert_with(|| {
                            first.push(u32::try_from(row).unwrap_or(u32::MAX));
                            first.len() - 1
                        })
                    }));
                }
                Ok((take(&key.array, &UInt32Array::from(first), None)?, of))
            }
        }
    }
}

/// Returns the columns of a chart: the selected series by name, then NULL and OTHER.
fn layout_of(choice: &SeriesChoice, kept: HashSet<String>, others: bool, rows: &Rows) -> Layout {
    let mut series: Vec<String> = kept.into_iter().collect();
    series.sort();
    let mut columns: Vec<Option<String>> = series.into_iter().map(Some).collect();
    let mut push_last = |name: Option<&String>| {
        if let Some(name) = name.filter(|name| !columns.contains(&Some((*name).clone()))) {
            columns.push(Some(name.clone()));
        }
    };
    push_last(choice.null.as_ref().filter(|_| has_missing(rows)));
    push_last(choice.other.as_ref().filter(|_| others));
    Layout { series: columns }
}

/// Returns the condition that a row is of a selected series, or of none.
fn is_kept(kept: &HashSet<String>) -> Expr {
    let names = kept.iter().map(|name| lit(name.as_str())).collect();
    column(SERIES).in_list(names, false).or(column(SERIES).is_null())
}

/// Returns the series that a condition selects by their scores.
fn selected(filter: &SeriesFilter, scores: &HashMap<String, f64>) -> HashSet<String> {
    let mut ranked: Vec<(&String, f64)> = scores.iter().map(|(name, s)| (name, *s)).collect();
    // For equal scores the name decides, so that the result does not depend on the order of rows.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    match filter {
        SeriesFilter::Among { limit: SeriesLimit::Top(0), .. } => {
            ranked.into_iter().map(|(name, _)| name.clone()).collect()
        }
        SeriesFilter::Among { limit, negated } => {
            let all = ranked.len();
            let count = |count: u64| usize::try_from(count).unwrap_or(all).min(all);
            let inside = match limit {
                SeriesLimit::Top(top) => 0..count(*top),
                SeriesLimit::Bottom(bottom) => all - count(*bottom)..all,
            };
            let of = |(at, _): &(usize, _)| inside.contains(at) != *negated;
            let chosen = ranked.into_iter().enumerate().filter(of);
            chosen.map(|(_, (name, _))| name.clone()).collect()
        }
        SeriesFilter::Compare(operator, bound) => {
            let holds = |(_, score): &(&String, f64)| compare(*operator, *score, *bound);
            ranked.into_iter().filter(holds).map(|(name, _)| name.clone()).collect()
        }
    }
}

fn time_rows(
    times: &TimestampMicrosecondArray,
    bins: &TimeBins,
    (from, to): (Option<i64>, Option<i64>),
    (fill, partial): (bool, bool),
    env: &PlanningContext<'_>,
) -> Result<Vec<i64>, Error> {
    let present: BTreeMap<i64, ()> = times.iter().flatten().map(|time| (time, ())).collect();
    let mut starts: Vec<i64> = present.keys().copied().collect();
    if fill {
        let first = from.map(|from| bins.floor(from)).or(starts.first().copied());
        // Over all time, bins up to now would be many more than the bins with data.
        let end = from.and(to);
        let last = end.map(|end| bins.floor(end.saturating_sub(1))).or(starts.last().copied());
        if let (Some(first), Some(last)) = (first, last) {
            // Bins with data are always kept, even if a bin of irregular length began at a clock change.
            starts.retain(|start| (first..=last).contains(start));
            starts.extend(series_of_bins(bins, first, last, env)?);
            starts.sort_unstable();
            starts.dedup();
        }
    }
    if !partial {
        let inside = |start: &i64| {
            let (begin, end) = bins.around(*start);
            from.is_none_or(|from| from <= begin) && to.is_none_or(|to| end <= to)
        };
        starts.retain(inside);
    }
    Ok(starts)
}

fn series_of_bins(
    bins: &TimeBins,
    first: i64,
    last: i64,
    env: &PlanningContext<'_>,
) -> Result<Vec<i64>, Error> {
    let limit = env.context.limits.bins;
    let mut starts = Vec::new();
    let mut at = first;
    while at <= last {
        if starts.len() == limit {
            let message = format!(
                "the span cuts the time range into more than {limit} bins (maxbins in limits.conf [discretize]); \
                 use a longer span or a shorter range"
            );
            return Err(Error::invalid_anywhere(message));
        }
        starts.push(at);
        // When clocks are set back, a bin may end before it begins; continue with the next instant.
        at = bins.around(at).1.max(at + 1);
    }
    Ok(starts)
}

/// The cells of a column: a row of the source each, or none.
fn gather(source: &ArrayRef, cells: &[Option<u32>], zero: bool) -> Result<ArrayRef, Error> {
    let picked = take(source, &UInt32Array::from(cells.to_vec()), None)?;
    let numbers = ValueType::of(source.data_type()).is_some_and(ValueType::is_number);
    if !zero || !numbers || picked.null_count() == 0 {
        return Ok(picked);
    }
    let zeros = arrow::compute::cast(&Int64Array::from_value(0, cells.len()), source.data_type())?;
    Ok(zip(&arrow::compute::is_not_null(&picked)?, &picked, &zeros)?)
}

fn cast_text(expr: Expr) -> Expr {
    datafusion::logical_expr::cast(expr, ValueType::Text.data_type())
}

#[allow(clippy::cast_precision_loss)]
fn statistic(score: Score, numbers: &[f64]) -> f64 {
    // The sum of no numbers is -0.0, which is less than the 0.0 of another series.
    let sum = numbers.iter().sum::<f64>() + 0.0;
    let fold = |pick: fn(f64, f64) -> f64| numbers.iter().copied().reduce(pick).unwrap_or(0.0);
    match score {
        Score::Value(StatsKind::Average) if !numbers.is_empty() => sum / numbers.len() as f64,
        Score::Value(StatsKind::Max) => fold(f64::max),
        Score::Value(StatsKind::Min) => fold(f64::min),
        Score::Value(StatsKind::Range) => fold(f64::max) - fold(f64::min),
        _ => sum,
    }
}

fn compare(operator: ComparisonOperator, left: f64, right: f64) -> bool {
    match operator {
        ComparisonOperator::Equal => left == right,
        ComparisonOperator::NotEqual => left != right,
        ComparisonOperator::Less => left < right,
        ComparisonOperator::LessOrEqual => left <= right,
        ComparisonOperator::Greater => left > right,
        ComparisonOperator::GreaterOrEqual => left >= right,
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn a_series_without_numbers_has_the_score_zero() {
        let kinds = [StatsKind::Sum, StatsKind::Average, StatsKind::Max, StatsKind::Range];
        for kind in kinds {
            let score = statistic(Score::Value(kind), &[]);
            assert_eq!(score.total_cmp(&0.0), Ordering::Equal, "{kind:?}");
        }
        assert_eq!(statistic(Score::Events, &[]).total_cmp(&0.0), Ordering::Equal);
    }
}
