//! `append`: appends the rows of another search.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Subsearch};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `append [options] [subsearch]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendCommand {
    /// The search whose rows are appended.
    pub subsearch: Subsearch,
    /// `maxtime=` in seconds.
    pub maxtime: Option<u64>,
    /// `maxout=`: maximum number of rows.
    pub maxout: Option<u64>,
    /// `timeout=` in seconds.
    pub timeout: Option<u64>,
    /// `extendtimerange=`.
    pub extendtimerange: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "append",
    aliases: &[],
    summary: "appends the rows of a subsearch",
    syntax: "append [maxtime=<n>] [maxout=<n>] [timeout=<n>] [extendtimerange=<bool>] [<subsearch>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxtime", "maxout", "timeout", "extendtimerange", "run_in_preview"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut maxtime, mut maxout, mut timeout, mut extendtimerange) = (None, None, None, false);
    let mut subsearch = None;
    loop {
        p.skip_separators();
        if p.peek() == Some('[') && subsearch.is_none() {
            subsearch = Some(p.subsearch()?);
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else { break };
        match option.name {
            "maxtime" => maxtime = Some(option.number()?),
            "maxout" => maxout = Some(option.number()?),
            "timeout" => timeout = Some(option.number()?),
            "extendtimerange" => extendtimerange = option.boolean()?,
            // The option is about previews; the result is the same.
            _ => {
                option.boolean()?;
            }
        }
    }
    let subsearch = subsearch.ok_or_else(|| p.unexpected("a subsearch in square brackets"))?;
    Ok(Command::Append(AppendCommand { subsearch, maxtime, maxout, timeout, extendtimerange }))
}

impl fmt::Display for AppendCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("maxtime", self.maxtime)
            .maybe("maxout", self.maxout)
            .maybe("timeout", self.timeout)
            .flag("extendtimerange", self.extendtimerange, false)
            .push(&self.subsearch)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | append [search index=b | stats count]",
            r#"* | append maxout=10 [| makeresults | eval a="]"] | table a"#,
            "* | append [index=b [search c | fields d] | head 1]",
            "* | append [makeresults] maxtime=5 run_in_preview=t",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | append", "a subsearch in square brackets", "");
        refuses(
            "* | append [search a | boguscmd] | head",
            "Unknown search command 'boguscmd'.",
            "boguscmd",
        );
        refuses("* | append [search a", "is not closed", "[");
    }
}
