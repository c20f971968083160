//! `rest`: returns entries of the REST API as rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `rest <path> [options] [<parameter>=<value>]...`.
#[derive(Debug, Clone, PartialEq)]
pub struct RestCommand {
    /// The endpoint, as `/services/data/indexes`.
    pub path: Spanned<String>,
    /// `count=`: maximum number of entries; 0 means all (default).
    pub count: u64,
    /// Further parameters of the request.
    pub parameters: Vec<(String, String)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "rest",
    aliases: &[],
    summary: "reads a REST endpoint",
    syntax: "rest <path> [count=<n>] [splunk_server=<name>] [timeout=<n>] [<parameter>=<value>]...",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: &["count", "splunk_server", "splunk_server_group", "timeout"],
    takes: Takes::Fields,
    parse,
};

/// Options that select servers, of which there is only one, or set how long to wait for them.
const OF_SERVERS: [&str; 4] = ["splunk_server", "splunk_server_group", "timeout", "strict"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut path, mut count, mut parameters) = (None, 0, Vec::new());
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if let Some(name) = p.option_name() {
            let value = p.text_argument("a value")?;
            match name.node.to_ascii_lowercase().as_str() {
                "count" => {
                    count = value.node.parse().map_err(|_| {
                        p.error("option 'count' expects a whole number", value.span)
                    })?;
                }
                server if OF_SERVERS.contains(&server) => {}
                _ => parameters.push((name.node, value.node)),
            }
            continue;
        }
        if path.is_some() {
            return Err(p.unexpected("<parameter>=<value> or the end of the command"));
        }
        path = Some(p.text_argument("a path such as /services/data/indexes")?);
    }
    let path = path.ok_or_else(|| p.unexpected("a path such as /services/data/indexes"))?;
    Ok(Command::Rest(RestCommand { path, count, parameters }))
}

impl fmt::Display for RestCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(crate::display::quoted(&self.path.node));
        if self.count > 0 {
            arguments.option("count", self.count);
        }
        for (name, value) in &self.parameters {
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
        accepts(&[
            "| rest /services/data/indexes",
            "| rest splunk_server=local count=0 /servicesNS/-/-/saved/searches search=\"is_scheduled=1\" f=title",
            "| rest \"/services/server/info\" timeout=5 | table version",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| rest", "expected a path such as", "");
        refuses("| rest /services/x count=a", "expects a whole number", "a");
        refuses("| rest /services/x y", "found 'y'", "y");
    }
}
