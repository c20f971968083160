//! The report of a part of a search in its serialized form: counters of its scans, messages, durations.

use plan::{Message, MessageKind};
use serde::{Deserialize, Serialize};

use crate::operators::OperatorReport;
use crate::quarantine::Quarantined;
use crate::reads::Reads;
use crate::timeline::Timeline;

/// Counters since the part began. The search head has already counted the results of planning.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PartReport {
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
    /// Messages about a long wait for object storage, which are among the warnings too; indexers of earlier
    /// versions do not send them.
    #[serde(default)]
    pub(crate) store_wait: Option<String>,
    pub(crate) left_out: Vec<Quarantined>,
    pub(crate) reads: Reads,
    /// Nanoseconds and number of executions of each phase.
    pub(crate) times: Vec<(u64, u64)>,
    /// CPU time; indexers of earlier versions do not send it.
    #[serde(default)]
    pub(crate) cpu_nanos: u64,
    /// Messages of operators; true for a warning.
    pub(crate) messages: Vec<(bool, String)>,
    /// The plan of the part, in its last report; indexers of earlier versions do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<OperatorReport>,
}

impl PartReport {
    /// Returns the messages of operators.
    pub(crate) fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        self.messages.iter().map(|(is_warning, text)| Message {
            kind: if *is_warning { MessageKind::Warning } else { MessageKind::Info },
            text: text.clone(),
        })
    }

    pub(crate) fn say(&mut self, messages: Vec<Message>) {
        let pair = |message: Message| (message.kind == MessageKind::Warning, message.text);
        self.messages = messages.into_iter().map(pair).collect();
    }
}
