//! Objects that are stanzas of `.conf` files: saved searches, macros, event types, collections, and any
//! stanza as it is. One set of handlers; a [`Kind`] says what is particular.
//!
//! What is asked for below `/servicesNS/{owner}/{app}` is looked for there; without a namespace, in the
//! caller's own. A new object is its owner's alone, or everybody's in the app for the owner `nobody`.

pub(crate) mod access;
mod kind;
mod shown;

use apps::{ConfObject, NOBODY, Namespace, SEARCH, Settings, Sharing};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};

pub(crate) use self::access::check_writable;
use self::access::{may_read, perms_of};
pub(crate) use self::kind::{
    COLLECTIONS, CONFS, DATAMODELS, EVENT_TYPES, EXTRACTIONS, Kind, LOOKUPS, MACROS,
    SAVED_SEARCHES, VIEWS,
};
pub(crate) use self::shown::entry;
use super::feed;
use crate::ApiState;
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::params::{Params, is_true};
use crate::session::Caller;

/// Parameters of requests, which are not settings of objects.
const REQUEST_PARAMETERS: [&str; 9] = [
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

impl From<apps::Error> for RestError {
    fn from(error: apps::Error) -> Self {
        let severity = match &error {
            apps::Error::NotFound(_) | apps::Error::Exists(_) => "ERROR",
            _ => "FATAL",
        };
        let mut answer = Self::of_kind(error.kind(), error.to_string());
        answer.severity = severity;
        answer
    }
}

/// `GET` lists the objects of a kind, `POST` makes one.
pub(crate) fn collection(kind: &'static Kind) -> MethodRouter<ApiState> {
    let list = move |State(state): State<ApiState>,
                     caller: Caller,
                     namespace: PathNamespace,
                     params: Params| async move {
        list(&Asked::new(kind, &state, &caller, &params), &namespace)
    };
    let create = move |State(state): State<ApiState>,
                       caller: Caller,
                       namespace: PathNamespace,
                       params: Params| async move {
        let asked = Asked::new(kind, &state, &caller, &params);
        create(&asked, &namespace).await
    };
    get(list).post(create)
}

/// `GET` shows an object, `POST` changes and `DELETE` removes it.
pub(crate) fn member(kind: &'static Kind) -> MethodRouter<ApiState> {
    let show = move |State(state): State<ApiState>,
                     caller: Caller,
                     namespace: PathNamespace,
                     Path(name): Path<String>,
                     params: Params| async move {
        let asked = Asked::new(kind, &state, &caller, &params);
        show(&asked, &namespace, &name)
    };
    let edit = move |State(state): State<ApiState>,
                     caller: Caller,
                     namespace: PathNamespace,
                     Path(name): Path<String>,
                     params: Params| async move {
        let asked = Asked::new(kind, &state, &caller, &params);
        edit(&asked, &namespace, &name).await
    };
    let remove = move |State(state): State<ApiState>,
                       caller: Caller,
                       namespace: PathNamespace,
                       Path(name): Path<String>,
                       params: Params| async move {
        let asked = Asked::new(kind, &state, &caller, &params);
        remove(&asked, &namespace, &name).await
    };
    get(show).post(edit).delete(remove)
}

/// What can be done to an object besides: `enable`, `disable`, `acl`, `move`.
pub(crate) fn action(kind: &'static Kind) -> MethodRouter<ApiState> {
    let look = move |State(state): State<ApiState>,
                     caller: Caller,
                     namespace: PathNamespace,
                     Path((name, action)): Path<(String, String)>,
                     params: Params| async move {
        let asked = Asked::new(kind, &state, &caller, &params);
        match action.as_str() {
            "acl" => show(&asked, &namespace, &name),
            _ => Err(RestError::no_object(&action)),
        }
    };
    let act = move |State(state): State<ApiState>,
                    caller: Caller,
                    namespace: PathNamespace,
                    Path((name, action)): Path<(String, String)>,
                    params: Params| async move {
        let asked = Asked::new(kind, &state, &caller, &params);
        act(&asked, &namespace, &name, &action).await
    };
    get(look).post(act)
}

/// A request for objects of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) kind: &'static Kind,
    /// The file, without `.conf`.
    pub(crate) conf: &'a str,
    pub(crate) state: &'a ApiState,
    pub(crate) caller: &'a Caller,
    pub(crate) params: &'a Params,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(
        kind: &'static Kind,
        state: &'a ApiState,
        caller: &'a Caller,
        params: &'a Params,
    ) -> Self {
        Self { kind, conf: kind.conf, state, caller, params }
    }

    pub(crate) fn respond(&self, object: &ConfObject) -> Result<Response, RestError> {
        let entry = entry(self, object);
        feed::respond_one(self.kind.title, &self.path(), entry, self.params)
    }

    /// The collection, below `/services/`.
    pub(crate) fn below(&self) -> String {
        if self.kind.is_raw {
            format!("configs/conf-{}", self.conf)
        } else {
            self.kind.path.to_owned()
        }
    }

    pub(crate) fn path(&self) -> String {
        format!("/services/{}", self.below())
    }

    /// What the request sets, as the kind's settings are written.
    fn settings(&self) -> Result<Settings, RestError> {
        let mut settings = Settings::new();
        for (key, value) in self.params.iter() {
            if REQUEST_PARAMETERS.contains(&key) || key.starts_with("eai:acl") {
                continue;
            }
            if !self.kind.takes(key) {
                let text = format!("Argument \"{key}\" is not supported by this handler.");
                return Err(RestError::invalid(text));
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
        Ok(settings)
    }
}

/// Where the request looks.
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
    found.retain(|object| object.name != "default" && may_read(asked, object));
    found
}

