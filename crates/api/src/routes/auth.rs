//! `/services/auth`: a session for a name and a password.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use crate::ApiState;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;
use crate::rest::Caller;

pub(crate) async fn login(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let (Some(user), Some(password)) = (params.text("username"), params.get("password")) else {
        return Err(RestError::new(StatusCode::BAD_REQUEST, "WARN", "Login failed"));
    };
    if !state.accounts.verify(user, password).await {
        let mut error = RestError::new(StatusCode::UNAUTHORIZED, "WARN", "Login failed");
        error.code = Some("incorrect_username_or_password");
        return Err(error);
    }
    let key = state.accounts.open_session(user);
    let mode = OutputMode::of(&params)?;
    let mut response = if mode.is_json() {
        let body = json!({"sessionKey": key, "message": "", "code": ""}).to_string();
        mode.respond(StatusCode::OK, body)
    } else {
        let body = format!(
            "<response>\n  <sessionKey>{key}</sessionKey>\n  <messages>\n    <msg code=\"\"></msg>\n  \
             </messages>\n</response>\n"
        );
        OutputMode::Xml.respond(StatusCode::OK, body)
    };
    if params.flag("cookie") {
        let cookie = format!("splunkd_8089={key}; Path=/; HttpOnly; Secure; SameSite=Strict");
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(header::SET_COOKIE, value);
        }
    }
    Ok(response)
}

pub(crate) async fn logout(
    State(state): State<ApiState>,
    caller: Caller,
) -> Result<Response, RestError> {
    if let Some(key) = &caller.session {
        state.accounts.close_session(key);
    }
    Ok(OutputMode::Json.respond(StatusCode::OK, "{}"))
}
