//! `serverclass.conf`: the server classes, each with its forwarders and apps.
//!
//! Guarantees: an error that could give a forwarder the wrong apps (an invalid pattern or value) rejects
//! the whole file; settings without effect cause warnings. A setting of an app is read from its stanza,
//! else from its class, else from `[global]`.

use std::collections::{BTreeMap, BTreeSet};

use conf::{Layers, Warning};

use crate::Error;
pub use crate::filter::{Facts, FilterType};
use crate::filter::{Filter, Written, entry, has_filter, number, value};
use crate::repository::is_app_name;
use crate::settings::{
    BLACKLIST, CONTINUE_MATCHING, DISABLED, EXCLUDE, MAX_CONCURRENT_DOWNLOADS,
    RELOAD_CHECK_INTERVAL, REPOSITORY, RESTART, STATE_ON_CLIENT, WHITELIST,
};

const GLOBAL: &str = "global";
const CLASS: &str = "serverClass:";
const APP: &str = ":app:";
/// The stanza for all apps of a repository.
pub(crate) const ALL: &str = "*";
/// The prefix of entries of `excludeFromUpdate`.
const APP_ROOT: &str = "$app_root$/";

/// The state of an app on a forwarder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateOnClient {
    /// It is installed.
    Enabled,
    /// It is not installed, because a disabled app has no effect.
    Disabled,
    /// It is installed, and the forwarder keeps its state.
    Noop,
}

impl StateOnClient {
    /// The value of the setting.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::Noop => "noop",
        }
    }
}

/// An app of a server class.
#[derive(Debug, Clone)]
pub struct AppRule {
    /// Its name; `*` for all apps of the repository.
    pub app: String,
    /// Whether the forwarder restarts after the app has changed.
    pub restart: bool,
    /// The state of the app on forwarders.
    pub state: StateOnClient,
    /// Top-level files and directories of the app that an update does not change.
    pub exclude: Vec<String>,
    /// An additional filter of the forwarders of the class; `None` for no restriction.
    filter: Option<Filter>,
}

/// A server class.
#[derive(Debug, Clone)]
pub struct ClassRule {
    /// Its name.
    pub name: String,
    /// The directory of its apps; `None` for the default.
    pub repository: Option<String>,
    /// Whether later classes are considered for a forwarder in this one.
    pub continue_matching: bool,
    /// Its apps.
    pub apps: Vec<AppRule>,
    filter: Filter,
    settings: AppSettings,
}

/// Settings of apps that their own stanza does not set.
#[derive(Debug, Clone)]
struct AppSettings {
    restart: bool,
    state: StateOnClient,
    exclude: Vec<String>,
}

impl ClassRule {
    /// Whether forwarders are included if no pattern matches.
    #[must_use]
    pub fn filter_type(&self) -> FilterType {
        self.filter.kind
    }

    /// The patterns of its whitelist (or, if `whitelist` is false, of its blacklist), by number.
    pub fn patterns(&self, whitelist: bool) -> impl Iterator<Item = (u32, &str)> {
        let list = if whitelist { &self.filter.whitelist } else { &self.filter.blacklist };
        list.iter().map(|(number, written)| (*number, written.text.as_str()))
    }

    /// Patterns of machine types; empty for all.
    pub fn machine_types(&self) -> impl Iterator<Item = &str> {
        self.filter.machine_types.iter().map(|written: &Written| written.text.as_str())
    }

    /// Whether a forwarder is a member of the class.
    #[must_use]
    pub fn takes(&self, facts: &Facts) -> bool {
        self.filter.takes(facts)
    }

    /// Whether its forwarders restart after an app has changed whose stanza does not say.
    #[must_use]
    pub fn restarts(&self) -> bool {
        self.settings.restart
    }

    /// The state of apps whose stanza does not set one.
    #[must_use]
    pub fn state(&self) -> StateOnClient {
        self.settings.state
    }

    /// Files that updates do not change in apps whose stanza does not name any.
    #[must_use]
    pub fn exclude(&self) -> &[String] {
        &self.settings.exclude
    }
}

/// An app assigned to a forwarder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assigned {
    pub(crate) app: String,
    pub(crate) repository: Option<String>,
    pub(crate) classes: Vec<String>,
    pub(crate) restart: bool,
    pub(crate) state: StateOnClient,
    pub(crate) exclude: Vec<String>,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct ServerClasses {
    /// The classes, in the order of the file.
    pub classes: Vec<ClassRule>,
    /// Maximum number of concurrent downloads.
    pub max_downloads: usize,
    /// Interval between checks of the files; zero for no checks.
    pub check: std::time::Duration,
    /// The directory of apps of `[global]`; `None` for the default.
    pub repository: Option<String>,
    is_disabled: bool,
}

