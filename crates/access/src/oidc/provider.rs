//! Requests to the provider: discovery, keys, token exchange.

use std::sync::Arc;
use std::time::{Duration, Instant};

use form_urlencoded::Serializer;
use parking_lot::Mutex;
use reqwest::redirect::Policy;
use runtime::Clock;
use serde::Deserialize;
use serde_json::Value;

use super::claims::Claims;
use super::keys::{Keys, Verified};
use super::pending::PendingLogins;
use super::{MAX_TOKEN_BYTES, OidcSettings, is_safe};
use crate::Error;
use crate::external::{ExternalUser, LoginRequest};

/// Time-out of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of a response.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// How long discovery data is cached.
const DISCOVERY_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// Discovery data of the provider.
#[derive(Debug, Clone, Deserialize)]
struct Discovery {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

#[derive(Debug, Default)]
struct Known {
    discovery: Option<(Instant, Discovery)>,
    keys: Keys,
    pending: PendingLogins,
}

/// A provider, with its cached data.
#[derive(Debug)]
pub struct OidcProvider {
    settings: OidcSettings,
    http: reqwest::Client,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
}

#[derive(Debug, Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
}

impl OidcProvider {
    /// Sends no request yet: an unavailable provider does not prevent the start.
    ///
    /// # Errors
    /// If the certificates to trust cannot be read.
    pub fn new(settings: OidcSettings, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let fail = |error: reqwest::Error| Error::Provider {
            name: settings.name.clone(),
            reason: error.to_string(),
        };
        let mut builder =
            reqwest::Client::builder().timeout(PATIENCE).redirect(Policy::none()).use_rustls_tls();
        for certificate in settings.certificates.iter() {
            for one in reqwest::Certificate::from_pem_bundle(certificate).map_err(fail)? {
                builder = builder.add_root_certificate(one);
            }
        }
        let http = builder.build().map_err(fail)?;
        Ok(Self { settings, http, clock, known: Mutex::default() })
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    /// Starts a login.
    ///
    /// # Errors
    /// If discovery fails.
    pub async fn begin(&self) -> Result<LoginRequest, Error> {
        let discovery = self.discovery().await?;
        let (state, login) = self.known.lock().pending.begin(Instant::now());
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &self.settings.redirect_uri)
            .append_pair("scope", &self.settings.scopes)
            .append_pair("state", &state)
            .append_pair("nonce", &login.nonce)
            .append_pair("code_challenge", &login.challenge())
            .append_pair("code_challenge_method", "S256")
            .finish();
        let joint = if discovery.authorization_endpoint.contains('?') { '&' } else { '?' };
        Ok(LoginRequest {
            url: format!("{}{joint}{query}", discovery.authorization_endpoint),
            state,
        })
    }

    /// Completes a login; returns the user.
    ///
    /// # Errors
    /// If the login was not started here, or the provider's token is invalid.
    pub async fn finish(&self, state: &str, code: &str) -> Result<ExternalUser, Error> {
        let login = self.known.lock().pending.end(Instant::now(), state);
        let login =
            login.ok_or_else(|| self.refused("this login did not begin here, or took too long"))?;
        let token = self.exchange(code, &login.verifier).await?;
        let claims = self.verified(&token).await?;
        claims
            .check_login(self.now(), &self.settings, &login.nonce)
            .map_err(|reason| self.refused(reason))?;
        claims.user(&self.settings).map_err(|reason| self.refused(reason))
    }

    /// The user of a bearer token.
    ///
    /// # Errors
    /// If the token is invalid.
    pub async fn bearer(&self, token: &str) -> Result<ExternalUser, Error> {
        let claims = self.verified(token).await?;
        claims.check_bearer(self.now(), &self.settings).map_err(|reason| self.refused(reason))?;
        claims.user(&self.settings).map_err(|reason| self.refused(reason))
    }

    fn now(&self) -> i64 {
        self.clock.now().0 / 1_000_000
    }

