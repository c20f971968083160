//! `POST /api/v1/sql`: `{"query": "...", "earliest": "-1h", "latest": "now", "app": "search"}`, or the same as a
//! form.

use std::convert::Infallible;
use std::sync::Arc;

use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use runtime::trace::TraceContext;
use search::{Message, MessageKind, Page, SqlRequest, SqlResult, SqlRows};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ApiState;
use crate::audit::{Observed, searches};
use crate::body::RawBody;
use crate::error::RestError;
use crate::output::{
    Columns, OutputMode, Pieces, ResponseMeta, RowFormat, RowObject, streamed, whole, write_json,
};
use crate::params::Params;
use crate::portable::{portable, portable_batch};
use crate::rights::SEARCH;
use crate::routing::{Routes, post};
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::work::work_on_rows;

pub(super) fn routes() -> Routes {
    Routes::default().at("/api/v1/sql", post(SEARCH, "Runs an SQL query; see docs/sql.md", query))
}

/// Set where rows are missing because of `maxresultrows`.
const TRUNCATED: HeaderName = HeaderName::from_static("karst-truncated");

/// A message about knowledge objects, in formats whose body has rows only; one header for each.
pub(crate) const MESSAGE: &str = "karst-message";
/// Maximum number of such headers; one more has the number of the others.
const MESSAGES: usize = 5;
/// Maximum length of such a header. All of them have less than 2 KB: by default, nginx refuses a response
/// whose headers are larger than a page of memory, 4 KB (`proxy_buffer_size`).
const MESSAGE_BYTES: usize = 300;
/// The end of a text that is cut.
const CUT: &str = "...";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    query: String,
    #[serde(default)]
    earliest: Option<String>,
    #[serde(default)]
    latest: Option<String>,
    #[serde(default)]
    timezone: Option<String>,
    #[serde(default)]
    app: Option<String>,
}

async fn query(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    params: Params,
    RawBody(bytes): RawBody,
) -> Result<Response, RestError> {
    let query = read(&params, &bytes)?;
    let timezone = match &query.timezone {
        None => TimeZone::UTC,
        Some(name) => TimeZone::get(name).map_err(|error| {
            RestError::invalid(format!("unknown time zone \"{name}\": {error}"))
        })?,
    };
    let request = SqlRequest {
        query: query.query,
        earliest: query.earliest,
        latest: query.latest,
        timezone,
        app: search::sql_app(query.app),
        rights: Arc::clone(&caller.rights),
        rows: SqlRows::Limited,
        trace: TraceContext::default(),
    };
    let result = searches::sql(&state, &seen, &caller.user, request).await?;
    answer(&params, result)
}

/// The answer in the format that is asked for.
fn answer(params: &Params, result: SqlResult) -> Result<Response, RestError> {
    let (truncated, messages) = (result.truncated, header_messages(&result.messages));
    match params.text("output_mode") {
        Some("csv") => {
            let mode = OutputMode::of(params)?;
            let body = body_of(mode.format(ResponseMeta::default(), names(&result)), result);
            Ok(marked(mode.respond(StatusCode::OK, body), truncated, messages))
        }
        Some("arrow") => {
            let kind = HeaderValue::from_static("application/vnd.apache.arrow.stream");
            let body = arrow_body(result).map_err(|error| {
                RestError::new(StatusCode::INTERNAL_SERVER_ERROR, "FATAL", error.to_string())
            })?;
            let response = ([(header::CONTENT_TYPE, kind)], body).into_response();
            Ok(marked(response, truncated, messages))
        }
        None | Some("json") => {
            let body = body_of(Box::new(SqlObjects::of(&result)), result);
            Ok(OutputMode::Json.respond(StatusCode::OK, body))
        }
        Some(other) => {
            let text = format!("unknown output_mode \"{other}\"; use json, csv or arrow");
            Err(RestError::invalid(text))
        }
    }
}

