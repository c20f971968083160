//! `iplocation`: adds the locations of IP addresses.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `iplocation [prefix=] [allfields=] [lang=] <field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct IplocationCommand {
    /// The field with the address.
    pub field: Field,
    /// `prefix=`: prefix of the names of the added fields.
    pub prefix: String,
    /// `allfields=`: whether continent, metropolitan area and time zone are added, too.
    pub allfields: bool,
    /// `lang=`: language of place names.
    pub lang: Option<Field>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "iplocation",
    aliases: &[],
    summary: "adds the location of IP addresses",
    syntax: "iplocation [prefix=<text>] [allfields=<bool>] [lang=<language>] <field>",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["prefix", "allfields", "lang"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut field, mut prefix, mut allfields, mut lang) = (None, String::new(), false, None);
    while !p.at_end() {
        match p.option(OPTIONS)? {
            Some(option) => match option.name {
                "prefix" => prefix = option.text(),
                "allfields" => allfields = option.boolean()?,
                _ => lang = Some(option.spanned()),
            },
            None if field.is_none() => field = Some(p.field("the field with the address")?),
            None => return Err(p.unexpected("an option or the end of the command")),
        }
        p.skip_separators();
    }
    let field = field.ok_or_else(|| p.unexpected("the field with the address"))?;
    Ok(Command::Iplocation(IplocationCommand { field, prefix, allfields, lang }))
}

impl fmt::Display for IplocationCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = Some(&self.prefix).filter(|prefix| !prefix.is_empty());
        Arguments::default()
            .maybe("prefix", prefix)
            .flag("allfields", self.allfields, false)
            .maybe("lang", self.lang.as_ref().map(|lang| &lang.node))
            .push(field_name(&self.field.node))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | iplocation clientip",
            "* | iplocation prefix=iploc_ allfields=true clientip",
            "* | iplocation \"src ip\" lang=es",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | iplocation", "expected the field with the address", "");
        refuses("* | iplocation a b", "found 'b'", "b");
        refuses("* | iplocation allfield=t a", "unknown option 'allfield'", "allfield");
    }
}
