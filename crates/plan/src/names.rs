//! The field names a pipeline mentions: what an open frame reads from the source.
//!
//! A name mentioned anywhere before the first command that replaces the fields is read, even if a
//! command sets it: unread columns are pruned from the plan later.

mod analysis;
mod texts;

use crate::commands::eval_named::{self, Piece};
use spl::ast::{
    Command, Expr, ExprKind, FieldPattern, ForeachCommand, ForeachMode, JoinCommand, MakemvCommand,
    McatalogCommand, MstatsCommand, SearchExpr, Span, Spanned, SplitBy, StatsArgument, StatsBy,
    StatsCall, StrcatPart, TableCommand, TopCommand, TstatsCommand,
};

/// Names and patterns in the order of their first mention.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mentions {
    pub(crate) names: Vec<String>,
    pub(crate) patterns: Vec<String>,
    /// Whether rows of a summary index are merged by the command that replaces the fields.
    pub(crate) merges: bool,
}

/// Whether a pattern with `*` means the name. Case matters.
pub(crate) fn wildcard(pattern: &str, name: &str) -> bool {
    FieldPattern::new(pattern, Span::default()).matches(name)
}

impl Mentions {
    /// What the commands of a pipeline mention.
    pub(crate) fn of(commands: &[Spanned<Command>]) -> Self {
        let mut mentions = Self::default();
        for (at, command) in commands.iter().enumerate() {
            mentions.command(&command.node);
            if let Command::Join(JoinCommand { on: Some(on), .. }) = &command.node {
                let keys = on.pairs.iter().map(|(left, _)| left.node.clone());
                mentions.merge(Self::joined(&on.left, keys, &commands[at + 1..]));
                break;
            }
            if replaces_fields(&command.node) {
                mentions.merges = crate::commands::summary::merges(&command.node);
                break;
            }
        }
        mentions
    }

    /// A field by its exact name.
    pub(crate) fn field(&mut self, name: &str) {
        self.name(name);
    }

    /// What has to be read of one side of a join whose fields have an alias before their names: its
    /// keys, and what the commands behind it mention.
    pub(crate) fn joined(
        alias: &str,
        keys: impl Iterator<Item = String>,
        rest: &[Spanned<Command>],
    ) -> Self {
        let behind = Self::of(&read_by(rest, Some(&[])));
        let mut mentions = Self::default();
        keys.for_each(|key| mentions.name(&key));
        for name in behind.names.iter().chain(&behind.patterns) {
            match name.strip_prefix(alias).and_then(|name| name.strip_prefix('.')) {
                Some(name) => mentions.pattern(name),
                None if name.starts_with('_') => mentions.pattern(name),
                None if name.starts_with('*') => mentions.pattern("*"),
                None => {}
            }
        }
        mentions
    }

    fn merge(&mut self, other: Self) {
        other.names.iter().for_each(|name| self.name(name));
        self.patterns.extend(other.patterns);
    }

    fn name(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    fn pattern(&mut self, pattern: &str) {
        if pattern.contains('*') {
            self.patterns.push(pattern.to_owned());
        } else {
            self.name(pattern);
        }
    }

    fn patterns(&mut self, patterns: &[FieldPattern]) {
        patterns.iter().for_each(|pattern| self.pattern(&pattern.text));
    }

    /// All fields, where a command that names none means all.
    fn patterns_or_all(&mut self, patterns: &[FieldPattern]) {
        if patterns.is_empty() {
            self.pattern("*");
        }
        self.patterns(patterns);
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Search(search) => {
                if let Some(expr) = &search.expr {
                    self.search(expr);
                }
            }
            Command::Where(command) => self.expr(&command.expr),
            Command::Eval(command) => command.assignments.iter().for_each(|assignment| {
                self.expr(&assignment.expr);
                self.name(&assignment.field.node);
                for piece in eval_named::pieces(&assignment.field.node).unwrap_or_default() {
                    if let Piece::Field(name) = piece {
                        self.name(&name);
                    }
                }
            }),
            Command::Stats(command) | Command::Sistats(command) => {
                self.stats(&command.calls, &command.by);
            }
            Command::Eventstats(command) => self.stats(&command.calls, &command.by),
            Command::Streamstats(command) => {
                self.stats(&command.calls, &command.by);
                command.reset_before.iter().chain(&command.reset_after).for_each(|e| self.expr(e));
            }
            Command::Tstats(command) => {
                self.stats(&command.calls, &command.by);
                command.filter.expr.iter().for_each(|expr| self.search(expr));
            }
            Command::Chart(command) | Command::Sichart(command) => {
                command.calls.iter().for_each(|call| self.call(call));
                self.splits([&command.row, &command.column]);
            }
            Command::Timechart(command) | Command::Sitimechart(command) => {
                command.calls.iter().for_each(|call| self.call(call));
                self.splits([&command.column]);
            }
            Command::Top(command)
            | Command::Rare(command)
            | Command::Sitop(command)
            | Command::Sirare(command) => self.top(command),
            _ => self.simple(command),
        }
    }

