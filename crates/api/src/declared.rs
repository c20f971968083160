//! The settings that the components of the program declare, and those that the command line sets.

use conf::{Effect, Effective, Layers, Registry};

/// See the module.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The declarations.
    pub registry: Registry,
    /// Settings that the command line overrides.
    pub flags: Vec<FlagSetting>,
    /// The files with settings that are stored for the next start, as of this start.
    pub started: Vec<Effective>,
}

impl Declared {
    /// Notes the stored settings that are in force from this start on.
    #[must_use]
    pub fn started_with(self, layers: &Layers) -> Self {
        let Self { registry, flags, .. } = self;
        let is_stored =
            |conf: &&str| registry.settings(conf).any(|setting| setting.effect == Effect::Stored);
        let confs = registry.confs().into_iter().filter(is_stored);
        let started = confs.map(|conf| layers.effective_of_server(conf)).collect();
        Self { registry, flags, started }
    }

    /// Returns a file as of the start; `None` if it has no settings that are stored for the next start.
    #[must_use]
    pub fn started(&self, conf: &str) -> Option<&Effective> {
        self.started.iter().find(|started| started.conf == conf)
    }

    /// Returns the flag that sets a setting in place of files.
    #[must_use]
    pub fn flag(&self, conf: &str, stanza: &str, name: &str) -> Option<&FlagSetting> {
        let found =
            |flag: &&FlagSetting| (flag.conf, flag.stanza, flag.name) == (conf, stanza, name);
        self.flags.iter().find(found)
    }
}

/// A setting that the command line sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagSetting {
    /// The file that would have it, without `.conf`.
    pub conf: &'static str,
    /// Its stanza there.
    pub stanza: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// Its value, as the file would have it.
    pub value: String,
    /// The flag, and its environment variable.
    pub flag: &'static str,
}
