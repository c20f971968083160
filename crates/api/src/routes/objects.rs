//! Objects that are stanzas of `.conf` files: saved searches, macros, event types, collections, and any
//! stanza as it is. One [`Resource`]; a [`Kind`] says what is particular.
//!
//! What is asked for below `/servicesNS/{owner}/{app}` is looked for there; without a namespace, in the
//! caller's own. A new object is its owner's alone, or everybody's in the app for the owner `nobody`.

pub(crate) mod access;
mod checks;
mod defaults;
mod kind;
mod server_settings;
mod shown;

use std::collections::BTreeSet;

use apps::{ConfObject, NOBODY, Namespace, ObjectChange, SEARCH, Settings, Sharing};

pub(crate) use self::access::check_writable;
use self::access::may_read;
use self::kind::{
    ALERT_ACTIONS, COMMANDS, DATAMODELS, EVENT_TYPES, EXTRACTIONS, LOOKUPS, MACROS, NAVIGATION,
    PANELS, SOURCETYPES, TIMES, UI_PREFS, VIEWS, WORKFLOW_ACTIONS,
};
pub(crate) use self::kind::{COLLECTIONS, CONFS, Kind, SAVED_SEARCHES};
pub(crate) use self::shown::acl_of;
use self::shown::{entries, entry};
use super::resource::{About, Access, Resource};
use crate::ApiState;
use crate::atom::{Attributes, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::params::{Params, is_true};
use crate::rights::{EDIT, Need};
use crate::routing::Routes;
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case, object_cases, removal_cases};
use crate::work::to_its_end;

/// Parameters of requests, which are not settings of objects.
pub(super) const REQUEST_PARAMETERS: [&str; 9] = [
    "name",
    "output_mode",
    "count",
    "offset",
    "search_filter",
    "sort_key",
    "sort_dir",
    "sort_mode",
    "f",
];

/// The kinds that have a collection of their own.
pub(super) static KINDS: [&Kind; 16] = [
    &SAVED_SEARCHES,
    &EVENT_TYPES,
    &MACROS,
    &LOOKUPS,
    &EXTRACTIONS,
    &VIEWS,
    &NAVIGATION,
    &PANELS,
    &TIMES,
    &DATAMODELS,
    &COLLECTIONS,
    &ALERT_ACTIONS,
    &COMMANDS,
    &SOURCETYPES,
    &UI_PREFS,
    &WORKFLOW_ACTIONS,
];

pub(super) fn routes() -> Routes {
    let (see, edit) = (Some(Need::Object), Some(EDIT));
    let access =
        Access { list: see, create: edit, show: see, edit, remove: edit, acl: see, act: edit };
    let reads = Access { list: see, show: see, ..Access::default() };
    let routes = KINDS.into_iter().fold(Routes::default(), |routes, kind| {
        let of_kind = if kind.is_read_only { &reads } else { &access };
        routes.resource(&format!("/services/{}", kind.path), kind, of_kind)
    });
    let routes = routes.resource("/services/admin/macros", &MACROS, &access);
    routes.resource("/services/configs/{file}", &CONFS, &Access { acl: None, ..access })
}

/// A request for objects of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) kind: &'a Kind,
    /// The file, without `.conf`.
    pub(crate) conf: &'a str,
    pub(crate) state: &'a ApiState,
    pub(crate) caller: &'a Caller,
    pub(crate) params: &'a Params,
    path: &'a PathNamespace,
}

impl<'a> Asked<'a> {
    /// Creates the request. `file`: the one in the path, with or without `conf-`, for stanzas of any file.
    ///
    /// # Errors
    /// If the path of such a request names no file.
    pub(crate) fn new(kind: &'a Kind, file: &'a str, call: &'a Call) -> Result<Self, RestError> {
        let conf = match kind.is_raw {
            true => file.strip_prefix("conf-").unwrap_or(file),
            false => kind.conf,
        };
        if conf.is_empty() {
            return Err(RestError::no_object(file));
        }
        let Call { state, caller, params, .. } = call;
        Ok(Self { kind, conf, state, caller, params, path: &call.namespace })
    }

