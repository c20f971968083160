//! The columns whose values a plan computes, as opposed to those that it passes on from a table.
//!
//! A condition that is pushed down below a projection is evaluated over the expressions of the projection.
//! This is free for a column of a table, and may exclude buckets. The value of a function would be computed
//! twice: for the condition, and again for each row that passes. Which conditions stay above a projection is
//! left to the optimizer rule `PushFilters`.

use std::collections::{HashMap, HashSet};

use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

/// Whether it costs almost nothing to evaluate an expression again: a column, a constant, a cast, the first
/// of several columns, or a comparison with a constant.
pub(crate) fn is_cheap(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            is_comparison(*op) && is_plain(left) && is_plain(right)
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            func.name() == "coalesce" && args.iter().all(is_plain)
        }
        Expr::Alias(alias) => is_cheap(&alias.expr),
        Expr::Cast(cast) => is_cheap(&cast.expr),
        Expr::TryCast(cast) => is_cheap(&cast.expr),
        other => is_plain(other),
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// Whether an expression is a column or a constant, perhaps of another type.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Alias(alias) => is_plain(&alias.expr),
        Expr::Cast(cast) => is_plain(&cast.expr),
        Expr::TryCast(cast) => is_plain(&cast.expr),
        _ => false,
    }
}

/// Returns those of the columns of a plan whose values are computed by expressions that are not cheap, in a
/// projection below which a condition on them could be pushed.
pub(super) fn computed<'n>(plan: &LogicalPlan, names: &[&'n str]) -> HashSet<&'n str> {
    let mut found = HashSet::new();
    // Columns of a plan, each with the wanted columns that depend on it.
    let wanted: HashMap<String, Vec<&'n str>> =
        names.iter().map(|name| ((*name).to_owned(), vec![*name])).collect();
    let mut left = vec![(plan, wanted)];
    while let Some((plan, wanted)) = left.pop() {
        if wanted.is_empty() {
            continue;
        }
        match plan {
            LogicalPlan::Projection(projection) => {
                let mut below: HashMap<String, Vec<&'n str>> = HashMap::new();
                for (field, expr) in projection.schema.fields().iter().zip(&projection.expr) {
                    let Some(of) = wanted.get(field.name()) else { continue };
                    if !is_cheap(expr) {
                        found.extend(of.iter().copied());
                        continue;
                    }
                    for column in expr.column_refs() {
                        below.entry(column.name.clone()).or_default().extend(of.iter().copied());
                    }
                }
                left.push((projection.input.as_ref(), below));
            }
            LogicalPlan::Filter(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::Unnest(_) => {
                left.extend(plan.inputs().into_iter().map(|input| (input, wanted.clone())));
            }
            _ => {}
        }
    }
    found
}
