//! A reader per stream, which remembers the header.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::header::{are_names, clean, each_value};
use super::{Delimiter, StructuredFormat, StructuredRules};
use crate::extract::json_scalars;
use crate::timestamp::TimestampFinder;
use model::EventTime;
use model::columns::field_name;

/// Maximum number of cached JSON field names; when it is reached, the cache is emptied.
const NAMES: usize = 10_000;

/// Minimum length in bytes of a text with a date and a time, or a number of seconds.
const DATE: usize = 10;

/// The source of the time of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldBy {
    /// Its text, at the position that the finder returns ([`TimestampFinder::place`]).
    Text,
    /// The field at this index.
    Field(usize),
    /// The fields that `TIMESTAMP_FIELDS` names.
    TimestampFields,
    /// The last `#Date:` directive, and its field `time`.
    Directive,
}

/// Extracts fields from the lines of one stream.
#[derive(Debug)]
pub struct StructuredReader {
    rules: Arc<StructuredRules>,
    /// Number of lines read, until the header is known.
    lines: usize,
    /// The columns, if they are known.
    columns: Option<Vec<Option<Arc<str>>>>,
    names: HashMap<String, Arc<str>>,
    /// Number of table headers read, without directives of W3C logs.
    headers: u64,
    /// The date of the last `#Date:` directive.
    date: Option<String>,
}

impl StructuredReader {
    /// Creates a reader for the start of a stream.
    #[must_use]
    pub fn new(rules: Arc<StructuredRules>) -> Self {
        let columns = rules.names.clone();
        Self { rules, lines: 0, columns, names: HashMap::new(), headers: 0, date: None }
    }

    /// Creates a reader for a stream that continues in the middle of a source; `beginning` is the start of
    /// the source.
    #[must_use]
    pub fn resume(rules: Arc<StructuredRules>, beginning: &str) -> Self {
        let mut reader = Self::new(rules);
        let is_w3c = reader.rules.format == StructuredFormat::W3c;
        for line in beginning.split(['\n', '\r']).filter(|line| !line.is_empty()) {
            if reader.columns.is_some() && !is_w3c && !reader.may_be_header() {
                break;
            }
            let _ = reader.is_event(line);
        }
        reader
    }

    /// Returns its rules.
    #[must_use]
    pub fn rules(&self) -> &Arc<StructuredRules> {
        &self.rules
    }

    /// Returns the number of lines taken as table headers so far.
    #[must_use]
    pub fn headers(&self) -> u64 {
        self.headers
    }

    /// Takes the next line or record, and returns whether it is an event rather than a header, preamble or
    /// comment.
    pub fn is_event(&mut self, line: &str) -> bool {
        if self.rules.format == StructuredFormat::Json {
            return true;
        }
        let is_w3c = self.rules.format == StructuredFormat::W3c;
        let known = self.columns.is_some() && !is_w3c && self.rules.preamble.is_none();
        if known && !self.may_be_header() {
            return true;
        }
        self.lines += 1;
        if is_w3c && let Some(date) = line.strip_prefix("#Date:") {
            self.date = date.split_whitespace().next().map(str::to_owned);
        }
        if self.may_be_header()
            && let Some(header) = self.header(line)
        {
            let cells = self.cells(header);
            if self.guesses_header() && !are_names(&cells) {
                let numbered = (1..=cells.len()).map(|number| format!("column_{number}"));
                self.columns = Some(numbered.map(|name| Some(name.into())).collect());
                return true;
            }
            let names = cells.iter().map(|name| clean(name, &self.rules.special));
            self.columns = Some(names.collect());
            self.headers += u64::from(!is_w3c);
            return false;
        }
        let Some(preamble) = &self.rules.preamble else { return self.columns.is_some() };
        // A text without a header, such as the later part of a file, begins with records; only the preamble
        // identifies lines that are not records.
        let has_no_header = self.rules.header_prefix.is_some() && !is_w3c;
        (self.columns.is_some() || has_no_header) && !preamble.is_match(line)
    }

