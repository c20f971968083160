//! `/services/authorization`: roles, and the capabilities they can be given.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::feed;
use super::objects::REQUEST_PARAMETERS;
use super::resource::{About, Access, Removal, Resource};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::{May, Own, Session};
use crate::routing::{Routes, get};
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case, object_cases, removal_cases};
use access::capabilities;
use access::limits::{self, FILTER, NUMBERS};
use access::{Role, is_built_in};

const PATH: &str = "/services/authorization/roles";
const CAPABILITIES: &str = "/services/authorization/capabilities";

/// Quotas of unsupported features: they are shown as 0 and cannot have another value.
const WITHOUT_USE: [&str; 2] = ["cumulativeRTSrchJobsQuota", "rtSrchJobsQuota"];
const LISTS: [&str; 5] = [
    "capabilities",
    "imported_roles",
    "srchIndexesAllowed",
    "srchIndexesDisallowed",
    "srchIndexesDefault",
];
/// Splunk's settings of roles that Karst does not have, and their defaults. Most of them restrict, so other
/// values are refused; so are `fieldFilter-<field>` and `fieldFilterLimit`.
const NOT_SUPPORTED: [(&str, &str); 4] = [
    ("deleteIndexesAllowed", ""),
    ("grantableRoles", ""),
    ("srchFilterSelecting", "true"),
    ("srchMaxTime", "100days"),
];

pub(super) fn routes() -> Routes {
    let edit = Some(May("edit_roles"));
    let roles = Access {
        list: Some(Own),
        create: edit,
        show: Some(Own),
        edit,
        remove: edit,
        ..Access::default()
    };
    let grantable = "/services/authorization/grantable_capabilities";
    Routes::default()
        .resource(PATH, &AllRoles, &roles)
        .at(CAPABILITIES, get(Session, "Lists all capabilities", capabilities))
        .at(grantable, get(Own, "The capabilities of the caller", grantable_capabilities))
}

fn attributes(required: &[&str]) -> Attributes {
    let mut optional = LISTS.to_vec();
    optional.extend(["defaultApp", FILTER]);
    optional.extend(WITHOUT_USE);
    optional.extend(NUMBERS.iter().map(|(name, _)| *name));
    Attributes::new(required, &optional, &[])
}

fn entry(state: &ApiState, role: &Role) -> Entry {
    let imported = state.roles.imported(role);
    let mut content = feed::content(json!({
        "capabilities": role.capabilities,
        "imported_roles": role.imported_roles,
        "imported_capabilities": imported.capabilities,
        "srchIndexesAllowed": role.indexes_allowed,
        "srchIndexesDefault": role.indexes_default,
        "srchIndexesDisallowed": role.indexes_disallowed,
        "imported_srchIndexesDisallowed": imported.indexes_disallowed,
        "imported_srchIndexesAllowed": imported.indexes_allowed,
        "imported_srchIndexesDefault": imported.indexes_default,
        "srchFilter": role.settings.get(FILTER).cloned().unwrap_or_default(),
        "imported_srchFilter": imported.filter,
        "defaultApp": role.settings.get("defaultApp").cloned().unwrap_or_default(),
    }));
    for name in WITHOUT_USE {
        content.insert(name.to_owned(), json!(0));
    }
    for (name, default) in NUMBERS.iter().copied() {
        let number = role.settings.get(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        content.insert(name.to_owned(), json!(number));
    }
    let acl = Acl { removable: !is_built_in(&role.name), ..Acl::system() };
    Entry::new(PATH, &role.name, content).with_acl(acl).with_attributes(attributes(&[])).editable()
}

fn found(state: &ApiState, name: &str) -> Result<Role, RestError> {
    state.roles.get(&name.to_lowercase()).ok_or_else(|| RestError::no_object(name))
}

struct AllRoles;

impl Resource for AllRoles {
    type Item = Role;

    fn about(&self) -> About {
        About { title: "roles", path: PATH, one: "a role", many: "roles" }
    }

    fn removal(&self) -> Removal {
        Removal::Rest
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(attributes(&["name"])))
    }

    fn entry(&self, call: &Call, role: &Role) -> Result<Entry, RestError> {
        Ok(entry(&call.state, role))
    }

    /// Users see the roles they have, imported ones included; all with one of these capabilities.
    fn may_see(&self, call: &Call, role: &Role) -> bool {
        let all = ["list_all_roles", "edit_roles", "edit_user"];
        let may = all.iter().any(|capability| call.caller.may(capability));
        may || call.caller.rights.roles().contains(role.name.as_str())
    }

    async fn list(&self, call: &Call) -> Result<Vec<Role>, RestError> {
        Ok(call.state.roles.all())
    }

    async fn find(&self, call: &Call) -> Result<Vec<Role>, RestError> {
        Ok(vec![found(&call.state, call.name())?])
    }

    async fn create(&self, call: &Call) -> Result<Role, RestError> {
        check_names(&call.params)?;
        let name = call.params.required("name")?.to_lowercase();
        if let Some(fault) = access::role_name_fault(&name) {
            return Err(RestError::invalid(fault));
        }
        if call.state.roles.get(&name).is_some() {
            let text = format!("a role with name={name} already exists");
            return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
        }
        put(call, Role::new(&name)).await
    }

    /// Default indexes that the role does not help to search.
    fn warnings(&self, call: &Call, role: &Role) -> Vec<String> {
        let granted = call.state.authority.of_role(role);
        let defaults = role.indexes_default.iter();
        let unreached = defaults.filter(|pattern| !granted.may_reach(pattern));
        let warned = unreached.map(|pattern| {
            format!(
                "srchIndexesDefault names {pattern}, which no pattern of srchIndexesAllowed \
                 permits, or srchIndexesDisallowed excludes: searches of the role do not read it"
            )
        });
        warned.collect()
    }

    async fn edit(&self, call: &Call, role: Role) -> Result<Role, RestError> {
        check_names(&call.params)?;
        check_over(&call.state, &call.caller, &role)?;
        put(call, role).await
    }

    async fn remove(&self, call: &Call, role: Role) -> Result<(), RestError> {
        let state = &call.state;
        if is_built_in(&role.name) {
            let text = format!("the role \"{}\" is built in and cannot be removed", role.name);
            return Err(RestError::invalid(text));
        }
        check_over(state, &call.caller, &role)?;
        if let Some(user) =
            state.accounts.all().iter().find(|user| user.roles == [role.name.clone()])
        {
            let (role, user) = (&role.name, &user.name);
            let text = format!("the role \"{role}\" is the only one of user \"{user}\"");
            return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
        }
        Ok(state.roles.remove(&role.name).await?)
    }

    /// Returns the same status as Splunk.
    fn removal_of_none(&self) -> StatusCode {
        StatusCode::BAD_REQUEST
    }
}

