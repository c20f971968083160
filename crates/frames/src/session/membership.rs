//! SQL's `IN (SELECT ...)`, `ANY` and `ALL` over values that may be null.
//!
//! `x NOT IN (SELECT y ...)` is unknown if `x` is null, or if a `y` is null and no other is `x`. The engine
//! computes this only for a condition that is joined by `AND` to the others, only if the inner query does not
//! refer to the outer one, and only for an `x` with a column. It looks for nulls in columns, not in values
//! that are computed from them. Everywhere else it takes unknown for false. Here, before the engine replaces
//! these queries by joins, the other conditions are written with `EXISTS`, which is never unknown:
//!
//! - found: `EXISTS (SELECT ... WHERE y = x)`;
//! - unknown unless found: `x IS NULL AND EXISTS (SELECT ...) OR EXISTS (SELECT ... WHERE y IS NULL)`.
//!
//! Conditions that the engine computes right stay as they are: their plans read the inner query once.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{
    Column, DFSchema, ExprSchema, Result, ScalarValue, not_impl_err, plan_err,
};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, not,
};
use datafusion::optimizer::analyzer::AnalyzerRule;

/// Maximum number of steps of inner queries that are repeated in one query. Each level of queries within
/// queries has three copies of the next one.
const MAX_REPEATED: usize = 10_000;
/// The column of an inner query. A condition that had the same name on both sides, as in
/// `host NOT IN (SELECT host FROM web)` over `web`, would be true for every row.
const MEMBER: &str = "__member";

/// A rule that gives `IN (SELECT ...)` the three values of SQL. Runs after type coercion, when both sides
/// have the same type.
#[derive(Debug)]
pub(super) struct Membership;

impl AnalyzerRule for Membership {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut repeated = 0;
        Ok(plan.transform_up_with_subqueries(|plan| of_plan(plan, &mut repeated))?.data)
    }

    fn name(&self) -> &'static str {
        "membership"
    }
}

fn of_plan(plan: LogicalPlan, repeated: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found = found || has_members(expr)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !found {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    let is_filter = matches!(plan, LogicalPlan::Filter(_));
    let is_condition = is_filter || matches!(plan, LogicalPlan::Join(_));
    let mut rewrite = Rewrite { schema: &schema, is_filter, repeated };
    let names = NamePreserver::new(&plan);
    let changed = plan.map_expressions(|expr| {
        if !has_members(&expr)? {
            return Ok(Transformed::no(expr));
        }
        let name = names.save(&expr);
        let changed =
            if is_condition { rewrite.condition(expr)? } else { rewrite.every_value(expr)? };
        Ok(Transformed::yes(name.restore(changed)))
    })?;
    changed.map_data(LogicalPlan::recompute_schema)
}

fn has_members(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(matches!(part, Expr::InSubquery(_) | Expr::SetComparison(_))))
}

/// The rewrite of the expressions of one operator.
struct Rewrite<'a> {
    /// The columns that the expressions refer to.
    schema: &'a DFSchema,
    /// Whether the operator is a filter, whose queries the engine replaces before it moves conditions.
    is_filter: bool,
    /// Number of repeated steps in the whole query.
    repeated: &'a mut usize,
}

