//! Large inputs of cut events, part by part.

use std::sync::Arc;

use crate::CutEvents;

/// The events in batches of approximately the same number of bytes; a larger event is a batch of its own. The
/// memory of the whole is held until the last part is taken and this is dropped.
#[derive(Debug)]
pub struct Parts {
    whole: CutEvents,
    bytes: usize,
    /// The next event, its run, and how many events of that run have been taken.
    row: usize,
    run: usize,
    of_run: u32,
    /// The next field.
    field: usize,
}

impl Parts {
    pub(crate) fn new(whole: CutEvents, bytes: usize) -> Self {
        Self { whole, bytes, row: 0, run: 0, of_run: 0, field: 0 }
    }

    /// Whether all parts are taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.row >= self.whole.len()
    }

    /// Adds the next event to a part.
    fn pass_on(&mut self, part: &mut CutEvents) {
        let Some(run) = self.whole.runs.get(self.run) else {
            self.row = self.whole.len();
            return;
        };
        let origin = self.whole.origins[run.origin as usize].by_ref();
        // A part has no more text than the whole, which had room for it.
        let _ = part.push(origin, self.whole.times[self.row], self.whole.text(self.row));
        self.of_run += 1;
        if self.of_run >= run.rows {
            (self.run, self.of_run) = (self.run + 1, 0);
        }
        while let Some(field) = self.whole.fields.get(self.field)
            && field.row as usize <= self.row
        {
            part.push_field(Arc::clone(&field.name), &field.value);
            self.field += 1;
        }
        self.row += 1;
    }
}

impl Iterator for Parts {
    type Item = CutEvents;

    fn next(&mut self) -> Option<CutEvents> {
        if self.is_empty() {
            return None;
        }
        let mut part = CutEvents::new(self.whole.missing_time);
        while !self.is_empty() {
            let next = self.whole.text(self.row).len();
            if !part.is_empty() && part.memory() + next > self.bytes {
                break;
            }
            self.pass_on(&mut part);
        }
        Some(part)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use model::IndexName;
    use runtime::Budget;

    use super::*;
    use crate::{MissingTime, OriginRef};

    #[test]
    fn divided_events_are_the_same_events() {
        let index = IndexName::new("main").unwrap();
        let mut events = CutEvents::new(MissingTime::Now);
        for number in 0..100 {
            let (host, text) = (["a", "b", "b"][number % 3], number.to_string().repeat(number));
            let origin = OriginRef { index: &index, host, source: "s", sourcetype: None };
            assert!(events.push(origin, None, text.as_bytes()));
            events.push_field("f".into(), &text);
        }
        let seen = |parts: &[CutEvents]| {
            let rows = parts.iter().flat_map(|part| {
                let hosts = part.each_origin().map(|origin| Arc::clone(&origin.host));
                let texts = (0..part.len()).map(|row| part.text(row).to_vec());
                hosts.zip(texts).collect::<Vec<_>>()
            });
            let fields = parts.iter().flat_map(|part| part.fields.iter().map(|f| f.value.clone()));
            (rows.collect::<Vec<_>>(), fields.collect::<Vec<_>>())
        };
        let whole = [events];
        let before = seen(&whole);
        let [events] = whole;
        let parts: Vec<_> = events.divide(2_000).collect();
        assert!(parts.len() > 5 && parts.iter().all(|part| part.memory() < 3_000));
        assert_eq!(seen(&parts), before);
    }

    #[tokio::test]
    async fn the_memory_of_a_request_is_its_events_until_the_last_part_is_gone() {
        let budget = Budget::new(1 << 20, Duration::ZERO);
        let mut share = budget.share();
        share.grow(1_000).await.unwrap();
        let index = IndexName::new("main").unwrap();
        let mut events = CutEvents::new(MissingTime::Now);
        for _ in 0..9 {
            let origin = OriginRef { index: &index, host: "h", source: "s", sourcetype: None };
            assert!(events.push(origin, None, b"text"));
        }
        events.hold(share);
        let mut parts = events.divide(1);
        assert_eq!(parts.by_ref().count(), 9);
        assert_eq!(budget.used(), 1_000);
        drop(parts);
        assert_eq!(budget.used(), 0);
    }
}
