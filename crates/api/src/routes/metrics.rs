//! `/metrics`: everything counted, for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use super::health;
use crate::ApiState;

pub(crate) async fn metrics(State(state): State<ApiState>) -> impl IntoResponse {
    health::measure(&state);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], state.metrics.render())
}