    fn simple(&mut self, command: &Command) {
        match command {
            Command::Table(command) => self.patterns(&command.fields),
            Command::Fields(command) if !command.remove => self.patterns(&command.fields),
            Command::Rename(command) => {
                command.renames.iter().for_each(|rename| self.pattern(&rename.from.text));
            }
            Command::Dedup(command) => {
                self.patterns(&command.fields);
                command.sortby.iter().for_each(|key| self.name(&key.field.node));
            }
            Command::Sort(command) => {
                command.keys.iter().for_each(|key| self.name(&key.field.node));
            }
            Command::Fillnull(command) => self.patterns_or_all(&command.fields),
            Command::Filldown(command) => self.patterns_or_all(&command.fields),
            Command::Replace(command) => self.patterns_or_all(&command.fields),
            Command::Addtotals(command) => self.patterns_or_all(&command.fields),
            Command::Convert(command) => {
                command.conversions.iter().for_each(|c| self.pattern(&c.field.text));
            }
            Command::Head(command) => command.condition.iter().for_each(|expr| self.expr(expr)),
            Command::Rex(command) => command.field.iter().for_each(|field| self.name(&field.node)),
            Command::Regex(command) => {
                command.field.iter().for_each(|field| self.name(&field.node));
            }
            Command::Spath(command) => {
                command.input.iter().for_each(|field| self.name(&field.node));
            }
            Command::Fieldsummary(command) => self.patterns_or_all(&command.fields),
            Command::Rangemap(command) => self.name(&command.field.node),
            Command::Lookup(command) => {
                command.inputs.iter().for_each(|input| self.name(input.event_name()));
                // What stays where it is already has to be known.
                let new = command.output.as_ref().filter(|output| output.only_new);
                let outputs = new.iter().flat_map(|output| &output.fields);
                outputs.for_each(|field| self.name(field.event_name()));
                command.event_time_field.iter().for_each(|field| self.name(&field.node));
            }
            Command::Inputlookup(_) | Command::Inputcsv(_) => {}
            Command::Typer(_) => self.name("eventtype"),
            Command::Tags(command) => {
                self.name("tag");
                self.patterns(&command.fields);
            }
            Command::Bin(command) => self.name(&command.field.node),
            Command::Accum(command) => self.name(&command.field.node),
            Command::Delta(command) => self.name(&command.field.node),
            Command::Mvexpand(command) => self.name(&command.field.node),
            Command::Nomv(command) => self.name(&command.field.node),
            Command::Makemv(MakemvCommand { field, .. }) => self.name(&field.node),
            Command::Strcat(command) => command.parts.iter().for_each(|part| {
                if let StrcatPart::Field(field) = part {
                    self.name(&field.node);
                }
            }),
            Command::Untable(_) | Command::Transpose(_) => self.pattern("*"),
            Command::Xyseries(command) => {
                self.name(&command.x.node);
                self.name(&command.series.node);
                command.values.iter().for_each(|field| self.name(&field.node));
            }
            Command::Appendpipe(command) => {
                command.subsearch.pipeline.commands.iter().for_each(|c| self.command(&c.node));
            }
            Command::Foreach(command) => self.foreach(command),
            Command::Join(command) if command.on.is_none() => {
                command.fields.iter().for_each(|field| self.name(&field.node));
                if command.fields.is_empty() {
                    self.pattern("*");
                }
            }
            Command::Map(command) => match crate::commands::map::fields(command) {
                Some(fields) => fields.iter().for_each(|field| self.name(field)),
                None => self.pattern("*"),
            },
            Command::Selfjoin(command) => {
                command.fields.iter().for_each(|field| self.name(&field.node));
            }
            Command::Append(_)
            | Command::Appendcols(_)
            | Command::Fields(_)
            | Command::History(_)
            | Command::Join(_)
            | Command::Loadjob(_)
            | Command::Multisearch(_)
            | Command::Savedsearch(_)
            | Command::Set(_)
            | Command::Union(_)
            | Command::Makeresults(_)
            | Command::Mcatalog(_)
            | Command::Metadata(_)
            | Command::Mpreview(_)
            | Command::Mstats(_)
            | Command::Reverse(_)
            | Command::Tail(_) => {}
            _ if self.analysis(command) || self.texts(command) => {}
            // Reads all there is, unless it says above what it reads.
            _ => self.pattern("*"),
        }
    }

