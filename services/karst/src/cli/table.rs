//! Output of rows, on a terminal and in files.

use std::io::Write;

use anyhow::Result;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};
use serde_json::{Map, Value};

use crate::config::Output;

/// Rows as the server sends them (`output_mode=json_rows`).
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) fields: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Rows {
    pub(crate) fn of(body: &Value) -> Self {
        let fields = serde_json::from_value(body["fields"].clone()).unwrap_or_default();
        let rows = serde_json::from_value(body["rows"].clone()).unwrap_or_default();
        Self { fields, rows }
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field == name)
    }
}

/// Prints a page of rows; the header only for the first page.
pub(crate) fn print_rows(
    out: &mut impl Write,
    rows: &Rows,
    output: Output,
    is_events: bool,
    highlight: &[String],
    first: bool,
) -> Result<()> {
    match output {
        Output::Json => json(out, rows),
        Output::Csv => delimited(out, rows, first),
        Output::Raw => raw(out, rows),
        Output::Table if is_events => events(out, rows, highlight),
        Output::Table => table(out, rows),
    }
}

fn text(value: &Value, separator: &str) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().map(|item| text(item, separator)).collect::<Vec<_>>().join(separator)
        }
        other => other.to_string(),
    }
}

fn json(out: &mut impl Write, rows: &Rows) -> Result<()> {
    for row in &rows.rows {
        let cells = rows.fields.iter().zip(row).filter(|(_, value)| !value.is_null());
        let object: Map<String, Value> = cells.map(|(k, v)| (k.clone(), v.clone())).collect();
        writeln!(out, "{}", Value::Object(object))?;
    }
    Ok(())
}

fn delimited(out: &mut impl Write, rows: &Rows, header: bool) -> Result<()> {
    if rows.fields.is_empty() {
        return Ok(());
    }
    // Into memory first, as the writer hides the kind of an error, and a closed pipe is none.
    let mut page = csv::Writer::from_writer(Vec::new());
    if header {
        page.write_record(&rows.fields)?;
    }
    for row in &rows.rows {
        page.write_record(row.iter().map(|value| text(value, "\n")))?;
    }
    out.write_all(&page.into_inner()?)?;
    Ok(())
}

fn raw(out: &mut impl Write, rows: &Rows) -> Result<()> {
    let column = rows.column("_raw");
    for row in &rows.rows {
        match column.and_then(|at| row.get(at)) {
            Some(value) => writeln!(out, "{}", text(value, "\n"))?,
            None => {
                let cells: Vec<String> = row.iter().map(|value| text(value, ";")).collect();
                writeln!(out, "{}", cells.join("\t"))?;
            }
        }
    }
    Ok(())
}

fn events(out: &mut impl Write, rows: &Rows, highlight: &[String]) -> Result<()> {
    let (time, event) = (rows.column("_time"), rows.column("_raw"));
    let cell = |row: &[Value], column: Option<usize>| {
        column.and_then(|at| row.get(at)).map(|value| text(value, "\n")).unwrap_or_default()
    };
    for row in &rows.rows {
        writeln!(out, "{}  {}", cell(row, time), mark(&cell(row, event), highlight))?;
    }
    Ok(())
}

/// The text with the words in bold, case-insensitive.
fn mark(event: &str, words: &[String]) -> String {
    let lower = event.to_ascii_lowercase();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for word in words.iter().map(|word| word.to_ascii_lowercase()).filter(|w| !w.is_empty()) {
        spans.extend(lower.match_indices(&word).map(|(at, found)| (at, at + found.len())));
    }
    spans.sort_unstable();
    let mut out = String::with_capacity(event.len() + spans.len() * 8);
    let mut at = 0;
    for (start, end) in spans.into_iter().filter(|(start, end)| start < end) {
        if start < at {
            continue;
        }
        out.push_str(&event[at..start]);
        out.push_str("\u{1b}[1;33m");
        out.push_str(&event[start..end]);
        out.push_str("\u{1b}[0m");
        at = end;
    }
    out.push_str(&event[at..]);
    out
}

fn table(out: &mut impl Write, rows: &Rows) -> Result<()> {
    if rows.fields.is_empty() || rows.rows.is_empty() {
        writeln!(out, "no results")?;
        return Ok(());
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.remove_style(TableComponent::HorizontalLines);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(&rows.fields);
    for row in &rows.rows {
        table.add_row(row.iter().map(|value| text(value, "\n")));
    }
    for (at, _) in rows.fields.iter().enumerate() {
        let numeric = rows.rows.iter().all(|row| {
            let cell = row.get(at).map(|value| text(value, "")).unwrap_or_default();
            cell.is_empty() || cell.parse::<f64>().is_ok()
        });
        if let Some(column) = table.column_mut(at).filter(|_| numeric) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{table}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_in_any_case_and_overlaps_once() {
        let marked = mark("an Error errors", &["error".to_owned(), "errors".to_owned()]);
        assert_eq!(marked, "an \u{1b}[1;33mError\u{1b}[0m \u{1b}[1;33merror\u{1b}[0ms");
    }

    #[test]
    fn csv_cells_are_quoted_where_they_must_be() {
        let rows = Rows {
            fields: vec!["a".to_owned(), "b".to_owned()],
            rows: vec![vec![Value::from("x,\"y\""), Value::Null]],
        };
        let mut out = Vec::new();
        delimited(&mut out, &rows, true).expect("writing into memory");
        assert_eq!(String::from_utf8(out).expect("text"), "a,b\n\"x,\"\"y\"\"\",\n");
    }
}
