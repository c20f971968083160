//! Authentication of requests: session keys, tokens, cookies and passwords, and the rights of the caller.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use access::{Attempt, Checked, Refusal, Rights, Scope};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::Extensions;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use metrics::counter;
use runtime::metrics as names;

use crate::audit::Observed;
use crate::cookies::{Cookie, cookie_header, cookie_sessions, is_secure};
use crate::error::RestError;
use crate::{ApiState, Arrival, origin};

/// Names and passwords are sent with padding or, by Flight clients written in Go, without.
const PASSWORDS: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The authenticated sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) user: String,
    pub(crate) session: Option<String>,
    /// The caller's rights, as of this request.
    pub(crate) rights: Arc<Rights>,
    /// The maximum scope of the request's token, or of a program's session; it is already applied to the
    /// rights.
    pub(crate) scope: Option<Scope>,
}

impl Caller {
    pub(crate) fn new(state: &ApiState, user: String, session: Option<String>) -> Self {
        let rights = Arc::new(state.authority.of(&user));
        Self { user, session, rights, scope: None }
    }

    /// Somebody who came with a token or with the session of a program.
    fn with_token(state: &ApiState, user: String, scope: Scope) -> Self {
        let rights = Arc::new(state.authority.of(&user).narrowed(&scope));
        Self { user, session: None, rights, scope: Some(scope) }
    }

    /// Whether one of the caller's roles has the capability.
    pub(crate) fn may(&self, capability: &str) -> bool {
        self.rights.may(capability)
    }

    /// Refuses a caller without the capability.
    pub(crate) fn require(&self, capability: &str) -> Result<(), RestError> {
        if self.may(capability) {
            return Ok(());
        }
        Err(RestError::forbidden(format!(
            "the user \"{}\" lacks the capability {capability}",
            self.user
        )))
    }

    /// Refuses a caller who would gain rights by having the other's: by taking a user over, or by granting.
    pub(crate) fn require_all_of(&self, other: &Rights, what: &str) -> Result<(), RestError> {
        self.rights.covers(other).map_err(|more| {
            RestError::forbidden(format!(
                "{what} has {more}, which the user \"{}\" lacks",
                self.user
            ))
        })
    }

    /// The app that the caller's requests are about if they name none.
    pub(crate) fn default_app(&self, state: &ApiState) -> String {
        let user = state.accounts.user(&self.user);
        let own = user.map(|user| user.default_app).filter(|app| !app.is_empty());
        own.unwrap_or_else(|| "search".to_owned())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = RestError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RestError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(unauthorized)
    }
}

/// Sent by pages with a login form of their own, as by Splunk's.
const FROM_SCRIPT: &str = "x-requested-with";

pub(crate) fn unauthorized() -> RestError {
    let mut error = RestError::new(StatusCode::UNAUTHORIZED, "ERROR", "Unauthorized");
    error.challenge = true;
    error
}

/// Marks the answer to a logout, whose client does not get the cookie again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignedOut;

/// Accepts requests with a valid session or password. A session cookie is returned again, unless the session
/// has ended meanwhile: the browser would send the key to other processes, which may accept it for some more
/// time.
pub(crate) async fn authenticate(
    State(state): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let found = caller(&state, request.headers(), source(request.extensions())).await;
    let arrival = request.extensions().get::<Arrival>().copied().unwrap_or_default();
    let secure = is_secure(request.headers(), arrival);
    let found = found.and_then(|found| {
        let asked = (request.method(), request.uri().path());
        origin::check(asked, request.headers(), arrival).map(|()| found)
    });
    let (caller, cookie) = match found {
        Ok(found) => found,
        Err(mut error) => {
            // A browser would ask for a password itself, and hold the request back, where the page has a
            // form.
            error.challenge &= !request.headers().contains_key(FROM_SCRIPT);
            return error.into_response();
        }
    };
    if let Some(seen) = request.extensions().get::<Observed>() {
        seen.caller(&caller.user);
    }
    request.extensions_mut().insert(caller);
    let mut response = next.run(request).await;
    let cookie = cookie.filter(|(_, key)| {
        response.extensions().get::<SignedOut>().is_none() && state.accounts.has_session(key)
    });
    if let Some(value) = cookie.and_then(|(name, key)| cookie_header(&name, &key, secure)) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}

/// Returns the address of the client; `None` within the process.
pub(crate) fn source(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
}

/// Authenticates the sender of these headers; also returns the session cookie if it was used.
pub(crate) async fn caller(
    state: &ApiState,
    headers: &HeaderMap,
    source: Option<IpAddr>,
) -> Result<(Caller, Option<Cookie>), RestError> {
    if let Some(value) = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()) {
        let (scheme, credentials) = value.split_once(' ').unwrap_or((value, ""));
        let credentials = credentials.trim();
        let caller = match scheme.to_ascii_lowercase().as_str() {
            "splunk" | "bearer" if access::looks_like_jwt(credentials) => {
                token_caller(state, credentials, source).await
            }
            "splunk" | "bearer" => session_caller(state, credentials).await,
            "basic" => basic_caller(state, credentials, source).await,
            _ => Err(unauthorized()),
        };
        return caller.map(|caller| (caller, None));
    }
    let mut refused = None;
    for (name, key) in cookie_sessions(headers) {
        match session_caller(state, &key).await {
            Ok(caller) => return Ok((caller, Some((name, key)))),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(unauthorized))
}

