//! The index-time rules: those of files and of shared objects.
//!
//! Guarantees: a shared object of `props.conf` or `transforms.conf` has the same effect as a setting of its
//! app's files; objects of users have none, because events belong to no user. The rules are compiled again
//! only if one of these objects has changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use knowledge::Knowledge;

use crate::Sharing;
use crate::objects::{Stored, with_objects};

/// The files that have rules for events that arrive.
const CONFS: [&str; 2] = ["props", "transforms"];

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
        let all = match objects.is_empty() {
            true => Arc::clone(files),
            false => Arc::new(Knowledge::new(with_objects(files.layers(), objects.iter()))),
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
    objects
        .values()
        .filter(|stored| CONFS.contains(&stored.conf.as_str()) && stored.sharing != Sharing::User)
}
