//! What a pipeline mentions: field names, wildcards, words to highlight.
//!
//! Guarantees: every field a command may read from events is among the names; names that
//! commands only make may be there too. Leaves to others: which of them exist.

use crate::ast::{
    BinaryOperator, Command, Expr, ExprKind, FieldPattern, Pipeline, RexMode, SearchCommand,
    SearchExpr, SearchPattern, SortKey, StatsArgument, StatsBy, StatsCall, StatsKind, StrcatPart,
};
use crate::commands::CommandKind;
use std::collections::BTreeSet;

/// Fields whose values say where an event is from; marking them in `_raw` helps nobody.
const UNMARKED: [&str; 8] =
    ["index", "host", "source", "sourcetype", "splunk_server", "eventtype", "tag", "linecount"];

impl Pipeline {
    /// All exact field names that commands may read. Searches in brackets count only where they
    /// work on the same rows (`appendpipe`); others are searches of their own.
    pub fn field_names(&self) -> BTreeSet<String> {
        self.mentions().names
    }

    /// Whether any field is written as a pattern with `*`.
    pub fn has_field_wildcards(&self) -> bool {
        self.mentions().wildcards
    }

    /// The words and values that the first searches look for, in the order written: what to mark
    /// in `_raw`. Negated ones are left out.
    pub fn highlight_terms(&self) -> Vec<String> {
        let mut terms = Vec::new();
        for command in &self.commands {
            match &command.node {
                Command::Search(search) => {
                    if let Some(expr) = &search.expr {
                        highlight(expr, &mut terms);
                    }
                }
                other if other.definition().kind == CommandKind::Transforming => break,
                _ => {}
            }
        }
        terms
    }

    fn mentions(&self) -> Mentions {
        let mut mentions = Mentions::default();
        for command in &self.commands {
            mentions.command(&command.node);
        }
        mentions
    }
}

impl Expr {
    /// The exact names of all fields read.
    pub fn field_names(&self) -> BTreeSet<String> {
        let mut mentions = Mentions::default();
        mentions.expr(self);
        mentions.names
    }

    /// `a.b.c` if that is what a concatenation of bare names without blanks looks like.
    ///
    /// SPL means the concatenation of three fields; users often mean one field.
    pub fn dotted_name(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Field(field) if !field.quoted => Some(field.name.clone()),
            ExprKind::Binary(BinaryOperator::Concat, left, right)
                if left.span.end + 1 == right.span.start =>
            {
                let ExprKind::Field(last) = &right.kind else { return None };
                let first = left.dotted_name()?;
                (!last.quoted).then(|| format!("{first}.{}", last.name))
            }
            _ => None,
        }
    }
}

fn highlight(expr: &SearchExpr, terms: &mut Vec<String>) {
    match expr {
        SearchExpr::And(members) | SearchExpr::Or(members) => {
            for member in members {
                highlight(member, terms);
            }
        }
        SearchExpr::Not(..) | SearchExpr::Subsearch(_) => {}
        SearchExpr::Term(term) => add_literals(&term.pattern, terms),
        SearchExpr::Directive(directive) => add_literals(&directive.pattern, terms),
        SearchExpr::Comparison(comparison) => {
            let equal = comparison.operator == crate::ast::ComparisonOperator::Equal;
            if equal && !UNMARKED.contains(&comparison.field.node.as_str()) {
                add_literals(&comparison.value.pattern, terms);
            }
        }
        SearchExpr::In(list) => {
            if !list.negated && !UNMARKED.contains(&list.field.node.as_str()) {
                for value in &list.values {
                    add_literals(&value.pattern, terms);
                }
            }
        }
    }
}

fn add_literals(pattern: &SearchPattern, terms: &mut Vec<String>) {
    for literal in pattern.literals().map(str::trim) {
        if !literal.is_empty() && !terms.iter().any(|term| term == literal) {
            terms.push(literal.to_owned());
        }
    }
}

#[derive(Default)]
struct Mentions {
    names: BTreeSet<String>,
    wildcards: bool,
}

impl Mentions {
    fn name(&mut self, name: &str) {
        if name.contains('*') {
            self.wildcards = true;
        } else if !self.names.contains(name) {
            self.names.insert(name.to_owned());
        }
    }

