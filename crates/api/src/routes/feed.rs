//! Lists of entries: searching, sorting, paging, and the format asked for.

use std::cmp::Ordering;

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::atom::{Attributes, Entry, Feed, Message, now};
use crate::error::RestError;
use crate::filter::{Filter, scalar};
use crate::output::OutputMode;
use crate::params::Params;

/// Default number of entries of a page.
const DEFAULT_COUNT: usize = 30;

/// Content from a JSON object.
pub(super) fn content(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Responds with a page of entries, by name unless the request sets another order: `count`, `offset`,
/// `search`, `sort_key`, `sort_dir`, `sort_mode`, `f`.
pub(super) fn respond(
    title: &str,
    path: &str,
    mut entries: Vec<Entry>,
    params: &Params,
) -> Result<Response, RestError> {
    sort(&mut entries, "name", SortMode::of(params)?, params);
    listed(title, path, entries, Vec::new(), params)
}

/// A page of entries that have an order of their own, which `sort_key` replaces.
pub(super) fn respond_in_order(
    title: &str,
    path: &str,
    entries: Vec<Entry>,
    params: &Params,
) -> Result<Response, RestError> {
    respond_incomplete(title, path, entries, Vec::new(), params)
}

/// Responds with a page whose entries may be incomplete, with warnings.
pub(super) fn respond_incomplete(
    title: &str,
    path: &str,
    mut entries: Vec<Entry>,
    warnings: Vec<String>,
    params: &Params,
) -> Result<Response, RestError> {
    match params.text("sort_key") {
        Some(key) => {
            let key = key.to_owned();
            sort(&mut entries, &key, SortMode::of(params)?, params);
        }
        None if params.text("sort_dir") == Some("asc") => entries.reverse(),
        None => {}
    }
    listed(title, path, entries, warnings, params)
}

fn listed(
    title: &str,
    path: &str,
    mut entries: Vec<Entry>,
    warnings: Vec<String>,
    params: &Params,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(params)?;
    let filters: Vec<Filter> = params.all("search").map(Filter::parse).collect::<Result<_, _>>()?;
    entries.retain(|entry| filters.iter().all(|filter| filter.accepts(entry)));
    let total = entries.len();
    let offset = params.number("offset")?.unwrap_or(0);
    let count = params.count()?.unwrap_or(DEFAULT_COUNT);
    let count = if count == 0 { total } else { count };
    let mut entries: Vec<Entry> = entries.into_iter().skip(offset).take(count).collect();
    keep_fields(&mut entries, params);
    let messages = warnings.into_iter().map(Message::warning).collect();
    Ok(page(title, path, entries, Paging { total, offset, count, messages }, mode))
}

/// Responds with a page of this total number of entries in their own order. Only the entries of the page are
/// created: `entries_from` returns those from an offset on.
pub(super) fn respond_page<I: Iterator<Item = Entry>>(
    title: &str,
    path: &str,
    (entries_from, total): (impl FnOnce(usize) -> I, usize),
    params: &Params,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(params)?;
    let offset = params.number("offset")?.unwrap_or(0);
    let count = params.count()?.unwrap_or(DEFAULT_COUNT);
    let count = if count == 0 { total } else { count };
    let mut entries: Vec<Entry> = entries_from(offset).take(count).collect();
    keep_fields(&mut entries, params);
    let paging = Paging { total, offset, count, messages: Vec::new() };
    Ok(page(title, path, entries, paging, mode))
}

/// Whether a request filters or sorts a collection by the contents of its entries.
pub(super) fn needs_contents(params: &Params) -> bool {
    let is_by_name = params.text("sort_key").is_none_or(|key| key == "name");
    !is_by_name || params.all("search").next().is_some()
}

/// Returns the items of the page that a request asks for, in the order by name of [`respond`].
pub(super) fn page_by_name<T>(
    mut items: Vec<T>,
    name: impl Fn(&T) -> &str,
    params: &Params,
) -> Result<Vec<T>, RestError> {
    sort_by(&mut items, |item| name(item).to_owned(), SortMode::of(params)?, params);
    let offset = params.number("offset")?.unwrap_or(0);
    let count = params.count()?.unwrap_or(DEFAULT_COUNT);
    let count = if count == 0 { items.len() } else { count };
    Ok(items.into_iter().skip(offset).take(count).collect())
}

/// Responds with one entry as a feed.
pub(super) fn respond_one(
    title: &str,
    path: &str,
    entry: Entry,
    params: &Params,
) -> Result<Response, RestError> {
    respond_warned(title, path, entry, Vec::new(), params)
}

/// Responds with one entry and warnings for the caller.
pub(super) fn respond_warned(
    title: &str,
    path: &str,
    entry: Entry,
    warnings: Vec<String>,
    params: &Params,
) -> Result<Response, RestError> {
    let messages = warnings.into_iter().map(Message::warning).collect();
    respond_with_messages(title, path, entry, messages, params)
}

/// Responds with one entry and messages for the caller.
pub(super) fn respond_with_messages(
    title: &str,
    path: &str,
    entry: Entry,
    messages: Vec<Message>,
    params: &Params,
) -> Result<Response, RestError> {
    let paging = Paging { total: 1, offset: 0, count: DEFAULT_COUNT, messages };
    let mut entries = vec![entry];
    keep_fields(&mut entries, params);
    Ok(page(title, path, entries, paging, OutputMode::of(params)?))
}

/// Responds with a created entry.
pub(super) fn respond_created(
    title: &str,
    path: &str,
    entry: Entry,
    params: &Params,
) -> Result<Response, RestError> {
    let mut response = respond_one(title, path, entry, params)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Responds to `_new`: the parameters of an object of the collection.
pub(super) fn respond_template(
    title: &str,
    path: &str,
    attributes: Attributes,
    params: &Params,
) -> Result<Response, RestError> {
    let entry = Entry::new(path, "_new", Map::new()).with_attributes(attributes);
    respond_one(title, path, entry, params)
}

/// A feed without entries: of collections that are always empty, and after something was removed.
pub(super) fn respond_empty(
    title: &str,
    path: &str,
    params: &Params,
) -> Result<Response, RestError> {
    respond(title, path, Vec::new(), params)
}

struct Paging {
    total: usize,
    offset: usize,
    count: usize,
    messages: Vec<Message>,
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
        messages: paging.messages,
    };
    if mode.is_json() {
        mode.respond(StatusCode::OK, feed.json().to_string())
    } else {
        OutputMode::Xml.respond(StatusCode::OK, feed.xml())
    }
}

/// `f=` names the only fields wanted.
fn keep_fields(entries: &mut [Entry], params: &Params) {
    let wanted: Vec<&str> = params.all("f").filter(|name| !name.is_empty()).collect();
    if wanted.is_empty() || wanted.contains(&"*") {
        return;
    }
    let is_wanted = |name: &str| {
        wanted.iter().any(|field| {
            field.strip_suffix('*').map_or(*field == name, |prefix| name.starts_with(prefix))
        })
    };
    for entry in entries {
        entry.content.retain(|name, _| is_wanted(name));
    }
}

/// `sort_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SortMode {
    /// Numbers by value if all are numbers, otherwise like `Alpha`.
    Auto,
    /// Upper and lower case are the same.
    Alpha,
    /// Upper case before lower case.
    AlphaCase,
    /// By numeric value; other texts come first.
    Number,
}

