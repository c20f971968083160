//! `/services/admin/inputstatus`: how much of each monitored file is taken in.

use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::feed;
use crate::ApiState;
use crate::error::RestError;
use crate::params::Params;

pub(crate) async fn files(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let path = "/services/admin/inputstatus";
    let mut inputs = Map::new();
    for file in state.files.files() {
        let percent = (file.percent() * 100.0).round() / 100.0;
        let status = json!({
            "file position": file.position,
            "file size": file.size,
            "percent": percent,
            "type": file.state.as_str(),
        });
        inputs.insert(file.path.to_string_lossy().into_owned(), status);
    }
    let mut content = Map::new();
    content.insert("inputs".to_owned(), Value::Object(inputs));
    let entry = feed::entry(path, "TailingProcessor:FileStatus", content);
    feed::respond_one("inputstatus", path, entry, &params)
}
