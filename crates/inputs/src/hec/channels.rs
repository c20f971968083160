//! Indexer acknowledgement: reports which requests of a channel are safe, as `useACK` specifies.
//!
//! A request gets an ID when it is accepted; the ID is reported as `true` once, after all events of the
//! request are safe, and then forgotten. Unknown IDs are `false`: the sender sends again. The IDs of a
//! channel begin at a number derived from the time, so that an ID from before a restart, or from before an
//! idle channel was forgotten, is never mistaken for that of another request, nor is an ID that another
//! process gave. They stay below 2^53, which the number type of every client can hold.
//!
//! Not here: HTTP, tokens, what makes an input safe.

use std::collections::BTreeMap;
use std::time::Duration;

use conf::Type;
use hashbrown::HashMap;
use metrics::{counter, gauge};
use model::EventTime;
use parking_lot::Mutex;
use runtime::metrics as names;
use uuid::Uuid;

use crate::Durability;

conf::settings! {
    /// Limits of acknowledgement, with Splunk's names and values.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AckSettings {
        "limits"["http_input"] {
            /// Maximum number of channels.
            "max_number_of_ack_channel" => pub max_channels: usize = "1000000", Type::number(1);
            /// Maximum number of requests in all channels whose acknowledgement has not been queried.
            "max_number_of_acked_requests_pending_query" => pub max_pending: usize = "10000000", Type::number(1);
            /// The same limit for one channel.
            "max_number_of_acked_requests_pending_query_per_ack_channel" =>
                pub max_pending_per_channel: usize = "1000000", Type::number(1);
        }
        "inputs"["http"] {
            /// Whether unused channels are removed.
            "ackIdleCleanup" => pub idle_cleanup: bool = "true", Type::Boolean;
            /// Time without requests after which a channel is removed.
            "maxIdleTime" => pub max_idle: Duration = "600", Type::seconds(1);
        }
    }
}

/// The distance of the ids of a channel where several processes share it.
const STRIDE: u64 = 256;

/// The limit that a request has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AckLimit {
    /// Too many channels; the value is the maximum.
    #[error("{0} channels are in use (max_number_of_ack_channel)")]
    Channels(usize),
    /// Too many requests that no sender has asked about; the value is the maximum.
    #[error("{0} acknowledgements have not been queried; query them at /services/collector/ack")]
    Pending(usize),
}

/// A sender's channel: the token's name and the GUID the sender chose.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChannelKey {
    /// The token's name.
    pub token: String,
    /// The sender's choice.
    pub channel: Uuid,
}

/// Whether a request is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckState {
    /// This process does not know the request.
    Unknown,
    /// The request is not safe yet.
    Waiting,
    /// The request is safe, at least as durably as this; `None` for a request without events.
    Safe(Option<Durability>),
}

/// All channels.
#[derive(Debug)]
pub struct AckChannels {
    settings: AckSettings,
    /// The remainder of all ids divided by the stride.
    slot: u8,
    stride: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    channels: HashMap<ChannelKey, Channel>,
    /// Requests of all channels that were not reported yet.
    pending: usize,
    last_sweep: Option<EventTime>,
}

#[derive(Debug)]
struct Channel {
    next: u64,
    /// The state of the requests, by ID.
    requests: BTreeMap<u64, AckState>,
    used: EventTime,
}

impl AckChannels {
    /// Creates an empty set of channels.
    #[must_use]
    pub fn new(settings: AckSettings) -> Self {
        Self { settings, slot: 0, stride: 1, state: Mutex::default() }
    }

    /// Creates the channels of one of several processes. Processes with other slots give other IDs, even if a
    /// channel begins at the same time in both of them: a load balancer may distribute the requests of a
    /// channel.
    #[must_use]
    pub fn sharing(settings: AckSettings, slot: u8) -> Self {
        Self { slot, stride: STRIDE, ..Self::new(settings) }
    }

