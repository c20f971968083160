//! `/services/storage/collections/data`: the documents of collections. Which collections there are is in
//! `objects`.
//!
//! Bodies are JSON. The documents of the owner `nobody` are shared; every other user has separate documents
//! in the same collection.

use std::collections::BTreeSet;
use std::sync::Arc;

use apps::{Collection, FieldTypes, MAX_BATCH, NOBODY, Namespace, Page, Query, changed_names};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::objects::{Asked, COLLECTIONS, check_writable, found};
use crate::ApiState;
use crate::audit::{Changed, Observed};
use crate::body::RawBody;
use crate::call::Call;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::rights::Need::Object;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    let found = "Lists the documents of a collection that match a query";
    let all = "Deletes the documents that match a query, or all";
    let put = "Replaces a document; `batch_save` as key stores a list of documents, `batch_find` runs a list of \
               queries";
    let documents = get(Object, found, query).post(Object, "Creates a document", insert).delete(
        Object,
        all,
        delete_found,
    );
    let document = get(Object, "Shows a document", show).post(Object, put, update).delete(
        Object,
        "Deletes a document",
        remove,
    );
    Routes::default()
        .at("/services/storage/collections/data/{name}", documents)
        .at("/services/storage/collections/data/{name}/{key}", document)
}

/// Queries of one `batch_find` (`max_queries_per_batch`).
const MAX_QUERIES: usize = 1_000;

type Document = Map<String, Value>;

/// A collection as a request means it.
struct Opened<'a> {
    state: &'a ApiState,
    name: String,
    /// The namespace of the documents.
    place: Namespace,
    types: FieldTypes,
    /// Why the caller may not change the documents, if so. A user's own documents may always be changed.
    refusal: Option<RestError>,
    /// The facts for the audit trail.
    seen: &'a Observed,
}

fn open<'a>(call: &'a Call, seen: &'a Observed) -> Result<Opened<'a>, RestError> {
    let asked = Asked::new(&COLLECTIONS, "", call)?;
    let mut place = asked.namespace()?;
    let owner = std::mem::replace(&mut place.owner, NOBODY.to_owned());
    let object = found(&asked, &place, call.name())?;
    let types = FieldTypes::of(&object);
    // A request that names no owner means the documents of everybody.
    let named = call.namespace.owner.is_some();
    let owner = if !named || owner == "-" { NOBODY.to_owned() } else { owner };
    let of_all = owner == NOBODY;
    let refusal = if of_all { check_writable(&asked, &object).err() } else { None };
    let place = Namespace::new(&owner, &object.app);
    Ok(Opened { state: &call.state, name: object.name, place, types, refusal, seen })
}