    fn names<'a>(&mut self, names: impl IntoIterator<Item = &'a crate::ast::Field>) {
        for name in names {
            self.name(&name.node);
        }
    }

    fn patterns(&mut self, patterns: &[FieldPattern]) {
        for pattern in patterns {
            self.name(&pattern.text);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Accum(c) => self.name(&c.field.node),
            Command::Addtotals(c) => self.patterns(&c.fields),
            Command::Append(_) | Command::Makeresults(_) | Command::Metadata(_) => {}
            Command::Reverse(_) | Command::Tail(_) => {}
            Command::Appendpipe(c) => {
                for inner in &c.subsearch.pipeline.commands {
                    self.command(&inner.node);
                }
            }
            Command::Bin(c) => self.name(&c.field.node),
            Command::Convert(c) => {
                for conversion in &c.conversions {
                    self.name(&conversion.field.text);
                }
            }
            Command::Dedup(c) => {
                self.patterns(&c.fields);
                self.keys(&c.sortby);
            }
            Command::Delta(c) => self.name(&c.field.node),
            Command::Eval(c) => {
                for assignment in &c.assignments {
                    self.braces(&assignment.field.node);
                    self.expr(&assignment.expr);
                }
            }
            Command::Fields(c) => self.patterns(&c.fields),
            Command::Filldown(c) => self.patterns(&c.fields),
            Command::Fillnull(c) => self.patterns(&c.fields),
            Command::Head(c) => c.condition.iter().for_each(|condition| self.expr(condition)),
            Command::Makemv(c) => self.name(&c.field.node),
            Command::Mvexpand(c) => self.name(&c.field.node),
            Command::Nomv(c) => self.name(&c.field.node),
            Command::Rename(c) => c.renames.iter().for_each(|rename| self.name(&rename.from.text)),
            Command::Replace(c) => self.patterns(&c.fields),
            Command::Search(c) => self.search(c),
            Command::Sort(c) => self.keys(&c.keys),
            Command::Table(c) => self.patterns(&c.fields),
            Command::Where(c) => self.expr(&c.expr),
            other => self.extracting_or_aggregating(other),
        }
    }

    fn extracting_or_aggregating(&mut self, command: &Command) {
        let raw = |field: &Option<crate::ast::Field>| {
            field.as_ref().map_or("_raw".to_owned(), |field| field.node.clone())
        };
        match command {
            Command::Regex(c) => self.name(&raw(&c.field)),
            Command::Rex(c) => {
                self.name(&raw(&c.field));
                if let RexMode::Extract { offset_field: Some(field), .. } = &c.mode {
                    self.name(&field.node);
                }
            }
            Command::Spath(c) => self.name(&raw(&c.input)),
            Command::Strcat(c) => {
                for part in &c.parts {
                    if let StrcatPart::Field(field) = part {
                        self.name(&field.node);
                    }
                }
            }
            Command::Top(c) | Command::Rare(c) => self.names(c.fields.iter().chain(&c.by)),
            Command::Transpose(c) => self.names(&c.header_field),
            Command::Untable(c) => self.name(&c.row.node),
            Command::Xyseries(c) => self.names([&c.x, &c.series].into_iter().chain(&c.values)),
            Command::Stats(c) => self.aggregations(&c.calls, &c.by),
            Command::Eventstats(c) => self.aggregations(&c.calls, &c.by),
            Command::Tstats(c) => {
                self.aggregations(&c.calls, &c.by);
                self.search(&c.filter);
            }
            Command::Streamstats(c) => {
                self.aggregations(&c.calls, &c.by);
                if c.time_window.is_some() {
                    self.name("_time");
                }
                for expr in c.reset_before.iter().chain(&c.reset_after) {
                    self.expr(expr);
                }
            }
            Command::Chart(c) => {
                self.aggregations(&c.calls, &StatsBy::default());
                self.names(c.row.iter().chain(&c.column).map(|split| &split.field));
                self.calls(c.series.agg.iter().chain(c.filter.iter().map(|filter| &filter.call)));
            }
            Command::Timechart(c) => {
                self.name("_time");
                self.aggregations(&c.calls, &StatsBy::default());
                self.names(c.column.iter().map(|split| &split.field));
                self.calls(c.series.agg.iter().chain(c.filter.iter().map(|filter| &filter.call)));
            }
            _ => {}
        }
    }

    fn aggregations(&mut self, calls: &[StatsCall], by: &StatsBy) {
        self.calls(calls);
        for (index, field) in by.fields.iter().enumerate() {
            if !by.prefixes.contains(&index) {
                self.name(&field.text);
            }
        }
    }

    fn calls<'a>(&mut self, calls: impl IntoIterator<Item = &'a StatsCall>) {
        for call in calls {
            if reads_time(call.function.kind) {
                self.name("_time");
            }
            match &call.argument {
                StatsArgument::None | StatsArgument::Prefix(_) => {}
                StatsArgument::Field(field) => self.name(&field.text),
                StatsArgument::Eval(expr) => self.expr(expr),
                StatsArgument::Sparkline { call, .. } => self.calls(call.as_deref()),
            }
        }
    }

    fn keys(&mut self, keys: &[SortKey]) {
        self.names(keys.iter().map(|key| &key.field));
    }

    fn search(&mut self, search: &SearchCommand) {
        if let Some(expr) = &search.expr {
            self.search_expr(expr);
        }
    }

    fn search_expr(&mut self, expr: &SearchExpr) {
        match expr {
            SearchExpr::And(members) | SearchExpr::Or(members) => {
                for member in members {
                    self.search_expr(member);
                }
            }
            SearchExpr::Not(inner, _) => self.search_expr(inner),
            SearchExpr::Comparison(comparison) => self.name(&comparison.field.node),
            SearchExpr::In(list) => self.name(&list.field.node),
            SearchExpr::Term(_) | SearchExpr::Directive(_) | SearchExpr::Subsearch(_) => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::String(_) => {}
            ExprKind::Field(field) => self.names_exactly(&field.name),
            ExprKind::Unary(_, inner) => self.expr(inner),
            ExprKind::Binary(_, left, right) => {
                if let Some(name) = expr.dotted_name() {
                    self.names_exactly(&name);
                }
                self.expr(left);
                self.expr(right);
            }
            ExprKind::In { value, list, .. } => {
                self.expr(value);
                list.iter().for_each(|member| self.expr(member));
            }
            ExprKind::Call(call) => {
                call.arguments.iter().for_each(|argument| self.expr(argument));
                if let ("searchmatch", [Expr { kind: ExprKind::String(text), .. }]) =
                    (call.function.node.as_str(), call.arguments.as_slice())
                    && let Ok(search) = crate::parse_search_terms(text)
                {
                    self.search(&search);
                }
            }
        }
    }

    /// In expressions a star is part of the name.
    fn names_exactly(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// The fields in `{...}` of an eval target.
    fn braces(&mut self, target: &str) {
        let mut rest = target;
        while let Some((_, behind)) = rest.split_once('{') {
            let Some((name, left)) = behind.split_once('}') else { return };
            if !name.is_empty() {
                self.name(name);
            }
            rest = left;
        }
    }
}

