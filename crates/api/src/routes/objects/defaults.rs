//! Stanzas of the program's own settings: the defaults that it declares, where no file sets them.
//!
//! Clients read `configs/conf-limits/search` and `properties/limits/search/ttl` of servers whose files are
//! empty. Lists have the stanzas of files alone.

use apps::{ConfObject, NOBODY, SYSTEM, Settings, Sharing};
use conf::Effect;

use super::access::may_read;
use super::{Asked, home};

/// The stanzas of a name that were found, with the declared defaults of settings that they lack. If none was
/// found, one of the system that has the defaults alone, which is created when it is changed.
pub(super) fn completed(
    asked: &Asked<'_>,
    name: &str,
    mut found: Vec<ConfObject>,
) -> Vec<ConfObject> {
    let defaults = if asked.kind.is_raw { defaults(asked, name) } else { Settings::new() };
    if defaults.is_empty() {
        return found;
    }
    if found.is_empty() {
        let object = ConfObject {
            conf: asked.conf.to_owned(),
            name: name.to_owned(),
            app: SYSTEM.to_owned(),
            owner: NOBODY.to_owned(),
            sharing: Sharing::Global,
            settings: defaults,
            removable: false,
        };
        return Some(object).filter(|object| may_read(asked, object)).into_iter().collect();
    }
    for object in &mut found {
        for (key, value) in &defaults {
            if object.get(key).is_none() {
                object.settings.push((key.clone(), value.clone()));
            }
        }
    }
    found
}

/// Whether a stanza is one of [`completed`] that no file has.
pub(super) fn has_no_file(asked: &Asked<'_>, object: &ConfObject) -> bool {
    let is_of_system = object.app == SYSTEM && object.owner == NOBODY;
    let find = || asked.state.apps.get(asked.conf, &object.name, &home(object));
    asked.kind.is_raw && is_of_system && find().is_err()
}

/// The declared defaults of a stanza that has a fixed name.
fn defaults(asked: &Asked<'_>, stanza: &str) -> Settings {
    let settings = asked.state.declared.registry.settings(asked.conf);
    let own = settings.filter(|setting| setting.stanza == stanza && setting.effect != Effect::None);
    let with_default = own.filter(|setting| !setting.default.is_empty());
    with_default.map(|one| (one.name.to_owned(), one.default.to_owned())).collect()
}
