//! Aggregates over the rows of a window.
//!
//! Guarantees: a result is that of aggregating the rows of the window one by one. Aggregates that lose
//! nothing when a row leaves follow the window, so that a row takes the same time in a window of any length;
//! the others are computed of all rows at once, unless no row has a value.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::interleave;
use arrow::row::OwnedRow;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::count::Count;
use datafusion::functions_aggregate::min_max::{Max, Min};
use datafusion::logical_expr::Accumulator;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use exprs::aggregates::follows_windows;
use exprs::stopping::stopped;
use tables::Steps;

use super::floats::Floats;

/// The arguments of all aggregates in a batch.
pub(super) type Columns = Arc<[ArrayRef]>;

/// A row: its group, its time, and its place in a batch.
#[derive(Debug, Clone)]
pub(super) struct Past {
    pub(super) key: Option<OwnedRow>,
    pub(super) time: i64,
    pub(super) columns: Columns,
    pub(super) row: usize,
}

/// An aggregate and its own arguments.
#[derive(Debug)]
pub(super) struct Aggregate {
    pub(super) function: Arc<AggregateFunctionExpr>,
    arguments: Range<usize>,
    /// Whether it follows windows of rows.
    pub(super) slides: bool,
}

impl Aggregate {
    /// Returns aggregates whose arguments follow each other. `may_slide`: whether rows leave in the order in
    /// which they entered.
    pub(super) fn of_all(functions: &[Arc<AggregateFunctionExpr>], may_slide: bool) -> Vec<Self> {
        let mut first = 0;
        let each = |function: &Arc<AggregateFunctionExpr>| {
            let arguments = first..first + function.expressions().len();
            first = arguments.end;
            let slides = may_slide && slides(function);
            Self { function: Arc::clone(function), arguments, slides }
        };
        functions.iter().map(each).collect()
    }

    /// Adds a row to an accumulator.
    pub(super) fn add(&self, row: &Past, accumulator: &mut dyn Accumulator) -> Result<()> {
        accumulator.update_batch(&self.arguments_of(row))
    }

    /// Whether a row may have a value; functions of one argument skip nulls. `max` of a field consists of one
    /// of its whole numbers and one of its other values, which most fields of numbers do not have.
    fn has_value(&self, row: &Past) -> bool {
        match &row.columns[self.arguments.clone()] {
            [column] => column.is_valid(row.row),
            _ => true,
        }
    }

    fn arguments_of(&self, row: &Past) -> Vec<ArrayRef> {
        let columns = &row.columns[self.arguments.clone()];
        columns.iter().map(|column| column.slice(row.row, 1)).collect()
    }

    /// Returns the result of rows.
    fn result_of(&self, rows: Option<&Rows<'_>>) -> Result<ScalarValue> {
        let mut accumulator: Box<dyn Accumulator> = match Floats::of(&self.function) {
            Some(floats) => Box::new(floats),
            None => self.function.create_accumulator()?,
        };
        if let Some(rows) = rows.filter(|rows| !rows.places.is_empty()) {
            accumulator.update_batch(&rows.columns(&self.arguments)?)?;
        }
        accumulator.evaluate()
    }
}

/// Whether the sliding accumulator loses nothing when a row leaves. Sums do, if they are not those of
/// [`Floats`]: after 1e17, 17 and 17, less the first number, 32 is left.
fn slides(function: &AggregateFunctionExpr) -> bool {
    let inner = function.fun().inner();
    let is_exact = inner.downcast_ref::<Count>().is_some()
        || inner.downcast_ref::<Min>().is_some()
        || inner.downcast_ref::<Max>().is_some()
        || follows_windows(function.fun());
    (is_exact && !function.is_distinct()) || Floats::of(function).is_some()
}

#[derive(Debug)]
enum Slide {
    Floats(Floats),
    Other(Box<dyn Accumulator>),
}

impl Slide {
    fn new(function: &AggregateFunctionExpr) -> Result<Self> {
        Ok(match Floats::of(function) {
            Some(floats) => Self::Floats(floats),
            None => Self::Other(function.create_sliding_accumulator()?),
        })
    }

    fn accumulator(&mut self) -> &mut dyn Accumulator {
        match self {
            Self::Floats(floats) => floats,
            Self::Other(other) => other.as_mut(),
        }
    }

    fn work(&self) -> usize {
        match self {
            Self::Floats(floats) => floats.work(),
            Self::Other(_) => 1,
        }
    }
}

/// The aggregates that follow a window.
#[derive(Debug)]
pub(super) struct Sliding {
    /// `None` for an aggregate that does not follow it.
    slides: Vec<Option<Slide>>,
    /// Number of rows in the window that have a value, for each aggregate.
    values: Vec<usize>,
    /// Number of rows in the window.
    pub(super) rows: usize,
}

