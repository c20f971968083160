//! Parameters of a REST request: query string and form body as one list.
//!
//! Splunk's clients send forms without a Content-Type and put any parameter in either place, so the
//! body is read as a form whatever it is called (`rest::prepare` does, once per request).

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::error::RestError;

/// The parameters in the order they came; a name may repeat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(query: &str, body: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes()).chain(form_urlencoded::parse(body));
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value unless it is absent or empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, RestError> {
        self.text(name).ok_or_else(|| {
            RestError::invalid(format!("the required parameter \"{name}\" is missing"))
        })
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<usize>, RestError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| {
            RestError::invalid(format!(
                "the parameter \"{name}\" must be a whole number of 0 or more, not \"{text}\""
            ))
        })
    }

    /// How many entries of a list; Splunk's SDK says -1 where others say 0, for all.
    pub(crate) fn count(&self) -> Result<Option<usize>, RestError> {
        if self.text("count") == Some("-1") { Ok(Some(0)) } else { self.number("count") }
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some("1" | "true" | "t" | "True" | "yes"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = RestError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, RestError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
