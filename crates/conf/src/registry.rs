//! All declared settings of a program: warnings about the settings in files, and look-up by name.
//!
//! Guarantees: a key of a file with declared settings is either declared or reported with the nearest
//! declared name. Files without any (saved searches, macros and others) are not checked.

use crate::error::Invalid;
use crate::file::{Stanza, Warning};
use crate::layers::Layers;
use crate::setting::{Effect, Setting};
use crate::unread;

/// The beginning of warnings about ignored settings.
pub const LEFT_OUT: &str = "the setting is ignored";

/// The stanza that applies to all others of a file.
const DEFAULT: &str = "default";

/// The declared settings of a program.
#[derive(Debug, Clone)]
pub struct Registry {
    settings: Vec<&'static Setting>,
}

impl Registry {
    /// Joins the declarations of all crates; each crate has one slice per module.
    #[must_use]
    pub fn new(crates: &[&[&'static [Setting]]]) -> Self {
        Self {
            settings: crates.iter().flat_map(|slices| slices.iter().copied().flatten()).collect(),
        }
    }

    /// Keeps only the settings of some files.
    #[must_use]
    pub fn only(mut self, confs: &[&str]) -> Self {
        self.settings.retain(|setting| confs.contains(&setting.conf));
        self
    }

    /// The settings of a file, named without `.conf`, in the order of their declarations.
    pub fn settings<'r>(&'r self, conf: &'r str) -> impl Iterator<Item = &'static Setting> + 'r {
        self.settings.iter().copied().filter(move |setting| setting.conf == conf)
    }

    /// The files that have declared settings, without `.conf`, in the order of their names.
    #[must_use]
    pub fn confs(&self) -> Vec<&'static str> {
        let mut confs: Vec<_> = self.settings.iter().map(|setting| setting.conf).collect();
        confs.sort_unstable();
        confs.dedup();
        confs
    }

