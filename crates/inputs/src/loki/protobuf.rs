//! `logproto.PushRequest`, read in place: streams of labels (1) and entries (2); an entry has its time (1),
//! its line (2) and structured metadata (3). The hash of a stream and the fields that Loki parsed itself are
//! skipped. Texts need not be UTF-8, because Go does not check it.

use super::{Decoder, Entry, Labels, LokiError, Pair, labels, time_of};

/// Reads a request.
///
/// # Errors
/// It is not protobuf.
pub(super) fn read(body: &[u8], decoder: &mut Decoder<'_>) -> Result<(), LokiError> {
    let mut fields = Fields(body);
    while let Some((number, value)) = fields.field()? {
        if number == 1 {
            decoder.stream += 1;
            decoder.entry = 0;
            stream(value.bytes()?, decoder)?;
        }
    }
    Ok(())
}

fn stream(message: &[u8], decoder: &mut Decoder<'_>) -> Result<(), LokiError> {
    // The labels may come after the entries.
    let mut text: &[u8] = &[];
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.field()? {
        if number == 1 {
            text = value.bytes()?;
        }
    }
    let text = String::from_utf8_lossy(text);
    let labels = labels::parse(&text, decoder.most_pairs()).map(Labels::new);
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.field()? {
        if number == 2 {
            decoder.entry += 1;
            let body = value.bytes()?;
            match &labels {
                Ok(labels) => entry(body, labels, decoder)?,
                Err(error) => decoder.reject(&format_args!("{error}: {text:.200}")),
            }
        }
    }
    Ok(())
}

fn entry(message: &[u8], labels: &Labels<'_>, decoder: &mut Decoder<'_>) -> Result<(), LokiError> {
    let mut line: &[u8] = &[];
    let (mut time, mut metadata) = (None, Vec::new());
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.field()? {
        match number {
            1 => time = Some(timestamp(value.bytes()?)?),
            2 => line = value.bytes()?,
            3 if metadata.len() < decoder.most_pairs() => metadata.push(pair(value.bytes()?)?),
            _ => {}
        }
    }
    let time = match time {
        None => None,
        Some((seconds, nanos)) => match time_of(seconds, nanos) {
            Some(time) => Some(time),
            None => {
                let reason = "its time is not between the years 1 and 2262";
                decoder.reject(&format_args!("{reason}: {seconds} s, {nanos} ns"));
                return Ok(());
            }
        },
    };
    decoder.take(&Entry { labels, metadata: &metadata, time, line })
}

/// `google.protobuf.Timestamp`: seconds and nanoseconds.
fn timestamp(message: &[u8]) -> Result<(i64, i64), LokiError> {
    let (mut seconds, mut nanos) = (0, 0);
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.field()? {
        match number {
            1 => seconds = value.integer()?,
            2 => nanos = value.integer()?,
            _ => {}
        }
    }
    Ok((seconds, nanos))
}

/// A name (1) and a value (2).
fn pair(message: &[u8]) -> Result<Pair<'_>, LokiError> {
    let mut name: &[u8] = &[];
    let mut text: &[u8] = &[];
    let mut fields = Fields(message);
    while let Some((number, value)) = fields.field()? {
        match number {
            1 => name = value.bytes()?,
            2 => text = value.bytes()?,
            _ => {}
        }
    }
    Ok((String::from_utf8_lossy(name), String::from_utf8_lossy(text)))
}

fn malformed(reason: &str) -> LokiError {
    LokiError::Malformed(format!("the protobuf {reason}"))
}

/// The value of a field.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Four or eight bytes, which no field of the request has.
    Fixed,
}

impl<'a> Value<'a> {
    fn bytes(self) -> Result<&'a [u8], LokiError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Varint(_) | Self::Fixed => Err(malformed("has a field of another type")),
        }
    }

    fn integer(self) -> Result<i64, LokiError> {
        match self {
            Self::Varint(number) => Ok(number.cast_signed()),
            Self::Bytes(_) | Self::Fixed => Err(malformed("has a field of another type")),
        }
    }
}

/// The fields of a message that are still to be read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The next field and its number; `None` at the end.
    fn field(&mut self) -> Result<Option<(u64, Value<'a>)>, LokiError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.bytes(8).map(|_| Value::Fixed)?,
            5 => self.bytes(4).map(|_| Value::Fixed)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.bytes(length)?)
            }
            _ => return Err(malformed("has a field of an unknown wire type")),
        };
        Ok(Some((tag >> 3, value)))
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8], LokiError> {
        let whole = self.0;
        let split = usize::try_from(length).ok().and_then(|at| whole.split_at_checked(at));
        let (bytes, rest) = split.ok_or_else(|| malformed("ends within a field"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn varint(&mut self) -> Result<u64, LokiError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) =
                self.0.split_first().ok_or_else(|| malformed("ends within a number"))?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(malformed("has a number of more than 64 bits"))
    }
}