    /// The collection, below `/services/`.
    pub(crate) fn below(&self) -> String {
        if self.kind.is_raw {
            format!("configs/conf-{}", self.conf)
        } else {
            self.kind.path.to_owned()
        }
    }

    /// Returns the namespace in which the request reads.
    pub(crate) fn namespace(&self) -> Result<Namespace, RestError> {
        namespace(self.state, self.caller, self.path)
    }

    /// Returns the namespace for a new object: `-` stands for the caller, and for the app `search`.
    pub(crate) fn home_of_new(&self) -> Result<Namespace, RestError> {
        let mut namespace = self.namespace()?;
        if namespace.owner == "-" {
            namespace.owner.clone_from(&self.caller.user);
        }
        if namespace.app == "-" {
            SEARCH.clone_into(&mut namespace.app);
        }
        Ok(namespace)
    }

    /// Returns the settings of the request, in the form of the kind's settings.
    fn settings(&self) -> Result<Settings, RestError> {
        let mut settings = Settings::new();
        for (key, value) in self.params.iter() {
            if REQUEST_PARAMETERS.contains(&key) || key.starts_with("eai:acl") {
                continue;
            }
            if !self.kind.takes(key) {
                return Err(RestError::unknown_argument(key));
            }
            let value = match self.kind.is_flag(key) {
                true => u8::from(is_true(value)).to_string(),
                false => value.to_owned(),
            };
            match settings.iter_mut().find(|(known, _)| known == key) {
                Some((_, kept)) => *kept = value,
                None => settings.push((key.to_owned(), value)),
            }
        }
        (self.kind.check)(&settings)?;
        access::check_settings(self, &settings)?;
        Ok(settings)
    }
}

/// Returns the namespace in which a request reads.
pub(crate) fn namespace(
    state: &ApiState,
    caller: &Caller,
    path: &PathNamespace,
) -> Result<Namespace, RestError> {
    let app = path.app.clone().unwrap_or_else(|| match &path.owner {
        Some(_) => SEARCH.to_owned(),
        None => caller.default_app(state),
    });
    let owner = path.owner.clone().unwrap_or_else(|| caller.user.clone());
    let foreign = owner != caller.user && owner != NOBODY && owner != "-";
    if foreign && !caller.may("admin_all_objects") {
        let text = format!("the objects of user \"{owner}\" are not the caller's");
        return Err(RestError::forbidden(text));
    }
    Ok(Namespace::new(&owner, &app))
}

/// The objects of a kind that a namespace has and the caller may read.
pub(crate) fn objects(asked: &Asked<'_>, namespace: &Namespace) -> Vec<ConfObject> {
    let conf = asked.conf;
    let apps = &asked.state.apps;
    let mut found = match namespace.owner.as_str() {
        "-" => {
            let all = asked.caller.may("admin_all_objects");
            let mut found = apps.list(conf, &Namespace::new(NOBODY, &namespace.app));
            let here = |object: &ConfObject| namespace.app == "-" || object.app == namespace.app;
            let mut own = apps.private(conf);
            own.retain(|object| here(object) && (all || object.owner == asked.caller.user));
            found.append(&mut own);
            found
        }
        _ => apps.list(conf, namespace),
    };
    let is_object = |object: &ConfObject| object.name != "default" || asked.kind.is_page;
    found.retain(|object| is_object(object) && may_read(asked, object));
    if asked.kind.is_raw {
        server_settings::put_in_force(asked, &mut found);
    }
    found
}

/// Returns the object of that name in the namespace. If there are several, which is possible only for `-`,
/// returns the first.
pub(crate) fn found(
    asked: &Asked<'_>,
    namespace: &Namespace,
    name: &str,
) -> Result<ConfObject, RestError> {
    let mut all = named(asked, namespace, name);
    if all.is_empty() { Err(RestError::no_object(name)) } else { Ok(all.swap_remove(0)) }
}

fn named(asked: &Asked<'_>, namespace: &Namespace, name: &str) -> Vec<ConfObject> {
    if server_settings::is_of_server(asked, name) {
        return server_settings::in_force(asked, name).into_iter().collect();
    }
    let mut all = if namespace.owner == "-" || namespace.app == "-" {
        objects(asked, namespace)
    } else {
        let found = asked.state.apps.get(asked.conf, name, namespace).ok();
        found.into_iter().filter(|object| may_read(asked, object)).collect()
    };
    all.retain(|object| object.name == name);
    defaults::completed(asked, name, all)
}

