//! The fields that a pipeline requires: what an open frame reads from the source.
//!
//! A name that is mentioned anywhere before the first command that replaces the fields is read, even if a
//! command sets it: unread columns are pruned from the plan later. Each command says what it reads and leaves
//! ([`CommandPlan`](super::CommandPlan)).

use model::columns;
use spl::ast::{Command, FieldPattern, RexMode, Span, Spanned, TableCommand};

use super::{OutputFields, RequiredFields, of};

/// What the commands of a pipeline read.
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

/// What has to be read of one side of a join whose fields have an alias before their names: its
/// keys, and what the commands behind it mention.
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

/// Adds what each of several commands reads.
pub(crate) fn add_commands(fields: &mut RequiredFields, commands: &[Spanned<Command>]) {
    commands.iter().for_each(|command| of(&command.node).required_fields(fields));
}

/// What is read for the commands of a pipeline and for what its rows go through (`tail`): those commands,
/// and all fields if rows are collected before a command chose among their fields.
pub(crate) fn readers(
    commands: &[Spanned<Command>],
    tail: Option<&[Spanned<Command>]>,
) -> Vec<Spanned<Command>> {
    let mut all = [commands, tail.unwrap_or_default()].concat();
    let collects =
        |command: &Spanned<Command>| of(&command.node).output_fields() == OutputFields::Collected;
    let collected = tail.is_some()
        || commands.iter().any(collects)
        || commands.iter().any(|command| changes_source(&command.node));
    if collected && !choose_fields(&all) {
        let span = Span::default();
        let fields = vec![FieldPattern::new("*", span)];
        all.push(Spanned::new(Command::Table(TableCommand { fields }), span));
    }
    all
}

/// Whether a command changes or removes what fields are extracted from, or what chooses their rules:
/// fields that are extracted only for the shown rows would come from the changed values.
fn changes_source(command: &Command) -> bool {
    let is_source = |name: &str| name == columns::RAW || columns::ORIGIN.contains(&name);
    let reaches = |pattern: &FieldPattern| {
        let origin = columns::ORIGIN.iter().any(|name| pattern.matches(name));
        origin || pattern.text == columns::RAW || pattern.text == "_*"
    };
    match command {
        Command::Fields(fields) => fields.remove && fields.fields.iter().any(reaches),
        Command::Rename(rename) => {
            rename.renames.iter().any(|one| reaches(&one.from) || is_source(&one.to.text))
        }
        Command::Eval(eval) => eval.assignments.iter().any(|one| is_source(&one.field.node)),
        Command::Rex(rex) => {
            let field = rex.field.as_ref().map_or(columns::RAW, |field| field.node.as_str());
            !matches!(rex.mode, RexMode::Extract { .. }) && is_source(field)
        }
        _ => false,
    }
}

/// Whether commands name all fields that are left at their end.
pub(crate) fn choose_fields(commands: &[Spanned<Command>]) -> bool {
    commands.iter().any(|command| {
        matches!(of(&command.node).output_fields(), OutputFields::Chosen | OutputFields::Replaced)
    })
}
