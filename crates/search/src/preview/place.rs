//! Selects the place in a plan from which previews are made: directly above a partial aggregation of a scan,
//! or directly below a sort of a scan that keeps the first N rows.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use exprs::split::{first_step, last_step, streaming_input};

use super::newest::{Newest, NewestExec};
use super::slices::{KeptSlices, SlicesExec};
use super::{GATHERED, Limits, PreviewState};
use crate::control::ScanControl;
use crate::scan::{BucketScanExec, Slices};

/// Returns the plan with such an operator, and its kept state; `None` if there is no such place, or if the
/// search is too short for previews.
pub(crate) fn place(
    plan: &Arc<dyn ExecutionPlan>,
    control: &Arc<ScanControl>,
    limits: Limits,
) -> Result<Option<Found>> {
    let mut scans = 0;
    let mut is_small = true;
    plan.apply(|node| {
        if let Some(scan) = node.downcast_ref::<BucketScanExec>() {
            scans += 1;
            is_small = scan.is_small();
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if scans != 1 || is_small {
        return Ok(None);
    }
    let found = place_among(plan, control, limits, 0)?;
    Ok(found.map(|(plan, kept, _)| (plan, kept)))
}

/// Returns the same for a plan with one scan of any size. The state has room for further partitions after
/// those of the plan, whose number is returned too.
pub(crate) fn place_among(
    plan: &Arc<dyn ExecutionPlan>,
    control: &Arc<ScanControl>,
    limits: Limits,
    others: usize,
) -> Result<Option<Placed>> {
    let mut found = None;
    let changed = Arc::clone(plan).transform_down(|node| {
        let Some((replaced, kept, partitions)) = look(&node, control, limits, others)? else {
            return Ok(Transformed::no(node));
        };
        found = Some((kept, partitions));
        Ok(Transformed::new(replaced, true, TreeNodeRecursion::Stop))
    });
    let changed = changed.data()?;
    Ok(found.map(|(kept, partitions)| (changed, kept, partitions)))
}

/// Whether the operator, or one below it, was added by [`place`].
pub(super) fn is_place(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.downcast_ref::<SlicesExec>().is_some()
        || node.downcast_ref::<NewestExec>().is_some()
        || node.name() == GATHERED
}

type Found = (Arc<dyn ExecutionPlan>, Arc<PreviewState>);
/// The plan, its kept state, and the number of its own partitions.
pub(crate) type Placed = (Arc<dyn ExecutionPlan>, Arc<PreviewState>, usize);

fn look(
    node: &Arc<dyn ExecutionPlan>,
    control: &Arc<ScanControl>,
    limits: Limits,
    others: usize,
) -> Result<Option<Placed>> {
    if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
        return below_states((node, aggregate), control, limits, others);
    }
    let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(None) };
    let (Some(fetch), Some(scan)) = (sort.fetch(), scan_below(sort.input())) else {
        return Ok(None);
    };
    let partitions = scan.partitions();
    let kept = Arc::new(PreviewState::new(partitions + others, limits.bytes));
    let input = Arc::clone(sort.input());
    let (order, first) = (sort.expr().clone(), fetch);
    let newest = NewestExec::above(input, Newest { order, first, kept: Arc::clone(&kept) });
    let sorted = replace_children_if_necessary(Arc::clone(node), vec![newest])?;
    Ok(Some((sorted, kept, partitions)))
}

fn below_states(
    (node, aggregate): (&Arc<dyn ExecutionPlan>, &AggregateExec),
    control: &Arc<ScanControl>,
    limits: Limits,
    others: usize,
) -> Result<Option<Placed>> {
    let Some(scan) = scan_below(aggregate.input()) else { return Ok(None) };
    if aggregate.limit_options().is_some() {
        return Ok(None);
    }
    let (partial, last) = match aggregate.mode() {
        AggregateMode::Partial => (Arc::clone(node), None),
        // With one partition, the engine aggregates in one step without intermediate states.
        AggregateMode::Single | AggregateMode::SinglePartitioned
            if node.output_partitioning().partition_count() == 1 =>
        {
            (Arc::new(first_step(aggregate)?) as Arc<dyn ExecutionPlan>, Some(aggregate))
        }
        _ => return Ok(None),
    };
    let partitions = scan.partitions();
    let kept = Arc::new(PreviewState::new(partitions + others, limits.bytes));
    let slices = Slices::new(Arc::clone(control), scan.partitions(), limits.slice);
    let slices = Arc::new(slices);
    scan.slice(Arc::clone(&slices));
    let states = KeptSlices { slices, kept: Arc::clone(&kept), length: limits.slice };
    let sliced = SlicesExec::above(partial, states);
    let replaced = match last {
        Some(aggregate) => Arc::new(last_step(aggregate, sliced)?),
        None => sliced,
    };
    Ok(Some((replaced, kept, partitions)))
}

fn scan_below(plan: &Arc<dyn ExecutionPlan>) -> Option<&BucketScanExec> {
    if let Some(scan) = plan.downcast_ref::<BucketScanExec>() {
        return Some(scan);
    }
    scan_below(streaming_input(plan)?)
}