    /// Returns the ID of a request that is about to be accepted.
    ///
    /// # Errors
    /// If a limit is reached; the sender has to wait, and to ask for the requests that it has sent.
    pub fn begin(&self, key: &ChannelKey, now: EventTime) -> Result<u64, AckLimit> {
        let mut state = self.state.lock();
        self.sweep(&mut state, now);
        let refuse = |limit, reason: &'static str| {
            counter!(names::INGEST_REFUSED, "reason" => reason).increment(1);
            Err(limit)
        };
        if state.pending >= self.settings.max_pending {
            return refuse(AckLimit::Pending(state.pending), "ack_pending");
        }
        if !state.channels.contains_key(key) && state.channels.len() >= self.settings.max_channels {
            return refuse(AckLimit::Channels(state.channels.len()), "ack_channels");
        }
        let channel =
            state.channels.entry(key.clone()).or_insert_with(|| Channel::new(now, self.slot));
        let pending = channel.requests.len();
        if pending >= self.settings.max_pending_per_channel {
            return refuse(AckLimit::Pending(pending), "ack_pending");
        }
        let id = channel.next;
        channel.next += self.stride;
        channel.used = now;
        channel.requests.insert(id, AckState::Waiting);
        state.pending += 1;
        state.show();
        Ok(id)
    }

    /// A request is safe from now on, as durably as this at least.
    pub fn settle(&self, key: &ChannelKey, id: u64, durability: Option<Durability>) {
        let mut state = self.state.lock();
        let known = state.channels.get_mut(key).and_then(|channel| channel.requests.get_mut(&id));
        if let Some(known) = known {
            *known = AckState::Safe(durability);
        }
    }

    /// A request is to be sent again.
    pub fn fail(&self, key: &ChannelKey, id: u64) {
        let mut state = self.state.lock();
        let channel = state.channels.get_mut(key);
        if channel.is_some_and(|channel| channel.requests.remove(&id).is_some()) {
            state.pending -= 1;
            state.show();
        }
    }

    /// Returns which of the requests are safe, and forgets those.
    pub fn ask(&self, key: &ChannelKey, ids: &[u64], now: EventTime) -> Vec<(u64, AckState)> {
        let mut state = self.state.lock();
        self.sweep(&mut state, now);
        let Some(channel) = state.channels.get_mut(key) else {
            return ids.iter().map(|id| (*id, AckState::Unknown)).collect();
        };
        channel.used = now;
        let before = channel.requests.len();
        let mut report = |id: &u64| {
            let known = channel.requests.get(id).copied().unwrap_or(AckState::Unknown);
            if matches!(known, AckState::Safe(_)) {
                channel.requests.remove(id);
            }
            (*id, known)
        };
        let answers = ids.iter().map(&mut report).collect();
        state.pending -= before - state.channels.get(key).map_or(0, |c| c.requests.len());
        state.show();
        answers
    }

    /// Whether another request with acknowledgement would be refused in every channel.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.state.lock().pending >= self.settings.max_pending
    }

    /// Forgets channels that were not used for too long, a few times per idle time.
    fn sweep(&self, state: &mut State, now: EventTime) {
        let idle = i64::try_from(self.settings.max_idle.as_micros()).unwrap_or(i64::MAX);
        let due = state.last_sweep.is_none_or(|last| now.0.saturating_sub(last.0) >= idle / 4);
        if !self.settings.idle_cleanup || !due {
            return;
        }
        state.last_sweep = Some(now);
        let before = state.channels.len();
        state.channels.retain(|_, channel| now.0.saturating_sub(channel.used.0) < idle);
        if state.channels.len() < before {
            state.pending = state.channels.values().map(|channel| channel.requests.len()).sum();
            tracing::info!(channels = before - state.channels.len(), "idle channels forgotten");
        }
        state.show();
    }
}

impl Channel {
    fn new(now: EventTime, slot: u8) -> Self {
        // Milliseconds in the upper bits, so that a process that starts again within the second does
        // not give the ids of the one before; all 53 bits are exact in every client's numbers. Ids
        // would repeat only after four million requests per second, 16,000 where processes share a channel.
        let millis = u64::try_from(now.0 / 1000).unwrap_or_default();
        let next = (millis & 0x1FF_FFFF_FFFF) << 12 | u64::from(slot);
        Self { next, requests: BTreeMap::new(), used: now }
    }
}

