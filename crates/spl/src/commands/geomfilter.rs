//! `geomfilter`: keeps shapes inside of a box.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::Arguments;
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `geomfilter [min_x=] [min_y=] [max_x=] [max_y=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GeomfilterCommand {
    /// The box.
    pub bounds: GeomBounds,
}

/// A box in degrees, as texts (default: the whole earth).
#[derive(Debug, Clone, PartialEq)]
pub struct GeomBounds {
    /// `min_x=`: its western edge.
    pub min_x: String,
    /// `min_y=`: its southern edge.
    pub min_y: String,
    /// `max_x=`: its eastern edge.
    pub max_x: String,
    /// `max_y=`: its northern edge.
    pub max_y: String,
}

impl Default for GeomBounds {
    fn default() -> Self {
        Self {
            min_x: "-180".to_owned(),
            min_y: "-90".to_owned(),
            max_x: "180".to_owned(),
            max_y: "90".to_owned(),
        }
    }
}

impl GeomBounds {
    /// Applies an option.
    pub(crate) fn accept(&mut self, option: &OptionValue) -> Parsed<()> {
        let (side, most) = match option.name {
            "min_x" => (&mut self.min_x, 180.0),
            "max_x" => (&mut self.max_x, 180.0),
            "min_y" => (&mut self.min_y, 90.0),
            _ => (&mut self.max_y, 90.0),
        };
        *side = option.decimal()?;
        if side.parse::<f64>().is_ok_and(|degrees| degrees.abs() <= most) {
            return Ok(());
        }
        Err(option.error(&format!("a number from -{most} to {most}")))
    }
}

impl fmt::Display for GeomBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("min_x", &self.min_x)
            .option("min_y", &self.min_y)
            .option("max_x", &self.max_x)
            .option("max_y", &self.max_y)
            .write(f)
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "geomfilter",
    aliases: &[],
    summary: "keeps shapes within a box",
    syntax: "geomfilter [min_x=<number>] [min_y=<number>] [max_x=<number>] [max_y=<number>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["min_x", "min_y", "max_x", "max_y"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut bounds = GeomBounds::default();
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Geomfilter(GeomfilterCommand { bounds }));
        }
        match p.option(OPTIONS)? {
            Some(option) => bounds.accept(&option)?,
            None => return Err(p.unexpected("an option such as min_x=-90")),
        }
    }
}

impl fmt::Display for GeomfilterCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bounds.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | geomfilter", "* | geomfilter min_x=-90 min_y=-90.0 max_x=90 max_y=90"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | geomfilter min_x=-200", "from -180 to 180", "-200");
        refuses("* | geomfilter x=5", "unknown option 'x'", "x");
    }
}
