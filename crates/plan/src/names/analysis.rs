//! The names that commands of analysis mention: transactions, time series, anomalies, clusters.

use spl::ast::{Command, PredictCommand, TransactionCommand, TransactionMark};

use super::Mentions;

impl Mentions {
    /// Adds what a command mentions; `false` if it is none of these.
    pub(super) fn analysis(&mut self, command: &Command) -> bool {
        match command {
            Command::Transaction(command) => self.transaction(command),
            Command::Iplocation(command) => self.name(&command.field.node),
            Command::Trendline(command) => {
                command.trends.iter().for_each(|trend| self.name(&trend.field.node));
            }
            Command::Autoregress(command) => self.name(&command.field.node),
            Command::X11(command) => self.name(&command.field.node),
            Command::Predict(command) => self.predict(command),
            Command::Concurrency(command) => {
                self.name(&command.duration.node);
                self.name(&command.start);
            }
            Command::Geostats(command) => {
                self.stats(&command.calls, &command.by);
                self.name(&command.latfield);
                self.name(&command.longfield);
            }
            Command::Cluster(command) => self.name(&command.field),
            Command::Anomalies(command) => {
                self.name(&command.field);
                self.patterns(&command.by);
            }
            Command::Outlier(command) => self.patterns_or_all(&command.fields),
            Command::Anomalousvalue(command) => self.patterns_or_all(&command.fields),
            Command::Anomalydetection(command) => self.patterns_or_all(&command.fields),
            Command::Kmeans(command) => self.patterns_or_all(&command.fields),
            Command::Correlate(command) => self.patterns_or_all(&command.fields),
            Command::Associate(command) => self.patterns_or_all(&command.fields),
            Command::Arules(command) => {
                command.fields.iter().for_each(|field| self.name(&field.node));
            }
            Command::Contingency(command) => {
                self.name(&command.row.node);
                self.name(&command.column.node);
            }
            Command::Cofilter(command) => {
                self.name(&command.user.node);
                self.name(&command.item.node);
            }
            Command::Erex(command) => self.name(&command.fromfield),
            Command::Geomfilter(_) => self.name("geom"),
            _ => return false,
        }
        true
    }

    fn transaction(&mut self, command: &TransactionCommand) {
        if command.name.is_some() {
            // The configuration may name any.
            self.pattern("*");
        }
        command.fields.iter().for_each(|field| self.name(&field.node));
        for mark in command.startswith.iter().chain(&command.endswith) {
            match mark {
                TransactionMark::Search(expr) => self.search(expr),
                TransactionMark::Eval(expr) => self.expr(expr),
            }
        }
    }

    fn predict(&mut self, command: &PredictCommand) {
        for group in &command.groups {
            group.fields.iter().for_each(|field| self.name(&field.field.node));
            group.options.correlate.iter().for_each(|field| self.name(&field.node));
        }
    }
}

/// Whether no field of the source survives the command unless it is named.
pub(super) fn replaces_fields(command: &Command) -> bool {
    matches!(
        command,
        Command::Geostats(_)
            | Command::Contingency(_)
            | Command::Correlate(_)
            | Command::Associate(_)
            | Command::Arules(_)
            | Command::Analyzefields(_)
            | Command::Cofilter(_)
            | Command::Findtypes(_)
            | Command::Typelearner(_)
    )
}

/// Whether events are collected rows behind the command, with the fields that they have by then.
pub(super) fn collects(command: &Command) -> bool {
    match command {
        Command::Transaction(_)
        | Command::Concurrency(_)
        | Command::Cluster(_)
        | Command::Anomalies(_)
        | Command::Anomalousvalue(_)
        | Command::Kmeans(_)
        | Command::Erex(_) => true,
        Command::Outlier(command) => !command.fields.is_empty(),
        Command::Anomalydetection(command) => !command.fields.is_empty(),
        _ => false,
    }
}
