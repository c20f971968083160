//! The fields that a pipeline requires: the fields that an open frame reads from the source.
//!
//! Every name that is mentioned before the first command that replaces the fields is read, even if a command
//! sets it: columns that turn out to be unused are pruned from the plan later. Each command declares the
//! fields that it reads and keeps ([`CommandPlan`](super::CommandPlan)).

use std::collections::HashSet;

use exprs::required_fields::wildcard;
use frames::Frame;
use model::columns;
use spl::ast::{Command, FieldPattern, Span, Spanned, TableCommand};

use super::{OutputFields, Place, RequiredFields, of, summary};
use crate::Error;

/// The fields that the commands of a pipeline read.
pub(crate) fn required_by(commands: &[Spanned<Command>]) -> RequiredFields {
    let mut fields = RequiredFields::default();
    for (at, command) in commands.iter().enumerate() {
        let command = of(&command.node);
        command.required_fields(&mut fields);
        if let Some(after) = command.required_after(&commands[at + 1..]) {
            fields.merge(after);
            break;
        }
        if command.output_fields() == OutputFields::Replaced {
            fields.merges = command.merges_summaries();
            break;
        }
    }
    fields
}

/// The fields that one side of a join with an alias must read: its keys, and the fields that later commands
/// mention with the alias.
pub(crate) fn required_by_joined(
    alias: &str,
    keys: impl Iterator<Item = String>,
    rest: &[Spanned<Command>],
) -> RequiredFields {
    let behind = required_by(&readers(rest, Some(&[])));
    let mut fields = RequiredFields::default();
    keys.for_each(|key| fields.name(&key));
    for name in behind.names.iter().chain(&behind.patterns) {
        match name.strip_prefix(alias).and_then(|name| name.strip_prefix('.')) {
            Some(name) => fields.pattern(name),
            None if name.starts_with('_') => fields.pattern(name),
            None if name.starts_with('*') => fields.pattern("*"),
            None => {}
        }
    }
    fields
}

/// Removes the fields that no command reads, if the first of the commands holds all rows in memory. This is
/// only known if a later command, or the first one itself, replaces the fields of its input.
pub(crate) fn without_unread(frame: Frame, commands: &[Spanned<Command>]) -> Result<Frame, Error> {
    let Some(read) = commands.first().filter(holds_rows).and_then(|_| all_read_by(commands)) else {
        return Ok(frame);
    };
    let names: HashSet<&str> = read.names.iter().map(String::as_str).collect();
    let mut kept = frame.names();
    let before = kept.len();
    kept.retain(|name| names.contains(name.as_str()) || is_read(name, &read.patterns));
    // Without any column, batches would not have the number of rows.
    if kept.is_empty() || kept.len() == before { Ok(frame) } else { Ok(frame.select(&kept)?) }
}

fn holds_rows(command: &&Spanned<Command>) -> bool {
    let command = of(&command.node);
    let makes_rows =
        matches!(command.output_fields(), OutputFields::Collected | OutputFields::Replaced);
    makes_rows && command.place() == Place::SearchHead
}

/// The fields that commands read from their input; `None` if these are not all declared.
fn all_read_by(commands: &[Spanned<Command>]) -> Option<RequiredFields> {
    let replaces =
        |command: &Spanned<Command>| of(&command.node).output_fields() == OutputFields::Replaced;
    let end = commands.iter().position(replaces)?;
    let commands = &commands[..=end];
    if !commands.iter().all(|command| reads_declared(&command.node)) {
        return None;
    }
    let mut read = required_by(commands);
    // `transaction` counts the lines of events that do not have the field.
    if read.names.iter().any(|name| name == LINES) || is_matched(LINES, &read.patterns) {
        read.name(columns::RAW);
    }
    Some(read)
}

const LINES: &str = "linecount";

fn reads_declared(command: &Command) -> bool {
    // The functions `searchmatch` and `tojson` read fields that they do not name.
    let reads_more = |text: &str| text.contains("searchmatch") || text.contains("tojson");
    of(command).reads_declared() && !reads_more(&command.to_string().to_lowercase())
}

/// Whether a field is read that commands do not name.
fn is_read(name: &str, patterns: &[String]) -> bool {
    let is_own = name == columns::TIME || name.starts_with("__");
    is_own || summary::is_part(name) || is_matched(name, patterns)
}

