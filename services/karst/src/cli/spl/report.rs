//! The output of `karst spl check`: messages with positions, and a summary.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use spl::Diagnostic;

use super::check::Checked;
use crate::config::{CheckOptions, ReportFormat};
use crate::searches::Found;

pub(super) fn print(
    out: &mut impl Write,
    checked: &[Checked],
    options: &CheckOptions,
) -> Result<()> {
    let summary = Summary::of(checked, options.top);
    if options.format == ReportFormat::Json {
        let searches: Vec<Value> = match options.quiet {
            true => Vec::new(),
            false => checked.iter().map(search_json).collect(),
        };
        let body = json!({"searches": searches, "summary": summary.json()});
        writeln!(out, "{body}")?;
        return Ok(());
    }
    for search in checked.iter().filter(|_| !options.quiet) {
        for error in &search.errors {
            diagnostic(out, "error", &search.found, error)?;
        }
        for note in search.notes.iter().filter(|_| options.notes) {
            diagnostic(out, "note", &search.found, note)?;
        }
    }
    summary.print(out)?;
    Ok(())
}

/// Formats a message like a compiler.
fn diagnostic(
    out: &mut impl Write,
    severity: &str,
    found: &Found,
    message: &Diagnostic,
) -> Result<()> {
    let (line, column) = place(found, message.span.start);
    let name = if found.name.is_empty() { String::new() } else { format!(" ({})", found.name) };
    let rendered = message.render(&found.text);
    let (first, rest) = rendered.split_once('\n').unwrap_or((&rendered, ""));
    writeln!(out, "{severity}: {first}")?;
    writeln!(out, " --> {}:{line}:{column}{name}", found.file)?;
    writeln!(out, "{rest}\n")?;
    Ok(())
}

/// Line and column, both from 1.
fn place(found: &Found, at: usize) -> (usize, usize) {
    let mut at = at.min(found.text.len());
    while !found.text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &found.text[..at];
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let lines = if found.lines_match { before.matches('\n').count() } else { 0 };
    (found.line + lines, column)
}

fn search_json(search: &Checked) -> Value {
    let found = &search.found;
    let messages = |list: &[Diagnostic]| -> Vec<Value> {
        let one = |message: &Diagnostic| {
            let (line, column) = place(found, message.span.start);
            json!({
                "message": message.message, "hint": message.hint, "line": line, "column": column,
                "start": message.span.start, "end": message.span.end,
            })
        };
        list.iter().map(one).collect()
    };
    json!({
        "file": found.file, "line": found.line, "name": found.name, "ok": search.errors.is_empty(),
        "errors": messages(&search.errors), "notes": messages(&search.notes),
        "normalized": search.normalized,
    })
}

#[derive(Debug)]
struct Summary {
    searches: usize,
    ok: usize,
    /// Messages with the number of affected searches, the most frequent first.
    messages: Vec<(String, usize)>,
    /// Notes in the same form.
    notes: Vec<(String, usize)>,
}

impl Summary {
    fn of(checked: &[Checked], top: usize) -> Self {
        let errors = |search: &Checked| search.errors.clone();
        let notes = |search: &Checked| search.notes.clone();
        Self {
            searches: checked.len(),
            ok: checked.iter().filter(|search| search.errors.is_empty()).count(),
            messages: most_frequent(checked, errors, top),
            notes: most_frequent(checked, notes, top),
        }
    }

    fn percent(&self) -> f64 {
        if self.searches == 0 {
            return 100.0;
        }
        #[allow(clippy::cast_precision_loss, reason = "counts of searches are small")]
        let share = self.ok as f64 / self.searches as f64;
        share * 100.0
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        let lists = [("messages", &self.messages), ("notes", &self.notes)];
        for (title, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            writeln!(out, "searches  most frequent {title}")?;
            for (message, count) in list {
                writeln!(out, "{count:>8}  {message}")?;
            }
            writeln!(out)?;
        }
        writeln!(
            out,
            "{} {}, {} ok, {} with errors ({:.2} % ok)",
            self.searches,
            if self.searches == 1 { "search" } else { "searches" },
            self.ok,
            self.searches - self.ok,
            self.percent()
        )?;
        Ok(())
    }

    fn json(&self) -> Value {
        let list = |list: &[(String, usize)]| -> Vec<Value> {
            list.iter().map(|(text, count)| json!({"message": text, "searches": count})).collect()
        };
        json!({
            "searches": self.searches, "ok": self.ok, "failed": self.searches - self.ok,
            "percent_ok": self.percent(),
            "messages": list(&self.messages), "notes": list(&self.notes),
        })
    }
}

fn most_frequent(
    checked: &[Checked],
    of: impl Fn(&Checked) -> Vec<Diagnostic>,
    top: usize,
) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for search in checked {
        let mut texts: Vec<String> = of(search).iter().map(|d| general(&d.message)).collect();
        texts.sort();
        texts.dedup();
        for text in texts {
            *counts.entry(text).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(top);
    counts
}

/// A message without the text found at the position, which differs in each search.
fn general(message: &str) -> String {
    match message.find(", found '") {
        Some(at) => format!("{}, found ...", &message[..at]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::searches::search;

    #[test]
    fn a_message_names_file_line_and_column() {
        let found = Found { file: "f.conf".to_owned(), ..search(10, "Bad one", "index=a\n| foo") };
        let message = Diagnostic::new("Unknown search command 'foo'.", spl::Span::new(10, 13));
        let mut out = Vec::new();
        diagnostic(&mut out, "error", &found, &message).unwrap();
        let wanted = "error: Unknown search command 'foo'.\n --> f.conf:11:3 (Bad one)\n\
                      2 | | foo\n      ^^^\n\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
