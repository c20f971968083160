//! The rules that forwarders get, so that they cut streams where this indexer begins events.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use knowledge::{EventBreaking, Knowledge};
use prost::Message;
use protocol::{ParsingRules, Setting, Stanza, ToForwarder, to_forwarder};
use tokio::sync::Semaphore;

/// Maximum size of the names and values of all settings, in bytes.
const LIMIT: u64 = 4 << 20;
/// Number of large frames that are sent at the same time.
const AT_ONCE: usize = 64;
/// Length from which a frame is large, in bytes.
const LARGE: usize = 64 << 10;
/// Time after which a frame that is still being sent, because its forwarder does not read, does not count.
const SLOW: Duration = Duration::from_secs(5);

/// The rules of a configuration.
#[derive(Debug)]
pub(super) struct RulesMessage {
    pub(super) rules: ParsingRules,
    /// The encoded message with the rules, which all connections share.
    pub(super) frame: Bytes,
}

/// Limits the memory for rules that are being sent: after a restart or a reload, all forwarders get them at
/// the same time. Clones share it.
#[derive(Debug, Clone)]
pub struct RulesLimit {
    permits: Arc<Semaphore>,
    slow: Duration,
}

impl RulesMessage {
    /// Whether the message has to wait for its turn.
    pub(super) fn is_large(&self) -> bool {
        self.frame.len() >= LARGE
    }
}

impl Default for RulesLimit {
    fn default() -> Self {
        Self::of(AT_ONCE)
    }
}

impl RulesLimit {
    /// Returns a limit of a number of frames that are sent at the same time.
    #[must_use]
    pub fn of(at_once: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(at_once)), slow: SLOW }
    }

    /// Sends a frame of a length when it is its turn.
    pub(super) async fn send<F: Future>(&self, length: usize, sending: F) -> F::Output {
        if length < LARGE {
            return sending.await;
        }
        // The semaphore is never closed.
        let permit = self.permits.acquire().await.ok();
        let mut sending = pin!(sending);
        if let Ok(sent) = tokio::time::timeout(self.slow, &mut sending).await {
            return sent;
        }
        drop(permit);
        sending.await
    }
}

/// Returns the rules of a configuration as a message, which is made once.
pub(super) fn parsing_rules(knowledge: &Knowledge) -> Arc<RulesMessage> {
    knowledge.compiled_of(&["app", "props"], |knowledge| {
        let rules = message(&knowledge.event_breaking(), LIMIT);
        let kind = Some(to_forwarder::Kind::Rules(rules.clone()));
        RulesMessage { rules, frame: ToForwarder { kind }.encode_to_vec().into() }
    })
}

fn message(rules: &EventBreaking, limit: u64) -> ParsingRules {
    let stanzas: Vec<Stanza> = rules
        .iter()
        .map(|(name, settings)| {
            let setting = |(key, value): (&String, &String)| Setting {
                key: key.clone(),
                value: value.clone(),
            };
            Stanza { name: name.clone(), settings: settings.iter().map(setting).collect() }
        })
        .collect();
    let size_of = |stanza: &Stanza| {
        let settings = stanza.settings.iter().map(|one| one.key.len() + one.value.len());
        stanza.name.len() + settings.sum::<usize>()
    };
    let size = stanzas.iter().map(size_of).sum::<usize>() as u64;
    let mut message = ParsingRules { stanzas, ..ParsingRules::default() };
    let checksum = fingerprint(&message.encode_to_vec());
    message = ParsingRules { checksum, size, limit, ..message };
    if size > limit {
        tracing::warn!(
            size,
            limit,
            "the settings of props.conf that break events exceed the limit for forwarders, which keep \
             those that they got before, if any"
        );
        message.stanzas.clear();
    }
    message
}

/// Computes FNV-1a: other releases must get the same checksum for the same rules, since otherwise forwarders
/// between their indexers get them anew at each change of the connection.
fn fingerprint(bytes: &[u8]) -> Bytes {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    Bytes::copy_from_slice(&hash.to_be_bytes())
}

/// Returns the answer to a forwarder that has rules with this checksum: without stanzas if they are the same
/// or sent later, `None` if it does not read rules.
pub(super) fn answer(
    known: Option<&Bytes>,
    rules: &ParsingRules,
    is_later: bool,
) -> Option<ParsingRules> {
    let is_same = *known? == rules.checksum;
    let stanzas = if is_same || is_later { Vec::new() } else { rules.stanzas.clone() };
    let (size, limit) = (rules.size, rules.limit);
    Some(ParsingRules { checksum: rules.checksum.clone(), stanzas, size, limit })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    fn knowledge(props: &str) -> Knowledge {
        Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props))
    }

    #[test]
    fn rules_are_sent_to_those_who_do_not_have_them() {
        let told = parsing_rules(&knowledge("[a]\nMAX_EVENTS = 9"));
        let rules = &told.rules;
        assert_eq!((rules.stanzas.len(), rules.size), (1, 12));
        assert!(answer(None, rules, false).is_none());
        assert_eq!(answer(Some(&Bytes::new()), rules, false).unwrap(), *rules);
        assert!(answer(Some(&Bytes::new()), rules, true).unwrap().stanzas.is_empty());
        let frame = ToForwarder::decode(told.frame.clone()).unwrap();
        assert_eq!(frame.kind, Some(to_forwarder::Kind::Rules(rules.clone())));
        let same = answer(Some(&rules.checksum), rules, false).unwrap();
        assert!(same.stanzas.is_empty() && same.checksum == rules.checksum);
        let other = parsing_rules(&knowledge("[a]\nMAX_EVENTS = 8"));
        assert_ne!(other.rules.checksum, rules.checksum);
        let unrelated = parsing_rules(&knowledge("[a]\nMAX_EVENTS = 9\nEVAL-x = 1"));
        assert_eq!(unrelated.rules.checksum, rules.checksum);
    }

    #[tokio::test]
    async fn forwarders_that_do_not_read_do_not_keep_others_from_their_rules() {
        let limit = RulesLimit { slow: Duration::from_millis(20), ..RulesLimit::default() };
        let stalled = || limit.send(LARGE, std::future::pending::<()>());
        let all_stalled = futures::future::join_all((0..AT_ONCE).map(|_| stalled()));
        let others = async {
            assert_eq!(limit.permits.available_permits(), 0);
            // Small ones do not wait, and large ones wait for a limited time.
            assert_eq!(limit.send(LARGE - 1, async { 1 }).await, 1);
            assert_eq!(limit.permits.available_permits(), 0);
            limit.send(LARGE, async { 2 }).await
        };
        tokio::select! {
            biased;
            _ = all_stalled => unreachable!("they are never sent"),
            sent = others => assert_eq!(sent, 2),
        }
    }

    #[test]
    fn rules_over_the_limit_are_not_sent() {
        let rules = message(&knowledge("[a]\nMAX_EVENTS = 9").event_breaking(), 11);
        assert!(rules.stanzas.is_empty() && !rules.checksum.is_empty());
        assert_eq!((rules.size, rules.limit), (12, 11));
    }

    #[test]
    fn the_checksum_is_that_of_the_settings_in_every_release() {
        let breaking = knowledge("[a]\nMAX_EVENTS = 9").event_breaking();
        assert_eq!(message(&breaking, 11).checksum, message(&breaking, 100).checksum);
        assert_eq!(&fingerprint(b"foobar")[..], 0x8594_4171_f739_67e8_u64.to_be_bytes());
    }
}
