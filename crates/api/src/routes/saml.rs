//! `/saml`: redirects a browser to the SAML identity provider, from where it returns to get a session.
//!
//! ```text
//! GET  /saml/login       sends the browser to the provider, with a cookie
//! POST /saml/acs         takes the form that the provider's page submits; logs nobody in
//! GET  /saml/finish      where the answer to that form leads: it has the cookie, and gets the session
//! GET  /saml/spmetadata  what the provider's administrator needs
//!      /saml/logout      where the provider sends the browser after a logout
//! ```

use access::saml::SamlProvider;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::single_sign_on::{SignedIn, StateCookie, page, redirect, refuse, refused};
use crate::ApiState;
use crate::audit::Observed;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::Open;
use crate::routing::{Routes, get, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at("/saml/login", get(Open, "Redirects a browser to the SAML provider", begin))
        .at("/saml/acs", post(Open, "Accepts the SAML provider's response", accept))
        .at(
            "/saml/finish",
            get(Open, "Sets the session cookie, for the browser that began the login", finish),
        )
        .at(
            "/saml/spmetadata",
            get(Open, "Metadata for the SAML provider's administrator", metadata),
        )
        .at(
            "/saml/logout",
            get(Open, "Redirect target after a logout at the SAML provider", signed_out)
                .post(Open, "The same", signed_out),
        )
}

const COOKIE: StateCookie = StateCookie { name: "karst_saml_state", path: "/saml" };
/// Marks a login that was sent to the console's configured address.
const MOVED: &str = "moved";

fn provider(state: &ApiState) -> Result<&SamlProvider, RestError> {
    state.accounts.saml().ok_or_else(|| {
        RestError::not_found("no SAML provider is set up (authType in authentication.conf)")
    })
}

/// The console's own address in a URL of it, and the host in that.
fn console(acs_url: &str) -> (&str, &str) {
    let base = acs_url.strip_suffix(::access::saml::ACS_PATH).unwrap_or(acs_url);
    (base, base.split_once("://").map_or(base, |(_, host)| host))
}

/// Redirects the browser to the provider. It returns to the configured address: a login that begins at
/// another address is redirected to that one first, because the cookie belongs to the address.
async fn begin(
    State(state): State<ApiState>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, RestError> {
    let provider = provider(&state)?;
    let back = provider.settings().messages.acs_url.as_str();
    let (base, host) = console(back);
    let asked = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or(host);
    if !asked.eq_ignore_ascii_case(host) && params.text(MOVED).is_none() {
        return redirect(&format!("{base}/saml/login?{MOVED}=1"));
    }
    let login = provider.begin().map_err(|error| {
        tracing::warn!(%error, "a login at the provider cannot begin");
        let text = "the login cannot begin; the server's log has the reason";
        RestError::new(StatusCode::SERVICE_UNAVAILABLE, "ERROR", text)
    })?;
    COOKIE.begin(&login, back)
}

/// The answer to a login that failed.
fn failure(provider: &SamlProvider, extensions: &Extensions, reason: String) -> Response {
    let url = provider.settings().messages.error_url.as_deref();
    match url.and_then(|url| redirect(url).ok()) {
        Some(response) => refused(response, extensions, reason),
        None => refuse(extensions, reason),
    }
}

/// Takes the provider's response.
async fn accept(
    State(state): State<ApiState>,
    extensions: Extensions,
    params: Params,
) -> Result<Response, RestError> {
    let provider = provider(&state)?;
    let failure = |reason: &str| Ok(failure(provider, &extensions, reason.to_owned()));
    let Some(response) = params.get("SAMLResponse") else { return failure("no SAMLResponse") };
    let Some(relay_state) = params.text("RelayState") else {
        return failure("no RelayState: logins that begin at the provider are not supported");
    };
    match provider.accept(relay_state, response) {
        Ok(()) => Ok(page(StatusCode::OK, "Signing in.", Some("/saml/finish"))),
        Err(error) => failure(&error.to_string()),
    }
}

/// Opens the session of the browser that began the login.
async fn finish(
    State(state): State<ApiState>,
    headers: HeaderMap,
    extensions: Extensions,
    seen: Observed,
) -> Result<Response, RestError> {
    let provider = provider(&state)?;
    let failure = |reason| Ok(failure(provider, &extensions, reason));
    let Some(given) = COOKIE.sent(&headers) else {
        return failure("the login began in another browser".to_owned());
    };
    let (found, at) = match provider.finish(&given) {
        Ok(found) => found,
        Err(error) => return failure(error.to_string()),
    };
    let user = match state.accounts.provision(found, &provider.settings().roles).await {
        Ok(user) => user,
        Err(refusal) => return failure(refusal.to_string()),
    };
    let back = (&COOKIE, provider.settings().messages.acs_url.as_str());
    Ok(SignedIn { user, at }.open(&state, (&headers, &extensions), &seen, back).await)
}

async fn metadata(State(state): State<ApiState>) -> Result<Response, RestError> {
    let kind = [(header::CONTENT_TYPE, "application/samlmetadata+xml")];
    Ok((kind, provider(&state)?.metadata()).into_response())
}

/// Handles the return from a logout at the provider. It ends no session: the console has done so before, and
/// logouts that begin at the provider are not supported.
async fn signed_out(State(state): State<ApiState>, params: Params) -> Result<Response, RestError> {
    let provider = provider(&state)?;
    if params.text("SAMLRequest").is_some() {
        let text = "Logouts that begin at the identity provider are not supported.";
        return Ok(page(StatusCode::NOT_IMPLEMENTED, text, None));
    }
    match &provider.settings().messages.logout_url {
        Some(url) => redirect(url),
        None => Ok(page(StatusCode::OK, "Signed out.", None)),
    }
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    [
        "GET /saml/login",
        "POST /saml/acs",
        "GET /saml/finish",
        "GET /saml/spmetadata",
        "GET /saml/logout",
    ]
    .map(|request| case(request, "", 404, "no SAML provider").by(""))
    .to_vec()
}
