//! What became searchable since somebody last asked: events and bytes by origin, and how long inputs took.
//!
//! Counted once per batch as its rows become searchable, and taken by the events that the server writes
//! about itself. Bounded: beyond `squash_threshold` origins, further ones are counted without host and
//! source, and beyond twice as many by their index only.

use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use model::{IndexName, Origin};
use parking_lot::Mutex;

use crate::hot::indexed::Indexed;
use crate::hot::rows::Rows;

/// Bounds of delays grow by this factor, from a millisecond to half a day.
const FACTOR: f64 = 1.2;
const DELAYS: usize = 96;

/// How long events of an index took from the arrival of their input until they were searchable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delays {
    counts: [u64; DELAYS],
    /// The longest.
    pub max: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self { counts: [0; DELAYS], max: Duration::ZERO }
    }
}

impl Delays {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn add(&mut self, delay: Duration, events: u64) {
        let millis = delay.as_secs_f64() * 1e3;
        let place = if millis <= 1.0 { 0 } else { millis.log(FACTOR).ceil() as usize };
        self.counts[place.min(DELAYS - 1)] += events;
        self.max = self.max.max(delay);
    }

    /// Events that were counted.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The delay that this part of the events did not exceed, within a factor of 1.2.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn quantile(&self, part: f64) -> Duration {
        let wanted = self.events() as f64 * part;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if *count > 0 && seen as f64 >= wanted {
                let bound = FACTOR.powi(i32::try_from(place).unwrap_or(i32::MAX)) / 1e3;
                return Duration::from_secs_f64(bound).min(self.max);
            }
        }
        self.max
    }
}

/// What became searchable in a span of time.
#[derive(Debug, Default)]
pub struct Tallied {
    /// Events by origin. Squashed origins have an empty host and source, or an empty source type, too.
    pub origins: HashMap<Arc<Origin>, Indexed>,
    /// Delays by index.
    pub delays: HashMap<IndexName, Delays>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Tally {
    threshold: usize,
    now: Mutex<Tallied>,
}

impl Tally {
    pub(crate) fn new(threshold: usize) -> Self {
        Self { threshold: threshold.max(1), now: Mutex::default() }
    }

    /// Counts rows that are searchable now, in microseconds, and whose input arrived so long ago.
    pub(crate) fn count(&self, index: &IndexName, rows: &Rows, now: i64, waited: Option<Duration>) {
        let counted = rows.by_origin(now);
        let mut tallied = self.now.lock();
        for (origin, indexed) in counted {
            self.slot(&mut tallied.origins, origin).add(&indexed);
        }
        if let Some(waited) = waited {
            let delays = match tallied.delays.get_mut(index) {
                Some(delays) => delays,
                None => tallied.delays.entry(index.clone()).or_default(),
            };
            delays.add(waited, rows.rows() as u64);
        }
    }

    fn slot<'a>(
        &self,
        origins: &'a mut HashMap<Arc<Origin>, Indexed>,
        origin: &Arc<Origin>,
    ) -> &'a mut Indexed {
        if origins.len() < self.threshold || origins.contains_key(origin) {
            return origins.entry(Arc::clone(origin)).or_default();
        }
        let empty: Arc<str> = Arc::from("");
        let squashed = |sourcetype: &Arc<str>| {
            Arc::new(Origin {
                index: origin.index.clone(),
                host: Arc::clone(&empty),
                source: Arc::clone(&empty),
                sourcetype: Arc::clone(sourcetype),
            })
        };
        let of_type = squashed(&origin.sourcetype);
        if origins.len() < self.threshold * 2 || origins.contains_key(&of_type) {
            return origins.entry(of_type).or_default();
        }
        origins.entry(squashed(&empty)).or_default()
    }

    /// What was counted since the last call.
    pub(crate) fn take(&self) -> Tallied {
        std::mem::take(&mut self.now.lock())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{EventBatchBuilder, EventTime};

    use super::*;

    fn rows(hosts: &[&str]) -> Rows {
        let index = IndexName::new("main").unwrap();
        let mut builder = EventBatchBuilder::new(index.clone(), 0);
        for host in hosts {
            let origin = Origin {
                index: index.clone(),
                host: (*host).into(),
                source: "s".into(),
                sourcetype: "t".into(),
            };
            builder.push(&Arc::new(origin), EventTime(1_000), "four");
        }
        Rows::new(builder.finish(), 7)
    }

    fn main() -> IndexName {
        IndexName::new("main").unwrap()
    }

    #[test]
    fn events_are_counted_by_origin_with_their_age() {
        let tally = Tally::new(10);
        tally.count(&main(), &rows(&["a", "b", "a"]), 3_000, Some(Duration::from_millis(40)));
        tally.count(&main(), &rows(&["a"]), 500, None);
        let taken = tally.take();
        let of = |host: &str| {
            let found = taken.origins.iter().find(|(origin, _)| &*origin.host == host);
            *found.unwrap().1
        };
        assert_eq!(of("a"), Indexed { events: 3, bytes: 12, age: 4_000, max_age: 2_000 });
        assert_eq!(of("b").events, 1);
        let delays = &taken.delays[&main()];
        assert_eq!((delays.events(), delays.max), (3, Duration::from_millis(40)));
        assert!(tally.take().origins.is_empty());
    }

    #[test]
    fn further_origins_lose_host_and_source_and_no_event() {
        let tally = Tally::new(2);
        let names: Vec<String> = (0..50).map(|number| format!("h{number}")).collect();
        let hosts: Vec<&str> = names.iter().map(String::as_str).collect();
        tally.count(&main(), &rows(&hosts), 2_000, None);
        let taken = tally.take();
        assert_eq!(taken.origins.len(), 3);
        assert_eq!(taken.origins.values().map(|counted| counted.events).sum::<u64>(), 50);
        let squashed = taken.origins.iter().find(|(origin, _)| origin.host.is_empty());
        assert_eq!(
            squashed.map(|(origin, counted)| (&*origin.sourcetype, counted.events)),
            Some(("t", 48))
        );
    }

    #[test]
    fn quantiles_of_delays_are_near() {
        let mut delays = Delays::default();
        for millis in 1..=1_000 {
            delays.add(Duration::from_millis(millis), 1);
        }
        for (part, expected) in [(0.5, 500.0), (0.95, 950.0), (1.0, 1_000.0)] {
            let found = delays.quantile(part).as_secs_f64() * 1e3;
            assert!((expected / 1.01..=expected * 1.21).contains(&found), "{part}: {found}");
        }
    }
}
