//! Permanent removal of indexers from the cluster: whether one may be removed, and its progress.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Placement, Present, Wave};

/// A request to remove an indexer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// The start time that it had then: after a restart the request no longer applies.
    pub started: String,
    /// Whether it is removed even if its copies cannot be moved elsewhere.
    pub force: bool,
    /// The user who made the request.
    pub by: String,
}

impl Leaving {
    /// Whether nothing is left to do: it has left the list, or was restarted before that.
    #[must_use]
    pub fn is_over(&self, id: &str, present: &Present) -> bool {
        present.started.get(id) != Some(&self.started)
    }
}

/// The data that a leaving indexer still has to hand over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// Number of events that are not in object storage.
    pub events: u64,
    /// Number of buckets that are being uploaded.
    pub uploads: u64,
    /// Indexers whose journals have copies here that no other indexer has yet.
    pub copies_of: Vec<String>,
    /// Lost indexers whose events are being recovered here.
    pub recovering: Vec<String>,
    /// Whether everything is handed over, and the process stops.
    pub stops: bool,
}

impl Handover {
    /// Whether other indexers still need data here: the process runs until they do not.
    #[must_use]
    pub fn has_for_others(&self) -> bool {
        !(self.copies_of.is_empty() && self.recovering.is_empty())
    }
}

/// An indexer of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its identity.
    pub id: &'a str,
    /// Its site.
    pub site: &'a str,
    /// Whether it answers requests.
    pub is_up: bool,
}

/// Returns why an indexer should not be removed; `None` if it may be. Indexers that are already `leaving` do
/// not count.
#[must_use]
pub fn objection(
    id: &str,
    indexers: &[Member<'_>],
    leaving: &BTreeSet<String>,
    placement: &Placement,
    wave: Option<&Wave>,
) -> Option<String> {
    if wave.is_some_and(|wave| !wave.is_over()) {
        return Some("a rolling restart is in progress".to_owned());
    }
    let stays = |other: &&Member<'_>| other.id != id && other.is_up && !leaving.contains(other.id);
    let left: Vec<&str> = indexers.iter().filter(stays).map(|other| other.site).collect();
    if left.is_empty() {
        return Some("it is the last indexer: no process would accept events".to_owned());
    }
    let unmet = placement.unmet(&left)?;
    let (count, waits) = (
        left.len(),
        "acknowledgements of events with ackLevel = replicated would wait for buckets",
    );
    let indexers = if count == 1 { "indexer" } else { "indexers" };
    Some(match placement.multisite {
        true => format!("{} could not be met ({unmet}): {waits}", placement.setting()),
        false => format!(
            "{count} {indexers} would be left, and replication_factor is {}: {waits}",
            placement.factor
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SiteFactor;

    const ALL: [Member<'static>; 4] = [
        Member { id: "a", site: "site1", is_up: true },
        Member { id: "b", site: "site1", is_up: true },
        Member { id: "c", site: "site2", is_up: true },
        Member { id: "d", site: "site2", is_up: true },
    ];

    fn against(id: &str, indexers: &[Member<'_>], leaving: &[&str]) -> Option<String> {
        let leaving = leaving.iter().map(|&id| id.to_owned()).collect();
        objection(id, indexers, &leaving, &Placement::default(), None)
    }

    #[test]
    fn one_of_enough_may_go() {
        assert_eq!(against("a", &ALL, &[]), None);
        assert_eq!(against("a", &ALL, &["a"]), None, "it is the one that leaves");
    }

    #[test]
    fn as_many_stay_as_have_a_journal() {
        let too_few = |said: Option<String>| {
            said.is_some_and(|said| said.contains("replication_factor is 3"))
        };
        assert!(too_few(against("a", &ALL[..3], &[])));
        assert!(too_few(against("a", &ALL, &["b"])), "the other one goes, too");
        let mut down = ALL;
        down[3].is_up = false;
        assert!(too_few(against("a", &down, &[])), "one that is down does not count");
    }

    #[test]
    fn the_last_one_stays() {
        let said = against("a", &ALL[..1], &[]).unwrap_or_default();
        assert!(said.contains("last indexer"), "{said}");
        let said = against("a", &ALL[..2], &["b"]).unwrap_or_default();
        assert!(said.contains("last indexer"), "{said}");
    }

    #[test]
    fn nobody_goes_during_a_rolling_restart() {
        let wave = Wave::new(vec!["b".to_owned()], None);
        let with =
            |wave: &Wave| objection("a", &ALL, &BTreeSet::new(), &Placement::default(), Some(wave));
        assert!(with(&wave).is_some_and(|said| said.contains("rolling restart")));
        let over = Wave { halted: Some("cancelled".to_owned()), ..wave };
        assert_eq!(with(&over), None);
    }

    #[test]
    fn sites_keep_what_they_have_to_have() {
        let sites = SiteFactor::parse("origin:2,total:3").expect("a value");
        let placement = Placement { multisite: true, sites, ..Placement::default() };
        let said = objection("a", &ALL, &BTreeSet::new(), &placement, None).unwrap_or_default();
        assert!(said.contains("origin:2,total:3") && said.contains("site1"), "{said}");
    }

    #[test]
    fn it_is_over_when_it_has_left_or_was_started_again() {
        let leaving = Leaving { started: "1".to_owned(), force: false, by: "admin".to_owned() };
        let mut present = Present::default();
        assert!(leaving.is_over("a", &present));
        present.started.insert("a".to_owned(), "1".to_owned());
        assert!(!leaving.is_over("a", &present));
        present.started.insert("a".to_owned(), "2".to_owned());
        assert!(leaving.is_over("a", &present));
    }

    #[test]
    fn what_others_need_is_waited_for() {
        let mut handover = Handover { events: 1, ..Handover::default() };
        assert!(!handover.has_for_others());
        handover.copies_of.push("b".to_owned());
        assert!(handover.has_for_others());
        let recovers = Handover { recovering: vec!["b".to_owned()], ..Handover::default() };
        assert!(recovers.has_for_others());
    }
}
