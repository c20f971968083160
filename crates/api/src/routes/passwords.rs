//! `/services/storage/passwords`: passwords that apps keep for their scripts.
//!
//! They belong to apps. Reading them, in clear too, needs `list_storage_passwords`; changing them
//! `edit_storage_passwords`.

use apps::{NOBODY, SEARCH};
use serde_json::json;

use super::feed;
use super::objects::check_app;
use super::resource::{About, Access, Resource};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry, segment};
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::Routes;
#[cfg(test)]
use crate::tests::cases::{Case, case};
use access::Secret;

const PATH: &str = "/services/storage/passwords";

pub(super) fn routes() -> Routes {
    let see = Some(May("list_storage_passwords"));
    let edit = Some(May("edit_storage_passwords"));
    let access =
        Access { list: see, create: edit, show: see, edit, remove: edit, ..Access::default() };
    Routes::default().resource(PATH, &Passwords, &access)
}

/// The app of the request; `None`: all of them.
fn app(call: &Call) -> Option<String> {
    let app = call.namespace.app.clone();
    let app = app.unwrap_or_else(|| call.caller.default_app(&call.state));
    (app != "-").then_some(app)
}

fn entry(state: &ApiState, secret: &Secret) -> Result<Entry, RestError> {
    let content = feed::content(json!({
        "clear_password": state.secrets.open(secret)?,
        "encr_password": secret.sealed,
        "password": "********",
        "realm": secret.realm,
        "username": secret.user,
    }));
    let acl = Acl {
        owner: secret.owner.clone(),
        app: secret.app.clone(),
        sharing: "app".to_owned(),
        perms: None,
        removable: true,
        writable: true,
    };
    let path = format!("/servicesNS/{NOBODY}/{}/storage/passwords", segment(&secret.app));
    let attributes = Attributes::new(&[], &["password"], &[]);
    let entry = Entry::new(&path, &secret.name(), content).with_acl(acl);
    Ok(entry.with_attributes(attributes).editable())
}

struct Passwords;

impl Resource for Passwords {
    type Item = Secret;

    fn about(&self) -> About {
        About { title: "passwords", path: PATH, one: "a password", many: "the passwords of an app" }
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(Attributes::new(&["name", "password"], &["realm"], &[])))
    }

    fn entry(&self, call: &Call, secret: &Secret) -> Result<Entry, RestError> {
        entry(&call.state, secret)
    }

    async fn list(&self, call: &Call) -> Result<Vec<Secret>, RestError> {
        let app = app(call);
        let mut all = call.state.secrets.all();
        all.retain(|secret| app.as_ref().is_none_or(|app| secret.app == *app));
        Ok(all)
    }

    /// A name without a realm may begin with its user, and the last colon may be missing.
    async fn find(&self, call: &Call) -> Result<Vec<Secret>, RestError> {
        let name = call.name();
        let names = [name.to_owned(), format!(":{name}"), format!("{name}:"), format!(":{name}:")];
        let mut all = self.list(call).await?;
        all.retain(|secret| names.contains(&secret.name()));
        all.truncate(1);
        Ok(all)
    }

    async fn create(&self, call: &Call) -> Result<Secret, RestError> {
        let app = app(call).unwrap_or_else(|| SEARCH.to_owned());
        check_app(&call.state, &app)?;
        let secret = Secret {
            app,
            owner: call.caller.user.clone(),
            realm: call.params.get("realm").unwrap_or_default().to_owned(),
            user: call.params.required("name")?.to_owned(),
            sealed: String::new(),
        };
        let known = call.state.secrets.all();
        if known.iter().any(|known| known.app == secret.app && known.name() == secret.name()) {
            let text = format!("a password with name={} already exists", secret.name());
            return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
        }
        self.edit(call, secret).await
    }

    async fn edit(&self, call: &Call, secret: Secret) -> Result<Secret, RestError> {
        Ok(call.state.secrets.put(secret, call.params.required("password")?).await?)
    }

    async fn remove(&self, call: &Call, secret: Secret) -> Result<(), RestError> {
        Ok(call.state.secrets.remove(&secret).await?)
    }
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let (one, absent) = (format!("{PATH}/r:one:"), "Could not find object");
    let first = "name=one&realm=r&password=p1";
    let slashes = "name=a%2Fb&realm=%2Fr%25&password=p".to_owned();
    vec![
        case(&format!("POST {PATH}"), first, 201, "\"clear_password\":\"p1\""),
        case(&format!("POST {PATH}"), first, 409, "already exists"),
        case(&format!("POST {PATH}"), "name=two", 400, "is missing"),
        case(&format!("GET {PATH}"), "", 200, "\"username\":\"one\""),
        case(&format!("GET {PATH}?offset=x"), "", 400, "must be a whole number"),
        case(&format!("GET {one}"), "", 200, "\"username\":\"one\""),
        case(&format!("GET {PATH}/r:one"), "", 200, "\"username\":\"one\""),
        case(&format!("GET {PATH}/two"), "", 404, absent),
        case(&format!("POST {PATH}"), &slashes, 201, "passwords/%252Fr%25:a%252Fb:"),
        case(&format!("GET {PATH}/%2Fr%25:a%2Fb:"), "", 200, "\"realm\":\"/r%\""),
        case(&format!("GET {PATH}/%252Fr%25:a%252Fb:"), "", 200, "\"realm\":\"/r%\""),
        case(&format!("DELETE {PATH}/%252Fr%25:a%252Fb:"), "", 200, "\"entry\":[]"),
        case(&format!("POST {one}"), "password=p2", 200, "\"clear_password\":\"p2\""),
        case(&format!("POST {one}"), "", 400, "is missing"),
        case(&format!("DELETE {one}"), "", 200, "\"entry\":[]"),
        case(&format!("DELETE {one}"), "", 404, absent),
    ]
}
