//! `makemv`: splits a value into several values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Spanned};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `makemv [delim= | tokenizer=] [allowempty=] [setsv=] <field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct MakemvCommand {
    /// The field.
    pub field: Field,
    /// The way in which it is split.
    pub split: MakemvSplit,
    /// `allowempty=`: whether empty values are kept.
    pub allowempty: bool,
    /// `setsv=`: whether the single value is kept, too.
    pub setsv: bool,
}

/// The ways in which `makemv` splits a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MakemvSplit {
    /// `delim=` (default one space).
    Delimiter(String),
    /// `tokenizer=`: a regular expression with one group.
    Tokenizer(Spanned<String>),
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "makemv",
    aliases: &[],
    summary: "splits a field into multiple values",
    syntax: "makemv [delim=<text> | tokenizer=<regex>] [allowempty=<bool>] [setsv=<bool>] <field>",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["delim", "tokenizer", "allowempty", "setsv"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut split = MakemvSplit::Delimiter(" ".to_owned());
    let (mut allowempty, mut setsv, mut field) = (false, false, None);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if let Some(option) = p.option(OPTIONS)? {
            match option.name {
                "delim" => split = MakemvSplit::Delimiter(option.text()),
                "tokenizer" => split = MakemvSplit::Tokenizer(option.spanned()),
                "allowempty" => allowempty = option.boolean()?,
                _ => setsv = option.boolean()?,
            }
        } else if field.is_none() {
            field = Some(p.field("a field name")?);
        } else {
            return Err(p.unexpected("an option or the end of the command"));
        }
    }
    let field = field.ok_or_else(|| p.unexpected("a field name"))?;
    Ok(Command::Makemv(MakemvCommand { field, split, allowempty, setsv }))
}

impl fmt::Display for MakemvCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        match &self.split {
            MakemvSplit::Delimiter(text) => arguments.option("delim", text),
            MakemvSplit::Tokenizer(regex) => arguments.option("tokenizer", &regex.node),
        };
        arguments
            .flag("allowempty", self.allowempty, false)
            .flag("setsv", self.setsv, false)
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
            "* | makemv a",
            r#"* | makemv delim="," allowempty=t setsv=f a"#,
            "* | makemv delim=, a",
            r#"* | makemv tokenizer="([^\",]+)" a"#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses(r#"* | makemv delim=",""#, "expected a field name", "");
        refuses("* | makemv a b", "found 'b'", "b");
    }
}
