//! `/healthz` and `/readyz`: for load balancers and orchestrators.

use axum::extract::State;
use axum::http::StatusCode;

use crate::ApiState;

pub(crate) async fn live() -> &'static str {
    "ok\n"
}

pub(crate) async fn ready(State(state): State<ApiState>) -> (StatusCode, &'static str) {
    if state.shutdown.is_stopped() {
        (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}
