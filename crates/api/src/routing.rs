//! A route is declared once, beside its handlers: the path, and for each method its rights, a short
//! description, and the handler.
//!
//! The router, the rights that `rights::authorize` enforces, `docs/rights.md`, and the rows of
//! `schemas/rest/openapi.yaml` and `docs/rest.md` come from the declaration.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::response::Response;
use axum::routing::MethodRouter;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::ApiState;
use crate::rights::Need;

/// The methods of routes, as HTTP and OpenAPI write them.
pub(crate) const METHODS: [Method; 3] = [Method::GET, Method::POST, Method::DELETE];

/// The rights and the description of a method of a path.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) need: Need,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare the documents with it"))]
    pub(crate) summary: String,
}

/// The operations of a path by method, in the order of [`METHODS`].
pub(crate) type Operations = [Option<Operation>; 3];

/// The methods of a path with their handlers.
#[derive(Default)]
pub(crate) struct Methods {
    handlers: MethodRouter<ApiState>,
    operations: Operations,
}

impl Methods {
    pub(crate) fn get<H: Handler<T, ApiState>, T: 'static>(
        mut self,
        need: Need,
        summary: &str,
        handler: H,
    ) -> Self {
        self.handlers = self.handlers.get(Erased::new(handler));
        self.declare(0, need, summary)
    }

    pub(crate) fn post<H: Handler<T, ApiState>, T: 'static>(
        mut self,
        need: Need,
        summary: &str,
        handler: H,
    ) -> Self {
        self.handlers = self.handlers.post(Erased::new(handler));
        self.declare(1, need, summary)
    }

    pub(crate) fn delete<H: Handler<T, ApiState>, T: 'static>(
        mut self,
        need: Need,
        summary: &str,
        handler: H,
    ) -> Self {
        self.handlers = self.handlers.delete(Erased::new(handler));
        self.declare(2, need, summary)
    }

    fn declare(mut self, method: usize, need: Need, summary: &str) -> Self {
        self.operations[method] = Some(Operation { need, summary: summary.to_owned() });
        self
    }
}

/// A handler whose type is hidden from axum, so that axum's generic code is compiled once, not for each
/// handler.
#[derive(Clone)]
struct Erased(Arc<dyn Fn(Request, ApiState) -> BoxFuture<'static, Response> + Send + Sync>);

impl Erased {
    fn new<H: Handler<T, ApiState>, T: 'static>(handler: H) -> Self {
        Self(Arc::new(move |request, state| handler.clone().call(request, state).boxed()))
    }
}

impl Handler<(), ApiState> for Erased {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: ApiState) -> Self::Future {
        (self.0)(request, state)
    }
}

/// A path with the method `GET`.
pub(crate) fn get<H: Handler<T, ApiState>, T: 'static>(
    need: Need,
    summary: &str,
    handler: H,
) -> Methods {
    Methods::default().get(need, summary, handler)
}

/// A path with the method `POST`.
pub(crate) fn post<H: Handler<T, ApiState>, T: 'static>(
    need: Need,
    summary: &str,
    handler: H,
) -> Methods {
    Methods::default().post(need, summary, handler)
}

/// A path with the method `DELETE`.
pub(crate) fn delete<H: Handler<T, ApiState>, T: 'static>(
    need: Need,
    summary: &str,
    handler: H,
) -> Methods {
    Methods::default().delete(need, summary, handler)
}

/// Routes with their rights.
#[derive(Default)]
pub(crate) struct Routes {
    router: Router<ApiState>,
    paths: Vec<(String, Operations)>,
}

impl Routes {
    pub(crate) fn at(mut self, path: &str, methods: Methods) -> Self {
        self.router = self.router.route(path, methods.handlers);
        self.paths.push((path.to_owned(), methods.operations));
        self
    }

    pub(crate) fn merge(mut self, mut other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.paths.append(&mut other.paths);
        self
    }

    /// Every path, sorted, with its operations.
    #[cfg(test)]
    pub(crate) fn into_paths(mut self) -> Vec<(String, Operations)> {
        self.paths.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.paths
    }

    /// Returns the router, and the rights of its paths.
    pub(crate) fn into_parts(self) -> (Router<ApiState>, Needs) {
        let needs = |(path, operations): (String, Operations)| {
            (path, operations.map(|one| one.map(|operation| operation.need)))
        };
        (self.router, Needs(self.paths.into_iter().map(needs).collect()))
    }
}

/// The rights of the methods of each path.
#[derive(Debug)]
pub(crate) struct Needs(HashMap<String, [Option<Need>; 3]>);

impl Needs {
    /// Returns the rights by method, in the order of [`METHODS`]; `None` for a path that is not declared.
    pub(crate) fn of(&self, path: &str) -> Option<&[Option<Need>; 3]> {
        self.0.get(path)
    }
}
