//! The metadata of the database: one catalog, one schema, a table per index.

use std::sync::Arc;

use access::Rights;
use arrow::array::{RecordBatch, StringArray};
use arrow::compute::like;
use arrow::datatypes::Schema;
use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::SqlInfoDataBuilder;
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetSqlInfo, CommandGetTableTypes,
    CommandGetTables, SqlInfo,
};
use search::{SQL_CATALOG, SQL_SCHEMA, SearchService};

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
    let pattern = query.table_name_filter_pattern.clone();
    let mut builder = query.into_builder();
    for name in search.sql_tables(rights) {
        // The builder filters, too, but after the columns of all tables have been computed.
        if !is_wanted(&name, pattern.as_deref())? {
            continue;
        }
        let schema = if builder.include_schema() {
            let columns = search.sql_columns(&name, rights).await.map_err(search_status)?;
            // An index that was removed a moment ago.
            let Some(columns) = columns else { continue };
            portable(&columns)
        } else {
            Schema::empty()
        };
        builder.append(SQL_CATALOG, SQL_SCHEMA, name, TABLE, &schema)?;
    }
    builder.build()
}

/// Whether a table has a name for which the client asks: a pattern as that of SQL's `LIKE`.
fn is_wanted(name: &str, pattern: Option<&str>) -> Result<bool, FlightError> {
    let Some(pattern) = pattern else { return Ok(true) };
    let names = StringArray::from(vec![name]);
    Ok(like(&names, &StringArray::new_scalar(pattern))?.value(0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_chosen_by_a_pattern() {
        let cases = [("web_prod", true), ("web%", true), ("web", false), ("", false)];
        for (pattern, expected) in cases {
            assert_eq!(is_wanted("web_prod", Some(pattern)).unwrap(), expected, "{pattern}");
        }
        assert!(is_wanted("web_prod", None).unwrap());
        assert!(is_wanted("web-prod", Some("web_prod")).unwrap());
    }
}
