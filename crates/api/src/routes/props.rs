//! `/services/data/props/{extractions,fieldaliases,calcfields,lookups}`: single settings of `props.conf`.
//!
//! An entry is one setting of one stanza, named `stanza : ATTRIBUTE-class`. A setting that is removed
//! stays in its stanza without a value, which switches off what a lower layer says; a stanza that holds
//! nothing more is removed with it.

use apps::{ConfObject, Error as AppsError, NOBODY, Namespace, SEARCH, Sharing};
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::json;

use super::feed;
use super::objects::access::{check_shared_writable, check_writable, may_read};
use super::objects::{Asked, CONFS, check_app, entry as stanza_entry, home, namespace, objects};
use crate::ApiState;
use crate::atom::{Attributes, Entry, segment};
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::params::{Params, is_true};
use crate::session::Caller;

const CONF: &str = "props";
const PATH: &str = "/services/data/props";

/// Settings of one sort.
struct Kind {
    path: &'static str,
    /// How the settings begin; a new one begins like the first unless `type` says otherwise.
    prefixes: &'static [&'static str],
    optional: &'static [&'static str],
    wildcard: &'static [&'static str],
}

const KINDS: [Kind; 4] = [
    Kind {
        path: "extractions",
        prefixes: &["EXTRACT-", "REPORT-"],
        optional: &["type", "value"],
        wildcard: &[],
    },
    Kind {
        path: "fieldaliases",
        prefixes: &["FIELDALIAS-"],
        optional: &["overwrite", "value"],
        wildcard: &["alias\\..*"],
    },
    Kind { path: "calcfields", prefixes: &["EVAL-"], optional: &["value"], wildcard: &[] },
    Kind {
        path: "lookups",
        prefixes: &["LOOKUP-"],
        optional: &["overwrite", "transform", "value"],
        wildcard: &["lookup\\.field\\.input\\..*", "lookup\\.field\\.output\\..*"],
    },
];

fn kind(path: &str) -> Result<&'static Kind, RestError> {
    KINDS.iter().find(|kind| kind.path == path).ok_or_else(|| RestError::no_object(path))
}

fn asked<'a>(state: &'a ApiState, caller: &'a Caller, params: &'a Params) -> Asked<'a> {
    Asked { conf: CONF, ..Asked::new(&CONFS, state, caller, params) }
}

impl Kind {
    fn title(&self) -> String {
        format!("props-{}", self.path)
    }

    fn full_path(&self) -> String {
        format!("{PATH}/{}", self.path)
    }

    fn has(&self, key: &str) -> bool {
        self.prefixes.iter().any(|prefix| key.starts_with(prefix))
    }

    fn entry(&self, asked: &Asked<'_>, object: &ConfObject, key: &str, value: &str) -> Entry {
        let kind = if key.starts_with("REPORT-") { "Uses transform" } else { "Inline" };
        let mut content = feed::content(json!({
            "attribute": key, "stanza": object.name, "type": kind, "value": value,
            "eai:appName": object.app, "eai:userName": object.owner,
        }));
        for (from, to) in pairs(self, value) {
            content.insert(format!("alias.{from}"), json!(to));
        }
        let there = home(object);
        let (owner, app) = (segment(&there.owner), segment(&there.app));
        let path = format!("/servicesNS/{owner}/{app}/data/props/{}", self.path);
        let attributes = Attributes::new(&[], self.optional, self.wildcard);
        let acl = stanza_entry(asked, object).acl;
        let entry = Entry::new(&path, &format!("{} : {key}", object.name), content);
        entry.with_acl(acl).with_attributes(attributes).editable()
    }

