//! Converts data of inputs to contents of batches.

use std::ops::Range;

use inputs::{CutEvents, InputMeta, MissingTime, StreamKey};
use protocol::{Content, Events, Field, Origin, content_body::Body};

/// The origin of events in messages.
pub(crate) fn origin(meta: &InputMeta) -> Origin {
    Origin {
        index: meta.index.to_string(),
        host: meta.host.to_string(),
        source: meta.source.to_string(),
        sourcetype: meta.sourcetype.as_deref().map(str::to_owned),
    }
}

/// Packs events that their sender has cut into contents of about `batch` bytes.
pub(crate) fn of_events(stream: &StreamKey, events: &CutEvents, batch: usize) -> Vec<Content> {
    let mut contents = Vec::new();
    let mut first = 0;
    let mut begin = 0;
    for (row, end) in events.ends.iter().enumerate() {
        let last = row + 1 == events.len();
        if last || *end as usize - begin >= batch {
            contents.push(Content {
                stream: stream.0.to_string(),
                body: Some(Body::Events(part(events, first..row + 1, begin..*end as usize))),
            });
            (first, begin) = (row + 1, *end as usize);
        }
    }
    contents
}

fn part(events: &CutEvents, rows: Range<usize>, text: Range<usize>) -> Events {
    let start = |row: usize| if row == 0 { 0 } else { events.ends[row - 1] };
    let lengths = rows.clone().map(|row| events.ends[row] - start(row)).collect();
    let mut times = Vec::new();
    for row in rows.clone() {
        if let Some(time) = events.times[row] {
            times.extend([i64::try_from(row - rows.start).unwrap_or(i64::MAX), time.0]);
        }
    }
    let mut runs = Vec::new();
    let mut at = 0usize;
    for run in &events.runs {
        let end = at + run.rows as usize;
        let inside = end.min(rows.end).saturating_sub(at.max(rows.start));
        if inside > 0 {
            runs.extend([run.origin, u32::try_from(inside).unwrap_or(u32::MAX)]);
        }
        at = end;
    }
    let inside = events.fields.iter().filter(|field| rows.contains(&(field.row as usize)));
    let fields = inside.map(|field| Field {
        row: field.row - u32::try_from(rows.start).unwrap_or(u32::MAX),
        name: field.name.to_string(),
        value: field.value.to_string(),
    });
    Events {
        origins: events.origins.iter().map(|meta| origin(meta)).collect(),
        runs,
        text: events.text[text].to_vec().into(),
        lengths,
        times,
        fields: fields.collect(),
        time_from_text: events.missing_time == MissingTime::FromText,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use inputs::OriginRef;
    use model::{EventTime, IndexName};

    use super::*;

    #[test]
    fn parts_have_their_own_rows_times_and_fields() {
        let index = IndexName::new("main").unwrap();
        let mut events = CutEvents::new(MissingTime::FromText);
        for (row, host) in ["a", "a", "b"].into_iter().enumerate() {
            let meta = OriginRef { index: &index, host, source: "s", sourcetype: None };
            let time = (row == 1).then_some(EventTime(7));
            assert!(events.push(meta, time, format!("event {row}").as_bytes()));
        }
        events.push_field("name".into(), "value");
        let contents = of_events(&StreamKey("x".into()), &events, 8);
        let bodies: Vec<_> = contents.iter().map(|content| content.body.clone().unwrap()).collect();
        let [Body::Events(first), Body::Events(second)] = &bodies[..] else { panic!("two") };
        assert_eq!((&first.runs, &first.times), (&vec![0, 2], &vec![1, 7]));
        assert_eq!((&second.runs, &second.lengths), (&vec![1, 1], &vec![7]));
        assert_eq!((&second.text[..], second.fields[0].row), (&b"event 2"[..], 0));
    }
}
