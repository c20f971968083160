//! Counts that bucket summaries know: `count` by host, source, sourcetype or index, over buckets that lie
//! in the range as a whole, is read off the catalog.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use model::columns;

use super::exec::BucketScanExec;
use super::unit::Stored;

/// Takes buckets whose rows the catalog has counted out of the scan below a partial count.
#[derive(Debug)]
pub(crate) struct CountBySummary;

impl PhysicalOptimizerRule for CountBySummary {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            Ok(match without_counted(&node)? {
                Some(cheaper) => Transformed::yes(cheaper),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "count_by_summary"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn without_counted(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(aggregate) = node.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let Some(keys) = counts_by(aggregate) else { return Ok(None) };
    let Some(scan) = scan_below(aggregate.input()) else { return Ok(None) };
    let Some((rest, counted)) = scan.split_counted(|stored| groups(stored, &keys).is_some()) else {
        return Ok(None);
    };
    let batch = partial(&node.schema(), &counted, &keys)?;
    let known = MemorySourceConfig::try_new_exec(&[vec![batch]], node.schema(), None)?;
    let rest: Arc<dyn ExecutionPlan> = Arc::new(rest);
    let input = aggregate.input().clone().transform_down(|below| {
        let is_scan = below.downcast_ref::<BucketScanExec>().is_some();
        Ok(if is_scan { Transformed::yes(Arc::clone(&rest)) } else { Transformed::no(below) })
    });
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    let below = Arc::clone(node).replace_children(vec![input.data()?], options)?;
    let both = UnionExec::try_new(vec![below, known])?;
    // Whoever reads one partition must find everything in it.
    Ok(Some(match node.output_partitioning().partition_count() {
        1 => Arc::new(CoalescePartitionsExec::new(both)),
        _ => both,
    }))
}

/// The columns that a partial aggregation groups by, if it counts rows and does nothing else.
fn counts_by(aggregate: &AggregateExec) -> Option<Vec<String>> {
    let counts = |at: usize| {
        let function = &aggregate.aggr_expr()[at];
        let arguments = function.expressions();
        let is_constant = |argument: &Arc<dyn PhysicalExpr>| {
            argument.downcast_ref::<Literal>().is_some_and(|one| !one.value().is_null())
        };
        function.fun().name() == "count"
            && !function.is_distinct()
            && arguments.iter().all(is_constant)
            && aggregate.filter_expr()[at].is_none()
    };
    let all_count =
        !aggregate.aggr_expr().is_empty() && (0..aggregate.aggr_expr().len()).all(counts);
    let plain = *aggregate.mode() == AggregateMode::Partial
        && all_count
        && aggregate.group_expr().is_single()
        && aggregate.limit_options().is_none();
    let key = |(expr, _): &(Arc<dyn PhysicalExpr>, String)| {
        Some(expr.downcast_ref::<Column>()?.name().to_owned())
    };
    aggregate.group_expr().expr().iter().map(key).collect::<Option<Vec<_>>>().filter(|_| plain)
}

fn scan_below(plan: &Arc<dyn ExecutionPlan>) -> Option<&BucketScanExec> {
    if let Some(scan) = plan.downcast_ref::<BucketScanExec>() {
        return Some(scan);
    }
    let passes = plan.downcast_ref::<RepartitionExec>().is_some()
        || plan.downcast_ref::<CooperativeExec>().is_some();
    plan.children().first().filter(|_| passes).and_then(|input| scan_below(input))
}

/// The groups of a bucket's rows and how many rows each has, if the summary says so.
fn groups<'a>(stored: &'a Stored, keys: &[String]) -> Option<Vec<(Vec<&'a str>, u64)>> {
    let mut groups: Vec<(Vec<&str>, u64)> = vec![(Vec::new(), stored.header.rows)];
    let mut is_split = false;
    for key in keys {
        let values = match key.as_str() {
            columns::HOST => &stored.summary.as_deref()?.hosts,
            columns::SOURCE => &stored.summary.as_deref()?.sources,
            columns::SOURCETYPE => &stored.summary.as_deref()?.sourcetypes,
            columns::INDEX => {
                groups.iter_mut().for_each(|(group, _)| group.push(stored.header.index.as_str()));
                continue;
            }
            _ => return None,
        };
        match values.as_slice() {
            [only] => groups.iter_mut().for_each(|(group, _)| group.push(&only.value)),
            // How two columns go together is not in the summary.
            _ if is_split => return None,
            several => {
                is_split = true;
                let (before, _) = groups.pop()?;
                let with = |value: &'a model::ValueCount| {
                    let mut group = before.clone();
                    group.push(value.value.as_str());
                    (group, value.count)
                };
                groups = several.iter().map(with).collect();
            }
        }
    }
    let counted: u64 = groups.iter().map(|(_, rows)| rows).sum();
    (counted == stored.header.rows).then_some(groups)
}

/// The state of a partial count of these buckets.
fn partial(schema: &SchemaRef, buckets: &[Stored], keys: &[String]) -> Result<RecordBatch> {
    let rows: Vec<_> = buckets.iter().filter_map(|stored| groups(stored, keys)).flatten().collect();
    let count = |(_, rows): &(Vec<&str>, u64)| i64::try_from(*rows).unwrap_or(i64::MAX);
    let counts: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(count)));
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for at in 0..keys.len() {
        let values = StringViewArray::from_iter_values(rows.iter().map(|(group, _)| group[at]));
        arrays.push(arrow::compute::cast(&values, schema.field(at).data_type())?);
    }
    arrays.resize(schema.fields().len(), counts);
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

impl BucketScanExec {
    /// This scan without the buckets whose rows all match, lie in the range, and pass the test; and
    /// those. `None` if there are none, or if somebody wants to see when their events were.
    fn split_counted(&self, test: impl Fn(&Stored) -> bool) -> Option<(Self, Vec<Stored>)> {
        let scan = self.scan();
        // The search head has done that before it made a share, whose plan has to have the same branches.
        if scan.is_share || scan.report.timeline().is_some() || scan.limit.is_some() {
            return None;
        }
        let all_match = |stored: &Stored| {
            let (first, last) = (stored.header.first_time, stored.header.last_time);
            scan.range.earliest <= first
                && last < scan.range.latest
                && scan.pruning.countable(stored.known()).is_some_and(|how| how.word.is_none())
                && test(stored)
        };
        let (rest, counted) = scan.queue.without(all_match)?;
        let report = &scan.report;
        let rows: u64 = counted.iter().map(|stored| stored.header.rows).sum();
        report.events_matched.fetch_add(rows, Relaxed);
        report.buckets_counted.fetch_add(counted.len() as u64, Relaxed);
        report.buckets_searched.fetch_add(counted.len() as u64, Relaxed);
        Some((self.over(rest), counted))
    }
}
