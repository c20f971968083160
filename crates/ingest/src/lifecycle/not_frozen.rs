//! The reasons why due buckets are not frozen, for the health of the server. The reason of an index holds
//! until a check of the index finds no bucket that cannot be frozen.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::IndexName;
use parking_lot::Mutex;
use tokio::sync::watch;

/// Maximum number of reasons in the text; the log has all of them.
const TOLD: usize = 3;

type Reasons = BTreeMap<IndexName, String>;

/// See the module.
#[derive(Debug)]
pub(super) struct NotFrozen {
    reasons: Mutex<Reasons>,
    text: watch::Sender<Option<Arc<str>>>,
}

impl NotFrozen {
    /// Creates an empty list of reasons.
    pub(super) fn new() -> Self {
        Self { reasons: Mutex::default(), text: watch::Sender::new(None) }
    }

    /// Returns the indexes with their reasons as text; `None` if there are none.
    pub(super) fn text(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.text.subscribe()
    }

    /// Records why buckets of an index are not frozen; `None` if all due buckets are.
    pub(super) fn note(&self, index: &IndexName, reason: Option<String>) {
        self.change(|reasons| match reason {
            Some(reason) => {
                reasons.insert(index.clone(), reason);
            }
            None => {
                reasons.remove(index);
            }
        });
    }

    /// Removes the reasons of all indexes except these, which must be sorted.
    pub(super) fn keep(&self, indexes: &[IndexName]) {
        self.change(|reasons| reasons.retain(|index, _| indexes.binary_search(index).is_ok()));
    }

    fn change(&self, change: impl FnOnce(&mut Reasons)) {
        let mut reasons = self.reasons.lock();
        change(&mut reasons);
        // Sent under the lock, so that the text is that of the last change.
        let text = in_words(&reasons).map(Arc::<str>::from);
        self.text.send_if_modified(|told| {
            let is_new = *told != text;
            *told = text;
            is_new
        });
    }
}

fn in_words(reasons: &Reasons) -> Option<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (index, reason) in reasons {
        by_reason.entry(reason.as_str()).or_default().push(index.as_str());
    }
    let told = by_reason.iter().take(TOLD).map(|(reason, indexes)| {
        format!("buckets of {} are not frozen: {reason}", indexes.join(", "))
    });
    let mut text = told.collect::<Vec<_>>().join("; ");
    let more: usize = by_reason.values().skip(TOLD).map(Vec::len).sum();
    if more > 0 {
        let noun = if more == 1 { "index" } else { "indexes" };
        text.push_str(&format!("; and {more} more {noun} (see the log)"));
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_as_long_as_they_hold_and_each_once() {
        let [a, b] = ["a", "b"].map(|name| IndexName::new(name).unwrap());
        let (waiting, reason) = (NotFrozen::new(), || Some("no disk".to_owned()));
        let text = waiting.text();
        let told = || text.borrow().as_deref().map(str::to_owned);
        waiting.note(&a, None);
        assert_eq!(told(), None);
        waiting.note(&b, reason());
        waiting.note(&a, reason());
        assert_eq!(told().unwrap(), "buckets of a, b are not frozen: no disk");
        waiting.note(&a, None);
        assert_eq!(told().unwrap(), "buckets of b are not frozen: no disk");
        waiting.keep(&[a]);
        assert_eq!(told(), None, "the index has no buckets any more");
    }

    #[test]
    fn many_reasons_are_counted() {
        let waiting = NotFrozen::new();
        for number in 0..5 {
            let index = IndexName::new(&format!("i{number}")).unwrap();
            waiting.note(&index, Some(format!("reason {number}")));
        }
        let told = waiting.text().borrow().clone().unwrap();
        assert!(told.contains("i2") && !told.contains("i3"), "{told}");
        assert!(told.ends_with("; and 2 more indexes (see the log)"), "{told}");
    }
}
