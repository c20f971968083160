//! `dbinspect`: lists the buckets of indexes.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchPattern, TimeModifier, TimeModifierKind};
use crate::display::Arguments;
use crate::parser::{OptionValue, Parsed, Parser, pattern_of};
use std::fmt;

/// `dbinspect [index=]... [earliest=] [latest=] [timeformat=] [cached=] [corruptonly=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DbinspectCommand {
    /// `index=`, wildcards allowed; the default indexes if empty.
    pub indexes: Vec<SearchPattern>,
    /// `earliest=` and `latest=`: the time range that buckets overlap; that of the search if absent.
    pub time: Vec<TimeModifier>,
    /// Options of other commands, with their values. They have no effect, which a message says.
    pub ignored: Vec<(&'static str, String)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "dbinspect",
    aliases: &[],
    summary: "lists the buckets of indexes",
    syntax: "dbinspect [index=<index>]... [earliest=<time>] [latest=<time>] [cached=<bool>] [corruptonly=<bool>]",
    kind: CommandKind::Generating,
    right: CommandRight::summary(None),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "index",
    "span",
    "bins",
    "timeformat",
    "corruptonly",
    "cached",
    "earliest",
    "latest",
    "state",
    "datatype",
    "splunk_server",
    "splunk_server_group",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut indexes, mut time, mut ignored) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as index=<index>"));
        };
        match option.name {
            "index" => indexes.push(pattern_of(&option.value)),
            "corruptonly" | "cached" => drop(option.boolean()?),
            "earliest" => time.push(bound(TimeModifierKind::Earliest, &option)),
            "latest" => time.push(bound(TimeModifierKind::Latest, &option)),
            "state" | "datatype" | "splunk_server" | "splunk_server_group" => {
                ignored.push((option.name, option.text()));
            }
            _ => drop(option.text()),
        }
    }
    Ok(Command::Dbinspect(DbinspectCommand { indexes, time, ignored }))
}

fn bound(kind: TimeModifierKind, option: &OptionValue) -> TimeModifier {
    TimeModifier { kind, value: option.value.clone(), format: None, span: option.value_span }
}

impl fmt::Display for DbinspectCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for index in &self.indexes {
            arguments.option("index", index.text());
        }
        for modifier in &self.time {
            arguments.option(modifier.kind.name(), &modifier.value);
        }
        for (name, value) in &self.ignored {
            arguments.option(name, value);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["| dbinspect", "| dbinspect index=_internal index=web* cached=t corruptonly=f"]);
        accepts(&[
            "| dbinspect earliest=-1d@d latest=now",
            "| dbinspect latest=1700000000 index=web",
            "| dbinspect index=* state=warm datatype=all",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| dbinspect idx=main", "unknown option 'idx'", "idx");
        refuses("| dbinspect main", "an option such as index=", "main");
    }
}
