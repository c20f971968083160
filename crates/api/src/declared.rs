//! The settings that the components of the program declare, and those that the command line sets.

use conf::Registry;

/// See the module.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The declarations.
    pub registry: Registry,
    /// Settings that the command line overrides.
    pub flags: Vec<FlagSetting>,
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