impl ServerClasses {
    /// Reads the rules; the warnings name settings without effect.
    ///
    /// # Errors
    /// The first error, with file and line.
    pub fn read(layers: &Layers) -> Result<(Self, Vec<Warning>), Error> {
        let conf = layers.effective("serverclass");
        let mut warnings = Vec::new();
        let mut order: Vec<String> = Vec::new();
        let mut apps: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (_, stanza) in layers.stanzas("serverclass") {
            if !seen.insert(stanza.name.clone()) || ["default", GLOBAL].contains(&&*stanza.name) {
                continue;
            }
            let Some(rest) = stanza.name.strip_prefix(CLASS).filter(|rest| !rest.is_empty()) else {
                let text = format!(
                    "[{}] has no effect here: expected [global], [serverClass:<name>] or \
                     [serverClass:<name>:app:<app>]",
                    stanza.name
                );
                warnings.push(Warning { place: stanza.place.clone(), text });
                continue;
            };
            let (class, app) = match rest.split_once(APP) {
                Some((class, app)) => (class, Some(app)),
                None => (rest, None),
            };
            if !order.iter().any(|known| known == class) {
                order.push(class.to_owned());
            }
            let Some(app) = app else { continue };
            if app != ALL && !is_app_name(app) {
                let reason = format!("\"{app}\" cannot be the name of an app");
                return Err(Error::rule(&stanza.place, reason));
            }
            apps.entry(class.to_owned()).or_default().push(app.to_owned());
        }
        for stanza in &conf.stanzas {
            for entry in &stanza.entries {
                let is_listed = |key| number(entry, key).is_some();
                let is_family = |key: &conf::Key<String>| entry.key.starts_with(key.prefix());
                let families = [&WHITELIST, &BLACKLIST];
                if families.into_iter().any(is_family) && !families.into_iter().any(is_listed) {
                    let text = format!(
                        "{} has no effect: patterns are read from whitelist.<number> and \
                         blacklist.<number>",
                        entry.key
                    );
                    warnings.push(Warning { place: entry.place.clone(), text });
                }
            }
        }
        let mut classes = Vec::new();
        for class in order {
            let own = apps.remove(&class).unwrap_or_default();
            classes.push(class_rule(&conf, class, own, &mut warnings)?);
        }
        let global = [GLOBAL];
        let rules = Self {
            classes,
            max_downloads: value(&conf, &global, &MAX_CONCURRENT_DOWNLOADS)?,
            check: value(&conf, &global, &RELOAD_CHECK_INTERVAL)?,
            repository: value(&conf, &global, &REPOSITORY)?,
            is_disabled: value(&conf, &global, &DISABLED)?,
        };
        Ok((rules, warnings))
    }

    /// Whether no apps are distributed.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.is_disabled || self.classes.is_empty()
    }

    /// The classes of which a forwarder is a member.
    #[must_use]
    pub fn classes_of(&self, facts: &Facts) -> Vec<&ClassRule> {
        let mut found = Vec::new();
        for class in self.classes.iter().filter(|class| class.takes(facts)) {
            found.push(class);
            if !class.continue_matching {
                break;
            }
        }
        found
    }

    /// The apps of a forwarder by name; `in_repository` returns the names of the apps in a repository.
    pub(crate) fn assigned(
        &self,
        facts: &Facts,
        in_repository: impl Fn(Option<&str>) -> Vec<String>,
    ) -> Vec<Assigned> {
        let mut all: BTreeMap<String, Assigned> = BTreeMap::new();
        for class in self.classes_of(facts) {
            let takes = |rule: &&AppRule| rule.filter.as_ref().is_none_or(|f| f.takes(facts));
            // An app's own stanza has precedence over the one for all apps.
            let (named, rest): (Vec<_>, Vec<_>) =
                class.apps.iter().partition(|rule| rule.app != ALL);
            let mut rules: Vec<(String, &AppRule)> =
                named.iter().copied().filter(takes).map(|rule| (rule.app.clone(), rule)).collect();
            for rule in rest.into_iter().filter(takes) {
                let others = in_repository(class.repository.as_deref()).into_iter();
                let others = others.filter(|app| named.iter().all(|rule| rule.app != *app));
                rules.extend(others.map(|app| (app, rule)));
            }
            for (app, rule) in rules {
                let known = all.entry(app.clone()).or_insert_with(|| Assigned {
                    app,
                    repository: class.repository.clone(),
                    classes: Vec::new(),
                    restart: false,
                    state: rule.state,
                    exclude: Vec::new(),
                });
                known.classes.push(class.name.clone());
                known.restart |= rule.restart;
                let new = rule.exclude.iter().filter(|path| !known.exclude.contains(path));
                let new: Vec<String> = new.cloned().collect();
                known.exclude.extend(new);
                // The app is installed if any class enables it.
                if rule.state != StateOnClient::Disabled && known.state == StateOnClient::Disabled {
                    known.state = rule.state;
                }
            }
        }
        all.into_values().collect()
    }
}

