//! Supplies typed forms of fields to a plan: numbers for arithmetic, and integer keys for grouping, instead
//! of texts.
//!
//! Fields are text in a plan, but buckets store integers as integers and repeated texts as dictionaries.
//! Where an aggregation (or a projection) above a scan asks for parts of columns, the scan makes the
//! parts from what is stored; where it groups by texts, the groups get their texts after it.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, PhysicalGroupBy};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::repartition::RepartitionExec;
use exprs::part_of;
use model::{ColumnKind, columns};

use super::computed::COMPUTED;
use super::exec::BucketScanExec;
use super::keys::{Keys, TextsOfKeys};
use super::stale::Stale;
use super::unit::{FieldPlace, Unit};
use super::work::{Output, View};

/// Maximum number of distinct texts of a column in one bucket for grouping by keys.
const MOST_KEYED_TEXTS: u64 = 20_000;

/// The optimizer rule; see the module documentation.
#[derive(Debug)]
pub(crate) struct TypedColumns;

impl PhysicalOptimizerRule for TypedColumns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            let typed = if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
                typed_aggregate(aggregate)?
            } else if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
                typed_projection(projection)?
            } else {
                None
            };
            Ok(typed.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "typed_columns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The required views of the columns of an input, in order.
#[derive(Debug, Default)]
pub(super) struct Wants(Vec<(usize, View)>);

impl Wants {
    /// Returns the index of a view in the new input.
    pub(super) fn place(&mut self, column: usize, view: View) -> usize {
        let same = |known: &(usize, View)| {
            known.0 == column
                && match (&known.1, &view) {
                    (View::Itself, View::Itself) => true,
                    (View::Part(one), View::Part(two)) => one == two,
                    (View::Key(one), View::Key(two)) => Arc::ptr_eq(one, two),
                    (View::Computed(one), View::Computed(two)) => {
                        one.description == two.description
                    }
                    _ => false,
                }
        };
        self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push((column, view));
            self.0.len() - 1
        })
    }

    /// Rewrites an expression for the new input.
    pub(super) fn rewrite(
        &mut self,
        expr: &Arc<dyn PhysicalExpr>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        self.rewrite_with(expr, &|_: &Arc<dyn PhysicalExpr>| None)
    }

    /// Rewrites an expression for the new input, where some expressions are columns of the scan.
    pub(super) fn rewrite_with(
        &mut self,
        expr: &Arc<dyn PhysicalExpr>,
        computed: &dyn Fn(&Arc<dyn PhysicalExpr>) -> Option<View>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let rewritten = Arc::clone(expr).transform_down(|node| {
            if let Some(view) = computed(&node) {
                let column = Column::new(COMPUTED, self.place(0, view));
                let column: Arc<dyn PhysicalExpr> = Arc::new(column);
                return Ok(Transformed::new(column, true, TreeNodeRecursion::Jump));
            }
            let (column, view) = match part_of(&node) {
                Some((part, column)) => (column, View::Part(part)),
                None => match node.downcast_ref::<Column>() {
                    Some(column) => (column, View::Itself),
                    None => return Ok(Transformed::no(node)),
                },
            };
            let place = self.place(column.index(), view);
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), place));
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        });
        rewritten.data()
    }

    fn asks_for_views(&self) -> bool {
        self.0.iter().any(|(_, view)| !matches!(view, View::Itself))
    }
}

fn typed_projection(projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut wants = Wants::default();
    let exprs = rewritten(projection, &mut wants)?;
    if !wants.asks_for_views() {
        return Ok(None);
    }
    let Some(input) = supplied(projection.input(), &wants)? else { return Ok(None) };
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, input)?)))
}

fn rewritten(projection: &ProjectionExec, wants: &mut Wants) -> Result<Vec<ProjectionExpr>> {
    let rewrite = |one: &ProjectionExpr| {
        Ok(ProjectionExpr { expr: wants.rewrite(&one.expr)?, alias: one.alias.clone() })
    };
    projection.expr().iter().map(rewrite).collect()
}

