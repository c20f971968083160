//! `/services/server/cost`: the monthly bill of this server or cluster, from what it has counted and the
//! price list of the Terraform module (`cost`). Every input can be replaced by a parameter.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::response::Response;
use cost::{Bill, Counted, Error, Index, Inputs, Measured, OWN_EVENTS, PriceList, Row, round};
use model::ErrorKind;
use peers::Registration;
use search::JobRequest;
use serde_json::json;

use super::feed;
use super::jobs::of_caller;
use crate::ApiState;
use crate::atom::Entry;
use crate::audit::{Observed, searches};
use crate::call::Call;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/server/cost";
/// The retention that is counted where events are kept without limit, in seconds: the default of
/// `frozenTimePeriodInSecs`. They cost more every year.
const SIX_YEARS: u64 = 188_697_600;
/// Days of own events that rates are measured over.
const EARLIEST: &str = "-7d";
/// Maximum time that the search for own events takes, with its time in the queue.
const PATIENCE: Duration = Duration::from_secs(55);
/// The capability that a search needs.
const SEARCH: &str = "search";
/// Parameters that are not inputs.
const OTHERS: [&str; 6] = ["nodes", "earliest_time", "output_mode", "f", "count", "offset"];

pub(super) fn routes() -> Routes {
    Routes::default().at(
        PATH,
        get(
            May("list_introspection"),
            "The monthly bill, from measured rates and a price list with its date",
            cost,
        ),
    )
}

async fn cost(call: Call, seen: Observed) -> Result<Response, RestError> {
    let prices = PriceList::built_in().map_err(|error| invalid(&error))?;
    // Before anything is searched.
    let mut given = Inputs::default();
    set(&mut given, &call.params, &prices)?;
    let counted = counted(&call, &seen).await?;
    let mut inputs = measured(&call, counted.as_ref().ok()).inputs();
    set(&mut inputs, &call.params, &prices)?;
    let bill = Bill::of(&inputs, &prices).map_err(|error| match (error, &counted) {
        (Error::NoVolume { .. }, Err(reason)) => {
            let help = "try again later, or give the volume (karst cost --raw-gb-per-day; over REST \
                        raw_gb_per_day)";
            invalid(&Error::NoVolume { reason: format!("{reason}; {help}") })
        }
        (error, _) => invalid(&error),
    })?;
    let mut content = feed::content(bill.report(&inputs, &prices));
    match counted {
        Err(reason) => {
            content.insert("not_measured".to_owned(), json!(reason));
        }
        Ok((counted, _)) => {
            content.insert("measured_seconds".to_owned(), json!(round(counted.seconds, 0)));
            content.insert("measured_processes".to_owned(), json!(counted.processes));
        }
    }
    let entry = Entry::new(PATH, "cost", content);
    feed::respond_one("cost", PATH, entry, &call.params)
}

fn invalid(error: &Error) -> RestError {
    RestError::invalid(error.to_string())
}

/// Sets the inputs that the parameters override.
fn set(inputs: &mut Inputs, params: &Params, prices: &PriceList) -> Result<(), RestError> {
    for (name, value) in params.iter().filter(|(name, _)| !OTHERS.contains(name)) {
        inputs.set(name, value).map_err(|error| invalid(&error))?;
    }
    if params.get("nodes").is_some() {
        let nodes = params.list("nodes");
        let nodes = nodes.iter().map(String::as_str);
        inputs.set_nodes(nodes, prices).map_err(|error| invalid(&error))?;
    }
    Ok(())
}

type Sums = (Counted, BTreeMap<String, f64>);

