//! `/services/storage/collections/data`: the documents of collections. Which collections there are is in
//! `objects`.
//!
//! Bodies are JSON. The documents of the owner `nobody` are everybody's; every other user has documents
//! of their own in the same collection.

use std::collections::BTreeSet;
use std::sync::Arc;

use apps::{Collection, MAX_BATCH, NOBODY, Namespace};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::objects::{Asked, COLLECTIONS, check_writable, found, namespace};
use crate::ApiState;
use crate::audit::{Changed, Observed};
use crate::error::RestError;
use crate::kv_query::{Order, Projection, Query};
use crate::namespace::PathNamespace;
use crate::output::OutputMode;
use crate::params::{Params, is_true};
use crate::rest::RawBody;
use crate::session::Caller;

/// Documents of one answer (`max_rows_per_query`).
const MAX_ROWS: usize = 50_000;
/// Queries of one `batch_find` (`max_queries_per_batch`).
const MAX_QUERIES: usize = 1_000;

type Document = Map<String, Value>;

/// A collection as a request means it.
struct Opened<'a> {
    state: &'a ApiState,
    name: String,
    /// Where its documents are.
    place: Namespace,
    /// `field.*`, if types are enforced.
    types: Vec<(String, String)>,
    /// Why the caller may not change the documents, if so. One's own one may.
    refusal: Option<RestError>,
    /// What the audit trail is to know.
    seen: &'a Observed,
}

fn open<'a>(
    state: &'a ApiState,
    caller: &'a Caller,
    seen: &'a Observed,
    path: &PathNamespace,
    name: &str,
) -> Result<Opened<'a>, RestError> {
    let mut asked_for = namespace(state, caller, path)?;
    let owner = std::mem::replace(&mut asked_for.owner, NOBODY.to_owned());
    let params = Params::default();
    let asked = Asked::new(&COLLECTIONS, state, caller, &params);
    let object = found(&asked, &asked_for, name)?;
    let types = object.settings.iter().filter_map(|(key, value)| {
        key.strip_prefix("field.").map(|field| (field.to_owned(), value.clone()))
    });
    let types = types.collect();
    // A request that names no owner means the documents of everybody.
    let owner = if path.owner.is_none() || owner == "-" { NOBODY.to_owned() } else { owner };
    let of_all = owner == NOBODY;
    let refusal = if of_all { check_writable(&asked, &object).err() } else { None };
    let place = Namespace::new(&owner, &object.app);
    Ok(Opened { state, name: object.name, place, types, refusal, seen })
}

impl Opened<'_> {
    async fn documents(&self) -> Result<Arc<Collection>, RestError> {
        Ok(self.state.apps.documents(&self.place, &self.name).await?)
    }

    /// A document as it is kept: values as the collection's types want them.
    fn typed(&self, value: Value) -> Result<Document, RestError> {
        let Value::Object(mut document) = value else {
            return Err(RestError::invalid("a document is a JSON object"));
        };
        for (field, kind) in &self.types {
            if let Some(value) = document.get_mut(field) {
                convert(value, kind);
            }
        }
        document.insert("_user".to_owned(), json!(self.place.owner));
        Ok(document)
    }

    fn check_writable(&self) -> Result<(), RestError> {
        self.refusal.clone().map_or(Ok(()), Err)
    }

    async fn put(&self, documents: Vec<Document>) -> Result<Vec<String>, RestError> {
        self.check_writable()?;
        let names = changed_names(&*self.documents().await?, &documents);
        let keys = self.state.apps.put_documents(&self.place, &self.name, documents).await?;
        self.seen.changed(Changed { documents: keys.iter().cloned().collect(), names });
        Ok(keys)
    }

    async fn delete(&self, keys: Vec<String>) -> Result<(), RestError> {
        self.check_writable()?;
        let documents = keys.iter().cloned().collect();
        self.state.apps.delete_documents(&self.place, &self.name, keys).await?;
        self.seen.changed(Changed { documents, names: BTreeSet::new() });
        Ok(())
    }
}