impl State {
    #[allow(clippy::cast_precision_loss)]
    fn show(&self) {
        gauge!(names::HEC_ACK_CHANNELS).set(self.channels.len() as f64);
        gauge!(names::HEC_ACKS_PENDING).set(self.pending as f64);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SAFE: AckState = AckState::Safe(Some(Durability::Local));

    #[test]
    fn an_id_is_true_once_and_only_after_it_is_safe() {
        let channels = AckChannels::new(AckSettings::default());
        let (one, two) = (begin(&channels, 1, 0).unwrap(), begin(&channels, 1, 0).unwrap());
        channels.settle(&key(1), one, Some(Durability::Local));
        assert_eq!(
            channels.ask(&key(1), &[one, two, 7], at(0)),
            [(one, SAFE), (two, AckState::Waiting), (7, AckState::Unknown)]
        );
        assert_eq!(channels.ask(&key(1), &[one], at(0)), [(one, AckState::Unknown)]);
        channels.fail(&key(1), two);
        assert_eq!(channels.ask(&key(1), &[two], at(0)), [(two, AckState::Unknown)]);
        assert_eq!(channels.state.lock().pending, 0);
    }

    #[test]
    fn channels_and_tokens_do_not_see_each_other() {
        let channels = AckChannels::new(AckSettings::default());
        let id = begin(&channels, 1, 0).unwrap();
        channels.settle(&key(1), id, Some(Durability::Local));
        assert_eq!(channels.ask(&key(2), &[id], at(0)), [(id, AckState::Unknown)]);
        let other = ChannelKey { token: "other".into(), ..key(1) };
        assert_eq!(channels.ask(&other, &[id], at(0)), [(id, AckState::Unknown)]);
        assert_eq!(channels.ask(&key(1), &[id], at(0)), [(id, SAFE)]);
    }

    #[test]
    fn limits_refuse_until_the_sender_asks() {
        let settings = AckSettings {
            max_channels: 2,
            max_pending: 3,
            max_pending_per_channel: 2,
            ..AckSettings::default()
        };
        let channels = AckChannels::new(settings);
        let id = begin(&channels, 1, 0).unwrap();
        begin(&channels, 1, 0).unwrap();
        assert_eq!(begin(&channels, 1, 0), Err(AckLimit::Pending(2)));
        begin(&channels, 2, 0).unwrap();
        assert_eq!(begin(&channels, 2, 0), Err(AckLimit::Pending(3)));
        assert!(channels.is_full());
        channels.settle(&key(1), id, Some(Durability::Local));
        channels.ask(&key(1), &[id], at(0));
        assert_eq!(begin(&channels, 3, 0), Err(AckLimit::Channels(2)));
        begin(&channels, 1, 0).unwrap();
    }

    #[test]
    fn an_idle_channel_is_forgotten_and_its_ids_do_not_come_back() {
        let settings = AckSettings {
            max_channels: 1,
            max_idle: Duration::from_secs(10),
            ..AckSettings::default()
        };
        let channels = AckChannels::new(settings);
        let old = begin(&channels, 1, 100).unwrap();
        channels.settle(&key(1), old, Some(Durability::Local));
        begin(&channels, 2, 105).unwrap_err();
        begin(&channels, 2, 111).unwrap();
        assert_eq!(channels.ask(&key(1), &[old], at(111)), [(old, AckState::Unknown)]);
        let again = begin(&channels, 1, 130).unwrap();
        assert!(again > old + 1_000_000 && again < 1 << 53);
    }

    #[test]
    fn processes_give_different_ids_also_in_a_channel_that_begins_at_the_same_time() {
        let ids = |slot| {
            let channels = AckChannels::sharing(AckSettings::default(), slot);
            (0..100).map(|_| begin(&channels, 1, 5).unwrap()).collect::<Vec<_>>()
        };
        let (one, two) = (ids(3), ids(4));
        assert!(one.iter().all(|id| !two.contains(id)), "{one:?} {two:?}");
    }

    fn begin(channels: &AckChannels, channel: u128, second: i64) -> Result<u64, AckLimit> {
        channels.begin(&key(channel), at(second))
    }

    fn key(channel: u128) -> ChannelKey {
        ChannelKey { token: "t".into(), channel: Uuid::from_u128(channel) }
    }

    fn at(second: i64) -> EventTime {
        EventTime(second * 1_000_000)
    }
}
