//! `/services/admin/inputstatus`: how much of each monitored file is taken in.

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::feed;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/admin/inputstatus",
            get(May("list_inputs"), "Progress of each monitored file", files),
        )
        .at(
            "/services/admin/inputstatus/TailingProcessor:FileStatus",
            get(May("list_inputs"), "The same", files),
        )
}

async fn files(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let path = "/services/admin/inputstatus";
    let mut inputs = Map::new();
    for file in state.files.files() {
        let percent = (file.percent() * 100.0).round() / 100.0;
        let status = json!({
            "file position": file.position,
            "file size": file.size,
            "percent": percent,
            "type": file.described(),
        });
        inputs.insert(file.path.to_string_lossy().into_owned(), status);
    }
    let mut content = Map::new();
    content.insert("inputs".to_owned(), Value::Object(inputs));
    let entry = Entry::new(path, "TailingProcessor:FileStatus", content);
    feed::respond_one("inputstatus", path, entry, &params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "/services/admin/inputstatus";
    let files = format!("GET {path}/TailingProcessor:FileStatus");
    let unknown = "unknown output_mode";
    vec![
        case(&format!("GET {path}"), "", 200, "\"inputs\":{}"),
        case(&format!("GET {path}?output_mode=none"), "", 400, unknown),
        case(&files, "", 200, "\"inputs\":{}"),
        case(&format!("{files}?output_mode=none"), "", 400, unknown),
    ]
}