    /// The setting of a key in a stanza: the one declared for the stanza, or else any with that name.
    #[must_use]
    pub fn find(&self, conf: &str, stanza: &str, key: &str) -> Option<&'static Setting> {
        let named = || self.settings(conf).filter(|setting| setting.has_name(stanza, key));
        let used = |setting: &&Setting| setting.effect != Effect::None;
        let own = named().find(|setting| used(setting) && setting.is_in(stanza));
        own.or_else(|| named().find(used)).or_else(|| named().next())
    }

    /// Warnings about keys of a stanza that are unknown or without effect.
    #[must_use]
    pub fn check(&self, conf: &str, stanza: &Stanza) -> Vec<Warning> {
        self.remarks(conf, stanza, &format!(" in [{}]", stanza.name))
    }

    /// The same warnings without the name of the stanza, so that those about one setting in many stanzas
    /// are equal.
    #[must_use]
    pub fn check_unnamed(&self, conf: &str, stanza: &Stanza) -> Vec<Warning> {
        self.remarks(conf, stanza, "")
    }

    fn remarks(&self, conf: &str, stanza: &Stanza, place: &str) -> Vec<Warning> {
        if self.settings(conf).next().is_none() {
            return Vec::new();
        }
        let mut warnings = Vec::new();
        for entry in &stanza.entries {
            let key = &entry.key;
            let text = match self.find(conf, &stanza.name, key) {
                Some(setting) if setting.effect == Effect::None => {
                    format!("setting {key} has no effect in this version")
                }
                // A user would believe that the value applies to this index only, but it is not read here.
                Some(setting) if setting.stanza == DEFAULT && stanza.name != DEFAULT => {
                    format!("setting {key} has no effect{place}: it is read in [default] only")
                }
                Some(_) => continue,
                None => {
                    let nearest = nearest_name(self.settings(conf).map(|one| one.name), key);
                    let hint = nearest.map(|name| format!("; did you mean {name}?"));
                    let hint = hint.unwrap_or_default();
                    format!("unknown setting {key}{place}{hint}")
                }
            };
            warnings.push(Warning { place: entry.place.clone(), text });
        }
        warnings
    }

    /// The values of a stanza that do not match the type of their setting.
    #[must_use]
    pub fn invalid(&self, conf: &str, stanza: &Stanza) -> Vec<Invalid> {
        let mut invalid = Vec::new();
        for entry in &stanza.entries {
            let value = entry.value.trim();
            let setting = self.find(conf, &stanza.name, &entry.key);
            let Some(setting) = setting.filter(|setting| setting.is_in(&stanza.name)) else {
                continue;
            };
            if value.is_empty() || setting.kind.read(value).is_some() {
                continue;
            }
            invalid.push(Invalid {
                place: Some(entry.place.clone()),
                conf: conf.to_owned(),
                stanza: stanza.name.clone(),
                key: entry.key.clone(),
                value: entry.value.clone(),
                reason: format!("expected {}", setting.kind.expected()),
            });
        }
        invalid
    }

    /// Removes settings of apps whose values do not match their type, so that the value of the next layer
    /// or the default takes effect, and returns warnings. A comment after a value that cannot contain text
    /// (a number, a size, a Boolean) is removed, and the value is kept.
    #[must_use]
    pub fn tolerate_apps(&self, layers: &mut Layers) -> Vec<Warning> {
        let mut warnings = Vec::new();
        layers.change_apps(|conf, stanza| {
            for invalid in self.invalid(conf, stanza) {
                let Some(place) = &invalid.place else { continue };
                let entry = stanza.entries.iter_mut().find(|entry| entry.place == *place);
                let Some(entry) = entry else { continue };
                let setting = self.find(conf, &stanza.name, &entry.key);
                let value = entry.value.split_once('#').map(|(value, _)| value.trim_end().to_owned());
                let value = value.filter(|value| !value.is_empty());
                let value = value
                    .filter(|value| setting.is_some_and(|one| one.kind.read(value).is_some()));
                let text = match value {
                    Some(value) => {
                        let text = format!(
                            "{} = {value}: the comment after the value is ignored; write comments on \
                             separate lines",
                            entry.key
                        );
                        entry.value = value;
                        text
                    }
                    None => {
                        stanza.entries.retain(|entry| entry.place != *place);
                        format!("{LEFT_OUT}: {}", invalid.without_place())
                    }
                };
                warnings.push(Warning { place: place.clone(), text });
            }
        });
        warnings
    }

    /// Warnings about unknown settings, settings without effect, and files that are not read.
    #[must_use]
    pub fn warnings(&self, layers: &Layers) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for conf in layers.confs() {
            for (_, stanza) in layers.stanzas(conf) {
                warnings.extend(self.check(conf, stanza));
            }
        }
        let is_read = |conf: &str| self.settings(conf).next().is_some();
        warnings.extend(unread::warnings(layers, is_read));
        warnings.extend(layers.outside_warnings());
        warnings
    }
}