/// Rejects parameters that are not settings of roles: a setting that restricts must not be dropped.
fn check_names(params: &Params) -> Result<(), RestError> {
    let known = attributes(&[]).optional;
    for (name, value) in params.iter() {
        let is_known = known.iter().any(|known| known == name)
            || REQUEST_PARAMETERS.contains(&name)
            || name.starts_with("eai:");
        if is_known {
            continue;
        }
        let of_splunk = NOT_SUPPORTED.iter().find(|(known, _)| *known == name);
        let default = match of_splunk {
            Some((_, default)) => *default,
            None if name.starts_with("fieldFilter") => "",
            None => return Err(RestError::unknown_argument(name)),
        };
        let value = value.trim();
        if !value.is_empty() && value != default {
            let text = format!("{name}: Karst does not have this setting of Splunk's roles");
            return Err(RestError::invalid(text));
        }
    }
    Ok(())
}

/// Stores the role with the changes of the request.
async fn put(call: &Call, mut role: Role) -> Result<Role, RestError> {
    apply(&call.state, &mut role, &call.params)?;
    check_over(&call.state, &call.caller, &role)?;
    let name = role.name.clone();
    call.state.roles.put(role).await?;
    found(&call.state, &name)
}

/// Checks that the caller has all rights of the role that is changed, removed or granted.
fn check_over(state: &ApiState, caller: &Caller, role: &Role) -> Result<(), RestError> {
    let granted = state.authority.of_role(role);
    caller.require_all_of(&granted, &format!("the role \"{}\"", role.name))
}

