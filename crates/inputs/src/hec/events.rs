//! The body of `/services/collector/event`, decoded straight into the events' own buffer.

use std::borrow::Cow;

use model::IndexName;

use super::fields::{Names, WrongFields, take_fields};
use super::scan::{Malformed, Scanner};
use super::time::parse_time;
use super::{HecDefaults, HecError};
use crate::{CutEvents, Input, MissingTime, OriginRef, OverLimit, StreamKey, text};

/// The body of `/services/collector/event`. `allowed` decides whether the token may write to an
/// index and whether it exists.
///
/// # Errors
/// The HEC error to answer with; nothing of the request is taken.
pub fn decode_events(
    body: &[u8],
    defaults: &HecDefaults,
    allowed: &dyn Fn(&IndexName) -> bool,
    stream: StreamKey,
) -> Result<Input, HecError> {
    let text = match simdutf8::basic::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        // HEC takes events with broken characters; they are repaired like all other text.
        Err(_) => Cow::Owned(text::repaired_json(body)),
    };
    let text = text.trim_start_matches('\u{feff}');
    match decode_text(text, defaults, allowed, stream.clone()) {
        // Some senders cut a text within a character, and escape the remaining half of it.
        Err(error) if error.is_malformed() => match text::with_whole_surrogates(text) {
            Some(text) => decode_text(&text, defaults, allowed, stream),
            None => Err(error),
        },
        decoded => decoded,
    }
}

fn decode_text(
    text: &str,
    defaults: &HecDefaults,
    allowed: &dyn Fn(&IndexName) -> bool,
    stream: StreamKey,
) -> Result<Input, HecError> {
    let missing_time = if defaults.extract_time { MissingTime::FromText } else { MissingTime::Now };
    let mut events = CutEvents::new(missing_time);
    events.text.reserve(text.len().min(defaults.limits.memory));
    let mut decoder =
        Decoder { defaults, allowed, events, number: 0, names: Names::default(), last_index: None };
    let mut scanner = Scanner::new(text);
    while let Some(byte) = scanner.peek() {
        match byte {
            b'{' => decoder.take(&mut scanner)?,
            b'[' => decoder.take_list(&mut scanner)?,
            _ => return Err(HecError::format(decoder.number)),
        }
    }
    if decoder.number == 0 {
        return Err(HecError::NO_DATA);
    }
    Ok(Input::Events { stream, events: decoder.events })
}

struct Decoder<'d> {
    defaults: &'d HecDefaults,
    allowed: &'d dyn Fn(&IndexName) -> bool,
    events: CutEvents,
    number: u64,
    names: Names,
    /// The last index name, so that it is validated once per run of events.
    last_index: Option<IndexName>,
}

/// The members of an event besides its text.
#[derive(Default)]
struct Envelope<'a> {
    event: Event,
    /// The event, if it is an object or a list.
    event_json: Option<&'a str>,
    time: Option<&'a str>,
    host: Option<Cow<'a, str>>,
    source: Option<Cow<'a, str>>,
    sourcetype: Option<Cow<'a, str>>,
    index: Option<Cow<'a, str>>,
    fields: Option<&'a str>,
    /// A bit per name that has been met: none may be there twice.
    met: u8,
}

#[derive(Default, PartialEq, Eq)]
enum Event {
    #[default]
    Missing,
    Blank,
    Written,
}