fn not_authenticated() -> RestError {
    RestError::new(StatusCode::UNAUTHORIZED, "WARN", "call not properly authenticated")
}

async fn session_caller(state: &ApiState, key: &str) -> Result<Caller, RestError> {
    let user = state.accounts.arriving_session_user(key).await.ok_or_else(not_authenticated)?;
    let session = Some(key.to_owned());
    Ok(match user.scope {
        Some(scope) => Caller { session, ..Caller::with_token(state, user.name, scope) },
        None => Caller::new(state, user.name, session),
    })
}

/// Somebody with a token: of Karst, or of the OpenID provider.
async fn token_caller(
    state: &ApiState,
    token: &str,
    source: Option<IpAddr>,
) -> Result<Caller, RestError> {
    let now = state.clock.now().0 / 1_000_000;
    if let Some(bearer) = state.api_tokens.bearer(now, token, source) {
        let user = state.accounts.user(&bearer.user).filter(|user| {
            let ended = bearer.ephemeral_since.is_some_and(|since| since < user.password_set);
            !user.locked && !ended
        });
        let user = user.ok_or_else(not_authenticated)?;
        return Ok(Caller::with_token(state, user.name, bearer.scope));
    }
    let Some(provider) = state.accounts.oidc() else { return Err(not_authenticated()) };
    let found = provider.bearer(token).await.map_err(|error| {
        tracing::info!(target: "audit", %error, ?source, "token refused");
        not_authenticated()
    })?;
    let user = state.accounts.provision(found, &provider.settings().roles).await;
    user.map(|user| Caller::with_token(state, user, Scope::default())).map_err(|refusal| {
        tracing::info!(target: "audit", reason = refusal.word(), ?source, "token refused");
        refused(state, &refusal).unwrap_or_else(not_authenticated)
    })
}

async fn basic_caller(
    state: &ApiState,
    credentials: &str,
    source: Option<IpAddr>,
) -> Result<Caller, RestError> {
    let decoded = PASSWORDS.decode(credentials).ok();
    let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(unauthorized)?;
    let (user, password) = text.split_once(':').ok_or_else(unauthorized)?;
    let attempt = Attempt { user, password, new_password: None, source };
    let user = log_in(state, attempt).await.map_err(|told| told.unwrap_or_else(unauthorized))?;
    Ok(Caller::new(state, user, None))
}

/// Logs a user in, and counts the attempt.
///
/// # Errors
/// The message for the user; `None`: the same message as for a wrong password.
pub(crate) async fn log_in(
    state: &ApiState,
    attempt: Attempt<'_>,
) -> Result<String, Option<RestError>> {
    let entered = state.accounts.log_in(attempt).await;
    let outcome = match &entered {
        Ok(entered) if entered.checked == Checked::Remembered => "remembered",
        Ok(_) => "right",
        Err(Refusal::WrongPassword | Refusal::LockedNow) => "wrong",
        Err(_) => "refused",
    };
    counter!(names::PASSWORD_CHECKS, "outcome" => outcome).increment(1);
    entered.map(|entered| entered.name).map_err(|refusal| refused(state, &refusal))
}

/// Returns the message for a refused user; `None`: the same message as for everybody.
fn refused(state: &ApiState, refusal: &Refusal) -> Option<RestError> {
    let told = |text: String, code| {
        let mut error = RestError::new(StatusCode::UNAUTHORIZED, "WARN", text);
        error.code = Some(code);
        Some(error)
    };
    match refusal {
        Refusal::Busy => {
            let text = "too many logins at a time; try again later";
            Some(RestError::new(StatusCode::SERVICE_UNAVAILABLE, "WARN", text))
        }
        Refusal::Unavailable(_) => {
            let text = "the identity provider cannot be reached; try again later";
            Some(RestError::new(StatusCode::SERVICE_UNAVAILABLE, "WARN", text))
        }
        // These users have sent the right password.
        Refusal::MustChange(reason) => told(
            format!("{reason}: log in with new_password, or ask an administrator"),
            "password_expired",
        ),
        Refusal::NewPassword(reason) => told(reason.clone(), "weak_password"),
        Refusal::NotAllowed(reason) => told(reason.clone(), "not_allowed"),
        Refusal::KeptOut => told("the user is locked by an administrator".to_owned(), "disabled"),
        Refusal::Locked | Refusal::LockedNow if state.accounts.is_verbose() => {
            told("the user or the address is locked (lockoutAttempts)".to_owned(), "locked_out")
        }
        Refusal::TooSoon if state.accounts.is_verbose() => {
            told("wait before the next attempt".to_owned(), "too_soon")
        }
        Refusal::WrongPassword | Refusal::Locked | Refusal::LockedNow | Refusal::TooSoon => None,
    }
}
