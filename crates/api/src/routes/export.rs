//! `/services/search/jobs/export`: every row of a search as it is found.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use search::Page;
use serde_json::{Value, json};

use super::jobs::request;
use crate::ApiState;
use crate::audit::Observed;
use crate::audit::searches::{self, Pages};
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::{OutputMode, ResultPage, csv_text, raw_text, row_object};
use crate::params::Params;
use crate::session::Caller;

/// Streams every row as the search hands it over; nothing is kept on the server.
pub(crate) async fn export(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    namespace: PathNamespace,
    method: Method,
    params: Params,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(&params)?;
    let mut request = request(&state, &params, &caller, &namespace)?;
    request.read_only = method != Method::POST;
    let pages = searches::export(&state, &seen, request).await?;
    let stream = futures::stream::unfold(Export::new(mode, pages), |mut export| async move {
        let chunk = export.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(chunk.into()), export))
    });
    let content_type = mode.respond(StatusCode::OK, "").headers()[header::CONTENT_TYPE].clone();
    Ok(([(header::CONTENT_TYPE, content_type)], Body::from_stream(stream.boxed())).into_response())
}

/// Writes an export, page by page. JSON rows are held back by one, since the last one says so.
struct Export {
    mode: OutputMode,
    pages: Pages,
    rows: usize,
    held: Option<Value>,
    csv_fields: Option<Vec<String>>,
    ended: bool,
}

impl Export {
    fn new(mode: OutputMode, pages: Pages) -> Self {
        Self { mode, pages, rows: 0, held: None, csv_fields: None, ended: false }
    }

    async fn next(&mut self) -> Option<String> {
        loop {
            if self.ended {
                return None;
            }
            let text = match self.pages.recv().await {
                Some(Ok(page)) => self.page(&page),
                Some(Err(error)) => {
                    self.ended = true;
                    self.error(&error)
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

    fn page(&mut self, page: &Page) -> String {
        match self.mode {
            OutputMode::Csv | OutputMode::SafeCsv => self.csv(page),
            OutputMode::Raw => raw_text(page),
            OutputMode::Xml => self.xml(page),
            OutputMode::Json | OutputMode::JsonRows | OutputMode::JsonCols => self.json(page),
        }
    }

    fn json(&mut self, page: &Page) -> String {
        let mut out = String::new();
        for row in &page.rows {
            let result = row_object(&page.fields, row);
            let next = json!({"preview": false, "offset": self.rows, "result": result});
            self.rows += 1;
            if let Some(ready) = self.held.replace(next) {
                out.push_str(&ready.to_string());
                out.push('\n');
            }
        }
        out
    }

    /// The columns are those of the first page: a header cannot be changed once it is sent.
    fn csv(&mut self, page: &Page) -> String {
        let header = self.csv_fields.is_none();
        let fields = self.csv_fields.get_or_insert_with(|| page.fields.clone());
        let places: Vec<Option<usize>> =
            fields.iter().map(|field| page.fields.iter().position(|f| f == field)).collect();
        let rows: Vec<_> = page
            .rows
            .iter()
            .map(|row| places.iter().map(|at| at.and_then(|at| row[at].clone())).collect())
            .collect();
        csv_text(self.mode, fields, &rows, header)
    }

    fn xml(&mut self, page: &Page) -> String {
        let offset = self.rows;
        self.rows += page.rows.len();
        let body = ResultPage {
            page,
            offset,
            messages: &[],
            highlight: None,
            preview: false,
            post_process: None,
        };
        body.render(OutputMode::Xml)
    }

    fn end(&mut self) -> String {
        if !self.mode.is_json() {
            return String::new();
        }
        let last = match self.held.take() {
            Some(mut last) => {
                last["lastrow"] = json!(true);
                last
            }
            None => json!({"preview": false, "lastrow": true}),
        };
        format!("{last}\n")
    }

    fn error(&mut self, error: &search::Error) -> String {
        let text = error.to_string();
        if !self.mode.is_json() {
            let message = RestError::invalid(text);
            return crate::output::error_body(&message, self.mode);
        }
        let held = self.held.take().map(|row| format!("{row}\n")).unwrap_or_default();
        let message = json!({"messages": [{"type": "FATAL", "text": text}]});
        format!("{held}{message}\n")
    }
}
