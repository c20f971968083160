//! The rules of files: those of the configuration directory, and the same with installed apps.

use std::path::Path;
use std::sync::Arc;

use conf::{Layers, Warning};
use knowledge::Knowledge;

use super::Tolerate;
use crate::Error;
use crate::install::counts_installed;
use crate::installed::Directories;
use crate::models;
use crate::pages::Pages;

/// The rules of configuration files.
#[derive(Debug, Clone)]
pub struct FileRules {
    /// The rules.
    pub rules: Arc<Knowledge>,
    /// The settings of apps that were left out of the rules because they are invalid.
    pub ignored: Arc<[Warning]>,
}

impl FileRules {
    /// Returns the rules with those of installed apps.
    pub(super) fn with_installed(
        &self,
        installed: &Directories,
        tolerate: Tolerate,
    ) -> Result<Self, Error> {
        if installed.is_empty() {
            return Ok(self.clone());
        }
        let mut files = self.rules.layers().with_apps(installed, counts_installed)?;
        let of_installed = tolerate(&mut files);
        let ignored = self.ignored.iter().cloned().chain(of_installed).collect();
        Ok(Self { rules: Arc::new(Knowledge::new(files)), ignored })
    }
}

/// The state of the configuration files.
#[derive(Debug)]
pub(super) struct Files {
    /// The rules of the files, including those of installed apps.
    pub(super) rules: Arc<Knowledge>,
    /// The settings of apps that were left out of the rules.
    pub(super) ignored: Arc<[Warning]>,
    /// The directories of installed apps.
    pub(super) installed: Directories,
    /// The rules' layers, and the names of pages and data models.
    pub(super) layers: Layers,
    /// The texts of pages.
    pub(super) pages: Pages,
}

impl Files {
    pub(super) fn new(
        base: &FileRules,
        directory: Option<&Path>,
        installed: Directories,
        tolerate: Tolerate,
    ) -> Result<Arc<Self>, Error> {
        let FileRules { rules, ignored } = base.with_installed(&installed, tolerate)?;
        let (pages, layers) =
            Pages::read(directory, &installed, models::with_names(rules.layers().clone()));
        Ok(Arc::new(Self { rules, ignored, installed, layers, pages }))
    }
}
