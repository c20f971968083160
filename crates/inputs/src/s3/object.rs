//! One object: decompresses its bytes, and sends its text as inputs.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures::StreamExt;
use futures::stream::BoxStream;
use model::EventTime;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::intake::Intake;
use crate::unpack::{send_chunks, unpack};
use crate::{CutEvents, Error, Input, InputMeta, MissingTime, Sink, StreamKey};

/// Bytes handed over at once.
const CHUNK: usize = 1 << 20;
/// Largest object that is read whole, unpacked.
const WHOLE: u64 = 256 << 20;

/// How the text of an object is split into events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decoder {
    /// By the line breaking rules of its source type.
    #[default]
    CustomLogs,
    /// The elements of `Records` in one JSON document.
    CloudTrail,
}

impl Decoder {
    /// Reads `s3_file_decoder`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "customlogs" => Some(Self::CustomLogs),
            "cloudtrail" => Some(Self::CloudTrail),
            _ => None,
        }
    }
}

/// The text of a stream of bytes that may be packed, in pieces of `size`. Must be called inside
/// tokio; ends when the receiver is dropped.
#[must_use]
pub fn chunks(
    mut stream: BoxStream<'static, object_store::Result<Bytes>>,
    size: usize,
) -> mpsc::Receiver<io::Result<Bytes>> {
    let (packed, incoming) = mpsc::channel(4);
    runtime::detached(async move {
        while let Some(chunk) = stream.next().await {
            if packed.send(chunk.map_err(io::Error::other)).await.is_err() {
                return;
            }
        }
    });
    let (sender, text) = mpsc::channel(2);
    tokio::task::spawn_blocking(move || {
        let incoming = Incoming { chunks: incoming, current: Bytes::new() };
        send_chunks(unpack(incoming), size, &sender);
    });
    text
}

/// Chunks as a reader, for threads that may block.
struct Incoming {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.current = chunk?,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.len());
        buffer[..length].copy_from_slice(&self.current[..length]);
        self.current.advance(length);
        Ok(length)
    }
}

/// Takes an object's text in, and waits until it is safe; the number of events.
pub(crate) async fn take(
    mut text: mpsc::Receiver<io::Result<Bytes>>,
    decoder: Decoder,
    origin: Arc<InputMeta>,
    modified: Option<EventTime>,
    sink: &Arc<dyn Sink>,
) -> Result<u64, Error> {
    let stream =
        StreamKey(format!("{}:{}", origin.source, runtime::random::time_ordered_uuid()).into());
    let fail = |error| Error::read(&origin.source, error);
    let mut intake = Intake::new(Arc::clone(sink));
    if decoder == Decoder::CloudTrail {
        let mut whole = Vec::new();
        while let Some(chunk) = text.recv().await {
            whole.extend_from_slice(&chunk.map_err(fail)?);
            if whole.len() as u64 > WHOLE {
                let reason = format!("the document is longer than {WHOLE} bytes");
                return Err(fail(io::Error::new(io::ErrorKind::InvalidData, reason)));
            }
        }
        for events in records(&whole, &origin).map_err(fail)? {
            intake.push(Input::Events { stream: stream.clone(), events }).await?;
        }
    } else {
        let raw = |bytes, end| {
            let (origin, stream) = (Arc::clone(&origin), stream.clone());
            Input::Raw { origin, stream, bytes, modified, end }
        };
        while let Some(chunk) = text.recv().await {
            match chunk {
                Ok(bytes) => intake.push(raw(bytes, false)).await?,
                Err(error) => {
                    intake.push(raw(Bytes::new(), true)).await?;
                    intake.settle().await?;
                    return Err(fail(error));
                }
            }
        }
        intake.push(raw(Bytes::new(), true)).await?;
    }
    intake.settle().await?;
    Ok(intake.total.events)
}

#[derive(Deserialize)]
struct Trail<'a> {
    #[serde(borrow, rename = "Records")]
    records: Vec<&'a RawValue>,
}

fn records(whole: &[u8], origin: &InputMeta) -> io::Result<Vec<CutEvents>> {
    let trail: Trail<'_> = serde_json::from_slice(whole)?;
    let mut all = Vec::new();
    let mut events = CutEvents::new(MissingTime::FromText);
    for record in trail.records {
        // The document is far below the limit of a batch.
        let _ = events.push(origin.by_ref(), None, record.get().as_bytes());
        if events.text.len() >= CHUNK {
            all.push(std::mem::replace(&mut events, CutEvents::new(MissingTime::FromText)));
        }
    }
    if !events.is_empty() {
        all.push(events);
    }
    Ok(all)
}

pub(crate) const OBJECT_CHUNK: usize = CHUNK;
