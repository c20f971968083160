//! An object as clients see it.

use std::collections::HashMap;

use apps::{ConfObject, Namespace, SYSTEM, Settings, Sharing};
use serde_json::{Map, Value, json};

use super::access::{may_write, perms_of};
use super::{Asked, Kind, home};
use crate::ApiState;
use crate::atom::{Acl, Entry, segment};
use crate::params::is_true;

/// The settings of `[default]` of a file, by namespace: looked up once for all objects of a namespace.
type Defaults = HashMap<Namespace, Settings>;

/// Returns the entry of an object: the defaults of its kind, those of its file, its own settings.
pub(super) fn entry(asked: &Asked<'_>, object: &ConfObject) -> Entry {
    entry_above(asked, object, &mut Defaults::new())
}

/// The entries of several objects.
pub(super) fn entries(asked: &Asked<'_>, objects: &[ConfObject]) -> Vec<Entry> {
    let mut defaults = Defaults::new();
    objects.iter().map(|object| entry_above(asked, object, &mut defaults)).collect()
}

/// The owner and the permissions of an object, and whether the caller may change it.
pub(crate) fn acl_of(asked: &Asked<'_>, object: &ConfObject) -> Acl {
    Acl { writable: may_write(asked, object), ..acl(asked.state, object) }
}

fn entry_above(asked: &Asked<'_>, object: &ConfObject, defaults: &mut Defaults) -> Entry {
    let Asked { kind, state, .. } = *asked;
    let mut content = Map::new();
    for (key, value) in kind.defaults {
        content.insert((*key).to_owned(), shown(kind, key, value));
    }
    let there = home(object);
    let writable = may_write(asked, object);
    if !kind.is_raw && !kind.is_page {
        let found = || state.apps.get(asked.conf, "default", &there).ok();
        let settings = || found().map(|object| object.settings).unwrap_or_default();
        for (key, value) in defaults.entry(there.clone()).or_insert_with(settings).iter() {
            let value = apps::redaction::shown(asked.conf, key, value, writable);
            content.insert(key.clone(), shown(kind, key, value));
        }
    }
    for (key, value) in &object.settings {
        let value = apps::redaction::shown(asked.conf, key, value, writable);
        content.insert(key.clone(), shown(kind, key, value));
    }
    let disabled = object.get("disabled").is_some_and(is_true);
    content.insert("disabled".to_owned(), json!(disabled));
    content.insert("eai:appName".to_owned(), json!(object.app));
    content.insert("eai:userName".to_owned(), json!(object.owner));
    (kind.add)(state, object, &mut content);
    let path = format!("/servicesNS/{}/{}/{}", segment(&there.owner), object.app, asked.below());
    let entry =
        Entry::new(&path, &object.name, content).with_acl(Acl { writable, ..acl(state, object) });
    if kind.is_read_only {
        return entry;
    }
    entry.with_attributes(kind.attributes(false)).editable().linking(kind.links)
}

fn shown(kind: &Kind, key: &str, value: &str) -> Value {
    if kind.is_flag(key) { json!(is_true(value)) } else { json!(value) }
}

fn acl(state: &ApiState, object: &ConfObject) -> Acl {
    let sharing = match object.sharing {
        _ if object.app == SYSTEM => "system",
        Sharing::User => "user",
        Sharing::App => "app",
        Sharing::Global => "global",
    };
    let perms = perms_of(state, object).map(|perms| (perms.read, perms.write));
    Acl {
        owner: object.owner.clone(),
        app: object.app.clone(),
        sharing: sharing.to_owned(),
        perms,
        removable: object.removable,
        writable: true,
    }
}
