//! A reader per stream, with a memory of the header.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::header::{clean, each_value};
use super::{StructuredFormat, StructuredRules};
use crate::extract::json_scalars;

/// Names of JSON fields that are remembered; more empty the memory.
const NAMES: usize = 10_000;

/// Makes fields of the lines of one stream.
#[derive(Debug)]
pub struct StructuredReader {
    rules: Arc<StructuredRules>,
    /// Lines so far, until the header is known.
    lines: usize,
    /// The columns, once they are known.
    columns: Option<Vec<Option<Arc<str>>>>,
    names: HashMap<String, Arc<str>>,
}

impl StructuredReader {
    /// A reader of a stream that begins.
    #[must_use]
    pub fn new(rules: Arc<StructuredRules>) -> Self {
        let columns = rules.names.clone();
        Self { rules, lines: 0, columns, names: HashMap::new() }
    }

    /// A reader of a stream that goes on in the middle of a source which begins with a text.
    #[must_use]
    pub fn resume(rules: Arc<StructuredRules>, beginning: &str) -> Self {
        let mut reader = Self::new(rules);
        let is_w3c = reader.rules.format == StructuredFormat::W3c;
        for line in beginning.split(['\n', '\r']).filter(|line| !line.is_empty()) {
            if reader.columns.is_some() && !is_w3c {
                break;
            }
            let _ = reader.is_event(line);
        }
        reader
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> &Arc<StructuredRules> {
        &self.rules
    }

    /// Takes the next line or record: whether it is an event, rather than a header, preamble or
    /// comment.
    pub fn is_event(&mut self, line: &str) -> bool {
        if self.rules.format == StructuredFormat::Json {
            return true;
        }
        let is_w3c = self.rules.format == StructuredFormat::W3c;
        if self.columns.is_some() && !is_w3c && self.rules.preamble.is_none() {
            return true;
        }
        self.lines += 1;
        if (self.columns.is_none() || is_w3c)
            && self.rules.names.is_none()
            && let Some(header) = self.header(line)
        {
            self.columns = Some(self.columns_of(header));
            return false;
        }
        let is_preamble = self.rules.preamble.as_ref().is_some_and(|p| p.is_match(line));
        self.columns.is_some() && !is_preamble
    }

    /// The text of the header in a line, if the line is it.
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

    fn columns_of(&self, header: &str) -> Vec<Option<Arc<str>>> {
        let rules = &self.rules;
        let mut columns = Vec::new();
        let header = header.trim_end_matches(['\r', '\n']);
        each_value(header, rules.header_delimiter, rules.header_quote, |name| {
            columns.push(clean(&name, &rules.special));
        });
        columns
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
                    names.insert(path.clone().into_owned(), json_name(&path));
                }
                visit(&names[path.as_ref()], &value);
            }
            ControlFlow::Continue(())
        });
    }

    /// The text that tells an event's time, from the fields that `TIMESTAMP_FIELDS` names.
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

/// Paths keep their form; what every event has keeps its meaning.
fn json_name(path: &str) -> Arc<str> {
    match path {
        "host" | "source" | "sourcetype" | "index" => format!("extracted_{path}").into(),
        "_raw" | "_time" | "_indextime" => format!("extracted{path}").into(),
        other => other.into(),
    }
}
