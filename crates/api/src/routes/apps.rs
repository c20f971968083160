//! `/services/apps/local`: the one app there is, the search app.

use axum::response::Response;
use serde_json::{Map, json};

use super::feed;
use crate::error::RestError;
use crate::params::Params;

pub(crate) async fn list(params: Params) -> Result<Response, RestError> {
    let mut content = Map::new();
    content.insert("label".to_owned(), json!("Search & Reporting"));
    content.insert("visible".to_owned(), json!(true));
    content.insert("disabled".to_owned(), json!(false));
    content.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    let entries = vec![feed::entry("/services/apps/local", "search", content)];
    feed::respond("localapps", "/services/apps/local", entries, &params)
}
