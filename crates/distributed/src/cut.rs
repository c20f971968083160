//! Cuts a physical plan into a part that runs where the events are, and a part that combines the results.
//!
//! The plan is walked from the root. Each branch is cut at the first operator that has only events below it
//! and can be computed in parts:
//!
//! | operator | at the workers | above |
//! | --- | --- | --- |
//! | aggregation | partial states | the final step |
//! | sort, with a first N or without | the sorted rows (the first N) | a merge of sorted rows (the first N) |
//! | filter, projection, unnest | all of them | nothing |
//! | first N rows of a scan | the first N | the first N |

use std::fmt;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};
use exprs::split::{first_step, last_step, streaming_input};

/// A branch of a plan that runs on the workers.
#[derive(Debug, Clone)]
pub struct Cut {
    /// Number of branches of the plan that were cut before it.
    pub number: usize,
    /// The plan that a worker runs over its own events, in one partition.
    pub map: Arc<dyn ExecutionPlan>,
    /// How the rows of the workers are combined.
    pub gather: Gather,
}

/// How the rows of several workers are combined into one partition.
#[derive(Debug, Clone)]
pub enum Gather {
    /// In order of arrival; with a maximum number of rows, if given.
    Any(Option<usize>),
    /// A merge in the sort order of each worker's rows; with a maximum number of rows, if given.
    Sorted(LexOrdering, Option<usize>),
}

impl fmt::Display for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fetch = match self {
            Self::Any(fetch) => {
                f.write_str("any order")?;
                fetch
            }
            Self::Sorted(order, fetch) => {
                write!(f, "[{order}]")?;
                fetch
            }
        };
        fetch.map_or(Ok(()), |fetch| write!(f, ", fetch={fetch}"))
    }
}

impl Gather {
    /// Combines the rows of all workers, one partition each, into one partition. Rows of a top-N sort are
    /// sorted again, so that they may arrive in any order.
    #[must_use]
    pub fn together(&self, workers: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        match self {
            Self::Sorted(order, fetch @ Some(_)) => {
                let all = Arc::new(CoalescePartitionsExec::new(workers));
                Arc::new(SortExec::new(order.clone(), all).with_fetch(*fetch))
            }
            _ => self.above(workers),
        }
    }

    /// Combines all partitions of a plan into one.
    fn above(&self, plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        match self {
            Self::Any(fetch) => Arc::new(CoalescePartitionsExec::new(plan).with_fetch(*fetch)),
            Self::Sorted(order, fetch) => {
                Arc::new(SortPreservingMergeExec::new(order.clone(), plan).with_fetch(*fetch))
            }
        }
    }
}

/// Cuts a plan. `is_events` recognises the operators that read events; `replace` returns the replacement of
/// a branch: one partition with the columns of [`Cut::map`].
///
/// A search head replaces branches by operators that ask workers; a worker takes the branch that was
/// requested.
///
/// # Errors
/// Errors of `replace`, or if the engine refuses the new plan.
pub fn cut(
    plan: &Arc<dyn ExecutionPlan>,
    is_events: &dyn Fn(&dyn ExecutionPlan) -> bool,
    replace: &mut dyn FnMut(Cut) -> Result<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    Cutter { is_events, replace, number: 0 }.walk(plan)
}

struct Cutter<'c> {
    is_events: &'c dyn Fn(&dyn ExecutionPlan) -> bool,
    replace: &'c mut dyn FnMut(Cut) -> Result<Arc<dyn ExecutionPlan>>,
    number: usize,
}