    /// The value that a request gives: as it stands in the file, or by its parts.
    fn value(&self, params: &Params) -> Result<String, RestError> {
        if let Some(value) = params.text("value") {
            return Ok(value.to_owned());
        }
        let word = |overwriting: &'static str, other: &'static str| match params.get("overwrite") {
            Some(overwrite) if !is_true(overwrite) => other,
            _ => overwriting,
        };
        let fields = |prefix: &'static str, word: &str| -> Vec<String> {
            let named = params.iter().filter_map(|(key, to)| Some((key.strip_prefix(prefix)?, to)));
            let same = |from: &str, to: &str| to.is_empty() || from == to;
            let one = |(from, to): (&str, &str)| match same(from, to) {
                true => from.to_owned(),
                false => format!("{from} {word} {to}"),
            };
            named.map(one).collect()
        };
        let text = match self.path {
            "fieldaliases" => fields("alias.", word("AS", "ASNEW")).join(" "),
            "lookups" => {
                let transform = params.required("transform")?;
                let inputs = fields("lookup.field.input.", "AS").join(" ");
                let outputs = fields("lookup.field.output.", "AS").join(" ");
                match outputs.is_empty() {
                    true => format!("{transform} {inputs}"),
                    false => {
                        let output = word("OUTPUT", "OUTPUTNEW");
                        format!("{transform} {inputs} {output} {outputs}")
                    }
                }
            }
            _ => String::new(),
        };
        if text.trim().is_empty() {
            Err(RestError::invalid("a value is missing"))
        } else {
            Ok(text)
        }
    }

    /// The key of a new setting.
    fn key(&self, class: &str, params: &Params) -> Result<String, RestError> {
        let wanted = params.text("type").map(|kind| format!("{}-", kind.to_ascii_uppercase()));
        let prefix = match &wanted {
            None => self.prefixes.first(),
            Some(wanted) => self.prefixes.iter().find(|prefix| *prefix == wanted),
        };
        let prefix = prefix.ok_or_else(|| {
            let kinds: Vec<&str> = self.prefixes.iter().map(|p| p.trim_end_matches('-')).collect();
            RestError::invalid(format!("type is one of {}", kinds.join(", ")))
        })?;
        Ok(format!("{prefix}{class}"))
    }
}

/// The fields of an alias with their other names; none of other settings.
fn pairs(kind: &Kind, value: &str) -> Vec<(String, String)> {
    if kind.path != "fieldaliases" {
        return Vec::new();
    }
    let words: Vec<&str> = value.split_whitespace().collect();
    let named = words.windows(3).filter(|three| {
        three[1].eq_ignore_ascii_case("as") || three[1].eq_ignore_ascii_case("asnew")
    });
    named.map(|three| (three[0].to_owned(), three[2].to_owned())).collect()
}

/// A setting that is there.
struct Found {
    object: ConfObject,
    key: String,
    value: String,
}

impl Found {
    /// The setting as an object of its own, which has permissions in the metadata of its app.
    fn setting(&self) -> ConfObject {
        ConfObject { name: format!("{}/{}", self.object.name, self.key), ..self.object.clone() }
    }

    fn check_writable(&self, asked: &Asked<'_>) -> Result<(), RestError> {
        check_writable(asked, &self.object)?;
        check_writable(asked, &self.setting())
    }
}

fn all(kind: &Kind, asked: &Asked<'_>, namespace: &Namespace) -> Vec<Found> {
    let mut found = Vec::new();
    for object in objects(asked, namespace) {
        let own = object.settings.iter().filter(|(key, value)| kind.has(key) && !value.is_empty());
        let own: Vec<(String, String)> = own.cloned().collect();
        for (key, value) in own {
            let one = Found { object: object.clone(), key, value };
            if may_read(asked, &one.setting()) {
                found.push(one);
            }
        }
    }
    found
}

fn named(
    kind: &Kind,
    asked: &Asked<'_>,
    namespace: &Namespace,
    name: &str,
) -> Result<Found, RestError> {
    let is_named = |found: &Found| format!("{} : {}", found.object.name, found.key) == name;
    let found = all(kind, asked, namespace).into_iter().find(is_named);
    found.ok_or_else(|| RestError::no_object(name))
}

