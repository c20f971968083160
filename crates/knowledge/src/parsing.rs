//! How the bytes of a source become events: the parsing half of `props.conf`, typed and validated.

use std::sync::Arc;

use conf::{Effective, Files};
use eval::Pattern;
use eval::time::{TimeFormat, parse_zone};

use crate::charset::Charset;
use crate::error::Error;
use crate::extract::KvMode;
use crate::index_time::{self, IndexTimeRules};
use crate::props::{Values, bad_regex, bad_value, refused};
use crate::settings::props as keys;
use crate::structured::{RecordScanner, StructuredRules};
use crate::timestamp::{DatetimePatterns, Lookahead, TimePrefix, TimestampRules, TimestampSource};

/// Rules for cutting text into events and finding their times.
#[derive(Debug, Clone)]
pub struct ParsingRules {
    /// `LINE_BREAKER`.
    pub line_breaker: LineBreaker,
    /// `SHOULD_LINEMERGE`: whether lines are joined into events, by the rules below.
    pub should_linemerge: bool,
    /// `BREAK_ONLY_BEFORE_DATE`: a line with a timestamp starts an event.
    pub break_only_before_date: bool,
    /// `BREAK_ONLY_BEFORE`: lines that start an event.
    pub break_only_before: Option<Pattern>,
    /// `MUST_BREAK_AFTER`: lines that end an event.
    pub must_break_after: Option<Pattern>,
    /// `MUST_NOT_BREAK_BEFORE`: lines that never start an event.
    pub must_not_break_before: Option<Pattern>,
    /// `MUST_NOT_BREAK_AFTER`: lines after which no event starts until one matches
    /// `MUST_BREAK_AFTER`.
    pub must_not_break_after: Option<Pattern>,
    /// `MAX_EVENTS`: maximum number of lines of an event.
    pub max_events: usize,
    /// `TRUNCATE`: maximum length of a line in bytes; `None` for no limit.
    pub truncate: Option<usize>,
    /// `LINE_BREAKER_LOOKBEHIND`: number of bytes before the end of a chunk in which a break may begin that
    /// the next chunk completes.
    pub line_breaker_lookbehind: usize,
    /// `CHARSET`.
    pub charset: Charset,
    /// `PREAMBLE_REGEX`: lines that are dropped, such as the headers of Zeek's logs.
    pub preamble: Option<Pattern>,
    /// How timestamps are found.
    pub timestamp: Arc<TimestampRules>,
    /// `INDEXED_EXTRACTIONS` and related settings.
    pub structured: Option<Arc<StructuredRules>>,
    /// Whether the source is a log of JSON objects (`KV_MODE = json` without merging of lines): then a
    /// pretty-printed object is one event.
    pub json_objects: bool,
    /// `INDEXED_EXTRACTIONS = otlp`: whether lines are requests whose log records are the events.
    pub otlp: bool,
    /// Index-time rules: they change, route and drop events.
    pub index_time: Arc<IndexTimeRules>,
}

impl Default for ParsingRules {
    fn default() -> Self {
        Self {
            line_breaker: LineBreaker::Newlines,
            should_linemerge: keys::SHOULD_LINEMERGE.default_value(),
            break_only_before_date: keys::BREAK_ONLY_BEFORE_DATE.default_value(),
            break_only_before: None,
            must_break_after: None,
            must_not_break_before: None,
            must_not_break_after: None,
            max_events: keys::MAX_EVENTS.default_value(),
            truncate: Some(keys::TRUNCATE.default_value()),
            line_breaker_lookbehind: keys::LINE_BREAKER_LOOKBEHIND.default_value(),
            charset: Charset::Utf8,
            preamble: None,
            timestamp: Arc::new(TimestampRules::default()),
            structured: None,
            json_objects: false,
            otlp: false,
            index_time: Arc::default(),
        }
    }
}

/// The separator of lines.
#[derive(Debug, Clone)]
pub enum LineBreaker {
    /// Runs of carriage returns and newlines (default).
    Newlines,
    /// A pattern: the text of the first group that takes part in the match is dropped; the text before it
    /// ends a line, the text after it starts the next line.
    Pattern(Pattern),
}

