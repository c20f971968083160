//! The outline of a search: its commands, the place of each, and its SQL equivalent.
//!
//! Pure: nothing is planned or run. Leaves to others: whether fields and indexes exist.

use knowledge::Knowledge;
use spl::ast::{Command, SearchExpr, Span, Spanned};
use spl::{CommandKind, ParseOptions};

use super::sql_text::sql_text;
use crate::Error;
use crate::arguments::Arguments;
use crate::commands::of;
use context::macros::Macros;
use context::place::{Origin, Place};
use context::sql::{NoSql, SqlText};

/// The outline of a search.
#[derive(Debug, Clone)]
pub struct Outline {
    /// The normalized search text.
    pub normalized: String,
    /// Its commands in order.
    pub commands: Vec<OutlinedCommand>,
    /// Index names without wildcards in the search.
    pub indexes: Vec<String>,
    /// The SQL equivalent, or the command that has none.
    pub sql: Result<SqlText, NoSql>,
}

/// A command of a search.
#[derive(Debug, Clone)]
pub struct OutlinedCommand {
    /// The registered name.
    pub name: &'static str,
    /// The arguments as written; normalized if they contain macros.
    pub written: String,
    /// The normalized text of the command.
    pub text: String,
    /// The type of the command.
    pub kind: CommandKind,
    /// Where it runs.
    pub place: CommandPlace,
    /// Whether it generates rows, as the first command.
    pub generates: bool,
    /// Its arguments, parsed for some commands.
    pub arguments: Arguments,
}

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandPlace {
    /// At the indexers.
    Indexers,
    /// Partly at the indexers; the search head combines the parts.
    Both,
    /// On the search head.
    SearchHead,
}

impl CommandPlace {
    /// Describes the place in words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Indexers => "where the events are",
            Self::Both => "in part where the events are, then on the search head",
            Self::SearchHead => "on the search head",
        }
    }
}

/// Returns the outline of a search, with the macros of a configuration.
///
/// # Errors
/// If the text is not SPL.
pub fn outline(text: &str, knowledge: &Knowledge) -> Result<Outline, Error> {
    let macros = Macros::of(knowledge);
    let commands = spl::CustomCommands::of(knowledge.custom_command_names());
    let commands = Some(&commands);
    let options = ParseOptions { macros: Some(&macros), commands, ..ParseOptions::default() };
    let pipeline = spl::parse_with(text, &options)?;
    let mut commands = Vec::new();
    let mut together = false;
    for (at, command) in pipeline.commands.iter().enumerate() {
        let place = match of(&command.node).place() {
            _ if together => CommandPlace::SearchHead,
            Place::Streaming | Place::Generating(Origin::Indexers) => CommandPlace::Indexers,
            Place::TwoStep(_) | Place::Generating(Origin::TwoStep) => CommandPlace::Both,
            _ => CommandPlace::SearchHead,
        };
        together |= place != CommandPlace::Indexers;
        commands.push(outlined(command, place, at == 0, text));
    }
    let mut names = Vec::new();
    for command in &pipeline.commands {
        of(&command.node).event_filter().iter().for_each(|expr| collect_indexes(expr, &mut names));
    }
    let sql = sql_text(&pipeline);
    Ok(Outline { normalized: pipeline.to_string(), commands, indexes: names, sql })
}

fn outlined(
    command: &Spanned<Command>,
    place: CommandPlace,
    generates: bool,
    text: &str,
) -> OutlinedCommand {
    let node = &command.node;
    let understood = node.to_string();
    let own = understood.strip_prefix(node.name()).unwrap_or_default().trim_start();
    let written = written(node, command.span, text).unwrap_or(own).to_owned();
    let arguments = of(node).outline(&written);
    let (name, kind) = (node.name(), node.definition().kind);
    OutlinedCommand { name, written, text: understood, kind, place, generates, arguments }
}

/// Returns the arguments as the user wrote them, unless they contain macros.
fn written<'t>(command: &Command, span: Span, text: &'t str) -> Option<&'t str> {
    let whole = text.get(span.start..span.end)?;
    if whole.contains('`') {
        return None;
    }
    let definition = command.definition();
    let names = std::iter::once(&definition.name).chain(definition.aliases);
    for name in names {
        let Some(head) = whole.get(..name.len()) else { continue };
        let rest = &whole[name.len()..];
        let ends = rest.chars().next().is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
        let is_field = rest.trim_start().starts_with('=');
        if head.eq_ignore_ascii_case(name) && ends && !is_field {
            return Some(rest.trim());
        }
    }
    // The implied `search` of a first command is not written.
    matches!(command, Command::Search(_)).then(|| whole.trim())
}

/// Adds the indexes that a filter names.
fn collect_indexes(expr: &SearchExpr, names: &mut Vec<String>) {
    let mut add = |value: &spl::ast::SearchValue| {
        let name = value.pattern.as_literal().map(str::to_owned);
        names.extend(name.filter(|name| !names.contains(name)));
    };
    expr.walk_positive(&mut |part| match part {
        SearchExpr::Comparison(comparison) if comparison.field.node == model::columns::INDEX => {
            add(&comparison.value);
        }
        SearchExpr::In(list) if list.field.node == model::columns::INDEX => {
            list.values.iter().for_each(&mut add);
        }
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::arguments::AggregateCall;

    fn outline_of(text: &str) -> Outline {
        outline(text, &Knowledge::builtin()).unwrap()
    }

    #[test]
    fn commands_run_where_the_events_are_until_rows_come_together() {
        let places = |text: &str| -> Vec<CommandPlace> {
            outline_of(text).commands.iter().map(|command| command.place).collect()
        };
        use CommandPlace::{Both, Indexers, SearchHead};
        let text = "index=a | eval x=1 | stats count by x | where count>1";
        assert_eq!(places(text), [Indexers, Indexers, Both, SearchHead]);
        assert_eq!(places("| makeresults | eval x=1"), [SearchHead, SearchHead]);
    }

    #[test]
    fn arguments_are_as_they_were_written() {
        let written = |text: &str| -> Vec<String> {
            outline_of(text).commands.into_iter().map(|command| command.written).collect()
        };
        assert_eq!(written("search  a=1  | STATS  count  by b "), ["a=1", "count  by b"]);
        assert_eq!(written("search=1 error | head"), ["search=1 error", ""]);
    }

    #[test]
    fn indexes_that_are_named_are_listed() {
        let text = "(index=a OR index=b*) index IN (c, a) | append [search index=d]";
        assert_eq!(outline_of(text).indexes, ["a", "c"]);
    }

    #[test]
    fn aggregations_are_taken_apart() {
        let text = "* | stats dc(user) AS users, count by host, source";
        let call = |function: &str, field: Option<&str>, rename: &str| AggregateCall {
            function: function.to_owned(),
            field: field.map(str::to_owned),
            rename: rename.to_owned(),
        };
        let calls = vec![call("dc", Some("user"), "users"), call("count", None, "count")];
        let by = vec!["host".to_owned(), "source".to_owned()];
        assert_eq!(outline_of(text).commands[1].arguments, Arguments::Stats { calls, by });
    }
}
