//! `/services/apps/local`: apps, including those that are created here. `/services/apps/upload` receives
//! packed ones, and `/services/apps/upload/changes` those of which the server has most files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use access::Object;
use apps::{
    AppInfo, AppSearch, Export, Installed, NOBODY, Namespace, Package, SEARCH, SearchCheck,
};
use axum::body::Bytes;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use model::ErrorKind;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::data_inputs::without_inputs_of;
use super::feed;
use super::resource::{About, Access, Removal, Resource};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry, segment};
use crate::body::Spooled;
use crate::call::Call;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::{Params, is_true};
use crate::rights::Need::May;
use crate::routing::{Routes, get, post};
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case, object_cases, removal_cases};
use crate::work::{to_its_end, work_on_part};

const PATH: &str = "/services/apps/local";
/// The path for uploading packed apps.
const UPLOAD: &str = "/services/apps/upload";
/// The path for uploading the changed files of an app.
const CHANGES: &str = "/services/apps/upload/changes";
/// The notice that clients look for which wait for a restart.
const RESTART_REQUIRED: &str = "restart_required";
/// The file name of an uploaded app without one.
const UNNAMED: &str = "app.tgz";

/// The setting that disables an app.
const DISABLED: &str = "install.disabled";

/// The settings that can be changed, and their keys in `app.conf`.
const SETTINGS: [(&str, &str); 8] = [
    ("author", "launcher.author"),
    ("configured", "install.is_configured"),
    ("description", "launcher.description"),
    ("disabled", DISABLED),
    ("label", "ui.label"),
    ("version", "launcher.version"),
    ("visible", "ui.is_visible"),
    ("check_for_updates", "package.check_for_updates"),
];

/// Whether the body of a request to a path is a packed app.
pub(crate) fn takes_app(path: &str) -> bool {
    path == UPLOAD || path == CHANGES
}

pub(super) fn routes() -> Routes {
    let (see, edit) = (May("rest_apps_view"), Some(May("edit_local_apps")));
    let (list, show) = (Some(see), Some(see));
    let access = Access { list, create: edit, show, edit, remove: edit, act: edit, acl: None };
    let newer = "Available updates: always none";
    Routes::default()
        .resource(PATH, &LocalApps, &access)
        .at(
            "/services/apps/local/{name}/package",
            get(
                May("edit_local_apps"),
                "Packs an app as `.spl`, without secrets; with `output_mode=raw`, the response is the file",
                package,
            ),
        )
        .at("/services/apps/local/{name}/update", get(see, newer, update))
        .at(
            UPLOAD,
            post(
                May("edit_local_apps"),
                "Installs the app archive in the body in all processes; `update=1` replaces an app of the same name",
                upload,
            ),
        )
        .at(
            CHANGES,
            post(
                May("edit_local_apps"),
                "The same with an archive that has only the files which the version in effect does not have",
                upload_changes,
            ),
        )
}

fn attributes(required: &[&str]) -> Attributes {
    let optional: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
    Attributes::new(required, &optional, &[])
}

fn entry(caller: &Caller, app: &AppInfo) -> Entry {
    let text = |key: &str| app.get(key).unwrap_or_default().to_owned();
    let flag = |key: &str, missing: bool| app.get(key).map_or(missing, is_true);
    let is_search = app.name == SEARCH;
    let own_label = app.get("ui.label").map(str::to_owned);
    let label = own_label.unwrap_or_else(|| match is_search {
        true => "Search & Reporting".to_owned(),
        false => app.name.clone(),
    });
    let version = match text("launcher.version") {
        version if version.is_empty() && is_search => env!("CARGO_PKG_VERSION").to_owned(),
        version => version,
    };
    let content = feed::content(json!({
        "label": label,
        "author": text("launcher.author"),
        "description": text("launcher.description"),
        "version": version,
        "visible": flag("ui.is_visible", true),
        "disabled": app.disabled,
        "configured": flag("install.is_configured", true),
        "check_for_updates": flag("package.check_for_updates", false),
        "core": is_search,
        "installed": app.installed,
        "managed_by_deployment_client": false,
        "show_in_nav": true,
        "state_change_requires_restart": false,
        "eai:setup": "",
    }));
    let acl = Acl {
        app: app.name.clone(),
        sharing: "app".to_owned(),
        removable: app.removable,
        // Users who may write to an app may add shared objects to it.
        writable: caller.rights.may_share(&app.name) || caller.may("edit_local_apps"),
        ..Acl::default()
    };
    let links: &[&str] = if is_search { &["update"] } else { &["enable", "disable", "update"] };
    Entry::new(PATH, &app.name, content)
        .with_acl(acl)
        .with_attributes(attributes(&[]))
        .editable()
        .linking(links)
}

