//! Converts rows to a search filter, as for subsearches.

use spl::ast::{Returned, ReturnedForm};

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// The output field of the filter.
const TARGET: &str = "search";

/// The texts between and around values, from the options of `format`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// Precedes the rows.
    pub row_prefix: String,
    /// Precedes the fields of a row.
    pub column_prefix: String,
    /// Separates the fields of a row.
    pub column_separator: String,
    /// Follows the fields of a row.
    pub column_end: String,
    /// Separates rows.
    pub row_separator: String,
    /// Follows the rows.
    pub row_end: String,
    /// Separates the values of one field.
    pub mvsep: String,
    /// The filter for an empty result.
    pub emptystr: String,
}

impl Default for Format {
    fn default() -> Self {
        let [row_prefix, column_prefix, column_separator, column_end, row_separator, row_end] =
            ["(", "(", "AND", ")", "OR", ")"].map(str::to_owned);
        Self {
            row_prefix,
            column_prefix,
            column_separator,
            column_end,
            row_separator,
            row_end,
            mvsep: "OR".to_owned(),
            emptystr: "NOT ( )".to_owned(),
        }
    }
}

/// Fields whose values are search terms, not field values.
const VERBATIM: [&str; 2] = ["search", "query"];

impl Format {
    /// Returns the filter for the rows.
    ///
    /// # Errors
    /// If SPL has no values of the type of a column.
    pub fn text(&self, rows: &Rows) -> Result<String, Error> {
        let shown = |name: &&String| !name.starts_with('_');
        let names: Vec<String> = rows.names().iter().filter(shown).cloned().collect();
        let mut columns = Vec::with_capacity(names.len());
        for name in &names {
            columns.push((name, rows.lists(name)?));
        }
        // The output of `return` and `format` is already a filter.
        if let ([(name, cells)], 1) = (columns.as_slice(), rows.count)
            && VERBATIM.contains(&name.as_str())
            && let [text] = cells[0].as_slice()
        {
            return Ok(text.clone());
        }
        let mut filters = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let terms: Vec<String> = columns
                .iter()
                .filter(|(_, cells)| !cells[row].is_empty())
                .map(|(name, cells)| self.term(name, &cells[row]))
                .collect();
            if !terms.is_empty() {
                let terms = terms.join(&format!(" {} ", self.column_separator));
                filters.push(format!("{} {terms} {}", self.column_prefix, self.column_end));
            }
        }
        if filters.is_empty() {
            return Ok(self.emptystr.clone());
        }
        let filters = filters.join(&format!(" {} ", self.row_separator));
        Ok(format!("{} {filters} {}", self.row_prefix, self.row_end))
    }

    /// Returns the value for the rows: that of `search` or `query` in a single row, whatever other columns
    /// there are, as a filter cannot be used as a value. Otherwise, the filter.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn value(&self, rows: &Rows) -> Result<String, Error> {
        for name in VERBATIM {
            let cells = rows.lists(name)?;
            if let [values] = cells.as_slice()
                && let [value] = values.as_slice()
            {
                return Ok(value.clone());
            }
        }
        self.text(rows)
    }

    fn term(&self, name: &str, values: &[String]) -> String {
        let term = |value: &String| match VERBATIM.contains(&name) {
            true => value.clone(),
            false => comparison(name, value),
        };
        match values {
            [value] => term(value),
            several => {
                let terms: Vec<String> = several.iter().map(term).collect();
                format!("( {} )", terms.join(&format!(" {} ", self.mvsep)))
            }
        }
    }
}

/// Returns `name="value"`.
#[must_use]
pub fn comparison(name: &str, value: &str) -> String {
    let bare = name.chars().all(|c| c.is_alphanumeric() || "_.:{}@#-".contains(c));
    let name = if bare { name.to_owned() } else { quoted(name) };
    format!("{name}={}", quoted(value))
}

/// Returns a text in double quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// One row with the filter for the rows.
#[derive(Debug)]
pub struct Formatted {
    /// How rows are converted to a filter.
    pub format: Format,
    /// Maximum number of rows, the first ones, that are used.
    pub most: usize,
}

impl Operation for Formatted {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let rows = rows.slice(0, self.most);
        Ok(one(self.format.text(&rows)?))
    }
}

/// Returns a single row with a filter.
fn one(text: String) -> Rows {
    let mut rows = Rows::blank(1);
    rows.set_texts(TARGET, [Some(text)]);
    rows
}

/// One row with the filter for these fields of the rows.
#[derive(Debug)]
pub struct ReturnedRows(pub Vec<Returned>);

impl Operation for ReturnedRows {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let mut columns = Vec::with_capacity(self.0.len());
        for Returned { field, form } in &self.0 {
            columns.push((field.node.as_str(), form, rows.lists(&field.node)?));
        }
        let mut filters = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let mut terms = Vec::new();
            for (field, form, cells) in &columns {
                terms.extend(term(field, form, &cells[row]));
            }
            if !terms.is_empty() {
                filters.push(terms.join(" "));
            }
        }
        if filters.is_empty() {
            return Ok(one(Format::default().emptystr));
        }
        if let [filter] = filters.as_slice() {
            return Ok(one(filter.clone()));
        }
        let filters: Vec<String> = filters.iter().map(|filter| format!("({filter})")).collect();
        Ok(one(filters.join(" OR ")))
    }
}

/// Returns the term of a field in the filter of a row; several values are alternatives.
fn term(field: &str, form: &ReturnedForm, values: &[String]) -> Option<String> {
    let term = |value: &String| match form {
        ReturnedForm::Named => comparison(field, value),
        ReturnedForm::Alias(alias) => comparison(alias, value),
        ReturnedForm::Value => value.clone(),
    };
    match values {
        [] => None,
        [value] => Some(term(value)),
        several => {
            let terms: Vec<String> = several.iter().map(term).collect();
            Some(format!("({})", terms.join(" OR ")))
        }
    }
}
