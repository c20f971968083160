//! What a part has done, as it travels: the counters of its scans, messages, times.

use plan::{Message, MessageKind};
use serde::{Deserialize, Serialize};

use crate::quarantine::Quarantined;
use crate::reads::Reads;
use crate::timeline::Timeline;

/// Counters since the part began. What planning counts, the search head has counted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) buckets_pruned_by_terms: u64,
    pub(crate) buckets_searched: u64,
    pub(crate) granules_considered: u64,
    pub(crate) granules_pruned_by_bounds: u64,
    pub(crate) granules_read: u64,
    pub(crate) granules_counted: u64,
    pub(crate) events_scanned: u64,
    pub(crate) events_matched: u64,
    pub(crate) timeline: Option<Timeline>,
    pub(crate) warnings: Vec<String>,
    /// A long wait for object storage, which is among the warnings too; an indexer of an earlier version
    /// does not tell.
    #[serde(default)]
    pub(crate) store_wait: Option<String>,
    pub(crate) left_out: Vec<Quarantined>,
    pub(crate) reads: Reads,
    /// Nanoseconds in each phase, and how often it was gone through.
    pub(crate) times: Vec<(u64, u64)>,
    /// CPU time; an indexer of an earlier version does not tell.
    #[serde(default)]
    pub(crate) cpu_nanos: u64,
    /// What operators have said; whether it is a warning.
    pub(crate) messages: Vec<(bool, String)>,
}

impl Told {
    /// What operators have said.
    pub(crate) fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        self.messages.iter().map(|(is_warning, text)| Message {
            kind: if *is_warning { MessageKind::Warning } else { MessageKind::Info },
            text: text.clone(),
        })
    }

    pub(crate) fn say(&mut self, messages: Vec<Message>) {
        let told = |message: Message| (message.kind == MessageKind::Warning, message.text);
        self.messages = messages.into_iter().map(told).collect();
    }
}
