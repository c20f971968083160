//! The fields that a pipeline requires: what an open frame reads from the source.
//!
//! A name that is mentioned anywhere before the first command that replaces the fields is read, even if a
//! command sets it: unread columns are pruned from the plan later. Each command says what it reads and leaves
//! ([`CommandPlan`](crate::commands::CommandPlan)).

use spl::ast::{
    Command, Expr, ExprKind, Field, FieldPattern, SearchExpr, Span, Spanned, SplitBy,
    StatsArgument, StatsBy, StatsCall, TableCommand,
};

use crate::commands::of;

/// What becomes of the fields of the source that a command does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFields {
    /// They go on, those included that are found when events are shown.
    Unchanged,
    /// Fields that it does not name are left out (`fields`).
    Chosen,
    /// Rows are new ones: nothing of the source survives unless it is named.
    Replaced,
    /// Events become collected rows, with the fields that they have by then.
    Collected,
}

/// Names and patterns in the order of their first mention.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequiredFields {
    pub(crate) names: Vec<String>,
    pub(crate) patterns: Vec<String>,
    /// Whether rows of a summary index are merged by the command that replaces the fields.
    pub(crate) merges: bool,
}

/// Whether a pattern with `*` means the name. Case matters.
pub(crate) fn wildcard(pattern: &str, name: &str) -> bool {
    FieldPattern::new(pattern, Span::default()).matches(name)
}

impl RequiredFields {
    /// What the commands of a pipeline read.
    pub(crate) fn of(commands: &[Spanned<Command>]) -> Self {
        let mut fields = Self::default();
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
    pub(crate) fn joined(
        alias: &str,
        keys: impl Iterator<Item = String>,
        rest: &[Spanned<Command>],
    ) -> Self {
        let behind = Self::of(&readers(rest, Some(&[])));
        let mut fields = Self::default();
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

    /// Adds what another has.
    pub(crate) fn merge(&mut self, other: Self) {
        other.names.iter().for_each(|name| self.name(name));
        self.patterns.extend(other.patterns);
    }

    /// A field by its exact name.
    pub(crate) fn name(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    /// A field, or those that match a pattern with `*`.
    pub(crate) fn pattern(&mut self, pattern: &str) {
        if pattern.contains('*') {
            self.patterns.push(pattern.to_owned());
        } else {
            self.name(pattern);
        }
    }

    /// Fields that match any of the patterns.
    pub(crate) fn patterns(&mut self, patterns: &[FieldPattern]) {
        patterns.iter().for_each(|pattern| self.pattern(&pattern.text));
    }

    /// All fields, where a command that names none means all.
    pub(crate) fn patterns_or_all(&mut self, patterns: &[FieldPattern]) {
        if patterns.is_empty() {
            self.pattern("*");
        }
        self.patterns(patterns);
    }

    /// All fields of the source.
    pub(crate) fn all(&mut self) {
        self.pattern("*");
    }

    /// Fields by their exact names.
    pub(crate) fn fields<'f>(&mut self, fields: impl IntoIterator<Item = &'f Field>) {
        fields.into_iter().for_each(|field| self.name(&field.node));
    }

    /// What each of several commands reads.
    pub(crate) fn commands(&mut self, commands: &[Spanned<Command>]) {
        commands.iter().for_each(|command| of(&command.node).required_fields(self));
    }

    /// Fields that make rows or series.
    pub(crate) fn splits<const N: usize>(&mut self, splits: [&Option<SplitBy>; N]) {
        splits.into_iter().flatten().for_each(|split| self.name(&split.field.node));
    }

    /// Aggregations and the fields they are grouped by.
    pub(crate) fn stats(&mut self, calls: &[StatsCall], by: &StatsBy) {
        self.calls(calls);
        self.patterns(&by.fields);
    }

    /// Aggregations.
    pub(crate) fn calls(&mut self, calls: &[StatsCall]) {
        calls.iter().for_each(|call| self.call(call));
    }

    fn call(&mut self, call: &StatsCall) {
        match &call.argument {
            StatsArgument::None => {
                if call.function.kind != spl::ast::StatsKind::Count {
                    self.pattern("*");
                }
            }
            StatsArgument::Field(pattern) => self.pattern(&pattern.text),
            StatsArgument::Eval(expr) => self.expr(expr),
            StatsArgument::Over { calls, .. } => self.calls(calls),
            StatsArgument::Prefix(_) => {}
            StatsArgument::Sparkline { call, .. } => {
                call.iter().for_each(|call| self.call(call));
            }
        }
    }

    /// Fields of a filter.
    pub(crate) fn search(&mut self, expr: &SearchExpr) {
        expr.walk(&mut |part| part.field().iter().for_each(|field| self.name(&field.node)));
    }

    /// Names in an expression.
    pub(crate) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Field(field) if crate::expr::truth_word(field).is_some() => {}
            ExprKind::Field(field) => self.name(&field.name),
            // The one function that reads fields it does not name.
            ExprKind::Call(call) if call.function.node == "tojson" => self.pattern("*"),
            ExprKind::Call(call) => {
                expr.children().into_iter().for_each(|inner| self.expr(inner));
                // The text of `searchmatch` is a filter.
                if let ("searchmatch", [Expr { kind: ExprKind::String(text), .. }]) =
                    (call.function.node.as_str(), call.arguments.as_slice())
                    && let Ok(search) = spl::parse_search_terms(text)
                {
                    search.expr.iter().for_each(|expr| self.search(expr));
                }
            }
            _ => expr.children().into_iter().for_each(|inner| self.expr(inner)),
        }
    }
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
    let collected = tail.is_some() || commands.iter().any(collects);
    if collected && !choose_fields(&all) {
        let span = Span::default();
        let fields = vec![FieldPattern::new("*", span)];
        all.push(Spanned::new(Command::Table(TableCommand { fields }), span));
    }
    all
}

/// Whether commands name all fields that are left at their end.
pub(crate) fn choose_fields(commands: &[Spanned<Command>]) -> bool {
    commands.iter().any(|command| {
        matches!(of(&command.node).output_fields(), OutputFields::Chosen | OutputFields::Replaced)
    })
}

/// The name of a field, or of the one that is meant where none is named.
pub(crate) fn field_or<'n>(field: &'n Option<Field>, default: &'n str) -> &'n str {
    field.as_ref().map_or(default, |field| field.node.as_str())
}
