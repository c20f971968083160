//! The leaf of a distributed plan: a recipe that a worker plans, and the map part of what it planned.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::common::{exec_err, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf;
use exprs::leaf::{Leaf, LeafExec};
use futures::TryStreamExt;
use prost::Message;

use crate::cut::cut;

/// What a worker plans the map part of a search from, in a form that only the [`MapPlanner`] reads.
pub type Recipe = Arc<[u8]>;

/// A plan, and what it runs in.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The whole plan, before it is cut.
    pub plan: Arc<dyn ExecutionPlan>,
    /// The memory and the settings of the search on this worker.
    pub context: Arc<TaskContext>,
}

/// Plans recipes, on a worker.
#[async_trait]
pub trait MapPlanner: fmt::Debug + Send + Sync + 'static {
    /// The plan of a recipe over the events of a task.
    ///
    /// # Errors
    /// If the recipe cannot be read, or the search cannot be planned here.
    async fn plan(&self, recipe: &[u8], task: usize) -> Result<Planned>;

    /// Whether an operator of such a plan reads events.
    fn is_events(&self, operator: &dyn ExecutionPlan) -> bool;
}

/// The map part of a search for one task: a worker plans it when it runs.
#[derive(Debug)]
pub(crate) struct MapPart {
    pub(crate) recipe: Recipe,
    /// Which branch of the plan.
    pub(crate) number: usize,
    pub(crate) task: usize,
    /// Absent at the search head, which never runs it.
    planner: Option<Arc<dyn MapPlanner>>,
    properties: Arc<PlanProperties>,
}

impl MapPart {
    /// The part of a task, as the search head sends it: with the columns and the order of the map part.
    pub(crate) fn of(
        recipe: Recipe,
        number: usize,
        task: usize,
        order: EquivalenceProperties,
    ) -> Self {
        Self { recipe, number, task, planner: None, properties: properties(order) }
    }
}

fn properties(order: EquivalenceProperties) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        order,
        Partitioning::UnknownPartitioning(1),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

impl Leaf for MapPart {
    const NAME: &'static str = "MapExec";

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": branch={}, task={}", self.number, self.task)
    }

    fn run(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("MapExec has one partition, not {}", partition + 1);
        }
        let Some(planner) = self.planner.clone() else {
            return exec_err!("the map part of a search runs on a worker only");
        };
        let (recipe, number, task) = (Arc::clone(&self.recipe), self.number, self.task);
        let schema = Arc::clone(self.properties.eq_properties.schema());
        let expected = Arc::clone(&schema);
        let rows = async move {
            let planned = planner.plan(&recipe, task).await?;
            let map = map_part(&planned.plan, planner.as_ref(), number)?;
            check(&expected, &map.schema())?;
            map.execute(0, planned.context)
        };
        let rows = futures::stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// The branch of a plan with this number.
fn map_part(
    plan: &Arc<dyn ExecutionPlan>,
    planner: &dyn MapPlanner,
    number: usize,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut found = None;
    cut(plan, &|operator| planner.is_events(operator), &mut |cut| {
        if cut.number == number {
            found = Some(Arc::clone(&cut.map));
        }
        Ok(cut.map)
    })?;
    found.map_or_else(
        || exec_err!("this worker plans the search differently: its plan has no branch {number}"),
        Ok,
    )
}

/// A worker whose part has other columns would give wrong rows.
fn check(expected: &Schema, planned: &Schema) -> Result<()> {
    let columns = |schema: &Schema| {
        let fields = schema.fields().iter();
        fields.map(|field| (field.name().clone(), field.data_type().clone())).collect::<Vec<_>>()
    };
    if columns(expected) == columns(planned) {
        return Ok(());
    }
    exec_err!(
        "this worker plans the search differently: {planned} where the search head expects {expected}"
    )
}

/// [`MapPart`] on the wire.
#[derive(Clone, PartialEq, Message)]
struct MapMessage {
    #[prost(bytes = "vec", tag = "1")]
    recipe: Vec<u8>,
    #[prost(uint64, tag = "2")]
    number: u64,
    #[prost(uint64, tag = "3")]
    task: u64,
    #[prost(message, optional, tag = "4")]
    schema: Option<protobuf::Schema>,
}

/// Writes and reads [`MapPart`]; a worker's has the planner.
#[derive(Debug)]
pub(crate) struct MapCodec(pub(crate) Option<Arc<dyn MapPlanner>>);

impl PhysicalExtensionCodec for MapCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let message = MapMessage::decode(bytes).map_err(unreadable)?;
        let Some(schema) = &message.schema else {
            return exec_err!("the map part of a search came without its columns");
        };
        let schema: SchemaRef = Arc::new(Schema::try_from(schema)?);
        let (Ok(number), Ok(task)) =
            (usize::try_from(message.number), usize::try_from(message.task))
        else {
            return exec_err!("the map part of a search came with a number out of range");
        };
        Ok(Arc::new(LeafExec(MapPart {
            recipe: message.recipe.into(),
            number,
            task,
            planner: self.0.clone(),
            properties: properties(EquivalenceProperties::new(schema)),
        })))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(LeafExec(map)) = node.downcast_ref::<LeafExec<MapPart>>() else {
            return internal_err!("{} does not travel", node.name());
        };
        let schema = protobuf::Schema::try_from(node.schema().as_ref())?;
        let message = MapMessage {
            recipe: map.recipe.to_vec(),
            number: map.number as u64,
            task: map.task as u64,
            schema: Some(schema),
        };
        message.encode(bytes).map_err(unreadable)
    }
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
