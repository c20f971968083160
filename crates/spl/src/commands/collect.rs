//! `collect`: writes the rows to an index as events.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `collect index=<index> [options]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectCommand {
    /// `index=`: the destination (default `summary`).
    pub index: Spanned<String>,
    /// `source=` of the events.
    pub source: Option<String>,
    /// `host=` of the events.
    pub host: Option<String>,
    /// `sourcetype=` of the events (default `stash`).
    pub sourcetype: Option<String>,
    /// `marker=`: `field=value` pairs that are added to each event.
    pub marker: Option<String>,
    /// `testmode=`: whether nothing is written, and the rows show what would be written.
    pub testmode: bool,
    /// `addtime=`: whether a time is put before the text of each event (default true).
    pub addtime: bool,
    /// `addinfo=`: whether the time range and the start of the search are added to each event (default true).
    pub addinfo: bool,
    /// `output_format=hec`: whether events are JSON.
    pub json: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "collect",
    aliases: &["stash", "sumindex", "summaryindex"],
    summary: "writes rows to an index",
    syntax: "collect index=<index> [source=<text>] [host=<text>] [sourcetype=<text>] [marker=<text>] [testmode=<bool>] [addtime=<bool>] [addinfo=<bool>] [output_format=raw|hec]",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("run_collect"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "index",
    "source",
    "host",
    "sourcetype",
    "marker",
    "testmode",
    "addtime",
    "addinfo",
    "file",
    "spool",
    "run_in_preview",
    "timeformat",
    "uselb",
    "output_format",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = CollectCommand {
        index: Spanned::new("summary".to_owned(), p.here()),
        source: None,
        host: None,
        sourcetype: None,
        marker: None,
        testmode: false,
        addtime: true,
        addinfo: true,
        json: false,
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as index=<index>"));
        };
        match option.name {
            "index" => command.index = option.spanned(),
            "source" => command.source = Some(option.text()),
            "host" => command.host = Some(option.text()),
            "sourcetype" => command.sourcetype = Some(option.text()),
            "marker" => command.marker = Some(option.text()),
            "testmode" => command.testmode = option.boolean()?,
            "addtime" => command.addtime = option.boolean()?,
            "addinfo" => command.addinfo = option.boolean()?,
            "output_format" => {
                command.json = option.value.eq_ignore_ascii_case("hec");
                if !command.json && !option.value.eq_ignore_ascii_case("raw") {
                    return Err(option.error("raw or hec"));
                }
            }
            "file" | "timeformat" => drop(option.text()),
            _ => drop(option.boolean()?),
        }
    }
    Ok(Command::Collect(command))
}

impl fmt::Display for CollectCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .option("index", &self.index.node)
            .maybe("source", self.source.as_ref())
            .maybe("host", self.host.as_ref())
            .maybe("sourcetype", self.sourcetype.as_ref())
            .maybe("marker", self.marker.as_ref())
            .flag("testmode", self.testmode, false)
            .flag("addtime", self.addtime, true)
            .flag("addinfo", self.addinfo, true);
        if self.json {
            arguments.option("output_format", "hec");
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
            "* | collect index=summary",
            "* | collect index=a source=b host=c sourcetype=d testmode=t addtime=f marker=\"report=x, n=1\"",
            "* | collect index=a output_format=hec addinfo=f uselb=t timeformat=\"%s\"",
        ]);
        same("* | summaryindex index=a", "* | collect index=a");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | collect summary", "an option such as index=", "summary");
        refuses("* | collect index=a output_format=x", "raw or hec", "x");
    }
}