pub(crate) async fn kinds(params: Params) -> Result<Response, RestError> {
    let entry = |kind: &Kind| Entry::new(PATH, kind.path, feed::content(json!({})));
    feed::respond("props", PATH, KINDS.iter().map(entry).collect(), &params)
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(sort): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let kind = kind(&sort)?;
    let asked = asked(&state, &caller, &params);
    let found = all(kind, &asked, &namespace(&state, &caller, &path)?);
    let entries = found.iter().map(|one| kind.entry(&asked, &one.object, &one.key, &one.value));
    feed::respond(&kind.title(), &kind.full_path(), entries.collect(), &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((sort, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    let kind = kind(&sort)?;
    if name == "_new" {
        let attributes = Attributes::new(&["name", "stanza"], kind.optional, kind.wildcard);
        return feed::respond_template(&kind.title(), &kind.full_path(), attributes, &params);
    }
    let asked = asked(&state, &caller, &params);
    let found = named(kind, &asked, &namespace(&state, &caller, &path)?, &name)?;
    let entry = kind.entry(&asked, &found.object, &found.key, &found.value);
    feed::respond_one(&kind.title(), &kind.full_path(), entry, &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(sort): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let kind = kind(&sort)?;
    let mut there = namespace(&state, &caller, &path)?;
    if there.owner == "-" {
        there.owner.clone_from(&caller.user);
    }
    if there.app == "-" {
        SEARCH.clone_into(&mut there.app);
    }
    let asked = asked(&state, &caller, &params);
    check_app(&state, &there.app)?;
    if there.owner == NOBODY {
        check_shared_writable(&asked, &there.app)?;
    }
    let stanza = params.required("stanza")?;
    let key = kind.key(params.required("name")?, &params)?;
    let value = kind.value(&params)?;
    let name = format!("{stanza} : {key}");
    if named(kind, &asked, &there, &name).is_ok() {
        let text = format!("there is a setting \"{name}\" already");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let settings = vec![(key.clone(), value)];
    let object = match state.apps.create(CONF, stanza, &there, settings.clone()).await {
        Err(AppsError::Exists(_)) => {
            check_writable(&asked, &state.apps.get(CONF, stanza, &there)?)?;
            state.apps.update(CONF, stanza, &there, &settings).await?
        }
        made => made?,
    };
    let entry = kind.entry(&asked, &object, &key, object.get(&key).unwrap_or_default());
    feed::respond_created(&kind.title(), &kind.full_path(), entry, &params)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((sort, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    let kind = kind(&sort)?;
    let asked = asked(&state, &caller, &params);
    let found = named(kind, &asked, &namespace(&state, &caller, &path)?, &name)?;
    found.check_writable(&asked)?;
    let settings = [(found.key.clone(), kind.value(&params)?)];
    let there = home(&found.object);
    let object = state.apps.update(CONF, &found.object.name, &there, &settings).await?;
    let entry = kind.entry(&asked, &object, &found.key, &settings[0].1);
    feed::respond_one(&kind.title(), &kind.full_path(), entry, &params)
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((sort, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    let kind = kind(&sort)?;
    let asked = asked(&state, &caller, &params);
    let found = named(kind, &asked, &namespace(&state, &caller, &path)?, &name)?;
    found.check_writable(&asked)?;
    let (stanza, there) = (&found.object.name, home(&found.object));
    let mut others = found.object.settings.iter().filter(|(key, _)| *key != found.key);
    let alone = others.all(|(_, value)| value.is_empty());
    if alone && found.object.removable {
        state.apps.remove(CONF, stanza, &there).await?;
    }
    // What stands in files of the same place cannot be removed; a private object may have hidden others,
    // which stay.
    let private = |object: &ConfObject| object.sharing == Sharing::User;
    let left = state
        .apps
        .get(CONF, stanza, &there)
        .ok()
        .filter(|left| left.app == found.object.app && private(left) == private(&found.object));
    if left.is_some_and(|left| left.get(&found.key).is_some_and(|value| !value.is_empty())) {
        let settings = [(found.key.clone(), String::new())];
        state.apps.update(CONF, stanza, &there, &settings).await?;
    }
    feed::respond_empty(&kind.title(), &kind.full_path(), &params.only_format())
}
