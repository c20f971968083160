//! The output of `karst spl check`: messages with positions, and a summary.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use spl::{Diagnostic, Undefined};

use super::check::Checked;
use crate::app_searches;
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
    /// Macros and commands that nothing defines, in the same form.
    missing: Vec<(String, usize)>,
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
            missing: missing(checked, top),
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
        let lists = [
            ("most frequent messages", &self.messages),
            ("most frequent notes", &self.notes),
            ("most used macros and commands that nothing defines", &self.missing),
        ];
        for (title, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            writeln!(out, "searches  {title}")?;
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
            "missing": list(&self.missing),
        })
    }
}

fn most_frequent(
    checked: &[Checked],
    of: impl Fn(&Checked) -> Vec<Diagnostic>,
    top: usize,
) -> Vec<(String, usize)> {
    let texts = |search: &Checked| -> BTreeSet<String> {
        of(search).iter().map(|diagnostic| general(&diagnostic.message)).collect()
    };
    counted(checked, texts, top)
}

/// The macros and commands that searches use and nothing defines.
fn missing(checked: &[Checked], top: usize) -> Vec<(String, usize)> {
    let names = |search: &Checked| -> BTreeSet<String> {
        let named = |what: &'static str| move |name: &String| app_searches::named(what, name);
        let Undefined { macros, commands } = &search.undefined;
        let macros = macros.iter().map(named(app_searches::MACRO));
        macros.chain(commands.iter().map(named(app_searches::COMMAND))).collect()
    };
    counted(checked, names, top)
}

/// Texts with the number of searches that have them, the most frequent first.
fn counted(
    checked: &[Checked],
    of: impl Fn(&Checked) -> BTreeSet<String>,
    top: usize,
) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in checked.iter().flat_map(of) {
        *counts.entry(text).or_default() += 1;
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

    #[test]
    fn macros_and_commands_that_nothing_defines_are_counted_by_searches() {
        let undefined = |macros: &[&str], commands: &[&str]| Undefined {
            macros: macros.iter().map(|name| (*name).to_owned()).collect(),
            commands: commands.iter().map(|name| (*name).to_owned()).collect(),
        };
        let checked = |undefined| Checked {
            found: search(1, "", "x"),
            errors: Vec::new(),
            notes: Vec::new(),
            normalized: None,
            undefined,
        };
        let all = [checked(undefined(&["a", "cim_x(1)"], &["b"])), checked(undefined(&["a"], &[]))];
        let known =
            "macro cim_x(1), of the app Splunk_SA_CIM (Splunk Common Information Model Add-on)";
        let wanted = [("macro a", 2), ("command b", 1), (known, 1)];
        let wanted: [(String, usize); 3] = wanted.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(missing(&all, 10), wanted);
        assert_eq!(missing(&all, 1), wanted[..1]);
    }
}