impl LineBreaker {
    /// Returns begin and end of the next gap between lines at or after a position. A gap at the end of the
    /// text is returned only at the end of the input (`end_of_input`), because more text could make it
    /// longer.
    #[must_use]
    pub fn next_gap(&self, text: &str, from: usize, end_of_input: bool) -> Option<(usize, usize)> {
        let (start, end, match_end) = match self {
            Self::Newlines => {
                let bytes = text.as_bytes();
                let start = from + memchr::memchr2(b'\n', b'\r', &bytes[from..])?;
                let rest = bytes[start..].iter();
                let length = rest.take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
                (start, start + length, start + length)
            }
            Self::Pattern(pattern) => {
                let groups = pattern.groups_at(text, from)?;
                let whole = groups.span(0)?;
                let (start, end) = (1..pattern.names().len())
                    .find_map(|group| groups.span(group))
                    .unwrap_or((whole.0, whole.0));
                (start, end, whole.1)
            }
        };
        (end_of_input || match_end < text.len()).then_some((start, end))
    }
}

impl ParsingRules {
    /// Returns the scanner of a source that breaks at the ends of its records instead of its lines. `limit`
    /// is the maximum length of an event in bytes.
    #[must_use]
    pub fn records(&self, limit: usize) -> Option<RecordScanner> {
        if matches!(self.line_breaker, LineBreaker::Pattern(_)) {
            return None;
        }
        let limit = self.truncate.map_or(limit, |truncate| truncate.min(limit));
        match &self.structured {
            Some(rules) => RecordScanner::new(rules, limit),
            None => {
                let is_objects = self.json_objects && !self.should_linemerge && !self.otlp;
                is_objects.then(|| RecordScanner::objects(limit))
            }
        }
    }

    /// Returns what is kept of a line (`TRUNCATE`).
    #[must_use]
    pub fn truncated<'t>(&self, line: &'t str) -> &'t str {
        self.truncate.map_or(line, |limit| &line[..line.floor_char_boundary(limit)])
    }

    /// Reads the settings; invalid values are added to `errors` and replaced by defaults.
    pub(crate) fn read(
        values: &Values<'_>,
        transforms: &Effective,
        files: &Files,
        errors: &mut Vec<Error>,
    ) -> Self {
        let truncate = values.read(&keys::TRUNCATE, errors);
        Self {
            line_breaker: line_breaker(values, errors),
            should_linemerge: values.read(&keys::SHOULD_LINEMERGE, errors),
            break_only_before_date: values.read(&keys::BREAK_ONLY_BEFORE_DATE, errors),
            break_only_before: values.pattern(&keys::BREAK_ONLY_BEFORE, errors),
            must_break_after: values.pattern(&keys::MUST_BREAK_AFTER, errors),
            must_not_break_before: values.pattern(&keys::MUST_NOT_BREAK_BEFORE, errors),
            must_not_break_after: values.pattern(&keys::MUST_NOT_BREAK_AFTER, errors),
            max_events: values.read(&keys::MAX_EVENTS, errors).max(1),
            truncate: (truncate > 0).then_some(truncate),
            line_breaker_lookbehind: values.read(&keys::LINE_BREAKER_LOOKBEHIND, errors),
            charset: Charset::parse(&values.read(&keys::CHARSET, errors)).unwrap_or_default(),
            preamble: values.pattern(&keys::PREAMBLE_REGEX, errors),
            timestamp: Arc::new(timestamp(values, files, errors)),
            structured: StructuredRules::read(values, errors).map(Arc::new),
            json_objects: values
                .get(&keys::KV_MODE)
                .is_some_and(|entry| KvMode::parse(&entry.value) == Some(KvMode::Json)),
            otlp: values
                .get(&keys::INDEXED_EXTRACTIONS)
                .is_some_and(|entry| entry.value.eq_ignore_ascii_case("otlp")),
            index_time: Arc::new(index_time::read(values, transforms, errors)),
        }
    }
}

