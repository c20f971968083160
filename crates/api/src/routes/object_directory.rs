//! `/services/directory`: the objects of all kinds that the caller may read, each with its kind and the path
//! of its collection.

use apps::{ConfObject, NOBODY};
use axum::response::Response;
use serde_json::json;

use super::feed;
use super::objects::{Asked, KINDS, acl_of, home, objects};
use crate::atom::{Entry, segment};
use crate::call::Call;
use crate::error::RestError;
use crate::params::is_true;
use crate::rights::Need::Object;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/directory";

pub(super) fn routes() -> Routes {
    Routes::default().at(PATH, get(Object, "Lists objects of all kinds", list))
}

async fn list(call: Call) -> Result<Response, RestError> {
    let mut entries = Vec::new();
    for kind in KINDS {
        let asked = Asked::new(kind, "", &call)?;
        let found = objects(&asked, &asked.namespace()?);
        let listed = found.iter().filter(|object| (kind.lists)(object));
        entries.extend(listed.map(|object| entry(&asked, object)));
    }
    feed::respond("directory", PATH, entries, &call.params)
}

fn entry(asked: &Asked<'_>, object: &ConfObject) -> Entry {
    let (there, below) = (home(object), asked.below());
    let has_owner = object.owner == NOBODY || asked.state.accounts.user(&object.owner).is_some();
    let content = feed::content(json!({
        "disabled": object.get("disabled").is_some_and(is_true),
        "eai:appName": object.app,
        "eai:location": format!("/{below}"),
        "eai:orphaned": !has_owner,
        "eai:type": asked.kind.title,
        "eai:userName": object.owner,
    }));
    let path = format!("/servicesNS/{}/{}/{below}", segment(&there.owner), object.app);
    Entry::new(&path, &object.name, content).with_acl(acl_of(asked, object))
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let all = "GET /servicesNS/-/made/directory";
    vec![
        case(&format!("{all}?count=0"), "", 200, "\"eai:location\":\"/data/ui/views\""),
        case(&format!("{all}?search=eai:type%3Dnav"), "", 200, "\"name\":\"default\""),
        case(&format!("{all}?search=eai:orphaned%3D1"), "", 200, "\"entry\":[]"),
        case(&format!("{all}?count=x"), "", 400, "must be a whole number"),
    ]
}
