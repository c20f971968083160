//! Services of the server for searches: REST entries, collecting events, geolocation.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use access::{Accounts, Scope};
use anyhow::{Context, Result};
use api::{ApiState, WithinSearch};
use axum::body::Body;
use axum::http::{Request, header};
use conf::Type;
use futures::future::BoxFuture;
use ingest::Ingest;
use inputs::{CutEvents, Input, MissingTime, OriginRef, SinkExt, StreamKey};
use knowledge::Knowledge;
use maxminddb::{Reader, geoip2};
use model::{ErrorKind, IndexName};
use plan::{
    CollectedEvent, Error, Host, Location, ProgramSession, Record, RestRequest, Rows,
    SessionRequest,
};
use serde_json::Value;
use tower::ServiceExt;

/// Maximum REST response size for a search.
const MAX_ANSWER: usize = 256 << 20;
/// Events per batch of `collect`.
const BATCH: usize = 10_000;

conf::settings! {
    /// Geolocation.
    #[derive(Debug)]
    pub(super) struct Places {
        "limits"["iplocation"] {
            /// Geolocation database of addresses (MaxMind's .mmdb). Default: none.
            "db_path" => path: Option<String> = "", Type::Text;
        }
    }
}

/// The interface of the server to searches.
pub(crate) struct ServerHost {
    ingest: Arc<Ingest>,
    places: Option<Reader<Vec<u8>>>,
    /// The address of the management port for programs on this machine.
    management: String,
    /// Set once the API is available.
    api: OnceLock<ApiState>,
}

impl std::fmt::Debug for ServerHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerHost").field("places", &self.places.is_some()).finish()
    }
}

impl ServerHost {
    /// Reads the geolocation database, if configured.
    pub(crate) fn new(
        ingest: Arc<Ingest>,
        knowledge: &Knowledge,
        management: String,
    ) -> Result<Self> {
        let path = Places::read(knowledge.layers())?.path;
        let open = |path: String| {
            Reader::open_readfile(Path::new(&path))
                .with_context(|| format!("limits.conf [iplocation] db_path = {path}"))
        };
        let places = path.map(open).transpose()?;
        Ok(Self { ingest, places, management, api: OnceLock::new() })
    }

    /// Enables REST requests.
    pub(crate) fn answer_rest(&self, state: &ApiState) {
        let _ = self.api.set(state.clone());
    }
}