fn typed_aggregate(aggregate: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let takes_rows = aggregate.mode().input_mode() == AggregateInputMode::Raw;
    if !takes_rows || !aggregate.dynamic_expressions_produced().is_empty() {
        return Ok(None);
    }
    let mut wants = Wants::default();
    let mut keyed: Vec<Option<Arc<Keys>>> = Vec::new();
    let mut group = Vec::new();
    for (expr, name) in aggregate.group_expr().expr() {
        let keys = keys_for(expr, aggregate);
        let expr = match (&keys, expr.downcast_ref::<Column>()) {
            (Some(keys), Some(column)) => {
                let place = wants.place(column.index(), View::Key(Arc::clone(keys)));
                Arc::new(Column::new(column.name(), place))
            }
            _ => wants.rewrite(expr)?,
        };
        keyed.push(keys);
        group.push((expr, name.clone()));
    }
    let mut functions = Vec::new();
    for function in aggregate.aggr_expr() {
        let Some(function) = rewritten_function(function, &mut wants)? else { return Ok(None) };
        functions.push(Arc::new(function));
    }
    let mut filters = Vec::new();
    for filter in aggregate.filter_expr() {
        filters.push(filter.as_ref().map(|filter| wants.rewrite(filter)).transpose()?);
    }
    if !wants.asks_for_views() {
        return Ok(None);
    }
    let Some(input) = supplied(aggregate.input(), &wants)? else { return Ok(None) };
    let schema = input.schema();
    let group = PhysicalGroupBy::new_single(group);
    let typed =
        AggregateExec::try_new(*aggregate.mode(), group, functions, filters, input, schema)?
            .with_limit_options(aggregate.limit_options());
    let typed: Arc<dyn ExecutionPlan> = Arc::new(typed);
    if keyed.iter().all(Option::is_none) {
        return Ok(Some(typed));
    }
    with_texts(typed, &keyed, &aggregate.schema()).map(Some)
}

fn rewritten_function(
    function: &AggregateFunctionExpr,
    wants: &mut Wants,
) -> Result<Option<AggregateFunctionExpr>> {
    let rewrite = |expr: &Arc<dyn PhysicalExpr>| wants.rewrite(expr);
    let arguments = function.expressions().iter().map(rewrite).collect::<Result<Vec<_>>>()?;
    if !function.order_bys().is_empty() {
        return Ok(None);
    }
    Ok(function.with_new_expressions(arguments, Vec::new()))
}

/// Converts the keys in the rows of an aggregation back to texts.
fn with_texts(
    typed: Arc<dyn ExecutionPlan>,
    keyed: &[Option<Arc<Keys>>],
    schema: &SchemaRef,
) -> Result<Arc<dyn ExecutionPlan>> {
    let exprs = schema.fields().iter().enumerate().map(|(at, field)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), at));
        let expr = match keyed.get(at).cloned().flatten() {
            Some(keys) => Arc::new(TextsOfKeys::new(keys, column)),
            None => column,
        };
        ProjectionExpr { expr, alias: field.name().clone() }
    });
    Ok(Arc::new(ProjectionExec::try_new(exprs.collect::<Vec<_>>(), typed)?))
}

/// Returns keys for a grouping column if it has texts, with few distinct ones in all sources.
fn keys_for(expr: &Arc<dyn PhysicalExpr>, aggregate: &AggregateExec) -> Option<Arc<Keys>> {
    let plain = aggregate.group_expr().is_single() && aggregate.limit_options().is_none();
    let column = expr.downcast_ref::<Column>().filter(|_| plain)?;
    let input = aggregate.input();
    let is_text = *input.schema().field(column.index()).data_type() == DataType::Utf8View;
    let (scan, at) = source_of(input, column.index()).filter(|_| is_text)?;
    let scan = scan.scan();
    let output = scan.work.outputs().get(at)?;
    let field = scan.work.table().field(output.column);
    let few = |unit: &Unit| match unit {
        Unit::Hot(_) => true,
        Unit::Stored(stored) => {
            let Some(summary) = &stored.summary else { return false };
            let stale = Stale::unless(scan.work.rules_hold(&summary.rules));
            match FieldPlace::of(field.name(), summary, &stale) {
                FieldPlace::Absent | FieldPlace::Column(ColumnKind::Integer) => true,
                FieldPlace::Column(ColumnKind::Text) => {
                    let known = summary.field(field.name());
                    let distinct = known.and_then(|known| known.distinct);
                    distinct.is_some_and(|distinct| distinct <= MOST_KEYED_TEXTS)
                }
                _ => false,
            }
        }
    };
    let names = columns::ORIGIN_AND_INDEX;
    let few = names.contains(&field.name().as_str())
        || (!super::FIXED.contains(&field.name().as_str()) && scan.queue.units().iter().all(few));
    (few && matches!(output.view, View::Itself)).then(Arc::default)
}

