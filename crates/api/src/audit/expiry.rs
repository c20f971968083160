//! Sessions that end by themselves: no request ends them, so no request has their record.

use std::time::Duration;

use ::audit::{Info, Record};

use super::client::recognisable;
use crate::ApiState;

/// Interval between checks.
const LOOK: Duration = Duration::from_secs(1);

/// Records them until the server stops.
pub async fn record_expired_sessions(state: ApiState) {
    while state.shutdown.sleep(LOOK).await {
        for session in state.accounts.take_expired_sessions().await {
            let record = Record::new(&session.user, "expire_session", Info::Succeeded)
                .with_some("clientip", session.source)
                .with("session", recognisable(&session.key))
                .with("reason", session.limit);
            // The log reports its own failures.
            let _ = state.audit.log.note(record).await;
        }
    }
}
