//! Lists of entries: searching, sorting, paging, and the format asked for.

use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::atom::{Entry, Feed};
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;

/// Entries of a page unless `count` says otherwise.
const DEFAULT_COUNT: usize = 30;

/// An entry of an object nobody owns.
pub(super) fn entry(path: &str, name: &str, content: Map<String, Value>) -> Entry {
    Entry {
        name: name.to_owned(),
        id: format!("{path}/{name}"),
        owner: "nobody".to_owned(),
        app: "search".to_owned(),
        updated: now(),
        links: Vec::new(),
        content,
    }
}

/// A page of entries, by the parameters `count`, `offset`, `search`, `sort_key`, `sort_dir`.
pub(super) fn respond(
    title: &str,
    path: &str,
    mut entries: Vec<Entry>,
    params: &Params,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(params)?;
    if let Some(search) = params.text("search") {
        entries.retain(|entry| matches(entry, search));
    }
    if params.text("sort_key").is_some() || params.text("sort_dir").is_some() {
        let key = params.text("sort_key").unwrap_or("name");
        entries.sort_by_key(|entry| sort_text(entry, key));
        if params.text("sort_dir") == Some("desc") {
            entries.reverse();
        }
    }
    let total = entries.len();
    let offset = params.number("offset")?.unwrap_or(0);
    let count = params.count()?.unwrap_or(DEFAULT_COUNT);
    let count = if count == 0 { total } else { count };
    let entries: Vec<Entry> = entries.into_iter().skip(offset).take(count).collect();
    Ok(page(title, path, entries, Paging { total, offset, count }, mode))
}

/// One entry as a feed.
pub(super) fn respond_one(
    title: &str,
    path: &str,
    entry: Entry,
    params: &Params,
) -> Result<Response, RestError> {
    let paging = Paging { total: 1, offset: 0, count: DEFAULT_COUNT };
    Ok(page(title, path, vec![entry], paging, OutputMode::of(params)?))
}

struct Paging {
    total: usize,
    offset: usize,
    count: usize,
}

fn page(
    title: &str,
    path: &str,
    entries: Vec<Entry>,
    paging: Paging,
    mode: OutputMode,
) -> Response {
    let feed = Feed {
        title: title.to_owned(),
        id: path.to_owned(),
        updated: now(),
        entries,
        total: paging.total,
        offset: paging.offset,
        per_page: paging.count,
    };
    if mode.is_json() {
        mode.respond(StatusCode::OK, feed.json().to_string())
    } else {
        OutputMode::Xml.respond(StatusCode::OK, feed.xml())
    }
}

fn matches(entry: &Entry, search: &str) -> bool {
    search.split_whitespace().all(|word| match word.split_once('=') {
        Some((key, wanted)) => {
            let wanted = wanted.trim_matches('"').trim_matches('*');
            sort_text(entry, key).contains(wanted)
        }
        None => entry.name.contains(word.trim_matches('*')),
    })
}

fn sort_text(entry: &Entry, key: &str) -> String {
    match entry.content.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => entry.name.clone(),
    }
}

/// The time an entry is shown as updated.
pub(super) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}