/// Makes an object of that name with the settings of the request.
pub(crate) async fn create(asked: &Asked<'_>, name: &str) -> Result<ConfObject, RestError> {
    if server_settings::is_of_server(asked, name) {
        access::check_conf(asked)?;
        if !asked.state.apps.stored_in_system(asked.conf, name).is_empty() {
            return Err(apps::Error::Exists(name.to_owned()).into());
        }
        return server_settings::change(asked, name).await;
    }
    let namespace = asked.home_of_new()?;
    for required in asked.kind.required {
        asked.params.required(required)?;
    }
    let settings = asked.settings()?;
    check_app(asked.state, &namespace.app)?;
    checks::check(asked, name, &namespace, &settings)?;
    if namespace.owner == NOBODY {
        access::check_shared_writable(asked, &namespace.app)?;
    }
    access::check_conf(asked)?;
    check_process(asked, name)?;
    let ends = ended_by(asked, name, &namespace, ObjectChange::Create(&settings));
    let (apps, conf, own) = (asked.state.apps.clone(), asked.conf.to_owned(), name.to_owned());
    let there = namespace.clone();
    let creation = async move {
        let made = apps.create(&conf, &own, &there, settings).await?;
        // Objects of the system are visible in every app.
        if there.app == apps::SYSTEM && there.owner == NOBODY {
            apps.share(&conf, &own, &there, NOBODY, Sharing::Global).await?;
        }
        Ok::<ConfObject, apps::Error>(made)
    };
    let made = applied(asked, ends, creation).await?;
    Ok(asked.state.apps.get(asked.conf, name, &namespace).unwrap_or(made))
}

pub(crate) fn check_app(state: &ApiState, app: &str) -> Result<(), RestError> {
    let known = app == apps::SYSTEM || state.apps.apps().iter().any(|known| known.name == app);
    if known { Ok(()) } else { Err(RestError::not_found(format!("there is no app \"{app}\""))) }
}

/// The namespace that an object is in.
pub(crate) fn home(object: &ConfObject) -> Namespace {
    let owner = if object.sharing == Sharing::User { object.owner.as_str() } else { NOBODY };
    Namespace::new(owner, &object.app)
}

/// Changes an object by the settings of the request. A stanza that has its declared defaults alone is
/// created. Settings of the server are stored in the system.
pub(crate) async fn edit(asked: &Asked<'_>, object: &ConfObject) -> Result<ConfObject, RestError> {
    if server_settings::is_of_server(asked, &object.name) {
        return server_settings::change(asked, &object.name).await;
    }
    if defaults::has_no_file(asked, object) {
        return create(asked, &object.name).await;
    }
    check_writable(asked, object)?;
    check_process(asked, &object.name)?;
    let settings = asked.settings()?;
    let (name, there) = (&object.name, home(object));
    checks::check(asked, name, &there, &settings)?;
    update(asked, name, &there, settings).await?;
    Ok(asked.state.apps.get(asked.conf, name, &there)?)
}

/// Stores settings of an object, and applies the effects.
async fn update(
    asked: &Asked<'_>,
    name: &str,
    there: &Namespace,
    settings: Settings,
) -> Result<(), RestError> {
    let ends = ended_by(asked, name, there, ObjectChange::Update(&settings));
    let (apps, conf, own) = (asked.state.apps.clone(), asked.conf.to_owned(), name.to_owned());
    let there = there.clone();
    let change = async move { apps.update(&conf, &own, &there, &settings).await.map(drop) };
    applied(asked, ends, change).await
}

/// Refuses changes that another process has to make.
fn check_process(asked: &Asked<'_>, name: &str) -> Result<(), RestError> {
    match asked.conf {
        "inputs" => super::data_inputs::check_process(asked.state, name),
        _ => Ok(()),
    }
}

