//! `/services/data/lookup-table-files`: lookup files, as CSV.

use std::path::{Component, Path, PathBuf};

use access::Object;
use apps::{LookupFile, NOBODY, Namespace};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::feed;
use super::objects::namespace;
use super::resource::{About, Access, Resource};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry, segment};
use crate::call::Call;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;
use crate::rights::Need::{Change, Object as ByPermissions};
use crate::routing::Routes;
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case, object_cases, removal_cases};

const PATH: &str = "/services/data/lookup-table-files";
/// The directory of files that are to become lookups, below the server's own directory.
const STAGING: &str = "lookup_tmp";

pub(super) fn routes() -> Routes {
    let (see, edit) = (Some(ByPermissions), Some(Change("upload_lookup_files")));
    let access =
        Access { list: see, create: edit, show: see, edit, remove: edit, acl: see, act: edit };
    Routes::default().resource(PATH, &Files, &access)
}

fn entry(state: &ApiState, caller: &Caller, file: &LookupFile) -> Entry {
    let path = format!("/servicesNS/{}/{}/data/lookup-table-files", segment(&file.owner), file.app);
    let content = feed::content(json!({
        "eai:appName": file.app,
        "eai:data": format!("apps/{}/lookups/{}", file.app, file.name),
        "eai:userName": file.owner,
        "disabled": false,
    }));
    let shared = file.owner == NOBODY;
    let acl = Acl {
        owner: file.owner.clone(),
        app: file.app.clone(),
        sharing: if shared { "app" } else { "user" }.to_owned(),
        perms: shared.then(|| {
            let perms = state.permissions.of(&file.place());
            (perms.read, perms.write)
        }),
        removable: file.removable,
        writable: caller.rights.may_write(&object(file, &file.place())),
    };
    Entry::new(&path, &file.name, content)
        .with_acl(acl)
        .with_attributes(Attributes::new(&[], &["contents", "eai:data"], &[]))
        .editable()
        .linking(&["acl"])
}

/// A file as permissions see it.
fn object<'a>(file: &'a LookupFile, place: &'a str) -> Object<'a> {
    Object { owner: &file.owner, shared: file.owner == NOBODY, place }
}

fn may_read(caller: &Caller, file: &LookupFile) -> bool {
    let all = file.owner == NOBODY && caller.may("list_all_objects");
    all || caller.rights.may_read(&object(file, &file.place()))
}

struct Files;

impl Resource for Files {
    type Item = LookupFile;

    fn about(&self) -> About {
        let (one, many) = ("a lookup file", "lookup files");
        About { title: "lookup-table-files", path: PATH, one, many }
    }

    fn check(&self, call: &Call) -> Result<(), RestError> {
        place(call).map(drop)
    }

    fn reloads(&self) -> bool {
        true
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(Attributes::new(&["name"], &["contents", "eai:data"], &[])))
    }

    fn entry(&self, call: &Call, file: &LookupFile) -> Result<Entry, RestError> {
        Ok(entry(&call.state, &call.caller, file))
    }

    async fn list(&self, call: &Call) -> Result<Vec<LookupFile>, RestError> {
        let mut files = call.state.apps.list_lookups(&place(call)?).await?;
        files.retain(|file| may_read(&call.caller, file));
        Ok(files)
    }

    async fn find(&self, call: &Call) -> Result<Vec<LookupFile>, RestError> {
        let found = named(call, call.name()).await?;
        Ok(found.into_iter().collect())
    }

    /// The file itself, as CSV.
    async fn plain(&self, call: &Call, file: &LookupFile) -> Result<Option<Response>, RestError> {
        if OutputMode::of(&call.params)? != OutputMode::Csv {
            return Ok(None);
        }
        let this = |found: &LookupFile| found.owner == file.owner && found.app == file.app;
        let content = call.state.apps.read_lookup_where(&file.name, &home(file), this).await?;
        let content = content.ok_or_else(|| RestError::no_object(&file.name))?;
        let text = String::from_utf8_lossy(&content.bytes).into_owned();
        Ok(Some(OutputMode::Csv.respond(StatusCode::OK, text)))
    }

    async fn create(&self, call: &Call) -> Result<LookupFile, RestError> {
        let Call { state, caller, params, .. } = call;
        let mut namespace = place(call)?;
        if namespace.owner == "-" {
            namespace.owner.clone_from(&caller.user);
        }
        let name = params.required("name")?;
        if namespace.owner == NOBODY && !caller.rights.may_share(&namespace.app) {
            return Err(refused(caller, "shared lookup files"));
        }
        if named(call, name).await?.is_some_and(|file| file.owner == namespace.owner) {
            let text = format!("a lookup file \"{name}\" exists already");
            return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
        }
        let bytes = content(state, params).await?;
        state.apps.write_lookup(name, &namespace, bytes.into()).await?;
        named(call, name).await?.ok_or_else(|| RestError::no_object(name))
    }

    async fn edit(&self, call: &Call, file: LookupFile) -> Result<LookupFile, RestError> {
        check_writable(&call.caller, &file)?;
        let bytes = content(&call.state, &call.params).await?;
        call.state.apps.write_lookup(&file.name, &home(&file), bytes.into()).await?;
        Ok(file)
    }

    fn actions(&self) -> &'static str {
        "`acl`: changes the permissions of a shared file (`perms.read`, `perms.write`)"
    }

    /// Changes the permissions of a shared file: `acl` with `perms.read` and `perms.write`.
    async fn act(
        &self,
        call: &Call,
        file: LookupFile,
        action: &str,
    ) -> Result<Option<LookupFile>, RestError> {
        let Call { state, params, .. } = call;
        if action != "acl" {
            return Err(RestError::no_object(action));
        }
        check_writable(&call.caller, &file)?;
        let sharing = if file.owner == NOBODY { "app" } else { "user" };
        let asked = params.text("sharing").unwrap_or(sharing);
        if asked != sharing && !(sharing == "app" && asked == "global") {
            let text = format!("the sharing of a lookup file cannot be changed: it is {sharing}");
            return Err(RestError::invalid(text));
        }
        if sharing == "app" {
            let perms = params.perms(state.permissions.of(&file.place()));
            state.permissions.put(&file.place(), perms).await?;
        }
        Ok(Some(file))
    }

    async fn remove(&self, call: &Call, file: LookupFile) -> Result<(), RestError> {
        check_writable(&call.caller, &file)?;
        call.state.apps.remove_lookup(&file.name, &home(&file)).await?;
        Ok(call.state.permissions.remove(&file.place()).await?)
    }
}

