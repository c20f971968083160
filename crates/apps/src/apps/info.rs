//! What is said of an app.

use crate::Settings;

/// The properties of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppInfo {
    /// The name of its directory.
    pub name: String,
    /// Its settings in `app.conf`, as `stanza.key`.
    pub settings: Settings,
    /// Whether it was made or installed at run time and can be removed.
    pub removable: bool,
    /// Whether it was installed at run time.
    pub installed: bool,
    /// Whether it is disabled: nothing of it except its indexes has an effect.
    pub disabled: bool,
}

impl AppInfo {
    /// Returns a setting such as `ui.label`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}
