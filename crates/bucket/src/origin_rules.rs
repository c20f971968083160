//! The rules of sources and hosts that produced the fields of a bucket.
//!
//! They are a note in the footer, so that versions that do not know it read the bucket as before: two
//! fingerprints of 16 hexadecimal digits each, that of all such rules and that of the rules that applied to
//! some event.

use std::collections::BTreeSet;

use crate::OriginRules;

/// The key of the note.
pub(crate) const NOTE: &str = "karst.origin_rules";

/// The rules of the origins of a bucket, collected one by one.
#[derive(Debug, Default)]
pub(crate) enum CollectedRules {
    #[default]
    Nothing,
    Some(OriginRules),
    /// The rules are unknown, or changed while the bucket was written.
    Unknown,
}

impl CollectedRules {
    pub(crate) fn add(&mut self, rules: Option<OriginRules>) {
        let known = std::mem::replace(self, Self::Unknown);
        *self = match (known, rules) {
            (Self::Nothing, Some(rules)) => Self::Some(rules),
            (Self::Some(mut known), Some(rules)) if known.all == rules.all => {
                known.applied.extend(rules.applied);
                Self::Some(known)
            }
            _ => Self::Unknown,
        };
    }

    pub(crate) fn note(&self) -> Option<String> {
        let Self::Some(rules) = self else { return None };
        Some(format!("{:016x}{:016x}", rules.all, of_set(&rules.applied)))
    }
}

/// Returns one fingerprint for several rules.
pub(crate) fn of_set(rules: &BTreeSet<u64>) -> u64 {
    rules.iter().fold(0, |all, one| all ^ one)
}

/// Decodes the two fingerprints of a note.
pub(crate) fn read(note: &str) -> Option<(u64, u64)> {
    let number = |digits: Option<&str>| u64::from_str_radix(digits?, 16).ok();
    (note.len() == 32).then_some(())?;
    Some((number(note.get(..16))?, number(note.get(16..))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(all: u64, applied: &[u64]) -> Option<OriginRules> {
        Some(OriginRules { all, applied: applied.iter().copied().collect() })
    }

    fn noted(rules: &[Option<OriginRules>]) -> Option<(u64, u64)> {
        let mut noted = CollectedRules::default();
        rules.iter().for_each(|rules| noted.add(rules.clone()));
        noted.note().and_then(|note| read(&note))
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        assert_eq!(noted(&[rules(7, &[]), rules(7, &[])]), Some((7, 0)));
        let both = Some((u64::MAX, of_set(&BTreeSet::from([3, 9]))));
        assert_eq!(noted(&[rules(u64::MAX, &[3]), rules(u64::MAX, &[3, 9])]), both);
        assert_eq!(read("1"), None);
        assert_eq!(read(&"x".repeat(32)), None);
        assert_eq!(read(&"ä".repeat(16)), None);
    }

    #[test]
    fn rules_that_change_meanwhile_are_not_noted() {
        assert_eq!(noted(&[]), None);
        assert_eq!(noted(&[rules(7, &[]), rules(8, &[])]), None);
        assert_eq!(noted(&[rules(7, &[]), None, rules(7, &[])]), None);
    }
}
