//! Results and messages in the formats Splunk's clients ask for.

mod columns;
mod csv;
mod json;
mod pieces;
mod raw;
mod xml;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use quick_xml::escape::escape;
use search::{Message, MessageKind, Page};
use serde_json::{Value as Json, json};

pub(crate) use self::columns::Columns;
pub(crate) use self::csv::Csv;
pub(crate) use self::json::{RowObject, write_json};
pub(crate) use self::pieces::{Pieces, fields_of, streamed, whole};
pub(crate) use self::raw::Raw;
use crate::error::RestError;
use crate::params::Params;

/// `output_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputMode {
    Xml,
    Json,
    JsonRows,
    JsonCols,
    Csv,
    /// CSV whose cells no spreadsheet takes for formulas (`csv_escape_formulas`).
    SafeCsv,
    Raw,
}

impl OutputMode {
    /// Returns the requested format; XML by default.
    pub(crate) fn of(params: &Params) -> Result<Self, RestError> {
        match params.text("output_mode") {
            None | Some("xml" | "atom") => Ok(Self::Xml),
            Some("json") => Ok(Self::Json),
            Some("json_rows") => Ok(Self::JsonRows),
            Some("json_cols") => Ok(Self::JsonCols),
            Some("csv") if params.flag("csv_escape_formulas") => Ok(Self::SafeCsv),
            Some("csv") => Ok(Self::Csv),
            Some("raw") => Ok(Self::Raw),
            Some(other) => Err(RestError::invalid(format!(
                "unknown output_mode \"{other}\"; use json, json_rows, json_cols, csv, xml or raw"
            ))),
        }
    }

    pub(crate) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::JsonRows | Self::JsonCols)
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Xml => "text/xml; charset=UTF-8",
            Self::Json | Self::JsonRows | Self::JsonCols => "application/json; charset=UTF-8",
            Self::Csv | Self::SafeCsv => "text/csv; charset=UTF-8",
            Self::Raw => "text/plain; charset=UTF-8",
        }
    }

    /// A response with a body in this format.
    pub(crate) fn respond(self, status: StatusCode, body: impl Into<Body>) -> Response {
        let headers = [
            (header::CONTENT_TYPE, self.content_type()),
            (header::CACHE_CONTROL, "no-store, no-cache, must-revalidate, max-age=0"),
        ];
        (status, headers, body.into()).into_response()
    }
}

/// The metadata of a response besides its rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponseMeta {
    /// The number of the first row.
    pub(crate) offset: usize,
    pub(crate) messages: Vec<Message>,
    /// Words to mark in `_raw`, where asked for.
    pub(crate) highlight: Option<Vec<String>>,
    pub(crate) preview: bool,
    /// Rows that a further search over the result gave, where there was one.
    pub(crate) post_process: Option<usize>,
}

/// Rows in one of the formats: a header, any number of pages, an end. The text does not depend on the
/// division into pages.
pub(crate) trait RowFormat: Send {
    fn head(&mut self, out: &mut Vec<u8>);

    /// Rows of a page, which has some of the fields of the answer, or all.
    fn rows(&mut self, page: &Page, out: &mut Vec<u8>);

    /// Returns the text after the last row, in pieces.
    fn end(&mut self) -> Vec<Vec<u8>>;
}

impl OutputMode {
    /// Writes answers with these fields.
    pub(crate) fn format(self, meta: ResponseMeta, fields: Vec<String>) -> Box<dyn RowFormat> {
        match self {
            Self::Json => Box::new(json::Objects::new(meta, fields)),
            Self::JsonRows => Box::new(json::Lists::new(meta, fields)),
            Self::JsonCols => Box::new(json::Columnwise::new(meta, fields)),
            Self::Csv | Self::SafeCsv => Box::new(Csv::new(self, fields)),
            Self::Xml => Box::new(xml::Results::new(meta, fields)),
            Self::Raw => Box::new(Raw::new(fields)),
        }
    }

    /// A page with all of its fields as a whole answer.
    pub(crate) fn write(self, meta: ResponseMeta, page: &Page) -> Vec<u8> {
        whole(self.format(meta, page.fields.clone()), page)
    }
}

pub(crate) fn messages_json(messages: &[Message]) -> Vec<Json> {
    let one = |message: &Message| json!({"type": severity(message.kind), "text": message.text});
    messages.iter().map(one).collect()
}

fn severity(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Info => "INFO",
        MessageKind::Warning => "WARN",
    }
}

/// The body of an error.
pub(crate) fn error_body(error: &RestError, mode: OutputMode) -> String {
    if mode.is_json() {
        let mut message = json!({"type": error.severity, "text": error.text});
        if let Some(code) = error.code {
            message["code"] = json!(code);
        }
        return json!({"messages": [message]}).to_string();
    }
    let code = error.code.map(|code| format!(" code=\"{code}\"")).unwrap_or_default();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<response>\n  <messages>\n    \
         <msg type=\"{}\"{code}>{}</msg>\n  </messages>\n</response>\n",
        error.severity,
        xml_text(&error.text)
    )
}

/// Returns text that is valid in XML 1.0: markup is escaped, characters that XML does not allow are replaced.
pub(crate) fn xml_text(text: &str) -> String {
    let allowed = |c: char| {
        matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
            || c >= '\u{10000}'
    };
    let clean: String =
        text.chars().map(|c| if allowed(c) { c } else { char::REPLACEMENT_CHARACTER }).collect();
    escape(clean.as_str()).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