struct LocalApps;

impl Resource for LocalApps {
    type Item = AppInfo;

    fn about(&self) -> About {
        About { title: "localapps", path: PATH, one: "an app", many: "apps" }
    }

    fn removal(&self) -> Removal {
        Removal::Rest
    }

    fn reloads(&self) -> bool {
        true
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(attributes(&["name"])))
    }

    fn entry(&self, call: &Call, app: &AppInfo) -> Result<Entry, RestError> {
        Ok(entry(&call.caller, app))
    }

    async fn list(&self, call: &Call) -> Result<Vec<AppInfo>, RestError> {
        Ok(call.state.apps.apps())
    }

    async fn find(&self, call: &Call) -> Result<Vec<AppInfo>, RestError> {
        found(call, call.name()).map(|app| vec![app])
    }

    /// Makes an app without files; with `filename=1`, installs the packed app whose path `name` is.
    async fn create(&self, call: &Call) -> Result<AppInfo, RestError> {
        let params = &call.params;
        let name = params.required("name")?;
        if params.flag("filename") || params.flag("update") {
            let path = Path::new(name).to_owned();
            if !path.is_absolute() {
                let text = format!(
                    "\"{name}\" is not an absolute path on the server; send the app archive to \
                     /services/apps/upload, or use `karst app install`"
                );
                return Err(RestError::invalid(text));
            }
            let read = unpacked(move || Package::read(&path)).await?;
            let app = read.app.clone();
            install(call, read).await?;
            return found(call, &app);
        }
        let mut settings = settings(params);
        // Every app that is created from a template has a version.
        if params.text("version").is_none() {
            settings.push(("launcher.version".to_owned(), "1.0.0".to_owned()));
        }
        call.state.apps.create_app(name, &settings).await?;
        found(call, name)
    }

    async fn edit(&self, call: &Call, app: AppInfo) -> Result<AppInfo, RestError> {
        change(call, &app, &settings(&call.params)).await
    }

    fn actions(&self) -> &'static str {
        "`enable`, `disable`"
    }

    async fn act(
        &self,
        call: &Call,
        app: AppInfo,
        action: &str,
    ) -> Result<Option<AppInfo>, RestError> {
        let off = match action {
            "enable" => "0",
            "disable" => "1",
            _ => return Err(RestError::no_object(action)),
        };
        let disabled = [(DISABLED.to_owned(), off.to_owned())];
        change(call, &app, &disabled).await.map(Some)
    }

    /// Removes an app that was created or installed here, with its objects, in all processes. Clients expect
    /// the notice.
    async fn remove(&self, call: &Call, app: AppInfo) -> Result<(), RestError> {
        let name = app.name;
        let (state, of) = (call.state.clone(), name.clone());
        to_its_end(async move {
            let ends = BTreeSet::from([of.clone()]);
            without_inputs_of(&state, ends, state.apps.remove_app(&of)).await
        })
        .await?;
        let text = format!(
            "the app {name} is removed; an index that only it has defined stays until a restart"
        );
        call.state.messages.warn(RESTART_REQUIRED, text, call.now());
        Ok(())
    }
}

/// Changes settings of an app. If it is disabled or enabled, its inputs are stopped or started.
async fn change(
    call: &Call,
    app: &AppInfo,
    settings: &[(String, String)],
) -> Result<AppInfo, RestError> {
    let (state, of, settings) = (call.state.clone(), app.clone(), settings.to_vec());
    to_its_end(async move { bring_about(&state, &of, &settings).await }).await?;
    found(call, &app.name)
}

