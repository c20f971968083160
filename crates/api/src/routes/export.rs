//! `/services/search/jobs/export`: every row of a search as it is found.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use knowledge::time::TimeFormat;
use search::{Message, MessageKind, Page};
use serde_json::{Value, json};

use super::jobs::request;
use super::search_bundle::set_bundle;
use crate::audit::Observed;
use crate::audit::searches::{self, Pages};
use crate::call::Call;
use crate::error::RestError;
use crate::output::{
    Columns, Csv, OutputMode, Raw, ResponseMeta, RowFormat, RowObject, write_json, xml_text,
};
use crate::rights::SEARCH;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::work::work_on_rows;

pub(super) fn routes() -> Routes {
    Routes::default().at(
        "/services/search/jobs/export",
        get(SEARCH, "Streams all rows of a search as they are found", export).post(
            SEARCH,
            "The same, with a form",
            export,
        ),
    )
}

/// Streams every row as the search produces it; no job is kept on the server.
async fn export(
    Call { state, caller, namespace, params, .. }: Call,
    seen: Observed,
    method: Method,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(&params)?;
    let mut request = request(&state, &params, &caller, &namespace)?;
    set_bundle(&state, &params, &caller, &mut request).await?;
    request.read_only = method != Method::POST;
    let format = params.text("output_time_format").map(TimeFormat::parse);
    request.output_time_format = format.map(Arc::new);
    request.raw_only = mode == OutputMode::Raw;
    let pages = searches::export(&state, &seen, request).await?;
    let mut export = Export::new(mode, pages);
    // A search that fails at once is answered with a status, and one that is known to miss events with a
    // header, which CSV and raw text have no other place for.
    export.first = match tokio::time::timeout(FIRST, export.pages.recv()).await {
        Ok(Some(Err(error))) => return Err(error.into()),
        first => first.ok(),
    };
    let partial = !export.pages.incomplete().is_empty();
    let stream = futures::stream::unfold(export, |mut export| async move {
        if export.is_broken {
            tokio::time::sleep(FLUSH).await;
            return Some((Err(Broken), Export { is_broken: false, ..export }));
        }
        let chunk = export.next().await?;
        Some((Ok::<Bytes, Broken>(chunk.into()), export))
    });
    let content_type = mode.respond(StatusCode::OK, "").headers()[header::CONTENT_TYPE].clone();
    let body = Body::from_stream(stream.boxed());
    let mut response = ([(header::CONTENT_TYPE, content_type)], body).into_response();
    if partial {
        response.headers_mut().insert(PARTIAL, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Maximum time that an export waits for its first rows before it responds.
const FIRST: std::time::Duration = std::time::Duration::from_secs(2);
/// Says that buckets are left out.
const PARTIAL: HeaderName = HeaderName::from_static("x-karst-partial");
/// Time for sending the error message of a failed export before the connection is closed.
const FLUSH: std::time::Duration = std::time::Duration::from_millis(100);

/// Aborts the body: HTTP/1.1 omits the last chunk, HTTP/2 resets the stream, so that no client mistakes the
/// received part for the whole.
#[derive(Debug, thiserror::Error)]
#[error("the search failed after rows were sent")]
struct Broken;

/// Messages on their own, after the rows.
fn xml_messages(warnings: &[String]) -> String {
    let message = |text: &String| format!("<msg type='WARN'>{}</msg>\n", xml_text(text));
    let messages: String = warnings.iter().map(message).collect();
    format!("<results preview='0'>\n<messages>\n{messages}</messages>\n</results>\n")
}

/// Writes an export, page by page. Rows of `json` are delayed by one, because the last one is marked as such.
struct Export {
    mode: OutputMode,
    pages: Pages,
    rows: usize,
    /// A row without the end of its object.
    held: Option<Vec<u8>>,
    csv: Option<Csv>,
    /// The fields of a report without rows.
    fields: Vec<String>,
    ended: bool,
    /// Whether it has ended with an error, which has been written.
    is_broken: bool,
    /// The first result, which was received before the response began; the inner `None` is the end of the
    /// rows.
    first: Option<Option<Result<Page, search::Error>>>,
}

impl Export {
    fn new(mode: OutputMode, pages: Pages) -> Self {
        Self {
            mode,
            pages,
            rows: 0,
            held: None,
            csv: None,
            fields: Vec::new(),
            ended: false,
            is_broken: false,
            first: None,
        }
    }

    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if self.ended {
                return None;
            }
            let next = match self.first.take() {
                Some(first) => first,
                None => self.pages.recv().await,
            };
            let text = match next {
                Some(Ok(page)) => work_on_rows(page.rows.len(), || self.page(&page)),
                Some(Err(error)) => {
                    (self.ended, self.is_broken) = (true, true);
                    self.error(&error).into_bytes()
                }
                None => {
                    self.ended = true;
                    self.end()
                }
            };
            if !text.is_empty() {
                return Some(text);
            }
        }
    }

    fn page(&mut self, page: &Page) -> Vec<u8> {
        let mut out = Vec::new();
        match self.mode {
            OutputMode::Csv | OutputMode::SafeCsv => self.csv(page, &mut out),
            OutputMode::Raw => Raw::new(page.fields.clone()).rows(page, &mut out),
            OutputMode::Xml => return self.answer(page),
            OutputMode::JsonRows | OutputMode::JsonCols if page.rows.is_empty() => {
                self.fields.clone_from(&page.fields);
            }
            OutputMode::JsonRows | OutputMode::JsonCols => {
                out = self.answer(page);
                out.push(b'\n');
            }
            OutputMode::Json => self.json(page, &mut out),
        }
        out
    }

    fn json(&mut self, page: &Page, out: &mut Vec<u8>) {
        let columns = Columns::of(&page.fields, page);
        for row in &page.rows {
            let mut next =
                format!("{{\"preview\":false,\"offset\":{},\"result\":", self.rows).into_bytes();
            write_json(&RowObject { columns: &columns, row, numbers: &[] }, &mut next);
            self.rows += 1;
            if let Some(ready) = self.held.replace(next) {
                out.extend_from_slice(&ready);
                out.extend_from_slice(b"}\n");
            }
        }
    }

    /// Writes a page as CSV, with the columns of the first page: a header cannot be changed once it is sent.
    fn csv(&mut self, page: &Page, out: &mut Vec<u8>) {
        if page.fields.is_empty() {
            return;
        }
        let csv = self.csv.get_or_insert_with(|| {
            let mut csv = Csv::new(self.mode, page.fields.clone());
            csv.head(out);
            csv
        });
        csv.rows(page, out);
    }

    /// Returns a page as a complete response.
    fn answer(&mut self, page: &Page) -> Vec<u8> {
        let offset = self.rows;
        self.rows += page.rows.len();
        self.mode.write(ResponseMeta { offset, ..ResponseMeta::default() }, page)
    }

    fn end(&mut self) -> Vec<u8> {
        let warnings = self.pages.warnings();
        if !self.mode.is_json() {
            // CSV and raw text cannot contain a message: it is in the log and the health of the server.
            return match self.mode {
                OutputMode::Xml if !warnings.is_empty() => xml_messages(&warnings).into_bytes(),
                _ => Vec::new(),
            };
        }
        if self.mode != OutputMode::Json {
            return self.last_lists(&warnings);
        }
        let mut out = Vec::new();
        if !warnings.is_empty() {
            let message = |text: &String| json!({"type": "WARN", "text": text});
            let messages: Vec<Value> = warnings.iter().map(message).collect();
            out.extend_from_slice(format!("{}\n", json!({"messages": messages})).as_bytes());
        }
        let held = self.held.take();
        out.extend_from_slice(&held.unwrap_or_else(|| b"{\"preview\":false".to_vec()));
        out.extend_from_slice(b",\"lastrow\":true}\n");
        out
    }

    /// Messages of `json_rows` and `json_cols` as an answer without rows, which is also there if no row is.
    fn last_lists(&self, warnings: &[String]) -> Vec<u8> {
        if warnings.is_empty() && self.rows > 0 {
            return Vec::new();
        }
        let message = |text: &String| Message { kind: MessageKind::Warning, text: text.clone() };
        let messages = warnings.iter().map(message).collect();
        let meta = ResponseMeta { offset: self.rows, messages, ..ResponseMeta::default() };
        let page = Page { fields: self.fields.clone(), rows: Vec::new() };
        let mut out = self.mode.write(meta, &page);
        out.push(b'\n');
        out
    }

    fn error(&mut self, error: &search::Error) -> String {
        let text = error.to_string();
        if !self.mode.is_json() {
            let message = RestError::invalid(text);
            return crate::output::error_body(&message, self.mode);
        }
        let held = self.held.take();
        let held = held.map(|row| String::from_utf8_lossy(&row).into_owned() + "}\n");
        let held = held.unwrap_or_default();
        let message = json!({"messages": [{"type": "FATAL", "text": text}]});
        format!("{held}{message}\n")
    }
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "/services/search/jobs/export";
    let rows = "search=%7C+makeresults+%7C+eval+a%3D7";
    vec![
        case(&format!("GET {path}?{rows}"), "", 200, "\"a\":\"7\""),
        case(&format!("GET {path}?{rows}&output_mode=json_rows"), "", 200, "\"rows\":[["),
        case(&format!("GET {path}?{rows}&output_mode=json_cols"), "", 200, "\"columns\":[["),
        case(&format!("GET {path}"), "", 400, "The required 'search' parameter"),
        case(&format!("POST {path}"), rows, 200, "\"lastrow\":true"),
        case(&format!("POST {path}"), "search=%7C+nothing", 400, "nothing"),
    ]
}