fn names(result: &SqlResult) -> Vec<String> {
    result.schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// Many rows are written while they are read.
fn body_of(format: Box<dyn RowFormat>, result: SqlResult) -> Body {
    if result.are_many() {
        let pages = result.slices().map(|slice| slice.page());
        return streamed(Pieces::new(format, pages).map(Ok::<_, Infallible>), ());
    }
    work_on_rows(result.rows(), || whole(format, &result.page())).into()
}

/// Columns with their types, rows as objects, whether some are missing, messages if there are any.
struct SqlObjects {
    columns: Vec<Value>,
    fields: Vec<String>,
    /// Columns of numbers.
    numbers: Vec<String>,
    truncated: bool,
    messages: Vec<Value>,
    has_rows: bool,
}

impl SqlObjects {
    fn of(result: &SqlResult) -> Self {
        let columns = result.schema.fields().iter();
        let column =
            |field: &FieldRef| json!({"name": field.name(), "type": field.data_type().to_string()});
        let message = |message: &Message| {
            let kind = match message.kind {
                MessageKind::Info => "INFO",
                MessageKind::Warning => "WARN",
            };
            json!({"type": kind, "text": message.text})
        };
        let numbers = columns.clone().filter(|field| field.data_type().is_numeric());
        Self {
            numbers: numbers.map(|field| field.name().clone()).collect(),
            columns: columns.map(column).collect(),
            fields: names(result),
            truncated: result.truncated,
            messages: result.messages.iter().map(message).collect(),
            has_rows: false,
        }
    }
}

impl RowFormat for SqlObjects {
    fn head(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"columns\":");
        write_json(&self.columns, out);
        out.extend_from_slice(b",\"rows\":[");
    }

    fn rows(&mut self, page: &Page, out: &mut Vec<u8>) {
        let columns = Columns::of(&self.fields, page);
        for row in &page.rows {
            if std::mem::replace(&mut self.has_rows, true) {
                out.push(b',');
            }
            write_json(&RowObject { columns: &columns, row, numbers: &self.numbers }, out);
        }
    }

    fn end(&mut self) -> Vec<Vec<u8>> {
        let mut end = format!("],\"truncated\":{}", self.truncated).into_bytes();
        if !self.messages.is_empty() {
            end.extend_from_slice(b",\"messages\":");
            write_json(&self.messages, &mut end);
        }
        end.push(b'}');
        vec![end]
    }
}

/// The rows as Arrow's stream format.
fn arrow_body(result: SqlResult) -> Result<Body, ArrowError> {
    let (rows, many) = (result.rows(), result.are_many());
    let pieces = arrow_pieces(result)?;
    if many {
        return Ok(streamed(pieces, ()));
    }
    let pieces = work_on_rows(rows, || pieces.collect::<Result<Vec<_>, _>>())?;
    Ok(pieces.concat().into())
}

/// The schema, rows, and the end of the stream.
fn arrow_pieces(
    result: SqlResult,
) -> Result<impl Iterator<Item = Result<Vec<u8>, ArrowError>> + Send, ArrowError> {
    let schema = SchemaRef::new(portable(&result.schema));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    let slices = result.slices().map(Some).chain([None]);
    Ok(slices.map(move |slice| {
        match slice {
            Some(slice) => {
                for batch in &slice.batches {
                    writer.write(&portable_batch(batch, &schema)?)?;
                }
            }
            None => writer.finish()?,
        }
        Ok(std::mem::take(writer.get_mut()))
    }))
}

/// Adds headers for missing rows and for messages, for formats whose body cannot contain them.
fn marked(mut response: Response, truncated: bool, messages: Vec<HeaderValue>) -> Response {
    if truncated {
        response.headers_mut().insert(TRUNCATED, HeaderValue::from_static("true"));
    }
    for message in messages {
        response.headers_mut().append(HeaderName::from_static(MESSAGE), message);
    }
    response
}

