//! The final check of event sizes: no event is larger than `maxEventSize`, whichever sender cut it and
//! whatever index-time rules made of it. Truncated text and dropped fields are counted and logged.

use std::sync::Arc;

use inputs::EventLimits;
use inputs::text::character_border;
use model::{EventBatch, EventBatchBuilder, IndexedField, Origin};
use runtime::metrics as names;

/// Returns the batch with all its events within their limits.
pub(crate) fn cut_to_limits(batch: EventBatch, limits: &EventLimits) -> EventBatch {
    if is_within(&batch, limits) {
        return batch;
    }
    let mut builder = EventBatchBuilder::new(batch.index.clone(), 0);
    let mut fields = batch.fields.iter().peekable();
    let mut cut = Cut::default();
    for (row, origin) in batch.each_origin().enumerate() {
        let raw = batch.row(row);
        let kept = character_border(raw, limits.event_bytes.min(raw.len()));
        // Batches have only whole characters by construction, and the border is between two of them.
        builder.push(origin, batch.time[row], str::from_utf8(&raw[..kept]).unwrap_or_default());
        cut.note(raw.len() - kept, origin);
        let mut room = limits.event_bytes - kept;
        let mut count = 0;
        while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
            count += 1;
            let size = size(field);
            let fits = count <= limits.fields
                && size <= room
                && field.name.len() <= limits.field_name_bytes;
            if fits {
                room -= size;
                builder.push_field(Arc::clone(&field.name), &field.value);
            } else {
                cut.fields += 1;
            }
        }
    }
    cut.report();
    builder.finish()
}

fn is_within(batch: &EventBatch, limits: &EventLimits) -> bool {
    // The usual case: in a batch that is small as a whole, every event is small.
    let fields: usize = batch.fields.iter().map(size).sum();
    let names_fit = || batch.fields.iter().all(|f| f.name.len() <= limits.field_name_bytes);
    if batch.fields.len() <= limits.fields
        && batch.raw.len().saturating_add(fields) <= limits.event_bytes
    {
        return names_fit();
    }
    let mut fields = batch.fields.iter().peekable();
    let rows_fit = (0..batch.rows()).all(|row| {
        let (mut count, mut bytes) = (0, batch.row(row).len());
        while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
            count += 1;
            bytes += size(field);
        }
        count <= limits.fields && bytes <= limits.event_bytes
    });
    rows_fit && names_fit()
}

fn size(field: &IndexedField) -> usize {
    field.name.len() + field.value.len()
}

#[derive(Debug, Default)]
struct Cut {
    events: u64,
    bytes: usize,
    fields: u64,
    /// The origin of the first event that was truncated.
    origin: Option<Arc<Origin>>,
}

impl Cut {
    fn note(&mut self, bytes: usize, origin: &Arc<Origin>) {
        if bytes > 0 {
            self.events += 1;
            self.bytes += bytes;
        }
        self.origin.get_or_insert_with(|| Arc::clone(origin));
    }

    fn report(&self) {
        metrics::counter!(names::INGEST_TRUNCATED).increment(self.events);
        metrics::counter!(names::INGEST_FIELDS_DROPPED).increment(self.fields);
        let Some(origin) = &self.origin else { return };
        tracing::warn!(
            events = self.events, dropped_bytes = self.bytes, dropped_fields = self.fields,
            source = %origin.source, host = %origin.host, sourcetype = %origin.sourcetype,
            "events exceed maxEventSize, maxEventFields or maxFieldNameSize and were truncated"
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{EventTime, IndexName};

    use super::*;

    const LIMITS: EventLimits = EventLimits {
        event_bytes: 10,
        fields: 2,
        field_name_bytes: 3,
        depth: 10,
        memory: usize::MAX,
    };

    #[test]
    fn events_within_the_limits_are_left_alone() {
        let whole = batch(&[("0123456789", &[]), ("a", &[("f", "1"), ("g", "2")])]);
        assert_eq!(cut_to_limits(whole.clone(), &LIMITS), whole);
    }

    #[test]
    fn text_is_cut_between_characters_and_fields_over_a_limit_are_left_out() {
        let large = batch(&[
            ("012345678ä and more", &[("f", "1")]),
            ("abcd", &[("f", "12345"), ("g", "2")]),
            ("a", &[("f", "1"), ("f", "2"), ("f", "3"), ("long", "4")]),
        ]);
        let expected = batch(&[
            ("012345678", &[]),
            ("abcd", &[("f", "12345")]),
            ("a", &[("f", "1"), ("f", "2")]),
        ]);
        assert_eq!(cut_to_limits(large, &LIMITS), expected);
    }

    fn batch(events: &[(&str, &[(&str, &str)])]) -> EventBatch {
        let index = IndexName::new("main").unwrap();
        let origin = Arc::new(Origin {
            index: index.clone(),
            host: "h".into(),
            source: "s".into(),
            sourcetype: "t".into(),
        });
        let mut builder = EventBatchBuilder::new(index, 0);
        for (text, fields) in events {
            builder.push(&origin, EventTime(1), text);
            for (name, value) in *fields {
                builder.push_field((*name).into(), value);
            }
        }
        builder.finish()
    }
}