/// Sums of own events of all processes, with bytes of text by index; else the reason why nothing is measured.
async fn counted(call: &Call, seen: &Observed) -> Result<Result<Sums, String>, RestError> {
    let Call { state, caller, namespace, params, .. } = call;
    if !caller.may(SEARCH) {
        return Ok(Err(format!("measuring needs the capability {SEARCH}")));
    }
    if seen.is_within_search() {
        return Ok(Err("measuring runs a search, which a request of a search cannot".to_owned()));
    }
    let mut request = of_caller(state, OWN_EVENTS, caller, namespace);
    request.earliest = Some(params.text("earliest_time").unwrap_or(EARLIEST).to_owned());
    request.read_only = true;
    match tokio::time::timeout(PATIENCE, rows(state, seen, request)).await {
        Ok(Ok(rows)) => Ok(Counted::of(&rows)),
        // The volume may be given.
        Ok(Err(error)) if error.kind() == ErrorKind::Exhausted => Ok(Err(error.to_string())),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            Ok(Err(format!("the search for it was not done after {seconds} s")))
        }
    }
}

/// The rows of the search for own events.
async fn rows(
    state: &ApiState,
    seen: &Observed,
    request: JobRequest,
) -> Result<Vec<Row>, search::Error> {
    let mut pages = searches::export(state, seen, request).await?;
    let mut rows = Vec::new();
    while let Some(page) = pages.recv().await {
        let page = page?;
        let column = |name: &str| page.fields.iter().position(|field| field == name);
        let columns = ["key", "n", "started", "last", "processes"].map(column);
        for row in &page.rows {
            let [key, n, started, last, processes] =
                columns.map(|at| row.get(at?)?.as_ref().map(search::Value::joined));
            let number = |text: Option<String>| text.and_then(|text| text.parse::<f64>().ok());
            rows.push(Row {
                key: key.unwrap_or_default(),
                n: number(n).unwrap_or_default(),
                started: number(started),
                last: number(last).unwrap_or_default(),
                processes: number(processes).unwrap_or_default(),
            });
        }
    }
    Ok(rows)
}

/// Returns the data about the indexes from the catalog and the configuration.
fn measured(call: &Call, counted: Option<&Sums>) -> Measured {
    let state = &call.state;
    let snapshot = state.catalog.snapshot();
    let indexes = state.indexes.all().into_iter().map(|(name, known)| {
        let totals = snapshot.buckets(&name).totals();
        let came_in = counted.and_then(|(_, indexes)| indexes.get(name.as_str()));
        Index {
            raw_bytes: came_in.copied().unwrap_or_default(),
            stored_bytes: float(totals.size),
            stored_raw_bytes: float(totals.raw_bytes),
            keep_seconds: float(match known.is_kept_forever() {
                true => SIX_YEARS,
                false => known.frozen_seconds(),
            }),
            keep_bytes: float(known.total_mb()) * float(1 << 20),
        }
    });
    let indexes = indexes.collect();
    let all = Registration::all(&snapshot);
    let indexers = all.iter().filter(|(_, known)| known.is_indexer()).count();
    Measured {
        counted: counted.map(|(counted, _)| counted.clone()),
        indexes,
        // A server alone is not registered.
        indexers: u32::try_from(indexers).unwrap_or(u32::MAX).max(1),
    }
}

#[allow(clippy::cast_precision_loss)]
fn float(number: u64) -> f64 {
    number as f64
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let get = |query: &str, status: u16, text: &str| {
        case(&format!("GET {PATH}?{query}"), "", status, text)
    };
    let volume = "raw_gb_per_day=10000";
    vec![
        get(&format!("{volume}&retention_days=90&stored_per_raw=0.23"), 200, "\"storage\":4605.2"),
        get(&format!("{volume}&nodes=i8g.4xlarge%3D6"), 200, "\"nodes\":6012.86"),
        get(volume, 200, "no nodes are given"),
        get(volume, 200, "no events of metrics.log"),
        get("", 400, "per day is neither given nor measured: the index _internal has no events"),
        get("raw_gb_per_day=-1", 400, "is not a number greater than 0"),
        get(&format!("{volume}&nodes=x1.large%3D3"), 400, "it has: c8gd.4xlarge"),
        get(&format!("{volume}&retention=30"), 400, "is not an input of the cost model"),
        get(&format!("{volume}&earliest_time=soon"), 400, "soon"),
    ]
}
