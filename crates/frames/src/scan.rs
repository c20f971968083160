//! The scan of events as a plan, and filters that stay beside it.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, TableReference};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};
use spl::ast::SearchExpr;

use crate::Error;

/// The name events are scanned under.
pub const TABLE: &str = "events";

/// What must all hold.
pub fn conjuncts(expr: Option<&SearchExpr>) -> Vec<&SearchExpr> {
    match expr {
        None => Vec::new(),
        Some(SearchExpr::And(members)) => members.iter().collect(),
        Some(other) => vec![other],
    }
}

/// A filter of rows as they are scanned.
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