/// Makes a change of the file, and applies its effects. `ends`: the apps that it disables.
async fn applied<T, E>(
    asked: &Asked<'_>,
    ends: BTreeSet<String>,
    change: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, RestError>
where
    T: Send + 'static,
    E: Into<RestError> + Send + 'static,
{
    match asked.conf {
        "inputs" => {
            let done = change.await.map_err(Into::<RestError>::into)?;
            super::data_inputs::follow(asked.state).await?;
            Ok(done)
        }
        "app" => {
            let state = asked.state.clone();
            let task =
                async move { super::data_inputs::without_inputs_of(&state, ends, change).await };
            to_its_end(task).await
        }
        _ => change.await.map_err(Into::into),
    }
}

/// The apps that a change of an object disables: one of `app.conf` may.
fn ended_by(
    asked: &Asked<'_>,
    name: &str,
    there: &Namespace,
    change: ObjectChange<'_>,
) -> BTreeSet<String> {
    match asked.conf {
        "app" => asked.state.apps.ended_by(name, there, change),
        _ => BTreeSet::new(),
    }
}

impl Kind {
    fn asked<'a>(&'a self, call: &'a Call) -> Result<Asked<'a>, RestError> {
        Asked::new(self, call.segment("file"), call)
    }
}

impl Resource for Kind {
    type Item = ConfObject;

    fn about(&self) -> About {
        About { title: self.title, path: self.path, one: self.one, many: self.many }
    }

    fn place(&self, call: &Call) -> Result<(String, String), RestError> {
        Ok((self.title.to_owned(), format!("/services/{}", self.asked(call)?.below())))
    }

    fn check(&self, call: &Call) -> Result<(), RestError> {
        (self.check_namespace)(&self.asked(call)?.namespace()?)
    }

    fn reloads(&self) -> bool {
        true
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(self.attributes(true)))
    }

    fn entry(&self, call: &Call, object: &ConfObject) -> Result<Entry, RestError> {
        Ok(entry(&self.asked(call)?, object))
    }

    fn entries(&self, call: &Call, objects: &[ConfObject]) -> Result<Vec<Entry>, RestError> {
        Ok(entries(&self.asked(call)?, objects))
    }

    fn warnings(&self, call: &Call, object: &ConfObject) -> Vec<String> {
        let Ok(asked) = self.asked(call) else { return Vec::new() };
        if server_settings::is_of_server(&asked, &object.name) {
            return server_settings::warnings(&asked, &object.name);
        }
        let is_search = asked.conf == SAVED_SEARCHES.conf;
        // Nobody expects runs of a search that is disabled.
        let is_disabled = object.get("disabled").is_some_and(is_true);
        if !is_search || is_disabled || !kind::is_scheduled(object) {
            return Vec::new();
        }
        // Clients would wait for runs and alerts.
        vec![format!(
            "the schedule of \"{}\" is stored, but not run yet: there is no scheduler, and there are no alerts",
            object.name
        )]
    }

    fn removal_warnings(&self, call: &Call, object: &ConfObject) -> Vec<String> {
        match self.asked(call) {
            Ok(asked) if server_settings::is_of_server(&asked, &object.name) => {
                server_settings::warnings_of_reset(&asked, &object.name)
            }
            _ => Vec::new(),
        }
    }

    async fn list(&self, call: &Call) -> Result<Vec<ConfObject>, RestError> {
        let asked = self.asked(call)?;
        let all = objects(&asked, &asked.namespace()?);
        Ok(all.into_iter().filter(|object| (self.lists)(object)).collect())
    }

    async fn find(&self, call: &Call) -> Result<Vec<ConfObject>, RestError> {
        let asked = self.asked(call)?;
        Ok(named(&asked, &asked.namespace()?, call.name()))
    }

    async fn create(&self, call: &Call) -> Result<ConfObject, RestError> {
        create(&self.asked(call)?, call.params.required("name")?).await
    }

    async fn edit(&self, call: &Call, object: ConfObject) -> Result<ConfObject, RestError> {
        edit(&self.asked(call)?, &object).await
    }

    async fn remove(&self, call: &Call, object: ConfObject) -> Result<(), RestError> {
        let asked = self.asked(call)?;
        if server_settings::is_of_server(&asked, &object.name) {
            return server_settings::reset(&asked, &object.name).await;
        }
        check_writable(&asked, &object)?;
        check_process(&asked, &object.name)?;
        (self.removed)(call.state.clone(), object.clone()).await?;
        let (there, name) = (home(&object), object.name.clone());
        let ends = ended_by(&asked, &name, &there, ObjectChange::Remove);
        let (apps, conf) = (call.state.apps.clone(), asked.conf.to_owned());
        applied(&asked, ends, async move { apps.remove(&conf, &name, &there).await }).await?;
        Ok(call.state.permissions.remove(&object.place()).await?)
    }

    fn actions(&self) -> &'static str {
        "`enable`, `disable`, `acl` (with `owner`, `sharing`, `perms.read`, `perms.write`) or `move` (with `app`)"
    }

    async fn act(
        &self,
        call: &Call,
        object: ConfObject,
        action: &str,
    ) -> Result<Option<ConfObject>, RestError> {
        let asked = self.asked(call)?;
        if server_settings::is_of_server(&asked, &object.name) {
            return Err(RestError::no_object(action));
        }
        check_writable(&asked, &object)?;
        check_process(&asked, &object.name)?;
        let (conf, name, there) = (asked.conf, object.name.as_str(), home(&object));
        let apps = &call.state.apps;
        let place = match action {
            "enable" | "disable" => {
                let disabled = u8::from(action == "disable").to_string();
                update(&asked, name, &there, vec![("disabled".to_owned(), disabled)]).await?;
                return Ok(Some(apps.get(conf, name, &there)?));
            }
            "acl" => {
                let rights = access::rights_of(&asked, &object)?;
                let change = ObjectChange::Share(&rights.owner, rights.sharing);
                let ends = ended_by(&asked, name, &there, change);
                let sharing = access::share(call.state.clone(), object.clone(), rights);
                applied(&asked, ends, sharing).await?
            }
            "move" => {
                let app = call.params.required("app")?;
                check_app(&call.state, app)?;
                let ends = ended_by(&asked, name, &there, ObjectChange::Move(app));
                let moving = access::relocate(call.state.clone(), object.clone(), app.to_owned());
                applied(&asked, ends, moving).await?
            }
            _ => return Err(RestError::no_object(action)),
        };
        Ok(Some(apps.get(conf, name, &place)?))
    }
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let kinds = [
        ("saved/searches", "search=index%3Dmain", "search=index%3Dopen"),
        ("saved/eventtypes", "search=a", "search=b"),
        ("data/macros", "definition=a", "definition=b"),
        ("admin/macros", "definition=a", "definition=b"),
        ("data/transforms/lookups", "filename=a.csv", "filename=b.csv"),
        ("data/transforms/extractions", "REGEX=(a)&FORMAT=x%3A%3A%241", "REGEX=(b)"),
        ("data/ui/views", "eai%3Adata=%3Cdashboard%2F%3E", "eai%3Adata=%3Cform%2F%3E"),
        (
            "data/ui/nav",
            "eai%3Adata=%3Cnav%2F%3E",
            "eai%3Adata=%3Cnav+color%3D%22%23123456%22%2F%3E",
        ),
        ("data/ui/panels", "eai%3Adata=%3Cpanel%2F%3E", "eai%3Adata=%3Cpanel+id%3D%22a%22%2F%3E"),
        ("data/ui/times", "label=a&earliest_time=-1h", "label=b"),
        ("datamodel/model", "eai%3Adata=%7B%22objects%22%3A%5B%5D%7D", "description=b"),
        ("storage/collections/config", "field.n=number", "field.n=string"),
        ("configs/conf-times", "label=a", "label=b"),
    ];
    let mut all = Vec::new();
    for (below, form, other) in kinds {
        let path = format!("/servicesNS/nobody/search/{below}");
        all.extend(object_cases(&path, form, other));
        let one = format!("{path}/one");
        all.push(case(&format!("GET {path}/_new"), "", 200, "\"required\":[\"name\""));
        all.push(case(&format!("POST {one}/disable"), "", 200, "\"disabled\":true"));
        all.push(case(&format!("POST {one}/explode"), "", 404, "Could not find object id=explode"));
        let share = "sharing=app&owner=nobody&perms.read=power";
        all.push(case(&format!("POST {one}/acl"), share, 200, "\"read\":[\"power\"]"));
        all.push(case(
            &format!("POST {one}/acl"),
            "sharing=all&owner=nobody",
            400,
            "unknown sharing",
        ));
        all.push(case(&format!("POST {one}/move"), "app=none", 404, "there is no app"));
        if below.starts_with("data/ui/") && form.starts_with("eai") {
            let broken = "eai%3Adata=%3Cform%3E%0A%3Crow%3E%3C%2Fform%3E";
            all.push(case(&format!("POST {one}"), broken, 400, "is not XML: line 2"));
        }
        if !below.starts_with("configs/") {
            all.push(case(&format!("GET {one}/acl"), "", 200, "\"read\":[\"power\"]"));
            all.push(case(&format!("GET {one}/size"), "", 404, "Could not find object id=size"));
            let unknown = "is not supported by this handler";
            all.push(case(&format!("POST {one}"), "no_such_setting=1", 400, unknown));
        }
        all.extend(removal_cases(&path, 404));
    }
    all.extend(knowledge_cases());
    all.extend(read_only_cases());
    all.extend(reload_cases());
    let searches = "/servicesNS/nobody/search/saved/searches";
    let timed = "name=timed&search=a&is_scheduled=1&cron_schedule=*%2F5+*+*+*+*";
    all.extend([
        case(&format!("POST {searches}"), timed, 201, "is stored, but not run yet"),
        case(&format!("POST {searches}/timed"), "disabled=1", 200, "\"messages\":[]"),
        case(&format!("POST {searches}/timed"), "disabled=0", 200, "is stored, but not run yet"),
        case(&format!("POST {searches}/timed"), "is_scheduled=0", 200, "\"messages\":[]"),
        case(&format!("DELETE {searches}/timed"), "", 200, ""),
    ]);
    // A declared stanza has its defaults if no file sets it, and is created when it is changed.
    let limits = "/servicesNS/nobody/search/configs/conf-limits";
    all.extend([
        case(&format!("GET {limits}/search"), "", 200, "\"ttl\":\"600\""),
        case(&format!("DELETE {limits}/search"), "", 404, "Could not find object"),
        case(&format!("POST {limits}/nosuch"), "ttl=700", 404, "Could not find object"),
        case(&format!("POST {limits}/search"), "ttl=700", 200, "\"ttl\":\"700\""),
        case(&format!("GET {limits}/search"), "", 200, "\"ttl\":\"700\""),
        case(&format!("GET {limits}/search"), "", 200, "\"base_max_searches\":\"6\""),
    ]);
    all.extend(server_cases());
    all.extend(page_cases());
    all
}

