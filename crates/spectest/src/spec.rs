//! Parses the language of spec files.

use model::{EventTime, IndexName};

use crate::cell::{Cell, cells};
use crate::event::SpecEvent;

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    /// The description of the error.
    pub message: String,
}

/// The expected result of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// These columns and rows.
    Rows {
        /// Column names in order.
        columns: Vec<String>,
        /// Rows in order.
        rows: Vec<Vec<Cell>>,
    },
    /// No rows, whatever the columns.
    Nothing,
    /// An error whose text contains this text.
    Error(String),
}

/// A block: events, a search, and its expected result.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The title: a sentence that states the behaviour.
    pub title: String,
    /// Line of the title, counted from 1.
    pub line: usize,
    /// The events.
    pub events: Vec<SpecEvent>,
    /// The search text.
    pub search: String,
    /// The expected result.
    pub expect: Expectation,
    /// Whether the order of rows does not matter.
    pub sort: bool,
    /// Texts that must occur in the messages.
    pub messages: Vec<String>,
    /// The current time, in epoch seconds.
    pub now: f64,
    /// IANA name of the time zone.
    pub timezone: String,
    /// `earliest` and `latest` of the request, in epoch seconds.
    pub range: Option<(f64, f64)>,
    /// `.conf` files: name and text.
    pub conf: Vec<(String, String)>,
    /// Lookup files and collections: name and CSV.
    pub lookups: Vec<(String, String)>,
    /// Data models: name and JSON.
    pub models: Vec<(String, String)>,
    /// Forms: name and text.
    pub forms: Vec<(String, String)>,
    /// Limits that are lower than their defaults.
    pub limits: Vec<(String, usize)>,
    /// The lines of the expectation, including the keyword: first line, and line after the last.
    pub expect_lines: (usize, usize),
}

impl Block {
    /// Whether it has no events, and its search begins with a generating command.
    pub(crate) fn generates_its_rows(&self) -> bool {
        self.events.is_empty() && self.search.trim_start().starts_with('|')
    }
}

/// The current time if a block does not set another one: 2023-11-14T22:13:20Z.
const NOW: f64 = 1_700_000_000.0;

/// Parses the blocks of a file.
///
/// # Errors
/// The first syntax error.
pub fn parse(text: &str) -> Result<Vec<Block>, ParseError> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].trim().is_empty() {
            at += 1;
            continue;
        }
        if !lines[at].starts_with("# ") {
            return fail(at, "a block begins with \"# \" and a sentence");
        }
        let mut reader = Reader { lines: &lines, at };
        blocks.push(reader.block()?);
        at = reader.at;
    }
    Ok(blocks)
}

fn fail<T>(at: usize, message: impl Into<String>) -> Result<T, ParseError> {
    Err(ParseError { line: at + 1, message: message.into() })
}

struct Reader<'l> {
    lines: &'l [&'l str],
    at: usize,
}

