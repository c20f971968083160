//! Messages of a preview about a text and its events.

use ingest::{Began, Preview, PreviewedEvent, TimeFrom};
use knowledge::timestamp::NoTime;
use model::EventTime;

/// Returns why an event begins at its position, and the setting that decides it.
pub(super) fn began(began: Began) -> (&'static str, Option<&'static str>) {
    match began {
        Began::Beginning => ("beginning", None),
        Began::Line => ("line", Some("LINE_BREAKER")),
        Began::Pattern => ("pattern", Some("BREAK_ONLY_BEFORE")),
        Began::Date => ("time", Some("BREAK_ONLY_BEFORE_DATE")),
        Began::After => ("end_of_event", Some("MUST_BREAK_AFTER")),
        Began::TooManyLines => ("too_many_lines", Some("MAX_EVENTS")),
        Began::TooLarge => ("too_large", Some("maxEventSize")),
    }
}

/// Returns the origin of an event's time.
pub(super) fn time_from(from: TimeFrom) -> &'static str {
    match from {
        TimeFrom::Text(_) => "text",
        TimeFrom::Field(_) => "field",
        TimeFrom::TimestampFields => "TIMESTAMP_FIELDS",
        TimeFrom::Directive => "directive",
        TimeFrom::Record => "record",
        TimeFrom::Before => "event_before",
        TimeFrom::File => "file",
        TimeFrom::Arrival => "arrival",
    }
}

/// Returns warnings about a text.
pub(super) fn warnings(preview: &Preview, is_whole: bool) -> Vec<String> {
    let mut all = Vec::new();
    if !is_whole {
        all.push(
            "the text is longer than max_preview_bytes in limits.conf [indexpreview]: the rest is \
             ignored, and the last event may be incomplete"
                .to_owned(),
        );
    }
    if preview.repaired {
        all.push(format!(
            "some bytes are not valid in {} and are shown as \\xHH or as replacement characters: see \
             CHARSET",
            preview.charset
        ));
    }
    if preview.findings.headers > 0 {
        all.push("the first line was taken as the header: it names the columns".to_owned());
    }
    let shown = preview.events.len() as u64;
    if shown < preview.cut_events {
        all.push(format!("the first {shown} of {} events are shown", preview.cut_events));
    }
    all
}

/// Returns warnings about an event.
pub(super) fn warnings_of(event: &PreviewedEvent) -> Vec<String> {
    let mut all = Vec::new();
    if !event.dated {
        let instead = match event.time_from {
            TimeFrom::Before => "the time of the previous event",
            TimeFrom::File => "the time at which its file was written",
            _ => "the time of its arrival",
        };
        let why = event.no_time.map_or_else(|| "no field has a time".to_owned(), why);
        all.push(format!("{why}; it has {instead}"));
    }
    if event.cut {
        all.push("longer than TRUNCATE; the rest was dropped".to_owned());
    }
    if event.began == Began::TooManyLines {
        all.push("it was split from the previous event, which has MAX_EVENTS lines".to_owned());
    }
    if event.kept.is_empty() {
        all.push("a rule of transforms.conf drops it".to_owned());
    }
    if event.kept.iter().any(|kept| kept.cut) {
        all.push(
            "larger than maxEventSize, maxEventFields or maxFieldNameSize of server.conf [ingest] allow; \
             the rest was dropped"
                .to_owned(),
        );
    }
    if event.kept.iter().any(|kept| kept.quarantined) {
        all.push(
            "its time is far from now: it goes to the quarantine bucket of its index \
             (quarantinePastSecs, quarantineFutureSecs)"
                .to_owned(),
        );
    }
    all
}

/// Why the text of an event shows no time.
fn why(no_time: NoTime) -> String {
    match no_time {
        NoTime::NotLookedFor => "DATETIME_CONFIG disables timestamp recognition".to_owned(),
        NoTime::NoPrefix => "TIME_PREFIX does not match".to_owned(),
        NoTime::NotBelieved(time) => format!(
            "the time {} is further from now than MAX_DAYS_AGO or MAX_DAYS_HENCE allow",
            written(time)
        ),
        NoTime::TooFarBehind => {
            "the time is not within MAX_TIMESTAMP_LOOKAHEAD (128 bytes where that is not set)"
                .to_owned()
        }
        NoTime::OtherFormat => "TIME_FORMAT does not match".to_owned(),
        NoTime::Nothing => "no timestamp was found".to_owned(),
    }
}

fn written(time: EventTime) -> String {
    let known = jiff::Timestamp::from_microsecond(time.0);
    known.map_or_else(|_| time.0.to_string(), |time| time.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_a_time_names_the_rule_and_what_stands_for_the_time() {
        let mut event = PreviewedEvent {
            span: 0..1,
            line: 1,
            began: Began::TooManyLines,
            time: EventTime(0),
            time_from: TimeFrom::Before,
            time_field: None,
            dated: false,
            no_time: Some(NoTime::NotBelieved(EventTime(0))),
            cut: true,
            kept: Vec::new(),
        };
        let told = warnings_of(&event);
        assert_eq!(
            told[0],
            "the time 1970-01-01T00:00:00Z is further from now than MAX_DAYS_AGO or MAX_DAYS_HENCE \
             allow; it has the time of the previous event"
        );
        assert!(told[1].contains("TRUNCATE") && told[2].contains("MAX_EVENTS"), "{told:?}");
        assert!(told[3].contains("drops it") && told.len() == 4, "{told:?}");
        (event.no_time, event.time_from) = (None, TimeFrom::Arrival);
        assert_eq!(warnings_of(&event)[0], "no field has a time; it has the time of its arrival");
        event.dated = true;
        assert!(warnings_of(&event)[0].contains("TRUNCATE"));
    }
}