/// Names whose value is new, another, or gone once the documents are kept.
fn changed_names(all: &Collection, documents: &[Document]) -> BTreeSet<String> {
    let none = Document::new();
    let mut names = BTreeSet::new();
    for document in documents {
        let key = document.get("_key").and_then(Value::as_str);
        let before = key.and_then(|key| all.get(key)).unwrap_or(&none);
        let gone = before.keys().filter(|name| !document.contains_key(*name));
        let other = document.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        let changed = gone.chain(other.map(|(name, _)| name));
        // What the server adds says nothing.
        names.extend(changed.filter(|name| !matches!(name.as_str(), "_key" | "_user")).cloned());
    }
    names
}

/// Makes a text what the field's type says, where it can be read so.
fn convert(value: &mut Value, kind: &str) {
    let Value::String(text) = &*value else { return };
    let converted = match kind {
        "number" | "time" => match serde_json::from_str(text.trim()) {
            Ok(Value::Number(number)) => Some(Value::Number(number)),
            _ => None,
        },
        "bool" => Some(Value::Bool(is_true(text))),
        "array" => serde_json::from_str(text).ok().filter(Value::is_array),
        _ => None,
    };
    if let Some(converted) = converted {
        *value = converted;
    }
}

fn read(body: &[u8]) -> Result<Value, RestError> {
    serde_json::from_slice(body)
        .map_err(|error| RestError::invalid(format!("JSON in the request is invalid: {error}")))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    OutputMode::Json.respond(status, body.to_string())
}

/// What a query asks for besides its condition.
struct Page {
    order: Order,
    projection: Projection,
    limit: usize,
    skip: usize,
}

impl Page {
    fn of(value: impl Fn(&str) -> Option<String>) -> Result<Self, RestError> {
        let number = |name: &str| -> Result<usize, RestError> {
            let Some(text) = value(name) else { return Ok(0) };
            let wrong =
                || RestError::invalid(format!("{name} must be a whole number of 0 or more"));
            text.parse().map_err(|_| wrong())
        };
        let limit = match number("limit")? {
            0 => MAX_ROWS,
            limit => limit.min(MAX_ROWS),
        };
        Ok(Self {
            order: Order::parse(&value("sort").unwrap_or_default()),
            projection: Projection::parse(&value("fields").unwrap_or_default()),
            limit,
            skip: number("skip")?,
        })
    }

    fn select(&self, query: &Query, all: &Collection) -> Vec<Value> {
        let mut found: Vec<&Document> =
            all.values().filter(|document| query.accepts(document)).collect();
        found.sort_by(|a, b| self.order.compare(a, b));
        let page = found.into_iter().skip(self.skip).take(self.limit);
        page.map(|document| Value::Object(self.projection.keep(document.clone()))).collect()
    }
}

/// The documents that fit `query`, by `sort`, `fields`, `limit` and `skip`.
pub(crate) async fn query(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let opened = open(&state, &caller, &seen, &path, &name)?;
    let page = Page::of(|name| params.text(name).map(str::to_owned))?;
    let query = Query::parse(params.get("query").unwrap_or_default())?;
    let found = page.select(&query, &*opened.documents().await?);
    Ok(answer(StatusCode::OK, &Value::Array(found)))
}

