//! `/services/auth/oidc`: redirects a browser to the OpenID provider, from where it returns to get a session.

use access::AtProvider;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::response::Response;

use super::single_sign_on::{SignedIn, StateCookie, refuse};
use crate::ApiState;
use crate::audit::Observed;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::Open;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/auth/oidc/login",
            get(Open, "Redirects a browser to the OpenID provider", begin),
        )
        .at(
            "/services/auth/oidc/callback",
            get(Open, "Redirect target of the OpenID provider; sets the session cookie", finish),
        )
}

const COOKIE: StateCookie = StateCookie { name: "karst_oidc_state", path: "/services/auth/oidc" };

fn no_provider() -> RestError {
    RestError::not_found("no OpenID provider is set up (authType in authentication.conf)")
}

/// Sends the browser to the provider.
async fn begin(State(state): State<ApiState>) -> Result<Response, RestError> {
    let provider = state.accounts.oidc().ok_or_else(no_provider)?;
    let login = provider.begin().await.map_err(|error| {
        tracing::warn!(%error, "a login at the provider cannot begin");
        let text = "the identity provider cannot be reached; try again later";
        RestError::new(StatusCode::SERVICE_UNAVAILABLE, "ERROR", text)
    })?;
    COOKIE.begin(&login, &provider.settings().redirect_uri)
}

/// Takes the browser back.
async fn finish(
    State(state): State<ApiState>,
    headers: HeaderMap,
    extensions: Extensions,
    seen: Observed,
    params: Params,
) -> Result<Response, RestError> {
    let provider = state.accounts.oidc().ok_or_else(no_provider)?;
    let refuse = |reason| Ok(refuse(&extensions, reason));
    if let Some(error) = params.text("error") {
        return refuse(format!("the provider refused: {error:.100}"));
    }
    let (Some(code), Some(given)) = (params.text("code"), params.text("state")) else {
        return refuse("no code and state".to_owned());
    };
    // RFC 9207: another provider's answer is not taken for this one's.
    if params.text("iss").is_some_and(|iss| iss != provider.settings().issuer) {
        return refuse("the response is from another issuer (iss)".to_owned());
    }
    if COOKIE.sent(&headers).as_deref() != Some(given) {
        return refuse("the login began in another browser".to_owned());
    }
    let found = match provider.finish(given, code).await {
        Ok(found) => found,
        Err(error) => return refuse(error.to_string()),
    };
    let user = match state.accounts.provision(found, &provider.settings().roles).await {
        Ok(user) => user,
        Err(refusal) => return refuse(refusal.to_string()),
    };
    let back = (&COOKIE, provider.settings().redirect_uri.as_str());
    let signed_in = SignedIn { user, at: AtProvider::default() };
    Ok(signed_in.open(&state, (&headers, &extensions), &seen, back).await)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case("GET /services/auth/oidc/login", "", 404, "no OpenID provider").by(""),
        case("GET /services/auth/oidc/callback?code=a&state=b", "", 404, "no OpenID provider")
            .by(""),
    ]
}
