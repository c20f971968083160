//! `/services/messages`: notices for administrators.
//!
//! The messages are notices of clients, and conditions of the server as long as they hold.

use access::capabilities::ALL;
use runtime::health::{Condition, Severity};
use serde_json::json;

use super::feed;
use super::health::{conditions, text_for};
use super::resource::{About, Access, Removal, Resource};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::messages::{MAX_BYTES, MAX_MESSAGES, Notice, Readers};
use crate::rights::Need::{May, Session};
use crate::routing::Routes;
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/messages";

pub(super) fn routes() -> Routes {
    let (see, edit) = (Some(Session), Some(May("edit_messages")));
    let access = Access { list: see, create: edit, show: see, remove: edit, ..Access::default() };
    Routes::default().resource(PATH, &Notices, &access)
}

fn entry(name: &str, notice: &Notice) -> Entry {
    let mut content = feed::content(json!({
        "message": notice.text,
        "severity": notice.severity,
        "timeCreated_epochSecs": notice.created,
        "timeCreated_iso": iso(notice.created),
        "server": "",
        "help": "",
    }));
    // Clients read the text under the notice's own name.
    content.insert(name.to_owned(), json!(notice.text));
    let mut entry = Entry::new(PATH, name, content).with_acl(Acl::system()).editable();
    entry.updated = iso(notice.created);
    entry
}

fn iso(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).ok();
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()).unwrap_or_default()
}

/// Returns the current conditions of the server, as far as the caller may see them.
fn own(state: &ApiState, caller: &Caller) -> Vec<(String, Notice)> {
    let notice = |condition: Condition| {
        let severity = if condition.severity == Severity::Warning { "warn" } else { "error" };
        let notice = Notice {
            text: text_for(Some(caller), &condition).to_owned(),
            severity: severity.to_owned(),
            created: condition.since.0 / 1_000_000,
            readers: Readers::default(),
        };
        (condition.name.to_owned(), notice)
    };
    conditions(state).into_iter().map(notice).collect()
}

/// Returns the readers that the parameters `role` and `capability` name.
fn readers(call: &Call) -> Result<Readers, RestError> {
    let lower = |name: String| name.to_lowercase();
    let roles: Vec<String> = call.params.list("role").into_iter().map(lower).collect();
    if let Some(name) = roles.iter().find(|name| call.state.roles.get(name).is_none()) {
        return Err(RestError::invalid(format!("there is no role \"{name}\"")));
    }
    let capabilities = call.params.list("capability");
    if let Some(name) = capabilities.iter().find(|name| !ALL.contains(&name.as_str())) {
        return Err(RestError::invalid(format!("there is no capability \"{name}\"")));
    }
    Ok(Readers { roles, capabilities })
}

struct Notices;

impl Resource for Notices {
    type Item = (String, Notice);

    fn about(&self) -> About {
        About { title: "messages", path: PATH, one: "a message", many: "messages" }
    }

    fn removal(&self) -> Removal {
        Removal::Rest
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        let optional = ["severity", "capability", "role"];
        Ok(Some(Attributes::new(&["name", "value"], &optional, &[])))
    }

    fn entry(&self, _: &Call, (name, notice): &Self::Item) -> Result<Entry, RestError> {
        Ok(entry(name, notice))
    }

    async fn list(&self, call: &Call) -> Result<Vec<Self::Item>, RestError> {
        let mut notices: Vec<_> = call.state.messages.all().into_iter().collect();
        notices.retain(|(_, notice)| notice.readers.include(&call.caller.rights));
        notices.extend(own(&call.state, &call.caller));
        Ok(notices)
    }

    async fn find(&self, call: &Call) -> Result<Vec<Self::Item>, RestError> {
        let mut found = self.list(call).await?;
        found.retain(|(name, _)| name == call.name());
        found.truncate(1);
        Ok(found)
    }

    async fn create(&self, call: &Call) -> Result<Self::Item, RestError> {
        let name = call.params.required("name")?.to_owned();
        let text = call.params.get("value").unwrap_or_default().to_owned();
        if name.len() + text.len() > MAX_BYTES {
            return Err(RestError::invalid(format!("a message has at most {MAX_BYTES} bytes")));
        }
        let severity = call.params.text("severity").unwrap_or("info").to_owned();
        if !matches!(severity.as_str(), "info" | "warn" | "error") {
            let text = format!("unknown severity \"{severity}\"; use info, warn or error");
            return Err(RestError::invalid(text));
        }
        let readers = readers(call)?;
        let notice = Notice { text, severity, created: call.now(), readers };
        if !call.state.messages.put(&name, notice.clone()) {
            let text = format!("there are {MAX_MESSAGES} messages already; delete some");
            return Err(RestError::of_kind(model::ErrorKind::Exhausted, text));
        }
        Ok((name, notice))
    }

    /// A condition of the server itself cannot be removed.
    async fn remove(&self, call: &Call, (name, _): Self::Item) -> Result<(), RestError> {
        match call.state.messages.remove(&name) {
            true => Ok(()),
            false => Err(RestError::no_object(&name)),
        }
    }
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let one = format!("{PATH}/one");
    vec![
        case(&format!("POST {PATH}"), "name=one&value=text", 201, "\"message\":\"text\""),
        case(&format!("POST {PATH}"), "name=one&severity=bad", 400, "unknown severity"),
        case(&format!("GET {PATH}"), "", 200, "\"name\":\"one\""),
        case(&format!("GET {PATH}?sort_mode=size"), "", 400, "unknown sort_mode"),
        case(&format!("GET {PATH}/_new"), "", 200, "\"required\":[\"name\",\"value\"]"),
        case(&format!("GET {one}"), "", 200, "\"message\":\"text\""),
        case(&format!("GET {PATH}/two"), "", 404, "Could not find object id=two"),
        case(&format!("DELETE {one}"), "", 200, "\"entry\":[]"),
        case(&format!("POST {PATH}"), "name=one&role=nosuch", 400, "there is no role"),
        case(&format!("POST {PATH}"), "name=one&capability=fly", 400, "there is no capability"),
        case(&format!("POST {PATH}"), "name=two&value=text&role=admin", 201, "two"),
        case(&format!("GET {PATH}/two"), "", 200, "\"message\":\"text\""),
        case(&format!("GET {PATH}/two"), "", 404, "Could not find object").by("user"),
        case(&format!("GET {PATH}"), "", 200, "\"entry\":[]").by("user"),
        case(&format!("DELETE {PATH}/two"), "", 403, "edit_messages").by("power"),
        case(&format!("POST {PATH}"), "name=two&value=text&capability=edit_user", 201, "two"),
        case(&format!("GET {PATH}/two"), "", 404, "Could not find object").by("user"),
        case(&format!("DELETE {PATH}/two"), "", 200, "\"entry\":[]"),
        case(&format!("DELETE {one}"), "", 404, "Could not find object id=one"),
    ]
}