fn line_breaker(values: &Values<'_>, errors: &mut Vec<Error>) -> LineBreaker {
    let Some(entry) = values
        .get(&keys::LINE_BREAKER)
        .filter(|entry| entry.value != keys::LINE_BREAKER.setting.default)
    else {
        return LineBreaker::Newlines;
    };
    match values.pattern(&keys::LINE_BREAKER, errors) {
        Some(pattern) if pattern.names().len() > 1 => LineBreaker::Pattern(pattern),
        Some(_) => {
            errors.push(bad_regex(entry, "it needs a group, whose text is dropped".to_owned()));
            LineBreaker::Newlines
        }
        None => LineBreaker::Newlines,
    }
}

fn timestamp(values: &Values<'_>, files: &Files, errors: &mut Vec<Error>) -> TimestampRules {
    let mut rules = TimestampRules::default();
    if let Some(entry) = values.get(&keys::DATETIME_CONFIG) {
        match entry.value.to_ascii_uppercase().as_str() {
            "CURRENT" => rules.from = TimestampSource::Arrival,
            "NONE" => rules.from = TimestampSource::Input,
            _ => match files.get(&entry.value) {
                Some(xml) => match DatetimePatterns::compile(xml) {
                    Ok(patterns) => rules.patterns = Some(Arc::new(patterns)),
                    Err(reason) => errors.push(Error::Expression {
                        place: entry.place.clone(),
                        key: format!("{} = {}", entry.key, entry.value),
                        reason,
                    }),
                },
                // Splunk's own file of formats selects automatic recognition.
                None if entry.value.trim_start_matches('/') == "etc/datetime.xml" => {}
                None => {
                    let expected = "CURRENT, NONE, or the path of an .xml file that exists in system/local \
                                    or an app, such as /etc/apps/x/local/datetime.xml";
                    errors.push(bad_value(entry, expected));
                }
            },
        }
    }
    if let Some(entry) = values.get(&keys::TIME_PREFIX) {
        match TimePrefix::compile(&entry.value) {
            Ok(prefix) => rules.prefix = Some(prefix),
            Err(reason) => errors.push(bad_regex(entry, reason)),
        }
    }
    if let Some(entry) = values.get(&keys::TIME_FORMAT) {
        match TimeFormat::for_input(&entry.value) {
            Ok(format) if format.is_constant() => {
                let reason = "it has no specifier such as %Y or %H, so it tells no time";
                errors.push(refused(entry, reason.to_owned()));
            }
            Ok(format) => rules.format = Some(format),
            Err(error) => errors.push(refused(entry, error.to_string())),
        }
    }
    if let Some(entry) = values.get(&keys::TZ) {
        match parse_zone(&entry.value) {
            Ok(zone) => rules.zone = zone,
            Err(error) => errors.push(refused(entry, error.to_string())),
        }
    }
    match values.read(&keys::MAX_TIMESTAMP_LOOKAHEAD, errors) {
        None => {}
        Some(..=0) => rules.lookahead = Lookahead::Unlimited,
        Some(bytes) => {
            rules.lookahead = Lookahead::Bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
        }
    }
    rules.max_days_ago = values.read(&keys::MAX_DAYS_AGO, errors);
    rules.max_days_hence = values.read(&keys::MAX_DAYS_HENCE, errors);
    rules.max_diff_secs_ago = values.read(&keys::MAX_DIFF_SECS_AGO, errors);
    rules.max_diff_secs_hence = values.read(&keys::MAX_DIFF_SECS_HENCE, errors);
    rules
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Knowledge;
    use conf::{Layer, Layers};

    fn knowledge(props: &str) -> Knowledge {
        Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props))
    }

    fn lines<'a>(breaker: &LineBreaker, text: &'a str, end_of_input: bool) -> Vec<&'a str> {
        let (mut lines, mut from) = (Vec::new(), 0);
        let mut search = 0;
        while let Some((start, end)) = breaker.next_gap(text, search, end_of_input) {
            lines.push(&text[from..start]);
            from = end;
            search = if end > search && end > start { end } else { end + 1 };
        }
        lines.push(&text[from..]);
        lines
    }

    #[test]
    fn lines_end_at_newlines_and_only_a_whole_gap_counts() {
        let breaker = LineBreaker::Newlines;
        assert_eq!(lines(&breaker, "a\r\nb\n\nc\n", true), ["a", "b", "c", ""]);
        assert_eq!(lines(&breaker, "a\r\nb\r", false), ["a", "b\r"]);
    }

    #[test]
    fn the_first_group_of_a_line_breaker_is_dropped() {
        let rules = knowledge("[a]\nLINE_BREAKER = ;([,]+)x|(\\|)").parsing_rules("a", "s", "h");
        assert_eq!(lines(&rules.line_breaker, "1;,,x2|3", true), ["1;", "x2", "3"]);
    }

    #[test]
    fn cloudtrail_records_are_cut_out_of_their_wrapper() {
        let rules = Knowledge::builtin().parsing_rules("aws:cloudtrail", "s", "h");
        let one = r#"{"Records":[{"eventVersion":"1","a":[{"b":1}]},{"eventVersion":"2"}]}"#;
        let first = r#"{"eventVersion":"1","a":[{"b":1}]}"#;
        let second = r#"{"eventVersion":"2"}"#;
        assert_eq!(
            lines(&rules.line_breaker, &format!("{one}\n{one}\n"), true),
            ["", first, second, first, second, ""]
        );
        let spaced = "{\n \"Records\" : [ {\"eventVersion\":1},\n {\"eventVersion\":2} ]\n}";
        assert_eq!(
            lines(&rules.line_breaker, spaced, true),
            ["", "{\"eventVersion\":1}", "{\"eventVersion\":2}", ""]
        );
    }

    #[test]
    fn settings_are_read_and_typed() {
        let rules = knowledge(
            "[a]\nSHOULD_LINEMERGE = false\nTRUNCATE = 0\nMAX_EVENTS = 9\nBREAK_ONLY_BEFORE = ^x\nTZ = +01:00\n\
             MAX_TIMESTAMP_LOOKAHEAD = 20\nDATETIME_CONFIG = CURRENT\nCHARSET = LATIN-1\nMAX_DAYS_AGO = 5",
        )
        .parsing_rules("a", "s", "h");
        assert!(!rules.should_linemerge && rules.truncate.is_none() && rules.max_events == 9);
        assert!(rules.break_only_before.as_ref().is_some_and(|p| p.is_match("xy")));
        assert_eq!(rules.charset, Charset::Other(encoding_rs::WINDOWS_1252));
        let time = &rules.timestamp;
        assert_eq!((time.lookahead, time.from), (Lookahead::Bytes(20), TimestampSource::Arrival));
        assert_eq!((time.max_days_ago, time.max_days_hence), (5, 2));
    }

    #[test]
    fn encodings_have_many_names() {
        for (name, expected) in [
            ("UTF-16LE", encoding_rs::UTF_16LE),
            ("ucs-2le", encoding_rs::UTF_16LE),
            ("Shift_JIS", encoding_rs::SHIFT_JIS),
            ("MACROMAN", encoding_rs::MACINTOSH),
            ("cp1251", encoding_rs::WINDOWS_1251),
            ("KOI8-R", encoding_rs::KOI8_R),
            ("EUC-KR", encoding_rs::EUC_KR),
        ] {
            assert_eq!(Charset::parse(name), Some(Charset::Other(expected)), "{name}");
        }
        assert_eq!(Charset::parse("AUTO"), Some(Charset::Auto));
        assert_eq!(Charset::parse("UTF8"), Some(Charset::Utf8));
        assert_eq!(Charset::parse("UTF-7"), None);
    }

    #[test]
    fn a_breaker_whose_groups_take_no_part_breaks_before_its_match() {
        let rules =
            knowledge("[a]\nLINE_BREAKER = end(\\n)begin|begin3").parsing_rules("a", "s", "h");
        let found = lines(&rules.line_breaker, "1 end\nbegin 2 begin3 x", true);
        assert_eq!(found, ["1 end", "begin 2 ", "begin3 x"]);
    }

    #[test]
    fn wrong_settings_are_errors_with_their_place_and_leave_the_default() {
        let text = "[a]\nTRUNCATE = x\nLINE_BREAKER = (\nTIME_FORMAT = %i\nTZ = Moon\nCHARSET = x\nEXTRACT-a = (?<a\nREPORT-b = none";
        let knowledge = knowledge(text);
        let shown: Vec<String> = knowledge.errors().iter().map(ToString::to_string).collect();
        for (line, part) in [
            (2, "TRUNCATE = x"),
            (3, "LINE_BREAKER"),
            (4, "TIME_FORMAT = %i: bad time format"),
            (5, "TZ = Moon: unknown time zone \"Moon\""),
            (6, "CHARSET = x"),
            (7, "EXTRACT-a"),
            (8, "[none]"),
        ] {
            let place = format!("system/local/props.conf:{line}: ");
            assert!(
                shown.iter().any(|e| e.starts_with(&place) && e.contains(part)),
                "{line}: {shown:#?}"
            );
        }
        assert_eq!(knowledge.parsing_rules("a", "s", "h").truncate, Some(10_000));
    }

    #[test]
    fn a_time_format_without_specifiers_is_an_error() {
        for format in ["YYYY-MM-DD", "100%%", "%n x"] {
            let knowledge = knowledge(&format!("[a]\nTIME_FORMAT = {format}"));
            let shown: Vec<String> = knowledge.errors().iter().map(ToString::to_string).collect();
            let expected = format!("props.conf:2: TIME_FORMAT = {format}: it has no specifier");
            assert!(shown.len() == 1 && shown[0].contains(&expected), "{shown:?}");
            assert!(knowledge.parsing_rules("a", "s", "h").timestamp.format.is_none());
        }
    }

    #[test]
    fn timestamps_may_be_described_by_a_file_of_an_app() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("apps/x/local");
        std::fs::create_dir_all(&folder).unwrap();
        let xml = r#"<datetime>
            <define name="t" extract="utcepoch"><text>at=(\d+)</text></define>
            <datePatterns><use name="t"/></datePatterns></datetime>"#;
        std::fs::write(folder.join("times.xml"), xml).unwrap();
        let props = "[a]\nDATETIME_CONFIG = /etc/apps/x/local/times.xml\n\
                     [b]\nDATETIME_CONFIG = /etc/datetime.xml\n[c]\nDATETIME_CONFIG = /etc/none.xml";
        std::fs::write(folder.join("props.conf"), props).unwrap();
        let knowledge = Knowledge::new(Layers::read(root.path()).unwrap());
        assert_eq!(knowledge.errors().len(), 1, "{:?}", knowledge.errors());
        let rules = knowledge.parsing_rules("a", "s", "h");
        let mut finder = crate::timestamp::TimestampFinder::new(Arc::clone(&rules.timestamp));
        let now = model::EventTime(1_700_000_000_000_000);
        let found = finder.find("2020-01-01 x at=1699999999", now);
        assert_eq!(found, Some(model::EventTime(1_699_999_999_000_000)));
    }

    #[test]
    fn built_in_settings_have_no_errors() {
        assert!(Knowledge::builtin().errors().is_empty(), "{:?}", Knowledge::builtin().errors());
    }

    #[test]
    fn errors_of_apps_are_not_fatal() {
        let app = Layer::AppDefault("a".to_owned());
        let text = "[a]\nLINE_BREAKER = [\\r\\n]+\nREPORT-x = nothing\nTRANSFORMS-x = nothing\nTRUNCATE = 7";
        let knowledge = Knowledge::new(Layers::builtin().with(app, "props", text));
        assert_eq!((knowledge.fatal_errors().count(), knowledge.app_errors().count()), (0, 3));
        let rules = knowledge.parsing_rules("a", "s", "h");
        assert!(matches!(rules.line_breaker, LineBreaker::Newlines) && rules.truncate == Some(7));
        let system = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", text));
        assert_eq!((system.fatal_errors().count(), system.app_errors().count()), (3, 0));
    }
}
