//! The metadata of the database: one catalog, one schema, a table per index.

use std::sync::Arc;

use access::Rights;
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::SqlInfoDataBuilder;
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetSqlInfo, CommandGetTableTypes,
    CommandGetTables, SqlInfo,
};
use jiff::tz::TimeZone;
use runtime::trace::TraceContext;
use search::{SQL_CATALOG, SQL_SCHEMA, SearchService, SqlRequest, SqlRows};

use super::search_status;
use crate::portable::portable;

/// The kind of every table.
const TABLE: &str = "TABLE";

/// Returns the properties and capabilities of the server.
pub(super) fn server(query: CommandGetSqlInfo) -> Result<RecordBatch, FlightError> {
    let mut info = SqlInfoDataBuilder::new();
    info.append(SqlInfo::FlightSqlServerName, "Karst");
    info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(SqlInfo::FlightSqlServerArrowVersion, "1.3");
    info.append(SqlInfo::FlightSqlServerReadOnly, true);
    info.append(SqlInfo::FlightSqlServerSql, true);
    info.append(SqlInfo::FlightSqlServerSubstrait, false);
    info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    info.append(SqlInfo::SqlDdlCatalog, false);
    info.append(SqlInfo::SqlDdlSchema, false);
    info.append(SqlInfo::SqlDdlTable, false);
    query.into_builder(&info.build()?).build()
}

pub(super) fn catalogs(query: CommandGetCatalogs) -> Result<RecordBatch, FlightError> {
    let mut builder = query.into_builder();
    builder.append(SQL_CATALOG);
    builder.build()
}

pub(super) fn schemas(query: CommandGetDbSchemas) -> Result<RecordBatch, FlightError> {
    let mut builder = query.into_builder();
    builder.append(SQL_CATALOG, SQL_SCHEMA);
    builder.build()
}

pub(super) fn table_types(query: CommandGetTableTypes) -> Result<RecordBatch, FlightError> {
    let mut builder = query.into_builder();
    builder.append(TABLE);
    builder.build()
}

/// The indexes that the caller may search, with their columns if they are asked for.
pub(super) async fn tables(
    search: &SearchService,
    query: CommandGetTables,
    rights: &Arc<Rights>,
) -> Result<RecordBatch, FlightError> {
    let mut builder = query.into_builder();
    for name in search.sql_tables(rights) {
        let schema = if builder.include_schema() {
            columns(search, &name, rights).await?
        } else {
            Schema::empty()
        };
        builder.append(SQL_CATALOG, SQL_SCHEMA, name, TABLE, &schema)?;
    }
    builder.build()
}

async fn columns(
    search: &SearchService,
    table: &str,
    rights: &Arc<Rights>,
) -> Result<Schema, FlightError> {
    let request = SqlRequest {
        query: format!("SELECT * FROM \"{}\"", table.replace('"', "\"\"")),
        earliest: None,
        latest: None,
        timezone: TimeZone::UTC,
        rights: Arc::clone(rights),
        rows: SqlRows::All,
        trace: TraceContext::default(),
    };
    let schema = search.sql_schema(request).await.map_err(search_status)?;
    Ok(portable(&schema))
}
