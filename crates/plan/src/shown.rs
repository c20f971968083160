//! The fields that the configuration adds to displayed events.
//!
//! A search computes the fields that it names. Lists of events show all of them, but of most events that a
//! search finds nobody sees a page: what no command named is computed for the rows of a page, when it is
//! requested. Guarantees: the same functions as in a search, planned once for the events of a result.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use exprs::required_fields::RequiredFields;
use exprs::types::{ArrowType, ValueType};
use frames::scan::TABLE;
use frames::{Frame, FrameColumn};

use crate::commands::{Enrichment, FIXED};
use crate::pipeline::{PIPELINES, depth};
use crate::{Error, MessageLog, PlanContext, Session};
use context::event_types;
use context::planning::PlanningContext;

/// Maximum depth of a plan that runs on a thread with a stack of ordinary size, outside of the search
/// threads.
const MAX_DEPTH: usize = 100;

/// Number of fields from which on it is worthwhile to find the fields that events have. Event types and tags
/// of an installation with many add-ons read thousands of fields, and a plan with a column for each takes
/// seconds.
const WIDE: usize = 200;

/// The planned fields of displayed events.
#[derive(Debug)]
pub enum ShownPlan {
    /// The configuration adds no fields.
    Nothing,
    /// The fields depend on so many others that the plan needs to know which of those the events have.
    Wide,
    /// The added fields.
    Fields(ShownFields),
}

/// The calculated fields, fields of automatic lookups, event types and tags of events.
#[derive(Debug)]
pub struct ShownFields {
    /// The columns from which they are computed.
    reads: SchemaRef,
    /// The projections, in order.
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    exprs: Vec<ProjectionExpr>,
    schema: SchemaRef,
}

/// Plans the fields that the configuration adds to events of the source types of the context's source.
/// `present` are the extracted and indexed fields of the events, if known.
///
/// # Errors
/// If it cannot be planned, for example because it is too deep.
pub async fn shown_fields(
    context: &PlanContext,
    session: &Session,
    present: Option<&HashSet<String>>,
) -> Result<ShownPlan, Error> {
    // Warnings about the configuration are only shown for searches that name its fields.
    let log = MessageLog::default();
    let env = PlanningContext::new(context, &log, None, &PIPELINES);
    context.planning.counted(Box::pin(planned(&env, session, present))).await
}

async fn planned(
    env: &PlanningContext<'_>,
    session: &Session,
    present: Option<&HashSet<String>>,
) -> Result<ShownPlan, Error> {
    let mut required = RequiredFields::default();
    required.pattern("*");
    event_types::names(env).iter().for_each(|name| required.name(name));
    let enrichment = Box::pin(Enrichment::of_any(&mut required, env)).await?;
    let sets = enrichment.fields(env);
    if sets.is_empty() {
        return Ok(ShownPlan::Nothing);
    }
    let fixed = |name: &str| FIXED.iter().any(|(known, _)| *known == name);
    let mut columns: Vec<FrameColumn> = FIXED
        .iter()
        .map(|(name, kind)| FrameColumn { name: (*name).to_owned(), kind: *kind })
        .collect();
    let others = required.names.iter().filter(|name| !fixed(name) && !name.starts_with("__"));
    let mut seen = HashSet::new();
    let others = others.filter(|name| present.is_none_or(|present| present.contains(*name)));
    for name in others.filter(|name| seen.insert(name.as_str())) {
        // Whether some event has several values is unknown at this point.
        columns.push(FrameColumn { name: name.clone(), kind: ValueType::Multi });
    }
    if present.is_none() && columns.len() > WIDE {
        return Ok(ShownPlan::Wide);
    }
    let field = |column: &FrameColumn| Field::new(&column.name, column.kind.data_type(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let table: Arc<dyn TableProvider> = Arc::new(MemTable::try_new(schema, vec![Vec::new()])?);
    let name = TableReference::bare(TABLE);
    let scan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?.build()?;
    let mut frame = Frame::of_table(scan, TABLE, columns, Vec::new())?;
    frame.open = true;
    frame = enrichment.apply(frame, env)?.select(&sets)?;
    depth::check(frame.plan(), MAX_DEPTH.min(env.context.limits.plan_depth))?;
    let (plan, _) = frame.finish()?;
    let plan = session.plan_of_projections(&plan).await?;
    ShownFields::of(&plan).map(ShownPlan::Fields)
}

impl ShownFields {
    /// Extracts the computations from a plan of projections.
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Self, Error> {
        let mut steps = Vec::new();
        let mut node = plan;
        loop {
            if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
                let exprs = projection.expr().to_vec();
                steps.push(Step { exprs, schema: projection.schema() });
            }
            match node.children()[..] {
                [] => break,
                [below] if node.downcast_ref::<ProjectionExec>().is_some() => node = below,
                [below] if below.schema() == node.schema() => node = below,
                _ => {
                    let message = format!("the fields of shown events need a {}", node.name());
                    return Err(Error::internal(message));
                }
            }
        }
        steps.reverse();
        Ok(Self { reads: node.schema(), steps })
    }

    /// Returns the names and types of the columns that [`Self::of_rows`] reads.
    #[must_use]
    pub fn reads(&self) -> &SchemaRef {
        &self.reads
    }

    /// The columns that the configuration adds, one row for each of `rows`, which has columns of
    /// [`Self::reads`]; those that it lacks have no values.
    ///
    /// # Errors
    /// If a value breaks a function.
    pub fn of_rows(&self, rows: &RecordBatch) -> Result<RecordBatch, Error> {
        let count = rows.num_rows();
        let column = |field: &Arc<Field>| {
            let found =
                rows.column_by_name(field.name()).filter(|c| c.data_type() == field.data_type());
            found.cloned().unwrap_or_else(|| new_null_array(field.data_type(), count))
        };
        let columns: Vec<ArrayRef> = self.reads.fields().iter().map(column).collect();
        let mut batch = batch_of(&self.reads, columns, count)?;
        for step in &self.steps {
            let values = step.exprs.iter().map(|one| one.expr.evaluate(&batch)?.into_array(count));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            batch = batch_of(&step.schema, values, count)?;
        }
        Ok(batch)
    }
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, Error> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let fields = schema.fields().iter().zip(&columns);
    let fields: Vec<Field> = fields
        .map(|(field, column)| Field::new(field.name(), column.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}
