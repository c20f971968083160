//! `/services/auth/oidc`: a browser goes to the OpenID provider and comes back with a session.
//!
//! The login belongs to the browser that began it: its state is in a cookie as well. The way back ends
//! in a small page of this server that goes on to the console, as the cookie of the session is not sent
//! along with a request that another site caused.

use axum::extract::State;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::auth::port;
use crate::audit::Observed;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;
use crate::session::{Caller, cookie_header, cookie_session, source};
use crate::{ApiState, origin};

/// The cookie of a login under way.
const COOKIE: &str = "karst_oidc_state";
/// Where it is sent.
const COOKIE_PATH: &str = "/services/auth/oidc";

/// How users may log in, and whose session the browser's cookie is: what the login page shows.
pub(crate) async fn providers(
    State(state): State<ApiState>,
    headers: HeaderMap,
) -> Result<Response, RestError> {
    let user = cookie_session(&headers).and_then(|(_, key)| state.accounts.session_user(&key));
    let mut all = vec![json!({"type": "password"})];
    if let Some(provider) = state.accounts.oidc() {
        all.push(json!({
            "type": "oidc",
            "name": provider.settings().display_name,
            "url": "/services/auth/oidc/login",
        }));
    }
    Ok(OutputMode::Json
        .respond(StatusCode::OK, json!({"providers": all, "user": user}).to_string()))
}

fn no_provider() -> RestError {
    RestError::not_found("no OpenID provider is set up (authType in authentication.conf)")
}

/// Sends the browser to the provider.
pub(crate) async fn begin(State(state): State<ApiState>) -> Result<Response, RestError> {
    let provider = state.accounts.oidc().ok_or_else(no_provider)?;
    let login = provider.begin().await.map_err(|error| {
        tracing::warn!(%error, "a login at the provider cannot begin");
        let text = "the identity provider cannot be asked; try again later";
        RestError::new(StatusCode::SERVICE_UNAVAILABLE, "ERROR", text)
    })?;
    let cookie = state_cookie(&provider.settings().redirect_uri, &login.state, 600);
    let mut response = StatusCode::FOUND.into_response();
    let headers = response.headers_mut();
    for (name, text) in [(header::LOCATION, login.url), (header::SET_COOKIE, cookie)] {
        let value = HeaderValue::from_str(&text);
        let value = value.map_err(|_| RestError::invalid("an address that cannot be sent"))?;
        headers.insert(name, value);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Sent along when the provider's page leads back here, hence Lax.
fn state_cookie(redirect_uri: &str, state: &str, seconds: u32) -> String {
    let secure = if redirect_uri.starts_with("https:") { " Secure;" } else { "" };
    format!(
        "{COOKIE}={state}; Path={COOKIE_PATH}; Max-Age={seconds}; HttpOnly;{secure} SameSite=Lax"
    )
}

fn sent_state(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then(|| value.to_owned())
    })
}

/// Takes the browser back.
pub(crate) async fn finish(
    State(state): State<ApiState>,
    headers: HeaderMap,
    extensions: Extensions,
    seen: Observed,
    params: Params,
) -> Result<Response, RestError> {
    let provider = state.accounts.oidc().ok_or_else(no_provider)?;
    let source = source(&extensions);
    let refuse = |reason: String| {
        tracing::info!(target: "audit", reason, ?source, "login failed");
        page(
            StatusCode::UNAUTHORIZED,
            "Sign-in failed. Go back and try again, or ask an administrator.",
        )
    };
    if let Some(error) = params.text("error") {
        return Ok(refuse(format!("the provider refused: {error:.100}")));
    }
    let (Some(code), Some(given)) = (params.text("code"), params.text("state")) else {
        return Ok(refuse("no code and state".to_owned()));
    };
    // RFC 9207: another provider's answer is not taken for this one's.
    if params.text("iss").is_some_and(|iss| iss != provider.settings().issuer) {
        return Ok(refuse("the answer is from another issuer (iss)".to_owned()));
    }
    if sent_state(&headers).as_deref() != Some(given) {
        return Ok(refuse("the login began in another browser".to_owned()));
    }
    let found = match provider.finish(given, code).await {
        Ok(found) => found,
        Err(error) => return Ok(refuse(error.to_string())),
    };
    let user = match state.accounts.provision(found, &provider.settings().roles).await {
        Ok(user) => user,
        Err(refusal) => return Ok(refuse(format!("{refusal:?}"))),
    };
    let key = state.accounts.open_session(&user, source);
    seen.opened(&key);
    seen.caller(&Caller::new(&state, user, Some(key.clone())));
    let mut response = page(StatusCode::OK, "Signed in.");
    let name = format!("splunkd_{}", port(&headers));
    let ended = state_cookie(&provider.settings().redirect_uri, "", 0);
    let form_key = origin::form_key_cookie(port(&headers));
    let cookies = [cookie_header(&name, &key), form_key, HeaderValue::from_str(&ended).ok()];
    for value in cookies.into_iter().flatten() {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    Ok(response)
}

/// A page that leads to the console.
fn page(status: StatusCode, text: &str) -> Response {
    let refresh = match status {
        StatusCode::OK => "<meta http-equiv=\"refresh\" content=\"0;url=/\">",
        _ => "",
    };
    let body = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Karst</title>{refresh}\
         </head><body><p>{text}</p><p><a href=\"/\">Continue</a></p></body></html>\n"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (status, headers, body).into_response()
}