/// The name with the smallest edit distance, if that is small compared to its length.
pub fn nearest_name(known: impl Iterator<Item = &'static str>, key: &str) -> Option<&'static str> {
    let lower = key.to_ascii_lowercase();
    let mut best: Option<(usize, &'static str)> = None;
    for name in known {
        let distance = edits(&name.to_ascii_lowercase(), &lower);
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.filter(|(distance, _)| *distance <= 2.max(key.len() / 3)).map(|(_, name)| name)
}

/// Levenshtein distance in bytes, over at most the first 64 of each.
fn edits(a: &str, b: &str) -> usize {
    let (a, b) = (&a.as_bytes()[..a.len().min(64)], &b.as_bytes()[..b.len().min(64)]);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::ConfFile;
    use crate::layers::Layer;
    use crate::setting::Type;

    const EXAMPLE: &[Setting] = &[
        Setting {
            stanza: "search",
            kind: Type::number(1),
            effect: Effect::Restart,
            ..Setting::without_effect("x", "max_count")
        },
        Setting { effect: Effect::Live, ..Setting::without_effect("x", "EXTRACT-*") },
        Setting {
            stanza: "roleMap_<strategy>",
            effect: Effect::Restart,
            ..Setting::without_effect("x", "*")
        },
        Setting::without_effect("x", "homePath"),
    ];

    fn said(text: &str) -> Vec<String> {
        let registry = Registry::new(&[&[EXAMPLE]]);
        let file = ConfFile::parse("x.conf", text);
        let mut said = Vec::new();
        for stanza in &file.stanzas {
            said.extend(registry.check("x", stanza).iter().map(ToString::to_string));
            said.extend(registry.invalid("x", stanza).iter().map(ToString::to_string));
        }
        said
    }

    #[test]
    fn unknown_settings_and_those_without_effect_are_reported() {
        assert_eq!(
            said("[search]\nmax_cout = 1\nhomePath = /x\nzzzzzzzzz = 1\nmax_count = 3"),
            [
                "x.conf:2: unknown setting max_cout in [search]; did you mean max_count?",
                "x.conf:3: setting homePath has no effect in this version",
                "x.conf:4: unknown setting zzzzzzzzz in [search]",
            ]
        );
    }

    #[test]
    fn settings_of_the_whole_file_are_reported_elsewhere() {
        const OF_FILE: &[Setting] = &[Setting {
            stanza: DEFAULT,
            effect: Effect::Restart,
            ..Setting::without_effect("x", "rotatePeriodInSecs")
        }];
        let registry = Registry::new(&[&[OF_FILE]]);
        let text = "rotatePeriodInSecs = 1\n[small]\nrotatePeriodInSecs = 2\n";
        let file = ConfFile::parse("x.conf", text);
        let said = file.stanzas.iter().flat_map(|stanza| registry.check("x", stanza));
        let said: Vec<String> = said.map(|warning| warning.to_string()).collect();
        let expected = "x.conf:3: setting rotatePeriodInSecs has no effect in [small]: it is read in [default] only";
        assert_eq!(said, [expected]);
    }

    #[test]
    fn families_cover_their_classes_and_free_keys_their_stanza() {
        assert_eq!(said("[a]\nEXTRACT-anything = x\n[roleMap_SAML]\npower = a"), [""; 0]);
        assert_eq!(said("[a]\npower = x"), ["x.conf:2: unknown setting power in [a]"]);
    }

    #[test]
    fn invalid_values_of_apps_are_left_out_and_those_of_the_system_are_not() {
        let registry = Registry::new(&[&[EXAMPLE]]);
        let mut layers = Layers::default()
            .with(Layer::AppLocal("a".to_owned()), "x", "[search]\nmax_count = many")
            .with(Layer::AppDefault("a".to_owned()), "x", "[search]\nmax_count = 7 # enough");
        let said: Vec<_> =
            registry.tolerate_apps(&mut layers).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "apps/a/local/x.conf:2: the setting is ignored: [search] max_count = many: expected a whole \
                 number, 1 or more",
                "apps/a/default/x.conf:2: max_count = 7: the comment after the value is ignored; write \
                 comments on separate lines",
            ]
        );
        let value = |layers: &Layers| {
            layers.effective("x").get("search", "max_count").map(|e| e.value.clone())
        };
        assert_eq!(value(&layers).as_deref(), Some("7"));
        let mut system =
            Layers::default().with(Layer::SystemLocal, "x", "[search]\nmax_count = 7 # x");
        assert_eq!(registry.tolerate_apps(&mut system), []);
        assert_eq!(value(&system).as_deref(), Some("7 # x"));
    }

    #[test]
    fn invalid_values_are_reported() {
        assert_eq!(
            said("[search]\nmax_count = 0\n[default]\nmax_count = many\n[kv]\nmax_count = x"),
            [
                "x.conf:2: [search] max_count = 0: expected a whole number, 1 or more",
                "x.conf:4: [default] max_count = many: expected a whole number, 1 or more",
            ]
        );
    }
}
