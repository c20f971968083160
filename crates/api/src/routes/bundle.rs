//! `/services/cluster/manager/control/default` and `bundle`: the configuration bundle, several apps as one
//! change in all processes.

use std::collections::BTreeSet;

use apps::{Apps, Bundle, Listed, Package, Validated};
use axum::response::Response;
use model::ErrorKind;
use serde_json::{Value, json};

use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::body::RawBody;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const BUNDLE: &str = "/services/cluster/manager/bundle";
const VALIDATE: &str = "/services/cluster/manager/control/default/validate_bundle";
const APPLY: &str = "/services/cluster/manager/control/default/apply";
const ROLLBACK: &str = "/services/cluster/manager/control/default/rollback";
const TITLE: &str = "clustermanagerbundle";

/// Whether the body of a request to a path is a packed bundle.
pub(crate) fn takes_bundle(path: &str) -> bool {
    path == VALIDATE || path == APPLY
}

pub(super) fn routes() -> Routes {
    let edit = May("edit_local_apps");
    Routes::default()
        .at(
            BUNDLE,
            get(May("rest_apps_view"), "Lists the files of the installed apps with their digests, by app", files),
        )
        .at(
            VALIDATE,
            post(
                edit,
                "Validates the archive of apps in the body: the changes that it would make, and its errors",
                validate,
            ),
        )
        .at(
            APPLY,
            post(
                edit,
                "Applies the archive of apps in the body to all processes, as one change",
                apply,
            ),
        )
        .at(ROLLBACK, post(edit, "Restores the previous bundle", rollback))
}

/// A bundle, for clients.
pub(super) fn shown(bundle: &Bundle) -> Value {
    json!({
        "checksum": bundle.checksum(),
        "timestamp": bundle.applied / 1_000_000,
        "by": bundle.by,
        "apps": bundle.apps.keys().collect::<Vec<_>>(),
    })
}

/// The bundle in force and the one before, for clients; nothing where there is none.
pub(super) fn both(apps: &Apps) -> (Option<Value>, Option<Value>) {
    // What cannot be read is said where it is needed.
    let bundles = apps.bundles().unwrap_or_default();
    let shown = |bundle: Option<Bundle>| bundle.as_ref().map(shown);
    (shown(bundles.active), shown(bundles.previous))
}

async fn files(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let bundles = state.apps.bundles()?;
    let of_bundle = bundles.active.unwrap_or_default().apps;
    let all = state.apps.bundle_files().await?;
    let entry = |(app, files): (String, Vec<Listed>)| {
        let content = json!({ "files": files, "in_bundle": of_bundle.contains_key(&app) });
        Entry::new(BUNDLE, &app, feed::content(content))
    };
    feed::respond(TITLE, BUNDLE, all.into_iter().map(entry).collect(), &params)
}

/// What is wrong in a bundle, and what it would change.
fn validated(state: &ApiState, packages: &[Package], validated: &Validated) -> Value {
    let apps: BTreeSet<&str> = packages.iter().map(|package| package.app.as_str()).collect();
    let reports = &state.app_reports;
    let before: BTreeSet<String> = reports
        .mistakes(&state.apps.rules(), &state.apps.ignored())
        .into_iter()
        .map(|(_, text)| validated.shown(&text))
        .collect();
    let (mut ignored, mut breaks) = (Vec::new(), Vec::new());
    for (app, text) in reports.mistakes(&validated.rules, &validated.ignored) {
        let text = validated.shown(&text);
        if app.as_deref().is_some_and(|app| apps.contains(app)) {
            ignored.push(text);
        } else if !before.contains(&text) {
            breaks.push(text);
        }
    }
    let not_used: Vec<Value> = packages
        .iter()
        .flat_map(|package| {
            let remarks = reports.report(package).remarks.into_iter();
            remarks.map(
                move |remark| json!({ "app": package.app, "place": remark.place, "text": remark.text }),
            )
        })
        .collect();
    json!({
        "apps": apps,
        "changes": validated.changes,
        "ignored": ignored,
        "breaks": breaks,
        "not_used": not_used,
        // Apps are in force without.
        "restart_required": false,
    })
}