impl Reader<'_> {
    fn block(&mut self) -> Result<Block, ParseError> {
        let mut block = Block {
            title: String::new(),
            line: self.at + 1,
            events: Vec::new(),
            search: String::new(),
            expect: Expectation::Nothing,
            sort: false,
            messages: Vec::new(),
            now: NOW,
            timezone: "UTC".to_owned(),
            range: None,
            conf: Vec::new(),
            lookups: Vec::new(),
            models: Vec::new(),
            forms: Vec::new(),
            limits: Vec::new(),
            expect_lines: (0, 0),
        };
        let mut title = Vec::new();
        while let Some(part) = self.lines.get(self.at).and_then(|line| line.strip_prefix("# ")) {
            title.push(part.trim());
            self.at += 1;
        }
        block.title = title.join(" ");
        while let Some(line) = self.lines.get(self.at) {
            if line.starts_with("# ") {
                break;
            }
            if !line.trim().is_empty() {
                self.section(&mut block)?;
            } else {
                self.at += 1;
            }
        }
        if block.search.is_empty() {
            return fail(block.line - 1, "the block has no search");
        }
        if block.expect_lines == (0, 0) {
            return fail(block.line - 1, "the block has neither expect nor error");
        }
        Ok(block)
    }

    /// The indented lines after this one.
    fn indented(&mut self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            if !line.starts_with("  ") {
                break;
            }
            found.push((self.at, line.trim().to_owned()));
            self.at += 1;
        }
        found
    }

    fn section(&mut self, block: &mut Block) -> Result<(), ParseError> {
        let at = self.at;
        let line = self.lines[at];
        let (keyword, value) = line.split_once(' ').unwrap_or((line, ""));
        let value = value.trim();
        self.at += 1;
        match keyword {
            "rows" => {
                let lines = self.indented();
                block.events.extend(events(&lines, block.events.len())?);
            }
            "search" => {
                let more: Vec<String> = self.indented().into_iter().map(|(_, line)| line).collect();
                block.search =
                    std::iter::once(value.to_owned()).chain(more).collect::<Vec<_>>().join("\n");
            }
            "expect" if value == "nothing" => block.expect_lines = (at, self.at),
            "expect" => {
                let lines = self.indented();
                block.expect = table(at, &lines)?;
                block.expect_lines = (at, self.at);
            }
            "error" => {
                let parsed =
                    cells(value).map_err(|message| ParseError { line: at + 1, message })?;
                let Some(Cell::Text(text)) = parsed.into_iter().next() else {
                    return fail(at, "error needs a text in quotes");
                };
                block.expect = Expectation::Error(text);
                block.expect_lines = (at, self.at);
            }
            "sort" => block.sort = true,
            "messages" => {
                block.messages.extend(self.indented().into_iter().map(|(_, line)| line));
            }
            "now" => block.now = seconds(value, at)?,
            "timezone" => value.clone_into(&mut block.timezone),
            "range" => {
                let Some((from, to)) = value.split_once(' ') else {
                    return fail(at, "range needs two times");
                };
                block.range = Some((seconds(from, at)?, seconds(to.trim(), at)?));
            }
            "conf" => {
                let text: Vec<String> = self.indented().into_iter().map(|(_, line)| line).collect();
                block.conf.push((value.to_owned(), text.join("\n")));
            }
            "lookup" | "model" | "form" => {
                let text: Vec<String> = self.indented().into_iter().map(|(_, line)| line).collect();
                let named = (value.to_owned(), text.join("\n"));
                match keyword {
                    "lookup" => block.lookups.push(named),
                    "model" => block.models.push(named),
                    _ => block.forms.push(named),
                }
            }
            "limit" => {
                let parsed = value.split_once(' ').and_then(|(name, number)| {
                    Some((name.to_owned(), number.trim().parse().ok()?))
                });
                let Some(limit) = parsed else {
                    return fail(at, "limit needs a name and a number");
                };
                block.limits.push(limit);
            }
            other => return fail(at, format!("there is no section \"{other}\"")),
        }
        Ok(())
    }
}

fn table(at: usize, lines: &[(usize, String)]) -> Result<Expectation, ParseError> {
    let Some(((_, header), body)) = lines.split_first() else {
        return fail(at, "expect needs a line with column names (or: expect nothing)");
    };
    let columns = names(at, header)?;
    let mut rows = Vec::new();
    for (at, line) in body {
        let mut row = parsed(*at, line)?;
        if row.len() != columns.len() {
            return fail(*at, format!("{} values for {} columns", row.len(), columns.len()));
        }
        for (name, cell) in columns.iter().zip(&mut row) {
            normalize(name, cell);
        }
        rows.push(row);
    }
    Ok(Expectation::Rows { columns, rows })
}

