//! `/services/cluster/manager/control/default` and `bundle`: the configuration bundle, several apps as one
//! change in all processes.

use std::collections::BTreeSet;

use apps::{Applier, Applying, Apps, Archive, Bundle, Listed, Namespace, Package, Validated};
use axum::response::Response;
use catalog::Snapshot;
use knowledge::Knowledge;
use model::ErrorKind;
use peers::Registration;
use serde_json::{Value, json};

use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::body::Spooled;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::work::{to_its_end, work};

const BUNDLE: &str = "/services/cluster/manager/bundle";
const VALIDATE: &str = "/services/cluster/manager/control/default/validate_bundle";
const APPLY: &str = "/services/cluster/manager/control/default/apply";
const ROLLBACK: &str = "/services/cluster/manager/control/default/rollback";
const TITLE: &str = "clustermanagerbundle";
/// Maximum number of errors in the message of a refused bundle.
const NAMED: usize = 5;

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
                "Applies the archive of apps in the body to all processes, as one change; `force=1` despite errors",
                apply,
            ),
        )
        .at(
            ROLLBACK,
            post(
                edit,
                "Restores the previous bundle; `dry_run=1` only lists the changes that it would make, and its errors",
                rollback,
            ),
        )
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

/// Returns the bundle in force and the one before; `None` for a missing one.
pub(super) fn both(apps: &Apps) -> (Option<Value>, Option<Value>) {
    // Unreadable bundles are reported by the operations that need them.
    let bundles = apps.bundles().unwrap_or_default();
    let shown = |bundle: Option<Bundle>| bundle.as_ref().map(shown);
    (shown(bundles.active), shown(bundles.previous))
}

async fn files(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let bundles = state.apps.bundles()?;
    let of_bundle = bundles.active.unwrap_or_default().apps;
    let all = state.apps.bundle_files().await?;
    let entry = |(app, files): (String, Vec<Listed>)| {
        let content = json!({
            "files": files,
            "in_bundle": of_bundle.contains_key(&app),
            // Earlier versions install whole apps only (`/services/apps/upload`).
            "takes_changes": true,
        });
        Entry::new(BUNDLE, &app, feed::content(content))
    };
    feed::respond(TITLE, BUNDLE, all.into_iter().map(entry).collect(), &params)
}

/// Returns the mistakes in a bundle, and its changes. Large bundles take a while, and their settings much
/// memory, which is released when the thread ends.
fn examined(state: &ApiState, packages: &[Package], found: &Validated) -> Result<Value, RestError> {
    let files = packages.iter().flat_map(|package| &package.files);
    let bytes = files.map(|file| file.bytes.len()).sum();
    let examine = || validated(state, packages, found);
    work(bytes, || runtime::on_own_thread("karst-apps", examine)).map_err(|error| {
        let text = format!("cannot start a thread to examine the bundle: {error}");
        RestError::of_kind(ErrorKind::Unavailable, text)
    })
}

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

/// Returns why a bundle is not applied: its own settings that would be ignored, and those of other apps that
/// it breaks. A wrong parsing rule takes effect on all indexers at once, and events parsed with it stay
/// wrong.
fn refusal(content: &Value) -> Option<RestError> {
    let mut errors = Vec::new();
    for (field, what) in
        [("ignored", "would be ignored"), ("breaks", "would become wrong in another app")]
    {
        let texts = content[field].as_array().into_iter().flatten();
        errors.extend(texts.filter_map(Value::as_str).map(|text| format!("{what}: {text}")));
    }
    let more = match errors.len() {
        0 => return None,
        all @ 0..=NAMED => format!("correct {}", if all == 1 { "it" } else { "them" }),
        all => format!("and {} more, see validate; correct them", all - NAMED),
    };
    let count = match errors.len() {
        1 => "an error".to_owned(),
        all => format!("{all} errors"),
    };
    errors.truncate(NAMED);
    Some(RestError::invalid(format!(
        "the bundle is not applied, it has {count}: {}; {more}, or apply it anyway with --force (force=1 over REST)",
        errors.join("; ")
    )))
}

/// Returns settings that make searches which use the apps fail.
async fn warnings(
    state: &ApiState,
    packages: &[Package],
    validated: &Validated,
) -> Result<Vec<String>, RestError> {
    let apps: BTreeSet<&str> = packages.iter().map(|package| package.app.as_str()).collect();
    let rules = &validated.rules;
    let mut found = state.app_reports.warnings(rules, &apps);
    let mut absent = lookups_without_file(rules, packages, &apps);
    if !absent.is_empty() {
        let all = state.apps.list_lookups(&Namespace::new("-", "-")).await?;
        // The files of the apps are replaced by those of the bundle.
        let stay = all.iter().filter(|file| file.removable || !apps.contains(file.app.as_str()));
        let there: BTreeSet<&str> = stay.map(|file| file.name.as_str()).collect();
        absent.retain(|(file, _)| !there.contains(file.as_str()));
    }
    found.extend(absent.into_iter().map(|(_, text)| text));
    Ok(found.iter().map(|text| validated.shown(text)).collect())
}

