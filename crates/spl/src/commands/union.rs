//! `union`: combines the rows of several searches.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Dataset, SubsearchOptions};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser, subsearch_option};
use std::fmt;

/// `union [options] <search>...`.
#[derive(Debug, Clone, PartialEq)]
pub struct UnionCommand {
    /// The searches, at least one.
    pub datasets: Vec<Dataset>,
    /// Limits of searches that have commands other than streaming ones.
    pub options: SubsearchOptions,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "union",
    aliases: &[],
    summary: "combines the rows of several searches",
    syntax: "union [maxtime=<n>] [maxout=<n>] [timeout=<n>] <dataset>...",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxtime", "maxout", "timeout", "extendtimerange", "run_in_preview"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut datasets, mut options) = (Vec::new(), SubsearchOptions::default());
    loop {
        p.skip_separators();
        if p.at_dataset() {
            datasets.push(p.dataset()?);
        } else if let Some(option) = p.option(OPTIONS)? {
            subsearch_option(&mut options, &option)?;
        } else {
            break;
        }
    }
    if datasets.is_empty() {
        return Err(p.unexpected("a subsearch in square brackets or a dataset"));
    }
    Ok(Command::Union(UnionCommand { datasets, options }))
}

impl fmt::Display for UnionCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(&self.options);
        for dataset in &self.datasets {
            arguments.push(dataset);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| union [search index=a | eval type=\"foo\"] [search index=b]",
            "* | chart count by a | union maxout=20000 maxtime=120 timeout=600 [search error]",
            "* | union datamodel:\"internal_server.splunkdaccess\" [search index=a]",
            "| union savedsearch:\"my search\", inputlookup:x.csv",
        ]);
        same("| union [a], [b] maxout=5", "| union maxout=5 [a] [b]");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | union", "a subsearch in square brackets or a dataset", "");
        refuses("* | union products", "a subsearch in square brackets or a dataset", "products");
        refuses("* | union savedsearch: [a]", "a name after 'savedsearch:'", "[");
    }
}
