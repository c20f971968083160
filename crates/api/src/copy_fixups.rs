//! Since when the journals of indexers have had fewer copies than the replication factor, as far as this
//! process has seen: the catalog has no times of copies.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Owners of journals with too few copies, and since when that is known, in epoch seconds.
#[derive(Debug, Default)]
pub struct CopyFixups(Mutex<BTreeMap<String, i64>>);

impl CopyFixups {
    /// Replaces the known owners by these. Those that were not known are known since `now`, in epoch seconds.
    pub(crate) fn look<'o>(&self, now: i64, owners: impl Iterator<Item = &'o String>) {
        let mut known = self.0.lock();
        let since = |owner: &String| known.get(owner).copied().unwrap_or(now);
        *known = owners.map(|owner| (owner.clone(), since(owner))).collect();
    }

    /// Returns since when an owner is known, in epoch seconds; `None` if the last check has not seen it.
    pub(crate) fn since(&self, owner: &str) -> Option<i64> {
        self.0.lock().get(owner).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_the_time_of_the_first_look_until_one_does_not_see_it() {
        let (fixups, owner) = (CopyFixups::default(), ["a".to_owned()]);
        let look = |now, owners: &[String]| {
            fixups.look(now, owners.iter());
            fixups.since("a")
        };
        assert_eq!((look(1, &owner), look(2, &owner)), (Some(1), Some(1)));
        assert_eq!((look(3, &[]), look(4, &owner)), (None, Some(4)));
    }
}