/// Makes a change of an app. Inputs end before the index-time rules of their app do, and begin after them.
async fn bring_about(
    state: &ApiState,
    app: &AppInfo,
    settings: &[(String, String)],
) -> Result<(), apps::Error> {
    let mut switches = settings.iter().filter(|(key, _)| key == DISABLED);
    let switched = switches.next().map(|(_, value)| is_true(value));
    // Another request may have switched the app since it was looked up.
    let switched = switched.filter(|_| app.name != SEARCH);
    let change = state.apps.update_app(&app.name, settings);
    let Some(is_disabled) = switched else { return change.await };
    let ends = is_disabled.then(|| app.name.clone()).into_iter().collect();
    without_inputs_of(state, ends, change).await
}

fn found(call: &Call, name: &str) -> Result<AppInfo, RestError> {
    let found = call.state.apps.apps().into_iter().find(|app| app.name == name);
    found.ok_or_else(|| RestError::no_object(name))
}

/// Reads a packed app on a thread of its own, so that its memory is released with the app.
async fn unpacked<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, apps::Error> + Send + 'static,
) -> Result<T, RestError> {
    let read = work_on_part(move || runtime::on_own_thread("karst-apps", read));
    let read = read.await.map_err(|_| RestError::stopping())?.map_err(|error| {
        let text = format!("cannot start a thread to read the app: {error}");
        RestError::of_kind(ErrorKind::Unavailable, text)
    })?;
    read.map_err(RestError::from)
}

/// Installs a packed app, or updates it. A client that disconnects meanwhile does not stop it.
async fn install(call: &Call, package: Package) -> Result<(), RestError> {
    let update = call.params.flag("update");
    let (apps, by) = (call.state.apps.clone(), call.caller.user.clone());
    to_its_end(async move {
        apps.install(package, update, &by).await.map_err(|error| {
            let exists = matches!(error, apps::Error::Exists(_));
            let mut refused = RestError::from(error);
            if exists {
                refused
                    .text
                    .push_str("; update=1 (--update of `karst app install`) replaces the app");
            }
            refused
        })
    })
    .await
}

/// Installs a packed app, and reports the parts that are used.
async fn upload(call: Call, Spooled(archive): Spooled) -> Result<Response, RestError> {
    let name = call.params.text("name").unwrap_or(UNNAMED).to_owned();
    let reports = Arc::clone(&call.state.app_reports);
    let read = move || -> Result<_, apps::Error> {
        let package = Package::unpack(archive.reader(), &name)?;
        let report = reports.report(&package);
        let searches = reports.searches(&package);
        Ok((package, report, searches))
    };
    let (package, report, searches) = unpacked(read).await?;
    install_and_tell(&call, package, (report, searches)).await
}

/// The same with an archive that names files of the version in effect in place of their contents.
async fn upload_changes(call: Call, Spooled(archive): Spooled) -> Result<Response, RestError> {
    let mut packages = call.state.apps.unpack_bundle(archive.reader()).await?;
    // Its space on the disk is free again.
    drop(archive);
    if packages.len() > 1 {
        let text =
            format!("the archive has {} apps: install each of them separately", packages.len());
        return Err(RestError::invalid(text));
    }
    let Some(package) = packages.pop() else {
        return Err(RestError::invalid("the archive has no app"));
    };
    let reports = Arc::clone(&call.state.app_reports);
    let read = move || {
        let report = reports.report(&package);
        let searches = reports.searches(&package);
        Ok((package, report, searches))
    };
    let (package, report, searches) = unpacked(read).await?;
    install_and_tell(&call, package, (report, searches)).await
}

async fn install_and_tell(
    call: &Call,
    package: Package,
    (report, searches): (Installed, Vec<AppSearch>),
) -> Result<Response, RestError> {
    let params = &call.params;
    let app = package.app.clone();
    install(call, package).await?;
    let is_disabled = call.state.apps.disabled().contains(&app);
    let checked = match is_disabled {
        // Its objects have no effect, so its searches would lack them.
        true => SearchCheck::default(),
        false => searches_checked(&call.state, &app, searches).await?,
    };
    let reports = &call.state.app_reports;
    let pairs = |pairs: Vec<(String, String)>| -> Vec<Value> {
        pairs.into_iter().map(|(place, text)| json!({ "place": place, "text": text })).collect()
    };
    let remarks = report.remarks.into_iter().map(|remark| (remark.place, remark.text)).collect();
    let gains = report.gains.into_iter().map(|gain| (gain.what.to_owned(), gain.text)).collect();
    let content = json!({
        "files": report.files,
        "used": report.used,
        "ignored": reports.ignored(&app),
        "notes": reports.notes(&app),
        "disabled": is_disabled,
        "searches": checked,
        "not_used": pairs(remarks),
        "gains": pairs(gains),
    });
    let entry = Entry::new(PATH, &app, feed::content(content));
    feed::respond_created("localapps", PATH, entry, params)
}