/// Converts times written as dates to epoch seconds, as in results.
fn normalize(name: &str, cell: &mut Cell) {
    if (name == "_time" || name == "_indextime")
        && let Cell::Text(text) = cell
        && let Ok(time) = text.parse::<jiff::Timestamp>()
    {
        *text = plan::value::NumberText::time(time.as_microsecond()).to_string();
    }
    if let Cell::Multi(values) = cell {
        match values.as_slice() {
            [] => *cell = Cell::Null,
            [one] => *cell = Cell::Text(one.clone()),
            _ => {}
        }
    }
}

fn parsed(at: usize, line: &str) -> Result<Vec<Cell>, ParseError> {
    cells(line).map_err(|message| ParseError { line: at + 1, message })
}

fn names(at: usize, header: &str) -> Result<Vec<String>, ParseError> {
    let mut names = Vec::new();
    for cell in parsed(at, header)? {
        match cell {
            Cell::Text(name) => names.push(name),
            _ => return fail(at, "a column needs a name"),
        }
    }
    Ok(names)
}

fn seconds(text: &str, at: usize) -> Result<f64, ParseError> {
    if let Ok(number) = text.parse::<f64>() {
        return Ok(number);
    }
    match text.parse::<jiff::Timestamp>() {
        #[allow(clippy::cast_precision_loss)]
        Ok(time) => Ok(time.as_microsecond() as f64 / 1e6),
        Err(_) => fail(
            at,
            format!("\"{text}\" is neither epoch seconds nor a time like 2023-11-14T22:13:20Z"),
        ),
    }
}

fn events(lines: &[(usize, String)], before: usize) -> Result<Vec<SpecEvent>, ParseError> {
    let Some(((at, header), body)) = lines.split_first() else {
        return Ok(Vec::new());
    };
    let columns = names(*at, header)?;
    let mut events = Vec::with_capacity(body.len());
    for (number, (at, line)) in body.iter().enumerate() {
        let row = parsed(*at, line)?;
        if row.len() != columns.len() {
            return fail(*at, format!("{} values for {} columns", row.len(), columns.len()));
        }
        events.push(event(*at, &columns, row, before + number)?);
    }
    Ok(events)
}

fn event(
    at: usize,
    columns: &[String],
    row: Vec<Cell>,
    number: usize,
) -> Result<SpecEvent, ParseError> {
    let place = i64::try_from(number).unwrap_or_default();
    let now = EventTime::from_seconds(NOW);
    let mut event = SpecEvent {
        time: EventTime(now.0 - (place + 1) * 1_000_000),
        index_time: EventTime(now.0 - (place + 1) * 1_000),
        raw: String::new(),
        host: "h".to_owned(),
        source: "s".to_owned(),
        sourcetype: "t".to_owned(),
        index: index("main", at)?,
        fields: Vec::new(),
    };
    let mut raw = None;
    for (name, cell) in columns.iter().zip(row) {
        let texts = match cell {
            Cell::Null => continue,
            Cell::Text(text) => vec![text],
            Cell::Multi(texts) => texts,
        };
        let text = texts.first().cloned().unwrap_or_default();
        match name.as_str() {
            "_time" => event.time = EventTime::from_seconds(seconds(&text, at)?),
            "_raw" => raw = Some(text),
            "host" => event.host = text,
            "source" => event.source = text,
            "sourcetype" => event.sourcetype = text,
            "index" => event.index = index(&text, at)?,
            _ => event.fields.push((name.clone(), texts)),
        }
    }
    event.raw = raw.unwrap_or_else(|| raw_of(&event.fields));
    Ok(event)
}

/// The fields as a text from which they are extracted automatically.
fn raw_of(fields: &[(String, Vec<String>)]) -> String {
    let pairs = fields.iter().flat_map(|(name, values)| {
        values.iter().map(move |value| format!("{name}=\"{}\"", value.replace('"', "\\\"")))
    });
    pairs.collect::<Vec<_>>().join(" ")
}

fn index(name: &str, at: usize) -> Result<IndexName, ParseError> {
    IndexName::new(name).map_err(|error| ParseError { line: at + 1, message: error.to_string() })
}
