//! `bin`: puts numbers or times into bins.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{BinOptions, Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `bin [options] <field> [AS <name>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct BinCommand {
    /// The field whose values are grouped into bins.
    pub field: Field,
    /// The field for the bin; the field itself if absent.
    pub alias: Option<Field>,
    /// The bins.
    pub bins: BinOptions,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "bin",
    aliases: &["bucket", "discretize"],
    summary: "groups numbers or times into bins",
    syntax: "bin [span=<span>] [minspan=<span>] [bins=<n>] [start=<num>] [end=<num>] [aligntime=<time>] [<field>] [AS <field>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["span", "minspan", "bins", "start", "end", "aligntime"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let start = p.pos();
    let mut bins = BinOptions::default();
    let mut field = None;
    let mut alias = None;
    let mut has_options = false;
    while !p.at_end() {
        if let Some(option) = p.option(OPTIONS)? {
            has_options |= option.bin_option(&mut bins)?;
        } else if field.is_some() && alias.is_none() && p.at_keyword("as") {
            alias = p.alias()?;
        } else if field.is_none() {
            field = Some(p.field("a field name")?);
            alias = p.alias()?;
        } else {
            return Err(p.unexpected("an option or the end of the command"));
        }
    }
    // Options without a field apply to `_time`: searches in many apps are written like this.
    let time = || Field::new("_time".to_owned(), p.span_from(start));
    let field = match field {
        None if !has_options => return Err(p.unexpected("a field name")),
        field => field.unwrap_or_else(time),
    };
    Ok(Command::Bin(BinCommand { field, alias, bins }))
}

impl fmt::Display for BinCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alias = self.alias.as_ref().map(|alias| alias.node.as_str());
        Arguments::default()
            .push(&self.bins)
            .push(field_name(&self.field.node))
            .alias(alias)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | bin _time span=5m",
            "* | bucket span=1mon@mon _time AS month",
            "* | bin bins=20 start=0 end=1e3 size",
            "* | bin span=2log10 size",
            "* | bin span=0.5 x",
            "* | bin span=1h aligntime=@d _time",
            "* | BIN minspan=1d _time",
            "* | bin _time span=5m AS five",
            "* | bin _time span=auto",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | bin", "expected a field name", "");
        refuses("* | bin span=0m _time", "option 'span' expects", "0m");
        refuses("* | bin span=5parsecs _time", "a span such as", "5parsecs");
        refuses("* | bin bins=1 x", "at least 2", "1");
        refuses("* | bin a b", "found 'b'", "b");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | bucket _time span=1hour", "* | bin span=1h _time");
        crate::testing::same("* | bin span=1h", "* | bin span=1h _time");
        crate::testing::same("* | bin span=auto", "* | bin _time");
        crate::testing::same("* | bin x span=5 AS y", "* | bin span=5 x AS y");
    }
}
