//! Parameters of a REST request: query string and form body as one list.
//!
//! Splunk's clients send forms without a Content-Type and put any parameter in either place, so the
//! body is read as a form whatever it is called (`rest::read_body` does, once per request).

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

    /// Parameters that no request sent.
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// Only what says how the answer is written.
    pub(crate) fn only_format(&self) -> Self {
        let format = self.0.iter().filter(|(name, _)| name == "output_mode" || name == "f");
        Self(format.cloned().collect())
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

    /// The values of a list: the parameter repeated, or one with commas.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let values = self.all(name).flat_map(|value| value.split([',', ';']));
        values.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned).collect()
    }

    /// All parameters, in the order they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
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
        self.get(name).is_some_and(is_true)
    }
}

/// Splunk's words for yes.
pub(crate) fn is_true(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "1" | "true" | "t" | "yes" | "y" | "on")
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = RestError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, RestError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
