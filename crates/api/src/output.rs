//! Results and messages in the formats Splunk's clients ask for.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use quick_xml::escape::escape;
use search::{Message, MessageKind, Page, Value};
use serde_json::{Map, Value as Json, json};

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
    /// What the request asks for; XML if nothing.
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
    pub(crate) fn respond(self, status: StatusCode, body: impl Into<String>) -> Response {
        let headers = [
            (header::CONTENT_TYPE, self.content_type()),
            (header::CACHE_CONTROL, "no-store, no-cache, must-revalidate, max-age=0"),
        ];
        (status, headers, body.into()).into_response()
    }
}

/// A page of results as a client gets it.
#[derive(Debug)]
pub(crate) struct ResultPage<'a> {
    pub(crate) page: &'a Page,
    pub(crate) offset: usize,
    pub(crate) messages: &'a [Message],
    /// Words to mark in `_raw`, where asked for.
    pub(crate) highlight: Option<&'a [String]>,
    pub(crate) preview: bool,
    /// Rows that a further search over the result gave, where there was one.
    pub(crate) post_process: Option<usize>,
}

impl ResultPage<'_> {
    pub(crate) fn render(&self, mode: OutputMode) -> String {
        match mode {
            OutputMode::Json => self.json(),
            OutputMode::JsonRows => self.json_rows(),
            OutputMode::JsonCols => self.json_cols(),
            OutputMode::Csv | OutputMode::SafeCsv => {
                csv_text(mode, &self.page.fields, &self.page.rows, true)
            }
            OutputMode::Xml => self.xml(),
            OutputMode::Raw => raw_text(self.page),
        }
    }

    // JSON is one line always: Splunk's Python client reads it line by line.
    fn json(&self) -> String {
        let fields: Vec<Json> = self.page.fields.iter().map(|f| json!({"name": f})).collect();
        let results: Vec<Json> =
            self.page.rows.iter().map(|row| row_object(&self.page.fields, row)).collect();
        let mut body = json!({
            "preview": self.preview, "init_offset": self.offset,
            "messages": messages_json(self.messages), "fields": fields, "results": results,
        });
        body["highlighted"] = self.highlight.map_or_else(|| json!({}), |words| json!(words));
        self.finish(body)
    }

    fn json_rows(&self) -> String {
        self.finish(json!({
            "preview": self.preview, "init_offset": self.offset,
            "messages": messages_json(self.messages),
            "fields": self.page.fields, "rows": self.page.rows,
        }))
    }

    fn finish(&self, mut body: Json) -> String {
        if let Some(rows) = self.post_process {
            body["post_process_count"] = json!(rows);
        }
        body.to_string()
    }

    fn json_cols(&self) -> String {
        let column =
            |at: usize| self.page.rows.iter().map(|row| json!(row[at])).collect::<Vec<Json>>();
        let columns: Vec<_> = (0..self.page.fields.len()).map(column).collect();
        self.finish(json!({
            "preview": self.preview, "init_offset": self.offset,
            "messages": messages_json(self.messages),
            "fields": self.page.fields, "columns": columns,
        }))
    }

    fn xml(&self) -> String {
        let mut out = String::from("<?xml version='1.0' encoding='UTF-8'?>\n");
        out.push_str(&format!("<results preview='{}'>\n", u8::from(self.preview)));
        out.push_str("<meta>\n<fieldOrder>\n");
        for field in &self.page.fields {
            out.push_str(&format!("<field>{}</field>\n", xml_text(field)));
        }
        out.push_str("</fieldOrder>\n</meta>\n");
        if !self.messages.is_empty() {
            out.push_str("<messages>\n");
            for message in self.messages {
                let text = xml_text(&message.text);
                out.push_str(&format!("<msg type='{}'>{text}</msg>\n", severity(message.kind)));
            }
            out.push_str("</messages>\n");
        }
        for (at, row) in self.page.rows.iter().enumerate() {
            self.row_xml(self.offset + at, row, &mut out);
        }
        out.push_str("</results>\n");
        out
    }

    fn row_xml(&self, offset: usize, row: &[Option<Value>], out: &mut String) {
        out.push_str(&format!("<result offset='{offset}'>\n"));
        for (field, value) in self.page.fields.iter().zip(row) {
            let Some(value) = value else { continue };
            out.push_str(&format!("<field k='{}'>", xml_text(field)));
            match value {
                Value::One(text) if field == "_raw" => out
                    .push_str(&format!("<v xml:space='preserve' trunc='0'>{}</v>", xml_text(text))),
                Value::One(text) => {
                    out.push_str(&format!("<value><text>{}</text></value>", xml_text(text)));
                }
                Value::Many(texts) => {
                    for text in texts {
                        out.push_str(&format!("<value><text>{}</text></value>", xml_text(text)));
                    }
                }
            }
            out.push_str("</field>\n");
        }
        out.push_str("</result>\n");
    }
}