/// Puts a new document; its `_key` must not be there yet.
pub(crate) async fn insert(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    path: PathNamespace,
    Path(name): Path<String>,
    RawBody(body): RawBody,
) -> Result<Response, RestError> {
    let opened = open(&state, &caller, &seen, &path, &name)?;
    let document = opened.typed(read(&body)?)?;
    let taken = match document.get("_key").and_then(Value::as_str) {
        Some(key) => opened.documents().await?.contains_key(key),
        None => false,
    };
    if taken {
        let text = "A document with the same key and user already exists.";
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let mut keys = opened.put(vec![document]).await?;
    Ok(answer(StatusCode::CREATED, &json!({"_key": keys.pop()})))
}

/// Deletes the documents that fit `query`, or all.
pub(crate) async fn delete_found(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let opened = open(&state, &caller, &seen, &path, &name)?;
    let query = Query::parse(params.get("query").unwrap_or_default())?;
    let all = opened.documents().await?;
    let fitting = all.iter().filter(|(_, document)| query.accepts(document));
    opened.delete(fitting.map(|(key, _)| key.clone()).collect()).await?;
    Ok(answer(StatusCode::OK, &json!({})))
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    path: PathNamespace,
    Path((name, key)): Path<(String, String)>,
) -> Result<Response, RestError> {
    let opened = open(&state, &caller, &seen, &path, &name)?;
    let all = opened.documents().await?;
    let document = all.get(&key).ok_or_else(|| RestError::no_object(&key))?;
    Ok(answer(StatusCode::OK, &Value::Object(document.clone())))
}

/// Replaces a document.
pub(crate) async fn update(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    path: PathNamespace,
    Path((name, key)): Path<(String, String)>,
    RawBody(body): RawBody,
) -> Result<Response, RestError> {
    let opened = open(&state, &caller, &seen, &path, &name)?;
    match key.as_str() {
        "batch_save" => return save_all(&opened, &read(&body)?).await,
        "batch_find" => return find_all(&opened, &read(&body)?).await,
        _ => {}
    }
    let mut document = opened.typed(read(&body)?)?;
    if !opened.documents().await?.contains_key(&key) {
        return Err(RestError::no_object(&key));
    }
    document.insert("_key".to_owned(), json!(key));
    opened.put(vec![document]).await?;
    Ok(answer(StatusCode::OK, &json!({"_key": key})))
}

pub(crate) async fn delete(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    path: PathNamespace,
    Path((name, key)): Path<(String, String)>,
) -> Result<Response, RestError> {
    let opened = open(&state, &caller, &seen, &path, &name)?;
    if !opened.documents().await?.contains_key(&key) {
        return Err(RestError::no_object(&key));
    }
    opened.delete(vec![key]).await?;
    Ok(answer(StatusCode::OK, &json!({})))
}

/// `batch_save`: puts documents, in place of those with the same `_key`.
async fn save_all(opened: &Opened<'_>, body: &Value) -> Result<Response, RestError> {
    let items = body.as_array().ok_or_else(|| RestError::invalid("batch_save takes a list"))?;
    if items.len() > MAX_BATCH {
        let text = format!("a batch has at most {MAX_BATCH} documents");
        return Err(RestError::invalid(text));
    }
    let documents =
        items.iter().map(|item| opened.typed(item.clone())).collect::<Result<_, _>>()?;
    let keys = opened.put(documents).await?;
    Ok(answer(StatusCode::OK, &json!(keys)))
}

/// `batch_find`: the answers to several queries.
async fn find_all(opened: &Opened<'_>, body: &Value) -> Result<Response, RestError> {
    let queries = body.as_array().ok_or_else(|| RestError::invalid("batch_find takes a list"))?;
    if queries.len() > MAX_QUERIES {
        let text = format!("a batch has at most {MAX_QUERIES} queries");
        return Err(RestError::invalid(text));
    }
    let all = opened.documents().await?;
    let mut answers = Vec::with_capacity(queries.len());
    for wanted in queries {
        let text = |name: &str| match &wanted[name] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let query = match &wanted["query"] {
            Value::Null => Query::parse("")?,
            Value::String(text) => Query::parse(text)?,
            query => Query::of(query)?,
        };
        answers.push(Value::Array(Page::of(text)?.select(&query, &all)));
    }
    Ok(answer(StatusCode::OK, &Value::Array(answers)))
}
