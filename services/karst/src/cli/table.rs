//! Output of rows, on a terminal and in files.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};
use serde_json::{Map, Value};

use crate::config::Output;

/// The internal field of `top` and `rare`.
const TOTAL: &str = "_tc";

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

    /// Returns the table without internal fields, such as the `_tc` of `top`.
    fn shown(&self) -> Self {
        self.with_fields(|name| !name.starts_with('_') || matches!(name, "_time" | "_raw"))
    }

    fn with_fields(&self, is_shown: impl Fn(&str) -> bool) -> Self {
        let places: Vec<usize> =
            (0..self.fields.len()).filter(|at| is_shown(&self.fields[*at])).collect();
        let fields = places.iter().map(|at| self.fields[*at].clone()).collect();
        let cells = |row: &Vec<Value>| {
            places.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect()
        };
        Self { fields, rows: self.rows.iter().map(cells).collect() }
    }

    /// Returns the table without the column in which `top` and `rare` keep the number of all values.
    fn without_total(&self) -> Self {
        self.with_fields(|name| name != TOTAL)
    }

    /// The place of a field.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
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
        Output::Csv if is_events || rows.column(TOTAL).is_none() => delimited(out, rows, first),
        Output::Csv => delimited(out, &rows.without_total(), first),
        Output::Raw => raw(out, rows),
        Output::Table if is_events => events(out, rows, highlight),
        Output::Table => table(out, &rows.shown(), Lines::here(), first),
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
    // Written to memory first, because the writer hides the kind of an error, and a closed pipe is not an
    // error.
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

/// Prints the rows of a listing, in the format asked for or as a table.
pub(crate) fn print_listing(rows: &Rows, output: Option<Output>) -> Result<()> {
    let output = output.unwrap_or(Output::Table);
    print_rows(&mut std::io::stdout().lock(), rows, output, false, &[], true)
}

/// The style of a table's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// Ruled and as wide as the terminal.
    Ruled,
    /// Columns separated by blanks, one line per row whatever its width, for `grep`, `awk` and files.
    Plain,
}

impl Lines {
    fn here() -> Self {
        if std::io::stdout().is_terminal() { Self::Ruled } else { Self::Plain }
    }
}

fn table(out: &mut impl Write, rows: &Rows, lines: Lines, first: bool) -> Result<()> {
    if lines == Lines::Ruled && (rows.fields.is_empty() || rows.rows.is_empty()) {
        writeln!(out, "no results")?;
        return Ok(());
    }
    if rows.fields.is_empty() {
        return Ok(());
    }
    if lines == Lines::Plain {
        return plain(out, rows, first);
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    for component in [
        TableComponent::HorizontalLines,
        TableComponent::MiddleIntersections,
        TableComponent::LeftBorderIntersections,
        TableComponent::RightBorderIntersections,
    ] {
        table.remove_style(component);
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(&rows.fields);
    for row in &rows.rows {
        table.add_row(row.iter().map(|value| text(value, "\n")));
    }
    align_numbers(&mut table, rows);
    writeln!(out, "{table}")?;
    Ok(())
}

/// Aligned columns without lines; the header only for the first page.
pub(super) fn plain(out: &mut impl Write, rows: &Rows, header: bool) -> Result<()> {
    if rows.rows.is_empty() && !header {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    if header {
        table.set_header(&rows.fields);
    }
    for row in &rows.rows {
        table.add_row(row.iter().map(|value| text(value, "; ").replace(['\r', '\n'], " ")));
    }
    align_numbers(&mut table, rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

fn align_numbers(table: &mut Table, rows: &Rows) {
    for (at, _) in rows.fields.iter().enumerate() {
        let numeric = rows.rows.iter().all(|row| {
            let cell = row.get(at).map(|value| text(value, "")).unwrap_or_default();
            cell.is_empty() || cell.parse::<f64>().is_ok()
        });
        if let Some(column) = table.column_mut(at).filter(|_| numeric) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
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

    #[test]
    fn csv_of_a_report_has_no_internal_total() {
        let fields = ["a", "_indextime", "_tc"].map(str::to_owned).to_vec();
        let rows = Rows { fields, rows: vec![["x", "5", "9"].map(Value::from).to_vec()] };
        let mut out = Vec::new();
        print_rows(&mut out, &rows, Output::Csv, false, &[], true).expect("writing into memory");
        assert_eq!(String::from_utf8(out).expect("text"), "a,_indextime\nx,5\n");
    }

    fn drawn(lines: Lines) -> String {
        let rows = Rows {
            fields: vec!["name".to_owned(), "count".to_owned()],
            rows: vec![
                vec![Value::from("a"), Value::from(5)],
                vec![Value::from("long one\nand more"), Value::from(1234)],
            ],
        };
        let mut out = Vec::new();
        table(&mut out, &rows, lines, true).expect("writing into memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_table_in_a_pipe_has_one_line_per_row_and_no_rules() {
        let text = drawn(Lines::Plain);
        let expected =
            "name               count\na                      5\nlong one and more   1234\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_table_on_a_terminal_has_no_lines_between_rows() {
        let text = drawn(Lines::Ruled);
        let rules = text.lines().filter(|line| line.contains(['─', '═'])).count();
        assert_eq!((rules, text.lines().count()), (3, 7), "{text}");
    }
}
