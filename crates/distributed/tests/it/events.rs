//! Events of one block over several workers: the search head sees all of them during planning, each worker
//! reads its own.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use exprs::leaf::{Leaf, LeafExec};
use futures::future::BoxFuture;
use model::{IndexName, TimeRange, ValueCount};
use plan::{Error, EventSource, EventsRequest, FieldInfo, MetadataKind};

/// The name of the operator that reads events.
pub(crate) const EVENTS: &str = "EventsExec";

/// A source that plans over all events (`all`) and reads the events of `own`.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) all: Arc<dyn EventSource>,
    pub(crate) own: Arc<dyn EventSource>,
}

impl EventSource for Share {
    fn indexes(&self) -> Vec<IndexName> {
        self.all.indexes()
    }

    fn metric_indexes(&self) -> Vec<IndexName> {
        self.all.metric_indexes()
    }

    fn events(&self, request: &EventsRequest) -> Result<Arc<dyn TableProvider>, Error> {
        Ok(Arc::new(EventTable(self.own.events(request)?)))
    }

    fn fields<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<FieldInfo>, Error>> {
        Box::pin(async move { self.all.fields(indexes, range).await })
    }

    fn sourcetypes<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Option<HashSet<String>>, Error>> {
        Box::pin(async move { self.all.sourcetypes(indexes, range).await })
    }

    fn metadata<'a>(
        &'a self,
        kind: MetadataKind,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<ValueCount>, Error>> {
        Box::pin(async move { self.all.metadata(kind, indexes, range).await })
    }
}

/// A table of events, distinguished from other tables by its operator.
#[derive(Debug)]
struct EventTable(Arc<dyn TableProvider>);

#[async_trait]
impl TableProvider for EventTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let scan = self.0.scan(session, projection, filters, limit).await?;
        Ok(Arc::new(LeafExec(Events::new(scan))))
    }
}

/// A scan of events. The plan below it is hidden from the rules of the engine, as with a scan of buckets.
#[derive(Debug)]
struct Events {
    scan: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl Events {
    fn new(scan: Arc<dyn ExecutionPlan>) -> Self {
        let partitions = scan.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(scan.schema()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { scan, properties: Arc::new(properties) }
    }
}

impl Leaf for Events {
    const NAME: &'static str = EVENTS;

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn run(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        self.scan.execute(partition, context)
    }
}

/// Whether an operator reads events.
pub(crate) fn is_events(operator: &dyn ExecutionPlan) -> bool {
    operator.name() == EVENTS
}
