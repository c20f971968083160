//! `anomalousvalue`: finds values that are rare or far from the mean.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `anomalousvalue [<options>] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AnomalousvalueCommand {
    /// The criteria of anomalies, and the action.
    pub options: AnomalousvalueOptions,
    /// The fields; all fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The criteria of anomalies, and the action. Numbers are kept as text.
#[derive(Debug, Clone, PartialEq)]
pub struct AnomalousvalueOptions {
    /// `action=` (default filter).
    pub action: AnomalyAction,
    /// `pthresh=`: the probability below which a value is anomalous (default 0.01).
    pub pthresh: String,
    /// `minsupcount=`: minimum number of events with the field (default 100).
    pub minsupcount: u64,
    /// `minsupfreq=`: minimum share of events with the field (default 0.05).
    pub minsupfreq: String,
    /// `maxanofreq=`: maximum share of anomalous values of a field (default 0.05).
    pub maxanofreq: String,
    /// `minnormfreq=`: minimum share of anomalous values of a field (default 0.01).
    pub minnormfreq: String,
}

/// The action for anomalies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnomalyAction {
    /// Keeps only anomalous events.
    Filter,
    /// Keeps all events and adds scores.
    Annotate,
    /// Returns a table of statistics.
    Summary,
}

impl AnomalyAction {
    /// Returns the name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Annotate => "annotate",
            Self::Summary => "summary",
        }
    }

    /// Parses the value of `action=`.
    pub(crate) fn of(option: &OptionValue) -> Parsed<Self> {
        let all = [Self::Filter, Self::Annotate, Self::Summary];
        let found = all.into_iter().find(|a| a.name().eq_ignore_ascii_case(&option.value));
        found.ok_or_else(|| option.error("filter, annotate or summary"))
    }
}

impl Default for AnomalousvalueOptions {
    fn default() -> Self {
        Self {
            action: AnomalyAction::Filter,
            pthresh: "0.01".to_owned(),
            minsupcount: 100,
            minsupfreq: "0.05".to_owned(),
            maxanofreq: "0.05".to_owned(),
            minnormfreq: "0.01".to_owned(),
        }
    }
}

impl AnomalousvalueOptions {
    /// The names of the options.
    pub(crate) const NAMES: &'static [&'static str] =
        &["action", "pthresh", "minsupcount", "minsupfreq", "maxanofreq", "minnormfreq"];

    /// Applies an option.
    pub(crate) fn accept(&mut self, option: &OptionValue) -> Parsed<()> {
        match option.name {
            "action" => self.action = AnomalyAction::of(option)?,
            "pthresh" => self.pthresh = share(option)?,
            "minsupcount" => self.minsupcount = option.number()?,
            "minsupfreq" => self.minsupfreq = share(option)?,
            "maxanofreq" => self.maxanofreq = share(option)?,
            _ => self.minnormfreq = share(option)?,
        }
        Ok(())
    }
}

/// Parses a number from 0 to 1.
pub(crate) fn share(option: &OptionValue) -> Parsed<String> {
    match option.value.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(option.text()),
        _ => Err(option.error("a number from 0 to 1")),
    }
}

impl fmt::Display for AnomalousvalueOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("action", self.action.name())
            .option("pthresh", &self.pthresh)
            .option("minsupcount", self.minsupcount)
            .option("minsupfreq", &self.minsupfreq)
            .option("maxanofreq", &self.maxanofreq)
            .option("minnormfreq", &self.minnormfreq)
            .write(f)
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "anomalousvalue",
    aliases: &[],
    summary: "finds rare or extreme values",
    syntax: "anomalousvalue [action=filter|annotate|summary] [pthresh=<number>] \
             [minsupcount=<n>] [minsupfreq=<number>] [maxanofreq=<number>] \
             [minnormfreq=<number>] [<field>...]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: AnomalousvalueOptions::NAMES,
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut options = AnomalousvalueOptions::default();
    let mut fields = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Anomalousvalue(AnomalousvalueCommand { options, fields }));
        }
        match p.option(AnomalousvalueOptions::NAMES)? {
            Some(option) => options.accept(&option)?,
            None => fields.push(p.field_pattern("a field name or an option")?),
        }
    }
}

impl fmt::Display for AnomalousvalueCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().push(&self.options).push(field_patterns(&self.fields)).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | anomalousvalue",
            "* | anomalousvalue action=summary pthresh=0.02 minsupcount=1 a, b*",
            "* | anomalousvalue maxanofreq=0.1 minnormfreq=0 minsupfreq=0.5 x action=Annotate",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | anomalousvalue action=keep", "filter, annotate or summary", "keep");
        refuses("* | anomalousvalue pthresh=2", "a number from 0 to 1", "2");
    }
}