    async fn verified(&self, token: &str) -> Result<Claims, Error> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(self.refused("the token is too long"));
        }
        let now = Instant::now();
        let lifetime = self.settings.keys_lifetime;
        let old = {
            let mut known = self.known.lock();
            known.keys.are_old(now, lifetime) && known.keys.ask(now)
        };
        if old {
            self.read_keys().await?;
        }
        let first = self.known.lock().keys.verify(token);
        // An unknown key ID may be that of a new key: providers rotate keys.
        let found = match first {
            Verified::UnknownKey if !old && self.known.lock().keys.ask(now) => {
                self.read_keys().await?;
                self.known.lock().keys.verify(token)
            }
            found => found,
        };
        match found {
            Verified::Yes(claims) => Ok(claims),
            Verified::UnknownKey => Err(self.refused("no key of the provider signed the token")),
            Verified::No => Err(self.refused("the token is not signed by the provider")),
        }
    }

    async fn read_keys(&self) -> Result<(), Error> {
        let url = self.discovery().await?.jwks_uri;
        let set = self.json(self.http.get(&url)).await?;
        self.known.lock().keys.replace(Instant::now(), &set);
        Ok(())
    }

    async fn discovery(&self) -> Result<Discovery, Error> {
        let known = self.known.lock().discovery.clone();
        if let Some((read, discovery)) = known
            && read.elapsed() < DISCOVERY_LIFETIME
        {
            return Ok(discovery);
        }
        let issuer = self.settings.issuer.trim_end_matches('/');
        let url = format!("{issuer}/.well-known/openid-configuration");
        let answer = self.json(self.http.get(url)).await?;
        let discovery: Discovery =
            serde_json::from_value(answer).map_err(|error| self.failed(&error))?;
        if discovery.issuer != self.settings.issuer {
            let text = format!("it calls itself {} (issuer)", discovery.issuer);
            return Err(self.refused(text));
        }
        let urls =
            [&discovery.authorization_endpoint, &discovery.token_endpoint, &discovery.jwks_uri];
        if let Some(url) = urls.into_iter().find(|url| !is_safe(url)) {
            return Err(self.refused(format!("its address {url} does not use TLS")));
        }
        self.known.lock().discovery = Some((Instant::now(), discovery.clone()));
        Ok(discovery)
    }

    async fn exchange(&self, code: &str, verifier: &str) -> Result<String, Error> {
        let discovery = self.discovery().await?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.settings.redirect_uri),
            ("code_verifier", verifier),
        ];
        let mut request = self.http.post(&discovery.token_endpoint);
        match &self.settings.client_secret {
            Some(secret) => {
                // RFC 6749, 2.3.1: both are form-encoded before they are joined.
                let [id, secret] = [&self.settings.client_id, secret].map(|text| {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                });
                request = request.basic_auth(id, Some(secret));
            }
            None => form.push(("client_id", &self.settings.client_id)),
        }
        let answer = self.json(request.form(&form)).await?;
        let answer: TokenAnswer =
            serde_json::from_value(answer).map_err(|error| self.failed(&error))?;
        answer.id_token.ok_or_else(|| self.refused("it sent no id_token (scopes needs openid)"))
    }

    async fn json(&self, request: reqwest::RequestBuilder) -> Result<Value, Error> {
        let mut response =
            request.send().await.map_err(|error| self.failed(&error.without_url()))?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| self.failed(&error.without_url()))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER_BYTES {
                return Err(self.refused("its response is too large"));
            }
        }
        if !status.is_success() {
            let reason = serde_json::from_slice::<Value>(&body).unwrap_or_default();
            let reason = reason["error"].as_str().unwrap_or_default().to_owned();
            return Err(
                self.refused(format!("it responded with {status} {reason}").trim_end().to_owned())
            );
        }
        serde_json::from_slice(&body).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &dyn std::error::Error) -> Error {
        let mut reason = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            reason.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        Error::Provider { name: self.settings.name.clone(), reason }
    }

    fn refused(&self, reason: impl Into<String>) -> Error {
        Error::Provider { name: self.settings.name.clone(), reason: reason.into() }
    }
}