/// The apps of the body.
async fn packages(state: &ApiState, body: &[u8]) -> Result<Vec<Package>, RestError> {
    if body.is_empty() {
        let text = "the body is empty: send an archive of apps (.tgz), or use karst cluster bundle";
        return Err(RestError::invalid(text.to_owned()));
    }
    Ok(state.apps.unpack_bundle(body).await?)
}

async fn validate(call: Call, RawBody(body): RawBody) -> Result<Response, RestError> {
    let state = &call.state;
    let packages = packages(state, &body).await?;
    let found = state.apps.validate_bundle(&packages).await?;
    let content = validated(state, &packages, &found);
    let entry = Entry::new(VALIDATE, "validate_bundle", feed::content(content));
    feed::respond_one(TITLE, VALIDATE, entry, &call.params)
}

async fn apply(call: Call, RawBody(body): RawBody) -> Result<Response, RestError> {
    let state = &call.state;
    let packages = packages(state, &body).await?;
    let found = state.apps.validate_bundle(&packages).await?;
    let mut content = validated(state, &packages, &found);
    drop(found);
    let (apps, by) = (state.apps.clone(), call.caller.user.clone());
    // A client that leaves does not leave half of it behind.
    to_its_end(async move { apps.apply_bundle(packages, &by).await }).await?;
    content["active_bundle"] = json!(both(&state.apps).0);
    let entry = Entry::new(APPLY, "apply", feed::content(content));
    feed::respond_one(TITLE, APPLY, entry, &call.params)
}

async fn rollback(call: Call) -> Result<Response, RestError> {
    let (apps, by) = (call.state.apps.clone(), call.caller.user.clone());
    to_its_end(async move { apps.roll_back_bundle(&by).await }).await?;
    let content = json!({ "active_bundle": both(&call.state.apps).0 });
    let entry = Entry::new(ROLLBACK, "rollback", feed::content(content));
    feed::respond_one(TITLE, ROLLBACK, entry, &call.params)
}

async fn to_its_end(
    change: impl Future<Output = Result<(), apps::Error>> + Send + 'static,
) -> Result<(), RestError> {
    let stops = |_| RestError::of_kind(ErrorKind::Unavailable, "the server stops".to_owned());
    Ok(runtime::detached(change).await.map_err(stops)??)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let post = |path: &str, body: &str, status, text: &str| {
        case(&format!("POST {path}"), body, status, text)
    };
    vec![
        case(&format!("GET {BUNDLE}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {BUNDLE}?output_mode=none"), "", 400, "unknown output_mode"),
        post(VALIDATE, "", 400, "the body is empty"),
        post(VALIDATE, "not packed", 400, "is not an app archive"),
        post(ROLLBACK, "", 409, "there is no previous bundle"),
        post(VALIDATE, &archive("one"), 200, "\"added\":[\"default/app.conf\"]"),
        post(APPLY, "", 400, "the body is empty"),
        post(APPLY, &archive("one"), 200, "\"apps\":[\"kept\"]"),
        post(VALIDATE, &archive("one"), 200, "\"changes\":[]"),
        post(VALIDATE, &archive("two"), 200, "\"changed\":[\"default/app.conf\"]"),
        case(&format!("GET {BUNDLE}"), "", 200, "\"in_bundle\":true"),
        case("GET /services/cluster/manager/info", "", 200, "\"previous_active_bundle\":{"),
        post(ROLLBACK, "", 200, "\"apps\":[]"),
    ]
}

/// A bundle of one app, as an archive that is not compressed: cases have bodies of text.
#[cfg(test)]
fn archive(label: &str) -> String {
    let file = apps::PackedFile {
        path: "default/app.conf".into(),
        bytes: format!("[ui]\nlabel = {label}\n").into_bytes(),
        executable: false,
    };
    let package = Package { app: "kept".to_owned(), files: vec![file] };
    String::from_utf8(package.archive().expect("an archive")).expect("a text")
}
