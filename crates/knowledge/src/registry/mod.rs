//! The settings Karst knows, one list per configuration file, each with a line of documentation.
//!
//! Guarantees: a key of a listed file is either known or reported with the nearest known name. Files
//! without a list here (saved searches, macros and others) are not checked.

mod authentication;
mod indexes;
mod inputs;
mod limits;
mod props;
mod server;
mod transforms;

use crate::conf::{Stanza, Warning};

/// A known setting. A name that ends in `*` stands for a family such as `EXTRACT-<class>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The key.
    pub name: &'static str,
    /// Whether it changes what Karst does. Settings of Splunk that do not are accepted with a warning.
    pub honoured: bool,
    /// What it does, with unit and default.
    pub doc: &'static str,
}

const fn used(name: &'static str, doc: &'static str) -> Setting {
    Setting { name, honoured: true, doc }
}

const fn unused(name: &'static str) -> Setting {
    Setting { name, honoured: false, doc: "accepted, without effect in this version" }
}

const CONFS: &[(&str, &[Setting])] = &[
    ("authentication", authentication::SETTINGS),
    ("indexes", indexes::SETTINGS),
    ("inputs", inputs::SETTINGS),
    ("limits", limits::SETTINGS),
    ("props", props::SETTINGS),
    ("server", server::SETTINGS),
    ("transforms", transforms::SETTINGS),
];

/// The known settings of a file (named without `.conf`), if it has a list.
#[must_use]
pub fn settings(conf: &str) -> Option<&'static [Setting]> {
    CONFS.iter().find(|(name, _)| *name == conf).map(|(_, settings)| *settings)
}

/// The setting a key stands for.
#[must_use]
pub fn find(conf: &str, key: &str) -> Option<&'static Setting> {
    settings(conf)?.iter().find(|setting| match setting.name.strip_suffix('*') {
        Some(family) => key.starts_with(family),
        None => setting.name == key,
    })
}

/// Warnings about keys of a stanza that are unknown or without effect.
#[must_use]
pub fn check(conf: &str, stanza: &Stanza) -> Vec<Warning> {
    let Some(known) = settings(conf) else { return Vec::new() };
    if conf == "authentication" && authentication::has_free_keys(&stanza.name) {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    for entry in &stanza.entries {
        let text = match find(conf, &entry.key) {
            Some(setting) if setting.honoured => continue,
            Some(_) => format!("{} has no effect in this version", entry.key),
            None => match nearest(known, &entry.key) {
                Some(name) => {
                    format!(
                        "unknown setting {} in [{}]; did you mean {name}?",
                        entry.key, stanza.name
                    )
                }
                None => format!("unknown setting {} in [{}]", entry.key, stanza.name),
            },
        };
        warnings.push(Warning { place: entry.place.clone(), text });
    }
    warnings
}

/// The known name with the fewest edits, if that is few for its length.
fn nearest(known: &[Setting], key: &str) -> Option<&'static str> {
    nearest_name(known.iter().map(|setting| setting.name), key)
}

/// The name with the fewest edits, if that is few for its length.
pub(crate) fn nearest_name(
    known: impl Iterator<Item = &'static str>,
    key: &str,
) -> Option<&'static str> {
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

    #[test]
    fn the_nearest_known_name_is_found() {
        assert_eq!(nearest(props::SETTINGS, "SHOULD_LINE_MERGE"), Some("SHOULD_LINEMERGE"));
        assert_eq!(nearest(props::SETTINGS, "completely_different"), None);
    }

    #[test]
    fn families_cover_their_classes() {
        assert!(find("props", "EXTRACT-anything").is_some_and(|setting| setting.honoured));
        assert!(find("props", "SEDCMD-x").is_some_and(|setting| setting.honoured));
    }

    #[test]
    fn every_setting_is_listed_once() {
        for (conf, settings) in CONFS {
            for (at, setting) in settings.iter().enumerate() {
                let again = settings[at + 1..].iter().any(|other| other.name == setting.name);
                assert!(!again, "{conf}: {}", setting.name);
            }
        }
    }
}
