//! The other processes of a cluster that have a role, for requests about state that is distributed over them.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::Value;

/// Asks all of them.
pub trait Others: Send + Sync + std::fmt::Debug {
    /// Returns the responses to a client's request, as JSON; for each process without one, its name and the
    /// reason. Only the headers with credentials and the body's type are passed on.
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> BoxFuture<'a, Vec<Result<Value, String>>>;

    /// Returns the same responses as they arrive, within this time after the first one is waited for.
    /// Processes without a response are left out; one that did not respond in time is not asked for some
    /// seconds.
    fn ask_quickly<'a>(
        &'a self,
        question: &'a Question<'a>,
        most: Duration,
    ) -> BoxStream<'a, Value>;
}

/// A request to all of them.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub path: &'a str,
    /// The headers of the client.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The address of the client.
    pub client: SocketAddr,
}

/// An extension of requests that another process passes on: that process asks all the others itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromOther;
