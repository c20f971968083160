//! The scan of events in a plan, with filters next to it.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, TableReference};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};
use spl::ast::SearchExpr;

use crate::Error;

/// The table name of events.
pub const TABLE: &str = "events";

/// Splits a filter into its conjuncts.
pub fn conjuncts(expr: Option<&SearchExpr>) -> Vec<&SearchExpr> {
    match expr {
        None => Vec::new(),
        Some(SearchExpr::And(members)) => members.iter().collect(),
        Some(other) => vec![other],
    }
}

/// Adds a filter directly above the scan.
pub fn filter_scan(plan: LogicalPlan, condition: Expr) -> Result<LogicalPlan, Error> {
    let table = TableReference::bare(TABLE);
    let qualified = condition.transform_up(|expr| match expr {
        Expr::Column(found) if found.relation.is_none() => {
            let column = Column::new(Some(table.clone()), found.name);
            Ok(Transformed::yes(Expr::Column(column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(LogicalPlan::Filter(Filter::try_new(qualified.data, Arc::new(plan))?))
}