/// Test requests for settings of the server.
#[cfg(test)]
fn server_cases() -> Vec<Case> {
    let limits = "/servicesNS/nobody/search/configs/conf-limits";
    let search = format!("{limits}/search");
    let refused = |form: &str, text: &str| case(&format!("POST {search}"), form, 400, text);
    let too_large = "max_mem_usage_mb=9223372036854775807";
    let flag = "is set by --cache-dram-mib (KARST_CACHE_DRAM_MIB), which takes precedence";
    let cache = "POST /services/configs/conf-server/cachemanager";
    vec![
        refused("ttl=soon", "[search] ttl = soon: expected a whole number of seconds, 1 or more"),
        refused("ttll=9", "unknown setting ttll in limits.conf [search]; did you mean ttl?"),
        refused("ttll=", "unknown setting ttll in limits.conf [search]; did you mean ttl?"),
        refused("maxout=9", "maxout is a setting of limits.conf [subsearch], not of [search]"),
        refused("status_buckets=9", "status_buckets has no effect in this version"),
        refused("total_mem_usage_mb=9", "is read from files only: set it in system/local"),
        refused(too_large, "expected a whole number of MB, 1 or more"),
        case(cache, "dram_size=1", 400, flag),
        case(&format!("POST {limits}"), "name=search&ttl=9", 409, "already exists"),
        case(&format!("POST {limits}"), "name=search&ttl=9", 403, "lacks the capability")
            .by("user"),
        case(&format!("POST {search}/disable"), "", 404, "Could not find object id=disable"),
        case(&format!("POST {search}"), "ttl=", 200, "\"ttl\":\"600\""),
        case(
            &format!("POST {search}"),
            "max_mem_usage_mb=600",
            200,
            "max_mem_usage_mb: in force after a restart of the server",
        ),
        case("GET /api/v1/settings?conf=limits&set=1", "", 200, "\"total\":1"),
        case(
            "GET /api/v1/settings?conf=limits&search=max_mem&count=1",
            "",
            200,
            "\"pending\":\"600\"",
        ),
        case(
            &format!("DELETE {search}"),
            "",
            200,
            "max_mem_usage_mb: in force after a restart of the server",
        ),
        case(&format!("GET {search}"), "", 200, "\"max_mem_usage_mb\":\"512\""),
        case(&format!("DELETE {search}"), "", 404, "Could not find object"),
    ]
}