/// Whether any of the patterns means the field. Only those that begin with `_` mean internal fields.
fn is_matched(name: &str, patterns: &[String]) -> bool {
    let is_internal = name.starts_with('_');
    patterns
        .iter()
        .any(|pattern| (!is_internal || pattern.starts_with('_')) && wildcard(pattern, name))
}

/// Adds the fields that each of several commands reads.
pub(crate) fn add_commands(fields: &mut RequiredFields, commands: &[Spanned<Command>]) {
    commands.iter().for_each(|command| of(&command.node).required_fields(fields));
}

/// The fields that are read by the commands of a pipeline and by the commands that follow (`tail`); these are
/// all fields if rows are collected before a command chooses fields.
pub(crate) fn readers(
    commands: &[Spanned<Command>],
    tail: Option<&[Spanned<Command>]>,
) -> Vec<Spanned<Command>> {
    let mut all = [commands, tail.unwrap_or_default()].concat();
    let collects =
        |command: &Spanned<Command>| of(&command.node).output_fields() == OutputFields::Collected;
    let collected = tail.is_some()
        || commands.iter().any(collects)
        || commands.iter().any(|command| of(&command.node).changes_source());
    if collected && !choose_fields(&all) {
        let span = Span::default();
        let fields = vec![FieldPattern::new("*", span)];
        all.push(Spanned::new(Command::Table(TableCommand { fields }), span));
    }
    all
}

/// Whether fields are extracted from the field of this name, or extraction rules depend on it.
pub(crate) fn is_source(name: &str) -> bool {
    name == columns::RAW || columns::ORIGIN.contains(&name)
}

/// Whether a pattern matches such a field. Only patterns of internal fields match `_raw`.
pub(crate) fn reaches_source(pattern: &FieldPattern) -> bool {
    let origin = columns::ORIGIN.iter().any(|name| pattern.matches(name));
    origin || pattern.text == columns::RAW || pattern.text == "_*"
}

/// Whether commands determine the names of all fields of the result.
pub(crate) fn choose_fields(commands: &[Spanned<Command>]) -> bool {
    commands.iter().any(|command| {
        matches!(of(&command.node).output_fields(), OutputFields::Chosen | OutputFields::Replaced)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_say_whether_they_change_what_fields_are_extracted_from() {
        let changing = [
            "fields - _raw",
            "fields - _*",
            "fields - user, h*",
            "rename source AS path",
            "rename message AS _raw",
            "eval x=1, sourcetype=\"a\"",
            r#"rex mode=sed "s/a/b/""#,
            r#"rex field=host mode=sed "s/a/b/""#,
            r#"replace "a" WITH "b" IN _raw"#,
            r#"replace "a" WITH "b""#,
            "lookup hosts ip OUTPUT name AS host",
            "spath path=log output=_raw",
            "spath path=source",
            r#"xpath outfield=source "//a""#,
            "convert auto(source)",
            "convert ctime(t) AS source",
            "fillnull value=none host",
            r#"makemv delim="," source"#,
            "nomv source",
            "mvexpand _raw",
            r#"strcat host ":" user source"#,
            r#"setfields source="a""#,
            "tojson",
            "accum n AS source",
            "autoregress n AS source",
            "bin span=10 size AS source",
            "delta n AS source",
        ];
        let others = [
            "fields source",
            "fields - user",
            "rename x AS y",
            "eval x=source",
            r#"rex "(?<user>a)""#,
            r#"rex field=user mode=sed "s/a/b/""#,
            r#"replace "a" WITH "b" IN user"#,
            "lookup hosts host OUTPUT name",
            "spath",
            "spath path=source output=path",
            r#"xpath field=source "//a""#,
            "convert auto(size) none(source)",
            "convert ctime(source) AS t",
            "fillnull",
            "makemv user",
            "nomv user",
            "mvexpand user",
            r#"strcat host ":" source place"#,
            r#"setfields user="a""#,
            "tojson output_field=json",
            "accum n",
            "autoregress n",
            "bin span=10 size",
            "delta n",
            "where source=x",
        ];
        for command in changing {
            assert!(changes_source(command), "{command}");
        }
        for command in others {
            assert!(!changes_source(command), "{command}");
        }
    }

    fn changes_source(command: &str) -> bool {
        let pipeline = spl::parse(&format!("index=main | {command}")).expect("it is SPL");
        of(&pipeline.commands[1].node).changes_source()
    }
}