fn place(call: &Call) -> Result<Namespace, RestError> {
    namespace(&call.state, &call.caller, &call.namespace)
}

fn home(file: &LookupFile) -> Namespace {
    Namespace::new(&file.owner, &file.app)
}

/// The file of that name, unless the caller may not read it.
async fn named(call: &Call, name: &str) -> Result<Option<LookupFile>, RestError> {
    let files = call.state.apps.list_lookups(&place(call)?).await?;
    Ok(files.into_iter().find(|file| file.name == name && may_read(&call.caller, file)))
}

/// Takes `contents`, the CSV itself, or `eai:data`, a file that lies in the staging directory.
async fn content(state: &ApiState, params: &Params) -> Result<Vec<u8>, RestError> {
    if let Some(text) = params.get("contents") {
        return Ok(text.as_bytes().to_vec());
    }
    let staging = state.info.home.join(STAGING);
    let path = PathBuf::from(params.required("eai:data")?);
    let inside = path.starts_with(&staging)
        && path.components().all(|part| !matches!(part, Component::ParentDir));
    if !inside {
        return Err(RestError::invalid(format!(
            "eai:data must be a file below {}; or send the CSV itself as contents",
            staging.display()
        )));
    }
    read(&path).await
}

async fn read(path: &Path) -> Result<Vec<u8>, RestError> {
    let unreadable = |error| RestError::invalid(format!("eai:data {}: {error}", path.display()));
    tokio::fs::read(path).await.map_err(unreadable)
}

fn check_writable(caller: &Caller, file: &LookupFile) -> Result<(), RestError> {
    match caller.rights.may_write(&object(file, &file.place())) {
        true => Ok(()),
        false => Err(refused(caller, &file.name)),
    }
}

fn refused(caller: &Caller, what: &str) -> RestError {
    RestError::forbidden(format!("the user \"{}\" may not change {what}", caller.user))
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "/servicesNS/nobody/search/data/lookup-table-files";
    let mut all = object_cases(path, "contents=k%2Cv%0A1%2C2%0A", "contents=k%2Cv%0A3%2C4%0A");
    let absent = "Could not find object";
    all.extend([
        case(&format!("GET {path}/one?output_mode=csv"), "", 200, "3,4"),
        case(
            &format!("POST {path}/one"),
            "eai%3Adata=%2Fetc%2Fpasswd",
            400,
            "must be a file below",
        ),
        case(&format!("GET {path}/one/acl"), "", 200, "\"perms\""),
        case(&format!("GET {path}/one/size"), "", 404, absent),
        case(&format!("POST {path}/one/acl"), "perms.read=power", 200, "\"read\":[\"power\"]"),
        case(&format!("POST {path}/one/acl"), "sharing=user", 400, "cannot be changed"),
    ]);
    all.extend(removal_cases(path, 404));
    // Paths of objects have these characters encoded.
    let (encoded, name) = ("gr%C3%B6%C3%9Fe+a%23b%25~%2A.csv", "\"name\":\"größe a#b%~*.csv\"");
    let there = format!("{path}/{}", encoded.replace('+', "%20"));
    let form = format!("name={encoded}&contents=k%0A7%0A");
    all.extend([
        case(&format!("POST {path}"), &form, 201, name),
        case(&format!("GET {path}?count=0"), "", 200, name),
        case(&format!("GET {there}?output_mode=csv"), "", 200, "7"),
        case(&format!("POST {there}"), "contents=k%0A8%0A", 200, name),
        case(&format!("DELETE {there}"), "", 200, "\"entry\":"),
        case(&format!("GET {there}"), "", 404, "Could not find object"),
    ]);
    all
}
