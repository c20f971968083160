//! Structured sources: `INDEXED_EXTRACTIONS` and related settings.
//!
//! A header names the columns, and records follow; each column with a value becomes an indexed field of the
//! event. JSON needs no header: every scalar is a field, named by its path.
//!
//! Guarantees: `_raw` of an event is its record as it arrived; headers, comments and preambles are not
//! events; a record whose quotes or brackets are never closed ends at its first line end, so that the
//! following records are kept. Leaves to others: where streams begin and end.

mod header;
mod reader;
mod records;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use conf::Key;
use eval::Pattern;
pub use reader::{StructuredReader, ToldBy};
pub use records::{RecordBreak, RecordScanner};

use crate::error::Error;
use crate::props::{Values, bad_value};
use crate::settings::props::{self as keys, character};

/// The format of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredFormat {
    /// Values separated by delimiters: csv, tsv, psv.
    Delimited,
    /// The W3C extended log format: delimited, with `#Fields:` as header.
    W3c,
    /// JSON objects in sequence.
    Json,
}

/// The separator of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delimiter {
    One(char),
    /// Any number of blanks and tabs.
    Blanks,
}

/// The settings of one structured source.
#[derive(Debug, Clone)]
pub struct StructuredRules {
    /// `INDEXED_EXTRACTIONS`.
    pub format: StructuredFormat,
    /// `FIELD_DELIMITER`.
    pub(crate) delimiter: Delimiter,
    /// `FIELD_QUOTE`.
    pub(crate) quote: Option<char>,
    /// `HEADER_FIELD_DELIMITER`.
    pub(crate) header_delimiter: Delimiter,
    /// `HEADER_FIELD_QUOTE`.
    pub(crate) header_quote: Option<char>,
    /// `HEADER_FIELD_LINE_NUMBER`, from 1; `None` if the header is detected.
    pub(crate) header_line: Option<usize>,
    /// `FIELD_HEADER_REGEX`: the header follows the match.
    pub(crate) header_prefix: Option<Pattern>,
    /// `PREAMBLE_REGEX`: lines that are neither headers nor records.
    pub(crate) preamble: Option<Pattern>,
    /// `FIELD_NAMES`: the names of the columns, without a header.
    pub(crate) names: Option<Vec<Option<Arc<str>>>>,
    /// `MISSING_VALUE_REGEX`: values that are treated as missing.
    pub(crate) missing: Option<Pattern>,
    /// `TIMESTAMP_FIELDS`: the fields that form the timestamp, in order.
    pub timestamp_fields: Vec<String>,
    /// `HEADER_FIELD_ACCEPTABLE_SPECIAL_CHARACTERS`.
    pub(crate) special: String,
    /// `JSON_TRIM_BRACES_IN_ARRAY_NAMES`.
    pub(crate) trim_braces: bool,
}

impl StructuredRules {
    /// Reads the settings; `None` unless `INDEXED_EXTRACTIONS` is set.
    pub(crate) fn read(values: &Values<'_>, errors: &mut Vec<Error>) -> Option<Self> {
        let entry = values.get(&keys::INDEXED_EXTRACTIONS)?;
        let (format, delimiter) = match entry.value.to_ascii_lowercase().as_str() {
            "csv" => (StructuredFormat::Delimited, ','),
            "tsv" => (StructuredFormat::Delimited, '\t'),
            "psv" => (StructuredFormat::Delimited, '|'),
            "w3c" => (StructuredFormat::W3c, ' '),
            "json" => (StructuredFormat::Json, ','),
            // The lines are requests, not records: see `ParsingRules::otlp`.
            "otlp" | "none" | "false" => return None,
            _ => {
                errors.push(bad_value(entry, &keys::INDEXED_EXTRACTIONS.setting.kind.expected()));
                return None;
            }
        };
        let w3c = format == StructuredFormat::W3c;
        let delimiter = delimiter_of(values, &keys::FIELD_DELIMITER, errors)
            .unwrap_or(Delimiter::One(delimiter));
        let quote = quote_of(values, &keys::FIELD_QUOTE, errors).unwrap_or(Some('"'));
        let special = values.get(&keys::SPECIAL_CHARACTERS);
        let special = special.map(|entry| entry.value.clone()).unwrap_or_default();
        let names = list(values, &keys::FIELD_NAMES).map(|names| {
            names.iter().map(|name| header::clean(name, &special)).collect::<Vec<_>>()
        });
        let pattern = |text: &str| w3c.then(|| Pattern::compile(text).ok()).flatten();
        let line = values.read(&keys::HEADER_FIELD_LINE_NUMBER, errors);
        Some(Self {
            format,
            delimiter,
            quote,
            header_delimiter: delimiter_of(values, &keys::HEADER_FIELD_DELIMITER, errors)
                .unwrap_or(if w3c { Delimiter::Blanks } else { delimiter }),
            header_quote: quote_of(values, &keys::HEADER_FIELD_QUOTE, errors).unwrap_or(quote),
            header_line: usize::try_from(line).ok().filter(|line| *line > 0),
            header_prefix: values
                .pattern(&keys::FIELD_HEADER_REGEX, errors)
                .or_else(|| pattern(r"(?i)^#Fields:\s*")),
            preamble: values.pattern(&keys::PREAMBLE_REGEX, errors).or_else(|| pattern("^#")),
            names,
            missing: values.pattern(&keys::MISSING_VALUE_REGEX, errors),
            timestamp_fields: list(values, &keys::TIMESTAMP_FIELDS).unwrap_or_default(),
            special,
            trim_braces: values.read(&keys::TRIM_BRACES, errors),
        })
    }
}

/// Splits names at commas; each may be quoted.
fn list(values: &Values<'_>, key: &Key<String>) -> Option<Vec<String>> {
    let text = &values.get(key)?.value;
    let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let names = text.split(',').map(|name| name.trim().trim_matches('"').to_owned());
    Some(names.collect())
}

fn delimiter_of(
    values: &Values<'_>,
    key: &Key<String>,
    errors: &mut Vec<Error>,
) -> Option<Delimiter> {
    let entry = values.get(key)?;
    let found = delimiter(&entry.value);
    if found.is_none() {
        errors.push(bad_value(entry, &key.setting.kind.expected()));
    }
    found
}

fn delimiter(text: &str) -> Option<Delimiter> {
    match text.to_ascii_lowercase().as_str() {
        "whitespace" | "ws" => Some(Delimiter::Blanks),
        _ => character(text).flatten().map(Delimiter::One),
    }
}

/// Returns the quote character; `Some(None)` if the setting says that there is none.
fn quote_of(
    values: &Values<'_>,
    key: &Key<String>,
    errors: &mut Vec<Error>,
) -> Option<Option<char>> {
    let entry = values.get(key)?;
    let found = character(&entry.value);
    if found.is_none() {
        errors.push(bad_value(entry, &key.setting.kind.expected()));
    }
    found
}
