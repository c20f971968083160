//! `from`: returns the rows of a dataset.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `from <kind>:<name>`.
#[derive(Debug, Clone, PartialEq)]
pub struct FromCommand {
    /// The kind of the dataset.
    pub kind: FromKind,
    /// The name of the dataset.
    pub name: Spanned<String>,
}

/// The kinds of datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromKind {
    /// A dataset of a data model.
    Datamodel,
    /// A lookup.
    Lookup,
    /// A saved search.
    Savedsearch,
    /// An index.
    Index,
}

impl FromKind {
    const ALL: [(&'static str, Self); 5] = [
        ("datamodel", Self::Datamodel),
        ("inputlookup", Self::Lookup),
        ("lookup", Self::Lookup),
        ("savedsearch", Self::Savedsearch),
        ("index", Self::Index),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Datamodel => "datamodel",
            Self::Lookup => "lookup",
            Self::Savedsearch => "savedsearch",
            Self::Index => "index",
        }
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "from",
    aliases: &[],
    summary: "reads the rows of a dataset",
    syntax: "from datamodel:<model>.<dataset> | from lookup:<lookup> | from savedsearch:<name> | from index:<index>",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    const EXPECTED: &str = "datamodel:<model>.<dataset>, lookup:<name> or savedsearch:<name>";
    p.skip_space();
    let start = p.pos();
    let (kind, name) = if p.peek() == Some('"') {
        let whole = p.quoted('"')?;
        let (kind, name) = whole.node.split_once(':').unwrap_or(("", &whole.node));
        (kind.to_owned(), Spanned::new(name.to_owned(), whole.span))
    } else {
        let kind = p.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
        if kind.is_empty() {
            return Err(p.unexpected(EXPECTED));
        }
        p.eat(":");
        p.skip_space();
        (kind, p.dataset_name("the name of a dataset")?)
    };
    let known = FromKind::ALL.iter().find(|(word, _)| kind.eq_ignore_ascii_case(word));
    let Some((_, kind)) = known else {
        let message = "expected datamodel:, lookup:, savedsearch: or index: in front of the name";
        return Err(p.error(message, p.span_from(start)));
    };
    Ok(Command::From(FromCommand { kind: *kind, name }))
}

impl fmt::Display for FromCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = field_name(&self.name.node);
        Arguments::default().push(format_args!("{}:{name}", self.kind.name())).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| from datamodel:Web.Web",
            "| from datamodel:\"Web.Proxy\" | stats count",
            "| from lookup:hosts.csv | table host",
            "| from savedsearch:\"my search\" | head 5",
            "| from index:main",
        ]);
        same("| from inputlookup:a", "| from lookup:a");
        same("| from datamodel:\"Web.Web\"", "| from datamodel:Web.Web");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| from", "expected datamodel:", "");
        refuses("| from table:x", "expected datamodel:, lookup:", "table:x");
    }
}
