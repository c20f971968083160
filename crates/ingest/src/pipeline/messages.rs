//! The messages between the stages of a pipeline set.

use std::sync::Arc;

use inputs::{CutEvents, Input, StreamKey};
use model::{EventBatch, EventTime, IndexName, JournalPosition, Origin, StreamId};

use super::breaker::Lines;
use super::rules::{RuleBook, StreamRules};
use crate::ack::AckShare;
use crate::hot::rows::Rows;

/// An order that passes through all stages behind the events before it.
#[derive(Debug)]
pub(crate) enum Order {
    /// Completes the unfinished events of all streams; complete when everything is in the journal.
    Flush,
    /// Rolls the open buckets of one index, or of all.
    Roll(Option<IndexName>),
    /// Replaces the rules from here on.
    Rules(RuleBook),
}

/// An origin and the rules for its events.
#[derive(Debug)]
pub(crate) struct OriginInfo {
    pub(crate) origin: Arc<Origin>,
    pub(crate) rules: Arc<StreamRules>,
}

/// A stream of bytes, as all stages know it.
#[derive(Debug)]
pub(crate) struct StreamInfo {
    pub(crate) key: StreamKey,
    pub(crate) origin: Arc<Origin>,
    pub(crate) rules: Arc<StreamRules>,
}

/// A message to parsing.
#[derive(Debug)]
pub(crate) enum Work {
    Input(Input, AckShare),
    Order(Order, AckShare),
}

/// A message from parsing to merging.
#[derive(Debug)]
pub(crate) enum Parsed {
    Lines(ParsedLines),
    /// Cut events, with the meaning of each of their origins.
    Cut(CutEvents, Vec<Arc<OriginInfo>>, AckShare),
    Order(Order, AckShare),
}

/// Lines of one stream.
#[derive(Debug)]
pub(crate) struct ParsedLines {
    pub(crate) stream: Arc<StreamInfo>,
    pub(crate) lines: Lines,
    /// Whether some bytes were invalid in their character set.
    pub(crate) repaired: bool,
    /// The character set of the stream, as far as it is known.
    pub(crate) charset: &'static str,
    /// Bytes of the stream after these lines that wait for the end of their line.
    pub(crate) unbroken: u64,
    /// Maximum number of input bytes per byte of text.
    pub(crate) input_per_text: u64,
    pub(crate) modified: Option<EventTime>,
    /// Whether these are the last lines of the stream.
    pub(crate) end: bool,
    pub(crate) share: AckShare,
}

/// A message from merging to typing, and from typing to indexing.
#[derive(Debug)]
pub(crate) enum Merged {
    Batch(EventBatch, AckShare),
    Order(Order, AckShare),
}

/// A message from typing to indexing.
#[derive(Debug)]
pub(crate) enum Typed {
    Batch { batch: EventBatch, quarantine: bool, share: AckShare },
    Order(Order, AckShare),
}

/// A message from indexing to the committer.
#[derive(Debug)]
pub(crate) enum Indexed {
    Record(Box<IndexedRecord>),
    Order(Order, AckShare),
}

/// A batch as journal bytes and as rows of a hot bucket.
#[derive(Debug)]
pub(crate) struct IndexedRecord {
    pub(crate) stream: StreamId,
    pub(crate) position: JournalPosition,
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: Rows,
    pub(crate) share: AckShare,
}
