//! `anomalies`: scores how unexpected events are.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `anomalies [<options>] [BY <fields>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AnomaliesCommand {
    /// `threshold=`: the score above which an event is unexpected, as text (default 0.01).
    pub threshold: String,
    /// `labelonly=`: whether all events are kept (default false).
    pub labelonly: bool,
    /// `normalize=`: whether all digits are treated as equal (default true).
    pub normalize: bool,
    /// `maxvalues=`: number of previous events that an event is compared with (default 100).
    pub maxvalues: u64,
    /// `field=`: the field that is compared (default `_raw`).
    pub field: String,
    /// `denylist=`: a lookup with expected events.
    pub denylist: Option<Field>,
    /// `denylistthreshold=`: the distance up to which an event counts as expected, as text (default 0.05).
    pub denylistthreshold: String,
    /// The fields that must be equal in the events that are compared.
    pub by: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "anomalies",
    aliases: &[],
    summary: "scores how unexpected events are",
    syntax: "anomalies [threshold=<number>] [labelonly=<bool>] [normalize=<bool>] \
             [maxvalues=<n>] [field=<field>] [denylist=<lookup>] [denylistthreshold=<number>] \
             [BY <field>...]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "threshold",
    "labelonly",
    "normalize",
    "maxvalues",
    "field",
    "denylist",
    "denylistthreshold",
    "blacklist",
    "blacklistthreshold",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = AnomaliesCommand {
        threshold: "0.01".to_owned(),
        labelonly: false,
        normalize: true,
        maxvalues: 100,
        field: "_raw".to_owned(),
        denylist: None,
        denylistthreshold: "0.05".to_owned(),
        by: Vec::new(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Anomalies(command));
        }
        if p.eat_keyword("by") {
            command.by = p.field_patterns(1)?;
            continue;
        }
        match p.option(OPTIONS)? {
            Some(option) => accept(&mut command, &option)?,
            None => return Err(p.unexpected("an option or BY")),
        }
    }
}

fn accept(command: &mut AnomaliesCommand, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "threshold" => command.threshold = option.decimal()?,
        "labelonly" => command.labelonly = option.boolean()?,
        "normalize" => command.normalize = option.boolean()?,
        "maxvalues" => {
            command.maxvalues = option.number()?;
            if !(10..=10_000).contains(&command.maxvalues) {
                return Err(option.error("a whole number from 10 to 10000"));
            }
        }
        "field" => command.field = option.field()?.node,
        "denylist" | "blacklist" => command.denylist = Some(option.spanned()),
        _ => command.denylistthreshold = option.decimal()?,
    }
    Ok(())
}

impl fmt::Display for AnomaliesCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .option("threshold", &self.threshold)
            .flag("labelonly", self.labelonly, false)
            .flag("normalize", self.normalize, true)
            .option("maxvalues", self.maxvalues)
            .option("field", &self.field)
            .maybe("denylist", self.denylist.as_ref().map(|name| &name.node))
            .option("denylistthreshold", &self.denylistthreshold);
        if !self.by.is_empty() {
            arguments.push(format_args!("BY {}", field_patterns(&self.by)));
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
            "* | anomalies",
            "* | anomalies threshold=0.03 labelonly=t normalize=f maxvalues=10 field=m by a, b",
        ]);
        same("* | anomalies denylist=boring", "* | anomalies blacklist=boring");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | anomalies maxvalues=5", "from 10 to 10000", "5");
        refuses("* | anomalies host", "expected an option or BY", "host");
        refuses("* | anomalies by", "expected a field name", "");
    }
}
