//! `anomalydetection`: finds events that are improbable.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{AnomalousvalueOptions, AnomalyAction, Command, FieldPattern, OutlierOptions};
use crate::commands::anomalousvalue::share;
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `anomalydetection [method=] [<options>] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AnomalydetectionCommand {
    /// `method=` with its options (default histogram).
    pub method: AnomalyMethod,
    /// The fields; all fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The method of finding anomalies.
#[derive(Debug, Clone, PartialEq)]
pub enum AnomalyMethod {
    /// Uses the joint probability of all values of an event.
    Histogram {
        /// `action=` (default filter).
        action: AnomalyAction,
        /// `pthresh=`, as text; computed from the events if absent.
        pthresh: Option<String>,
        /// `cutoff=`: whether the number of anomalies is limited (default true).
        cutoff: bool,
    },
    /// Like `anomalousvalue`.
    Zscore(AnomalousvalueOptions),
    /// Like `outlier`.
    Iqr(OutlierOptions),
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "anomalydetection",
    aliases: &[],
    summary: "finds improbable events",
    syntax: "anomalydetection [method=histogram|zscore|iqr] \
             [action=filter|annotate|summary|remove|transform] [pthresh=<number>] \
             [cutoff=<bool>] [<options of the method>] [<field>...]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "method",
    "cutoff",
    "action",
    "pthresh",
    "minsupcount",
    "minsupfreq",
    "maxanofreq",
    "minnormfreq",
    "mark",
    "param",
    "uselower",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut method, mut options, mut fields) = (None, Vec::new(), Vec::new());
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        match p.option(OPTIONS)? {
            Some(option) if option.name == "method" => method = Some(option),
            Some(option) => options.push(option),
            None => fields.push(p.field_pattern("a field name or an option")?),
        }
    }
    let name = method.as_ref().map_or("histogram", |method| method.value.as_str());
    let mut found = match name.to_ascii_lowercase().as_str() {
        "zscore" => AnomalyMethod::Zscore(AnomalousvalueOptions::default()),
        "iqr" => AnomalyMethod::Iqr(OutlierOptions::default()),
        "histogram" => {
            AnomalyMethod::Histogram { action: AnomalyAction::Filter, pthresh: None, cutoff: true }
        }
        _ => {
            return Err(method.map_or_else(
                || p.unexpected("a method"),
                |method| method.error("histogram, zscore or iqr"),
            ));
        }
    };
    for option in &options {
        let known: &[&str] = match &found {
            AnomalyMethod::Histogram { .. } => &["action", "pthresh", "cutoff"],
            AnomalyMethod::Zscore(_) => AnomalousvalueOptions::NAMES,
            AnomalyMethod::Iqr(_) => OutlierOptions::NAMES,
        };
        if !known.contains(&option.name) {
            let message = format!("method={name} has no option '{}'", option.name);
            return Err(p.error(message, option.value_span));
        }
        match &mut found {
            AnomalyMethod::Zscore(options) => options.accept(option)?,
            AnomalyMethod::Iqr(options) => options.accept(option)?,
            AnomalyMethod::Histogram { action, pthresh, cutoff } => match option.name {
                "action" => *action = AnomalyAction::of(option)?,
                "pthresh" => *pthresh = Some(share(option)?),
                _ => *cutoff = option.boolean()?,
            },
        }
    }
    Ok(Command::Anomalydetection(AnomalydetectionCommand { method: found, fields }))
}

impl fmt::Display for AnomalydetectionCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        match &self.method {
            AnomalyMethod::Histogram { action, pthresh, cutoff } => arguments
                .option("method", "histogram")
                .option("action", action.name())
                .maybe("pthresh", pthresh.as_ref())
                .flag("cutoff", *cutoff, true),
            AnomalyMethod::Zscore(options) => arguments.option("method", "zscore").push(options),
            AnomalyMethod::Iqr(options) => arguments.option("method", "iqr").push(options),
        };
        arguments.push(field_patterns(&self.fields)).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | anomalydetection",
            "* | anomalydetection action=summary cutoff=false",
            "* | anomalydetection method=zscore action=filter pthresh=0.05 a b",
            "* | anomalydetection action=tf param=4 uselower=true mark=true method=IQR",
        ]);
        same("* | anomalydetection", "* | anomalydetection method=histogram action=filter");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | anomalydetection method=x", "histogram, zscore or iqr", "x");
        refuses("* | anomalydetection method=iqr pthresh=0.1", "has no option 'pthresh'", "0.1");
        refuses("* | anomalydetection action=rm", "filter, annotate or summary", "rm");
    }
}
