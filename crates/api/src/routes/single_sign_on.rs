//! Common parts of logins at a provider's page: the options of the login page, the cookie of a pending login,
//! and the end of a login.
//!
//! A login belongs to the browser that began it: its state is in a cookie. The redirect from the provider
//! ends at a small page of this server that continues to the console, because the session cookie is not sent
//! with a request that another site caused.

use access::AtProvider;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::auth::port;
use crate::audit::Observed;
use crate::cookies::{cookie_header, cookie_sessions, is_secure};
use crate::error::{RestError, Written};
use crate::output::OutputMode;
use crate::rights::Need::Open;
use crate::routing::{Routes, get};
use crate::session::source;
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::{ApiState, Arrival, origin};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at("/services/auth/providers", get(Open, "Available login methods, as JSON", providers))
}

/// Seconds of a login at a provider.
const PATIENCE: u32 = 600;
const FAILED: &str = "Sign-in failed. Go back and try again, or ask an administrator.";

/// Returns the login methods, and the user of the browser's session cookie, for the login page.
async fn providers(
    State(state): State<ApiState>,
    headers: HeaderMap,
) -> Result<Response, RestError> {
    let user = cookie_sessions(&headers).find_map(|(_, key)| state.accounts.session_user(&key));
    let mut all = vec![json!({"type": "password"})];
    if let Some(provider) = state.accounts.oidc() {
        all.push(json!({
            "type": "oidc",
            "name": provider.settings().display_name,
            "url": "/services/auth/oidc/login",
        }));
    }
    if let Some(provider) = state.accounts.saml() {
        all.push(json!({
            "type": "saml",
            "name": provider.settings().display_name,
            "url": "/saml/login",
        }));
    }
    Ok(OutputMode::Json
        .respond(StatusCode::OK, json!({"providers": all, "user": user}).to_string()))
}

/// The cookie of a pending login.
#[derive(Debug)]
pub(super) struct StateCookie {
    pub(super) name: &'static str,
    /// The path to which it is sent.
    pub(super) path: &'static str,
}

impl StateCookie {
    /// Returns the header that sets the cookie. `SameSite=Lax`, because the cookie has to be sent when the
    /// provider's page redirects to `back`.
    fn header(&self, back: &str, state: &str, seconds: u32) -> Option<HeaderValue> {
        let Self { name, path } = self;
        let secure = if back.starts_with("https:") { " Secure;" } else { "" };
        let cookie = format!(
            "{name}={state}; Path={path}; Max-Age={seconds}; HttpOnly;{secure} SameSite=Lax"
        );
        HeaderValue::from_str(&cookie).ok()
    }

    pub(super) fn sent(&self, headers: &HeaderMap) -> Option<String> {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies.flat_map(|line| line.split(';')).find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.name).then(|| value.to_owned())
        })
    }

    /// Sends the browser to the provider.
    pub(super) fn begin(
        &self,
        login: &access::LoginRequest,
        back: &str,
    ) -> Result<Response, RestError> {
        let mut response = redirect(&login.url)?;
        let cookie = self.header(back, &login.state, PATIENCE);
        response.headers_mut().extend(cookie.map(|value| (header::SET_COOKIE, value)));
        Ok(response)
    }
}

/// A user whom the provider logged in.
pub(super) struct SignedIn {
    pub(super) user: String,
    pub(super) at: AtProvider,
}

impl SignedIn {
    /// Opens the session. `back`: as for the cookie.
    pub(super) async fn open(
        self,
        state: &ApiState,
        (headers, extensions): (&HeaderMap, &Extensions),
        seen: &Observed,
        (cookie, back): (&StateCookie, &str),
    ) -> Response {
        let key = state.accounts.open_session_of(&self.user, source(extensions), self.at).await;
        seen.opened(&key);
        seen.caller(&self.user);
        let mut response = page(StatusCode::OK, "Signed in.", Some("/"));
        let name = format!("splunkd_{}", port(headers));
        let secure = back.starts_with("https:")
            || is_secure(headers, extensions.get::<Arrival>().copied().unwrap_or_default());
        let form_key = origin::form_key_cookie(port(headers), secure);
        let cookies = [cookie_header(&name, &key, secure), form_key, cookie.header(back, "", 0)];
        for value in cookies.into_iter().flatten() {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
        response
    }
}

/// The answer to a login that failed; the reason is for the log and the audit trail alone.
pub(super) fn refuse(extensions: &Extensions, reason: String) -> Response {
    refused(page(StatusCode::UNAUTHORIZED, FAILED, None), extensions, reason)
}

/// The same with an answer of another kind.
pub(super) fn refused(mut response: Response, extensions: &Extensions, reason: String) -> Response {
    let source = source(extensions);
    tracing::info!(target: "audit", reason, ?source, "login failed");
    response.extensions_mut().insert(RestError::new(StatusCode::UNAUTHORIZED, "ERROR", reason));
    response.extensions_mut().insert(Written);
    response
}

pub(super) fn redirect(url: &str) -> Result<Response, RestError> {
    let value = HeaderValue::from_str(url);
    let value = value.map_err(|_| RestError::invalid("an address that cannot be sent"))?;
    let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok((StatusCode::FOUND, [(header::LOCATION, value), no_store]).into_response())
}

/// A page; with `next`, it leads there.
pub(super) fn page(status: StatusCode, text: &str, next: Option<&str>) -> Response {
    let refresh = next.map_or_else(String::new, |next| {
        format!("<meta http-equiv=\"refresh\" content=\"0;url={next}\">")
    });
    let next = next.unwrap_or("/");
    let body = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Karst</title>{refresh}\
         </head><body><p>{text}</p><p><a href=\"{next}\">Continue</a></p></body></html>\n"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (status, headers, body).into_response()
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![case("GET /services/auth/providers", "", 200, "\"type\":\"password\"").by("")]
}
