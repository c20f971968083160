//! `contingency`: counts how often values of two fields occur together.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `contingency [<options>] <row field> <column field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct ContingencyCommand {
    /// The field whose values become rows.
    pub row: Field,
    /// The field whose values become columns.
    pub column: Field,
    /// `maxrows=` (default 1000, which is the maximum; 0 means the maximum).
    pub maxrows: u64,
    /// `maxcols=` (default 1000, which is the maximum; 0 means the maximum).
    pub maxcols: u64,
    /// `minrowcover=`: share of the events that the rows cover, as text (default 1).
    pub minrowcover: String,
    /// `mincolcover=`: share of the events that the columns cover, as text (default 1).
    pub mincolcover: String,
    /// `usetotal=`: whether a row and a column with totals are added (default true).
    pub usetotal: bool,
    /// `totalstr=`: the name of these (default `TOTAL`).
    pub totalstr: String,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "contingency",
    aliases: &["counttable", "ctable"],
    summary: "counts how often values of two fields occur together",
    syntax: "contingency [maxrows=<n>] [maxcols=<n>] [minrowcover=<number>] \
             [mincolcover=<number>] [usetotal=<bool>] [totalstr=<text>] <field> <field>",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["maxrows", "maxcols", "minrowcover", "mincolcover", "usetotal", "totalstr"];

/// Maximum number of rows and of columns.
const MOST: u64 = 1000;

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let blank = || Field::new(String::new(), p.here());
    let mut command = ContingencyCommand {
        row: blank(),
        column: blank(),
        maxrows: MOST,
        maxcols: MOST,
        minrowcover: "1".to_owned(),
        mincolcover: "1".to_owned(),
        usetotal: true,
        totalstr: "TOTAL".to_owned(),
    };
    let mut fields = 0;
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        match (p.option(OPTIONS)?, fields) {
            (Some(option), _) => {
                accept(&mut command, &option)?;
                continue;
            }
            (None, 0) => command.row = p.field("a field name")?,
            (None, 1) => command.column = p.field("a second field name")?,
            (None, _) => return Err(p.unexpected("an option or the end of the command")),
        }
        fields += 1;
    }
    if fields < 2 {
        return Err(p.unexpected("two field names"));
    }
    Ok(Command::Contingency(command))
}

fn accept(command: &mut ContingencyCommand, option: &OptionValue) -> Parsed<()> {
    let most = |option: &OptionValue| match option.number()? {
        0 => Ok(MOST),
        number if number > MOST => Err(option.error("a whole number of at most 1000")),
        number => Ok(number),
    };
    match option.name {
        "maxrows" => command.maxrows = most(option)?,
        "maxcols" => command.maxcols = most(option)?,
        "minrowcover" => command.minrowcover = super::anomalousvalue::share(option)?,
        "mincolcover" => command.mincolcover = super::anomalousvalue::share(option)?,
        "usetotal" => command.usetotal = option.boolean()?,
        _ => command.totalstr = option.field()?.node,
    }
    Ok(())
}

impl fmt::Display for ContingencyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("maxrows", self.maxrows)
            .option("maxcols", self.maxcols)
            .option("minrowcover", &self.minrowcover)
            .option("mincolcover", &self.mincolcover)
            .flag("usetotal", self.usetotal, true)
            .option("totalstr", &self.totalstr)
            .push(field_name(&self.row.node))
            .push(field_name(&self.column.node))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | contingency log_level component",
            "* | ctable maxcols=5 a, b usetotal=f totalstr=all mincolcover=0.9",
        ]);
        same("* | contingency a b", "* | counttable a b maxrows=0");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | contingency a", "expected two field names", "");
        refuses("* | contingency a b*", "wildcards are not allowed", "b*");
        refuses("* | contingency maxrows=2000 a b", "at most 1000", "2000");
        refuses("* | contingency a b c", "found 'c'", "c");
    }
}
