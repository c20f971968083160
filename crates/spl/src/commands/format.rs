//! `format`: turns the rows into a filter, as the end of a subsearch does.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `format [mvsep=] [maxresults=] [six texts] [emptystr=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FormatCommand {
    /// `mvsep=`: operator between the values of one field (default `OR`).
    pub mvsep: String,
    /// `maxresults=`: maximum number of rows; 0 means all (default).
    pub maxresults: u64,
    /// Row prefix, column prefix, column separator, column end, row separator, row end.
    pub frame: [String; 6],
    /// `emptystr=`: the filter if there are no rows (default `NOT ( )`).
    pub emptystr: String,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "format",
    aliases: &[],
    summary: "turns rows into a search filter",
    syntax: "format [mvsep=<text>] [maxresults=<n>] [\"<row prefix>\" \"<column prefix>\" \"<column separator>\" \"<column end>\" \"<row separator>\" \"<row end>\"] [emptystr=<text>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["mvsep", "maxresults", "emptystr"];

/// The default texts around and between rows and columns.
const FRAME: [&str; 6] = ["(", "(", "AND", ")", "OR", ")"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut texts = Vec::new();
    let mut command = FormatCommand {
        mvsep: "OR".to_owned(),
        maxresults: 0,
        frame: FRAME.map(str::to_owned),
        emptystr: "NOT ( )".to_owned(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if let Some(option) = p.option(OPTIONS)? {
            match option.name {
                "mvsep" => command.mvsep = option.text(),
                "maxresults" => command.maxresults = option.number()?,
                _ => command.emptystr = option.text(),
            }
        } else if p.peek() == Some('"') && texts.len() < FRAME.len() {
            texts.push(p.quoted('"')?.node);
        } else {
            return Err(p.unexpected("six texts in double quotes, or an option"));
        }
    }
    match <[String; 6]>::try_from(texts) {
        Ok(frame) => command.frame = frame,
        Err(texts) if texts.is_empty() => {}
        Err(_) => return Err(p.unexpected("all six texts: \"(\" \"(\" \"AND\" \")\" \"OR\" \")\"")),
    }
    Ok(Command::Format(command))
}

impl fmt::Display for FormatCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .push(format_args!("mvsep={}", quoted(&self.mvsep)))
            .option("maxresults", self.maxresults);
        for text in &self.frame {
            arguments.push(quoted(text));
        }
        arguments.push(format_args!("emptystr={}", quoted(&self.emptystr))).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | format",
            r#"* | format "[" "[" "&&" "]" "||" "]" maxresults=3"#,
            r#"* | format mvsep="mvseparator" "{" "[" "AND" "]" "AND" "}" emptystr="none""#,
            r#"index=a [search b | format "(" "" "OR" "" "OR" ")"]"#,
        ]);
        same("* | format", r#"* | format "(" "(" "AND" ")" "OR" ")""#);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses(r#"* | format "(" "(""#, "all six texts", "");
        refuses("* | format a", "six texts in double quotes", "a");
    }
}