impl SortMode {
    fn of(params: &Params) -> Result<Self, RestError> {
        match params.text("sort_mode") {
            None | Some("auto") => Ok(Self::Auto),
            Some("alpha") => Ok(Self::Alpha),
            Some("alpha_case") => Ok(Self::AlphaCase),
            Some("num") => Ok(Self::Number),
            Some(other) => Err(RestError::invalid(format!(
                "unknown sort_mode \"{other}\"; use auto, alpha, alpha_case or num"
            ))),
        }
    }
}

fn sort(entries: &mut Vec<Entry>, key: &str, mode: SortMode, params: &Params) {
    let key = params.text("sort_key").unwrap_or(key);
    sort_by(entries, |entry| sort_text(entry, key), mode, params);
}

/// Sorts by a text of each item.
fn sort_by<T>(items: &mut Vec<T>, text_of: impl Fn(&T) -> String, mode: SortMode, params: &Params) {
    let mut keyed: Vec<(String, T)> = items.drain(..).map(|item| (text_of(&item), item)).collect();
    let mode = match mode {
        SortMode::Auto if keyed.iter().all(|(text, _)| number(text).is_some()) => SortMode::Number,
        SortMode::Auto => SortMode::Alpha,
        mode => mode,
    };
    keyed.sort_by(|(a, _), (b, _)| compare(a, b, mode));
    items.extend(keyed.into_iter().map(|(_, item)| item));
    if params.text("sort_dir") == Some("desc") {
        items.reverse();
    }
}

fn compare(a: &str, b: &str, mode: SortMode) -> Ordering {
    match mode {
        SortMode::AlphaCase => a.cmp(b),
        SortMode::Number => {
            let smallest = f64::NEG_INFINITY;
            number(a).unwrap_or(smallest).total_cmp(&number(b).unwrap_or(smallest))
        }
        SortMode::Alpha | SortMode::Auto => a.to_lowercase().cmp(&b.to_lowercase()),
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

fn sort_text(entry: &Entry, key: &str) -> String {
    match entry.content.get(key) {
        Some(value) => scalar(value),
        None => entry.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(names: &[&str], query: &str) -> Vec<String> {
        let mut entries: Vec<Entry> =
            names.iter().map(|name| Entry::new("/x", name, Map::new())).collect();
        let params = Params::parse(query, &[]);
        let mode = SortMode::of(&params).unwrap_or(SortMode::Auto);
        sort(&mut entries, "name", mode, &params);
        entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn names_of_digits_are_numbers_and_others_words() {
        assert_eq!(sorted(&["10", "9", "1"], ""), ["1", "9", "10"]);
        assert_eq!(sorted(&["b", "A", "a10", "B2"], ""), ["A", "a10", "b", "B2"]);
        assert_eq!(sorted(&["b", "A", "C"], "sort_mode=alpha_case"), ["A", "C", "b"]);
        assert_eq!(sorted(&["b", "A", "C"], "sort_dir=desc"), ["C", "b", "A"]);
    }

    #[test]
    fn a_page_by_name_has_the_names_of_the_page_of_entries() {
        let names = ["b", "A", "10", "C"];
        for query in ["", "sort_dir=desc", "sort_mode=alpha_case", "sort_key=name"] {
            let all = sorted(&names, query);
            let pages = [("", &all[..]), ("count=0", &all[..]), ("count=2&offset=1", &all[1..3])];
            for (page, expected) in pages {
                let params = Params::parse(&format!("{query}&{page}"), &[]);
                assert!(!needs_contents(&params), "{query}");
                let found = page_by_name(names.to_vec(), |name| *name, &params);
                assert_eq!(found.unwrap_or_default(), expected, "{query} {page}");
            }
        }
        for query in ["sort_key=size", "search=x"] {
            assert!(needs_contents(&Params::parse(query, &[])), "{query}");
        }
    }
}
