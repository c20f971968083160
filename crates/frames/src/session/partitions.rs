//! SQL's window functions in inner queries that refer to the outer one.
//!
//! The engine makes a join of such a query, whose conditions about the outer query are evaluated after the
//! window functions. A window function then has the rows of all outer rows, and `row_number()` numbers them
//! together. This makes no difference only if each of these conditions selects or leaves out whole
//! partitions. All other window functions are refused here, also those that count the rows of `EXCEPT ALL`.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, not_impl_err};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Window};
use datafusion::optimizer::analyzer::AnalyzerRule;

/// A rule that refuses these window functions. Runs after the rules that add window functions.
#[derive(Debug)]
pub(super) struct Partitions;

impl AnalyzerRule for Partitions {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|step| {
            let LogicalPlan::Window(window) = step else { return Ok(TreeNodeRecursion::Continue) };
            if is_apart(window)? {
                return Ok(TreeNodeRecursion::Continue);
            }
            not_impl_err!(
                "window functions, EXCEPT ALL and INTERSECT ALL over rows that an inner query selects by \
                 the outer one: compute them with PARTITION BY in a query in FROM that does not refer to \
                 the outer one, and join"
            )
        })?;
        Ok(plan)
    }

    fn name(&self) -> &'static str {
        "partitions"
    }
}

