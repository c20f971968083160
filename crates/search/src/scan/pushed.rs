//! Moves filters over computed values, and the values, from the plan into the scan below them, which
//! remembers both for later searches (`passed`).
//!
//! A filter on a field that the configuration sets is above the projections that compute the field, as the
//! scan would compute it again. Here, the scan computes what the filter reads, and the plan computes the
//! other values for the rows that pass. Conditions that later searches do not recognize, and tests of group
//! keys, stay in the plan.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, conjunction, conjunction_opt, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use exprs::identity::{Identity, marked_value};
use plan::over_parts;

use super::computed::{COMPUTED, ComputedColumn, ComputedFilter, Stage, Stages};
use super::exec::BucketScanExec;
use super::typed::{Wants, passes, supplied};
use super::work::{View, Work};

/// The optimizer rule; see the module documentation. It precedes the rule that asks scans for parts of
/// columns and keys.
#[derive(Debug)]
pub(crate) struct ComputedInScans;

impl PhysicalOptimizerRule for ComputedInScans {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // All filters first: a projection above a filter has columns of the scan only once the filter has
        // moved, and a filter over such columns does not move any more.
        let moved = plan.transform_down(|node| {
            let instead = match node.downcast_ref::<FilterExec>() {
                Some(filter) => moved(filter)?,
                None => None,
            };
            Ok(instead.map_or_else(|| Transformed::no(node), Transformed::yes))
        });
        moved
            .data()?
            .transform_down(|node| {
                let instead = match node.downcast_ref::<ProjectionExec>() {
                    Some(projection) => with_columns(projection)?,
                    None => None,
                };
                Ok(instead.map_or_else(|| Transformed::no(node), Transformed::yes))
            })
            .data()
    }

    fn name(&self) -> &'static str {
        "computed_in_scans"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the plan without a filter, or without a part of it, that its scan applies; `None` if no part is
/// over computed values of a scan that it recognizes in later searches.
fn moved(filter: &FilterExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if filter.fetch().is_some() {
        return Ok(None);
    }
    let Some((projections, scan)) = below(filter.input()) else { return Ok(None) };
    if !scan.takes_filter() {
        return Ok(None);
    }
    let work = &scan.scan().work;
    let (own, left) = divided(filter, &projections, work);
    let Some(computed) = computed(&own, &projections, work)? else { return Ok(None) };
    let columns: Vec<usize> = match filter.projection() {
        Some(columns) => columns.to_vec(),
        None => (0..filter.input().schema().fields().len()).collect(),
    };
    let mut wants = Wants::default();
    let places: Vec<usize> = columns.iter().map(|at| wants.place(*at, View::Itself)).collect();
    let left = left.map(|left| wants.rewrite(&left)).transpose()?;
    if left.is_none() && places.iter().enumerate().any(|(at, place)| at != *place) {
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
    let input = made.data()?;
    let Some(left) = left else { return Ok(Some(input)) };
    let filter = FilterExecBuilder::new(left, input)
        .apply_projection(Some(places))?
        .with_default_selectivity(filter.default_selectivity())
        .with_batch_size(filter.batch_size())
        .build()?;
    Ok(Some(Arc::new(filter)))
}

/// Divides the condition of a filter into the part that later searches recognize, for all rows, and the rest,
/// if there is one.
fn divided(
    filter: &FilterExec,
    projections: &[&ProjectionExec],
    work: &Work,
) -> (Arc<dyn PhysicalExpr>, Option<Arc<dyn PhysicalExpr>>) {
    let is_known = |part: &Arc<dyn PhysicalExpr>| identity_above(part, projections, work).is_some();
    let parts = split_conjunction(filter.predicate()).into_iter().cloned();
    let (own, left): (Vec<_>, Vec<_>) = parts.partition(is_known);
    match conjunction_opt(left) {
        Some(left) => (conjunction(own), Some(left)),
        None => (Arc::clone(filter.predicate()), None),
    }
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

/// Returns a projection whose marked values are columns of the scan; `None` if it has none, or there are
/// other operators.
fn with_columns(projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let is_marked = |one: &ProjectionExpr| {
        one.expr.exists(|node| Ok(marked_value(node).is_some())).unwrap_or(false)
    };
    if !projection.expr().iter().any(is_marked) {
        return Ok(None);
    }
    let Some((projections, scan)) = below(projection.input()) else { return Ok(None) };
    let mut marked: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
    for one in projection.expr() {
        one.expr.apply(|node| {
            let is_marked = marked_value(node).is_some();
            marked.extend(is_marked.then(|| Arc::clone(node)));
            Ok(if is_marked { TreeNodeRecursion::Jump } else { TreeNodeRecursion::Continue })
        })?;
    }
    let values: Vec<_> = marked.iter().filter_map(marked_value).map(|(_, value)| value).collect();
    let Some((stages, values)) = computation(&values, &projections, &scan.scan().work)? else {
        return Ok(None);
    };
    let schema = projection.input().schema();
    let mut columns = Vec::with_capacity(marked.len());
    for (node, value) in marked.iter().zip(values) {
        let Some((description, _)) = marked_value(node) else { continue };
        let description = Arc::clone(description);
        let field = node.return_field(&schema)?.as_ref().clone().with_name(COMPUTED);
        let stages = Arc::clone(&stages);
        columns.push(Arc::new(ComputedColumn { stages, value, description, field }));
    }
    let column = |node: &Arc<dyn PhysicalExpr>| -> Option<View> {
        let (description, _) = marked_value(node)?;
        let found = columns.iter().find(|column| column.description == *description)?;
        Some(View::Computed(Arc::clone(found)))
    };
    let mut wants = Wants::default();
    let mut exprs = Vec::with_capacity(projection.expr().len());
    for one in projection.expr() {
        let expr = wants.rewrite_with(&one.expr, &column)?;
        exprs.push(ProjectionExpr { expr, alias: one.alias.clone() });
    }
    let Some(input) = supplied(projection.input(), &wants)? else { return Ok(None) };
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, input)?)))
}