impl Decoder<'_> {
    fn take_list(&mut self, scanner: &mut Scanner<'_>) -> Result<(), HecError> {
        let malformed = |number| move |_: Malformed| HecError::format(number);
        scanner.expect(b'[').map_err(malformed(self.number))?;
        if scanner.take(b']') {
            return Ok(());
        }
        loop {
            self.take(scanner)?;
            if scanner.take(b']') {
                return Ok(());
            }
            scanner.expect(b',').map_err(malformed(self.number))?;
        }
    }

    fn take(&mut self, scanner: &mut Scanner<'_>) -> Result<(), HecError> {
        let number = self.number;
        let envelope = self.read(scanner).map_err(|Malformed| HecError::format(number))?;
        match envelope.event {
            Event::Missing => return Err(HecError::missing(number)),
            Event::Blank => return Err(HecError::blank(number)),
            Event::Written => {}
        }
        let time = match envelope.time {
            None | Some("null") => self.defaults.time,
            Some(time) => Some(parse_time(time).ok_or(HecError::fields(number))?),
        };
        let index = self.index(envelope.index.as_deref())?;
        let defaults = self.defaults;
        let sourcetype = envelope.sourcetype.as_deref().or(defaults.sourcetype.as_deref());
        let origin = OriginRef {
            index: &index,
            host: envelope.host.as_deref().unwrap_or(&defaults.host),
            source: envelope.source.as_deref().unwrap_or(&defaults.source),
            sourcetype: Some(sourcetype.unwrap_or("httpevent")),
        };
        if !self.events.push_written(origin, time) {
            return Err(HecError::format(number));
        }
        self.check(envelope.event_json)?;
        if let Some(fields) = envelope.fields.filter(|fields| *fields != "null") {
            let events = &mut self.events;
            let limits = defaults.limits;
            let (mut count, mut bytes) = (0, events.text(events.len() - 1).len());
            take_fields(fields, &mut self.names, |name, value| {
                count += 1;
                bytes += name.len() + value.len();
                if count > limits.fields {
                    return Err(OverLimit::Fields(limits.fields));
                }
                if name.len() > limits.field_name_bytes {
                    return Err(OverLimit::FieldName(limits.field_name_bytes));
                }
                if bytes > limits.event_bytes {
                    return Err(OverLimit::Event(limits.event_bytes));
                }
                events.push_field(name, value);
                Ok(())
            })
            .map_err(|wrong| match wrong {
                WrongFields::Shape => HecError::format(number),
                WrongFields::Nested => HecError::fields(number),
                WrongFields::Measure => HecError::measure(number),
                WrongFields::MetricName => HecError::metric_name(number),
                WrongFields::Over(over) => HecError::over_limit(number, over),
            })?;
        }
        self.number += 1;
        Ok(())
    }

    /// Whether the event pushed last, and all of them, are within their limits.
    fn check(&self, json: Option<&str>) -> Result<(), HecError> {
        let limits = &self.defaults.limits;
        let over = |over| HecError::over_limit(self.number, over);
        if self.events.text(self.events.len() - 1).len() > limits.event_bytes {
            return Err(over(OverLimit::Event(limits.event_bytes)));
        }
        if self.events.memory() > limits.memory {
            return Err(over(OverLimit::Memory(limits.memory)));
        }
        json.map_or(Ok(()), |json| limits.check_depth(json.as_bytes()).map_err(over))
    }

    /// Reads an object, and appends the event's text to the texts of the others.
    fn read<'a>(&mut self, scanner: &mut Scanner<'a>) -> Result<Envelope<'a>, Malformed> {
        let mut envelope = Envelope::default();
        scanner.expect(b'{')?;
        let mut first = true;
        while let Some(name) = scanner.member(first)? {
            first = false;
            let bit = match &*name {
                "event" => {
                    (envelope.event, envelope.event_json) = self.write_event(scanner)?;
                    1
                }
                "time" => {
                    envelope.time = Some(scanner.value()?);
                    2
                }
                "host" => {
                    envelope.host = text_or_null(scanner)?;
                    4
                }
                "source" => {
                    envelope.source = text_or_null(scanner)?;
                    8
                }
                "sourcetype" => {
                    envelope.sourcetype = text_or_null(scanner)?;
                    16
                }
                "index" => {
                    envelope.index = text_or_null(scanner)?;
                    32
                }
                "fields" => {
                    envelope.fields = Some(scanner.value()?);
                    64
                }
                _ => {
                    scanner.value()?;
                    continue;
                }
            };
            if envelope.met & bit != 0 {
                return Err(Malformed);
            }
            envelope.met |= bit;
        }
        Ok(envelope)
    }

    fn write_event<'a>(
        &mut self,
        scanner: &mut Scanner<'a>,
    ) -> Result<(Event, Option<&'a str>), Malformed> {
        let text = &mut self.events.text;
        let before = text.len();
        let mut json = None;
        if scanner.peek() == Some(b'"') {
            scanner.string_into(text)?;
        } else {
            match scanner.value()? {
                "null" => return Ok((Event::Missing, None)),
                value => {
                    text.extend_from_slice(value.as_bytes());
                    json = Some(value);
                }
            }
        }
        let event = if text.len() == before { Event::Blank } else { Event::Written };
        Ok((event, json))
    }

    fn index(&mut self, name: Option<&str>) -> Result<IndexName, HecError> {
        let name = name.unwrap_or(self.defaults.index.as_str());
        if let Some(last) = self.last_index.as_ref().filter(|last| last.as_str() == name) {
            return Ok(last.clone());
        }
        let wrong = HecError::index(self.number);
        let index = IndexName::new(name).map_err(|_| wrong.clone())?;
        if !(self.allowed)(&index) {
            return Err(wrong);
        }
        self.last_index = Some(index.clone());
        Ok(index)
    }
}

/// Reads a name of the event's metadata; an empty one counts as absent.
fn text_or_null<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Cow<'a, str>>, Malformed> {
    if scanner.peek() == Some(b'"') {
        return scanner.string().map(|text| Some(text).filter(|text| !text.is_empty()));
    }
    if scanner.value()? == "null" { Ok(None) } else { Err(Malformed) }
}
