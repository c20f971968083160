//! The field names a pipeline mentions: what an open frame reads from the source.
//!
//! A name mentioned anywhere before the first command that replaces the fields is read, even if a
//! command sets it: unread columns are pruned from the plan later.

use spl::ast::{
    Command, Expr, ExprKind, FieldPattern, MakemvCommand, SearchExpr, Span, Spanned, SplitBy,
    StatsArgument, StatsBy, StatsCall, StrcatPart, TopCommand,
};

/// Names and patterns in the order of their first mention.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mentions {
    pub(crate) names: Vec<String>,
    pub(crate) patterns: Vec<String>,
}

/// Whether a pattern with `*` means the name. Case matters.
pub(crate) fn wildcard(pattern: &str, name: &str) -> bool {
    FieldPattern::new(pattern, Span::default()).matches(name)
}

impl Mentions {
    /// What the commands of a pipeline mention.
    pub(crate) fn of(commands: &[Spanned<Command>]) -> Self {
        let mut mentions = Self::default();
        for command in commands {
            mentions.command(&command.node);
            if replaces_fields(&command.node) {
                break;
            }
        }
        mentions
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
            }),
            Command::Stats(command) => self.stats(&command.calls, &command.by),
            Command::Eventstats(command) => self.stats(&command.calls, &command.by),
            Command::Streamstats(command) => {
                self.stats(&command.calls, &command.by);
                command.reset_before.iter().chain(&command.reset_after).for_each(|e| self.expr(e));
            }
            Command::Tstats(command) => {
                self.stats(&command.calls, &command.by);
                command.filter.expr.iter().for_each(|expr| self.search(expr));
            }
            Command::Chart(command) => {
                command.calls.iter().for_each(|call| self.call(call));
                self.splits([&command.row, &command.column]);
            }
            Command::Timechart(command) => {
                command.calls.iter().for_each(|call| self.call(call));
                self.splits([&command.column]);
            }
            Command::Top(command) | Command::Rare(command) => self.top(command),
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
            Command::Append(_)
            | Command::Fields(_)
            | Command::Makeresults(_)
            | Command::Metadata(_)
            | Command::Reverse(_)
            | Command::Tail(_) => {}
            // Reads all there is, unless it says above what it reads.
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
            ExprKind::Number(_) | ExprKind::String(_) | ExprKind::Subsearch(_) => {}
            ExprKind::Field(field) => self.name(&field.name),
            ExprKind::Unary(_, inner) => self.expr(inner),
            ExprKind::Binary(_, left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::In { value, list, .. } => {
                self.expr(value);
                list.iter().for_each(|item| self.expr(item));
            }
            ExprKind::Call(call) => call.arguments.iter().for_each(|item| self.expr(item)),
        }
    }
}

/// Whether no field of the source survives the command unless it is named.
fn replaces_fields(command: &Command) -> bool {
    matches!(
        command,
        Command::Stats(_)
            | Command::Chart(_)
            | Command::Timechart(_)
            | Command::Top(_)
            | Command::Rare(_)
            | Command::Table(_)
            | Command::Tstats(_)
            | Command::Transpose(_)
            | Command::Untable(_)
            | Command::Xyseries(_)
            | Command::Fieldsummary(_)
    )
}
