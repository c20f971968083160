//! SQL's `EXCEPT ALL` and `INTERSECT ALL`, which count equal rows.
//!
//! `EXCEPT ALL` leaves out one row for each equal row of the other query, and `INTERSECT ALL` keeps one. The
//! engine leaves out, or keeps, all rows that have an equal one. Here, equal rows of each query are numbered,
//! and a row has an equal one only if the other query has as many.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, NullEquality, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, Join, JoinType, LogicalPlan, LogicalPlanBuilder,
};
use datafusion::optimizer::analyzer::AnalyzerRule;

const LEFT: &str = "__left_copy";
const RIGHT: &str = "__right_copy";

/// A rule that numbers equal rows of both queries. Runs after type coercion, when the columns of both have
/// the same types.
#[derive(Debug)]
pub(super) struct Copies;

impl AnalyzerRule for Copies {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(of_plan)?.data)
    }

    fn name(&self) -> &'static str {
        "copies"
    }
}

fn of_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = plan else { return Ok(Transformed::no(plan)) };
    if !counts_copies(&join) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let columns: Vec<Expr> = join.left.schema().columns().into_iter().map(Expr::Column).collect();
    let (left_keys, right_keys) = join.on.iter().cloned().unzip();
    let left = numbered(join.left, left_keys, LEFT)?;
    let right = numbered(join.right, right_keys, RIGHT)?;
    let column = |name: &str| Expr::Column(Column::new_unqualified(name));
    let mut on = join.on;
    on.push((column(LEFT), column(RIGHT)));
    let joined = Join::try_new(
        left,
        right,
        on,
        join.filter,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    let rows = LogicalPlanBuilder::from(LogicalPlan::Join(joined)).project(columns)?;
    Ok(Transformed::yes(rows.build()?))
}

/// Whether a join is one of these operators: in no other join of SQL, null equals null. Without `ALL`, the
/// left query has distinct rows.
fn counts_copies(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftAnti | JoinType::LeftSemi)
        && join.null_equality == NullEquality::NullEqualsNull
        && !matches!(join.left.as_ref(), LogicalPlan::Distinct(_))
}

/// Adds a column with the number of each row among its equals.
fn numbered(rows: Arc<LogicalPlan>, keys: Vec<Expr>, name: &str) -> Result<Arc<LogicalPlan>> {
    let number = row_number().partition_by(keys).build()?.alias(name);
    LogicalPlanBuilder::from(rows).window([number])?.build().map(Arc::new)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Session, SessionSettings};

    async fn rows(query: &str) -> Vec<String> {
        let context = Session::new(&SessionSettings::default(), Vec::new()).unwrap().sql("a", "b");
        let batches = context.sql(query).await.unwrap().collect().await.unwrap();
        let mut rows = Vec::new();
        for batch in &batches {
            assert_eq!(batch.num_columns(), 1, "{query}");
            for row in 0..batch.num_rows() {
                let value = arrow::util::display::array_value_to_string(batch.column(0), row);
                rows.push(value.unwrap());
            }
        }
        rows.sort_unstable();
        rows
    }

    const LEFT: &str = "SELECT * FROM (VALUES ('a'), ('a'), (NULL), ('b'), (NULL)) AS t (x)";
    const RIGHT: &str = "SELECT * FROM (VALUES ('a'), (NULL), ('c'), ('c')) AS u (y)";

    #[tokio::test]
    async fn equal_rows_are_counted() {
        for (operator, expected) in [
            ("EXCEPT ALL", &["", "a", "b"][..]),
            ("INTERSECT ALL", &["", "a"][..]),
            ("EXCEPT", &["b"][..]),
            ("INTERSECT", &["", "a"][..]),
        ] {
            let query = format!("{LEFT} {operator} {RIGHT}");
            assert_eq!(rows(&query).await, expected, "{operator}");
            let within = format!("SELECT * FROM ({query}) AS s");
            assert_eq!(rows(&within).await, expected, "{operator} in FROM");
        }
        let twice = format!("{LEFT} EXCEPT ALL {RIGHT} EXCEPT ALL SELECT 'a'");
        assert_eq!(rows(&twice).await, ["", "b"]);
    }

    #[tokio::test]
    async fn rows_of_one_table_and_of_different_types_are_compared() {
        let same = "WITH t AS (SELECT * FROM (VALUES (1), (1), (2)) AS v (x)) \
                    SELECT x FROM t EXCEPT ALL SELECT x FROM t WHERE x = 1 LIMIT 9";
        assert_eq!(rows(same).await, ["2"]);
        let types = "SELECT * FROM (VALUES (1), (1)) AS t (x) EXCEPT ALL SELECT 1.0";
        assert_eq!(rows(types).await.len(), 1);
    }
}