/// Test requests for kinds that are changed as stanzas of their file.
#[cfg(test)]
fn read_only_cases() -> Vec<Case> {
    let kinds = [
        ("alerts/alert_actions", "alert_actions", "is_custom=1", "\"is_custom\":true"),
        ("data/commands", "commands", "filename=a.py&chunked=true", "\"filename\":\"a.py\""),
        ("saved/sourcetypes", "props", "TRUNCATE=99", "\"TRUNCATE\":\"99\""),
        ("data/ui/prefs", "ui-prefs", "display.prefs.fileCount=5", "fileCount\":\"5\""),
        ("data/ui/workflow-actions", "workflow_actions", "type=link", "\"type\":\"link\""),
    ];
    let mut all = Vec::new();
    for (path, conf, setting, shown) in kinds {
        let space = "/servicesNS/nobody/search";
        let form = format!("name=shown&{setting}");
        let one = format!("{space}/{path}/shown");
        all.extend([
            case(&format!("POST {space}/configs/conf-{conf}"), &form, 201, "\"name\":\"shown\""),
            case(&format!("GET {space}/{path}?count=0"), "", 200, "\"name\":\"shown\""),
            case(&format!("GET {space}/{path}?sort_mode=size"), "", 400, "unknown sort_mode"),
            case(&format!("GET {one}"), "", 200, shown),
            case(&format!("GET {space}/{path}/none"), "", 404, "Could not find object id=none"),
        ]);
    }
    let types = "/servicesNS/nobody/search/saved/sourcetypes";
    let props = "POST /servicesNS/nobody/search/configs/conf-props";
    all.extend([
        case(props, "name=host%3A%3Aa&TRUNCATE=9", 201, "host::a"),
        case(&format!("GET {types}?search=name%3Dhost%3A%3Aa"), "", 200, "\"total\":0"),
    ]);
    all
}