/// Checks the searches of an app against the macros and commands that it sees. This takes time if there are
/// many.
async fn searches_checked(
    state: &ApiState,
    app: &str,
    searches: Vec<AppSearch>,
) -> Result<SearchCheck, RestError> {
    let seen = state.apps.view(&Namespace::new(NOBODY, app));
    let (reports, all) = (Arc::clone(&state.app_reports), state.apps.knowledge());
    let check = work_on_part(move || reports.check_searches(&searches, &seen, &all));
    check.await.map_err(|_| RestError::stopping())
}

/// Packs an app. The response names the file, the address where it is and the parts that are left out, or is
/// the file. The address has the digest of the package: if the app changes meanwhile, the response is an
/// error instead of a file that differs from the report.
async fn package(call: Call) -> Result<Response, RestError> {
    let app = found(&call, call.name())?.name;
    let mode = OutputMode::of(&call.params)?;
    let (permissions, caller) = (Arc::clone(&call.state.permissions), call.caller.clone());
    let access = move |owner: &str, place: &str| {
        let object = Object { owner, shared: true, place };
        if !caller.may("list_all_objects") && !caller.rights.may_read(&object) {
            return None;
        }
        let perms = permissions.of(place);
        Some(conf::Access { read: Some(perms.read), write: Some(perms.write) })
    };
    let export = call.state.apps.export(&app, access).await?;
    let Export { package, left_out, digest, turn } = export;
    let (path, files) = (format!("{app}.spl"), package.files.len());
    let address = format!("{PATH}/{}/package", segment(&app));
    if mode != OutputMode::Raw {
        drop((package, turn));
        let left_out: Vec<Value> = left_out
            .into_iter()
            .map(|remark| json!({ "place": remark.place, "text": remark.text }))
            .collect();
        let content = json!({
            "name": app,
            "path": path,
            "url": format!("{address}?output_mode=raw&digest={digest}"),
            "digest": digest,
            "files": files,
            "left_out": left_out,
        });
        let entry = Entry::new(PATH, &app, feed::content(content));
        return feed::respond_one("localapps", PATH, entry, &call.params);
    }
    if call.params.text("digest").is_some_and(|asked| asked != digest) {
        let text = format!("the app {app} has changed since its package was described: ask again");
        return Err(RestError::of_kind(ErrorKind::Conflict, text));
    }
    // The turn comes with the bytes, so that it is held while they are packed, even if nobody waits for them.
    let packed = work_on_part(move || package.into_packed().map(|bytes| (bytes, turn)));
    let (bytes, turn) = packed.await.map_err(|_| RestError::stopping())?.map_err(|error| {
        RestError::of_kind(ErrorKind::Internal, format!("cannot pack the app {app}: {error}"))
    })?;
    let headers = [
        (header::CONTENT_TYPE, "application/gzip".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}.spl\"", segment(&app))),
        (header::ETAG, format!("\"{digest}\"")),
    ];
    let packed = Packed { bytes, _sending: held_while_sent(turn, SENDING) };
    Ok((headers, Bytes::from_owner(packed)).into_response())
}

/// The longest time for which other exports wait until a package is sent.
const SENDING: Duration = Duration::from_mins(10);

/// Holds a turn until the sender is dropped, for at most this time: a client that accepts no bytes would
/// keep all others from exporting.
fn held_while_sent(turn: impl Send + 'static, limit: Duration) -> oneshot::Sender<()> {
    let (sending, sent) = oneshot::channel::<()>();
    runtime::detached(async move {
        // Either way, the next export may begin.
        let _ = tokio::time::timeout(limit, sent).await;
        drop(turn);
    });
    sending
}

/// A packed app. The next export begins when it is sent.
struct Packed {
    bytes: Vec<u8>,
    _sending: oneshot::Sender<()>,
}

