//! `folderize`: groups values such as paths by their common prefixes.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Spanned};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `folderize attr= [sep=] [size=] [minfolders=] [maxfolders=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FolderizeCommand {
    /// `attr=`: the field with the paths.
    pub attr: Field,
    /// `sep=`: separator between the parts of a path (default `::`).
    pub sep: Spanned<String>,
    /// `size=`: the field with the size of a row, and of a folder in the result (default `totalCount`).
    pub size: String,
    /// `minfolders=` (default 2).
    pub minfolders: u64,
    /// `maxfolders=` (default 20).
    pub maxfolders: u64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "folderize",
    aliases: &[],
    summary: "groups values such as paths by prefix",
    syntax: "folderize attr=<field> [sep=<text>] [size=<field>] [minfolders=<n>] [maxfolders=<n>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["attr", "sep", "size", "minfolders", "maxfolders"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.skip_space();
    let (mut attr, mut size) = (None, "totalCount".to_owned());
    let mut sep = Spanned::new("::".to_owned(), p.here());
    let (mut minfolders, mut maxfolders) = (2, 20);
    while let Some(option) = p.option(OPTIONS)? {
        match option.name {
            "attr" => attr = Some(option.field()?),
            "sep" if option.value.is_empty() => return Err(option.error("a text")),
            "sep" => sep = option.spanned(),
            "size" => size = option.text(),
            "minfolders" => minfolders = option.number()?,
            _ => maxfolders = option.number()?,
        }
        p.skip_separators();
    }
    p.expect_end("an option or the end of the command")?;
    let attr = attr.ok_or_else(|| p.unexpected("attr=<field>"))?;
    Ok(Command::Folderize(FolderizeCommand { attr, sep, size, minfolders, maxfolders }))
}

impl fmt::Display for FolderizeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("attr", &self.attr.node)
            .option("sep", &self.sep.node)
            .option("size", &self.size)
            .option("minfolders", self.minfolders)
            .option("maxfolders", self.maxfolders)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | folderize attr=source",
            r#"* | folderize maxfolders=20 attr=source sep="/" size=n minfolders=1"#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | folderize sep=/", "expected attr=<field>", "");
        refuses("* | folderize attr=a*", "the name of one field", "a*");
    }
}
