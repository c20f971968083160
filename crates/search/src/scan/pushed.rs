//! Moves filters over computed values from the plan into the scan below them, which remembers the rows that
//! pass for later searches (`passed`).
//!
//! A filter on a field that the configuration sets is above the projections that compute the field, as the
//! scan would compute it again. Here, the scan computes what the filter reads, and the plan computes the
//! other values for the rows that pass.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use exprs::identity::Identity;
use plan::over_parts;

use super::computed::{ComputedFilter, Stage};
use super::exec::BucketScanExec;
use super::typed::{Wants, passes, supplied};
use super::work::{View, Work};

/// The optimizer rule; see the module documentation. It precedes the rule that asks scans for parts of
/// columns and keys.
#[derive(Debug)]
pub(crate) struct FiltersInScans;

impl PhysicalOptimizerRule for FiltersInScans {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            let moved = match node.downcast_ref::<FilterExec>() {
                Some(filter) => moved(filter)?,
                None => None,
            };
            Ok(moved.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "filters_in_scans"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the plan without a filter, whose scan applies it; `None` if the filter is not over computed values
/// of a scan that it recognizes in later searches.
fn moved(filter: &FilterExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if filter.fetch().is_some() {
        return Ok(None);
    }
    let Some((projections, scan)) = below(filter.input()) else { return Ok(None) };
    if !scan.takes_filter() {
        return Ok(None);
    }
    let Some(computed) = computed(filter, &projections, &scan.scan().work)? else {
        return Ok(None);
    };
    let columns: Vec<usize> = match filter.projection() {
        Some(columns) => columns.to_vec(),
        None => (0..filter.input().schema().fields().len()).collect(),
    };
    let mut wants = Wants::default();
    let places: Vec<usize> = columns.iter().map(|at| wants.place(*at, View::Itself)).collect();
    if places.iter().enumerate().any(|(at, place)| at != *place) {
        return Ok(None);
    }
    let Some(input) = supplied(filter.input(), &wants)? else { return Ok(None) };
    let computed = Arc::new(computed);
    let made = input.transform_down(|node| {
        let Some(scan) = node.downcast_ref::<BucketScanExec>() else {
            return Ok(Transformed::no(node));
        };
        let scan: Arc<dyn ExecutionPlan> = Arc::new(scan.with_filter(Arc::clone(&computed)));
        Ok(Transformed::new(scan, true, TreeNodeRecursion::Jump))
    });
    made.data().map(Some)
}

/// Returns the projections of a plan, highest first, and the scan below them; `None` if there are other
/// operators.
fn below(plan: &Arc<dyn ExecutionPlan>) -> Option<(Vec<&ProjectionExec>, &BucketScanExec)> {
    let mut projections = Vec::new();
    let mut node = plan;
    loop {
        if let Some(scan) = node.downcast_ref::<BucketScanExec>() {
            return Some((projections, scan));
        }
        node = match node.downcast_ref::<ProjectionExec>() {
            Some(projection) => {
                projections.push(projection);
                projection.input()
            }
            None => passes(node)?,
        };
    }
}

/// Returns the filter with what it reads of the projections; `None` if it has no identity, or reads no marked
/// value.
fn computed(
    filter: &FilterExec,
    projections: &[&ProjectionExec],
    work: &Work,
) -> Result<Option<ComputedFilter>> {
    let identity = Identity::of(filter.predicate(), &|column: &Column| {
        identity_of(column.index(), projections, work)
    });
    let Some(identity) = identity.filter(Identity::has_marked) else { return Ok(None) };
    let mut columns = columns_of([filter.predicate()])?;
    let condition = renumbered(filter.predicate(), &columns)?;
    let mut stages = Vec::new();
    for projection in projections {
        let exprs: Vec<_> = columns.iter().map(|at| &projection.expr()[*at].expr).collect();
        let schema = projection.schema();
        let field = |at: &usize| schema.field(*at).clone().with_nullable(true);
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let read = columns_of(exprs.iter().copied())?;
        let renumber = |expr| renumbered(expr, &read);
        let exprs = exprs.into_iter().map(renumber).collect::<Result<_>>()?;
        stages.push(Stage { exprs, schema: Arc::new(Schema::new(fields)) });
        columns = read;
    }
    stages.reverse();
    let stored = |at: &usize| {
        let output = work.outputs().get(*at)?;
        matches!(output.view, View::Itself).then_some(output.column)
    };
    let Some(reads) = columns.iter().map(stored).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let schema = Arc::new(work.table().project(&reads)?);
    Ok(Some(ComputedFilter { reads, schema, stages, condition, identity }))
}

/// Returns the identity of a column above projections over a scan.
fn identity_of(column: usize, projections: &[&ProjectionExec], work: &Work) -> Option<Identity> {
    let Some((projection, others)) = projections.split_first() else {
        let output = work.outputs().get(column)?;
        let field = work.table().field(output.column);
        let is_itself = matches!(output.view, View::Itself);
        return is_itself.then(|| Identity::stored(field.name(), field.data_type()));
    };
    let expr = &projection.expr().get(column)?.expr;
    Identity::of(expr, &|column: &Column| identity_of(column.index(), others, work))
}

/// Returns the columns that expressions read, in ascending order.
fn columns_of<'e>(
    exprs: impl IntoIterator<Item = &'e Arc<dyn PhysicalExpr>>,
) -> Result<Vec<usize>> {
    let mut columns = Vec::new();
    for expr in exprs {
        expr.apply(|node| {
            columns.extend(node.downcast_ref::<Column>().map(Column::index));
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}

/// Returns an expression for a batch of only these columns.
fn renumbered(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    let renumbered = Arc::clone(expr).transform_up(|node| {
        let column = node.downcast_ref::<Column>().map(|column| {
            let place = columns.binary_search(&column.index()).unwrap_or(column.index());
            Column::new(column.name(), place)
        });
        Ok(match column {
            Some(column) => Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>),
            None => Transformed::no(node),
        })
    });
    over_parts(&renumbered.data()?, columns.len())
}
