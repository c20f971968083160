//! A request of somebody known, as the handlers of REST resources take it.

use std::net::IpAddr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use crate::ApiState;
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::params::Params;
use crate::session::{Caller, source};

/// All parts of a request except its body.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) state: ApiState,
    pub(crate) caller: Caller,
    /// The namespace of the path, `/servicesNS/{owner}/{app}`.
    pub(crate) namespace: PathNamespace,
    pub(crate) params: Params,
    /// The address of the client; `None` within the process.
    pub(crate) source: Option<IpAddr>,
    /// The open segments of the route, by their names.
    segments: Vec<(String, String)>,
}

impl Call {
    /// The text of an open segment of the route; empty if the route has none of that name.
    pub(crate) fn segment(&self, name: &str) -> &str {
        let found = self.segments.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str()).unwrap_or_default()
    }

    /// The object that the path names.
    pub(crate) fn name(&self) -> &str {
        self.segment("name")
    }

    /// Returns the call with the slashes in its name that were escaped twice, as in the links of Splunk and
    /// its clients; `None` if it has none.
    pub(crate) fn with_slashes(&self) -> Option<Self> {
        let named = self.name();
        let meant = named.replace("%2F", "/").replace("%2f", "/");
        if meant == named {
            return None;
        }
        let mut call = self.clone();
        for (_, text) in call.segments.iter_mut().filter(|(name, _)| name == "name") {
            text.clone_from(&meant);
        }
        Some(call)
    }

    /// Epoch seconds.
    pub(crate) fn now(&self) -> i64 {
        self.state.clock.now().0 / 1_000_000
    }

    /// The same call with other parameters.
    pub(crate) fn with_params(&self, params: Params) -> Self {
        Self { params, ..self.clone() }
    }
}

impl FromRequestParts<ApiState> for Call {
    type Rejection = RestError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, RestError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let open = RawPathParams::from_request_parts(parts, state).await;
        let open = open.map_err(|error| RestError::invalid(error.to_string()))?;
        let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
        Ok(Self {
            caller,
            segments: open.iter().map(owned).collect(),
            namespace: parts.extensions.get::<PathNamespace>().cloned().unwrap_or_default(),
            params: parts.extensions.get::<Params>().cloned().unwrap_or_default(),
            source: source(&parts.extensions),
            state: state.clone(),
        })
    }
}
