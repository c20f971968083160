//! `geom`: adds the shapes of regions for maps.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, GeomBounds};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `geom [<lookup>] [allFeatures=] [featureIdField=] [gen=] [min_x=] [min_y=] [max_x=] [max_y=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GeomCommand {
    /// The lookup with the shapes.
    pub collection: Option<Field>,
    /// `allFeatures=`: whether shapes that no row names are included (default false).
    pub allfeatures: bool,
    /// `featureIdField=`: the field that names the shape (default `featureId`).
    pub featureidfield: String,
    /// `gen=`: degree of simplification of the shapes, as text.
    pub generalization: Option<String>,
    /// The box that contains the shapes.
    pub bounds: GeomBounds,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "geom",
    aliases: &[],
    summary: "adds region shapes",
    syntax: "geom [<lookup>] [allFeatures=<bool>] [featureIdField=<field>] [gen=<number>] \
             [min_x=<number>] [min_y=<number>] [max_x=<number>] [max_y=<number>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["allfeatures", "featureidfield", "gen", "min_x", "min_y", "max_x", "max_y"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = GeomCommand {
        collection: None,
        allfeatures: false,
        featureidfield: "featureId".to_owned(),
        generalization: None,
        bounds: GeomBounds::default(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Geom(command));
        }
        match p.option(OPTIONS)? {
            Some(option) => match option.name {
                "allfeatures" => command.allfeatures = option.boolean()?,
                "featureidfield" => command.featureidfield = option.field()?.node,
                "gen" => command.generalization = Some(option.decimal()?),
                _ => command.bounds.accept(&option)?,
            },
            None if command.collection.is_none() => {
                command.collection = Some(p.field("the name of a lookup")?);
            }
            None => return Err(p.unexpected("an option or the end of the command")),
        }
    }
}

impl fmt::Display for GeomCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let collection = self.collection.as_ref().map(|name| field_name(&name.node));
        Arguments::default()
            .push(collection.unwrap_or_default())
            .flag("allFeatures", self.allfeatures, false)
            .option("featureIdField", &self.featureidfield)
            .maybe("gen", self.generalization.as_ref())
            .push(&self.bounds)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | geom",
            "* | geom geo_us_states featureIdField=\"state\" allFeatures=true gen=0.1 min_x=-130.5",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | geom geo_countries geo_us_states", "found 'geo_us_states'", "geo_us_states");
        refuses("* | geom max_y=91", "from -90 to 90", "91");
    }
}
