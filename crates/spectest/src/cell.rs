//! Values in the notation of specs.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType};
use plan::value::{NumberText, truth_text};

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// `-`.
    Null,
    /// A word, or a text in double quotes.
    Text(String),
    /// `[a b "c d"]`.
    Multi(Vec<String>),
}

impl Cell {
    /// The value in a row of a result.
    #[must_use]
    pub fn of(array: &ArrayRef, row: usize) -> Self {
        if array.is_null(row) {
            return Self::Null;
        }
        match array.data_type() {
            DataType::Utf8View => Self::Text(array.as_string_view().value(row).to_owned()),
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row).to_owned()),
            DataType::Int64 => Self::Text(
                NumberText::integer(array.as_primitive::<Int64Type>().value(row)).to_string(),
            ),
            DataType::Float64 => {
                let number = array.as_primitive::<Float64Type>().value(row);
                Self::Text(NumberText::float(number).to_string())
            }
            DataType::Boolean => Self::Text(truth_text(array.as_boolean().value(row)).to_owned()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
                Self::Text(NumberText::time(micros).to_string())
            }
            DataType::List(_) => {
                let values = array.as_list::<i32>().value(row);
                let texts = (0..values.len()).filter_map(|at| match Self::of(&values, at) {
                    Self::Text(text) => Some(text),
                    _ => None,
                });
                let texts: Vec<String> = texts.collect();
                match texts.len() {
                    0 => Self::Null,
                    // A single value and a list of one value are the same for users.
                    1 => Self::Text(texts.into_iter().next().unwrap_or_default()),
                    _ => Self::Multi(texts),
                }
            }
            other => Self::Text(format!("<{other}>")),
        }
    }

    /// The cell in the notation of specs.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Null => "-".to_owned(),
            Self::Text(text) => quoted(text),
            Self::Multi(values) => {
                format!(
                    "[{}]",
                    values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(" ")
                )
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let plain = !text.is_empty()
        && text != "-"
        && !text.starts_with(['[', '"'])
        && !text.contains(|c: char| c.is_whitespace() || c == ']');
    if plain {
        return text.to_owned();
    }
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{}\"", escaped.replace('\t', "\\t"))
}

/// Parses the cells of a line.
///
/// # Errors
/// If a quote or bracket is not closed.
pub(crate) fn cells(line: &str) -> Result<Vec<Cell>, String> {
    let mut reader = Reader { rest: line };
    let mut cells = Vec::new();
    while let Some(cell) = reader.cell()? {
        cells.push(cell);
    }
    Ok(cells)
}

struct Reader<'l> {
    rest: &'l str,
}

impl Reader<'_> {
    fn cell(&mut self) -> Result<Option<Cell>, String> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() {
            return Ok(None);
        }
        if let Some(rest) = self.rest.strip_prefix('[') {
            self.rest = rest;
            let mut values = Vec::new();
            loop {
                self.rest = self.rest.trim_start();
                if let Some(rest) = self.rest.strip_prefix(']') {
                    self.rest = rest;
                    return Ok(Some(Cell::Multi(values)));
                }
                if self.rest.is_empty() {
                    return Err("a list needs a closing ]".to_owned());
                }
                values.push(self.word("]")?.0);
            }
        }
        let (text, plain) = self.word("")?;
        Ok(Some(if plain && text == "-" { Cell::Null } else { Cell::Text(text) }))
    }

    /// Reads a text, and whether it is unquoted.
    fn word(&mut self, stops: &str) -> Result<(String, bool), String> {
        let Some(rest) = self.rest.strip_prefix('"') else {
            let stop = |c: char| c.is_whitespace() || stops.contains(c);
            let end = self.rest.find(stop).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Ok((word.to_owned(), true));
        };
        let mut text = String::new();
        let mut characters = rest.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.rest = &rest[at + 1..];
                    return Ok((text, false));
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                other => text.push(other),
            }
        }
        Err("a text needs a closing quote".to_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_back_as_they_are_written() {
        let line = r#"a "b c" - "-" "" [x "y z"] "q\"\n""#;
        let read = cells(line).unwrap();
        let written: Vec<String> = read.iter().map(Cell::text).collect();
        assert_eq!(cells(&written.join(" ")).unwrap(), read);
        assert_eq!(read.len(), 7);
        assert_eq!(read[2], Cell::Null);
        assert_eq!(read[3], Cell::Text("-".to_owned()));
    }
}