fn class_rule(
    conf: &conf::Effective,
    name: String,
    apps: Vec<String>,
    warnings: &mut Vec<Warning>,
) -> Result<ClassRule, Error> {
    let stanza = format!("{CLASS}{name}");
    let chain = [stanza.as_str(), GLOBAL];
    let mut rules = Vec::new();
    for app in apps {
        let own = format!("{stanza}{APP}{app}");
        let chain = [own.as_str(), &stanza, GLOBAL];
        let filter = match has_filter(conf, &own) {
            (false, false) => None,
            (lists, kinds) => {
                let mut filter = Filter::read(conf, &chain)?;
                if !lists {
                    // The class has already included the forwarder.
                    (filter.kind, filter.whitelist, filter.blacklist) =
                        (FilterType::Blacklist, BTreeMap::new(), BTreeMap::new());
                }
                if !kinds {
                    filter.machine_types.clear();
                }
                Some(filter)
            }
        };
        let AppSettings { restart, state, exclude } = app_settings(conf, &chain, warnings)?;
        rules.push(AppRule { app, restart, state, exclude, filter });
    }
    Ok(ClassRule {
        repository: value(conf, &chain, &REPOSITORY)?,
        continue_matching: value(conf, &chain, &CONTINUE_MATCHING)?,
        apps: rules,
        filter: Filter::read(conf, &chain)?,
        settings: app_settings(conf, &chain, &mut Vec::new())?,
        name,
    })
}