impl Opened<'_> {
    async fn documents(&self) -> Result<Arc<Collection>, RestError> {
        Ok(self.state.apps.documents(&self.place, &self.name).await?)
    }

    fn typed(&self, value: Value) -> Result<Document, RestError> {
        Ok(self.types.apply(value, &self.place.owner)?)
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

fn read(body: &[u8]) -> Result<Value, RestError> {
    serde_json::from_slice(body)
        .map_err(|error| RestError::invalid(format!("JSON in the request is invalid: {error}")))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    OutputMode::Json.respond(status, body.to_string())
}

/// The documents that fit `query`, by `sort`, `fields`, `limit` and `skip`.
async fn query(call: Call, seen: Observed) -> Result<Response, RestError> {
    let opened = open(&call, &seen)?;
    let page = Page::of(|name| call.params.text(name).map(str::to_owned))?;
    let query = Query::parse(call.params.get("query").unwrap_or_default())?;
    let found = page.select(&query, &*opened.documents().await?);
    Ok(answer(StatusCode::OK, &Value::Array(found)))
}

/// Puts a new document; its `_key` must not be there yet.
async fn insert(call: Call, seen: Observed, RawBody(body): RawBody) -> Result<Response, RestError> {
    let opened = open(&call, &seen)?;
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
async fn delete_found(call: Call, seen: Observed) -> Result<Response, RestError> {
    let opened = open(&call, &seen)?;
    let query = Query::parse(call.params.get("query").unwrap_or_default())?;
    let all = opened.documents().await?;
    let fitting = all.iter().filter(|(_, document)| query.accepts(document));
    opened.delete(fitting.map(|(key, _)| key.clone()).collect()).await?;
    Ok(answer(StatusCode::OK, &json!({})))
}

async fn show(call: Call, seen: Observed) -> Result<Response, RestError> {
    let (opened, key) = (open(&call, &seen)?, call.segment("key"));
    let all = opened.documents().await?;
    let document = all.get(key).ok_or_else(|| RestError::no_object(key))?;
    Ok(answer(StatusCode::OK, &Value::Object(document.clone())))
}

/// Replaces a document.
async fn update(call: Call, seen: Observed, RawBody(body): RawBody) -> Result<Response, RestError> {
    let (opened, key) = (open(&call, &seen)?, call.segment("key"));
    match key {
        "batch_save" => return save_all(&opened, &read(&body)?).await,
        "batch_find" => return find_all(&opened, &read(&body)?).await,
        _ => {}
    }
    let mut document = opened.typed(read(&body)?)?;
    if !opened.documents().await?.contains_key(key) {
        return Err(RestError::no_object(key));
    }
    document.insert("_key".to_owned(), json!(key));
    opened.put(vec![document]).await?;
    Ok(answer(StatusCode::OK, &json!({"_key": key})))
}

async fn remove(call: Call, seen: Observed) -> Result<Response, RestError> {
    let (opened, key) = (open(&call, &seen)?, call.segment("key"));
    if !opened.documents().await?.contains_key(key) {
        return Err(RestError::no_object(key));
    }
    opened.delete(vec![key.to_owned()]).await?;
    Ok(answer(StatusCode::OK, &json!({})))
}

/// Handles `batch_save`: stores documents, and replaces those with the same `_key`.
async fn save_all(opened: &Opened<'_>, body: &Value) -> Result<Response, RestError> {
    let items = body.as_array().ok_or_else(|| RestError::invalid("batch_save expects a list"))?;
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
    let queries = body.as_array().ok_or_else(|| RestError::invalid("batch_find expects a list"))?;
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

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let data = "/servicesNS/nobody/search/storage/collections/data/docs";
    let config = "/servicesNS/nobody/search/storage/collections/config";
    let strict = "/servicesNS/nobody/search/storage/collections/data/strict";
    let absent = "Could not find object";
    vec![
        case(&format!("POST {config}"), "name=docs&field.n=number", 201, "docs"),
        case(&format!("POST {data}"), r#"{"_key": "a", "n": "1"}"#, 201, "\"_key\":\"a\""),
        case(&format!("POST {data}"), r#"{"_key": "a"}"#, 409, "already exists"),
        case(&format!("POST {config}"), "name=strict&field.n=number&enforceTypes=1", 201, "strict"),
        case(&format!("POST {strict}"), r#"{"n": "abc"}"#, 400, "expected the type number"),
        case(&format!("POST {strict}/batch_save"), r#"[{"n": "abc"}]"#, 400, "enforceTypes"),
        case(&format!("POST {strict}"), r#"{"n": "1"}"#, 201, "_key"),
        case(&format!("POST {data}"), "[", 400, "JSON in the request is invalid"),
        case(&format!("GET {data}?query=%7B%22n%22%3A1%7D"), "", 200, "\"n\":1"),
        case(&format!("GET {data}?query=%5B%5D"), "", 400, "a query is a JSON object"),
        case(&format!("GET {data}?limit=x"), "", 400, "limit must be a whole number"),
        case(&format!("GET {data}/a"), "", 200, "\"n\":1"),
        case(&format!("GET {data}/b"), "", 404, absent),
        case(&format!("POST {data}/a"), r#"{"n": 2}"#, 200, "\"_key\":\"a\""),
        case(&format!("POST {data}/b"), r#"{"n": 2}"#, 404, absent),
        case(&format!("POST {data}/batch_save"), r#"[{"_key": "c"}]"#, 200, "[\"c\"]"),
        case(&format!("POST {data}/batch_save"), "{}", 400, "batch_save expects a list"),
        case(&format!("POST {data}/batch_find"), r#"[{"query": {"n": 2}}]"#, 200, "\"n\":2"),
        case(&format!("DELETE {data}/a"), "", 200, "{}"),
        case(&format!("DELETE {data}/a"), "", 404, absent),
        case(&format!("DELETE {data}"), "", 200, "{}"),
        case(&format!("DELETE {data}?query=%7B%22%24x%22%3A1%7D"), "", 400, "a query has no $x"),
    ]
}