/// Returns the scan, and its column, from which a column of a plan comes unchanged.
pub(super) fn source_of(
    plan: &Arc<dyn ExecutionPlan>,
    column: usize,
) -> Option<(&BucketScanExec, usize)> {
    if let Some(scan) = plan.downcast_ref::<BucketScanExec>() {
        return Some((scan, column));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let below = projection.expr().get(column)?.expr.downcast_ref::<Column>()?;
        return source_of(projection.input(), below.index());
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return source_of(filter.input(), column_below(filter, column)?);
    }
    passes(plan).and_then(|input| source_of(input, column))
}

/// Returns the column of its input that a column of a filter is.
fn column_below(filter: &FilterExec, column: usize) -> Option<usize> {
    match filter.projection() {
        Some(columns) => columns.get(column).copied(),
        None => Some(column),
    }
}

/// Returns the input of an operator that passes its rows unchanged.
pub(super) fn passes(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let same = plan.downcast_ref::<RepartitionExec>().is_some_and(|repartition| {
        use datafusion::physical_plan::Partitioning::{RoundRobinBatch, UnknownPartitioning};
        matches!(repartition.partitioning(), RoundRobinBatch(_) | UnknownPartitioning(_))
    }) || plan.downcast_ref::<CooperativeExec>().is_some();
    plan.children().first().filter(|_| same).copied()
}

/// Returns the plan with exactly the required columns, if the scans below can supply them.
pub(super) fn supplied(
    plan: &Arc<dyn ExecutionPlan>,
    wants: &Wants,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<BucketScanExec>() {
        return Ok(supplied_scan(scan, wants));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return supplied_projection(projection, wants);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return supplied_filter(filter, wants);
    }
    let Some(input) = passes(plan) else { return Ok(None) };
    let Some(input) = supplied(input, wants)? else { return Ok(None) };
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(plan).replace_children(vec![input], options).map(Some)
}

fn supplied_scan(scan: &BucketScanExec, wants: &Wants) -> Option<Arc<dyn ExecutionPlan>> {
    let known = scan.scan().work.outputs();
    let output = |(at, view): &(usize, View)| {
        if let View::Computed(_) = view {
            return Some(Output { column: *at, view: view.clone() });
        }
        let below = known.get(*at)?;
        let view = match (&below.view, view) {
            (_, View::Itself) => below.view.clone(),
            (View::Itself, view) if scan.has_texts(below) => view.clone(),
            _ => return None,
        };
        Some(Output { column: below.column, view })
    };
    let outputs = wants.0.iter().map(output).collect::<Option<Vec<_>>>()?;
    Some(Arc::new(scan.with_outputs(outputs)))
}

fn supplied_projection(
    projection: &ProjectionExec,
    wants: &Wants,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut below = Wants::default();
    let mut exprs = Vec::new();
    for (at, view) in &wants.0 {
        if let View::Computed(_) = view {
            let expr = Arc::new(Column::new(COMPUTED, below.place(*at, view.clone())));
            exprs.push(ProjectionExpr { expr, alias: COMPUTED.to_owned() });
            continue;
        }
        let Some(one) = projection.expr().get(*at) else { return Ok(None) };
        let expr = match (view, one.expr.downcast_ref::<Column>()) {
            (View::Itself, _) => below.rewrite(&one.expr)?,
            (view, Some(column)) => {
                let place = below.place(column.index(), view.clone());
                Arc::new(Column::new(column.name(), place))
            }
            (_, None) => return Ok(None),
        };
        // Names may be equal, because columns are identified by index.
        exprs.push(ProjectionExpr { expr, alias: one.alias.clone() });
    }
    let Some(input) = supplied(projection.input(), &below)? else { return Ok(None) };
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, input)?)))
}

fn supplied_filter(filter: &FilterExec, wants: &Wants) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut below = Wants::default();
    let mut outputs = Vec::with_capacity(wants.0.len());
    for (at, view) in &wants.0 {
        if let View::Computed(_) = view {
            outputs.push(below.place(*at, view.clone()));
            continue;
        }
        let Some(column) = column_below(filter, *at) else { return Ok(None) };
        outputs.push(below.place(column, view.clone()));
    }
    let predicate = below.rewrite(filter.predicate())?;
    let Some(input) = supplied(filter.input(), &below)? else { return Ok(None) };
    let made = FilterExecBuilder::new(predicate, input)
        .apply_projection(Some(outputs))?
        .with_default_selectivity(filter.default_selectivity())
        .with_batch_size(filter.batch_size())
        .with_fetch(filter.fetch())
        .build()?;
    Ok(Some(Arc::new(made)))
}

impl BucketScanExec {
    /// Whether an output column has texts.
    fn has_texts(&self, output: &Output) -> bool {
        *self.scan().work.table().field(output.column).data_type() == DataType::Utf8View
    }
}
