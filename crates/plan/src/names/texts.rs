//! The names that commands mention which read texts, show fields, or make filters of rows.

use spl::ast::{Command, Field, GaugeNumber, Spanned};

use super::Mentions;

impl Mentions {
    /// Adds what a command mentions; `false` if it is none of these.
    pub(super) fn texts(&mut self, command: &Command) -> bool {
        match command {
            Command::Addcoltotals(command) => self.patterns_or_all(&command.fields),
            Command::Diff(command) => self.name(field_or(&command.attribute, "_raw")),
            Command::Fieldformat(command) => command.assignments.iter().for_each(|assignment| {
                self.expr(&assignment.expr);
                self.name(&assignment.field.node);
            }),
            Command::Folderize(command) => {
                self.name(&command.attr.node);
                self.name(&command.size);
            }
            Command::Format(_) => self.pattern("*"),
            Command::Fromjson(command) => self.name(&command.field.node),
            Command::Gauge(command) => {
                for number in std::iter::once(&command.value).chain(&command.bounds) {
                    if let GaugeNumber::Field(field) = number {
                        self.name(&field.node);
                    }
                }
            }
            Command::Kvform(command) if command.form.is_some() => {}
            Command::Kvform(command) => self.name(field_or(&command.field, "sourcetype")),
            Command::Makecontinuous(command) => self.name(field_or(&command.field, "_time")),
            Command::Mvcombine(command) => self.name(&command.field.node),
            Command::Reltime(command) => self.name(field_or(&command.timefield, "_time")),
            Command::Return(command) => {
                command.fields.iter().for_each(|returned| self.name(&returned.field.node));
            }
            Command::Setfields(command) => {
                command.values.iter().for_each(|(field, _)| self.name(&field.node));
            }
            Command::Tojson(command) if !command.fields.is_empty() => {
                command.fields.iter().for_each(|(_, field)| self.pattern(&field.text));
            }
            Command::Xpath(command) => self.name(field_or(&command.field, "_raw")),
            Command::Xmlkv(command) => self.name(field_or(&command.field, "_raw")),
            Command::Overlap(_) => ["search_name", "info_min_time", "info_max_time"]
                .into_iter()
                .for_each(|name| self.name(name)),
            Command::Abstract(_)
            | Command::Addinfo(_)
            | Command::Delete(_)
            | Command::Extract(_)
            | Command::Gentimes(_)
            | Command::Highlight(_)
            | Command::Iconify(_)
            | Command::Localize(_)
            | Command::Localop(_)
            | Command::Multikv(_)
            | Command::Metasearch(_)
            | Command::Noop(_)
            | Command::Outputtext(_)
            | Command::Pivot(_)
            | Command::Redistribute(_)
            | Command::Relevancy(_)
            | Command::Require(_)
            | Command::Rtorder(_)
            | Command::Script(_)
            | Command::Typeahead(_)
            | Command::Walklex(_)
            | Command::Xmlunescape(_) => {}
            _ => return false,
        }
        true
    }
}

/// The name of a field, or of the one that is meant where none is named.
fn field_or<'n>(field: &'n Option<Field>, default: &'n str) -> &'n str {
    field.as_ref().map_or(default, |field| field.node.as_str())
}

/// Whether no field of the source survives the command unless it is named.
pub(super) fn replaces_fields(command: &Command) -> bool {
    matches!(
        command,
        Command::Diff(_)
            | Command::Folderize(_)
            | Command::Format(_)
            | Command::Gauge(_)
            | Command::Gentimes(_)
            | Command::Localize(_)
            | Command::Overlap(_)
            | Command::Return(_)
    )
}

/// Whether events are collected rows behind the command, with the fields that they have by then.
pub(super) fn collects(command: &Command) -> bool {
    match command {
        // What events of all kinds are looked at for is found without it.
        Command::Extract(command) => command.pairdelim.is_some() || !command.stanzas.is_empty(),
        Command::Addcoltotals(_)
        | Command::Fromjson(_)
        | Command::Kvform(_)
        | Command::Makecontinuous(_)
        | Command::Multikv(_)
        | Command::Mvcombine(_)
        | Command::Xmlkv(_) => true,
        _ => false,
    }
}

/// Whether commands name all fields that are left at their end.
pub(crate) fn choose_fields(commands: &[Spanned<Command>]) -> bool {
    commands.iter().any(super::chooses)
}
