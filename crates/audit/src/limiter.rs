//! Rate limit for records of refused requests per sender, so that a flood cannot fill the disk.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Maximum number of tracked senders; further ones share a limit.
const SENDERS: usize = 4_096;
const SECOND: Duration = Duration::from_secs(1);

/// Whether to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Record, with the number of suppressed records before it.
    Record {
        /// The number of suppressed records.
        suppressed: u64,
    },
    /// Do not record; only count.
    Suppress,
}

/// Limits the records of a sender per second.
#[derive(Debug)]
pub struct Limiter {
    per_second: u32,
    senders: Mutex<HashMap<String, Sender>>,
}

#[derive(Debug)]
struct Sender {
    since: Instant,
    records: u32,
    suppressed: u64,
}

impl Limiter {
    /// A limiter with that many records per second.
    #[must_use]
    pub fn new(per_second: u32) -> Self {
        Self { per_second: per_second.max(1), senders: Mutex::default() }
    }

    /// Counts a refusal of a sender.
    #[must_use]
    pub fn take(&self, sender: &str, now: Instant) -> Verdict {
        let mut senders = self.senders.lock();
        if !senders.contains_key(sender) && senders.len() >= SENDERS {
            senders.retain(|_, s| s.suppressed > 0 || now.duration_since(s.since) < SECOND);
        }
        // In an attack from very many addresses, all new ones are counted as one.
        let name =
            if senders.len() >= SENDERS && !senders.contains_key(sender) { "" } else { sender };
        let fresh = || Sender { since: now, records: 0, suppressed: 0 };
        let sender = senders.entry(name.to_owned()).or_insert_with(fresh);
        if now.duration_since(sender.since) >= SECOND {
            sender.since = now;
            sender.records = 0;
        }
        if sender.records >= self.per_second {
            sender.suppressed += 1;
            return Verdict::Suppress;
        }
        sender.records += 1;
        Verdict::Record { suppressed: std::mem::take(&mut sender.suppressed) }
    }

    /// Unreported numbers of suppressed records, by sender. Polled, so that the end of a flood is
    /// recorded, too.
    #[must_use]
    pub fn unsaid(&self, now: Instant) -> Vec<(String, u64)> {
        let mut senders = self.senders.lock();
        let over = senders
            .iter_mut()
            .filter(|(_, s)| s.suppressed > 0 && now.duration_since(s.since) >= SECOND);
        over.map(|(name, s)| (name.clone(), std::mem::take(&mut s.suppressed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_said_later() {
        let limiter = Limiter::new(2);
        let start = Instant::now();
        let taken: Vec<_> = (0..5).map(|_| limiter.take("a", start)).collect();
        let recorded = Verdict::Record { suppressed: 0 };
        assert_eq!(
            taken,
            [recorded, recorded, Verdict::Suppress, Verdict::Suppress, Verdict::Suppress]
        );
        assert_eq!(limiter.take("b", start), recorded);
        assert_eq!(limiter.take("a", start + SECOND), Verdict::Record { suppressed: 3 });
        assert!(limiter.unsaid(start + 2 * SECOND).is_empty());
    }

    #[test]
    fn the_end_of_a_flood_is_said_once() {
        let limiter = Limiter::new(1);
        let start = Instant::now();
        let _ = (limiter.take("a", start), limiter.take("a", start));
        assert_eq!(limiter.unsaid(start + SECOND), [("a".to_owned(), 1)]);
        assert!(limiter.unsaid(start + SECOND).is_empty());
    }
}
