//! `set`: combines the rows of two searches as sets.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Subsearch};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `set union|diff|intersect [subsearch] [subsearch]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetCommand {
    /// The set operation.
    pub operation: SetOperation,
    /// The two searches.
    pub searches: [Subsearch; 2],
}

/// The set operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperation {
    /// Rows of either search.
    Union,
    /// Rows of one search that the other does not have.
    Diff,
    /// Rows of both searches.
    Intersect,
}

impl SetOperation {
    const ALL: [Self; 3] = [Self::Union, Self::Diff, Self::Intersect];

    fn name(self) -> &'static str {
        match self {
            Self::Union => "union",
            Self::Diff => "diff",
            Self::Intersect => "intersect",
        }
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "set",
    aliases: &[],
    summary: "returns the union, difference or intersection of two searches",
    syntax: "set union|diff|intersect [<subsearch>] [<subsearch>]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let found = SetOperation::ALL.into_iter().find(|operation| p.eat_keyword(operation.name()));
    let operation = found.ok_or_else(|| p.unexpected("union, diff or intersect"))?;
    let one = p.subsearch()?;
    p.skip_separators();
    let other = p.subsearch()?;
    Ok(Command::Set(SetCommand { operation, searches: [one, other] }))
}

impl fmt::Display for SetCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = &self.searches;
        Arguments::default().push(self.operation.name()).push(one).push(other).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| set diff [search 404 | fields url] [search 303 | fields url]",
            "| set UNION [inputlookup a] , [| makeresults]",
            "|set intersect[search a][search b]",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| set minus [a] [b]", "union, diff or intersect", "minus");
        refuses("| set union [a]", "a subsearch in square brackets", "");
        refuses("| set union [a] [b] [c]", "'|' or the end of the command", "[");
    }
}
