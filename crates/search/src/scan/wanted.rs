//! The time window that operators above a scan still need: a sort that keeps the newest or oldest N rows
//! learns at run time which times can no longer be among them.
//!
//! It only ever leaves out rows that the filter rejects: what it does not understand is wanted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::TimestampMicrosecondType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, IsNullExpr, Literal,
};
use model::{EventTime, columns};

/// Dynamic filters, which change while the plan runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

/// First and last `_time` of some rows, inclusive.
type Span = (EventTime, EventTime);

impl Wanted {
    /// Selects the dynamic filters from those that operators above push down.
    pub(super) fn of(filters: impl Iterator<Item = Arc<dyn PhysicalExpr>>) -> Self {
        let changes = |filter: &Arc<dyn PhysicalExpr>| dynamic(filter).is_some();
        Self { filters: filters.filter(changes).collect() }
    }

    /// Whether there are no dynamic filters.
    pub(super) fn is_all(&self) -> bool {
        self.filters.is_empty()
    }

    /// Whether one of these filters, given by their ids, tests `_time` first.
    pub(super) fn learns_time(&self, filters: &HashSet<u64>) -> bool {
        self.filters.iter().any(|filter| {
            let is_known = filter.expression_id().is_some_and(|id| filters.contains(&id));
            is_known && filter.children().first().is_some_and(|column| is_time(column))
        })
    }

    /// Returns the filters of a copy of the plan, given its filters by the ids of the original ones. The
    /// columns stay: a filter that came through a projection has other ones than the sort.
    pub(super) fn renewed(&self, copies: &HashMap<u64, Arc<dyn PhysicalExpr>>) -> Result<Self> {
        let renewed = |filter: &Arc<dyn PhysicalExpr>| {
            let copy = filter.expression_id().and_then(|id| copies.get(&id));
            let Some(copy) = copy else { return Ok(Arc::clone(filter)) };
            Arc::clone(copy).with_new_children(filter.children().into_iter().cloned().collect())
        };
        Ok(Self { filters: self.filters.iter().map(renewed).collect::<Result<_>>()? })
    }

    /// Returns the window of times that are still needed.
    pub(super) fn window(&self) -> Window {
        let now = self.filters.iter().filter_map(dynamic).map(DynamicFilterPhysicalExpr::current);
        let windows = now.filter_map(Result::ok).map(|now| window_of(&now));
        windows.fold(Window::ALL, Window::intersection)
    }

    /// Whether rows in this time span may still be needed.
    pub(super) fn allows(&self, (first, last): Span) -> bool {
        !self.window().intersection(Window { first, last }).is_empty()
    }

    /// Whether all rows in this time span are still needed.
    pub(super) fn needs_all(&self, (first, last): Span) -> bool {
        let span = Window { first, last };
        self.window().intersection(span) == span
    }
}

/// A closed interval of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    first: EventTime,
    last: EventTime,
}

impl Window {
    pub(super) const ALL: Self = Self { first: EventTime(i64::MIN), last: EventTime(i64::MAX) };

    const NONE: Self = Self { first: EventTime(i64::MAX), last: EventTime(i64::MIN) };

    fn is_empty(self) -> bool {
        self.first > self.last
    }

    fn intersection(self, other: Self) -> Self {
        Self { first: self.first.max(other.first), last: self.last.min(other.last) }
    }

    /// Returns the smallest window that contains both.
    fn hull(self, other: Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Self { first: self.first.min(other.first), last: self.last.max(other.last) },
        }
    }

    /// Returns which rows lie in the window; `None` if all do, or if the rows have no times.
    pub(super) fn mask(self, rows: &RecordBatch) -> Option<BooleanArray> {
        if self == Self::ALL {
            return None;
        }
        let times = rows.column_by_name(columns::TIME)?;
        let times = times.as_primitive_opt::<TimestampMicrosecondType>()?;
        let (first, last) = (self.first.0, self.last.0);
        let inside = BooleanBuffer::from_iter(
            times.values().iter().map(|time| first <= *time && *time <= last),
        );
        (inside.count_set_bits() < inside.len()).then(|| BooleanArray::new(inside, None))
    }
}

fn dynamic(filter: &Arc<dyn PhysicalExpr>) -> Option<&DynamicFilterPhysicalExpr> {
    filter.downcast_ref::<DynamicFilterPhysicalExpr>()
}

/// Returns the window of times for which a condition may hold.
fn window_of(expr: &Arc<dyn PhysicalExpr>) -> Window {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        let (left, right) = (binary.left(), binary.right());
        return match binary.op() {
            Operator::And => window_of(left).intersection(window_of(right)),
            Operator::Or => window_of(left).hull(window_of(right)),
            operator => compared(left, *operator, right),
        };
    }
    if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
        // Every event has a time.
        return if is_time(is_null.arg()) { Window::NONE } else { Window::ALL };
    }
    match expr.downcast_ref::<Literal>() {
        Some(literal) if literal.value() == &ScalarValue::Boolean(Some(false)) => Window::NONE,
        _ => Window::ALL,
    }
}