    fn foreach(&mut self, command: &ForeachCommand) {
        match command.mode {
            ForeachMode::Multifield => self.patterns(&command.fields),
            _ => command.fields.iter().for_each(|field| self.name(&field.text)),
        }
        match crate::commands::foreach::mentions(command) {
            Some(mentions) if !command.fields.is_empty() => self.merge(mentions),
            _ => self.pattern("*"),
        }
    }

    fn top(&mut self, command: &TopCommand) {
        command.fields.iter().chain(&command.by).for_each(|field| self.name(&field.node));
    }

    fn splits<const N: usize>(&mut self, splits: [&Option<SplitBy>; N]) {
        splits.into_iter().flatten().for_each(|split| self.name(&split.field.node));
    }

    fn stats(&mut self, calls: &[StatsCall], by: &StatsBy) {
        calls.iter().for_each(|call| self.call(call));
        self.patterns(&by.fields);
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
            StatsArgument::Over { calls, .. } => calls.iter().for_each(|call| self.call(call)),
            StatsArgument::Prefix(_) => {}
            StatsArgument::Sparkline { call, .. } => {
                call.iter().for_each(|call| self.call(call));
            }
        }
    }

    pub(crate) fn search(&mut self, expr: &SearchExpr) {
        match expr {
            SearchExpr::And(members) | SearchExpr::Or(members) => {
                members.iter().for_each(|member| self.search(member));
            }
            SearchExpr::Not(inner, _) => self.search(inner),
            SearchExpr::Comparison(comparison) => self.name(&comparison.field.node),
            SearchExpr::In(list) => self.name(&list.field.node),
            SearchExpr::Computed(computed) => self.name(&computed.field.node),
            SearchExpr::Term(_) | SearchExpr::Directive(_) | SearchExpr::Subsearch(_) => {}
        }
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

pub(crate) use texts::choose_fields;

/// What is read for the commands of a pipeline and for what its rows go through (`tail`): those commands,
/// and all fields if rows are collected before a command chose among their fields.
pub(crate) fn read_by(
    commands: &[Spanned<Command>],
    tail: Option<&[Spanned<Command>]>,
) -> Vec<Spanned<Command>> {
    let mut all = [commands, tail.unwrap_or_default()].concat();
    let collected = tail.is_some() || commands.iter().any(|command| collects(&command.node));
    if collected && !all.iter().any(chooses) {
        let span = Span::default();
        let fields = vec![FieldPattern::new("*", span)];
        all.push(Spanned::new(Command::Table(TableCommand { fields }), span));
    }
    all
}

/// Whether all fields behind the command are ones that it names.
fn chooses(command: &Spanned<Command>) -> bool {
    match &command.node {
        Command::Fields(fields) => !fields.remove,
        other => replaces_fields(other),
    }
}

/// Whether events are collected rows behind the command, with the fields that they have by then.
fn collects(command: &Command) -> bool {
    match command {
        Command::Foreach(command) => command.mode != ForeachMode::Multifield,
        other if analysis::collects(other) || texts::collects(other) => true,
        other if crate::commands::prestats::appends(other) => true,
        other => matches!(
            other,
            Command::Append(_)
                | Command::Appendcols(_)
                | Command::Appendpipe(_)
                | Command::Join(_)
                | Command::Selfjoin(_)
                | Command::Union(_)
        ),
    }
}

/// Whether no field of the source survives the command unless it is named.
fn replaces_fields(command: &Command) -> bool {
    analysis::replaces_fields(command)
        || texts::replaces_fields(command)
        || matches!(
            command,
            Command::Stats(_)
                | Command::Chart(_)
                | Command::Timechart(_)
                | Command::Top(_)
                | Command::Rare(_)
                | Command::Sistats(_)
                | Command::Sichart(_)
                | Command::Sitimechart(_)
                | Command::Sitop(_)
                | Command::Sirare(_)
                | Command::Table(_)
                | Command::Mpreview(_)
                | Command::Mcatalog(McatalogCommand { append: false, .. })
                | Command::Mstats(MstatsCommand { append: false, points: false, .. })
                | Command::Tstats(TstatsCommand { append: false, .. })
                | Command::Transpose(_)
                | Command::Untable(_)
                | Command::Xyseries(_)
                | Command::Fieldsummary(_)
                | Command::Map(_)
        )
}
