//! From the text of a query to its plan, and to the names and types of its columns.
//!
//! Before the engine plans a query, it is known that the query only reads, and that its plan is neither deep
//! nor large: planning is work of one thread that nothing ends in the middle of a step.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::DataFrame;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{SetExpr, Statement as Parsed};
use exprs::ledger::Charge;
use model::ErrorKind;

use crate::sql_errors::planning_error;
use crate::{Error, sql_depth, sql_misread, sql_size};

/// A query that can run.
pub(crate) struct PlannedQuery {
    /// Its plan.
    pub frame: DataFrame,
    /// Names and types of its columns.
    pub schema: SchemaRef,
    /// The memory that planning takes until the plan runs.
    pub held: Charge,
}

impl PlannedQuery {
    /// Whether it shows a plan, and what the plan has read, instead of rows.
    pub(crate) fn explains(&self) -> bool {
        matches!(self.frame.logical_plan(), LogicalPlan::Explain(_) | LogicalPlan::Analyze(_))
    }
}

/// Parses a query that only reads and whose plan has at most `limit` steps.
pub(crate) fn parsed(
    query: &str,
    context: &SessionContext,
    limit: usize,
) -> Result<Statement, Error> {
    sql_depth::check(query, limit)?;
    let state = context.state();
    let dialect = state.config_options().sql_parser.dialect;
    let statement = state.sql_to_statement(query, &dialect).map_err(planning_error)?;
    if !only_reads(&statement) {
        let text =
            "SQL is read-only: only SELECT, EXPLAIN, SHOW and DESCRIBE are possible".to_owned();
        return Err(Error::Search { kind: ErrorKind::Invalid, text });
    }
    sql_misread::check(&statement)?;
    sql_size::check(&statement, limit)?;
    Ok(statement)
}

/// Returns the plan of a parsed query over the tables of a context, which has at most `limit` steps on its
/// longest way: calculated fields in tables add theirs to those of the query.
pub(crate) async fn planned(
    statement: Statement,
    context: &SessionContext,
    session: &plan::Session,
    limit: usize,
) -> Result<PlannedQuery, Error> {
    let state = context.state();
    let plan = Box::pin(state.statement_to_plan(statement)).await.map_err(planning_error)?;
    plan::check_sql_depth(&plan, limit)
        .map_err(|error| Error::Search { kind: error.kind(), text: error.to_string() })?;
    // What the kind of a statement does not show: a part that writes within one that reads.
    let options =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    options.verify_plan(&plan).map_err(planning_error)?;
    let held = session.charge_plan(&plan).map_err(|error| planning_error(error.into()))?;
    let frame = context.execute_logical_plan(plan).await.map_err(planning_error)?;
    let schema = schema(context, frame.logical_plan()).map_err(planning_error)?;
    Ok(PlannedQuery { frame, schema, held })
}

/// Whether a statement is of a kind that reads. Nothing writes: events are changed by ingest only. Nothing
/// changes the session, which lasts as long as the query.
fn only_reads(statement: &Statement) -> bool {
    match statement {
        Statement::Explain(explain) => only_reads(&explain.statement),
        Statement::Statement(parsed) => match parsed.as_ref() {
            Parsed::Query(query) => !matches!(
                query.body.as_ref(),
                SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)
            ),
            Parsed::Explain { .. }
            | Parsed::ExplainTable { .. }
            | Parsed::ShowCatalogs { .. }
            | Parsed::ShowCollation { .. }
            | Parsed::ShowColumns { .. }
            | Parsed::ShowCreate { .. }
            | Parsed::ShowDatabases { .. }
            | Parsed::ShowFunctions { .. }
            | Parsed::ShowSchemas { .. }
            | Parsed::ShowStatus { .. }
            | Parsed::ShowTables { .. }
            | Parsed::ShowVariable { .. }
            | Parsed::ShowVariables { .. }
            | Parsed::ShowViews { .. } => true,
            _ => false,
        },
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => false,
    }
}

/// The columns as they come: the types of the parsed plan are those of its first branch, before
/// `1 UNION ALL 'a'` and `CASE` find a type for all of them. Every column may be null, because the parts of a
/// plan do not agree on that, and clients of Flight compare this schema with that of the rows.
fn schema(context: &SessionContext, plan: &LogicalPlan) -> Result<SchemaRef, DataFusionError> {
    let state = context.state();
    // An EXPLAIN tells of what it cannot analyze.
    let analyzed = match plan {
        LogicalPlan::Explain(_) => plan.clone(),
        plan => {
            let options = state.config_options();
            state.analyzer().execute_and_check(plan.clone(), options, |_, _| {})?
        }
    };
    let fields = analyzed.schema().fields().iter();
    let fields = fields.map(|field| Field::clone(field).with_nullable(true));
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    fn reads(query: &str) -> bool {
        only_reads(&DFParser::parse_sql(query).unwrap()[0])
    }

    #[test]
    fn statements_that_read_are_told_from_those_that_write() {
        for query in [
            "SELECT 1",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "VALUES (1)",
            "SELECT 1 UNION ALL SELECT 2",
            "EXPLAIN SELECT 1",
            "EXPLAIN ANALYZE SELECT 1",
            "SHOW TABLES",
            "SHOW COLUMNS FROM main",
            "SHOW FUNCTIONS",
            "DESCRIBE main",
        ] {
            assert!(reads(query), "{query}");
        }
        for query in [
            "INSERT INTO main VALUES (1)",
            "UPDATE main SET a = 1",
            "DELETE FROM main",
            "DROP TABLE main",
            "CREATE TABLE a AS SELECT 1",
            "CREATE EXTERNAL TABLE a STORED AS CSV LOCATION '/etc/passwd'",
            "COPY main TO '/tmp/a.csv'",
            "SET datafusion.execution.batch_size = 1",
            "EXPLAIN INSERT INTO main VALUES (1)",
            "PREPARE a AS SELECT 1",
        ] {
            assert!(!reads(query), "{query}");
        }
    }
}