fn compared(
    left: &Arc<dyn PhysicalExpr>,
    operator: Operator,
    right: &Arc<dyn PhysicalExpr>,
) -> Window {
    let literal = right.downcast_ref::<Literal>();
    let (true, Some(literal)) = (is_time(left), literal) else { return Window::ALL };
    let ScalarValue::TimestampMicrosecond(Some(time), _) = literal.value() else {
        return Window::ALL;
    };
    let at = EventTime(*time);
    match operator {
        Operator::Gt => time
            .checked_add(1)
            .map_or(Window::NONE, |after| Window { first: EventTime(after), ..Window::ALL }),
        Operator::GtEq => Window { first: at, ..Window::ALL },
        Operator::Lt => time
            .checked_sub(1)
            .map_or(Window::NONE, |before| Window { last: EventTime(before), ..Window::ALL }),
        Operator::LtEq => Window { last: at, ..Window::ALL },
        Operator::Eq => Window { first: at, last: at },
        _ => Window::ALL,
    }
}

fn is_time(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Column>().is_some_and(|column| column.name() == columns::TIME)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::physical_expr::expressions::{binary, col, lit};

    use super::*;

    fn at(time: i64) -> Arc<dyn PhysicalExpr> {
        lit(ScalarValue::TimestampMicrosecond(Some(time), Some("UTC".into())))
    }

    fn wanted(build: impl Fn(Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr>) -> Wanted {
        use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
        let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let schema = Schema::new(vec![Field::new(columns::TIME, time, false)]);
        let column = col(columns::TIME, &schema).unwrap();
        let dynamic = DynamicFilterPhysicalExpr::new(vec![Arc::clone(&column)], lit(true));
        dynamic.update(build(column)).unwrap();
        Wanted::of([Arc::new(dynamic) as Arc<dyn PhysicalExpr>].into_iter())
    }

    fn allows(wanted: &Wanted, first: i64, last: i64) -> bool {
        wanted.allows((EventTime(first), EventTime(last)))
    }

    #[test]
    fn rows_older_than_the_oldest_of_the_newest_are_not_wanted() {
        let schema = arrow::datatypes::Schema::empty();
        let wanted = wanted(|time| {
            let newer = binary(Arc::clone(&time), Operator::Gt, at(10), &schema).unwrap();
            let same = binary(time, Operator::Eq, at(10), &schema).unwrap();
            binary(newer, Operator::Or, same, &schema).unwrap()
        });
        assert!(allows(&wanted, 5, 11) && allows(&wanted, 10, 10) && !allows(&wanted, 5, 9));
    }

    #[test]
    fn rows_are_left_out_by_their_times() {
        use arrow::array::{ArrayRef, TimestampMicrosecondArray};
        let schema = arrow::datatypes::Schema::empty();
        let newer = wanted(|time| binary(time, Operator::Gt, at(10), &schema).unwrap());
        let batch = |times: Vec<i64>| {
            let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(times));
            RecordBatch::try_from_iter([(columns::TIME, times)]).unwrap()
        };
        let mask = newer.window().mask(&batch(vec![11, 10, 12])).unwrap();
        assert_eq!(mask, BooleanArray::from(vec![true, false, true]));
        assert_eq!(newer.window().mask(&batch(vec![11, 12])), None);
        let needs_all =
            |wanted: &Wanted, first| wanted.needs_all((EventTime(first), EventTime(12)));
        assert!(needs_all(&newer, 11) && !needs_all(&newer, 10));
        assert!(needs_all(&Wanted::default(), 10) && !needs_all(&wanted(|_| lit(false)), 10));
        assert_eq!(Wanted::default().window().mask(&batch(vec![1])), None);
        let none = wanted(|_| lit(false)).window().mask(&batch(vec![1, 2])).unwrap();
        assert_eq!(none.true_count(), 0);
    }

    #[test]
    fn filters_are_known_by_their_ids_and_their_first_column() {
        let schema = arrow::datatypes::Schema::empty();
        let older = wanted(|time| binary(time, Operator::Lt, at(10), &schema).unwrap());
        let ids = older.filters.iter().filter_map(|filter| filter.expression_id()).collect();
        assert!(older.learns_time(&ids));
        assert!(!older.learns_time(&HashSet::new()));
        assert!(!Wanted::default().learns_time(&ids));
    }

    #[test]
    fn a_filter_of_a_copied_sort_replaces_that_of_the_original() {
        let schema = arrow::datatypes::Schema::empty();
        let original = wanted(|time| binary(time, Operator::Lt, at(10), &schema).unwrap());
        let copy = wanted(|time| binary(time, Operator::Gt, at(20), &schema).unwrap());
        let id = original.filters[0].expression_id().unwrap();
        let copies = HashMap::from([(id, Arc::clone(&copy.filters[0]))]);
        let renewed = original.renewed(&copies).unwrap();
        assert!(!allows(&renewed, 5, 9) && allows(&renewed, 21, 22));
        // Without a copy, the filter stays.
        let same = original.renewed(&HashMap::new()).unwrap();
        assert!(allows(&same, 5, 9) && !allows(&same, 21, 22));
    }

    #[test]
    fn what_is_not_understood_is_wanted() {
        assert!(allows(&wanted(|_| lit(true)), 1, 2));
        assert!(!allows(&wanted(|_| lit(false)), 1, 2));
        assert!(Wanted::of([lit(false)].into_iter()).is_all());
    }
}
