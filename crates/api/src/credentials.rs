//! Tokens in the headers of requests that bring events.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// A way to send a token. The scheme's name is compared without regard to case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// `Splunk <token>`.
    Splunk,
    /// `Bearer <token>`.
    Bearer,
    /// `Basic`, any user, the token as password.
    Basic,
    /// `ApiKey`, the token itself or base64 of `id:token`.
    ApiKey,
}

/// The credentials in the headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// There are no credentials.
    None,
    /// The scheme is not supported, or it contains no token.
    Unreadable,
    /// Texts of which one has to be a token.
    Secrets(Vec<String>),
}

impl Credentials {
    pub(crate) fn of(headers: &HeaderMap, schemes: &[Scheme]) -> Self {
        let Some(value) = headers.get(header::AUTHORIZATION) else { return Self::None };
        let value = value.to_str().unwrap_or_default();
        let (scheme, credentials) = value.split_once(' ').unwrap_or((value, ""));
        let credentials = credentials.trim();
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "splunk" => Scheme::Splunk,
            "bearer" => Scheme::Bearer,
            "basic" => Scheme::Basic,
            "apikey" => Scheme::ApiKey,
            _ => return Self::Unreadable,
        };
        if !schemes.contains(&scheme) {
            return Self::Unreadable;
        }
        let mut secrets = match scheme {
            Scheme::Splunk | Scheme::Bearer => vec![credentials.to_owned()],
            Scheme::Basic => after_colon(credentials).into_iter().collect(),
            Scheme::ApiKey => {
                let packed = after_colon(credentials);
                packed.into_iter().chain(std::iter::once(credentials.to_owned())).collect()
            }
        };
        secrets.retain(|secret| !secret.is_empty());
        if secrets.is_empty() { Self::Unreadable } else { Self::Secrets(secrets) }
    }
}

/// The second part of base64 of `first:second`.
fn after_colon(credentials: &str) -> Option<String> {
    let decoded = BASE64_STANDARD.decode(credentials).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    Some(text.split_once(':')?.1.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_gives_its_token_and_others_none() {
        let packed = BASE64_STANDARD.encode("user:tok");
        let one = |secret: &str| Credentials::Secrets(vec![secret.to_owned()]);
        let both = Credentials::Secrets(vec!["tok".to_owned(), packed.clone()]);
        let all = &[Scheme::Splunk, Scheme::Bearer, Scheme::Basic, Scheme::ApiKey][..];
        let cases = [
            ("Splunk tok".to_owned(), all, one("tok")),
            ("bearer  tok".to_owned(), all, one("tok")),
            (format!("Basic {packed}"), all, one("tok")),
            (format!("ApiKey {packed}"), all, both),
            ("ApiKey tok".to_owned(), all, one("tok")),
            ("Bearer tok".to_owned(), &all[..1], Credentials::Unreadable),
            ("Splunk ".to_owned(), all, Credentials::Unreadable),
            ("Digest x".to_owned(), all, Credentials::Unreadable),
            ("Basic !!".to_owned(), all, Credentials::Unreadable),
        ];
        for (value, schemes, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(Credentials::of(&headers, schemes), expected, "{value}");
        }
        assert_eq!(Credentials::of(&HeaderMap::new(), all), Credentials::None);
    }
}