impl Sliding {
    pub(super) fn new(aggregates: &[Aggregate]) -> Result<Self> {
        let slide = |aggregate: &Aggregate| {
            aggregate.slides.then(|| Slide::new(&aggregate.function)).transpose()
        };
        let slides = aggregates.iter().map(slide).collect::<Result<Vec<_>>>()?;
        Ok(Self { slides, values: vec![0; aggregates.len()], rows: 0 })
    }

    /// Adds a row.
    pub(super) fn enter(&mut self, aggregates: &[Aggregate], row: &Past) -> Result<()> {
        self.rows += 1;
        let each = self.slides.iter_mut().zip(&mut self.values);
        for (aggregate, (slide, values)) in aggregates.iter().zip(each) {
            *values += usize::from(aggregate.has_value(row));
            if let Some(slide) = slide {
                aggregate.add(row, slide.accumulator())?;
            }
        }
        Ok(())
    }

    /// Drops the row that entered first.
    pub(super) fn leave(&mut self, aggregates: &[Aggregate], row: &Past) -> Result<()> {
        self.rows -= 1;
        let each = self.slides.iter_mut().zip(&mut self.values);
        for (aggregate, (slide, values)) in aggregates.iter().zip(each) {
            *values -= usize::from(aggregate.has_value(row));
            if let Some(slide) = slide {
                slide.accumulator().retract_batch(&aggregate.arguments_of(row))?;
            }
        }
        Ok(())
    }

    fn get(&mut self, at: usize) -> Option<&mut Slide> {
        self.slides.get_mut(at)?.as_mut()
    }
}

/// Whether a result is computed of all rows of the window.
fn is_computed(aggregate: &Aggregate, at: usize, sliding: Option<&Sliding>) -> bool {
    !aggregate.slides && sliding.is_none_or(|sliding| sliding.values[at] > 0)
}

/// Whether results are computed of all rows of the window.
pub(super) fn any_is_computed(aggregates: &[Aggregate], sliding: Option<&Sliding>) -> bool {
    let mut aggregates = aggregates.iter().enumerate();
    aggregates.any(|(at, aggregate)| is_computed(aggregate, at, sliding))
}

/// Rows in their order, as places in batches.
struct Rows<'w> {
    batches: Vec<&'w Columns>,
    places: Vec<(usize, usize)>,
}

impl<'w> Rows<'w> {
    fn of(rows: impl Iterator<Item = &'w Past>) -> Self {
        let (mut batches, mut places): (Vec<&Columns>, _) = (Vec::new(), Vec::new());
        for row in rows {
            if batches.last().is_none_or(|last| !Arc::ptr_eq(last, &row.columns)) {
                batches.push(&row.columns);
            }
            places.push((batches.len() - 1, row.row));
        }
        Self { batches, places }
    }

    /// Returns arguments of the rows: parts of the columns of a batch if the rows follow each other there.
    fn columns(&self, arguments: &Range<usize>) -> Result<Vec<ArrayRef>> {
        let length = self.places.len();
        if let [batch] = self.batches.as_slice()
            && let Some((_, first)) = self.places.first()
            && let Some((_, last)) = self.places.last()
            && last - first + 1 == length
        {
            let columns = &batch[arguments.clone()];
            return Ok(columns.iter().map(|column| column.slice(*first, length)).collect());
        }
        let column = |at: usize| -> Result<ArrayRef> {
            let parts: Vec<&dyn Array> =
                self.batches.iter().map(|batch| batch[at].as_ref()).collect();
            Ok(interleave(&parts, &self.places)?)
        };
        arguments.clone().map(column).collect()
    }
}

/// Appends the results of the aggregates for a window. `sliding` are those that follow it; `None` if no row
/// is in it.
pub(super) fn evaluate<'w>(
    aggregates: &[Aggregate],
    mut sliding: Option<&mut Sliding>,
    rows: impl Iterator<Item = &'w Past>,
    steps: &mut Steps,
    results: &mut [Vec<ScalarValue>],
) -> Result<()> {
    let are_read = any_is_computed(aggregates, sliding.as_deref());
    let rows = are_read.then(|| Rows::of(rows));
    for (at, (aggregate, result)) in aggregates.iter().zip(results).enumerate() {
        if let Some(slide) = sliding.as_deref_mut().and_then(|sliding| sliding.get(at)) {
            steps.take(slide.work()).map_err(stopped)?;
            result.push(slide.accumulator().evaluate()?);
            continue;
        }
        let rows = rows.as_ref().filter(|_| is_computed(aggregate, at, sliding.as_deref()));
        steps.take(rows.map_or(0, |rows| rows.places.len())).map_err(stopped)?;
        result.push(aggregate.result_of(rows)?);
    }
    Ok(())
}
