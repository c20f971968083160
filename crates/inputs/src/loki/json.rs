//! A request in JSON: `{"streams": [{"stream": {"label": "value"}, "values": [["<ns>", "line", {}]]}]}`.
//! Lists are read element by element, so that a request of many empty ones takes no memory.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use model::EventTime;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Decoder, Entry, Labels, LokiError, Pair};
use crate::text::{repaired_json, with_whole_surrogates};

#[derive(Deserialize)]
struct Push<'a> {
    #[serde(borrow)]
    streams: &'a RawValue,
}

#[derive(Deserialize)]
struct Stream<'a> {
    #[serde(borrow)]
    stream: &'a RawValue,
    #[serde(borrow)]
    values: &'a RawValue,
}

/// A list in JSON.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    time: &'a RawValue,
    #[serde(borrow)]
    line: Cow<'a, str>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
}

/// Reads a request.
///
/// # Errors
/// It is not JSON, or not of this form.
pub(super) fn read(body: &[u8], decoder: &mut Decoder<'_>) -> Result<(), LokiError> {
    let text = match std::str::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        // As over HEC: clients do not retry a refused request, so one invalid byte would lose all its lines.
        Err(_) => Cow::Owned(repaired_json(body)),
    };
    // Senders that cut texts send halves of surrogate pairs, which no JSON decoder accepts.
    let whole = with_whole_surrogates(&text);
    let text = whole.as_deref().unwrap_or(&text);
    let push: Push<'_> =
        serde_json::from_str(text).map_err(|error| LokiError::Malformed(error.to_string()))?;
    each::<Stream<'_>>(push.streams, |stream| {
        decoder.stream += 1;
        decoder.entry = 0;
        read_stream(&stream, decoder)
    })
    .map_err(|error| placed(error, decoder))
}

/// The same error with the entry that was read last.
fn placed(error: LokiError, decoder: &Decoder<'_>) -> LokiError {
    match error {
        LokiError::Malformed(reason) => {
            LokiError::Malformed(format!("near {}: {reason}", decoder.place()))
        }
        LokiError::Memory(_) => error,
    }
}

fn read_stream(stream: &Stream<'_>, decoder: &mut Decoder<'_>) -> Result<(), LokiError> {
    let labels = Labels::new(pairs(stream.stream, decoder.most_pairs())?);
    each::<Line<'_>>(stream.values, |entry| {
        decoder.entry += 1;
        let metadata = match entry.metadata {
            Some(metadata) => pairs(metadata, decoder.most_pairs())?,
            None => Vec::new(),
        };
        let written = entry.time.get().trim_matches('"');
        let Ok(nanos) = written.parse::<i64>() else {
            let reason = "its time is not a number of nanoseconds since 1970";
            decoder.reject(&format_args!("{reason}: {written:.40}"));
            return Ok(());
        };
        let time = Some(EventTime(nanos.div_euclid(1_000)));
        let line = entry.line.as_bytes();
        decoder.take(&Entry { labels: &labels, metadata: &metadata, time, line })
    })
}

fn malformed(error: &serde_json::Error) -> LokiError {
    // The line and column refer to a part of the body.
    let text = error.to_string();
    LokiError::Malformed(text.split(" at line ").next().unwrap_or_default().to_owned())
}

/// The members of an object whose values are strings; of more than `most`, the first ones.
fn pairs(object: &RawValue, most: usize) -> Result<Vec<Pair<'_>>, LokiError> {
    let mut json = serde_json::Deserializer::from_str(object.get());
    Pairs { most }.deserialize(&mut json).map_err(|error| malformed(&error))
}

struct Pairs {
    most: usize,
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for Pairs {
    type Value = Vec<Pair<'de>>;
    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<Pair<'de>>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some((name, value)) = map.next_entry::<Text<'de>, Text<'de>>()? {
            if pairs.len() < self.most {
                pairs.push((name.0, value.0));
            }
        }
        Ok(pairs)
    }
}

/// Hands over each element of a list as it is read, up to the first failure.
fn each<'de, T: Deserialize<'de>>(
    list: &'de RawValue,
    take: impl FnMut(T) -> Result<(), LokiError>,
) -> Result<(), LokiError> {
    let mut each = Each { take, failure: None, element: PhantomData };
    let mut json = serde_json::Deserializer::from_str(list.get());
    let read = json.deserialize_seq(&mut each);
    match each.failure {
        Some(failure) => Err(failure),
        None => read.map_err(|error| malformed(&error)),
    }
}

struct Each<T, F> {
    take: F,
    failure: Option<LokiError>,
    element: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), LokiError>> Visitor<'de>
    for &mut Each<T, F>
{
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element::<T>()? {
            if let Err(failure) = (self.take)(element) {
                self.failure = Some(failure);
                return Err(serde::de::Error::custom("an element is not taken"));
            }
        }
        Ok(())
    }
}
