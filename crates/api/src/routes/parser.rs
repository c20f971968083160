//! `/services/search/parser`: is this a search, and how is it understood?

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::jobs::request;
use crate::ApiState;
use crate::error::RestError;
use crate::output::{OutputMode, xml_text};
use crate::params::Params;
use crate::rest::Caller;

pub(crate) async fn parse(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    // The parser's parameter is `q`, the jobs' is `search`.
    let search = params.text("q").or_else(|| params.text("search"));
    let search = search.ok_or_else(|| RestError::invalid("add q=<SPL> to the request"))?;
    let encoded: String =
        form_urlencoded::Serializer::new(String::new()).append_pair("search", search).finish();
    let planned = state.search.check(&request(&Params::parse(&encoded, &[]), &caller)?).await?;
    let mode = OutputMode::of(&params)?;
    if mode.is_json() {
        let body = json!({
            "normalizedSearch": planned.normalized, "remoteSearch": planned.normalized,
            "messages": crate::output::messages_json(&planned.messages), "commands": [],
        });
        return Ok(mode.respond(StatusCode::OK, body.to_string()));
    }
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<response><dict><key name=\"normalizedSearch\">{}\
         </key></dict></response>\n",
        xml_text(&planned.normalized)
    );
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}
