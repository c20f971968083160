//! The physical operator that runs a [`StreamOp`], and its planner.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_expr::aggregate::{AggregateFunctionExpr, LoweredAggregateBuilder};
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, LexRequirement, OrderingRequirements, PhysicalExpr,
    create_physical_sort_exprs,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PlanProperties,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use exprs::ledger::Charge;
use exprs::stopping::stop_of;
use futures::StreamExt;
use futures::future::BoxFuture;

use super::reduce::below_sort;
use super::{StreamNode, StreamOp, StreamRun};

/// Plans [`StreamNode`]s.
#[derive(Debug)]
pub(crate) struct StreamPlanner;

/// Written as the attribute `async_trait` writes it: see docs/decisions/0042-boxed-futures.md.
impl ExtensionPlanner for StreamPlanner {
    fn plan_extension<'s, 'p, 'n, 'l, 'i, 'c, 'e, 't, 'a>(
        &'s self,
        planner: &'p dyn PhysicalPlanner,
        node: &'n dyn UserDefinedLogicalNode,
        logical_inputs: &'l [&'i LogicalPlan],
        physical_inputs: &'c [Arc<dyn ExecutionPlan>],
        session: &'e dyn Session,
        planning: &'t PhysicalPlanningContext,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn ExecutionPlan>>>>
    where
        's: 'a,
        'p: 'a,
        'n: 'a,
        'l: 'a,
        'i: 'a,
        'c: 'a,
        'e: 'a,
        't: 'a,
        Self: 'a,
    {
        at_once(plan(planner, node, logical_inputs, physical_inputs, session, planning))
    }
}

/// Boxes a finished result. In a separate function, so that the compiler proves only once that it is `Send`.
fn at_once<T: Send + 'static>(done: T) -> BoxFuture<'static, T> {
    Box::pin(ready(done))
}

fn plan(
    planner: &dyn PhysicalPlanner,
    node: &dyn UserDefinedLogicalNode,
    logical_inputs: &[&LogicalPlan],
    physical_inputs: &[Arc<dyn ExecutionPlan>],
    session: &dyn Session,
    planning: &PhysicalPlanningContext,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(node) = node.as_any().downcast_ref::<StreamNode>() else {
        return Ok(None);
    };
    let ([logical], [input]) = (logical_inputs, physical_inputs) else {
        return internal_err!("a stream operator has one input");
    };
    let schema = logical.schema();
    let mut arguments = Vec::new();
    for argument in &node.arguments {
        arguments.push(planner.create_physical_expr(argument, schema, session, planning)?);
    }
    let mut aggregates = Vec::new();
    for aggregate in &node.aggregates {
        let columns = input.schema();
        let props = session.execution_props();
        let lowered =
            LoweredAggregateBuilder::new(aggregate, schema, &columns, props, planning).build()?;
        if lowered.filter.is_some() {
            return internal_err!("aggregates of a stream operator have no filter");
        }
        arguments.extend(lowered.aggregate.expressions());
        aggregates.push(lowered.aggregate);
    }
    let order =
        create_physical_sort_exprs(&node.order, schema, session.execution_props(), planning)?;
    let op = Arc::clone(&node.op);
    let mut fields: Vec<_> = input.schema().fields().iter().cloned().collect();
    fields.extend(node.added().iter().map(|field| Arc::new(field.clone())));
    let schema = Arc::new(Schema::new(fields));
    let parts = Parts { op, arguments, aggregates, order: LexOrdering::new(order), schema };
    Ok(Some(Arc::new(StreamExec::new(Arc::new(parts), Arc::clone(input)))))
}

/// Returns the same operator over a `ReduceExec` that drops unused rows below the sort of its input; `None`
/// if it uses all rows, or its input is not sorted.
pub(crate) fn reduced(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(stream) = node.downcast_ref::<StreamExec>() else { return Ok(None) };
    let Some(reduction) = stream.parts.op.reduction() else { return Ok(None) };
    let arguments = &stream.parts.arguments;
    for argument in arguments {
        // A volatile condition, such as one with `random()`, would be evaluated twice and end the rows at two
        // different places.
        if argument.exists(|expr| Ok(expr.is_volatile_node()))? {
            return Ok(None);
        }
    }
    if arguments.is_empty() {
        return Ok(None);
    }
    let input = below_sort(&stream.input, reduction, arguments.clone())?;
    let Some(input) = input else { return Ok(None) };
    Ok(Some(Arc::new(StreamExec::new(Arc::clone(&stream.parts), input))))
}

#[derive(Debug)]
struct Parts {
    op: Arc<dyn StreamOp>,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    order: Option<LexOrdering>,
    schema: SchemaRef,
}

#[derive(Debug)]
struct StreamExec {
    parts: Arc<Parts>,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl StreamExec {
    fn new(parts: Arc<Parts>, input: Arc<dyn ExecutionPlan>) -> Self {
        let orderings = parts.order.clone();
        let equivalence =
            EquivalenceProperties::new_with_orderings(Arc::clone(&parts.schema), orderings);
        let properties = PlanProperties::new(
            equivalence,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { parts, input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for StreamExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamExec: {:?}", self.parts.op)
    }
}

impl ExecutionPlan for StreamExec {
    fn name(&self) -> &'static str {
        "StreamExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let order = self.parts.order.clone();
        vec![order.map(|order| OrderingRequirements::new(LexRequirement::from(order)))]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        apply: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for argument in &self.parts.arguments {
            if apply(argument)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else {
            return internal_err!("a stream operator has one input");
        };
        Ok(Arc::new(Self::new(Arc::clone(&self.parts), input)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let mut run = self.parts.op.start(&self.parts.aggregates)?;
        let options = context.session_config().options();
        run.counts(Charge::of(options));
        run.until(stop_of(options));
        let drive = Drive { parts: Arc::clone(&self.parts), input, run, done: false };
        let stream = futures::stream::unfold(drive, Drive::next);
        let schema = Arc::clone(&self.parts.schema);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}

struct Drive {
    parts: Arc<Parts>,
    input: SendableRecordBatchStream,
    run: Box<dyn StreamRun>,
    done: bool,
}

impl Drive {
    async fn next(mut self) -> Option<(Result<RecordBatch>, Self)> {
        while !self.done {
            let Some(next) = self.input.next().await else {
                self.done = true;
                return self.run.end().err().map(|error| (Err(error), self));
            };
            let result = match next {
                Ok(batch) if batch.num_rows() == 0 => continue,
                Ok(batch) => self.push(&batch),
                Err(error) => Err(error),
            };
            match result {
                Ok(batch) if batch.num_rows() == 0 => {}
                Ok(batch) => return Some((Ok(batch), self)),
                Err(error) => {
                    self.done = true;
                    return Some((Err(error), self));
                }
            }
        }
        None
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut arguments: Vec<ArrayRef> = Vec::with_capacity(self.parts.arguments.len());
        for argument in &self.parts.arguments {
            arguments.push(argument.evaluate(batch)?.into_array(rows)?);
        }
        let output = self.run.push(&arguments, rows)?;
        self.done = output.done;
        let mut columns = batch.columns().to_vec();
        columns.extend(output.added);
        let batch = RecordBatch::try_new(Arc::clone(&self.parts.schema), columns)?;
        Ok(match output.keep {
            Some(keep) => filter_record_batch(&batch, &keep)?,
            None => batch,
        })
    }
}
