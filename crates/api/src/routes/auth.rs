//! `/services/auth`: a session for a name and a password.

use access::{AtProvider, Attempt};
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use crate::audit::Observed;
use crate::cookies::{cookie_header, cookie_sessions, is_secure, removal_header};
use crate::error::{RestError, Written};
use crate::output::OutputMode;
use crate::params::Params;
use crate::rights::Need::Open;
use crate::routing::{Routes, post};
use crate::session::{Caller, SignedOut, log_in, source};
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::{ApiState, Arrival, origin};

pub(super) fn routes() -> Routes {
    Routes::default().at(
        "/services/auth/login",
        post(Open, "Opens a session for a user name and password", login),
    )
}

async fn login(
    State(state): State<ApiState>,
    headers: HeaderMap,
    extensions: Extensions,
    seen: Observed,
    params: Params,
) -> Result<Response, RestError> {
    let (Some(user), Some(password)) = (params.get("username"), params.get("password")) else {
        return Err(RestError::new(StatusCode::BAD_REQUEST, "WARN", "Login failed"));
    };
    if params.flag("cookie") {
        origin::check_login(&headers)?;
    }
    let source = source(&extensions);
    let new_password = params.text("new_password");
    let attempt = Attempt { user, password, new_password, source };
    let user = log_in(&state, attempt).await.map_err(|told| {
        told.unwrap_or_else(|| {
            let mut error = RestError::new(StatusCode::UNAUTHORIZED, "WARN", "Login failed");
            error.code = Some("incorrect_username_or_password");
            error
        })
    })?;
    let key = state.accounts.open_session(&user, source).await;
    seen.opened(&key);
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
        let name = format!("splunkd_{}", port(&headers));
        // Pages of the console need a form key, programs at the management port do not.
        let arrival = extensions.get::<Arrival>().copied();
        let is_web = arrival.is_none_or(|arrival| arrival.web);
        let secure = is_secure(&headers, arrival.unwrap_or_default());
        let form_key = is_web.then(|| origin::form_key_cookie(port(&headers), secure)).flatten();
        let cookies = [cookie_header(&name, &key, secure), form_key];
        for value in cookies.into_iter().flatten() {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    Ok(response)
}

/// The port that the client asked: cookies have no ports of their own, so their names tell servers of
/// one machine apart.
pub(super) fn port(headers: &HeaderMap) -> u16 {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    host.and_then(|host| host.rsplit_once(':')?.1.parse().ok()).unwrap_or(8089)
}

/// Ends the session. `redirect` in the response is the URL at which a browser ends the session at the
/// provider, too, even if the session has ended in this process only. The cookie is removed from the browser
/// in both cases.
pub(super) async fn logout(
    State(state): State<ApiState>,
    headers: HeaderMap,
    extensions: Extensions,
    caller: Caller,
) -> Result<Response, RestError> {
    let (closed, ended) = match &caller.session {
        Some(key) => state.accounts.close_session(key).await,
        None => (AtProvider::default(), Ok(())),
    };
    let subject = closed.subject;
    let next = subject.zip(state.accounts.saml()).and_then(|(subject, provider)| {
        let next = provider.logout_url(&subject);
        // The session here has ended nevertheless.
        next.inspect_err(|error| tracing::warn!(%error, "no logout at the provider")).ok()?
    });
    let mut body = next.map_or_else(|| json!({}), |url| json!({"redirect": url}));
    let mut response = match ended {
        Ok(()) => OutputMode::Json.respond(StatusCode::OK, body.to_string()),
        // The client must not retry: the key is no longer valid here.
        Err(error) => {
            let error = RestError::from(error);
            body["messages"] = json!([{"type": error.severity, "text": error.text}]);
            let mut response = OutputMode::Json.respond(error.status, body.to_string());
            response.extensions_mut().insert(error);
            response.extensions_mut().insert(Written);
            response
        }
    };
    // Other processes may accept the key for some time yet: the browser is not to send it to them.
    let secure = is_secure(&headers, extensions.get::<Arrival>().copied().unwrap_or_default());
    let own = cookie_sessions(&headers).filter(|(_, key)| caller.session.as_ref() == Some(key));
    for value in own.filter_map(|(name, _)| removal_header(&name, secure)) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response.extensions_mut().insert(SignedOut);
    Ok(response)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case("POST /services/auth/login", "username=admin&password=changeme-1", 200, "sessionKey")
            .by(""),
        case("POST /services/auth/login", "username=admin", 400, "Login failed").by(""),
        case("POST /services/auth/login", "username=admin&password=no", 401, "Login failed").by(""),
    ]
}
