//! `geostats`: computes aggregations for places on a map.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, StatsBy, StatsCall};
use crate::display::{Arguments, commas};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `geostats [<options>] <aggregation>... [BY <field>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GeostatsCommand {
    /// The aggregations, at least one.
    pub calls: Vec<StatsCall>,
    /// The group keys; their values become series.
    pub by: StatsBy,
    /// `latfield=` (default `lat`).
    pub latfield: String,
    /// `longfield=` (default `lon`).
    pub longfield: String,
    /// `outputlatfield=` (default `latitude`).
    pub outputlatfield: String,
    /// `outputlongfield=` (default `longitude`).
    pub outputlongfield: String,
    /// `globallimit=`: maximum number of series besides OTHER (default 10, 0 means all).
    pub globallimit: u64,
    /// `locallimit=`: maximum number of series of a place besides OTHER (default 10, 0 means all).
    pub locallimit: u64,
    /// `binspanlat=` in degrees, as text (default 22.5).
    pub binspanlat: String,
    /// `binspanlong=` in degrees, as text (default 45).
    pub binspanlong: String,
    /// `maxzoomlevel=` (default 9).
    pub maxzoomlevel: u64,
    /// `translatetoxy=`: whether there is one row per place, with a column per series (default true).
    pub translatetoxy: bool,
}

impl Default for GeostatsCommand {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            by: StatsBy::default(),
            latfield: "lat".to_owned(),
            longfield: "lon".to_owned(),
            outputlatfield: "latitude".to_owned(),
            outputlongfield: "longitude".to_owned(),
            globallimit: 10,
            locallimit: 10,
            binspanlat: "22.5".to_owned(),
            binspanlong: "45".to_owned(),
            maxzoomlevel: 9,
            translatetoxy: true,
        }
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "geostats",
    aliases: &[],
    summary: "aggregates by location",
    syntax: "geostats [<options>] <aggregation>... [BY <field>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

const OPTIONS: &[&str] = &[
    "latfield",
    "longfield",
    "outputlatfield",
    "outputlongfield",
    "globallimit",
    "locallimit",
    "binspanlat",
    "binspanlong",
    "maxzoomlevel",
    "translatetoxy",
];

/// Maximum number of zoom levels; more of them would make bins of centimetres.
const MOST_LEVELS: u64 = 20;

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = GeostatsCommand::default();
    let found = p.stats_arguments(OPTIONS, |_, option| accept(&mut command, option))?;
    command.calls = found.calls;
    command.by = found.by;
    Ok(Command::Geostats(command))
}

fn accept(command: &mut GeostatsCommand, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "latfield" => command.latfield = option.field()?.node,
        "longfield" => command.longfield = option.field()?.node,
        "outputlatfield" => command.outputlatfield = option.field()?.node,
        "outputlongfield" => command.outputlongfield = option.field()?.node,
        "globallimit" => command.globallimit = option.number()?,
        "locallimit" => command.locallimit = option.number()?,
        "binspanlat" => command.binspanlat = degrees(option)?,
        "binspanlong" => command.binspanlong = degrees(option)?,
        "maxzoomlevel" => {
            command.maxzoomlevel = option.number()?;
            if command.maxzoomlevel > MOST_LEVELS {
                return Err(option.error("a whole number of at most 20"));
            }
        }
        _ => command.translatetoxy = option.boolean()?,
    }
    Ok(())
}

fn degrees(option: &OptionValue) -> Parsed<String> {
    let text = option.decimal()?;
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok(text),
        _ => Err(option.error("a number above 0")),
    }
}

impl fmt::Display for GeostatsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("latfield", &self.latfield)
            .option("longfield", &self.longfield)
            .option("outputlatfield", &self.outputlatfield)
            .option("outputlongfield", &self.outputlongfield)
            .option("globallimit", self.globallimit)
            .option("locallimit", self.locallimit)
            .option("binspanlat", &self.binspanlat)
            .option("binspanlong", &self.binspanlong)
            .option("maxzoomlevel", self.maxzoomlevel)
            .flag("translatetoxy", self.translatetoxy, true)
            .push(commas(&self.calls))
            .push(&self.by)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | geostats count",
            "* | geostats latfield=eventlat longfield=eventlong avg(rating) by gender",
            "* | geostats binspanlat=5.0 binspanlong=10 maxzoomlevel=3 globallimit=0 count by host",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | geostats", "expected an aggregation", "");
        refuses("* | geostats binspanlat=0 count", "a number above 0", "0");
        refuses("* | geostats maxzoomlevel=99 count", "at most 20", "99");
    }
}
