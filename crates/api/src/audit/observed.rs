//! Facts about a request that the layers collect for its audit record.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use runtime::trace::TraceContext;

use super::client::{Client, recognisable};
use crate::params::Params;

/// The changes of a request in the documents of a collection. Values are not included, because they are the
/// users' own data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// The keys of the documents.
    pub(crate) documents: BTreeSet<String>,
    /// Names whose value is new, different or removed.
    pub(crate) names: BTreeSet<String>,
}

/// The sender of a request, as an extension of its response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requester {
    /// The user; `None` if it is unknown.
    pub user: Option<String>,
    /// The address of the client, which may be behind proxies; `None` within the server.
    pub address: Option<String>,
}

/// An extension of the requests that a search makes (`rest`). The search has a turn meanwhile, so they may
/// run none: that would wait for a turn itself.
#[derive(Debug, Clone, Copy)]
pub struct WithinSearch;

/// An extension of requests; clones share the collected facts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observed(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    client: Client,
    trace: TraceContext,
    is_within_search: bool,
    user: OnceLock<String>,
    session: OnceLock<String>,
    params: OnceLock<Params>,
    body_bytes: OnceLock<usize>,
    changed: OnceLock<Changed>,
    recorded: AtomicBool,
}

impl Observed {
    pub(super) fn new(client: Client, trace: TraceContext, is_within_search: bool) -> Self {
        Self(Arc::new(Inner { client, trace, is_within_search, ..Inner::default() }))
    }

    /// Whether a search asks.
    pub(crate) fn is_within_search(&self) -> bool {
        self.0.is_within_search
    }

    /// Notes who asks, once that is known.
    pub(crate) fn caller(&self, user: &str) {
        let _ = self.0.user.set(user.to_owned());
    }

    /// Notes the session that a login opened.
    pub(crate) fn opened(&self, key: &str) {
        let _ = self.0.session.set(recognisable(key));
    }

    /// Notes the parameters, and the size of a body that has none.
    pub(crate) fn request(&self, params: &Params, form: bool, body: usize) {
        let _ = self.0.params.set(params.clone());
        if !form && body > 0 {
            let _ = self.0.body_bytes.set(body);
        }
    }

    /// Notes the changes.
    pub(crate) fn changed(&self, changed: Changed) {
        let _ = self.0.changed.set(changed);
    }

    /// Notes that the request has its record already.
    pub(super) fn set_recorded(&self) {
        self.0.recorded.store(true, Relaxed);
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.0.recorded.load(Relaxed)
    }

    pub(super) fn client(&self) -> &Client {
        &self.0.client
    }

    /// The span of the request, if it has one.
    pub(super) fn trace(&self) -> &TraceContext {
        &self.0.trace
    }

    pub(super) fn user(&self) -> Option<String> {
        self.0.user.get().cloned()
    }

    pub(super) fn requester(&self) -> Requester {
        Requester { user: self.user(), address: self.0.client.address.clone() }
    }

    pub(super) fn session(&self) -> Option<String> {
        self.0.session.get().cloned().or_else(|| self.0.client.key.clone())
    }

    pub(super) fn has_password(&self) -> bool {
        self.0.client.name.is_some()
    }

    pub(super) fn params(&self) -> Option<Params> {
        self.0.params.get().cloned()
    }

    pub(super) fn what_changed(&self) -> Option<&Changed> {
        self.0.changed.get()
    }

    pub(super) fn body_bytes(&self) -> Option<usize> {
        self.0.body_bytes.get().copied()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Observed {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
