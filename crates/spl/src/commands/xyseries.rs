//! `xyseries`: converts rows with x, series and values to a table.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name, field_names};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `xyseries [grouped=] <x> <series> <values>... [sep=] [format=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct XyseriesCommand {
    /// The field whose values become rows.
    pub x: Field,
    /// The field whose values become columns.
    pub series: Field,
    /// The fields with the values of the cells; at least one.
    pub values: Vec<Field>,
    /// `grouped=`: whether the input is sorted by `x`.
    pub grouped: bool,
    /// `sep=`: separator between field and series in column names if there are several value fields.
    pub sep: Option<String>,
    /// `format=`: template of column names.
    pub format: Option<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "xyseries",
    aliases: &["maketable"],
    summary: "turns rows of x, series and value into a table",
    syntax: "xyseries [grouped=<bool>] <x field> <series field> <value field>... [sep=<text>] [format=<text>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["grouped", "sep", "format"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut grouped, mut sep, mut format) = (false, None, None);
    let mut fields = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            fields.push(p.field("a field name")?);
            continue;
        };
        match option.name {
            "grouped" => grouped = option.boolean()?,
            "sep" => sep = Some(option.text()),
            _ => format = Some(option.text()),
        }
    }
    if fields.len() < 3 {
        return Err(p.unexpected("three fields: x, series and value"));
    }
    let values = fields.split_off(2);
    let (Some(series), Some(x)) = (fields.pop(), fields.pop()) else {
        return Err(p.unexpected("three fields: x, series and value"));
    };
    Ok(Command::Xyseries(XyseriesCommand { x, series, values, grouped, sep, format }))
}

impl fmt::Display for XyseriesCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .flag("grouped", self.grouped, false)
            .push(field_name(&self.x.node))
            .push(field_name(&self.series.node))
            .push(field_names(self.values.iter().map(|field| field.node.as_str())))
            .maybe("sep", self.sep.as_ref())
            .maybe("format", self.format.as_ref())
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | xyseries _time host count",
            r#"* | xyseries grouped=t a b c, d sep=":" format="$AGG$-$VAL$""#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | xyseries a b", "three fields", "");
        refuses("* | xyseries a b c spe=x", "unknown option 'spe'", "spe");
    }
}