/// Whether all conditions about the outer query select or leave out whole partitions.
fn is_apart(window: &Window) -> Result<bool> {
    let mut apart = true;
    window.input.apply(|step| {
        // The outer query of LATERAL is within the input.
        if matches!(step, LogicalPlan::Subquery(_)) {
            return Ok(TreeNodeRecursion::Jump);
        }
        if !step.contains_outer_reference() {
            return Ok(TreeNodeRecursion::Continue);
        }
        let LogicalPlan::Filter(filter) = step else {
            apart = false;
            return Ok(TreeNodeRecursion::Stop);
        };
        let conditions = split_conjunction(&filter.predicate);
        let mut of_outer = conditions.into_iter().filter(|condition| condition.contains_outer());
        apart = of_outer.all(|condition| divides(condition, window));
        Ok(if apart { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(apart)
}

/// Whether a condition selects or leaves out whole partitions of all functions: it reads only partition
/// columns and values of the outer query, or compares an expression of `PARTITION BY` with such a value.
fn divides(condition: &Expr, window: &Window) -> bool {
    let divides_all = |is_apart: &dyn Fn(&[Expr]) -> bool| {
        window.window_expr.iter().all(|function| is_apart(partition(function)))
    };
    let columns = condition.column_refs();
    let reads_partitions = |partition: &[Expr]| {
        columns.iter().all(|&column| partition.contains(&Expr::Column(column.clone())))
    };
    if !has_query(condition) && !condition.is_volatile() && divides_all(&reads_partitions) {
        return true;
    }
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else {
        return false;
    };
    let side = match (left.any_column_refs(), right.any_column_refs()) {
        (true, false) => left.as_ref(),
        (false, true) => right.as_ref(),
        _ => return false,
    };
    divides_all(&|partition| partition.contains(side))
}

fn has_query(condition: &Expr) -> bool {
    let is_query = |part: &Expr| {
        matches!(
            part,
            Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::ScalarSubquery(_)
                | Expr::SetComparison(_)
        )
    };
    // Only a closure that fails makes this an error.
    condition.exists(|part| Ok(is_query(part))).unwrap_or(true)
}

/// Returns the expressions of `PARTITION BY`.
fn partition(function: &Expr) -> &[Expr] {
    match function {
        Expr::Alias(alias) => partition(&alias.expr),
        Expr::WindowFunction(function) => &function.params.partition_by,
        _ => &[],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Session, SessionSettings};

    const TABLES: &str = "WITH t AS (SELECT * FROM (VALUES ('a', 1), ('b', 2)) AS v (x, i)), \
         u AS (SELECT * FROM (VALUES ('a', 1, 5), ('c', 1, 6), ('b', 2, 3)) AS v (y, k, z)) ";

    /// The numbers of the rows of `t` in a query that returns them as its first column.
    async fn rows(query: &str) -> Result<String, String> {
        let context = Session::new(&SessionSettings::default(), Vec::new()).unwrap().sql("a", "b");
        let frame = context.sql(&format!("{TABLES}{query}")).await;
        let batches = frame.map_err(|error| error.to_string())?.collect().await;
        let mut rows = Vec::new();
        for batch in &batches.map_err(|error| error.to_string())? {
            for row in 0..batch.num_rows() {
                let value = arrow::util::display::array_value_to_string(batch.column(0), row);
                rows.push(value.unwrap());
            }
        }
        Ok(rows.join(" "))
    }

    #[tokio::test]
    async fn functions_over_the_rows_of_all_outer_rows_are_refused() {
        for query in [
            "SELECT i FROM t WHERE x IN (SELECT max(y) OVER () FROM u WHERE u.k = t.i)",
            "SELECT i FROM t WHERE x NOT IN (SELECT max(y) OVER () FROM u WHERE u.k = t.i)",
            "SELECT i FROM t WHERE x IN (SELECT y FROM \
             (SELECT y, row_number() OVER (ORDER BY z) AS n FROM u WHERE u.k = t.i) AS s WHERE n = 1)",
            "SELECT i FROM t WHERE x IN (SELECT y FROM (SELECT y, row_number() \
             OVER (PARTITION BY k ORDER BY z) AS n FROM u WHERE u.z = t.i) AS s WHERE n = 1)",
            "SELECT i FROM t WHERE x IN (SELECT y FROM u WHERE u.k = t.i EXCEPT ALL SELECT 'q')",
        ] {
            let error = rows(query).await.unwrap_err();
            assert!(error.contains("with PARTITION BY in a query in FROM"), "{query}: {error}");
        }
    }

    #[tokio::test]
    async fn functions_over_other_rows_are_not() {
        for (query, expected) in [
            (
                "SELECT i FROM (SELECT i, row_number() OVER (ORDER BY i) AS n FROM t \
                 WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.i)) AS s WHERE n = 2",
                "2",
            ),
            (
                "SELECT i FROM t WHERE x IN (SELECT y FROM \
                 (SELECT y, row_number() OVER (ORDER BY z) AS n FROM u) AS s WHERE n = 1)",
                "2",
            ),
            (
                "SELECT i FROM t JOIN (SELECT y, k, row_number() OVER (PARTITION BY k ORDER BY z) \
                 AS n FROM u) AS s ON s.k = t.i AND s.y = t.x WHERE n = 1 ORDER BY i",
                "1 2",
            ),
        ] {
            assert_eq!(rows(query).await, Ok(expected.to_owned()), "{query}");
        }
    }

    /// The engine may refuse some of these queries.
    #[tokio::test]
    async fn partitions_keep_the_rows_of_outer_rows_apart() {
        for (query, expected) in [
            (
                "SELECT i FROM t WHERE x IN (SELECT y FROM (SELECT y, row_number() \
                 OVER (PARTITION BY k ORDER BY z) AS n FROM u WHERE u.k = t.i) AS s WHERE n = 1) \
                 ORDER BY i",
                "1 2",
            ),
            (
                "SELECT i FROM t WHERE x IN (SELECT y FROM (SELECT y, row_number() \
                 OVER (PARTITION BY k ORDER BY z) AS n FROM u WHERE u.k <= t.i) AS s WHERE n = 1) \
                 ORDER BY i",
                "1 2",
            ),
            (
                "SELECT i FROM t WHERE x IN (SELECT y FROM (SELECT y, row_number() OVER \
                 (PARTITION BY k ORDER BY z) AS n FROM u WHERE CAST(u.k AS bigint) = t.i AND t.i > 0) \
                 AS s WHERE n = 1) ORDER BY i",
                "1 2",
            ),
            (
                "SELECT i FROM (SELECT i, row_number() OVER (ORDER BY i, y) AS n FROM t, \
                 LATERAL (SELECT y FROM u WHERE u.k = t.i) AS l) AS s WHERE n = 3",
                "2",
            ),
        ] {
            match rows(query).await {
                Ok(rows) => assert_eq!(rows, expected, "{query}"),
                Err(error) => assert!(!error.contains("PARTITION BY in"), "{query}: {error}"),
            }
        }
    }
}
