//! `metadata`: lists hosts, sources or source types.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchPattern, SearchValue};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser, pattern_of};
use std::fmt;

/// `metadata type=hosts|sources|sourcetypes [index=...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataCommand {
    /// The kind of values that is listed.
    pub kind: MetadataKind,
    /// `index=`, repeated or comma-separated, wildcards allowed; the default indexes if empty.
    pub indexes: Vec<SearchValue>,
    /// `datatype=metric`: whether metric data points are listed, which have no metadata.
    pub of_metrics: bool,
    /// Options that are filters of other commands, with their values. They have no effect, which a message
    /// says.
    pub ignored: Vec<(&'static str, String)>,
}

/// The kinds of values that `metadata` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the option's values")]
pub enum MetadataKind {
    Hosts,
    Sources,
    Sourcetypes,
}

impl MetadataKind {
    const ALL: [Self; 3] = [Self::Hosts, Self::Sources, Self::Sourcetypes];

    fn name(self) -> &'static str {
        match self {
            Self::Hosts => "hosts",
            Self::Sources => "sources",
            Self::Sourcetypes => "sourcetypes",
        }
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "metadata",
    aliases: &[],
    summary: "lists hosts, sources or source types",
    syntax: "metadata type=hosts|sources|sourcetypes [index=<index>]...",
    kind: CommandKind::Generating,
    right: CommandRight::summary(Some("get_metadata")),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "type",
    "index",
    "splunk_server",
    "splunk_server_group",
    "datatype",
    "host",
    "source",
    "sourcetype",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut kind, mut indexes, mut of_metrics) = (None, Vec::new(), false);
    let mut ignored = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        // Older apps write `metadata hosts`, or `metadata type=hosts where index=x`.
        if kind.is_none()
            && let Some(found) =
                MetadataKind::ALL.into_iter().find(|kind| p.eat_keyword(kind.name()))
        {
            kind = Some(found);
            continue;
        }
        if kind.is_some() && p.eat_keyword("where") {
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as type=hosts"));
        };
        match option.name {
            "type" => {
                let named = |kind: &MetadataKind| kind.name().eq_ignore_ascii_case(&option.value);
                let found = MetadataKind::ALL.into_iter().find(named);
                kind = Some(found.ok_or_else(|| option.error("hosts, sources or sourcetypes"))?);
            }
            "index" => {
                for name in option.value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                    let pattern: SearchPattern = pattern_of(name);
                    indexes.push(SearchValue { pattern, quoted: false, span: option.value_span });
                }
            }
            "datatype" => {
                of_metrics = match option.value.to_ascii_lowercase().as_str() {
                    "event" | "all" => false,
                    "metric" => true,
                    _ => return Err(option.error("event, metric or all")),
                };
            }
            "host" | "source" | "sourcetype" => ignored.push((option.name, option.text())),
            _ => {}
        }
    }
    let kind = kind.ok_or_else(|| p.unexpected("type=hosts, type=sources or type=sourcetypes"))?;
    Ok(Command::Metadata(MetadataCommand { kind, indexes, of_metrics, ignored }))
}

impl fmt::Display for MetadataCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.option("type", self.kind.name());
        for index in &self.indexes {
            arguments.option("index", index.pattern.text());
        }
        if self.of_metrics {
            arguments.option("datatype", "metric");
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
        accepts(&[
            "| metadata type=hosts",
            "| metadata type=hosts index=m datatype=metric",
            "| metadata type=hosts datatype=event",
            "| metadata type=hosts sourcetype=* index=web",
            "| metadata type=sourcetypes index=web index=_*",
            r#"| metadata type=sources index="a,b" | sort - totalCount"#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| metadata", "type=hosts", "");
        refuses("| metadata type=hosts datatype=x", "event, metric or all", "x");
        refuses("| metadata type=users", "hosts, sources or sourcetypes", "users");
    }
}
