//! `makeresults`: creates rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Spanned};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `makeresults [count=] [annotate=] [format= data=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MakeresultsCommand {
    /// `count=` (default 1).
    pub count: u64,
    /// `annotate=`: whether empty fields `_raw`, `host` and so on are added.
    pub annotate: bool,
    /// `format=` and `data=`.
    pub data: Option<MakeresultsData>,
    /// Unknown options; they have no effect.
    pub ignored: Vec<Field>,
}

/// Rows that are part of the search text.
#[derive(Debug, Clone, PartialEq)]
pub struct MakeresultsData {
    /// The format of the text.
    pub format: MakeresultsFormat,
    /// The rows as text.
    pub text: Spanned<String>,
}

/// The formats of `makeresults`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "formats name themselves")]
pub enum MakeresultsFormat {
    Csv,
    Json,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "makeresults",
    aliases: &[],
    summary: "generates rows",
    syntax: "makeresults [count=<n>] [annotate=<bool>] [format=csv|json data=<text>]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["count", "annotate", "format", "data", "splunk_server", "splunk_server_group"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut count, mut annotate, mut format, mut text) = (1, false, None, None);
    // `makeresults 5`
    if let Some(rows) = p.count()? {
        count = rows;
        p.skip_separators();
    }
    let (mut seen, mut ignored) = (Vec::new(), Vec::new());
    loop {
        if let Some((unknown, _)) = p.other_option(OPTIONS)? {
            ignored.push(unknown);
            p.skip_separators();
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else { break };
        if seen.contains(&option.name) {
            let message = format!("option '{}' is given more than once", option.name);
            return Err(p.error(message, option.value_span));
        }
        seen.push(option.name);
        match option.name {
            "count" => count = option.number()?,
            "annotate" => annotate = option.boolean()?,
            "format" => {
                let named = match option.value.to_ascii_lowercase().as_str() {
                    "csv" => MakeresultsFormat::Csv,
                    "json" => MakeresultsFormat::Json,
                    _ => return Err(option.error("csv or json")),
                };
                format = Some((named, option.value_span));
            }
            "data" => text = Some(option.spanned()),
            // Server names have no effect, because the rows are created only once.
            _ => {}
        }
        p.skip_separators();
    }
    p.expect_end("an option such as count=5")?;
    let data = match (format, text) {
        (None, None) => None,
        (Some((format, _)), Some(text)) => {
            if let Some(other) = seen.iter().find(|name| matches!(**name, "count" | "annotate")) {
                let message = format!("{other}= cannot be combined with rows from data=");
                return Err(p.error(message, text.span));
            }
            Some(MakeresultsData { format, text })
        }
        (Some((_, span)), None) => return Err(p.error("format= needs data=", span)),
        (None, Some(text)) => return Err(p.error("data= needs format=csv or json", text.span)),
    };
    Ok(Command::Makeresults(MakeresultsCommand { count, annotate, data, ignored }))
}

impl fmt::Display for MakeresultsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        if self.count != 1 {
            arguments.option("count", self.count);
        }
        arguments.flag("annotate", self.annotate, false);
        if let Some(data) = &self.data {
            let format = match data.format {
                MakeresultsFormat::Csv => "csv",
                MakeresultsFormat::Json => "json",
            };
            arguments.option("format", format).option("data", &data.text.node);
        }
        for option in &self.ignored {
            arguments.option(&option.node, "");
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| makeresults",
            "| makeresults count=5 annotate=true | eval a=1",
            r#"| makeresults format=csv data="a,b
1,2""#,
            "| makeresults sourcetype=a count=2",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses(r#"| makeresults format=xml data="a""#, "csv or json", "xml");
        refuses("| makeresults count=1 count=2", "given more than once", "2");
        refuses(
            "| makeresults format=csv count=2 data=\"a\"",
            "count= cannot be combined with",
            "\"a\"",
        );
        refuses("| makeresults format=csv", "format= needs data=", "csv");
    }
}
