//! `appendcols`: adds the fields of the rows of another search, row by row.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Subsearch, SubsearchOptions};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser, subsearch_option};
use std::fmt;

/// `appendcols [override=] [options] [subsearch]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendcolsCommand {
    /// The search whose fields are added to the rows of the main search.
    pub subsearch: Subsearch,
    /// `override=`: whether its values replace those of the main search.
    pub replace: bool,
    /// Limits of the subsearch.
    pub options: SubsearchOptions,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "appendcols",
    aliases: &[],
    summary: "adds the fields of a subsearch, row by row",
    syntax: "appendcols [override=<bool>] [maxtime=<n>] [maxout=<n>] [timeout=<n>] [<subsearch>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["override", "maxtime", "maxout", "timeout", "extendtimerange", "run_in_preview"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut replace, mut subsearch, mut options) = (false, None, SubsearchOptions::default());
    loop {
        p.skip_separators();
        if p.peek() == Some('[') && subsearch.is_none() {
            subsearch = Some(p.subsearch()?);
        } else if let Some(option) = p.option(OPTIONS)? {
            match option.name {
                "override" => replace = option.boolean()?,
                _ => subsearch_option(&mut options, &option)?,
            }
        } else {
            break;
        }
    }
    let subsearch = subsearch.ok_or_else(|| p.unexpected("a subsearch in square brackets"))?;
    Ok(Command::Appendcols(AppendcolsCommand { subsearch, replace, options }))
}

impl fmt::Display for AppendcolsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .flag("override", self.replace, false)
            .push(&self.options)
            .push(&self.subsearch)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | stats count | appendcols [search index=b | stats count AS b]",
            "* | appendcols override=true maxout=5 maxtime=60 timeout=3 [makeresults]",
            "* | appendcols extendtimerange=t run_in_preview=f [| makeresults | eval a=\"]\"]",
        ]);
        same("* | appendcols [a] override=t", "* | appendcols override=true [search a]");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | appendcols", "a subsearch in square brackets", "");
        refuses("* | appendcols overide=t [a]", "unknown option 'overide'", "overide");
        refuses("* | appendcols [a] [b]", "'|' or the end of the command", "[");
    }
}