fn reads_time(kind: StatsKind) -> bool {
    matches!(
        kind,
        StatsKind::Earliest
            | StatsKind::Latest
            | StatsKind::EarliestTime
            | StatsKind::LatestTime
            | StatsKind::Rate
            | StatsKind::Sparkline
            | StatsKind::PerSecond
            | StatsKind::PerMinute
            | StatsKind::PerHour
            | StatsKind::PerDay
    )
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[track_caller]
    fn check_names(text: &str, expected: &[&str]) {
        let names = parse(text).expect(text).field_names();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn names_are_those_commands_may_read() {
        check_names("index=a error status>3", &["index", "status"]);
        check_names("* | rex \"(?<x>a)\" | table x, b*", &["_raw", "x"]);
        check_names("* | eval {k}=if(a.b > 1, 'c d', \"e\")", &["a", "a.b", "b", "c d", "k"]);
        check_names("* | timechart avg(x) by y", &["_time", "x", "y"]);
        check_names("* | stats latest(a) count(eval(b=1)) by c", &["_time", "a", "b", "c"]);
        check_names("* | eval m=searchmatch(\"status=5 x\")", &["status"]);
        check_names("* | append [search z=1] | appendpipe [stats sum(q)]", &["q"]);
    }

    #[test]
    fn wildcards_of_fields_are_noticed() {
        let noticed = |text: &str| parse(text).expect(text).has_field_wildcards();
        assert!(noticed("* | table a*"));
        assert!(noticed("* | stats sum(*)"));
        assert!(!noticed("a* b=c* | table a"));
    }

    #[test]
    fn highlighted_words_are_those_looked_for() {
        let text =
            "index=web error* OR user=\"a b\" NOT bad status IN (1, 2) | stats count | search q";
        let terms = parse(text).expect(text).highlight_terms();
        assert_eq!(terms, ["error", "a b", "1", "2"]);
    }
}
