//! `meventcollect`: writes events to an index as points of metrics.

use super::{CommandDefinition, CommandKind, Takes, mcollect};
use crate::ast::Command;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "meventcollect",
    aliases: &[],
    summary: "writes events to an index as points of metrics",
    syntax: "meventcollect index=<index> [split=true|false|allnums] [prefix_field=<field>] [host=<text>] [source=<text>] [sourcetype=<text>] [marker=<text>] [<field>...]",
    kind: CommandKind::Streaming,
    options: OPTIONS,
    takes: Takes::Fields,
    parse: |p| mcollect::parse(p).map(Command::Meventcollect),
};

const OPTIONS: &[&str] = mcollect::OPTIONS;
