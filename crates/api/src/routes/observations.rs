//! `/services/server/status/{resource-usage,partitions-space}`: the latest observations of the machine and of
//! the process, with the fields of `resource_usage.log` and `disk_objects.log`.
//!
//! The lists are empty until the first observation, and if an observation is disabled.

use axum::response::Response;
use serde_json::{Map, Value};

use super::feed;
use crate::atom::{Acl, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::filter::scalar;
use crate::params::Params;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const HOSTWIDE: &str = "/services/server/status/resource-usage/hostwide";
const PROCESSES: &str = "/services/server/status/resource-usage/splunk-processes";
const IOSTATS: &str = "/services/server/status/resource-usage/iostats";
const PARTITIONS: &str = "/services/server/status/partitions-space";

pub(super) fn routes() -> Routes {
    let see = May("list_introspection");
    let space = "Space on the file system of the data directory";
    Routes::default()
        .at(HOSTWIDE, get(see, "CPU, load and memory of the machine", hostwide))
        .at(PROCESSES, get(see, "CPU and memory of the process and of running searches", processes))
        .at(IOSTATS, get(see, "Always empty", iostats))
        .at(PARTITIONS, get(see, space, partitions))
}

async fn hostwide(call: Call) -> Result<Response, RestError> {
    listed(&call, HOSTWIDE, "Hostwide", |_| "result".to_owned())
}

async fn processes(call: Call) -> Result<Response, RestError> {
    let name = |data: &Map<String, Value>| {
        // Searches run in the process of the server.
        let sid = data.get("search_props").and_then(|search| search.get("sid"));
        sid.or_else(|| data.get("pid")).map(scalar).unwrap_or_default()
    };
    listed(&call, PROCESSES, "PerProcess", name)
}

/// Returns an empty list: disk I/O is observed only for the process.
async fn iostats(params: Params) -> Result<Response, RestError> {
    feed::respond_empty("iostats", IOSTATS, &params)
}

async fn partitions(call: Call) -> Result<Response, RestError> {
    let name = |data: &Map<String, Value>| data.get("mount_point").map(scalar).unwrap_or_default();
    listed(&call, PARTITIONS, "Partitions", name)
}

/// The last observations of a component, each under its name.
fn listed(
    call: &Call,
    path: &str,
    component: &str,
    name: fn(&Map<String, Value>) -> String,
) -> Result<Response, RestError> {
    let entry =
        |data: Map<String, Value>| Entry::new(path, &name(&data), data).with_acl(Acl::system());
    let entries = call.state.observations.of(component).into_iter().map(entry).collect();
    let title = path.rsplit('/').next().unwrap_or_default();
    feed::respond(title, path, entries, &call.params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let all = [
        (HOSTWIDE, "\"mem_used\":2.5"),
        (PROCESSES, "\"name\":\"7\""),
        (IOSTATS, "\"entry\":[]"),
        (PARTITIONS, "\"name\":\"/data\""),
    ];
    let both = |(path, answer): (&str, &str)| {
        [
            case(&format!("GET {path}"), "", 200, answer),
            case(&format!("GET {path}?count=x"), "", 400, "must be a whole number"),
        ]
    };
    all.into_iter().flat_map(both).collect()
}