/// Returns the lookups of a bundle whose files are missing: the configuration file, and the message.
fn lookups_without_file(
    rules: &Knowledge,
    packages: &[Package],
    apps: &BTreeSet<&str>,
) -> Vec<(String, String)> {
    let paths = packages.iter().flat_map(|package| package.paths());
    let files = paths.filter_map(|path| path.strip_prefix("lookups").ok()?.to_str());
    // A file that is shipped as a default counts where the other one is missing.
    let there: BTreeSet<&str> =
        files.map(|name| name.strip_suffix(".default").unwrap_or(name)).collect();
    let named = rules.transforms().stanzas.iter();
    let named = named.filter_map(|stanza| Some((stanza, stanza.get("filename")?)));
    let missing = named.filter(|(_, entry)| {
        let app = rules.layers().app_of(&entry.place);
        app.is_some_and(|app| apps.contains(app)) && !there.contains(entry.value.trim())
    });
    let told = missing.map(|(stanza, entry)| {
        let (place, file) = (&entry.place, entry.value.trim());
        let text = format!(
            "{place}: [{}] filename: there is no lookup file \"{file}\" in any app: add it to lookups of the app",
            stanza.name
        );
        (file.to_owned(), text)
    });
    told.collect()
}

/// The apps of the body.
async fn packages(state: &ApiState, archive: Archive) -> Result<Vec<Package>, RestError> {
    if archive.bytes() == 0 {
        let text = "the body is empty: send an archive of apps (.tgz), or use karst cluster bundle";
        return Err(RestError::invalid(text.to_owned()));
    }
    Ok(state.apps.unpack_bundle(archive.reader()).await?)
}

/// The changes and the errors of apps that would replace those of the bundle in force.
async fn findings(state: &ApiState, packages: &[Package]) -> Result<Value, RestError> {
    let found = state.apps.validate_bundle(packages).await?;
    let mut content = examined(state, packages, &found)?;
    content["warnings"] = json!(warnings(state, packages, &found).await?);
    Ok(content)
}

async fn validate(call: Call, Spooled(archive): Spooled) -> Result<Response, RestError> {
    let state = &call.state;
    let packages = packages(state, archive).await?;
    let content = findings(state, &packages).await?;
    let entry = Entry::new(VALIDATE, "validate_bundle", feed::content(content));
    feed::respond_one(TITLE, VALIDATE, entry, &call.params)
}

async fn apply(call: Call, Spooled(archive): Spooled) -> Result<Response, RestError> {
    let state = &call.state;
    let packages = packages(state, archive).await?;
    let found = state.apps.validate_bundle(&packages).await?;
    let mut content = examined(state, &packages, &found)?;
    if let Some(refusal) = refusal(&content).filter(|_| !call.params.flag("force")) {
        return Err(refusal);
    }
    content["warnings"] = json!(warnings(state, &packages, &found).await?);
    drop(found);
    let applier = applier(state, &call.caller.user).await?;
    let apps = state.apps.clone();
    to_its_end(async move { apps.apply_bundle(packages, applier).await }).await?;
    content["active_bundle"] = json!(both(&state.apps).0);
    let entry = Entry::new(APPLY, "apply", feed::content(content));
    feed::respond_one(TITLE, APPLY, entry, &call.params)
}

async fn rollback(call: Call) -> Result<Response, RestError> {
    let word = call.params.text("dry_run");
    if word.is_some_and(|word| conf::boolean(word).is_none()) {
        return Err(RestError::invalid("dry_run is not a boolean; give 1 or 0"));
    }
    if call.params.flag("dry_run") {
        let packages = call.state.apps.previous_bundle().await?;
        let mut content = findings(&call.state, &packages).await?;
        content["dry_run"] = json!(true);
        let entry = Entry::new(ROLLBACK, "rollback", feed::content(content));
        return feed::respond_one(TITLE, ROLLBACK, entry, &call.params);
    }
    let applier = applier(&call.state, &call.caller.user).await?;
    let apps = call.state.apps.clone();
    to_its_end(async move { apps.roll_back_bundle(applier).await }).await?;
    let content = json!({ "active_bundle": both(&call.state.apps).0 });
    let entry = Entry::new(ROLLBACK, "rollback", feed::content(content));
    feed::respond_one(TITLE, ROLLBACK, entry, &call.params)
}

/// Returns the identity under which this process applies a bundle. A lock left by a process that was killed
/// is removed.
async fn applier(state: &ApiState, user: &str) -> Result<Applier, RestError> {
    let own = applying(&state.catalog.snapshot(), &state.info.guid, state.info.startup_time);
    if let Some(lock) = state.apps.bundle_lock()? {
        let mut down = Vec::new();
        if let Some(directory) = &state.directory {
            let answers = directory.answers_in_time().await.into_iter();
            down.extend(answers.filter_map(|(id, answer)| answer.is_err().then_some(id)));
        }
        if is_gone(&lock.process, &own, &state.catalog.snapshot(), &down) {
            let Applying { id, started } = &lock.process;
            tracing::warn!(process = %id, %started, "a process has ended while it applied a bundle");
            state.apps.release_bundle_lock(&lock).await?;
        }
    }
    Ok(Applier { by: user.to_owned(), process: Some(own) })
}

