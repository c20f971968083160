//! `meventcollect`: writes events to an index as metric data points.

use super::{CommandDefinition, CommandKind, CommandRight, Takes, mcollect};
use crate::ast::{Command, McollectCommand};
use std::fmt;

/// `meventcollect` with the arguments of `mcollect`.
#[derive(Debug, Clone, PartialEq)]
pub struct MeventcollectCommand(pub McollectCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "meventcollect",
    aliases: &[],
    summary: "writes events to an index as metric data points",
    syntax: "meventcollect index=<index> [split=true|false|allnums] [prefix_field=<field>] [host=<text>] [source=<text>] [sourcetype=<text>] [marker=<text>] [<field>...]",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("run_mcollect"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse: |p| mcollect::parse(p).map(MeventcollectCommand).map(Command::Meventcollect),
};

const OPTIONS: &[&str] = mcollect::OPTIONS;

impl fmt::Display for MeventcollectCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
