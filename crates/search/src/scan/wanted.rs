//! What operators above a scan still want: a sort that keeps the newest N rows learns while it runs
//! which times cannot be among them any more.
//!
//! It only ever leaves out rows that the filter rejects: what it does not understand is wanted.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, IsNullExpr, Literal,
};
use model::{EventTime, columns};

/// Filters that change while the plan runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

/// First and last `_time` of some rows, both inside.
type Span = (EventTime, EventTime);

impl Wanted {
    /// Of filters that come from above, those that change.
    pub(super) fn of(filters: impl Iterator<Item = Arc<dyn PhysicalExpr>>) -> Self {
        let changes = |filter: &Arc<dyn PhysicalExpr>| dynamic(filter).is_some();
        Self { filters: filters.filter(changes).collect() }
    }

    /// Whether nothing will be learnt.
    pub(super) fn is_all(&self) -> bool {
        self.filters.is_empty()
    }

    /// Whether a row of these times may still be wanted.
    pub(super) fn allows(&self, span: Span) -> bool {
        self.filters.iter().all(|filter| {
            let now = dynamic(filter).map(DynamicFilterPhysicalExpr::current);
            !matches!(now, Some(Ok(now)) if !may_hold(&now, span))
        })
    }
}

fn dynamic(filter: &Arc<dyn PhysicalExpr>) -> Option<&DynamicFilterPhysicalExpr> {
    filter.downcast_ref::<DynamicFilterPhysicalExpr>()
}

fn may_hold(expr: &Arc<dyn PhysicalExpr>, span: Span) -> bool {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        let (left, right) = (binary.left(), binary.right());
        return match binary.op() {
            Operator::And => may_hold(left, span) && may_hold(right, span),
            Operator::Or => may_hold(left, span) || may_hold(right, span),
            operator => compare(left, *operator, right, span),
        };
    }
    if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
        // No event is without a time.
        return !is_time(is_null.arg());
    }
    match expr.downcast_ref::<Literal>() {
        Some(literal) => literal.value() != &ScalarValue::Boolean(Some(false)),
        None => true,
    }
}

fn compare(
    left: &Arc<dyn PhysicalExpr>,
    operator: Operator,
    right: &Arc<dyn PhysicalExpr>,
    (first, last): Span,
) -> bool {
    let literal = right.downcast_ref::<Literal>();
    let (true, Some(literal)) = (is_time(left), literal) else { return true };
    let ScalarValue::TimestampMicrosecond(Some(time), _) = literal.value() else { return true };
    let time = EventTime(*time);
    match operator {
        Operator::Gt => last > time,
        Operator::GtEq => last >= time,
        Operator::Lt => first < time,
        Operator::LtEq => first <= time,
        Operator::Eq => first <= time && time <= last,
        _ => true,
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
    fn what_is_not_understood_is_wanted() {
        assert!(allows(&wanted(|_| lit(true)), 1, 2));
        assert!(!allows(&wanted(|_| lit(false)), 1, 2));
        assert!(Wanted::of([lit(false)].into_iter()).is_all());
    }
}