impl Host for ServerHost {
    fn rest<'a>(&'a self, request: &'a RestRequest) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let unavailable =
                |message: String| Error::Source { message, kind: ErrorKind::Unavailable };
            let state =
                self.api.get().ok_or_else(|| unavailable("REST does not answer yet".to_owned()))?;
            let session = state.accounts.local_session(&request.owner);
            let uri = format!("{}?{}", request.path, query(&request.parameters));
            let get = Request::get(&uri)
                .header(header::AUTHORIZATION, format!("Splunk {session}"))
                .extension(WithinSearch)
                .body(Body::empty())
                .map_err(|error| Error::invalid_anywhere(format!("{}: {error}", request.path)))?;
            let answer = api::rest_router(state.clone()).oneshot(get).await;
            state.accounts.close_local_session(&session);
            let Ok(answer) = answer;
            let status = answer.status();
            let bytes = axum::body::to_bytes(answer.into_body(), MAX_ANSWER).await;
            let bytes = bytes.map_err(|error| unavailable(format!("{}: {error}", request.path)))?;
            let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            if !status.is_success() {
                let text = body["messages"][0]["text"].as_str().unwrap_or_default();
                let message = format!("rest: {} answers {status}: {text}", request.path);
                return Err(Error::invalid_anywhere(message));
            }
            let none = Vec::new();
            let entries = body["entry"].as_array().unwrap_or(&none);
            Ok(Rows::of_records(entries.iter().map(|entry| self.record(entry)).collect()))
        })
    }

    fn open_session(&self, request: SessionRequest) -> Option<Box<dyn ProgramSession>> {
        let accounts = Arc::clone(&self.api.get()?.accounts);
        let SessionRequest { user, capabilities, indexes } = request;
        let is_limited = capabilities.is_some() || indexes.is_some();
        let scope = is_limited.then_some(Scope { capabilities, indexes });
        let key = accounts.program_session(&user, scope);
        Some(Box::new(OpenSession { accounts, key, uri: self.management.clone() }))
    }

    fn collect<'a>(
        &'a self,
        index: &'a IndexName,
        events: Vec<CollectedEvent>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let failed = |error: inputs::Error| Error::Source {
                message: format!("collect: {error}"),
                kind: error.kind(),
            };
            for batch in events.chunks(BATCH) {
                let mut cut = CutEvents::new(MissingTime::Now);
                for event in batch {
                    let origin = OriginRef {
                        index,
                        host: &event.host,
                        source: &event.source,
                        sourcetype: Some(&event.sourcetype),
                    };
                    if !cut.push(origin, Some(event.time), event.raw.as_bytes()) {
                        return Err(Error::invalid_anywhere(
                            "collect: an event is larger than 4 GiB",
                        ));
                    }
                    for (name, value) in &event.fields {
                        cut.push_field(Arc::from(name.as_str()), value);
                    }
                }
                let stream = StreamKey(format!("collect:{}", runtime::random::uuid()).into());
                let input = Input::Events { stream, events: cut };
                self.ingest.submit(input).await.map_err(failed)?;
            }
            Ok(())
        })
    }

    fn locate(&self, address: IpAddr) -> Option<Location> {
        let found = self.places.as_ref()?.lookup(address).ok()?;
        let city: geoip2::City<'_> = found.decode().ok()??;
        let text = |text: Option<&str>| text.map(str::to_owned);
        let region = city.subdivisions.first().and_then(|region| region.names.english);
        Some(Location {
            city: text(city.city.names.english),
            continent: text(city.continent.names.english),
            country: text(city.country.names.english),
            metro_code: city.location.metro_code.map(|code| code.to_string()),
            latitude: city.location.latitude,
            longitude: city.location.longitude,
            region: text(region),
            timezone: text(city.location.time_zone),
        })
    }

    fn server_name(&self) -> String {
        self.api.get().map_or_else(super::assemble::host_name, |api| api.info.server_name.clone())
    }
}

/// A session of a program, until it is dropped.
struct OpenSession {
    accounts: Arc<Accounts>,
    key: String,
    uri: String,
}

impl ProgramSession for OpenSession {
    fn key(&self) -> &str {
        &self.key
    }

    fn uri(&self) -> &str {
        &self.uri
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.accounts.close_local_session(&self.key);
    }
}

impl ServerHost {
    /// A row of `rest`: the content and metadata of an entry.
    fn record(&self, entry: &Value) -> Record {
        let mut record = Record::new();
        for (name, field) in
            [("title", "name"), ("id", "id"), ("author", "author"), ("updated", "updated")]
        {
            if let Some(text) = entry[field].as_str() {
                record.push((name.to_owned(), vec![text.to_owned()]));
            }
        }
        for (prefix, part) in [("", &entry["content"]), ("eai:acl.", &entry["acl"])] {
            for (name, value) in part.as_object().into_iter().flatten() {
                flatten(&format!("{prefix}{name}"), value, &mut record);
            }
        }
        record.push(("splunk_server".to_owned(), vec![self.server_name()]));
        record
    }
}

/// The parameters of a request for JSON.
fn query(parameters: &[(String, String)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters).append_pair("output_mode", "json");
    query.finish()
}

/// Flattens a JSON value to fields with dotted names.
fn flatten(name: &str, value: &Value, record: &mut Record) {
    let values = match value {
        Value::Null => Vec::new(),
        Value::Object(members) => {
            for (member, value) in members {
                flatten(&format!("{name}.{member}"), value, record);
            }
            return;
        }
        Value::Array(items) => items.iter().map(text).collect(),
        other => vec![text(other)],
    };
    if !record.iter().any(|(known, _)| known == name) {
        record.push((name.to_owned(), values));
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Splunk's REST writes Booleans as digits.
        Value::Bool(truth) => u8::from(*truth).to_string(),
        other => other.to_string(),
    }
}
