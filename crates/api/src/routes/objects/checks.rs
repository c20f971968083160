//! What objects that are sent over REST must be, so that searches can use them. Files of apps may have
//! mistakes, of which searches warn.

use apps::{Namespace, Settings};

use super::Asked;
use crate::error::RestError;

/// Refuses settings that no search could use, for an object in that place.
pub(super) fn check(
    asked: &Asked<'_>,
    there: &Namespace,
    settings: &Settings,
) -> Result<(), RestError> {
    let get = |key: &str| {
        let found = settings.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    };
    match (asked.kind.conf, get("search")) {
        ("eventtypes", Some(search)) => check_event_type(asked, there, search),
        _ => Ok(()),
    }
}

fn check_event_type(asked: &Asked<'_>, there: &Namespace, search: &str) -> Result<(), RestError> {
    let Asked { state, caller, .. } = *asked;
    let knowledge = state.apps.view_without(there, &caller.rights.hidden());
    let checked = state.search.check_event_type(search, &knowledge);
    checked.map_err(|error| {
        RestError::invalid(format!("the search of an event type is a filter: {error}"))
    })
}