/// Test requests to read the files again.
#[cfg(test)]
fn reload_cases() -> Vec<Case> {
    let confs = "/servicesNS/nobody/search/configs/conf-macros";
    let none = "\"changed\":[]";
    vec![
        case(&format!("POST {confs}/_reload"), "", 200, none),
        case(&format!("GET {confs}/_reload"), "", 200, none),
        case(&format!("POST {confs}/_reload?output_mode=none"), "", 400, "unknown output_mode"),
        case(&format!("GET {confs}/_reload"), "", 200, "the capability edit_server").by("user"),
        case("POST /services/saved/searches/_reload", "", 200, none),
        case("POST /services/data/transforms/lookups/none/_reload", "", 404, "Could not find"),
    ]
}

/// Test requests with objects that searches could not use.
#[cfg(test)]
fn knowledge_cases() -> Vec<Case> {
    let event_types = "/servicesNS/nobody/search/saved/eventtypes";
    let macros = "/servicesNS/nobody/search/data/macros";
    let commands = "search=index%3Dmain+%7C+stats+count";
    let pipe = "1 | index=main | stats count";
    let one = format!("POST {event_types}/checked");
    let unknown = "name=no&search=%60nothing_there%60";
    let counts = "takes 1 argument, but args names 2: a, b";
    let two = "name=checked(2)&args=a%2Cb&definition=%24a%24";
    let models = "/servicesNS/nobody/search/datamodel/model";
    let no_list = "name=no&eai%3Adata=%7B%22objects%22%3A1%7D";
    vec![
        case(&format!("POST {models}"), "name=no", 400, "\\\"eai:data\\\" is missing"),
        case(&format!("POST {models}"), no_list, 400, "eai:data is not a data model: "),
        case(&format!("POST {models}"), "name=no&eai%3Adata=%5B%5D", 400, "not a JSON object"),
        case(&format!("GET {models}/no"), "", 404, "Could not find object"),
        case(&format!("POST {event_types}"), &format!("name=no&{commands}"), 400, pipe),
        case(&format!("POST {event_types}"), unknown, 400, "there is no macro"),
        case(&format!("GET {event_types}/no"), "", 404, "Could not find object"),
        case(&format!("POST {event_types}"), "name=checked&search=a", 201, "\"name\":\"checked\""),
        case(&one, commands, 400, pipe),
        case(&one, "search=a+%5Bsearch+b%5D", 400, "cannot have subsearches"),
        case(&one, "priority=2&tags=web,error", 200, "\"search\":\"a\""),
        case(&one, "priority=11", 400, "expected a whole number from 1 to 10"),
        case(&one, "tags=web+shop,error", 400, "\\\"web shop\\\" has a blank"),
        case(&format!("POST {macros}"), "name=m(1)&args=a%2C+b&definition=x", 400, counts),
        case(&format!("POST {macros}"), "name=a+b&definition=x", 400, "is not a valid name"),
        case(&format!("POST {macros}"), two, 201, "\"name\":\"checked(2)\""),
        case(&format!("POST {macros}/checked(2)"), "args=a", 400, "takes 2 arguments"),
        case(&format!("POST {macros}/checked(2)"), "definition=y", 200, "\"definition\":\"y\""),
    ]
}

