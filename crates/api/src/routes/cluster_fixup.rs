//! `/services/cluster/manager/fixup`: what the cluster restores at the moment.

use axum::response::Response;
use catalog::Takeover;
use peers::Registration;
use serde_json::json;

use super::cluster_views::recoveries;
use super::feed;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const FIXUP: &str = "/services/cluster/manager/fixup";

pub(super) fn routes() -> Routes {
    let sees = May("list_settings");
    Routes::default()
        .at(FIXUP, get(sees, "Lists lost indexers whose events are being recovered", fixup))
}

async fn fixup(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let snapshot = state.catalog.snapshot();
    let all = Registration::all(&snapshot);
    let name_of = |id: &str| {
        let known = all.iter().find(|(known, _)| known == id);
        known.map_or_else(|| id.to_owned(), |(_, known)| known.name.clone())
    };
    let entry = |taken: Takeover| {
        let (lost, owner) = (taken.indexer.to_string(), taken.owner.to_string());
        let content = json!({
            "level": "data_safety",
            "peer": lost,
            "peer_label": name_of(&lost),
            "set": taken.set,
            "epoch": taken.epoch,
            "assigned_to": owner,
            "assigned_to_label": name_of(&owner),
            "latest": { "reason": "the indexer is lost: its events are being recovered from object storage" },
        });
        Entry::new(FIXUP, &format!("{lost}:{}", taken.set), feed::content(content))
    };
    let entries = recoveries(&snapshot).into_iter().map(entry).collect();
    feed::respond("clustermanagerfixup", FIXUP, entries, &params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("GET {FIXUP}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {FIXUP}?output_mode=none"), "", 400, "unknown output_mode"),
    ]
}
