//! The roles of this process, and the requests that it refuses because it lacks a role.

use anyhow::{Result, bail};
use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use tower::ServiceExt;

use super::gateway::{self, HttpService};
use super::ports;
use crate::config::{Role, ServerOptions};

/// The roles of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) control_plane: bool,
    pub(crate) indexer: bool,
    pub(crate) search_head: bool,
}

impl Roles {
    /// The roles of `--role`, checked against the other flags.
    ///
    /// # Errors
    /// If a flag is missing for the roles, or contradicts them.
    pub(crate) fn of(options: &ServerOptions) -> Result<Self> {
        let has = |role| options.roles.is_empty() || options.roles.contains(&role);
        let roles = Self {
            control_plane: has(Role::ControlPlane),
            indexer: has(Role::Indexer),
            search_head: has(Role::SearchHead),
        };
        if roles.control_plane
            && !options.manager_uri.is_empty()
            && options.cluster_address.is_none()
        {
            bail!(
                "--manager-uri names the processes that may lead, and this one is one of them: it needs \
                 --cluster-address, where the others reach it"
            );
        }
        if !roles.control_plane && options.manager_uri.is_empty() {
            bail!(
                "without the role control-plane (--role, or mode in server.conf [clustering]), \
                 --manager-uri (or manager_uri there) has to name the cluster address of the process that \
                 has it"
            );
        }
        if !(roles.control_plane && roles.indexer && roles.search_head)
            && options.cluster_address.is_none()
        {
            bail!(
                "a process with some roles only needs --cluster-address, where the others reach it"
            );
        }
        Ok(roles)
    }

    /// Whether a process with these roles has the HTTP port.
    pub(crate) fn serve(self, port: ports::Role) -> bool {
        match port {
            ports::Role::Hec | ports::Role::Otlp | ports::Role::Elastic | ports::Role::Loki => {
                self.indexer
            }
            ports::Role::Management | ports::Role::Health => true,
            ports::Role::Web => self.search_head,
        }
    }

    /// Their names, as `--role` takes them.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let all = [
            (self.control_plane, "control-plane"),
            (self.indexer, "indexer"),
            (self.search_head, "search-head"),
        ];
        all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect()
    }
}

/// Returns the REST service without the routes for processes of other roles.
pub(crate) fn limited(roles: Roles, rest: impl HttpService) -> impl HttpService {
    tower::service_fn(move |request: Request| {
        let rest = rest.clone();
        async move {
            let path = request.uri().path();
            if !roles.search_head && searches(path) {
                return Ok(refusal("search-head", "searches"));
            }
            if !roles.indexer && takes_events(path) {
                return Ok(refusal("indexer", "events"));
            }
            if !roles.indexer && changes_inputs(request.method(), path) {
                return Ok(refusal("indexer", "changes of inputs"));
            }
            rest.oneshot(request).await
        }
    })
}

/// Whether the path is for searches: jobs, exports, SQL.
fn searches(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    match parts.next() {
        Some("api") => path.ends_with("/sql"),
        Some("arrow.flight.protocol.FlightService") => true,
        Some("services") => jobs(parts),
        Some("servicesNS") => jobs(parts.skip(2)),
        _ => false,
    }
}

/// The parts of a REST path below `services`, or below the namespace of `servicesNS`; empty for other paths.
fn below_services(path: &str) -> Vec<&str> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next() {
        Some("services") => parts.collect(),
        Some("servicesNS") => parts.skip(2).collect(),
        _ => Vec::new(),
    }
}

/// Whether the path is for receiving events.
fn takes_events(path: &str) -> bool {
    below_services(path).starts_with(&["receivers"])
}

/// Whether the request loads a file, or creates or changes an input. Every process lists the inputs of the
/// shared configuration, and changes tokens of the HTTP Event Collector. Changes of stanzas of `inputs.conf`
/// (`configs/conf-inputs`, `properties/inputs`) are refused by the API, which knows the names of the stanzas.
fn changes_inputs(method: &Method, path: &str) -> bool {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return false;
    }
    match below_services(path)[..] {
        [.., "_reload"] if *method == Method::POST => false,
        ["data", "inputs", kind, ..] => kind != "http",
        _ => false,
    }
}

fn jobs<'p>(mut parts: impl Iterator<Item = &'p str>) -> bool {
    parts.next() == Some("search") && parts.any(|part| part == "jobs")
}

fn refusal(role: &str, what: &str) -> Response {
    gateway::refusal(&format!(
        "this process does not have the role {role}: send {what} to a process that has it; \
         /services/cluster/manager/peers lists the processes with their addresses and roles"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_take_events_are_known_with_and_without_a_namespace() {
        for path in ["/services/receivers/simple", "/servicesNS/a/b/receivers/stream"] {
            assert!(takes_events(path), "{path}");
        }
        for path in ["/services/data/inputs/http", "/services/search/jobs", "/healthz"] {
            assert!(!takes_events(path), "{path}");
        }
    }

    #[test]
    fn inputs_are_listed_by_all_and_changed_at_indexers() {
        for path in [
            "/servicesNS/a/b/data/inputs/oneshot",
            "/services/data/inputs/tcp/raw",
            "/services/data/inputs/monitor/%2Fvar%2Flog/disable",
        ] {
            assert!(changes_inputs(&Method::POST, path), "{path}");
            assert!(changes_inputs(&Method::DELETE, path), "{path}");
            assert!(!changes_inputs(&Method::GET, path), "{path}");
        }
        for path in [
            "/services/data/inputs/http/shop/rotate",
            "/services/data/inputs/monitor/_reload",
            "/services/data/indexes",
            "/services/receivers/simple",
        ] {
            assert!(!changes_inputs(&Method::POST, path), "{path}");
        }
        // Of an input of this name.
        assert!(changes_inputs(&Method::DELETE, "/services/data/inputs/monitor/_reload"));
    }

    #[test]
    fn paths_of_searches_are_known_with_and_without_a_namespace() {
        for path in [
            "/services/search/jobs",
            "/services/search/v2/jobs/export",
            "/servicesNS/admin/search/search/jobs/17.2/results",
            "/api/v1/sql",
            "/arrow.flight.protocol.FlightService/GetFlightInfo",
        ] {
            assert!(searches(path), "{path}");
        }
        for path in [
            "/services/server/info",
            "/services/search/parser",
            "/servicesNS/nobody/search/data/lookup-table-files/jobs",
            "/services/data/indexes",
            "/healthz",
        ] {
            assert!(!searches(path), "{path}");
        }
    }
}
