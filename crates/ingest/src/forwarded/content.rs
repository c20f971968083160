//! The content of a forwarder's batch as an input.

use std::sync::Arc;

use inputs::{CutEvents, Input, InputMeta, MissingTime, StreamKey};
use model::{EventTime, IndexName};
use protocol::{Content, Events, Origin, Text, content_body::Body};
use uuid::Uuid;

/// Converts the content of a batch into an input. Fails with a reason if the content is inconsistent.
pub(crate) fn input_of(
    content: Content,
    channel: Uuid,
    has_index: &dyn Fn(&IndexName) -> bool,
) -> Result<Input, String> {
    let stream = StreamKey(format!("forwarded:{}:{}", channel.as_simple(), content.stream).into());
    match content.body {
        None => Err("the batch has no content that this version understands".to_owned()),
        Some(Body::Text(text)) => raw(text, stream, has_index),
        Some(Body::Events(events)) => Ok(Input::Events { stream, events: cut(events, has_index)? }),
    }
}

fn raw(
    text: Text,
    stream: StreamKey,
    has_index: &dyn Fn(&IndexName) -> bool,
) -> Result<Input, String> {
    let origin = text.origin.ok_or("the text has no origin")?;
    Ok(Input::Raw {
        origin: Arc::new(meta(origin, has_index)?),
        stream,
        bytes: text.bytes,
        modified: text.modified.map(EventTime),
        // The forwarder cuts between events: the batch ends with a complete event.
        end: true,
    })
}

fn meta(origin: Origin, has_index: &dyn Fn(&IndexName) -> bool) -> Result<InputMeta, String> {
    let index = IndexName::new(&origin.index).map_err(|error| error.to_string())?;
    index.check_open().map_err(|error| error.to_string())?;
    if !has_index(&index) {
        return Err(format!("there is no index \"{index}\"; create it, or change inputs.conf"));
    }
    Ok(InputMeta {
        index,
        host: origin.host.into(),
        source: origin.source.into(),
        sourcetype: origin.sourcetype.map(Into::into),
    })
}

/// Maximum number of events in a batch: events without text take few bytes in a message and many in memory.
const MAX_EVENTS: usize = 1 << 20;

fn cut(events: Events, has_index: &dyn Fn(&IndexName) -> bool) -> Result<CutEvents, String> {
    let torn = || "the events are inconsistent".to_owned();
    let count = events.lengths.len();
    if count > MAX_EVENTS {
        return Err(format!("the batch has more than {MAX_EVENTS} events"));
    }
    let mut times = vec![None; count];
    for (row, time) in events.times.chunks_exact(2).map(|pair| (pair[0], pair[1])) {
        let row = usize::try_from(row).ok().filter(|row| *row < count).ok_or_else(torn)?;
        times[row] = Some(EventTime(time));
    }
    let origins = events.origins.into_iter().map(|origin| meta(origin, has_index));
    let origins = origins.collect::<Result<Vec<_>, _>>()?;
    let missing = if events.time_from_text { MissingTime::FromText } else { MissingTime::Now };
    let mut out = CutEvents::new(missing);
    let mut fields = events.fields.into_iter().peekable();
    let (mut row, mut start) = (0usize, 0usize);
    for (origin, rows) in events.runs.chunks_exact(2).map(|pair| (pair[0], pair[1])) {
        let origin = origins.get(origin as usize).ok_or_else(torn)?;
        for _ in 0..rows {
            let length = *events.lengths.get(row).ok_or_else(torn)? as usize;
            let end = start.checked_add(length).ok_or_else(torn)?;
            let text = events.text.get(start..end).ok_or_else(torn)?;
            if !out.push(origin.by_ref(), times[row], text) {
                return Err("the events have more than 4 GiB".to_owned());
            }
            while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
                out.push_field(field.name.into(), &field.value);
            }
            (row, start) = (row + 1, end);
        }
    }
    if row == count && start == events.text.len() { Ok(out) } else { Err(torn()) }
}