/// A row as an object; fields without a value are left out, as Splunk does.
pub(crate) fn row_object(fields: &[String], row: &[Option<Value>]) -> Json {
    let pair = |(field, value): (&String, &Option<Value>)| {
        value.as_ref().map(|value| (field.clone(), json!(value)))
    };
    Json::Object(fields.iter().zip(row).filter_map(pair).collect::<Map<_, _>>())
}

/// Rows as CSV; several values of a field are lines of one cell.
pub(crate) fn csv_text(
    mode: OutputMode,
    fields: &[String],
    rows: &[Vec<Option<Value>>],
    header: bool,
) -> String {
    let escape = |text: String| if mode == OutputMode::SafeCsv { no_formula(text) } else { text };
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing into memory cannot fail, and rows have as many cells as the header.
    if header {
        let _ = writer.write_record(fields.iter().map(|field| escape(field.clone())));
    }
    for row in rows {
        let cells = row.iter().map(|cell| cell.as_ref().map(Value::joined).unwrap_or_default());
        let _ = writer.write_record(cells.map(escape));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// A cell that spreadsheets show and do not run: an apostrophe before what begins like a formula.
/// Numbers stay numbers.
fn no_formula(text: String) -> String {
    let like_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    if like_formula && !number() { format!("'{text}") } else { text }
}

/// The text of events, one after the other.
pub(crate) fn raw_text(page: &Page) -> String {
    let raw = page.fields.iter().position(|field| field == "_raw");
    let mut out = String::new();
    for row in &page.rows {
        match raw.and_then(|at| row[at].as_ref()) {
            Some(text) => out.push_str(&text.joined()),
            None => {
                let cells: Vec<String> = row
                    .iter()
                    .map(|cell| cell.as_ref().map(Value::joined).unwrap_or_default())
                    .collect();
                out.push_str(&cells.join("\t"));
            }
        }
        out.push('\n');
    }
    out
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

/// Text that may stand in XML 1.0: markup escaped, characters it does not allow replaced.
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
mod tests {
    use super::*;

    #[test]
    fn cells_that_begin_like_formulas_are_text_on_request() {
        let texts = ["=1+1", "+SUM(A1)", "-2+3", "@x", "\tx", "\rx", "-2.5", "+3e4", "a=b", ""];
        let escaped = texts.map(|text| no_formula(text.to_owned()));
        let expected =
            ["'=1+1", "'+SUM(A1)", "'-2+3", "'@x", "'\tx", "'\rx", "-2.5", "+3e4", "a=b", ""];
        assert_eq!(escaped, expected);
        let rows = [vec![Some(Value::One("=1+1".to_owned()))]];
        let csv = |mode| csv_text(mode, &["=a".to_owned()], &rows, true);
        assert_eq!(csv(OutputMode::SafeCsv), "'=a\n'=1+1\n");
        assert_eq!(csv(OutputMode::Csv), "=a\n=1+1\n");
    }
}
