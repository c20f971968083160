//! A query and the range of time it is about, as a handle that clients keep.

use std::sync::Arc;

use access::Rights;
use jiff::tz::TimeZone;
use prost::bytes::Bytes;
use runtime::trace::TraceContext;
use search::{SqlRequest, SqlRows};
use serde::{Deserialize, Serialize};
use tonic::Status;
use tonic::metadata::MetadataMap;

/// The query, without the caller: the caller is determined in every call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    query: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earliest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    app: Option<String>,
}

impl Statement {
    /// Creates a statement from a query and the time range, zone and app in the headers.
    pub(super) fn of(query: String, headers: &MetadataMap) -> Result<Self, Status> {
        let header = |name: &str| {
            let text = headers.get(name).map(|value| value.to_str().map(str::to_owned)).transpose();
            text.map_err(|_| Status::invalid_argument(format!("the header {name} is not a text")))
        };
        Ok(Self {
            query,
            earliest: header("karst-earliest")?,
            latest: header("karst-latest")?,
            timezone: header("karst-timezone")?,
            app: header("karst-app")?,
        })
    }

    pub(super) fn handle(&self) -> Bytes {
        // A structure of texts can always be written.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    pub(super) fn from_handle(handle: &[u8]) -> Result<Self, Status> {
        serde_json::from_slice(handle).map_err(|error| {
            Status::invalid_argument(format!(
                "the handle of the statement is not one of Karst's: {error}"
            ))
        })
    }

    /// Returns the request to run, with these rights.
    pub(super) fn request(self, rights: &Arc<Rights>) -> Result<SqlRequest, String> {
        let timezone = match &self.timezone {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|error| {
                format!("karst-timezone: unknown time zone \"{name}\": {error}")
            })?,
        };
        Ok(SqlRequest {
            query: self.query,
            earliest: self.earliest,
            latest: self.latest,
            timezone,
            app: search::sql_app(self.app),
            rights: Arc::clone(rights),
            rows: SqlRows::All,
            trace: TraceContext::default(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn handles_hold_the_query_and_its_range() {
        let mut headers = MetadataMap::new();
        headers.insert("karst-earliest", "-1h".parse().unwrap());
        headers.insert("karst-app", "sales".parse().unwrap());
        let statement = Statement::of("SELECT 1".to_owned(), &headers).unwrap();
        let again = Statement::from_handle(&statement.handle()).unwrap();
        assert_eq!(again, statement);
        let request = again.request(&Arc::new(Rights::of_system("admin"))).unwrap();
        assert_eq!(
            (request.query.as_str(), request.earliest.as_deref(), request.app.as_str()),
            ("SELECT 1", Some("-1h"), "sales")
        );
        assert!(Statement::from_handle(b"x").is_err());
    }

    #[test]
    fn zones_have_to_exist() {
        let mut headers = MetadataMap::new();
        headers.insert("karst-timezone", "Europe/Nowhere".parse().unwrap());
        let statement = Statement::of("SELECT 1".to_owned(), &headers).unwrap();
        let error = statement.request(&Arc::new(Rights::of_system("admin"))).unwrap_err();
        assert!(error.contains("Europe/Nowhere"), "{error}");
    }
}
