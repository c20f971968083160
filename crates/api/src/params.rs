//! Parameters of a REST request: query string and form body as one list.
//!
//! Splunk's clients send forms without a Content-Type and put any parameter in either place, so the
//! body is read as a form whatever it is called (`rest::read_body` does, once per request).

use std::sync::Arc;
use std::time::Duration;

use access::Perms;
use axum::body::{Body, to_bytes};
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use runtime::{Budget, OverBudget, Share};

use crate::error::RestError;
use crate::work::work;

/// Estimated bytes of a parameter besides its name and value.
const PARAMETER_BYTES: usize = 96;

/// Maximum bytes, and time, of reading the form of a refused request for its `output_mode`.
const REFUSED_FORM_BYTES: usize = 16 << 10;
const REFUSED_FORM: Duration = Duration::from_secs(1);

type Pairs = Vec<(String, String)>;

/// The parameters in the order they came; a name may repeat. Copies are the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    pairs: Arc<Pairs>,
    /// The memory that they take, where it is much.
    _share: Option<Arc<Share>>,
}

/// Why a form is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WrongForm {
    #[error(
        "the form has more than {0} parameters ([httpServer] maxFormParameters of server.conf)"
    )]
    TooMany(usize),
    #[error(transparent)]
    Memory(#[from] OverBudget),
}

impl From<WrongForm> for RestError {
    fn from(error: WrongForm) -> Self {
        let status = match error {
            WrongForm::Memory(OverBudget::Busy { .. }) => StatusCode::SERVICE_UNAVAILABLE,
            WrongForm::TooMany(_) | WrongForm::Memory(OverBudget::TooLarge { .. }) => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
        };
        Self::new(status, "FATAL", error.to_string())
    }
}

impl Params {
    pub(crate) fn parse(query: &str, body: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes()).chain(form_urlencoded::parse(body));
        Self::new(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// Reads the parameters of a refused request, whose form is not read otherwise: only those of the query
    /// if the form is long or does not arrive soon.
    pub(crate) async fn of_refused(query: &str, body: Body) -> Self {
        let form = tokio::time::timeout(REFUSED_FORM, to_bytes(body, REFUSED_FORM_BYTES)).await;
        match form {
            Ok(Ok(form)) => Self::parse(query, &form),
            _ => Self::parse(query, &[]),
        }
    }

    /// Reads the parameters with a form that may be large: within the memory that requests share, and up to a
    /// limit.
    pub(crate) async fn read(
        query: &str,
        form: &[u8],
        most: usize,
        memory: &Budget,
    ) -> Result<Self, WrongForm> {
        let count = form.split(|byte| *byte == b'&').count();
        if count > most {
            return Err(WrongForm::TooMany(most));
        }
        let mut share = memory.share();
        share.grow(form.len() + count * PARAMETER_BYTES).await?;
        let params = work(form.len(), || Self::parse(query, form));
        Ok(Self { _share: Some(Arc::new(share)), ..params })
    }

    fn new(pairs: Pairs) -> Self {
        Self { pairs: Arc::new(pairs), _share: None }
    }

    /// Parameters that no request sent.
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self::new(pairs.iter().map(owned).collect())
    }

    /// Returns only the parameters that affect the format of the response.
    pub(crate) fn only_format(&self) -> Self {
        let format = self.pairs.iter().filter(|(name, _)| name == "output_mode" || name == "f");
        Self::new(format.cloned().collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value unless it is absent or empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The values of a list: the parameter repeated, or one with commas.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let values = self.all(name).flat_map(|value| value.split([',', ';']));
        values.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned).collect()
    }

    /// The roles of `perms.read` and `perms.write`; `known` stays where a parameter is absent.
    pub(crate) fn perms(&self, known: Perms) -> Perms {
        let list = |key: &str, kept: Vec<String>| match self.get(key) {
            Some(_) => self.list(key),
            None => kept,
        };
        Perms { read: list("perms.read", known.read), write: list("perms.write", known.write) }
    }

    /// All parameters, in the order they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
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

    /// Returns the number of entries of a list; `None` for all: 0, or -1 in Splunk's SDK.
    pub(crate) fn count(&self) -> Result<Option<usize>, RestError> {
        if self.text("count") == Some("-1") { Ok(Some(0)) } else { self.number("count") }
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_true)
    }
}

/// Whether a parameter is one of the words that mean true in configuration files.
pub(crate) fn is_true(text: &str) -> bool {
    conf::boolean(text) == Some(true)
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = RestError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, RestError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn flags_have_the_words_of_configuration_files() {
        assert!(["1", "TRUE", "t", "yes", "Y", "on", "enabled"].map(is_true).iter().all(|is| *is));
        assert!(!["0", "false", "", "2", "off", "disabled"].map(is_true).contains(&true));
    }

    #[tokio::test]
    async fn a_form_takes_memory_until_its_last_copy_is_gone_and_has_only_so_many_parameters() {
        let memory = Budget::new(1 << 20, Duration::ZERO);
        let params = Params::read("c=d", b"a=b&a=c", 2, &memory).await.unwrap();
        assert_eq!(params.all("a").collect::<Vec<_>>(), ["b", "c"]);
        let copy = params.clone();
        drop(params);
        assert!(memory.used() >= 2 * PARAMETER_BYTES, "{}", memory.used());
        drop(copy);
        assert_eq!(memory.used(), 0);
        let refused = Params::read("", b"a&b&c", 2, &memory).await.unwrap_err();
        assert!(refused.to_string().contains("maxFormParameters"), "{refused}");
        let large = "a&".repeat(20_000);
        let refused = Params::read("", large.as_bytes(), 100_000, &memory).await.unwrap_err();
        assert_eq!(RestError::from(refused).status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