impl Rewrite<'_> {
    /// Rewrites a condition that keeps a row only if it is true.
    fn condition(&mut self, condition: Expr) -> Result<Expr> {
        let mut all = Vec::new();
        for one in split_conjunction_owned(condition) {
            all.push(self.conjunct(one)?);
        }
        Ok(conjunction(all).unwrap_or_else(|| lit(true)))
    }

    /// Rewrites one of the conditions that are joined by `AND`.
    fn conjunct(&mut self, condition: Expr) -> Result<Expr> {
        match without_not(condition) {
            Expr::InSubquery(members)
                if members.negated
                    && (is_correlated(&members.subquery) || !self.is_joined(&members.expr)) =>
            {
                self.is_absent(members)
            }
            Expr::InSubquery(members) => Ok(Expr::InSubquery(members)),
            other => Ok(other.transform_down(|part| self.alternative(part))?.data),
        }
    }

    /// Whether the engine computes `NOT IN` of this value with nulls: its join needs a column of the value,
    /// and regards nulls only if a column has them.
    fn is_joined(&self, value: &Expr) -> bool {
        let columns = value.column_refs();
        let mut fields = columns.iter().map(|column| self.schema.field_from_column(column));
        let some_null = fields.any(|field| field.map_or(true, |field| field.is_nullable()));
        let is_null = || value.nullable(self.schema).unwrap_or(true);
        !columns.is_empty() && (some_null || !is_null())
    }

    /// Rewrites a part of a condition in which false and unknown have the same effect.
    fn alternative(&mut self, part: Expr) -> Result<Transformed<Expr>> {
        if let Expr::BinaryExpr(BinaryExpr { op: Operator::And | Operator::Or, .. }) = &part {
            return Ok(Transformed::no(part));
        }
        let changed = match without_not(part) {
            Expr::InSubquery(members) if members.negated => self.is_absent(members)?,
            Expr::InSubquery(members) => Expr::InSubquery(members),
            other => self.every_value(other)?,
        };
        Ok(Transformed::new(changed, true, TreeNodeRecursion::Jump))
    }

    /// Rewrites an expression in which true, false and unknown have different effects.
    fn every_value(&mut self, expr: Expr) -> Result<Expr> {
        let changed = expr.transform_up(|part| match part {
            Expr::InSubquery(members) => Ok(Transformed::yes(self.value(members)?)),
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
                let subquery = named(&subquery)?;
                let renamed = SetComparison { expr, subquery, op, quantifier };
                Ok(Transformed::yes(Expr::SetComparison(renamed)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(changed.data)
    }

    fn value(&mut self, members: InSubquery) -> Result<Expr> {
        let unknown = self.unknown(&members.expr, &members.subquery)?;
        let found = self.found(*members.expr, members.subquery)?;
        let null = Expr::Literal(ScalarValue::Boolean(None), None);
        let value = match unknown {
            Some(unknown) => found.or(unknown.and(null)),
            None => found,
        };
        Ok(if members.negated { not(value) } else { value })
    }

    /// Returns the condition that a value is known not to be among those of the inner query.
    fn is_absent(&mut self, members: InSubquery) -> Result<Expr> {
        let unknown = self.unknown(&members.expr, &members.subquery)?;
        let absent = not(self.found(*members.expr, members.subquery)?);
        Ok(match unknown {
            Some(unknown) => absent.and(not(unknown)),
            None => absent,
        })
    }

    fn found(&mut self, value: Expr, subquery: Subquery) -> Result<Expr> {
        let is_movable = self.is_filter && !refers_elsewhere(&value)?;
        if is_correlated(&subquery) && (!is_movable || depends_on_all_rows(&subquery)?) {
            return not_impl_err!(
                "IN (SELECT ...) at this place if its SELECT refers to the outer query: use EXISTS or NOT \
                 EXISTS in WHERE"
            );
        }
        // Elsewhere than in a filter, the engine may move the comparison into the inner query, where both
        // sides could have the same name.
        if !is_movable {
            return Ok(Expr::InSubquery(InSubquery::new(Box::new(value), subquery, false)));
        }
        self.count(&subquery)?;
        let value = self.outer(value)?;
        let members = LogicalPlanBuilder::from(named(&subquery)?.subquery.as_ref().clone());
        let equal = Expr::Column(Column::new_unqualified(MEMBER)).eq(value);
        let mut rows = members.filter(equal)?;
        // A value without columns: every row of the outer query is compared with every row of this one.
        if rows.plan().all_out_ref_exprs().is_empty() {
            rows = rows.limit(0, Some(1))?;
        }
        Ok(exists(rows.build()?, &subquery))
    }

    /// Returns the condition that null decides; `None` if there are no nulls.
    fn unknown(&mut self, value: &Expr, subquery: &Subquery) -> Result<Option<Expr>> {
        let of_value = if value.nullable(self.schema).unwrap_or(true) {
            Some(value.clone().is_null().and(self.any(subquery, None)?))
        } else {
            None
        };
        let of_members = if subquery.subquery.schema().field(0).is_nullable() {
            Some(self.any(subquery, Some(member(subquery).is_null()))?)
        } else {
            None
        };
        Ok(match (of_value, of_members) {
            (Some(one), Some(other)) => Some(one.or(other)),
            (one, other) => one.or(other),
        })
    }

    /// Returns the condition that the inner query has a row, which fulfills a condition.
    fn any(&mut self, subquery: &Subquery, condition: Option<Expr>) -> Result<Expr> {
        self.count(subquery)?;
        let mut rows = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone());
        if let Some(condition) = condition {
            rows = rows.filter(condition)?;
        }
        // Every row of the outer query is compared with every row of this one.
        if !is_correlated(subquery) {
            rows = rows.limit(0, Some(1))?;
        }
        Ok(exists(rows.build()?, subquery))
    }

    /// Makes the columns of a value those of the outer query.
    fn outer(&self, value: Expr) -> Result<Expr> {
        let changed = value.transform_up(|part| match part {
            Expr::Column(column) => {
                let field = Arc::clone(self.schema.field_from_column(&column)?);
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(changed.data)
    }

    fn count(&mut self, subquery: &Subquery) -> Result<()> {
        subquery.subquery.apply_with_subqueries(|_| {
            *self.repeated += 1;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if *self.repeated > MAX_REPEATED {
            return plan_err!(
                "too many or too large IN (SELECT ...): join the tables, or use EXISTS"
            );
        }
        Ok(())
    }
}

/// Returns `x NOT IN (...)` for `NOT x IN (...)`.
fn without_not(expr: Expr) -> Expr {
    match expr {
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(mut members) => {
                members.negated = !members.negated;
                Expr::InSubquery(members)
            }
            other => Expr::Not(Box::new(other)),
        },
        other => other,
    }
}

/// Whether an inner query refers to the outer one.
fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

/// Whether a value is not made of columns of its own query only.
fn refers_elsewhere(value: &Expr) -> Result<bool> {
    value.exists(|part| {
        Ok(matches!(
            part,
            Expr::OuterReferenceColumn(..)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
                | Expr::ScalarSubquery(_)
        ))
    })
}

/// Whether an inner query has other rows as a join: a limit would be one for all outer rows, and an aggregate
/// without groups would have no row where it has one with null.
fn depends_on_all_rows(subquery: &Subquery) -> Result<bool> {
    subquery.subquery.exists(|step| {
        Ok(match step {
            LogicalPlan::Limit(_) => true,
            LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
            _ => false,
        })
    })
}

/// Returns the only column of an inner query.
fn member(subquery: &Subquery) -> Expr {
    Expr::Column(Column::from(subquery.subquery.schema().qualified_field(0)))
}

/// Gives the only column of an inner query a name that no other column has.
fn named(subquery: &Subquery) -> Result<Subquery> {
    let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone());
    let plan = plan.project([member(subquery).alias(MEMBER)])?.build()?;
    Ok(subquery.with_plan(Arc::new(plan)))
}

fn exists(rows: LogicalPlan, of: &Subquery) -> Expr {
    let outer_ref_columns = rows.all_out_ref_exprs();
    let spans = of.spans.clone();
    let subquery = Subquery { subquery: Arc::new(rows), outer_ref_columns, spans };
    Expr::Exists(Exists::new(subquery, false))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::super::{Session, SessionSettings};

    fn context() -> SessionContext {
        Session::new(&SessionSettings::default(), Vec::new()).unwrap().sql("a", "b")
    }

    /// Three rows, one with a null, with the rows of three inner queries.
    const TABLES: &str = "WITH t AS (SELECT * FROM (VALUES ('a', 1), (NULL, 2), ('c', 3)) AS v (x, i)), \
         two AS (SELECT * FROM (VALUES ('b', 1), ('c', 1)) AS v (y, k)), \
         holes AS (SELECT * FROM (VALUES ('c', 1), (NULL, 2)) AS v (y, k)), \
         empty AS (SELECT y, k FROM two WHERE k > 5) ";

    async fn values(query: &str) -> Result<Vec<String>, String> {
        let frame = context().sql(&format!("{TABLES}{query}")).await;
        let batches = frame.map_err(|error| error.to_string())?.collect().await;
        let batches = batches.map_err(|error| error.to_string())?;
        let mut rows = Vec::new();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let value = arrow::util::display::array_value_to_string(batch.column(0), row);
                rows.push(value.unwrap());
            }
        }
        Ok(rows)
    }

    /// The numbers of the rows that a condition keeps.
    async fn kept(condition: &str) -> String {
        let query = format!("SELECT i FROM t WHERE {condition} ORDER BY i");
        values(&query).await.unwrap_or_else(|error| panic!("{condition}: {error}")).join(" ")
    }

    #[tokio::test]
    async fn null_is_neither_in_nor_out_of_a_query() {
        for (condition, expected) in [
            ("x NOT IN (SELECT y FROM two)", "1"),
            ("x NOT IN (SELECT y FROM two) OR x = 'z'", "1"),
            ("(x NOT IN (SELECT y FROM two) AND i < 9) OR x = 'z'", "1"),
            ("NOT (x IN (SELECT y FROM two) AND i < 9)", "1"),
            ("NOT (x IN (SELECT y FROM two) OR i = 9)", "1"),
            ("(x IN (SELECT y FROM two)) IS FALSE", "1"),
            ("(x IN (SELECT y FROM two)) IS TRUE", "3"),
            ("(x IN (SELECT y FROM two)) IS NULL", "2"),
            ("(x NOT IN (SELECT y FROM two)) IS NOT TRUE", "2 3"),
            ("CASE WHEN x NOT IN (SELECT y FROM two) THEN true ELSE false END", "1"),
            ("x IN (SELECT y FROM two) OR i = 1", "1 3"),
            ("x NOT IN (SELECT y FROM holes) OR x = 'z'", ""),
            ("(x NOT IN (SELECT y FROM holes)) IS NULL", "1 2"),
            ("(x IN (SELECT y FROM holes)) IS TRUE", "3"),
            ("x NOT IN (SELECT y FROM empty) OR x = 'z'", "1 2 3"),
            ("(x NOT IN (SELECT y FROM empty)) IS NULL", ""),
            ("i NOT IN (SELECT k FROM two) OR x = 'z'", "2 3"),
            ("'a' NOT IN (SELECT y FROM two)", "1 2 3"),
            ("'c' NOT IN (SELECT y FROM two)", ""),
            ("'a' NOT IN (SELECT y FROM holes)", ""),
            ("NOT 'a' IN (SELECT y FROM holes)", ""),
            ("nullif('a', 'a') NOT IN (SELECT y FROM two)", ""),
            ("nullif('a', 'a') NOT IN (SELECT y FROM empty)", "1 2 3"),
            ("NULL NOT IN (SELECT y FROM two)", ""),
            ("'a' NOT IN (SELECT y FROM two) OR x = 'z'", "1 2 3"),
        ] {
            assert_eq!(kept(condition).await, expected, "{condition}");
        }
    }

    #[tokio::test]
    async fn null_is_computed_from_columns_without_nulls() {
        let query = "SELECT n FROM (SELECT count(*) AS n FROM t) AS c \
             WHERE CASE WHEN n > 5 THEN n END NOT IN (SELECT count(*) FROM two)";
        assert_eq!(values(query).await, Ok(Vec::new()));
        let query = "SELECT n FROM (SELECT count(*) AS n FROM t) AS c \
             WHERE CASE WHEN n > 2 THEN n END NOT IN (SELECT count(*) FROM two)";
        assert_eq!(values(query).await, Ok(vec!["3".to_owned()]));
    }

    #[tokio::test]
    async fn inner_queries_may_refer_to_the_outer_one() {
        for (condition, expected) in [
            ("x NOT IN (SELECT y FROM holes WHERE k = i)", "1 3"),
            ("x NOT IN (SELECT y FROM holes WHERE k < i)", "1"),
            ("x NOT IN (SELECT y FROM holes WHERE k < i) OR i = 2", "1 2"),
            ("(x IN (SELECT y FROM two WHERE k = i)) IS NULL", ""),
            ("(x IN (SELECT y FROM holes WHERE k <= i)) IS NULL", "2"),
            ("x IN (SELECT y FROM holes WHERE k < i)", "3"),
        ] {
            assert_eq!(kept(condition).await, expected, "{condition}");
        }
        for condition in [
            "x NOT IN (SELECT max(y) FROM holes WHERE k = i)",
            "x NOT IN (SELECT y FROM holes WHERE k = i LIMIT 1)",
        ] {
            let error = values(&format!("SELECT i FROM t WHERE {condition}")).await.unwrap_err();
            assert!(error.contains("NOT EXISTS"), "{condition}: {error}");
        }
    }

    #[tokio::test]
    async fn both_sides_may_be_the_same_column_of_the_same_table() {
        for (condition, expected) in [
            ("t.x NOT IN (SELECT t.x FROM t WHERE t.i = 3) OR t.x = 'z'", "1"),
            ("(t.x IN (SELECT t.x FROM t WHERE t.i = 3)) IS TRUE", "3"),
            ("t.x = ANY (SELECT t.x FROM t WHERE t.i = 3)", "3"),
            ("t.x <> ALL (SELECT t.x FROM t WHERE t.i = 3)", "1"),
        ] {
            assert_eq!(kept(condition).await, expected, "{condition}");
        }
    }

    #[tokio::test]
    async fn groups_are_told_apart_as_rows_are() {
        let query =
            "SELECT x FROM t GROUP BY x HAVING x NOT IN (SELECT y FROM two) OR count(*) > 9";
        assert_eq!(values(query).await, Ok(vec!["a".to_owned()]));
    }

    /// The engine moves some of these conditions into a filter and refuses the others.
    #[tokio::test]
    async fn conditions_that_move_keep_their_meaning() {
        for (query, expected) in [
            (
                "SELECT count(*) FROM t JOIN t AS u ON t.i = u.i \
                 AND (t.x NOT IN (SELECT y FROM two) OR t.x = 'z')",
                "1",
            ),
            (
                "SELECT count(*) FROM \
                 (SELECT x NOT IN (SELECT y FROM two) OR x = 'z' AS e FROM t) AS s WHERE e",
                "1",
            ),
            (
                "SELECT count(*) FROM t \
                 WHERE (SELECT min(y) FROM two) NOT IN (SELECT y FROM holes)",
                "0",
            ),
        ] {
            if let Ok(rows) = values(query).await {
                assert_eq!(rows, [expected], "{query}");
            }
        }
    }

    #[tokio::test]
    async fn queries_that_multiply_are_refused() {
        let mut inner = "SELECT y FROM two".to_owned();
        for level in 0..12 {
            inner = format!("SELECT y FROM holes WHERE y NOT IN ({inner}) OR k = {level}");
        }
        let error = values(&inner).await.unwrap_err();
        assert!(error.contains("too many or too large IN (SELECT ...)"), "{error}");
    }

    #[tokio::test]
    async fn queries_next_to_each_other_are_counted_together() {
        let one = "x NOT IN (SELECT y FROM holes WHERE k < i)";
        let some = format!("({})", [one; 40].join(" AND "));
        let all = [some.as_str(); 20].join(" AND ");
        let error = values(&format!("SELECT i FROM t WHERE {all}")).await.unwrap_err();
        assert!(error.contains("too many or too large IN (SELECT ...)"), "{error}");
    }
}