/// This process and its start, as the list of processes has it.
fn applying(snapshot: &Snapshot, id: &str, startup_time: i64) -> Applying {
    let started = Registration::of(snapshot, id).map(|known| known.started);
    Applying { id: id.to_owned(), started: started.unwrap_or_else(|| startup_time.to_string()) }
}

/// Whether a process does not run any more that began to apply a bundle: it does not answer, has left the
/// list, or was started again.
fn is_gone(process: &Applying, own: &Applying, snapshot: &Snapshot, down: &[String]) -> bool {
    if process.id == own.id {
        return process.started != own.started;
    }
    let known = Registration::of(snapshot, &process.id);
    down.contains(&process.id) || known.is_none_or(|known| known.started != process.started)
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
        post(ROLLBACK, "dry_run=1", 409, "there is no previous bundle"),
        post(ROLLBACK, "dry_run=ture", 400, "dry_run is not a boolean"),
        post(VALIDATE, &archive("one"), 200, "\"added\":[\"default/app.conf\"]"),
        post(APPLY, "", 400, "the body is empty"),
        post(APPLY, &archive("one"), 200, "\"apps\":[\"kept\"]"),
        post(VALIDATE, &archive("one"), 200, "\"changes\":[]"),
        post(VALIDATE, &archive("two"), 200, "\"changed\":[\"default/app.conf\"]"),
        post(VALIDATE, &lookup(), 200, "there is no lookup file \\\"hosts.csv\\\" in any app"),
        case(&format!("GET {BUNDLE}"), "", 200, "\"in_bundle\":true"),
        case("GET /services/cluster/manager/info", "", 200, "\"previous_active_bundle\":{"),
        post(ROLLBACK, "dry_run=1", 200, "\"removed\":[\"default/app.conf\"]"),
        post(ROLLBACK, "", 200, "\"apps\":[]"),
    ]
}

#[cfg(test)]
fn archive(label: &str) -> String {
    packed("default/app.conf", &format!("[ui]\nlabel = {label}\n"))
}

/// A bundle with a lookup of a file that it does not have.
#[cfg(test)]
fn lookup() -> String {
    packed("default/transforms.conf", "[hosts]\nfilename = hosts.csv\n")
}

/// A bundle of one app, as an archive that is not compressed: cases have bodies of text.
#[cfg(test)]
fn packed(path: &str, text: &str) -> String {
    let bytes = text.as_bytes().to_vec();
    let file = apps::PackedFile { path: path.into(), bytes, executable: false };
    let package =
        Package { app: "kept".to_owned(), files: vec![file], kept: Vec::new(), links: Vec::new() };
    String::from_utf8(package.archive().expect("an archive")).expect("a text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_refused_for_errors_with_their_places_and_not_for_warnings() {
        let sound = json!({ "ignored": [], "breaks": [], "warnings": ["apps/shop/c:1: no file"] });
        assert!(refusal(&sound).is_none());
        let one = json!({ "ignored": ["apps/shop/default/props.conf:2: wrong"], "breaks": [] });
        assert_eq!(
            refusal(&one).expect("a refusal").text,
            "the bundle is not applied, it has an error: would be ignored: \
             apps/shop/default/props.conf:2: wrong; correct it, or apply it anyway with --force (force=1 over REST)"
        );
        let many = json!({ "ignored": vec!["apps/shop/a:1: wrong"; 5], "breaks": ["apps/b/c:1: no stanza"] });
        let many = refusal(&many).expect("a refusal").text;
        assert!(many.contains("it has 6 errors: ") && many.contains("; and 1 more, see validate"));
        let broken = json!({ "ignored": [], "breaks": ["apps/b/c:1: no stanza"] });
        let broken = refusal(&broken).expect("a refusal").text;
        assert!(broken.contains("would become wrong in another app: apps/b/c:1: no stanza"));
    }

    #[test]
    fn a_process_that_applied_a_bundle_is_gone_if_it_does_not_answer_or_was_started_again() {
        let process =
            |id: &str, started: &str| Applying { id: id.to_owned(), started: started.to_owned() };
        let (own, snapshot) = (process("one", "2"), Snapshot::default());
        let is_gone = |of: &Applying, down: &[String]| is_gone(of, &own, &snapshot, down);
        assert!(!is_gone(&process("one", "2"), &[]), "it applies another bundle");
        assert!(is_gone(&process("one", "1"), &[]), "this process was started again");
        assert!(is_gone(&process("two", "2"), &[]), "it is not in the list");
        assert!(is_gone(&process("two", "2"), &["two".to_owned()]), "it does not answer");
        assert_eq!(applying(&snapshot, "one", 7), process("one", "7"), "without a cluster");
    }
}