pub(super) fn list(asked: &Asked<'_>, path: &PathNamespace) -> Result<Response, RestError> {
    let namespace = namespace(asked.state, asked.caller, path)?;
    (asked.kind.check_namespace)(&namespace)?;
    let objects = objects(asked, &namespace);
    let entries = objects.iter().map(|object| entry(asked, object)).collect();
    feed::respond(asked.kind.title, &asked.path(), entries, asked.params)
}

/// The object of that name that the namespace has. Of several, which only `-` has, the first.
pub(crate) fn found(
    asked: &Asked<'_>,
    namespace: &Namespace,
    name: &str,
) -> Result<ConfObject, RestError> {
    let mut all = named(asked, namespace, name);
    if all.is_empty() { Err(RestError::no_object(name)) } else { Ok(all.swap_remove(0)) }
}

fn named(asked: &Asked<'_>, namespace: &Namespace, name: &str) -> Vec<ConfObject> {
    let mut all = if namespace.owner == "-" || namespace.app == "-" {
        objects(asked, namespace)
    } else {
        let found = asked.state.apps.get(asked.conf, name, namespace).ok();
        found.into_iter().filter(|object| may_read(asked, object)).collect()
    };
    all.retain(|object| object.name == name);
    all
}

pub(super) fn show(
    asked: &Asked<'_>,
    path: &PathNamespace,
    name: &str,
) -> Result<Response, RestError> {
    let namespace = namespace(asked.state, asked.caller, path)?;
    (asked.kind.check_namespace)(&namespace)?;
    match name {
        "_new" => {
            let attributes = asked.kind.attributes(true);
            feed::respond_template(asked.kind.title, &asked.path(), attributes, asked.params)
        }
        "_reload" | "_acl" => feed::respond_empty(asked.kind.title, &asked.path(), asked.params),
        name => {
            let all = named(asked, &namespace, name);
            if all.is_empty() {
                return Err(RestError::no_object(name));
            }
            let entries = all.iter().map(|object| entry(asked, object)).collect();
            feed::respond(asked.kind.title, &asked.path(), entries, &asked.params.only_format())
        }
    }
}