impl AsRef<[u8]> for Packed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Whether there is a newer version: nobody is asked.
async fn update(call: Call) -> Result<Response, RestError> {
    let app = found(&call, call.name())?;
    let entry = Entry::new(PATH, &app.name, feed::content(json!({"update.name": app.name})));
    feed::respond_one("localapps", PATH, entry, &call.params)
}

/// Returns the settings of the request, with their keys in `app.conf`.
fn settings(params: &Params) -> Vec<(String, String)> {
    let given = SETTINGS.iter().filter_map(|(name, key)| {
        let value = params.get(name)?;
        let flag = matches!(*name, "configured" | "disabled" | "visible" | "check_for_updates");
        let value = if flag { u8::from(is_true(value)).to_string() } else { value.to_owned() };
        Some(((*key).to_owned(), value))
    });
    given.collect()
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let mut all = object_cases(PATH, "label=One", "label=Two");
    all.extend([
        case(&format!("GET {PATH}/one/update"), "", 200, "update.name"),
        case(&format!("GET {PATH}/two/update"), "", 404, "Could not find object"),
        case(&format!("GET {PATH}/one/package"), "", 200, "\"path\":\"one.spl\""),
        case(&format!("GET {PATH}/one/package?output_mode=raw&digest=0"), "", 409, "ask again"),
        case(&format!("GET {PATH}/two/package"), "", 404, "Could not find object"),
        case(&format!("POST {PATH}/one/disable"), "", 200, "\"disabled\":true"),
        case(&format!("POST {PATH}/one/enable"), "", 200, "\"disabled\":false"),
        case(&format!("POST {PATH}/search/disable"), "", 400, "search cannot be disabled"),
        case(&format!("POST {PATH}/one/explode"), "", 404, "Could not find object id=explode"),
        case(&format!("POST {PATH}"), "name=a%2Fb", 400, "cannot be the name of an app"),
        case(&format!("POST {PATH}"), "name=a.tgz&filename=1", 400, "not an absolute path"),
        case(&format!("POST {PATH}"), "name=/nowhere/a.tgz&filename=1", 400, "/nowhere/a.tgz"),
        case(&format!("POST {PATH}/_reload"), "", 200, "\"changed\":[]"),
        case(&format!("POST {PATH}/one/_reload"), "", 200, "\"restart_required\":[]"),
        case("POST /services/apps/upload", "not packed", 400, "is not an app archive"),
        case("POST /services/apps/upload?name=kept.tar", &archive(), 201, "\"files\":1"),
        case(
            "POST /services/apps/upload?name=kept.tar",
            &archive(),
            409,
            "already exists; update=1",
        ),
        case(&format!("POST {CHANGES}"), "not packed", 400, "is not an app archive"),
        case(&format!("POST {CHANGES}"), &archive(), 409, "already exists; update=1"),
        case(&format!("POST {CHANGES}?update=1"), &archive(), 201, "\"files\":1"),
        case(&format!("GET {PATH}/kept"), "", 200, "\"installed\":true"),
        case(&format!("DELETE {PATH}/kept"), "", 200, "\"entry\":"),
        case(&format!("DELETE {PATH}/search"), "", 400, "cannot be removed"),
    ]);
    all.extend(removal_cases(PATH, 404));
    all
}

/// An app of one file, as an archive that is not compressed: cases have bodies of text.
#[cfg(test)]
fn archive() -> String {
    let file = apps::PackedFile {
        path: "default/app.conf".into(),
        bytes: b"[ui]\n".to_vec(),
        executable: false,
    };
    let package =
        Package { app: "kept".to_owned(), files: vec![file], kept: Vec::new(), links: Vec::new() };
    String::from_utf8(package.archive().expect("an archive")).expect("a text")
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;

    async fn ended(turn: &Weak<()>) {
        while turn.strong_count() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn a_turn_ends_when_the_package_is_sent_or_takes_too_long() {
        let (first, second) = (Arc::new(()), Arc::new(()));
        let (of_first, of_second) = (Arc::downgrade(&first), Arc::downgrade(&second));
        let sending = held_while_sent(first, SENDING);
        let _stalled = held_while_sent(second, Duration::from_millis(1));
        ended(&of_second).await;
        assert_eq!(of_first.strong_count(), 1);
        drop(sending);
        ended(&of_first).await;
    }
}
