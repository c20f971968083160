//! `POST /api/v1/sql`: `{"query": "...", "earliest": "-1h", "latest": "now"}`, or the same as a form.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ipc::writer::StreamWriter;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use search::{SqlRequest, SqlResult, SqlRows};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ApiState;
use crate::audit::{Observed, searches};
use crate::error::RestError;
use crate::flight::{portable, portable_batch};
use crate::output::{OutputMode, csv_text, row_object};
use crate::params::Params;
use crate::receiver::work_on_rows;
use crate::rest::RawBody;
use crate::session::Caller;

/// Set where rows are missing because of `maxresultrows`.
const TRUNCATED: HeaderName = HeaderName::from_static("karst-truncated");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    query: String,
    #[serde(default)]
    earliest: Option<String>,
    #[serde(default)]
    latest: Option<String>,
    #[serde(default)]
    timezone: Option<String>,
}

pub(crate) async fn query(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    params: Params,
    RawBody(bytes): RawBody,
) -> Result<Response, RestError> {
    let body = read(&params, &bytes)?;
    let timezone = match &body.timezone {
        None => TimeZone::UTC,
        Some(name) => TimeZone::get(name).map_err(|error| {
            RestError::invalid(format!("unknown time zone \"{name}\": {error}"))
        })?,
    };
    let request = SqlRequest {
        query: body.query,
        earliest: body.earliest,
        latest: body.latest,
        timezone,
        rights: Arc::clone(&caller.rights),
        rows: SqlRows::Limited,
    };
    let result = searches::sql(&state, &seen, &caller.user, request).await?;
    let rows = result.batches.iter().map(RecordBatch::num_rows).sum();
    work_on_rows(rows, || written(&params, &result))
}

/// The answer in the format that is asked for.
fn written(params: &Params, result: &SqlResult) -> Result<Response, RestError> {
    match params.text("output_mode") {
        Some("csv") => {
            let page = result.page();
            let mode = OutputMode::of(params)?;
            let text = csv_text(mode, &page.fields, &page.rows, true);
            return Ok(marked(mode.respond(StatusCode::OK, text), result));
        }
        Some("arrow") => return Ok(marked(arrow_stream(result)?, result)),
        None | Some("json") => {}
        Some(other) => {
            let text = format!("unknown output_mode \"{other}\"; use json, csv or arrow");
            return Err(RestError::invalid(text));
        }
    }
    let page = result.page();
    let column = |field: &Arc<arrow::datatypes::Field>| json!({"name": field.name(), "type": field.data_type().to_string()});
    let columns: Vec<Value> = result.schema.fields().iter().map(column).collect();
    let numeric: Vec<&str> = result
        .schema
        .fields()
        .iter()
        .filter(|field| field.data_type().is_numeric())
        .map(|field| field.name().as_str())
        .collect();
    let rows: Vec<Value> =
        page.rows.iter().map(|row| with_numbers(row_object(&page.fields, row), &numeric)).collect();
    let body = json!({"columns": columns, "rows": rows, "truncated": result.truncated});
    Ok(OutputMode::Json.respond(StatusCode::OK, body.to_string()))
}

/// The rows as Arrow's stream format.
fn arrow_stream(result: &SqlResult) -> Result<Response, RestError> {
    let schema = SchemaRef::new(portable(&result.schema));
    let write = || {
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        for batch in &result.batches {
            writer.write(&portable_batch(batch, &schema)?)?;
        }
        writer.into_inner()
    };
    let bytes = write().map_err(|error| {
        RestError::new(StatusCode::INTERNAL_SERVER_ERROR, "FATAL", error.to_string())
    })?;
    let kind = HeaderValue::from_static("application/vnd.apache.arrow.stream");
    Ok(([(header::CONTENT_TYPE, kind)], bytes).into_response())
}

/// What cannot say in its body that rows are missing says it in a header.
fn marked(mut response: Response, result: &SqlResult) -> Response {
    if result.truncated {
        response.headers_mut().insert(TRUNCATED, HeaderValue::from_static("true"));
    }
    response
}

/// Columns of numbers as JSON numbers; what JSON cannot say (NaN) stays a text.
fn with_numbers(mut row: Value, numeric: &[&str]) -> Value {
    for name in numeric {
        if let Some(cell) = row.get_mut(*name)
            && let Some(number) = cell.as_str().and_then(|text| serde_json::from_str(text).ok())
        {
            *cell = number;
        }
    }
    row
}

fn read(params: &Params, bytes: &[u8]) -> Result<Body, RestError> {
    if bytes.first() == Some(&b'{') {
        return serde_json::from_slice(bytes).map_err(|error| {
            RestError::invalid(format!("the body is not what is expected: {error}"))
        });
    }
    let text = |name: &str| params.text(name).map(str::to_owned);
    Ok(Body {
        query: params.required("query")?.to_owned(),
        earliest: text("earliest").or_else(|| text("earliest_time")),
        latest: text("latest").or_else(|| text("latest_time")),
        timezone: text("timezone"),
    })
}