/// The pages in the files of the app `made` (`tests/conf`).
#[cfg(test)]
fn page_cases() -> Vec<Case> {
    let views = "/servicesNS/-/made/data/ui/views";
    let own = "/servicesNS/nobody/made/data/ui/views";
    let data = "eai%3Adata=%3Cdashboard%3E%3Clabel%3EChanged%3C%2Flabel%3E%3C%2Fdashboard%3E";
    vec![
        case(&format!("GET {views}?count=0"), "", 200, "\"label\":\"Requests & answers\""),
        case(&format!("GET {views}/requests"), "", 200, "\"isDashboard\":true"),
        case(&format!("GET {views}/requests"), "", 200, "\"rootNode\":\"form\""),
        case(&format!("GET {views}/requests"), "", 200, "\"sharing\":\"app\""),
        // The file below `local`, not the one below `default`.
        case(&format!("GET {views}/twice"), "", 200, "\"label\":\"Of local\""),
        case(&format!("GET {views}/hidden"), "", 200, "\"isVisible\":false"),
        case(&format!("GET {views}/linked"), "", 404, "Could not find object"),
        // A file has permissions as an object made at run time has.
        case(&format!("GET {views}/restricted"), "", 200, "\"name\":\"restricted\"").by("user"),
        case(
            &format!("POST {own}/restricted/acl"),
            "sharing=app&owner=nobody&perms.read=power",
            200,
            "\"read\":[\"power\"]",
        ),
        case(&format!("GET {views}/restricted"), "", 404, "Could not find object").by("user"),
        case(&format!("GET {views}/restricted"), "", 200, "<label>Restricted"),
        // An object created at run time hides the file until it is removed.
        case(&format!("POST {own}/requests"), data, 200, "\"label\":\"Changed\""),
        case(&format!("GET {views}/requests"), "", 200, "\"removable\":true"),
        case(&format!("DELETE {own}/requests"), "", 200, "\"entry\":"),
        case(&format!("GET {views}/requests"), "", 200, "\"label\":\"Requests & answers\""),
        case(&format!("DELETE {own}/requests"), "", 400, "cannot be removed"),
        case("GET /servicesNS/-/made/data/ui/nav/default", "", 200, "<view name="),
        case("GET /servicesNS/-/made/data/ui/nav?count=0", "", 200, "\"name\":\"default\""),
        case("GET /servicesNS/-/made/data/ui/panels/shared", "", 200, "\"rootNode\":\"panel\""),
    ]
}
