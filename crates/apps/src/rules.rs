//! The index-time rules: those of files and of shared objects.
//!
//! Guarantees: a shared object of `props.conf` or `transforms.conf` has the same effect as a setting of its
//! app's files; objects of users have none, because events belong to no user. Disabled apps have no rules.
//! The rules are compiled again only if one of these objects has changed, or the state of an app.

use std::collections::BTreeMap;
use std::sync::Arc;

use knowledge::Knowledge;

use crate::Sharing;
use crate::objects::{Stored, with_objects};

/// The files that have rules for events that arrive.
const CONFS: [&str; 2] = ["props", "transforms"];
/// The file and the stanza that disable an app.
pub(crate) const STATE: (&str, &str) = ("app", "install");

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// The rules of the files.
    files: Arc<Knowledge>,
    objects: Vec<Stored>,
    pub(crate) all: Arc<Knowledge>,
}

impl Rules {
    pub(crate) fn new(files: &Arc<Knowledge>, objects: &BTreeMap<String, Stored>) -> Self {
        let objects: Vec<Stored> = of_events(objects).cloned().collect();
        let layers = with_objects(files.layers(), objects.iter()).without_disabled();
        let is_changed = !layers.disabled().is_empty()
            || objects.iter().any(|stored| CONFS.contains(&stored.conf.as_str()));
        let all = match is_changed {
            false => Arc::clone(files),
            true => Arc::new(Knowledge::new(layers)),
        };
        Self { files: Arc::clone(files), objects, all }
    }

    /// The same files with other objects.
    pub(crate) fn with(&self, objects: &BTreeMap<String, Stored>) -> Self {
        match of_events(objects).eq(&self.objects) {
            true => self.clone(),
            false => Self::new(&self.files, objects),
        }
    }
}

fn of_events(objects: &BTreeMap<String, Stored>) -> impl Iterator<Item = &Stored> {
    let is_read = |stored: &&Stored| {
        let (conf, name) = (stored.conf.as_str(), stored.name.as_str());
        CONFS.contains(&conf) || (conf, name) == STATE
    };
    objects.values().filter(is_read).filter(|stored| stored.sharing != Sharing::User)
}
