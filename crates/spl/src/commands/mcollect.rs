//! `mcollect` and `meventcollect`: write rows to an index as metric data points.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern, Spanned};
use crate::display::{Arguments, field_patterns};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// The fields of a row that are measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetricSplit {
    /// `split=false`: `metric_name` and `_value`, or fields named `metric_name:<name>`.
    #[default]
    Named,
    /// `split=true`: all fields except the listed dimensions.
    All,
    /// `split=allnums`: all numeric fields except the listed dimensions.
    Numbers,
}

/// `mcollect index=<index> [options] [dimensions]`.
#[derive(Debug, Clone, PartialEq)]
pub struct McollectCommand {
    /// `index=`: the destination.
    pub index: Spanned<String>,
    /// `split=`.
    pub split: MetricSplit,
    /// `prefix_field=`: a field whose value, followed by a dot, is the prefix of the names of measures.
    pub prefix_field: Option<Spanned<String>>,
    /// `source=`.
    pub source: Option<String>,
    /// `host=`.
    pub host: Option<String>,
    /// `sourcetype=` (default `metrics_csv`).
    pub sourcetype: Option<String>,
    /// `marker=`: `dimension=value` pairs that are added to each point.
    pub marker: Option<String>,
    /// `file=`: has no effect, because there is no intermediate file.
    pub file: Option<String>,
    /// `spool=`: has no effect, because there is no intermediate file.
    pub spool: Option<bool>,
    /// The dimensions.
    pub dimensions: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "mcollect",
    aliases: &[],
    summary: "writes rows to an index as metric data points",
    syntax: "mcollect index=<index> [split=true|false|allnums] [prefix_field=<field>] [host=<text>] [source=<text>] [sourcetype=<text>] [marker=<text>] [<field>...]",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("run_mcollect"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse: |p| parse(p).map(Command::Mcollect),
};

pub(super) const OPTIONS: &[&str] =
    &["index", "split", "prefix_field", "source", "host", "sourcetype", "marker", "file", "spool"];

/// Reads the arguments, which are the same for `meventcollect`.
pub(super) fn parse(p: &mut Parser<'_>) -> Parsed<McollectCommand> {
    let mut index = None;
    let mut command = McollectCommand {
        index: Spanned::new(String::new(), p.here()),
        split: MetricSplit::default(),
        prefix_field: None,
        source: None,
        host: None,
        sourcetype: None,
        marker: None,
        file: None,
        spool: None,
        dimensions: Vec::new(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        match p.option(OPTIONS)? {
            Some(option) if option.name == "index" => index = Some(option.spanned()),
            Some(option) => accept(&mut command, &option)?,
            None => {
                command.dimensions.push(p.field_pattern("an option or the name of a dimension")?)
            }
        }
    }
    let Some(index) = index else {
        return Err(p.unexpected("index=<index>"));
    };
    command.index = index;
    Ok(command)
}

fn accept(command: &mut McollectCommand, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "split" => {
            command.split = match option.value.to_ascii_lowercase().as_str() {
                "allnums" | "auto" => MetricSplit::Numbers,
                _ if option.boolean().map_err(|_| option.error("true, false or allnums"))? => {
                    MetricSplit::All
                }
                _ => MetricSplit::Named,
            }
        }
        "prefix_field" => command.prefix_field = Some(option.field()?),
        "source" => command.source = Some(option.text()),
        "host" => command.host = Some(option.text()),
        "sourcetype" => command.sourcetype = Some(option.text()),
        "marker" => command.marker = Some(option.text()),
        "file" => command.file = Some(option.text()),
        _ => command.spool = Some(option.boolean()?),
    }
    Ok(())
}

impl fmt::Display for McollectCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let split = match self.split {
            MetricSplit::Named => None,
            MetricSplit::All => Some("true"),
            MetricSplit::Numbers => Some("allnums"),
        };
        let mut arguments = Arguments::default();
        arguments
            .option("index", &self.index.node)
            .maybe("split", split)
            .maybe("prefix_field", self.prefix_field.as_ref().map(|field| &field.node))
            .maybe("source", self.source.as_ref())
            .maybe("host", self.host.as_ref())
            .maybe("sourcetype", self.sourcetype.as_ref())
            .maybe("marker", self.marker.as_ref())
            .maybe("file", self.file.as_ref())
            .maybe("spool", self.spool)
            .push(field_patterns(&self.dimensions))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | mcollect index=metrics",
            "* | mcollect index=metrics split=true prefix_field=name name, group",
            "* | mcollect index=m split=allnums source=s host=h sourcetype=t marker=\"a=1, b=2\" file=$random$ spool=f",
            "* | meventcollect index=metrics split=true host",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | mcollect split=true a", "index=<index>", "");
        refuses("* | mcollect index=m split=some", "true, false or allnums", "some");
    }
}