pub(super) async fn create(asked: &Asked<'_>, path: &PathNamespace) -> Result<Response, RestError> {
    let mut namespace = namespace(asked.state, asked.caller, path)?;
    (asked.kind.check_namespace)(&namespace)?;
    // A new object is somewhere.
    if namespace.owner == "-" {
        namespace.owner.clone_from(&asked.caller.user);
    }
    if namespace.app == "-" {
        SEARCH.clone_into(&mut namespace.app);
    }
    let name = asked.params.required("name")?;
    for required in asked.kind.required {
        asked.params.required(required)?;
    }
    let settings = asked.settings()?;
    access::check_settings(asked, &settings)?;
    check_app(asked.state, &namespace.app)?;
    if namespace.owner == NOBODY {
        access::check_shared_writable(asked, &namespace.app)?;
    }
    access::check_conf(asked)?;
    let conf = asked.conf;
    let made = asked.state.apps.create(conf, name, &namespace, settings).await?;
    // What belongs to the system is seen from every app.
    if namespace.app == apps::SYSTEM && namespace.owner == NOBODY {
        let share = asked.state.apps.share(conf, name, &namespace, NOBODY, Sharing::Global);
        share.await?;
    }
    let made = asked.state.apps.get(conf, name, &namespace).unwrap_or(made);
    let entry = entry(asked, &made);
    feed::respond_created(asked.kind.title, &asked.path(), entry, asked.params)
}

pub(crate) fn check_app(state: &ApiState, app: &str) -> Result<(), RestError> {
    let known = app == apps::SYSTEM || state.apps.apps().iter().any(|known| known.name == app);
    if known { Ok(()) } else { Err(RestError::not_found(format!("there is no app \"{app}\""))) }
}

pub(super) async fn edit(
    asked: &Asked<'_>,
    path: &PathNamespace,
    name: &str,
) -> Result<Response, RestError> {
    let namespace = namespace(asked.state, asked.caller, path)?;
    (asked.kind.check_namespace)(&namespace)?;
    if name == "_reload" {
        return feed::respond_empty(asked.kind.title, &asked.path(), asked.params);
    }
    let object = found(asked, &namespace, name)?;
    check_writable(asked, &object)?;
    let settings = asked.settings()?;
    access::check_settings(asked, &settings)?;
    let there = home(&object);
    asked.state.apps.update(asked.conf, name, &there, &settings).await?;
    asked.respond(&asked.state.apps.get(asked.conf, name, &there)?)
}

/// The namespace that an object is in.
pub(crate) fn home(object: &ConfObject) -> Namespace {
    let owner = if object.sharing == Sharing::User { object.owner.as_str() } else { NOBODY };
    Namespace::new(owner, &object.app)
}

pub(super) async fn remove(
    asked: &Asked<'_>,
    path: &PathNamespace,
    name: &str,
) -> Result<Response, RestError> {
    let namespace = namespace(asked.state, asked.caller, path)?;
    (asked.kind.check_namespace)(&namespace)?;
    let object = found(asked, &namespace, name)?;
    check_writable(asked, &object)?;
    (asked.kind.removed)(asked.state.clone(), object.clone()).await?;
    asked.state.apps.remove(asked.conf, name, &home(&object)).await?;
    asked.state.permissions.remove(&object.place()).await?;
    feed::respond_empty(asked.kind.title, &asked.path(), &asked.params.only_format())
}

pub(super) async fn act(
    asked: &Asked<'_>,
    path: &PathNamespace,
    name: &str,
    action: &str,
) -> Result<Response, RestError> {
    let namespace = namespace(asked.state, asked.caller, path)?;
    let object = found(asked, &namespace, name)?;
    check_writable(asked, &object)?;
    let (conf, there) = (asked.conf, home(&object));
    let apps = &asked.state.apps;
    match action {
        "enable" | "disable" => {
            let off = u8::from(action == "disable").to_string();
            apps.update(conf, name, &there, &[("disabled".to_owned(), off)]).await?;
            asked.respond(&apps.get(conf, name, &there)?)
        }
        "acl" => access::change(asked, &object).await,
        "move" => {
            let app = asked.params.required("app")?;
            check_app(asked.state, app)?;
            apps.relocate(conf, name, &there, app).await?;
            let moved = Namespace::new(&there.owner, app);
            if let Some(perms) = perms_of(asked.state, &object) {
                let moved = ConfObject { app: app.to_owned(), ..object.clone() };
                asked.state.permissions.put(&moved.place(), perms).await?;
                asked.state.permissions.remove(&object.place()).await?;
            }
            asked.respond(&apps.get(conf, name, &moved)?)
        }
        "_reload" => asked.respond(&object),
        _ => Err(RestError::no_object(action)),
    }
}