/// Returns messages about knowledge objects as values of [`MESSAGE`], which have printable ASCII only;
/// warnings come first.
pub(crate) fn header_messages(messages: &[Message]) -> Vec<HeaderValue> {
    let mut sorted: Vec<&Message> = messages.iter().collect();
    sorted.sort_by_key(|message| message.kind != MessageKind::Warning);
    let first = sorted.iter().take(MESSAGES);
    let mut lines: Vec<String> = first.map(|message| header_line(&message.text)).collect();
    if messages.len() > MESSAGES {
        let more = messages.len() - MESSAGES;
        lines.push(format!("{more} more: POST /api/v1/sql with output_mode=json has all"));
    }
    lines.iter().filter_map(|line| HeaderValue::from_str(line).ok()).collect()
}

/// Returns a text as one line for a header; a longer one is cut, and ends with `...`.
fn header_line(text: &str) -> String {
    let is_printable = |character: char| character == ' ' || character.is_ascii_graphic();
    let mut line: String = text
        .chars()
        .map(|c| if is_printable(c) { c } else { '?' })
        .take(MESSAGE_BYTES + 1)
        .collect();
    if line.len() > MESSAGE_BYTES {
        line.truncate(MESSAGE_BYTES - CUT.len());
        line.push_str(CUT);
    }
    line
}

fn read(params: &Params, bytes: &[u8]) -> Result<Query, RestError> {
    if bytes.first() == Some(&b'{') {
        return serde_json::from_slice(bytes)
            .map_err(|error| RestError::invalid(format!("the body is invalid: {error}")));
    }
    let text = |name: &str| params.text(name).map(str::to_owned);
    Ok(Query {
        query: params.required("query")?.to_owned(),
        earliest: text("earliest").or_else(|| text("earliest_time")),
        latest: text("latest").or_else(|| text("latest_time")),
        timezone: text("timezone"),
        app: text("app"),
    })
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "/api/v1/sql";
    vec![
        case(&format!("POST {path}"), r#"{"query": "SELECT 7 AS a"}"#, 200, "\"a\""),
        case(&format!("POST {path}"), "query=SELECT+7+AS+a", 200, "\"a\""),
        case(&format!("POST {path}"), r#"{"q": 1}"#, 400, "the body is invalid"),
        case(&format!("POST {path}"), "query=SELECT", 400, ""),
        case(&format!("POST {path}"), "query=SELECT+7+AS+a&app=-", 200, "\"a\""),
        case(&format!("POST {path}"), r#"{"query": "SELECT 7 AS a", "app": ""}"#, 200, "\"a\""),
        case(&format!("POST {path}"), "query=SELECT+7+AS+a&app=serach", 400, "there is no app"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_headers_of_printable_characters() {
        let message = |text: String| Message { kind: MessageKind::Warning, text };
        let one = header_messages(&[message("left\nout: \u{e9}t\u{e9}".to_owned())]);
        assert_eq!(one, ["left?out: ?t?"]);
        let many: Vec<Message> = (0..12).map(|at| message(format!("{at} ").repeat(500))).collect();
        let headers = header_messages(&many);
        assert_eq!(headers.len(), 6);
        assert_eq!(headers[5], "7 more: POST /api/v1/sql with output_mode=json has all");
        let bytes = headers.iter().map(|header| MESSAGE.len() + header.len()).sum::<usize>();
        assert!(bytes < 2_000, "{bytes}");
    }

    #[test]
    fn a_text_that_is_cut_for_a_header_ends_with_dots() {
        let whole = "a".repeat(MESSAGE_BYTES);
        assert_eq!(header_line(&whole), whole);
        let cut = header_line(&format!("{whole}a"));
        assert_eq!((cut.len(), cut.strip_suffix("aaa...").is_some()), (MESSAGE_BYTES, true));
    }

    #[test]
    fn warnings_are_before_other_messages_in_headers() {
        let message = |kind, text: &str| Message { kind, text: text.to_owned() };
        let mut messages = vec![message(MessageKind::Info, "info"); 5];
        messages.push(message(MessageKind::Warning, "one"));
        messages.push(message(MessageKind::Warning, "two"));
        let headers = header_messages(&messages);
        assert_eq!(headers[..3], ["one", "two", "info"]);
        assert_eq!(headers.len(), 6);
    }
}
