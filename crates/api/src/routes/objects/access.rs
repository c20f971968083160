//! Permissions of objects, and their changes (`acl`).
//!
//! An object that is not shared belongs to its owner. A shared object is read and changed by the roles in its
//! permissions; users with `admin_all_objects` read and change all.

use apps::{ConfObject, NOBODY, Namespace, Settings, Sharing};

use super::{Asked, home};
use crate::ApiState;
use crate::error::RestError;
use crate::params::is_true;
use access::{Object, Perms};

/// Files that affect only searches: users may have private stanzas in them.
const SEARCH_TIME: [&str; 18] = [
    "collections",
    "datamodels",
    "eventtypes",
    "fields",
    "macros",
    "nav",
    "panels",
    "props",
    "savedsearches",
    "tags",
    "times",
    "transactiontypes",
    "transforms",
    "ui-prefs",
    "user-prefs",
    "views",
    "viewstates",
    "workflow_actions",
];

/// Returns the permissions of an object; `None` for a private one.
pub(super) fn perms_of(state: &ApiState, object: &ConfObject) -> Option<Perms> {
    let shared = object.sharing != Sharing::User;
    shared.then(|| state.permissions.of(&object.place()))
}

pub(crate) fn may_read(asked: &Asked<'_>, object: &ConfObject) -> bool {
    let shared = object.sharing != Sharing::User;
    let place = object.place();
    let object = Object { owner: &object.owner, shared, place: &place };
    asked.caller.rights.may_read(&object) || (shared && asked.caller.may("list_all_objects"))
}

/// Whether the caller may change the object, and so sees its secrets.
pub(crate) fn may_write(asked: &Asked<'_>, object: &ConfObject) -> bool {
    let place = object.place();
    let shared = object.sharing != Sharing::User;
    let object = Object { owner: &object.owner, shared, place: &place };
    check_conf(asked).is_ok() && asked.caller.rights.may_write(&object)
}

pub(crate) fn check_writable(asked: &Asked<'_>, object: &ConfObject) -> Result<(), RestError> {
    check_conf(asked)?;
    if may_write(asked, object) { Ok(()) } else { Err(refused(asked, &object.name)) }
}

/// Whether the caller may make objects that everybody sees.
pub(crate) fn check_shared_writable(asked: &Asked<'_>, app: &str) -> Result<(), RestError> {
    if asked.caller.rights.may_share(app) { Ok(()) } else { Err(refused(asked, "a shared object")) }
}

/// Whether the caller may change stanzas of the file at all.
pub(crate) fn check_conf(asked: &Asked<'_>) -> Result<(), RestError> {
    if SEARCH_TIME.contains(&asked.conf) {
        return Ok(());
    }
    asked.caller.require("admin_all_objects")
}

/// Refuses settings that need a capability of their own: a search that runs by itself.
pub(super) fn check_settings(asked: &Asked<'_>, settings: &Settings) -> Result<(), RestError> {
    let schedules = |(key, value): &(String, String)| {
        matches!(key.as_str(), "is_scheduled" | "enableSched") && is_true(value)
    };
    if asked.conf == "savedsearches" && settings.iter().any(schedules) {
        asked.caller.require("schedule_search")?;
    }
    Ok(())
}

fn refused(asked: &Asked<'_>, what: &str) -> RestError {
    RestError::forbidden(format!("the user \"{}\" may not change {what}", asked.caller.user))
}

/// Who owns, reads and changes an object.
#[derive(Debug, Clone)]
pub(super) struct Rights {
    pub(super) owner: String,
    pub(super) sharing: Sharing,
    perms: Perms,
}

/// Returns the rights that a request gives to an object, if the caller may.
pub(super) fn rights_of(asked: &Asked<'_>, object: &ConfObject) -> Result<Rights, RestError> {
    let params = asked.params;
    let sharing = params.required("sharing")?;
    let sharing = Sharing::from_name(sharing).ok_or_else(|| {
        RestError::invalid(format!("unknown sharing \"{sharing}\"; use user, app, global"))
    })?;
    let owner = params.required("owner")?;
    if owner != NOBODY && asked.state.accounts.user(owner).is_none() {
        return Err(RestError::invalid(format!("there is no user \"{owner}\"")));
    }
    let foreign = owner != asked.caller.user && owner != object.owner;
    if foreign || (sharing != Sharing::User && object.sharing == Sharing::User) {
        let admin = asked.caller.may("admin_all_objects");
        if foreign && !admin {
            return Err(refused(asked, "who owns an object"));
        }
        check_shared_writable(asked, &object.app)?;
    }
    let perms = params.perms(perms_of(asked.state, object).unwrap_or_default());
    Ok(Rights { owner: owner.to_owned(), sharing, perms })
}

/// Changes who owns, reads and changes an object. Returns where it is then.
pub(super) async fn share(
    state: ApiState,
    object: ConfObject,
    rights: Rights,
) -> Result<Namespace, RestError> {
    let Rights { owner, sharing, perms } = rights;
    let (before, there) = (object.place(), home(&object));
    state.apps.share(&object.conf, &object.name, &there, &owner, sharing).await?;
    let moved = ConfObject { owner, sharing, ..object };
    let after = moved.place();
    if after != before {
        state.permissions.remove(&before).await?;
    }
    if sharing != Sharing::User {
        state.permissions.put(&after, perms).await?;
    }
    Ok(home(&moved))
}

/// Moves an object to another app, with its permissions. Returns where it is then.
pub(super) async fn relocate(
    state: ApiState,
    object: ConfObject,
    app: String,
) -> Result<Namespace, RestError> {
    let there = home(&object);
    state.apps.relocate(&object.conf, &object.name, &there, &app).await?;
    if let Some(perms) = perms_of(&state, &object) {
        let moved = ConfObject { app: app.clone(), ..object.clone() };
        state.permissions.put(&moved.place(), perms).await?;
        state.permissions.remove(&object.place()).await?;
    }
    Ok(Namespace::new(&there.owner, &app))
}
