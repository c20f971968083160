//! Reads settings of a component from `.conf` files.

use std::time::Duration;

use anyhow::{Result, bail};
use knowledge::layers::Layers;

/// One setting: its position, and how it changes the settings `S` of its component.
pub(super) struct Key<S> {
    pub(super) conf: &'static str,
    pub(super) stanza: &'static str,
    pub(super) name: &'static str,
    pub(super) set: fn(&mut S, &str) -> Option<()>,
}

pub(super) const fn key<S>(
    conf: &'static str,
    stanza: &'static str,
    name: &'static str,
    set: fn(&mut S, &str) -> Option<()>,
) -> Key<S> {
    Key { conf, stanza, name, set }
}

/// Applies the files.
///
/// # Errors
/// An invalid value, with its position.
pub(super) fn apply<S>(keys: &[Key<S>], layers: &Layers, settings: &mut S) -> Result<()> {
    let confs = ["server", "indexes"].map(|conf| (conf, layers.effective(conf)));
    for key in keys {
        let conf = confs.iter().find(|(name, _)| *name == key.conf).map(|(_, conf)| conf);
        let entry = conf.and_then(|conf| conf.get(key.stanza, key.name));
        let Some(entry) = entry.filter(|entry| !entry.value.is_empty()) else { continue };
        if (key.set)(settings, entry.value.trim()).is_none() {
            bail!("{}: {} = {}: not a value of this setting", entry.place, key.name, entry.value);
        }
    }
    Ok(())
}

pub(super) fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_secs)
}

pub(super) fn milliseconds(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

pub(super) fn megabytes(text: &str) -> Option<u64> {
    text.parse::<u64>().ok()?.checked_mul(1 << 20)
}

/// A size in Splunk's format: `500KB`, `16MB`, `1GB`, or a plain number.
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.to_ascii_uppercase();
    let units = [("KB", 10), ("MB", 20), ("GB", 30)];
    let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = unit.unwrap_or((&text, 0));
    number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}