    /// Returns the text of the header if the line is the header.
    fn header<'t>(&self, line: &'t str) -> Option<&'t str> {
        let rules = &self.rules;
        if let Some(prefix) = &rules.header_prefix {
            return prefix.find_at(line, 0).map(|(_, end)| &line[end..]);
        }
        match rules.header_line {
            Some(number) => (self.lines == number).then_some(line),
            None => {
                let is_preamble = rules.preamble.as_ref().is_some_and(|p| p.is_match(line));
                (!is_preamble && !line.trim().is_empty()).then_some(line)
            }
        }
    }

    /// Returns whether the next line can be a header. With `FIELD_NAMES`, which names the columns if there is
    /// no header, only the first line can be, and only with `FIELD_HEADER_REGEX`.
    fn may_be_header(&self) -> bool {
        match &self.rules.names {
            None => self.columns.is_none() || self.rules.format == StructuredFormat::W3c,
            Some(_) => self.rules.header_prefix.is_some() && self.lines <= 1,
        }
    }

    /// Returns whether no setting says which line is the header.
    fn guesses_header(&self) -> bool {
        self.rules.header_prefix.is_none() && self.rules.header_line.is_none()
    }

    fn cells<'t>(&self, header: &'t str) -> Vec<Cow<'t, str>> {
        let mut cells = Vec::new();
        let header = header.trim_end_matches(['\r', '\n']);
        let rules = &self.rules;
        each_value(header, rules.header_delimiter, rules.header_quote, |cell| cells.push(cell));
        cells
    }

    /// Visits the fields of an event.
    pub fn fields(&mut self, raw: &str, mut visit: impl FnMut(&Arc<str>, &str)) {
        if self.rules.format == StructuredFormat::Json {
            self.json(raw, &mut visit);
            return;
        }
        let (rules, columns) = (&self.rules, self.columns.as_deref().unwrap_or_default());
        let mut at = 0;
        each_value(raw.trim_end_matches(['\r', '\n']), rules.delimiter, rules.quote, |value| {
            if let Some(Some(name)) = columns.get(at)
                && !value.is_empty()
                && !rules.missing.as_ref().is_some_and(|pattern| pattern.is_match(&value))
            {
                visit(name, &value);
            }
            at += 1;
        });
    }

    fn json(&mut self, raw: &str, visit: &mut dyn FnMut(&Arc<str>, &str)) {
        let (rules, names) = (&self.rules, &mut self.names);
        json_scalars(raw, &mut |path, value| {
            let missing = rules.missing.as_ref().is_some_and(|pattern| pattern.is_match(&value));
            if !value.is_empty() && !missing {
                let path = if rules.trim_braces && path.contains("{}") {
                    Cow::Owned(path.replace("{}", ""))
                } else {
                    Cow::Borrowed(path)
                };
                if !names.contains_key(path.as_ref()) {
                    if names.len() >= NAMES {
                        names.clear();
                    }
                    names.insert(path.clone().into_owned(), Arc::from(&*field_name(&path)));
                }
                visit(&names[path.as_ref()], &value);
            }
            ControlFlow::Continue(())
        });
    }

    /// Finds the time of an event: from the `TIMESTAMP_FIELDS`, else the first timestamp in its text, else
    /// the first column with a name such as `Order Date` whose value is a time or a date.
    pub fn find_time(
        &self,
        finder: &mut TimestampFinder,
        raw: &str,
        fields: &[(Arc<str>, String)],
        now: EventTime,
    ) -> Option<(EventTime, ToldBy)> {
        if !self.rules.timestamp_fields.is_empty() {
            let text = self.time_text(fields)?;
            let time = finder.find(&text, now).or_else(|| finder.find_cell(&text, now))?;
            return Some((time, ToldBy::TimestampFields));
        }
        if let Some(text) = self.time_of_directive(fields) {
            return finder.find(&text, now).map(|time| (time, ToldBy::Directive));
        }
        let each = || fields.iter().enumerate();
        // A comma after the seconds starts a fraction, unless it ends a cell.
        let by_cells = self.rules.delimiter == Delimiter::One(',') && finder.rules().is_automatic();
        if by_cells {
            let mut dates = each().filter(|(_, (_, value))| value.len() >= DATE);
            let found = dates
                .find_map(|(at, (_, value))| Some((finder.find(value, now)?, ToldBy::Field(at))));
            if found.is_some() {
                return found;
            }
        }
        let found = if by_cells { None } else { finder.find(raw, now) };
        if found.is_some() || self.rules.format == StructuredFormat::Json {
            return found.map(|time| (time, ToldBy::Text));
        }
        let mut of_time = each().filter(|(_, (name, _))| is_of_time(name));
        of_time
            .find_map(|(at, (_, value))| Some((finder.find_cell(value, now)?, ToldBy::Field(at))))
    }

    /// Returns the time of day of a W3C record after the date of the last directive, if records have no date.
    fn time_of_directive(&self, fields: &[(Arc<str>, String)]) -> Option<String> {
        let date = self.date.as_ref()?;
        let value = |wanted: &str| fields.iter().find(|(name, _)| name.as_ref() == wanted);
        match (value("date"), value("time")) {
            (None, Some((_, time))) => Some(format!("{date} {time}")),
            _ => None,
        }
    }

    /// Returns the text of the event's time, from the fields in `TIMESTAMP_FIELDS`.
    #[must_use]
    pub fn time_text(&self, fields: &[(Arc<str>, String)]) -> Option<String> {
        let names = &self.rules.timestamp_fields;
        let value = |name: &String| {
            let found = fields.iter().find(|(field, _)| field.as_ref() == name.as_str());
            found.map(|(_, value)| value.as_str())
        };
        let parts: Vec<_> = names.iter().filter_map(value).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

/// Returns whether the name of a column indicates a time: `Order Date`, `createdAt`, `start_time`, `ts`.
fn is_of_time(name: &str) -> bool {
    let lower = name.to_lowercase();
    let ends = ["time", "timestamp", "date", "_at", " at", "datetime", "when"];
    lower == "ts" || name.ends_with("At") || ends.iter().any(|end| lower.ends_with(end))
}
