//! Counts that bucket summaries know: `count` by host, source, sourcetype or index, and in how many rows each
//! field has a value, over buckets that lie in the range as a whole, are read off the catalog.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use hashbrown::HashMap;
use model::columns;

use super::FIXED;
use super::exec::BucketScanExec;
use super::typed::source_of;
use super::unit::Stored;
use super::work::{View, Work};

/// A rule that removes buckets whose counts are in the catalog from the scan below a partial count.
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
    let Some(scan) = scan_below(aggregate.input()) else { return Ok(None) };
    let Some(counts) = Counts::of(aggregate) else { return Ok(None) };
    let work = Arc::clone(&scan.scan().work);
    let is_known = |stored: &Stored| counts.are_known(stored, &work);
    let Some((rest, counted)) = scan.split_counted(is_known) else { return Ok(None) };
    let groups = counts.groups(&counted);
    let batch = partial(&node.schema(), counts.keys.len(), &groups)?;
    let known = MemorySourceConfig::try_new_exec(&[vec![batch]], node.schema(), None)?;
    let rest: Arc<dyn ExecutionPlan> = Arc::new(rest);
    let input = aggregate.input().clone().transform_down(|below| {
        let is_scan = below.downcast_ref::<BucketScanExec>().is_some();
        Ok(if is_scan { Transformed::yes(Arc::clone(&rest)) } else { Transformed::no(below) })
    });
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    let below = Arc::clone(node).replace_children(vec![input.data()?], options)?;
    let both = UnionExec::try_new(vec![below, known])?;
    // With one partition, its reader must find all groups in it.
    Ok(Some(match node.output_partitioning().partition_count() {
        1 => Arc::new(CoalescePartitionsExec::new(both)),
        _ => both,
    }))
}

/// The values of a group's keys, and the counts of the aggregate calls.
type Group<'a> = (Vec<&'a str>, Vec<u64>);

/// The argument of a count.
enum CountArgument {
    Rows,
    /// Rows that have a field.
    Field(String),
}

/// Ratio of fields in the summary to counted fields above which fields are looked up; below it, all fields of
/// the summary are visited.
const SEARCHED: usize = 16;

/// A partial aggregation that only counts.
struct Counts {
    /// The columns of the group keys.
    keys: Vec<String>,
    /// The arguments of its calls.
    of: Vec<CountArgument>,
}

impl Counts {
    fn of(aggregate: &AggregateExec) -> Option<Self> {
        let plain = *aggregate.mode() == AggregateMode::Partial
            && !aggregate.aggr_expr().is_empty()
            && aggregate.group_expr().is_single()
            && aggregate.limit_options().is_none()
            && aggregate.filter_expr().iter().all(Option::is_none);
        if !plain {
            return None;
        }
        let input = aggregate.input();
        let mut keys = Vec::new();
        for (expr, _) in aggregate.group_expr().expr() {
            keys.push(column_of(expr, input)?);
        }
        let mut of = Vec::new();
        for call in aggregate.aggr_expr() {
            of.push(counted_by(call, input)?);
        }
        let counts = Self { keys, of };
        // The summary does not know how fields combine with other columns.
        (counts.keys.is_empty() || counts.are_of_rows()).then_some(counts)
    }

    fn are_of_rows(&self) -> bool {
        self.of.iter().all(|of| matches!(of, CountArgument::Rows))
    }

    /// Whether the summary of a bucket has these counts. Its counts of fields are valid only for the rules
    /// with which it was made, so these must be the current ones.
    fn are_known(&self, stored: &Stored, work: &Work) -> bool {
        if self.are_of_rows() {
            return groups(stored, &self.keys).is_some();
        }
        let Some(summary) = stored.summary.as_deref() else { return false };
        let is_of_sent =
            |of: &CountArgument| matches!(of, CountArgument::Field(name) if name == bucket::FIELDS);
        summary.fields_complete
            && summary.rows == stored.header.rows
            // The number of rows with any indexed field is only known if there is no such field.
            && !(self.of.iter().any(is_of_sent) && summary.fields.iter().any(|field| field.indexed))
            && work.rules_hold(&summary.rules)
    }

    /// Returns the groups of buckets whose counts are known.
    fn groups<'a>(&self, counted: &'a [Stored]) -> Vec<Group<'a>> {
        // One group for all buckets: there may be a call for each of thousands of fields.
        if self.keys.is_empty() {
            return vec![(Vec::new(), self.sums(counted))];
        }
        let of_buckets = counted.iter().filter_map(|stored| groups(stored, &self.keys)).flatten();
        of_buckets.map(|(group, rows)| (group, vec![rows; self.of.len()])).collect()
    }

    /// Returns the counts of the calls over all buckets.
    fn sums(&self, counted: &[Stored]) -> Vec<u64> {
        let rows: u64 = counted.iter().map(|stored| stored.header.rows).sum();
        let mut fields: HashMap<&str, u64> = HashMap::new();
        for of in &self.of {
            // No row has an indexed field: `are_known` has checked that.
            if let CountArgument::Field(name) = of
                && name != bucket::FIELDS
            {
                fields.insert(name, 0);
            }
        }
        for summary in counted.iter().filter_map(|stored| stored.summary.as_deref()) {
            if fields.len() < summary.fields.len() / SEARCHED {
                for (name, sum) in &mut fields {
                    *sum += summary.field(name).map_or(0, |known| known.count);
                }
                continue;
            }
            for known in &summary.fields {
                if let Some(sum) = fields.get_mut(known.name.as_str()) {
                    *sum += known.count;
                }
            }
        }
        let sum = |of: &CountArgument| match of {
            CountArgument::Rows => rows,
            CountArgument::Field(name) => fields.get(name.as_str()).copied().unwrap_or_default(),
        };
        self.of.iter().map(sum).collect()
    }
}

