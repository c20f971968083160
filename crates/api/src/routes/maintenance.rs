//! `/services/cluster/manager/control/default/maintenance`: while it is on, nothing is repaired that can
//! wait.

use axum::response::Response;
use serde_json::json;

use super::feed;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::params::is_true;
use crate::rights::Need::May;
use crate::routing::{Routes, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const MAINTENANCE: &str = "/services/cluster/manager/control/default/maintenance";

pub(super) fn routes() -> Routes {
    let what = "Turns maintenance mode on or off (`mode`); while it is on, lost copies of journals are not \
                replaced";
    Routes::default().at(MAINTENANCE, post(May("edit_server"), what, maintenance))
}

async fn maintenance(Call { state, params, caller, .. }: Call) -> Result<Response, RestError> {
    let mode = params.required("mode")?;
    let is_on = is_true(mode);
    if !is_on && !["0", "false", "f", "no", "n", "off"].contains(&mode.to_lowercase().as_str()) {
        return Err(RestError::invalid(format!("mode must be true or false, not \"{mode}\"")));
    }
    peers::set_maintenance(&state.catalog, is_on.then_some(caller.user.as_str())).await?;
    let content = json!({ "maintenance_mode": is_on });
    let entry = Entry::new(MAINTENANCE, "maintenance", feed::content(content));
    feed::respond_one("clustermanagercontrol", MAINTENANCE, entry, &params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let info = "GET /services/cluster/manager/info";
    vec![
        case(&format!("POST {MAINTENANCE}"), "", 400, "mode"),
        case(&format!("POST {MAINTENANCE}"), "mode=perhaps", 400, "mode must be true or false"),
        case(info, "", 200, "\"maintenance_mode\":false"),
        case(&format!("POST {MAINTENANCE}"), "mode=true", 200, "\"maintenance_mode\":true"),
        case(info, "", 200, "\"maintenance_mode\":true"),
        case(&format!("POST {MAINTENANCE}"), "mode=0", 200, "\"maintenance_mode\":false"),
        case(info, "", 200, "\"maintenance_mode\":false"),
    ]
}