/// Changes the settings in the request.
fn apply(state: &ApiState, role: &mut Role, params: &Params) -> Result<(), RestError> {
    for name in params.list("capabilities") {
        if !capabilities::ALL.contains(&name.as_str()) {
            return Err(RestError::invalid(format!("there is no capability \"{name}\"")));
        }
    }
    for name in params.list("imported_roles") {
        if name == role.name || state.roles.get(&name).is_none() {
            return Err(RestError::invalid(format!("there is no other role \"{name}\"")));
        }
        if state.roles.imports(&name, &role.name) {
            let text = format!(
                "imported_roles: the role \"{name}\" imports \"{}\", so importing it would give both \
                 the same rights; remove one of the two imports",
                role.name
            );
            return Err(RestError::invalid(text));
        }
    }
    for name in WITHOUT_USE {
        if params.text(name).is_some_and(|text| text.trim() != "0") {
            let text = format!("{name}: there are no real-time searches, so their quota is 0");
            return Err(RestError::invalid(text));
        }
    }
    if let Some(filter) = params.get(FILTER) {
        state.search.check_filter(filter)?;
        role.settings.insert(FILTER.to_owned(), filter.trim().to_owned());
    }
    let lists = [
        ("capabilities", &mut role.capabilities),
        ("imported_roles", &mut role.imported_roles),
        ("srchIndexesAllowed", &mut role.indexes_allowed),
        ("srchIndexesDisallowed", &mut role.indexes_disallowed),
        ("srchIndexesDefault", &mut role.indexes_default),
    ];
    for (name, kept) in lists {
        if params.get(name).is_some() {
            *kept = params.list(name);
        }
    }
    for (name, default) in NUMBERS.iter().copied() {
        if let Some(text) = params.text(name) {
            let least = limits::least(default);
            if text.parse::<i64>().is_ok_and(|number| number >= least) {
                role.settings.insert(name.to_owned(), text.to_owned());
            } else {
                let text = format!("{name} must be a whole number, {least} or more (0: no limit)");
                return Err(RestError::invalid(text));
            }
        }
    }
    if let Some(app) = params.get("defaultApp") {
        role.settings.insert("defaultApp".to_owned(), app.to_owned());
    }
    Ok(())
}

/// Every capability there is.
async fn capabilities(call: Call) -> Result<Response, RestError> {
    respond_capabilities(json!({"capabilities": capabilities::ALL}), &call.params)
}

/// Returns the capabilities that the caller has, and may therefore grant.
async fn grantable_capabilities(call: Call) -> Result<Response, RestError> {
    respond_capabilities(json!({"capabilities": call.caller.rights.capabilities()}), &call.params)
}

fn respond_capabilities(content: Value, params: &Params) -> Result<Response, RestError> {
    let content = feed::content(content);
    let entry = Entry::new(CAPABILITIES, "capabilities", content).with_acl(Acl::system());
    feed::respond_one("capabilities", CAPABILITIES, entry, params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let grantable = "/services/authorization/grantable_capabilities";
    let mode = "unknown output_mode";
    let mut all = object_cases(PATH, "capabilities=search", "srchDiskQuota=7");
    all.extend([
        case(&format!("POST {PATH}"), "name=a+b", 400, "is not a valid role name"),
        case(&format!("POST {PATH}/one"), "capabilities=fly", 400, "there is no capability"),
        case(&format!("POST {PATH}/user"), "imported_roles=power", 400, "imports \\\"user\\\""),
        case(&format!("POST {PATH}/user"), "imported_roles=admin", 400, "imported_roles: the role"),
        case(
            &format!("POST {PATH}/one"),
            "srchIndexesAllowed=main&srchIndexesDefault=main%2Cweb",
            200,
            "srchIndexesDefault names web, which no pattern",
        ),
        case(
            &format!("POST {PATH}/one"),
            "srchIndexesAllowed=*&srchIndexesDefault=main%2Cweb",
            200,
            "\"messages\":[]",
        ),
        case(&format!("POST {PATH}/one"), "rtSrchJobsQuota=1", 400, "no real-time searches"),
        case(&format!("POST {PATH}/one"), "srchJobsQuota=-1", 400, "a whole number, 0 or more"),
        case(&format!("POST {PATH}/one"), "srchDiskQuota=-5", 400, "a whole number, 0 or more"),
        case(&format!("POST {PATH}/one"), "srchTimeWin=-2", 400, "a whole number, -1 or more"),
        case(&format!("POST {PATH}/one"), "srchTimeWin=-1", 200, "one"),
        case(
            &format!("POST {PATH}/one"),
            "srchIndexesAllowed=*&srchIndexesDisallowed=web&srchIndexesDefault=web",
            200,
            "or srchIndexesDisallowed excludes",
        ),
        case(&format!("POST {PATH}/one"), "bogus=1", 400, "bogus\\\" is not supported by this"),
        case(&format!("POST {PATH}"), "name=two&srchMaxTime=1s", 400, "srchMaxTime: Karst"),
        case(&format!("POST {PATH}/one"), "fieldFilter-user=NULL", 400, "fieldFilter-user: Karst"),
        case(&format!("POST {PATH}/one"), "srchFilterSelecting=true&srchMaxTime=", 200, "one"),
        case(&format!("DELETE {PATH}/user"), "", 400, "is built in"),
        case(&format!("GET {CAPABILITIES}"), "", 200, "\"search\""),
        case(&format!("GET {CAPABILITIES}?output_mode=none"), "", 400, mode),
        case(&format!("GET {grantable}"), "", 200, "\"search\""),
        case(&format!("GET {grantable}?output_mode=none"), "", 400, mode),
    ]);
    all.extend(removal_cases(PATH, 400));
    all
}