impl Cutter<'_> {
    fn walk(&mut self, node: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some(cut) = self.at(node)? {
            return Ok(cut);
        }
        let children: Vec<_> =
            node.children().into_iter().map(|child| self.walk(child)).collect::<Result<_>>()?;
        if children.is_empty() {
            return Ok(Arc::clone(node));
        }
        replace_children_if_necessary(Arc::clone(node), children)
    }

    /// The plan with a cut at this node, if the node can be cut.
    fn at(&mut self, node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
            return self.at_aggregate(node, aggregate);
        }
        if let Some(aggregate) = below_texts(node) {
            return self.at_texts(node, aggregate);
        }
        if let Some(sort) = node.downcast_ref::<SortExec>() {
            if !self.streams(sort.input()) {
                return Ok(None);
            }
            let gather = Gather::Sorted(sort.expr().clone(), sort.fetch());
            return self.replaced(Arc::clone(node), gather).map(Some);
        }
        // The first N rows of each part are candidates only; the search head takes the first N of them.
        if let Some(fetch) = node.fetch() {
            let below = node.children().into_iter().all(|child| self.streams(child));
            if self.is_scan(node) && below {
                return self.replaced(Arc::clone(node), Gather::Any(Some(fetch))).map(Some);
            }
            return Ok(None);
        }
        if self.streams(node) {
            return self.replaced(Arc::clone(node), Gather::Any(None)).map(Some);
        }
        Ok(None)
    }

    fn at_aggregate(
        &mut self,
        node: &Arc<dyn ExecutionPlan>,
        aggregate: &AggregateExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if aggregate.limit_options().is_some() || !self.streams(aggregate.input()) {
            return Ok(None);
        }
        match aggregate.mode() {
            AggregateMode::Partial => self.replaced(Arc::clone(node), Gather::Any(None)).map(Some),
            // With one partition, the engine aggregates in one step, which is split here.
            AggregateMode::Single | AggregateMode::SinglePartitioned
                if node.output_partitioning().partition_count() == 1 =>
            {
                let first = Arc::new(first_step(aggregate)?);
                let states = self.replaced(first, Gather::Any(None))?;
                Ok(Some(Arc::new(last_step(aggregate, states)?)))
            }
            _ => Ok(None),
        }
    }

    /// Keys of groups are valid in this process only, so that they become texts before they are sent.
    fn at_texts(
        &mut self,
        node: &Arc<dyn ExecutionPlan>,
        aggregate: &AggregateExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if aggregate.limit_options().is_some() || !self.streams(aggregate.input()) {
            return Ok(None);
        }
        self.replaced(Arc::clone(node), Gather::Any(None)).map(Some)
    }

    /// Whether this is a scan, or streaming operators over one, without a limit of rows below.
    fn streams(&self, node: &Arc<dyn ExecutionPlan>) -> bool {
        if node.fetch().is_some() {
            return false;
        }
        if (self.is_events)(node.as_ref()) {
            return true;
        }
        input_of(node).is_some_and(|input| self.streams(input))
    }

    fn is_scan(&self, node: &Arc<dyn ExecutionPlan>) -> bool {
        if (self.is_events)(node.as_ref()) {
            return true;
        }
        input_of(node).is_some_and(|input| self.is_scan(input))
    }

    fn replaced(
        &mut self,
        map: Arc<dyn ExecutionPlan>,
        gather: Gather,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let map = match map.output_partitioning().partition_count() {
            1 => map,
            _ => gather.above(map),
        };
        let number = self.number;
        self.number += 1;
        (self.replace)(Cut { number, map, gather })
    }
}

/// The first step of an aggregation directly below a projection. Plans have this shape only if rows are
/// grouped by keys, whose texts the projection looks up.
fn below_texts(node: &Arc<dyn ExecutionPlan>) -> Option<&AggregateExec> {
    let projection = node.downcast_ref::<ProjectionExec>()?;
    let aggregate = projection.input().downcast_ref::<AggregateExec>()?;
    (*aggregate.mode() == AggregateMode::Partial).then_some(aggregate)
}

/// The input of an operator that processes each batch on its own. The engine repartitions batches if it
/// expects many rows: a worker may have such an operator where the search head has none.
fn input_of(node: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    if let Some(input) = streaming_input(node) {
        return Some(input);
    }
    let spreads = node.downcast_ref::<RepartitionExec>().is_some_and(|repartition| {
        matches!(repartition.partitioning(), Partitioning::RoundRobinBatch(_))
    });
    let gathers = node.downcast_ref::<CoalescePartitionsExec>().is_some();
    let children = node.children();
    let [input] = children.as_slice() else { return None };
    (spreads || gathers).then_some(*input)
}