/// Returns a condition with what it reads of the projections; `None` if it has no identity, or reads no
/// marked value.
fn computed(
    condition: &Arc<dyn PhysicalExpr>,
    projections: &[&ProjectionExec],
    work: &Work,
) -> Result<Option<ComputedFilter>> {
    let identity = identity_above(condition, projections, work);
    let Some(identity) = identity.filter(Identity::has_marked) else { return Ok(None) };
    let Some((stages, conditions)) = computation(&[condition], projections, work)? else {
        return Ok(None);
    };
    let condition = conditions.into_iter().next();
    let identity = Arc::new(identity);
    Ok(condition.map(|condition| ComputedFilter { stages, condition, identity }))
}

/// The computations below expressions, and the expressions over the last one.
type Computation = (Arc<Stages>, Vec<Arc<dyn PhysicalExpr>>);

/// Returns expressions with what they read of the projections below them, highest first; `None` if the scan
/// does not have the columns.
fn computation(
    exprs: &[&Arc<dyn PhysicalExpr>],
    projections: &[&ProjectionExec],
    work: &Work,
) -> Result<Option<Computation>> {
    let mut columns = columns_of(exprs.iter().copied())?;
    let values = exprs.iter().map(|expr| renumbered(expr, &columns)).collect::<Result<_>>()?;
    let mut all = Vec::new();
    for projection in projections {
        let exprs: Vec<_> = columns.iter().map(|at| &projection.expr()[*at].expr).collect();
        let schema = projection.schema();
        let field = |at: &usize| schema.field(*at).clone().with_nullable(true);
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let read = columns_of(exprs.iter().copied())?;
        let exprs = exprs.iter().map(|expr| renumbered(expr, &read)).collect::<Result<_>>()?;
        all.push(Stage { exprs, schema: Arc::new(Schema::new(fields)) });
        columns = read;
    }
    all.reverse();
    let stored = |at: &usize| {
        let output = work.outputs().get(*at)?;
        matches!(output.view, View::Itself).then_some(output.column)
    };
    let Some(reads) = columns.iter().map(stored).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let schema = Arc::new(work.table().project(&reads)?);
    Ok(Some((Arc::new(Stages { reads, schema, all }), values)))
}

/// Returns the identity of an expression above projections over a scan.
fn identity_above(
    expr: &Arc<dyn PhysicalExpr>,
    projections: &[&ProjectionExec],
    work: &Work,
) -> Option<Identity> {
    Identity::of(expr, &|column: &Column| identity_of(column.index(), projections, work))
}

/// Returns the identity of a column above projections over a scan.
fn identity_of(column: usize, projections: &[&ProjectionExec], work: &Work) -> Option<Identity> {
    let Some((projection, others)) = projections.split_first() else {
        let output = work.outputs().get(column)?;
        let field = work.table().field(output.column);
        let is_itself = matches!(output.view, View::Itself);
        return is_itself.then(|| Identity::stored(field.name(), field.data_type()));
    };
    identity_above(&projection.expr().get(column)?.expr, others, work)
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