/// Returns the argument of a count, if the call counts rows or rows with a field.
fn counted_by(
    call: &AggregateFunctionExpr,
    input: &Arc<dyn ExecutionPlan>,
) -> Option<CountArgument> {
    if call.fun().name() != "count" || call.is_distinct() {
        return None;
    }
    let arguments = call.expressions();
    let is_constant = |argument: &Arc<dyn PhysicalExpr>| {
        argument.downcast_ref::<Literal>().is_some_and(|one| !one.value().is_null())
    };
    if arguments.iter().all(is_constant) {
        return Some(CountArgument::Rows);
    }
    let [argument] = arguments.as_slice() else { return None };
    let name = column_of(argument, input)?;
    (!FIXED.contains(&name.as_str())).then_some(CountArgument::Field(name))
}

/// Returns the name of the table column that an expression reads.
fn column_of(expr: &Arc<dyn PhysicalExpr>, input: &Arc<dyn ExecutionPlan>) -> Option<String> {
    let column = expr.downcast_ref::<Column>()?;
    let (scan, at) = source_of(input, column.index())?;
    let work = &scan.scan().work;
    let output = work.outputs().get(at).filter(|output| matches!(output.view, View::Itself))?;
    Some(work.table().field(output.column).name().clone())
}

fn scan_below(plan: &Arc<dyn ExecutionPlan>) -> Option<&BucketScanExec> {
    if let Some(scan) = plan.downcast_ref::<BucketScanExec>() {
        return Some(scan);
    }
    let passes = plan.downcast_ref::<RepartitionExec>().is_some()
        || plan.downcast_ref::<ProjectionExec>().is_some()
        || plan.downcast_ref::<CooperativeExec>().is_some();
    plan.children().first().filter(|_| passes).and_then(|input| scan_below(input))
}

/// Returns the groups of a bucket's rows with their counts, if the summary has them.
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
            // The summary does not know how two columns combine.
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

/// Builds the state of a partial count of these groups.
fn partial(schema: &SchemaRef, keys: usize, groups: &[Group<'_>]) -> Result<RecordBatch> {
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for at in 0..keys {
        let values = StringViewArray::from_iter_values(groups.iter().map(|(group, _)| group[at]));
        arrays.push(arrow::compute::cast(&values, schema.field(at).data_type())?);
    }
    for at in keys..schema.fields().len() {
        let count = |(_, counts): &Group<'_>| i64::try_from(counts[at - keys]).unwrap_or(i64::MAX);
        arrays.push(Arc::new(Int64Array::from_iter_values(groups.iter().map(count))));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

impl BucketScanExec {
    /// Splits off the buckets whose rows all match, lie in the range, and pass the test. Returns the
    /// remaining scan and those buckets; `None` if there are none, or if a timeline is requested.
    fn split_counted(&self, test: impl Fn(&Stored) -> bool) -> Option<(Self, Vec<Stored>)> {
        let scan = self.scan();
        // The search head has already done this before it made the share, whose plan must have the same
        // branches.
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
        report.match_planned(rows);
        report.buckets_counted.fetch_add(counted.len() as u64, Relaxed);
        report.buckets_searched.fetch_add(counted.len() as u64, Relaxed);
        Some((self.over(rest), counted))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{
        BucketEntry, BucketHeader, BucketId, BucketState, BucketSummary, EventTime, FieldSummary,
        IndexName,
    };
    use uuid::Uuid;

    use super::*;

    /// A bucket of ten rows, with the number of rows that have each field.
    fn stored(fields: &[(&str, u64)]) -> Stored {
        let (id, time) = (BucketId(Uuid::nil()), EventTime(1));
        let index = IndexName::new("main").unwrap();
        let field = |(name, count): &(&str, u64)| FieldSummary {
            name: (*name).to_owned(),
            count: *count,
            column: None,
            indexed: false,
            multivalue: false,
            distinct: None,
        };
        let fields = fields.iter().map(field).collect();
        let summary = Arc::new(BucketSummary { fields, ..BucketSummary::bare(10, time, time) });
        let path = id.object_path(&index, "20261120");
        let entry = BucketEntry { id, path, index, size: 1, state: BucketState::Warm, summary };
        let header = Arc::new(BucketHeader::of(&entry));
        Stored { header, summary: Some(entry.summary), view: None }
    }

    #[test]
    fn counts_of_fields_in_several_buckets_are_one_group() {
        let names: Vec<String> = (0..100).map(|at| format!("f{at:03}")).collect();
        let many: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 3)).collect();
        let buckets = [stored(&[("a", 1), ("f007", 2)]), stored(&many), stored(&[])];
        let field = |name: &str| CountArgument::Field(name.to_owned());
        let of = vec![
            field("f007"),
            CountArgument::Rows,
            field("a"),
            field(bucket::FIELDS),
            field("f007"),
        ];
        let counts = Counts { keys: Vec::new(), of };
        let expected: Vec<Group<'_>> = vec![(Vec::new(), vec![5, 30, 1, 0, 5])];
        assert_eq!(counts.groups(&buckets), expected);
    }
}