fn app_settings(
    conf: &conf::Effective,
    chain: &[&str],
    warnings: &mut Vec<Warning>,
) -> Result<AppSettings, Error> {
    let state = match value(conf, chain, &STATE_ON_CLIENT)?.as_str() {
        "disabled" => StateOnClient::Disabled,
        "noop" => StateOnClient::Noop,
        _ => StateOnClient::Enabled,
    };
    let mut exclude = Vec::new();
    for path in value(conf, chain, &EXCLUDE)? {
        let inside = path.strip_prefix(APP_ROOT).map(|path| path.trim_end_matches('/'));
        match inside.filter(|path| is_app_name(path)) {
            Some(inside) => exclude.push(inside.to_owned()),
            None => {
                let text = format!(
                    "excludeFromUpdate = {path} has no effect: expected {APP_ROOT}<name>, a file or directory \
                     directly in the app"
                );
                let place = entry(conf, chain, &EXCLUDE).map(|entry| entry.place.clone());
                warnings.extend(place.map(|place| Warning { place, text }));
            }
        }
    }
    Ok(AppSettings { restart: value(conf, chain, &RESTART)?, state, exclude })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layer;

    use super::*;

    fn read(text: &str) -> Result<(ServerClasses, Vec<Warning>), Error> {
        ServerClasses::read(&Layers::builtin().with(Layer::SystemLocal, "serverclass", text))
    }

    fn assigned(text: &str, client: &str) -> Vec<Assigned> {
        let facts = Facts { client_name: client.to_owned(), ..Facts::default() };
        let all = || vec!["one".to_owned(), "two".to_owned()];
        read(text).unwrap().0.assigned(&facts, |_| all())
    }

    fn names(all: &[Assigned]) -> Vec<&str> {
        all.iter().map(|one| one.app.as_str()).collect()
    }

    #[test]
    fn a_forwarder_gets_the_apps_of_its_classes() {
        let text = "[global]\nrestartSplunkd = true\n\
                    [serverClass:web]\nwhitelist.0 = web*\n[serverClass:web:app:nginx]\n\
                    [serverClass:web:app:base]\nrestartSplunkd = false\n\
                    [serverClass:all]\nwhitelist.0 = *\nrestartSplunkd = false\n[serverClass:all:app:base]\n\
                    stateOnClient = noop\n";
        let web = assigned(text, "web-1");
        assert_eq!(names(&web), ["base", "nginx"]);
        assert_eq!(
            (&web[0].classes[..], web[0].restart),
            (&["web".into(), "all".into()][..], false)
        );
        assert_eq!((web[1].restart, web[1].state), (true, StateOnClient::Enabled));
        let db = assigned(text, "db");
        assert_eq!((names(&db), db[0].state), (vec!["base"], StateOnClient::Noop));
    }

    #[test]
    fn an_app_narrows_its_class_and_never_widens_it() {
        let text = "[serverClass:a]\nwhitelist.0 = web*\nwhitelist.1 = db*\n\
                    [serverClass:a:app:one]\nblacklist.0 = db*\nfilterType = blacklist\n\
                    [serverClass:a:app:two]\nwhitelist.0 = *\n";
        assert_eq!(names(&assigned(text, "web-1")), ["one", "two"]);
        assert_eq!(names(&assigned(text, "db-1")), ["two"]);
        assert_eq!(names(&assigned(text, "mail")), [""; 0]);
    }

    #[test]
    fn kinds_of_machines_of_an_app_count_beside_the_lists_of_its_class() {
        let text = "[serverClass:a]\nwhitelist.0 = *\n[serverClass:a:app:one]\nmachineTypesFilter = linux*\n";
        let (rules, _) = read(text).unwrap();
        let of = |utsname: &str| {
            let facts =
                Facts { hostname: "h".to_owned(), utsname: utsname.to_owned(), ..Facts::default() };
            rules.assigned(&facts, |_| Vec::new()).len()
        };
        assert_eq!((of("linux-x86_64"), of("windows-x64")), (1, 0));
    }

    #[test]
    fn a_star_is_all_apps_of_the_repository() {
        let text = "[serverClass:a]\nwhitelist.0 = *\n[serverClass:a:app:*]\nrestartSplunkd = 1\n\
                    [serverClass:a:app:two]\nstateOnClient = disabled\n";
        let all = assigned(text, "x");
        assert_eq!(names(&all), ["one", "two"]);
        assert_eq!((all[0].restart, all[0].state), (true, StateOnClient::Enabled));
        assert_eq!((all[1].restart, all[1].state), (false, StateOnClient::Disabled));
    }

    #[test]
    fn classes_are_looked_at_in_the_order_of_the_file_until_one_says_stop() {
        let text = "[serverClass:z]\nwhitelist.0 = web*\ncontinueMatching = false\n[serverClass:z:app:one]\n\
                    [serverClass:a]\nwhitelist.0 = *\n[serverClass:a:app:two]\n";
        assert_eq!(names(&assigned(text, "web")), ["one"]);
        assert_eq!(names(&assigned(text, "db")), ["two"]);
    }

    #[test]
    fn what_an_update_leaves_is_directly_in_the_app() {
        let text = "[serverClass:a]\nwhitelist.0 = *\n\
                    excludeFromUpdate = $app_root$/local, $app_root$/state/, lookups, $app_root$/../x\n\
                    [serverClass:a:app:one]\n";
        assert_eq!(assigned(text, "x")[0].exclude, ["local", "state"]);
        let warnings = read(text).unwrap().1;
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(
            warnings[0].to_string().contains("serverclass.conf:3: excludeFromUpdate = lookups")
        );
    }

    #[test]
    fn what_has_no_effect_is_warned_of() {
        let text =
            "[serverclass:typo]\nwhitelist.0 = *\n[serverClass:a]\nwhitelist.from_pathname = x\n";
        let said: Vec<String> = read(text).unwrap().1.iter().map(ToString::to_string).collect();
        assert!(
            said[0].contains("serverclass.conf:1: [serverclass:typo] has no effect"),
            "{said:?}"
        );
        assert!(said[1].contains("serverclass.conf:4: whitelist.from_pathname has no"), "{said:?}");
    }

    #[test]
    fn mistakes_refuse_the_whole_file() {
        for (text, part) in [
            ("[serverClass:a]\nwhitelist.0 = (", "is not a pattern"),
            ("[serverClass:a]\nrestartSplunkd = perhaps", "expected true or false"),
            ("[serverClass:a:app:../x]", "cannot be the name of an app"),
            ("[serverClass:a:app:x]\nstateOnClient = on", "expected enabled, disabled or noop"),
            ("[global]\nmaxConcurrentDownloads = 0", "from 1 to"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("serverclass.conf:"), "{error}");
        }
    }

    #[test]
    fn without_classes_it_is_off() {
        for (text, is_off) in [
            ("", true),
            ("[global]\nwhitelist.0 = *", true),
            ("[serverClass:a]", false),
            ("[global]\ndisabled = 1\n[serverClass:a]", true),
        ] {
            assert_eq!(read(text).unwrap().0.is_off(), is_off, "{text}");
        }
    }
}
